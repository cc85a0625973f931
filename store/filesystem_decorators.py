"""File systems around another one: one that only looks, one that records, one that fails on purpose.

Each sees every call before it is passed on, by its name (a method of `FileSystem`) and the path it is about
(as far as the handle's path is known: handles are followed from `open_root`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from typing import TypeVar

from msgspec import Struct

from .filesystem import MAX_FILE, FileSystem

T = TypeVar("T")

CHANGING = frozenset(
    {"make_dir", "remove_dir", "create", "rename", "rename_new", "exchange", "link", "unlink"}
)
"""The methods that change a disk."""
FLUSHING = frozenset({"flush_file", "flush_dir", "flush_all"})
"""The methods that make changes last."""


class Call(Struct, frozen=True):
    """One call: the method, the path that it is about, and for a move where it goes (else empty)."""

    method: str
    path: str
    to: str = ""


class Decorated:
    """Passes every call to `inner`, after `before` has seen it. Itself it changes nothing."""

    def __init__(self, inner: FileSystem) -> None:
        self.inner = inner
        self._paths: dict[int, str] = {}

    def before(self, call: Call) -> None:
        """Called before each call is passed on; may raise instead."""

    @property
    def umask(self) -> int:
        return self.inner.umask

    def open_root(self, path: str) -> int:
        handle = self._pass(Call("open_root", path), lambda: self.inner.open_root(path))
        self._paths[handle] = path
        return handle

    def open_dir(self, parent: int, name: str) -> int:
        path = self._path(parent, name)
        handle = self._pass(Call("open_dir", path), lambda: self.inner.open_dir(parent, name))
        self._paths[handle] = path
        return handle

    def close(self, handle: int) -> None:
        # A handle is given back whatever happens, as the system does it: close is not a point of failure.
        self._paths.pop(handle, None)
        self.inner.close(handle)

    def stat_dir(self, handle: int) -> os.stat_result:
        return self._pass(Call("stat_dir", self._path(handle)), lambda: self.inner.stat_dir(handle))

    def list_dir(self, handle: int) -> list[str]:
        return self._pass(Call("list_dir", self._path(handle)), lambda: self.inner.list_dir(handle))

    def make_dir(self, parent: int, name: str, mode: int) -> None:
        call = Call("make_dir", self._path(parent, name))
        self._pass(call, lambda: self.inner.make_dir(parent, name, mode))

    def remove_dir(self, parent: int, name: str) -> None:
        call = Call("remove_dir", self._path(parent, name))
        self._pass(call, lambda: self.inner.remove_dir(parent, name))

    def real_path(self, path: str) -> str:
        return self._pass(Call("real_path", path), lambda: self.inner.real_path(path))

    def lstat(self, parent: int, name: str) -> os.stat_result | None:
        return self._pass(Call("lstat", self._path(parent, name)), lambda: self.inner.lstat(parent, name))

    def read(self, parent: int, name: str, limit: int = MAX_FILE) -> bytes:
        call = Call("read", self._path(parent, name))
        return self._pass(call, lambda: self.inner.read(parent, name, limit))

    def read_path(self, path: str, limit: int = MAX_FILE) -> bytes:
        return self._pass(Call("read", path), lambda: self.inner.read_path(path, limit))

    def readlink(self, parent: int, name: str) -> str:
        call = Call("readlink", self._path(parent, name))
        return self._pass(call, lambda: self.inner.readlink(parent, name))

    def create(
        self, parent: int, name: str, data: bytes, mode: int, like: tuple[int, str] | None = None
    ) -> None:
        call = Call("create", self._path(parent, name))
        self._pass(call, lambda: self.inner.create(parent, name, data, mode, like))

    def rename(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        call = Call("rename", self._path(parent, name), self._path(to_parent, to_name))
        self._pass(call, lambda: self.inner.rename(parent, name, to_parent, to_name))

    def rename_new(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        call = Call("rename_new", self._path(parent, name), self._path(to_parent, to_name))
        self._pass(call, lambda: self.inner.rename_new(parent, name, to_parent, to_name))

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        call = Call("exchange", self._path(parent, name), self._path(other_parent, other_name))
        return self._pass(call, lambda: self.inner.exchange(parent, name, other_parent, other_name))

    def link(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        call = Call("link", self._path(parent, name), self._path(to_parent, to_name))
        self._pass(call, lambda: self.inner.link(parent, name, to_parent, to_name))

    def unlink(self, parent: int, name: str) -> None:
        self._pass(Call("unlink", self._path(parent, name)), lambda: self.inner.unlink(parent, name))

    def flush_file(self, parent: int, name: str) -> None:
        call = Call("flush_file", self._path(parent, name))
        self._pass(call, lambda: self.inner.flush_file(parent, name))

    def flush_dir(self, handle: int) -> None:
        self._pass(Call("flush_dir", self._path(handle)), lambda: self.inner.flush_dir(handle))

    def flush_all(self, handle: int) -> bool:
        return self._pass(Call("flush_all", self._path(handle)), lambda: self.inner.flush_all(handle))

    def _pass(self, call: Call, go: Callable[[], T]) -> T:
        self.before(call)
        return go()

    def _path(self, handle: int, name: str = "") -> str:
        folder = self._paths.get(handle, "?")
        return f"{folder.rstrip('/')}/{name}" if name else folder


class DryRun(Decorated):
    """Looks, and refuses every change (EROFS): what runs on it cannot write, whatever it does."""

    def before(self, call: Call) -> None:
        if call.method in CHANGING or call.method in FLUSHING:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), call.path)


class Recording(Decorated):
    """Passes everything on and keeps the `calls` of the methods asked for (all, if none are named)."""

    def __init__(self, inner: FileSystem, methods: Collection[str] = ()) -> None:
        super().__init__(inner)
        self.calls: list[Call] = []
        self._methods = frozenset(methods)

    def before(self, call: Call) -> None:
        if not self._methods or call.method in self._methods:
            self.calls.append(call)


class Faulty(Decorated):
    """Fails at call number `at` (from 1) with the error `number`, or with whatever `instead` does.

    A `create` that fails has written half of its bytes when `torn` is set and `instead` ends the process, as
    a crash would leave it. `lasting` fails every call from there on. `calls` counts all that came by.
    """

    def __init__(
        self,
        inner: FileSystem,
        at: int,
        number: int = errno.EIO,
        *,
        methods: Collection[str] = (),
        instead: Callable[[], None] | None = None,
        torn: bool = False,
        lasting: bool = False,
    ) -> None:
        super().__init__(inner)
        self.calls = 0
        self.failed: Call | None = None
        self._at = at
        self._number = number
        self._methods = frozenset(methods)
        self._instead = instead
        self._torn = torn
        self._lasting = lasting

    def before(self, call: Call) -> None:
        if self._methods and call.method not in self._methods:
            return
        self.calls += 1
        if self.calls == self._at or (self._lasting and self.calls > self._at):
            self.failed = self.failed or call
            if self._instead is not None:
                self._instead()
            raise OSError(self._number, os.strerror(self._number), call.path)

    def create(
        self, parent: int, name: str, data: bytes, mode: int, like: tuple[int, str] | None = None
    ) -> None:
        if self._torn and self.calls + 1 == self._at:
            self.inner.create(parent, name, data[: len(data) // 2], mode, like)
        super().create(parent, name, data, mode, like)
