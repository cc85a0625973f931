"""A folder on this machine as a pack.

The walk goes from open folder handle to open folder handle and follows no link, so nothing outside of the
folder can get into the pack, even while somebody changes the folder under our hands. Only the folder itself
may be a link. What version control and tools keep in a folder is not part of the pack (`SKIPPED`), nor is
what gsdlock itself makes there (`PackSource.apart`): else a pack would grow by what is installed from it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from msgspec import Struct

from ...capabilities.errors import GsdlockError, input_error, missing, refused, shown
from ...lockfiles.model import LockedPack
from ...store.confinement import STAGING_PREFIX
from .base import Gathered, Limits, PackSource, SourceContext
from .tree import TreeBuilder

SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        "__pycache__",
        ".DS_Store",
        "gsdlock.lock",
        "gsdlock.lock.sig",
        ".gsdlock",
    }
)
"""Names that are passed over wherever they stand."""

_CHUNK = 1 << 20


def gather(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Gathered:
    """All files of the folder. See `read_folder` for the errors, and E-PACK-PATH for the spec."""
    folder = local_path(source, context)
    builder = read_folder(folder, source.subject, context.limits, apart=source.apart)
    return Gathered(builder.contents, resolved="")


def local_path(source: PackSource, context: SourceContext) -> str:
    """The absolute path that `source.spec` names: `~/…` below the home, relative below the manifest's folder.

    Raises E-PACK-PATH.
    """
    spec = source.spec
    if not spec or "\0" in spec:
        raise input_error(
            "E-PACK-PATH", f"{source.subject} has no usable path", "Name a folder or a file in the manifest."
        )
    if spec == "~" or spec.startswith("~/"):
        home = context.environment.home
        if home is None:
            raise input_error(
                "E-PACK-PATH",
                f"{source.subject}: {shown(spec)} starts at the home folder, and HOME is not set",
                "Set HOME, or write the path in full.",
            )
        spec = home + spec[1:]
    return os.path.normpath(os.path.join(source.folder, spec))


def read_folder(
    folder: str, subject: str, limits: Limits, *, by_shebang: bool = False, apart: Iterable[str] = ()
) -> TreeBuilder:
    """The files below `folder` (absolute), without those in `SKIPPED` and what is at the full paths `apart`.

    A file is executable where its owner may execute it; with `by_shebang`, or where the platform has no such
    bit, where it begins with `#!`. Raises E-PACK-PATH-MISSING, E-PACK-PATH-FILE (it is a file), E-PACK-LINK
    and E-PACK-SPECIAL (a link or special file inside, by name), E-PACK-UNREADABLE, and E-UNPACK-… for names
    and bounds.
    """
    builder = TreeBuilder(subject, limits)
    by_shebang = by_shebang or os.name != "posix"
    passed = _Passed(frozenset(filter(None, map(_identity, apart))))
    with _reading(folder, subject):
        if os.name == "posix":
            with ExitStack() as handles:
                handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                handles.callback(os.close, handle)
                _walk(handle, "", builder, by_shebang, passed)
        else:
            _walk_by_path(folder, "", builder, passed)
    return builder


class _Passed(Struct, frozen=True):
    """What is passed over: names, and files and folders by device and inode, as a path may go over links."""

    identities: frozenset[tuple[int, int]]

    def has(self, name: str, status: os.stat_result) -> bool:
        return (
            name in SKIPPED
            or name.startswith(STAGING_PREFIX)
            or (status.st_dev, status.st_ino) in self.identities
        )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None  # nothing is there
    return status.st_dev, status.st_ino


class _reading:
    """Turns the `OSError` of a walk into our errors."""

    def __init__(self, folder: str, subject: str) -> None:
        self._folder = folder
        self._subject = subject

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, OSError):
            return
        where = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else self._folder
        top = where == self._folder
        if top and isinstance(error, FileNotFoundError):
            raise missing(
                "E-PACK-PATH-MISSING",
                f"{self._subject}: there is no folder {shown(where, 400)}",
                "Correct the path in the manifest, or put the folder there.",
                where=shown(where, 400),
            ) from None
        if top and isinstance(error, NotADirectoryError):
            raise input_error(
                "E-PACK-PATH-FILE",
                f"{self._subject}: {shown(where, 400)} is not a folder",
                'For an archive write `archive = "…"` in place of `path = "…"`.',
                where=shown(where, 400),
            ) from None
        raise missing(
            "E-PACK-UNREADABLE",
            f"{self._subject}: {shown(where, 400)} cannot be read: {error.strerror}",
            "Make it readable, or take it out of the folder.",
            where=shown(where, 400),
        ) from None


def _walk(folder: int, prefix: str, builder: TreeBuilder, by_shebang: bool, passed: _Passed) -> None:
    """Take everything below an open folder; `prefix` is its name with a final `/`, or empty."""
    for name, mode in _sorted_entries(folder, passed):
        path = prefix + name
        if _is_folder(mode, path, builder.subject):
            builder.add_folder(path)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = _open(name, flags, folder, path)
            try:
                _walk(handle, path + "/", builder, by_shebang, passed)
            finally:
                os.close(handle)
        else:
            builder.check_file(path)
            # Non-blocking: should a FIFO have taken the file's place by now, we must not wait for a writer.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            handle = _open(name, flags, folder, path)
            try:
                mode = os.fstat(handle).st_mode
                if not stat.S_ISREG(mode):
                    raise _special(builder.subject, path)
                data = _read(handle, builder, path)
            finally:
                os.close(handle)
            builder.add_file(path, data, data.startswith(b"#!") if by_shebang else bool(mode & 0o100))


def _sorted_entries(folder: int, passed: _Passed) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as entries:
        found = sorted((e.name, e.stat(follow_symlinks=False)) for e in entries)
    return ((name, status.st_mode) for name, status in found if not passed.has(name, status))


def _open(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        error.filename = path
        raise


def _read(handle: int, builder: TreeBuilder, path: str) -> bytes:
    left = builder.room(path)
    parts = []
    while part := os.read(handle, _CHUNK):
        left -= len(part)
        if left < 0:
            raise builder.too_large(path)
        parts.append(part)
    return b"".join(parts)


def _walk_by_path(folder: str, prefix: str, builder: TreeBuilder, passed: _Passed) -> None:
    """The same without folder handles, for platforms that have none."""
    with os.scandir(folder) as entries:
        # The entry itself does not know its inode everywhere.
        found = sorted((e.name, e.path, os.lstat(e.path)) for e in entries)
    for name, full, status in found:
        if passed.has(name, status):
            continue
        path = prefix + name
        # 0x400: a reparse point, which a junction is without being a symbolic link.
        if getattr(status, "st_file_attributes", 0) & 0x400:
            raise _link(builder.subject, path)
        if _is_folder(status.st_mode, path, builder.subject):
            builder.add_folder(path)
            _walk_by_path(full, path + "/", builder, passed)
        else:
            builder.check_file(path)
            handle = os.open(full, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            try:
                data = _read(handle, builder, path)
            finally:
                os.close(handle)
            builder.add_file(path, data, data.startswith(b"#!"))


def _is_folder(mode: int, path: str, subject: str) -> bool:
    """Whether it is a folder; False for a plain file. Raises E-PACK-LINK or E-PACK-SPECIAL."""
    if stat.S_ISLNK(mode):
        raise _link(subject, path)
    if stat.S_ISDIR(mode):
        return True
    if not stat.S_ISREG(mode):
        raise _special(subject, path)
    return False


def _link(subject: str, path: str) -> GsdlockError:
    return refused(
        "E-PACK-LINK",
        f"{subject} holds the link `{shown(path)}`",
        "Put the file itself there; links are never followed.",
        where=shown(path, 400),
    )


def _special(subject: str, path: str) -> GsdlockError:
    return refused(
        "E-PACK-SPECIAL",
        f"{subject} holds `{shown(path)}`, which is neither a file nor a folder",
        "Take it out of the pack.",
        where=shown(path, 400),
    )
