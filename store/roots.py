"""Roots on disk: resolved once, judged, pinned; then walked from a handle, one name at a time.

`pin` looks at a root and refuses what the design forbids. `Ground` holds pinned directories open and gives
handles of folders below them without ever following a link. What is not a root of a plan never gets an
anchor, so nothing outside can be reached.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import OrderedDict

from msgspec import Struct

from ..capabilities.errors import GsdlockError, refused, shown
from .confinement import within
from .faults import io_error
from .filesystem import FileSystem, is_link, kind_of

_MOST_HANDLES = 64
_KEPT_ABOVE = 3
"""How many folders above one that is asked for are kept open with it."""


class Pinned(Struct, frozen=True):
    """A root as it was found. `given` is the path asked for, `real` the same with every link resolved.

    `anchor` is the existing directory nearest to `real` (itself, where it exists) and `missing` the names to
    be made below it. `device` and `inode` are those of the anchor. `group_writable` says that others of the
    group can write in the root.
    """

    given: str
    real: str
    anchor: str
    missing: tuple[str, ...]
    device: int
    inode: int
    group_writable: bool

    @property
    def link(self) -> bool:
        """Whether the root is not where its path says."""
        return self.real != self.given

    @property
    def below(self) -> str:
        """The root's path below its anchor; empty where it exists."""
        return "/".join(self.missing)


def pin(fs: FileSystem, path: str, user_id: int, home: str | None) -> Pinned:
    """Resolve and judge the root at `path`.

    A root that does not exist is fine where its folder does, or where it lies below the home. `user_id` -1
    (a platform without) skips the questions of owner and mode.
    Raises E-CONFINE-ROOT, E-CONFINE-OWNER, E-CONFINE-WRITABLE, E-ROOT-READONLY (all status 4), E-IO-….
    """
    if not path.startswith("/") or "\0" in path:
        raise refused(
            "E-CONFINE-ROOT",
            f'"{shown(path, 400)}" is not an absolute path',
            "Set the variable or option that gives this folder to an absolute path.",
            where=shown(path, 400),
        )
    given = os.path.normpath(path)
    try:
        anchor, missing = _nearest(fs, given)
        handle = fs.open_root(anchor)
        try:
            status = fs.stat_dir(handle)
        finally:
            fs.close(handle)
    except NotADirectoryError as error:
        raise refused(
            "E-CONFINE-ROOT",
            f"{shown(given, 400)} cannot be a folder: something on its way is not one",
            "Move that away, or give another folder.",
            where=shown(given, 400),
        ) from error
    except OSError as error:
        raise io_error(error, "cannot look at", given) from error
    if user_id >= 0:
        _judge(given, anchor, bool(missing), status, user_id)
    if len(missing) > 1 and not (home and within(anchor, _real_or_same(fs, home), fold=False)):
        raise refused(
            "E-CONFINE-ROOT",
            f"{shown(given, 400)} does not exist, and neither does the folder that it would be in",
            "Make that folder first: outside the home only the last folder of a path is made.",
            where=shown(given, 400),
        )
    return Pinned(
        given=given,
        real="/".join([anchor.rstrip("/"), *missing]) or "/",
        anchor=anchor,
        missing=missing,
        device=status.st_dev,
        inode=status.st_ino,
        group_writable=not missing and bool(status.st_mode & stat.S_IWGRP),
    )


def writable(status: os.stat_result, user_id: int) -> bool:
    """Whether the owner may write by the mode bits; root gets the same answer as everybody else."""
    return user_id < 0 or bool(status.st_mode & stat.S_IWUSR)


def link_refusal(path: str, leads_to: str) -> GsdlockError:
    """E-CONFINE-LINK: a link stands inside a root."""
    return refused(
        "E-CONFINE-LINK",
        f"{shown(path, 400)} is a link to {shown(leads_to, 400)}, and links inside a root are not followed",
        "Put a real folder or file there, or keep what it leads to as yours with --theirs and that path.",
        where=shown(path, 4096),
    )


