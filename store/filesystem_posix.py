"""The real file system, on POSIX. Only this module calls the functions of `os` that change a disk.

`renameat2` (Linux 3.15, glibc 2.28) and `syncfs` (Linux; reports errors since 5.8) have no function in `os`
and are called through ctypes; where they are missing the methods say so and callers take the longer way.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import sys
from typing import Any

from .filesystem import MAX_FILE, NotRegularError, TooLargeError
from .write_behind import WriteBehind

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE, _EXCHANGE = 1, 2  # linux/fs.h: RENAME_NOREPLACE, RENAME_EXCHANGE
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY})
_NO_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK, errno.EXDEV}


class RealFileSystem:
    """See `filesystem.FileSystem`. Handles are file descriptors."""

    def __init__(self) -> None:
        self._behind = WriteBehind(_flush_system)

    @property
    def umask(self) -> int:
        return _umask()

    def open_root(self, path: str) -> int:
        return os.open(path, _DIRECTORY)

    def open_dir(self, parent: int, name: str) -> int:
        return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)

    def close(self, handle: int) -> None:
        os.close(handle)

    def stat_dir(self, handle: int) -> os.stat_result:
        return os.fstat(handle)

    def list_dir(self, handle: int) -> list[str]:
        return sorted(os.listdir(handle))

    def make_dir(self, parent: int, name: str, mode: int) -> None:
        # Never for everybody to write in, whatever the umask: we would refuse to use such a folder.
        os.mkdir(name, mode & ~0o002, dir_fd=parent)

    def remove_dir(self, parent: int, name: str) -> None:
        os.rmdir(name, dir_fd=parent)

    def real_path(self, path: str) -> str:
        return os.path.realpath(path, strict=True)

    def lstat(self, parent: int, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, parent: int, name: str, limit: int = MAX_FILE) -> bytes:
        return self._read(os.open(name, _READ, dir_fd=parent), name, limit)

    def read_path(self, path: str, limit: int = MAX_FILE) -> bytes:
        return self._read(os.open(path, _READ), path, limit)

    def _read(self, descriptor: int, name: str, limit: int) -> bytes:
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise NotRegularError(errno.EINVAL, "not a regular file", name)
            return _read_all(descriptor, name, status.st_size, limit)
        finally:
            os.close(descriptor)

    def readlink(self, parent: int, name: str) -> str:
        return os.readlink(name, dir_fd=parent)

    def create(
        self, parent: int, name: str, data: bytes, mode: int, like: tuple[int, str] | None = None
    ) -> None:
        descriptor = os.open(name, _CREATE, mode | stat.S_IWUSR, dir_fd=parent)
        try:
            try:
                _write_all(descriptor, data)
                if like is not None:
                    _copy_attributes(like, descriptor)
                if like is not None or mode != (mode | stat.S_IWUSR) & ~_umask() & 0o777:
                    os.fchmod(descriptor, mode)
            finally:
                os.close(descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=parent)
            raise
        self._behind.wrote(len(data), parent)

    def rename(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        os.rename(name, to_name, src_dir_fd=parent, dst_dir_fd=to_parent)

    def rename_new(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        if _rename_flagged(parent, name, to_parent, to_name, _NOREPLACE):
            return
        try:
            self.link(parent, name, to_parent, to_name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            self.unlink(parent, name)
            return
        # Neither a flagged rename nor hard links: a look, then a plain rename. A name that another program
        # takes in between is lost; such file systems (FAT, some network ones) offer nothing better.
        if self.lstat(to_parent, to_name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to_name)
        self.rename(parent, name, to_parent, to_name)

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        return _rename_flagged(parent, name, other_parent, other_name, _EXCHANGE)

    def link(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        os.link(name, to_name, src_dir_fd=parent, dst_dir_fd=to_parent, follow_symlinks=False)

    def unlink(self, parent: int, name: str) -> None:
        os.unlink(name, dir_fd=parent)

    def flush_file(self, parent: int, name: str) -> None:
        descriptor = os.open(name, _READ, dir_fd=parent)
        try:
            _flush(descriptor)
        finally:
            os.close(descriptor)

    def flush_dir(self, handle: int) -> None:
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:  # some network file systems have no fsync of a directory
                raise

    def flush_all(self, handle: int) -> bool:
        number = self._behind.settle() or _flush_system(handle)
        if number in _UNSUPPORTED:
            return False
        if number:
            raise OSError(number, os.strerror(number))
        return True


def _read_all(descriptor: int, name: str, size: int, limit: int) -> bytes:
    """Reads to the end; the size is a hint only, since another program may be writing."""
    if size > limit:
        raise TooLargeError(errno.EFBIG, f"longer than {limit} bytes", name)
    parts: list[bytes] = []
    left = limit + 1
    step = size + 1
    while left > 0:
        part = os.read(descriptor, min(step, left))
        if not part:
            return b"".join(parts)
        if not parts and len(part) == size:
            return part  # more was asked for: the file ends here
        parts.append(part)
        left -= len(part)
        step = 1 << 16 if sum(map(len, parts)) > size else step - len(part)
    raise TooLargeError(errno.EFBIG, f"longer than {limit} bytes", name)


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data) if data else 0
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def _copy_attributes(like: tuple[int, str], descriptor: int) -> None:
    """Group and extended attributes (access lists, labels) of a file, as far as the system lets us."""
    source = os.open(like[1], _READ, dir_fd=like[0])
    try:
        group = os.fstat(source).st_gid
        if os.fstat(descriptor).st_gid != group:
            with contextlib.suppress(OSError):
                os.fchown(descriptor, -1, group)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                for attribute in os.listxattr(source):
                    with contextlib.suppress(OSError):
                        os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
    finally:
        os.close(source)


def _flush(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl

        # fsync on macOS leaves the bytes in the drive's cache; this does not.
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def _flush_system(descriptor: int) -> int:
    """Make all of a file system last; 0, or the error number (ENOSYS where there is no such call)."""
    call = _libc_function("syncfs")
    if call is None:
        return errno.ENOSYS
    return 0 if call(descriptor) == 0 else _last_errno()


def _rename_flagged(parent: int, name: str, to_parent: int, to_name: str, flag: int) -> bool:
    """renameat2 with a flag; False where the kernel or the file system does not have it."""
    call = _libc_function("renameat2")
    if call is None:
        return False
    if call(parent, os.fsencode(name), to_parent, os.fsencode(to_name), flag) == 0:
        return True
    number = _last_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), name, None, to_name)


@functools.cache
def _libc_function(name: str) -> Any:
    """A function of the C library, or None. ctypes is loaded only when one is first asked for."""
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None, use_errno=True), name, None)


def _last_errno() -> int:
    import ctypes

    return ctypes.get_errno()


@functools.cache
def _umask() -> int:
    """The umask of this process. Linux tells it; elsewhere it can only be read by setting it."""
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    value = os.umask(0o077)
    os.umask(value)
    return value
