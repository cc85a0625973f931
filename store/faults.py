"""What the system says, as a refusal with a code: which path, which words of the system, what to do."""

from __future__ import annotations

import errno
from collections.abc import Callable
from types import TracebackType

from ..capabilities.errors import GsdlockError, refused, shown
from .filesystem import reason

_CODES = {
    errno.ENOSPC: "E-IO-FULL",
    errno.EDQUOT: "E-IO-FULL",
    errno.EFBIG: "E-IO-SIZE",
    errno.EROFS: "E-IO-READONLY",
    errno.EACCES: "E-IO-DENIED",
    errno.EPERM: "E-IO-DENIED",
    errno.EMFILE: "E-IO-HANDLES",
    errno.ENFILE: "E-IO-HANDLES",
    errno.EXDEV: "E-IO-DEVICES",
    errno.ELOOP: "E-IO-LINK",
    errno.ENOTDIR: "E-IO-LINK",
}
_FIXES = {
    "E-IO-FULL": "Free some space (or quota) there and run it again.",
    "E-IO-SIZE": "The file is far larger than such a file can be; look at it, and move it away.",
    "E-IO-READONLY": "Mount the file system writable, or choose another place, and run it again.",
    "E-IO-DENIED": "Give yourself the right to read and write there, and run it again.",
    "E-IO-HANDLES": "Raise the limit of open files (`ulimit -n`) or close other programs, and run it again.",
    "E-IO-DEVICES": "The place spans two file systems in a way that no atomic step can bridge; "
    "make it one directory of one file system.",
    "E-IO-LINK": "Something there turned into a link or a file meanwhile; look at it and run it again.",
    "E-IO-OTHER": "Look at the medium and the system's log, and run it again.",
}


def io_error(error: OSError, doing: str, path: str) -> GsdlockError:
    """`error` as a refusal (status 4): `doing` is a phrase such as `cannot write`, `path` a full path."""
    code = _CODES.get(error.errno or 0, "E-IO-OTHER")
    return refused(
        code, f"{doing} {shown(path, 400)}: {shown(reason(error))}", _FIXES[code], where=shown(path, 4096)
    )


def is_of_the_system(error: BaseException) -> bool:
    """Whether an error tells of the machine's state (full, read-only, denied, out of handles, a medium that
    fails) rather than of a mistake in a program."""
    return isinstance(error, OSError) and (error.errno in _CODES or error.errno == errno.EIO)


class io_at:
    """Any `OSError` inside becomes the refusal of `io_error`. `path` may be worked out when it is needed."""

    __slots__ = ("_doing", "_path")

    def __init__(self, doing: str, path: str | Callable[[], str]) -> None:
        self._doing = doing
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            path = self._path if isinstance(self._path, str) else self._path()
            raise io_error(error, self._doing, path) from error


def edit_fix(kind: str) -> str:
    """What to do about a shared file that cannot be edited; `kind` is that of the `EditFault`."""
    return _EDIT_FIXES.get(kind, "Mend the file, and run it again; it was left alone.")


_EDIT_FIXES = {
    "syntax": "Mend the file there, and run it again; it was left alone.",
    "duplicate": "Remove one of the two keys, and run it again; the file was left alone.",
    "shape": "Change or move that value, and run it again; the file was left alone.",
    "collision": "Name the file or the entry with --adopt to set your value aside (it comes back when we "
    "leave), or change the manifest.",
    "encoding": "Save the file as UTF-8, and run it again; it was left alone.",
    "block": "Remove the lone marker line, and run it again; the file was left alone.",
}