class Ground:
    """Pinned directories, and handles of folders below them.

    An anchor is added by its resolved path and known by a number from then on. At most 64 folders are held
    open at a time; one that was closed is walked to again, from its anchor, and an anchor whose directory
    is no longer the one that was pinned is refused. A handle given out stays good for the next dozen of
    calls, however deep they go: use it at once.

    `settled`: nobody makes folders here while we look, so one that was missing once is not looked for again.
    """

    def __init__(self, fs: FileSystem, *, settled: bool = False) -> None:
        self.fs = fs
        self._anchors: list[tuple[str, tuple[int, int]]] = []
        self._numbers: dict[str, int] = {}
        self._open: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._settled = settled
        self._missing: set[tuple[int, str]] = set()

    def unsettle(self) -> None:
        """From now on folders are made here: a missing one is looked for anew each time."""
        self._settled = False
        self._missing.clear()

    def add(self, real: str, identity: tuple[int, int] | None = None) -> int:
        """The number of the anchor at `real` (device and inode as pinned, or as found now)."""
        if real in self._numbers:
            return self._numbers[real]
        if identity is None:
            handle = self.fs.open_root(real)
            try:
                status = self.fs.stat_dir(handle)
            finally:
                self.fs.close(handle)
            identity = status.st_dev, status.st_ino
        self._anchors.append((real, identity))
        self._numbers[real] = len(self._anchors) - 1
        return self._numbers[real]

    def anchors(self) -> list[tuple[str, int, int]]:
        """Path, device and inode of every anchor, by number."""
        return [(real, device, inode) for real, (device, inode) in self._anchors]

    def path(self, anchor: int, path: str) -> str:
        """The full path of `path` below an anchor, for messages and records."""
        real = self._anchors[anchor][0].rstrip("/")
        return f"{real}/{path}" if path else real or "/"

    def folder(self, anchor: int, path: str) -> int:
        """A handle of the folder `path` (empty: the anchor). Raises `FileNotFoundError` where it is missing,
        E-CONFINE-LINK, E-CONFINE-KIND (a file is in the way), E-CONFINE-MOVED, and `OSError`."""
        handle = self._open.get((anchor, path))
        if handle is not None:
            self._open.move_to_end((anchor, path))
            return handle
        if not path:
            return self._open_anchor(anchor)
        below: list[str] = []  # what is to be opened: the path itself, and folders above it
        while handle is None:
            if (anchor, path) in self._missing:
                self._missing.update((anchor, step) for step in below)
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path(anchor, path))
            below.append(path)
            path = split(path)[0]
            handle = self._open.get((anchor, path))
            if handle is not None:
                self._open.move_to_end((anchor, path))
            elif not path:
                handle = self._open_anchor(anchor)
        passing = False
        while below:
            parent, step = handle, below.pop()
            try:
                handle = self.fs.open_dir(parent, split(step)[1])
            except FileNotFoundError:
                if self._settled:
                    self._missing.update((anchor, missing) for missing in (step, *below))
                raise
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                    raise self._in_the_way(parent, split(step)[1], anchor, step) from error
                raise
            finally:
                if passing:
                    self.fs.close(parent)
            # Kept are the nearest ones too, for what lies beside; but not all of a deep path, since each that
            # is kept may take the place of one that was given out a moment ago.
            passing = len(below) > _KEPT_ABOVE
            if not passing:
                self._keep((anchor, step), handle)
        return handle

    def reached(self, anchor: int, path: str) -> int | None:
        """As `folder`; None where it is missing, or something that is no folder stands there or on the way.

        Raises E-CONFINE-MOVED, and `OSError`.
        """
        try:
            return self.folder(anchor, path)
        except FileNotFoundError:
            return None
        except GsdlockError as error:
            if error.code not in ("E-CONFINE-KIND", "E-CONFINE-LINK"):
                raise
            return None

    def is_gone(self, anchor: int, path: str) -> bool:
        """Whether a folder, or one on its way, is not there any more. Raises E-CONFINE-…, and `OSError`."""
        try:
            self.folder(anchor, path)
        except FileNotFoundError:
            return True
        return False

    def look(self, anchor: int, path: str) -> os.stat_result | None:
        """The status of `path`, no link followed; None where it, or a folder on its way, is missing."""
        folder, name = split(path)
        if not name:
            return self.fs.stat_dir(self.folder(anchor, ""))
        if (anchor, folder) in self._missing:
            return None
        try:
            return self.fs.lstat(self.folder(anchor, folder), name)
        except FileNotFoundError:
            return None

    def read(self, anchor: int, path: str) -> bytes:
        """The bytes of the regular file at `path`. Raises `OSError`."""
        folder, name = split(path)
        return self.fs.read(self.folder(anchor, folder), name)

    def forget(self) -> None:
        """Close all folders, so that the next use walks the disk again from the anchors."""
        while self._open:
            self.fs.close(self._open.popitem()[1])

    close = forget

    def __enter__(self) -> Ground:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_anchor(self, anchor: int) -> int:
        real, identity = self._anchors[anchor]
        handle = self.fs.open_root(real)
        try:
            status = self.fs.stat_dir(handle)
        except BaseException:
            self.fs.close(handle)
            raise
        if (status.st_dev, status.st_ino) != identity:
            self.fs.close(handle)
            raise refused(
                "E-CONFINE-MOVED",
                f"{shown(real, 400)} is no longer the folder that it was a moment ago",
                "Let whatever moves it finish, then run it again.",
                where=shown(real, 4096),
            )
        return self._keep((anchor, ""), handle)

    def _keep(self, key: tuple[int, str], handle: int) -> int:
        self._open[key] = handle
        while len(self._open) > _MOST_HANDLES:
            self.fs.close(self._open.popitem(last=False)[1])
        return handle

    def _in_the_way(self, parent: int, name: str, anchor: int, path: str) -> GsdlockError:
        full = self.path(anchor, path)
        status = self.fs.lstat(parent, name)
        if status is not None and is_link(status):
            return link_refusal(full, self.fs.readlink(parent, name))
        kind = kind_of(status) if status is not None else "nothing"
        return refused(
            "E-CONFINE-KIND",
            f"{shown(full, 400)} should be a folder, and a {kind} stands there",
            "Move it away, and run it again.",
            where=shown(full, 4096),
        )


