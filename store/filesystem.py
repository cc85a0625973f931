"""The one door through which the store touches a disk.

Everything below works on directory handles: a name is always one component below an open directory, so no
other process can lead a call elsewhere by swapping a folder for a link. `RealFileSystem` is the POSIX one;
`filesystem_decorators` wraps any of them. A handle is an int that only its own file system understands.

Every method raises `OSError` as the system does, except where its docstring says otherwise.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Protocol

MAX_FILE = 1 << 30
"""Bytes: no file that the store reads may be longer, whatever its kind."""


class NotRegularError(OSError):
    """What should be a regular file is something else (a directory, FIFO, socket, device)."""


class TooLargeError(OSError):
    """A file is longer than the caller can take."""


class FileSystem(Protocol):
    """Dir-handle based file operations. `parent` and `to_parent` are handles, `name` is one component."""

    @property
    def umask(self) -> int:
        """The permission bits that new files and folders of this process do not get."""

    # -- directories -------------------------------------------------------------------------------------

    def open_root(self, path: str) -> int:
        """A handle of an existing directory; links on the way and at the end are followed."""

    def open_dir(self, parent: int, name: str) -> int:
        """A handle of the directory `name`; a link there is an error (ENOTDIR or ELOOP)."""

    def close(self, handle: int) -> None:
        """Give a handle back."""

    def stat_dir(self, handle: int) -> os.stat_result:
        """The status of an open directory."""

    def list_dir(self, handle: int) -> list[str]:
        """The names in an open directory, sorted."""

    def make_dir(self, parent: int, name: str, mode: int) -> None:
        """A new directory; `mode` is cut by the umask."""

    def remove_dir(self, parent: int, name: str) -> None:
        """Remove an empty directory."""

    def real_path(self, path: str) -> str:
        """`path` with every link resolved; raises `FileNotFoundError` where it leads nowhere."""

    # -- looking -----------------------------------------------------------------------------------------

    def lstat(self, parent: int, name: str) -> os.stat_result | None:
        """The status of `name`, a link not followed; None where nothing is there."""

    def read(self, parent: int, name: str, limit: int = MAX_FILE) -> bytes:
        """The bytes of a regular file; a link is not followed, a FIFO does not block.

        Raises `NotRegularError`, `TooLargeError` (longer than `limit` bytes).
        """

    def read_path(self, path: str, limit: int = MAX_FILE) -> bytes:
        """As `read`, for a full path in one of our own folders, where nobody but us makes links."""

    def readlink(self, parent: int, name: str) -> str:
        """Where a link leads, as written in it."""

    # -- changing ----------------------------------------------------------------------------------------

    def create(
        self, parent: int, name: str, data: bytes, mode: int, like: tuple[int, str] | None = None
    ) -> None:
        """A new file with exactly `mode` (the umask plays no part); fails where `name` exists.

        `like` names a file whose group and extended attributes the new one gets, as far as the system
        lets us. A file that could not be written whole is removed again.
        """

    def rename(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        """Move, replacing a file that stands at the new name, in one atomic step."""

    def rename_new(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        """Move to a name that must be free; raises `FileExistsError` where it is not."""

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        """Swap two files in one atomic step. False, and nothing done, where the system cannot."""

    def link(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        """A second name (hard link) for a file."""

    def unlink(self, parent: int, name: str) -> None:
        """Remove a file or a link."""

    # -- making it last ----------------------------------------------------------------------------------

    def flush_file(self, parent: int, name: str) -> None:
        """The bytes of a file are on the medium when this returns."""

    def flush_dir(self, handle: int) -> None:
        """The names in a directory are on the medium when this returns."""

    def flush_all(self, handle: int) -> bool:
        """Everything written to the file system that holds the directory is on the medium when this
        returns True; False, and nothing done, where the system cannot."""


def is_regular(status: os.stat_result | None) -> bool:
    """Whether the status is that of a regular file."""
    return status is not None and stat.S_ISREG(status.st_mode)


def is_link(status: os.stat_result | None) -> bool:
    """Whether the status is that of a symbolic link."""
    return status is not None and stat.S_ISLNK(status.st_mode)


def is_folder(status: os.stat_result | None) -> bool:
    """Whether the status is that of a directory."""
    return status is not None and stat.S_ISDIR(status.st_mode)


def kind_of(status: os.stat_result) -> str:
    """What a status describes, in a word for a message."""
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "FIFO",
        stat.S_IFSOCK: "socket",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "device")


def permissions(status: os.stat_result) -> int:
    """The permission bits of a status: 0o7777 at most."""
    return stat.S_IMODE(status.st_mode)


def following(mode: int, like: int) -> int:
    """The permission bits of a file that replaces one with bits `like`: whoever may read it may still, and
    may execute it exactly if `mode` lets its owner."""
    readable = like & 0o7666
    return readable | (readable & 0o444) >> 2 if mode & 0o100 else readable


def masked(mode: int, umask: int) -> int:
    """`mode` as a copying program would set it: group and other lose what the umask takes, the owner
    keeps all."""
    return mode & ~(umask & 0o077)


def reason(error: OSError) -> str:
    """The system's words for an error (`No space left on device`), without path and number."""
    return error.strerror or (os.strerror(error.errno) if error.errno else type(error).__name__)


def open_private(fs: FileSystem, path: str, *, flush: bool = True) -> int:
    """A handle of one of our own folders, made with mode 0700 (and so its missing parents) if need be.
    Without `flush` the caller sees to it that what is made lasts, or nothing depends on it. Raises `OSError`,
    EIO for a link on the way that leads nowhere."""
    try:
        return fs.open_root(path)
    except FileNotFoundError:
        above, name = os.path.split(path.rstrip("/"))
        if not name:
            raise
    parent = open_private(fs, above, flush=flush)
    try:
        try:
            fs.make_dir(parent, name, 0o700)
            if flush:
                fs.flush_dir(parent)
        except FileExistsError:
            pass  # another process was quicker, or a dangling link, which the next line finds
        return fs.open_root(path)
    except FileNotFoundError:
        raise OSError(errno.EIO, "a link there leads nowhere", path) from None
    finally:
        fs.close(parent)


FLUSH_ONE_BY_ONE = 16
"""Up to so many files are flushed one by one; beyond, one flush of the file system costs less."""
