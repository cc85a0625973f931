"""A disk in memory that remembers what was flushed, and can be cut off from power at any moment.

The model is a file system that is free to reorder: of what was not flushed, any subset survives, in its
order. One step on names (a rename or an exchange of two names) is atomic, as every journalling file system
has it, and lasts when a folder that it touches was flushed. The bytes of a file last when the file was
flushed; of bytes that were not, all, none, half, or as many zeros survive. A flush of the whole file system
makes everything last that came before it.
"""

from __future__ import annotations

import errno
import itertools
import os
import posixpath
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from gsdlock.store.filesystem import MAX_FILE, FileSystem, NotRegularError, TooLargeError
from gsdlock.store.filesystem_decorators import Decorated

Names = tuple[tuple[int, str, int | None], ...]
"""Entries as they are after a step: folder, name, and the inode (None: nothing) that it leads to."""


@dataclass(frozen=True)
class Event:
    """What happened: `names` changed, or the `data` of an inode was written."""

    names: Names = ()
    inode: int = 0
    data: bytes = b""


@dataclass
class Node:
    """A file (with `data`) or a folder (with `entries`)."""

    mode: int
    data: bytes = b""
    entries: dict[str, int] = field(default_factory=dict)
    stamp: int = 0


def failing(number: int, name: str) -> OSError:
    return OSError(number, os.strerror(number), name)


