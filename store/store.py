"""The store as one value: the file system, the blobs, the state folder, and who is at work."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct, field

from ..capabilities.environment import Environment
from ..lockfiles.model import EditFormat
from .blobs import Blobs
from .edits import editor
from .edits.types import Editor
from .filesystem import FileSystem
from .generations import Generations
from .records import Generation


class Store(Struct, frozen=True):
    """What every function of the store's verbs is given.

    `state` and `home` are full paths (`home` None where there is none); `user_id` the effective uid, -1 where
    the platform has none; `now` gives RFC 3339 UTC; `command` is what the user ran, for the messages of other
    processes that wait for us. `written` are the last generations that this process wrote, by slug.
    """

    fs: FileSystem
    blobs: Blobs
    state: str
    home: str | None
    user_id: int
    now: Callable[[], str]
    command: str
    editors: Callable[[EditFormat], Editor] = editor
    written: dict[str, Generation] = field(default_factory=dict)

    @property
    def generations(self) -> Generations:
        """The generations of all targets."""
        return Generations(self.fs, self.state, self.written)


def open_store(environment: Environment, command: str, fs: FileSystem | None = None) -> Store:
    """The store of a machine; nothing is read or made yet. `fs` is the real file system if not given."""
    if fs is None:
        from .filesystem_posix import RealFileSystem

        fs = RealFileSystem()
    return Store(
        fs=fs,
        blobs=Blobs(fs, os.path.normpath(environment.folders.data)),
        state=os.path.normpath(environment.folders.state),
        home=environment.home,
        user_id=environment.user_id,
        now=environment.now,
        command=command,
    )
