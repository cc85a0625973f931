"""A child under ptrace (Linux): its system calls that change a file system are counted before they happen,
and at a chosen one it is killed.

Facts: ptrace(2), `PTRACE_GET_SYSCALL_INFO` (Linux 5.3), and the kernel's tables of call numbers.
A process that is killed while it stops at the entry of a system call never executes that call.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import signal
import sys
from collections.abc import Callable
from typing import Any

_TRACEME, _SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
_TRACESYSGOOD, _ENTRY = 1, 1
_STOPPED_AT_CALL = signal.SIGTRAP | 0x80
_WRITABLE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "write": 1,
        "open": 2,
        "pwrite64": 18,
        "writev": 20,
        "fsync": 74,
        "fdatasync": 75,
        "ftruncate": 77,
        "rename": 82,
        "mkdir": 83,
        "rmdir": 84,
        "link": 86,
        "unlink": 87,
        "symlink": 88,
        "fchmod": 91,
        "fchown": 93,
        "fsetxattr": 190,
        "openat": 257,
        "mkdirat": 258,
        "unlinkat": 263,
        "renameat": 264,
        "linkat": 265,
        "symlinkat": 266,
        "fchmodat": 268,
        "fallocate": 285,
        "syncfs": 306,
        "renameat2": 316,
    },
    "aarch64": {
        "fsetxattr": 7,
        "mkdirat": 34,
        "unlinkat": 35,
        "symlinkat": 36,
        "linkat": 37,
        "renameat": 38,
        "ftruncate": 46,
        "fallocate": 47,
        "fchmod": 52,
        "fchmodat": 53,
        "fchown": 55,
        "openat": 56,
        "write": 64,
        "writev": 66,
        "pwrite64": 68,
        "fsync": 82,
        "fdatasync": 83,
        "syncfs": 267,
        "renameat2": 276,
    },
}
_FLAGS = {"open": 1, "openat": 2}  # which argument holds the flags


class _Info(ctypes.Structure):
    """`struct ptrace_syscall_info`, as far as an entry fills it in."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction", ctypes.c_uint64),
        ("stack", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
        ("room", ctypes.c_uint64 * 4),
    )


def unavailable() -> str:
    """Why processes cannot be traced here; empty where they can."""
    if sys.platform != "linux" or platform.machine() not in _NUMBERS:
        return f"no table of system calls for {sys.platform} {platform.machine()}"
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        with contextlib.suppress(OSError):
            be_traced()
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        return "ptrace is not allowed here"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return ""


def be_traced() -> None:
    """For the child: stop here, and be traced by the parent from now on."""
    _ptrace(_TRACEME, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)


def watching(at: int, count: list[int]) -> Callable[[int], int]:
    """A replacement for waitpid on a child that calls `be_traced`: kills it at the entry of its changing
    system call number `at` (0: never). Adds to `count` how many came by; gives the wait status."""
    changing = {number: name for name, number in _NUMBERS[platform.machine()].items()}

    def wait(child: int) -> int:
        seen = 0
        _, status = os.waitpid(child, 0)
        if os.WIFSTOPPED(status):
            _ptrace(_SETOPTIONS, child, 0, _TRACESYSGOOD)
        while os.WIFSTOPPED(status):
            passed_on = os.WSTOPSIG(status)
            if passed_on == _STOPPED_AT_CALL:
                passed_on = 0
                if _is_change(child, changing):
                    seen += 1
                    if seen == at:
                        os.kill(child, signal.SIGKILL)
            elif passed_on == signal.SIGSTOP:
                passed_on = 0
            with contextlib.suppress(ProcessLookupError):
                _ptrace(_SYSCALL, child, 0, passed_on)
            _, status = os.waitpid(child, 0)
        count.append(seen)
        return status

    return wait


def _is_change(child: int, changing: dict[int, str]) -> bool:
    info = _Info()
    _ptrace(_GET_SYSCALL_INFO, child, ctypes.sizeof(info), ctypes.addressof(info))
    name = changing.get(info.number) if info.op == _ENTRY else None
    if name in _FLAGS:
        return bool(info.arguments[_FLAGS[name]] & _WRITABLE)
    return name is not None


def _ptrace(request: int, child: int, address: int, data: int) -> None:
    if _libc_ptrace()(request, child, address or None, data or None) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _libc_ptrace() -> Any:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    return call