class Disk:
    """A `FileSystem` in memory. `log` holds the events since the start, and `lasting` at which place in the
    log each of them was made to last (None: not yet)."""

    umask = 0o022

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {1: Node(stat.S_IFDIR | 0o755)}
        self.log: list[Event] = []
        self.lasting: list[int | None] = []
        self.moments: list[int] = []  # after each call that changes or flushes: how long the log was
        self._handles: dict[int, int] = {}
        self._numbers = itertools.count(100)
        self._inodes = itertools.count(2)
        self._clock = itertools.count(1_000_000_000, 1000)

    # -- handles and looking -----------------------------------------------------------------------------

    def open_root(self, path: str) -> int:
        inode = 1
        for name in filter(None, path.split("/")):
            inode = self._child(inode, name)
        return self._handle(inode, path)

    def open_dir(self, parent: int, name: str) -> int:
        return self._handle(self._child(self._handles[parent], name), name)

    def close(self, handle: int) -> None:
        del self._handles[handle]

    def stat_dir(self, handle: int) -> os.stat_result:
        return self._status(self._handles[handle])

    def list_dir(self, handle: int) -> list[str]:
        return sorted(self._folder(handle).entries)

    def real_path(self, path: str) -> str:
        inode = 1
        for name in filter(None, path.split("/")):
            inode = self._child(inode, name)
        return posixpath.normpath(path)

    def lstat(self, parent: int, name: str) -> os.stat_result | None:
        inode = self._folder(parent).entries.get(name)
        return None if inode is None else self._status(inode)

    def read(self, parent: int, name: str, limit: int = MAX_FILE) -> bytes:
        return self._read(self._handles[parent], name, limit)

    def read_path(self, path: str, limit: int = MAX_FILE) -> bytes:
        folder, name = posixpath.split(path)
        inode = 1
        for one in filter(None, folder.split("/")):
            inode = self._child(inode, one)
        return self._read(inode, name, limit)

    def _read(self, folder: int, name: str, limit: int) -> bytes:
        inode = self._child(folder, name)
        node = self.nodes[inode]
        if not stat.S_ISREG(node.mode):
            raise NotRegularError(errno.EINVAL, "not a regular file", name)
        if len(node.data) > limit:
            raise TooLargeError(errno.EFBIG, f"longer than {limit} bytes", name)
        return node.data

    def readlink(self, parent: int, name: str) -> str:
        raise failing(errno.EINVAL, name)

    # -- changing ----------------------------------------------------------------------------------------

    def make_dir(self, parent: int, name: str, mode: int) -> None:
        self._free(parent, name)
        inode = next(self._inodes)
        self.nodes[inode] = Node(stat.S_IFDIR | (mode & ~self.umask), stamp=next(self._clock))
        self._set((self._handles[parent], name, inode))

    def remove_dir(self, parent: int, name: str) -> None:
        node = self.nodes[self._child(self._handles[parent], name)]
        if not stat.S_ISDIR(node.mode):
            raise failing(errno.ENOTDIR, name)
        if node.entries:
            raise failing(errno.ENOTEMPTY, name)
        self._set((self._handles[parent], name, None))

    def create(
        self, parent: int, name: str, data: bytes, mode: int, like: tuple[int, str] | None = None
    ) -> None:
        self._free(parent, name)
        inode = next(self._inodes)
        self.nodes[inode] = Node(stat.S_IFREG | mode, data, stamp=next(self._clock))
        self._happened(Event(inode=inode, data=data))
        self._set((self._handles[parent], name, inode))

    def rename(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        inode = self._child(self._handles[parent], name)
        there = self._folder(to_parent).entries.get(to_name)
        if there is not None and stat.S_ISDIR(self.nodes[there].mode):
            raise failing(errno.EISDIR, to_name)
        self._set((self._handles[parent], name, None), (self._handles[to_parent], to_name, inode))

    def rename_new(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        self._child(self._handles[parent], name)
        self._free(to_parent, to_name)
        self.rename(parent, name, to_parent, to_name)

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        one, other = (
            self._child(self._handles[parent], name),
            self._child(self._handles[other_parent], other_name),
        )
        self._set((self._handles[parent], name, other), (self._handles[other_parent], other_name, one))
        return True

    def link(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        inode = self._child(self._handles[parent], name)
        self._free(to_parent, to_name)
        self._set((self._handles[to_parent], to_name, inode))

    def unlink(self, parent: int, name: str) -> None:
        if stat.S_ISDIR(self.nodes[self._child(self._handles[parent], name)].mode):
            raise failing(errno.EISDIR, name)
        self._set((self._handles[parent], name, None))

    # -- making it last ----------------------------------------------------------------------------------

    def flush_file(self, parent: int, name: str) -> None:
        inode = self._child(self._handles[parent], name)
        self._last(n for n, event in enumerate(self.log) if event.inode == inode)

    def flush_dir(self, handle: int) -> None:
        folder = self._handles[handle]
        self._last(
            n for n, event in enumerate(self.log) if any(where == folder for where, _, _ in event.names)
        )

    def flush_all(self, handle: int) -> bool:
        self._last(iter(range(len(self.log))))
        return True

    # -- inside ------------------------------------------------------------------------------------------

    def _child(self, folder: int, name: str) -> int:
        node = self.nodes[folder]
        if not stat.S_ISDIR(node.mode):
            raise failing(errno.ENOTDIR, name)
        if name not in node.entries:
            raise failing(errno.ENOENT, name)
        return node.entries[name]

    def _handle(self, inode: int, name: str) -> int:
        if not stat.S_ISDIR(self.nodes[inode].mode):
            raise failing(errno.ENOTDIR, name)
        number = next(self._numbers)
        self._handles[number] = inode
        return number

    def _folder(self, handle: int) -> Node:
        return self.nodes[self._handles[handle]]

    def _free(self, parent: int, name: str) -> None:
        if name in self._folder(parent).entries:
            raise failing(errno.EEXIST, name)

    def _status(self, inode: int) -> os.stat_result:
        node = self.nodes[inode]
        seconds = node.stamp // 10**9
        row = (node.mode, inode, 7, 1, os.geteuid(), os.getegid(), len(node.data), seconds, seconds, seconds)
        times = dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), node.stamp)
        return os.stat_result(row, times)

    def _set(self, *names: tuple[int, str, int | None]) -> None:
        _enter(self.nodes, names)
        self._happened(Event(names=names))
        self.moments.append(len(self.log))

    def _happened(self, event: Event) -> None:
        self.log.append(event)
        self.lasting.append(None)

    def _last(self, events: Iterator[int]) -> None:
        now = len(self.moments)
        for number in events:
            if self.lasting[number] is None:
                self.lasting[number] = now
        self.moments.append(len(self.log))

    # -- power -------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """All that is there now is on the medium; the log begins here."""
        self.log, self.lasting, self.moments = [], [], []

    def copy(self) -> Disk:
        """Another disk with the same on it, everything lasting."""
        made = type(self)()
        made.nodes = {n: replace(node, entries=dict(node.entries)) for n, node in self.nodes.items()}
        made._inodes = itertools.count(max(made.nodes) + 1)
        made._clock = itertools.count(2_000_000_000, 1000)
        return made

    def pending(self, moment: int) -> list[int]:
        """The events that had happened by a moment (a place in `moments`) and were not made to last by it."""
        until = self.moments[moment]
        return [n for n in range(until) if (at := self.lasting[n]) is None or at > moment]

    def survivor(self, start: Disk, moment: int, kept: Collection[int], lost_as: str) -> Disk:
        """What is on the medium after the power went at `moment`: what lasted, and `kept` of what was
        pending. Bytes that were not kept are there as `lost_as`: `none`, `half` or `zeros`."""
        made = start.copy()
        lost = set(self.pending(moment)) - set(kept)
        for number in range(self.moments[moment]):
            event = self.log[number]
            if event.inode:
                kind = self.nodes[event.inode].mode
                data = _remains(event.data, lost_as) if number in lost else event.data
                made.nodes[event.inode] = Node(kind, data, stamp=self.nodes[event.inode].stamp)
            elif number not in lost:
                for _, _, inode in event.names:
                    if inode is not None and inode not in made.nodes:  # a new folder
                        made.nodes[inode] = Node(self.nodes[inode].mode, stamp=self.nodes[inode].stamp)
                made.nodes |= {
                    where: Node(self.nodes[where].mode)
                    for where, _, _ in event.names
                    if where not in made.nodes
                }
                _enter(made.nodes, event.names)
        made._inodes = itertools.count(max([*self.nodes, *made.nodes]) + 1)
        return made

    def contents(self) -> tuple[object, ...]:
        """Equal for disks that are alike: by inodes, modes, times, bytes and names of all that is reached."""
        found: list[object] = []

        def walk(inode: int) -> None:
            node = self.nodes[inode]
            names = tuple(sorted(node.entries.items()))
            found.append((inode, node.mode, 0 if names else node.stamp, node.data, names))
            for _, child in names:
                walk(child)

        walk(1)
        return tuple(found)

    def tree(self, path: str) -> dict[str, tuple[int, bytes]]:
        """Everything below a folder: path -> (mode, bytes)."""
        found: dict[str, tuple[int, bytes]] = {}

        def walk(inode: int, prefix: str) -> None:
            for name, child in self.nodes[inode].entries.items():
                node = self.nodes[child]
                found[f"{prefix}{name}"] = (node.mode, node.data)
                if stat.S_ISDIR(node.mode):
                    walk(child, f"{prefix}{name}/")

        inode = 1
        for name in filter(None, path.split("/")):
            inode = self._child(inode, name)
        walk(inode, "")
        return found

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """A file, with the folders above it; for what is there before anything begins."""
        folder, name = posixpath.split(path)
        handle = self.folder(folder)
        self._folder(handle).entries.pop(name, None)
        self.create(handle, name, data, mode)
        self.close(handle)

    def folder(self, path: str) -> int:
        """A handle of a folder, made if need be."""
        try:
            return self.open_root(path)
        except FileNotFoundError:
            above, name = posixpath.split(path)
            parent = self.folder(above)
            self.make_dir(parent, name, 0o700)
            self.close(parent)
            return self.open_root(path)


class PlainDisk(Disk):
    """A disk whose file system cannot exchange two names."""

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        return False


class Careless(Decorated):
    """A file system that tells of a flush and leaves it out, where `omitted` says so of its path."""

    def __init__(self, inner: FileSystem, omitted: Callable[[str], bool]) -> None:
        super().__init__(inner)
        self._omitted = omitted

    def flush_file(self, parent: int, name: str) -> None:
        if not self._omitted(self._path(parent, name)):
            super().flush_file(parent, name)

    def flush_dir(self, handle: int) -> None:
        if not self._omitted(self._path(handle)):
            super().flush_dir(handle)

    def flush_all(self, handle: int) -> bool:
        return self._omitted(self._path(handle)) or super().flush_all(handle)


def _enter(nodes: dict[int, Node], names: Names | tuple[tuple[int, str, int | None], ...]) -> None:
    for folder, name, inode in names:
        if inode is None:
            nodes[folder].entries.pop(name, None)
        else:
            nodes[folder].entries[name] = inode


def _remains(data: bytes, lost_as: str) -> bytes:
    if lost_as == "zeros":
        return b"\0" * len(data)
    return data[: len(data) // 2] if lost_as == "half" else b""