def split(path: str) -> tuple[str, str]:
    """Folder and name of a relative path; the folder is empty at the top."""
    folder, _, name = path.rpartition("/")
    return folder, name


def _nearest(fs: FileSystem, path: str) -> tuple[str, tuple[str, ...]]:
    """The resolved path of the nearest folder that exists, and the names missing below it."""
    missing: list[str] = []
    while True:
        try:
            real = fs.real_path(path)
        except FileNotFoundError:
            above, name = os.path.split(path)
            _refuse_dangling(fs, above, name)
            missing.insert(0, name)
            path = above
            continue
        return real, tuple(missing)


def _refuse_dangling(fs: FileSystem, above: str, name: str) -> None:
    """A root that is a link to nothing is not made: nobody can know what was meant to be there."""
    with contextlib.suppress(FileNotFoundError):
        handle = fs.open_root(above)
        try:
            if is_link(fs.lstat(handle, name)):
                raise refused(
                    "E-CONFINE-ROOT",
                    f"{shown(f'{above}/{name}', 400)} is a link that leads nowhere "
                    f"({shown(fs.readlink(handle, name), 400)})",
                    "Make the folder that it leads to, or remove the link.",
                    where=shown(f"{above}/{name}", 4096),
                )
        finally:
            fs.close(handle)


def _judge(given: str, anchor: str, missing: bool, status: os.stat_result, user_id: int) -> None:
    sticky = bool(status.st_mode & stat.S_ISVTX)
    if status.st_uid != user_id and not (missing and sticky):
        raise refused(
            "E-CONFINE-OWNER",
            f"{shown(anchor, 400)} belongs to another user (uid {status.st_uid}, you are {user_id})",
            "Run it as the user who owns the folder (not through sudo), or change its owner.",
            where=shown(given, 4096),
        )
    if status.st_mode & stat.S_IWOTH and not (missing and sticky):
        raise refused(
            "E-CONFINE-WRITABLE",
            f"every user of this machine can write in {shown(anchor, 400)}",
            f"Take that right away first: chmod o-w {shown(anchor, 400)}",
            where=shown(given, 4096),
        )
    if not writable(status, user_id):
        raise refused(
            "E-ROOT-READONLY",
            f"{shown(anchor, 400)} is read-only (mode {stat.S_IMODE(status.st_mode):04o})",
            "If another tool manages this folder, let it place the files; else make it writable.",
            where=shown(given, 4096),
        )


def _real_or_same(fs: FileSystem, path: str) -> str:
    with contextlib.suppress(OSError):
        return fs.real_path(path)
    return path
