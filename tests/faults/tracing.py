"""A child under ptrace (Linux): its system calls that change a file system are counted before they happen,
and at a chosen one it is killed. A seccomp filter lets it stop at these only: most calls are others.

Facts: ptrace(2), seccomp(2), `PTRACE_GET_SYSCALL_INFO` (Linux 5.3), and the kernel's tables of call numbers.
A process that is killed while it stops for a filter never executes the call that it stopped at.
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

_TRACEME, _CONTINUE, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 7, 0x4200, 0x420E
_TRACE_SECCOMP, _AT_FILTER = 1 << 7, 3
_STOPPED_BY_FILTER = signal.SIGTRAP | 7 << 8  # in the upper bytes of a wait status
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # of classic BPF; the call's number is the first word
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000
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


class _Step(ctypes.Structure):
    """`struct sock_filter`."""

    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


class _Info(ctypes.Structure):
    """`struct ptrace_syscall_info`, as far as a stop for a filter fills it in."""

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
    seen: list[int] = []
    try:
        status = watching(0, seen)(child)
    except OSError:
        status = 1
    return "" if status == 0 else "ptrace or seccomp is not allowed here"


def be_traced() -> None:
    """For the child: stop here, and be traced by the parent from now on. Raises `OSError`."""
    _ptrace(_TRACEME, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)  # until there is somebody to stop for
    numbers = list(_NUMBERS[platform.machine()].values())
    last = len(numbers) + 2
    steps = [_Step(_LOAD, 0, 0, 0)]
    steps += [_Step(_EQUAL, last - at - 1, 0, number) for at, number in enumerate(numbers, 1)]
    steps += [_Step(_RETURN, 0, 0, _ALLOW), _Step(_RETURN, 0, 0, _TRACE)]
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    _checked(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(_libc().prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def watching(at: int, count: list[int]) -> Callable[[int], int]:
    """A replacement for waitpid on a child that calls `be_traced`: kills it at the entry of its changing
    system call number `at` (0: never). Adds to `count` how many came by; gives the wait status."""
    changing = {number: name for name, number in _NUMBERS[platform.machine()].items()}

    def wait(child: int) -> int:
        seen = 0
        _, status = os.waitpid(child, 0)
        if os.WIFSTOPPED(status):
            _ptrace(_SETOPTIONS, child, 0, _TRACE_SECCOMP)
        while os.WIFSTOPPED(status):
            passed_on = os.WSTOPSIG(status)
            if status >> 8 == _STOPPED_BY_FILTER:
                passed_on = 0
                if _is_change(child, changing):
                    seen += 1
                    if seen == at:
                        os.kill(child, signal.SIGKILL)
            elif passed_on == signal.SIGSTOP:
                passed_on = 0
            with contextlib.suppress(ProcessLookupError):
                _ptrace(_CONTINUE, child, 0, passed_on)
            _, status = os.waitpid(child, 0)
        count.append(seen)
        return status

    return wait


def _is_change(child: int, changing: dict[int, str]) -> bool:
    info = _Info()
    _ptrace(_GET_SYSCALL_INFO, child, ctypes.sizeof(info), ctypes.addressof(info))
    name = changing.get(info.number) if info.op == _AT_FILTER else None
    if name in _FLAGS:
        return bool(info.arguments[_FLAGS[name]] & _WRITABLE)
    return name is not None


def _ptrace(request: int, child: int, address: int, data: int) -> None:
    _checked(_libc().ptrace(request, child, address or None, data or None))


def _checked(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.restype = ctypes.c_long
    library.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    library.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    return library
