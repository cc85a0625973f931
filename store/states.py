"""Where things stand: every path and entry of a target compared with its generation. Reads only.

For `status`, `diff @disk` and `verify`. Nothing is refused here: what cannot be read is told as such.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from msgspec import Struct

from ..capabilities.canonical import sha256_digest
from ..capabilities.errors import GsdlockError
from ..capabilities.words import Words
from .edits.types import EditFault
from .filesystem import is_regular, kind_of, permissions, reason
from .records import EditedRecord, FileRecord, Generation
from .roots import Ground
from .store import Store
from .wanted import filled, wanted_from_generation


class State(Words):
    """unchanged: as we left it. modified, deleted, mode: the user changed it, deleted it, or changed whether
    it may be executed. permissions: others may do more or less with it than before. obstructed: no file
    stands there. held: the user's version is kept, as they said. present, missing: an entry is, or is not, in
    its file. wanted, done: an entry that the user puts in by hand is still lacking, or there. unreadable:
    nobody can tell."""

    UNCHANGED = "unchanged"
    MODIFIED = "modified"
    DELETED = "deleted"
    MODE = "mode"
    PERMISSIONS = "permissions"
    OBSTRUCTED = "obstructed"
    HELD = "held"
    PRESENT = "present"
    MISSING = "missing"
    WANTED = "wanted"
    DONE = "done"
    UNREADABLE = "unreadable"

    @property
    def differs(self) -> bool:
        """Whether it is worth telling: something is not as the generation says, or waits for the user."""
        return self not in (State.UNCHANGED, State.PERMISSIONS, State.HELD, State.PRESENT, State.DONE)


class PathState(Struct, frozen=True):
    """One whole file: its key, full path, state, and a word more where there is one (`a link to …`)."""

    key: str
    path: str
    state: State
    detail: str = ""


class EntryState(Struct, frozen=True):
    """One entry: the key and full path of its file, where it is in it, and its state. `file_changed` says
    that the file is otherwise not as we left it, which is the user's good right."""

    key: str
    path: str
    at: str
    executes: bool
    state: State
    file_changed: bool
    detail: str = ""


class TargetState(Struct, frozen=True):
    """A target: its generation, its files and entries, and `moved`: roots (by name) that are elsewhere now,
    with the full path where they are."""

    generation: Generation
    files: tuple[PathState, ...]
    entries: tuple[EntryState, ...]
    moved: Mapping[str, str]

    @property
    def differs(self) -> bool:
        """Whether anything is not as the generation says."""
        states = [file.state for file in self.files] + [entry.state for entry in self.entries]
        return bool(self.moved) or any(state.differs for state in states)


def inspect(store: Store, generation: Generation, roots: Mapping[str, str] | None = None) -> TargetState:
    """Compare a target with the disk; every file is hashed. `roots` are where its roots would be now, by name
    (as the environment says), to tell which moved."""
    with Ground(store.fs) as ground:
        files = tuple(_file(store, ground, generation, record) for record in generation.files)
        entries = tuple(
            state
            for record in generation.edited
            if record.entries
            for state in _entries(store, ground, generation, record)
        )
    return TargetState(generation, files, entries, _moved(store, generation, roots or {}))


def written_bytes(store: Store, generation: Generation, record: FileRecord) -> bytes:
    """What was written for a file, made again from the store. Raises E-BLOB-…, E-FILL-…."""
    data = store.blobs.get(record.source)
    if not record.fill:
        return data
    return filled(data, wanted_from_generation(generation).fillings, record.key)


def disk_bytes(store: Store, path: str) -> bytes | None:
    """The bytes of a file at a full path; None where there is no file that can be read."""
    folder, _, name = path.rpartition("/")
    try:
        handle = store.fs.open_root(folder or "/")
    except OSError:
        return None
    try:
        return store.fs.read(handle, name)
    except OSError:
        return None
    finally:
        store.fs.close(handle)


def _moved(store: Store, generation: Generation, roots: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, recorded in generation.roots.items():
        now = roots.get(name)
        if now is None:
            continue
        real, installed = _led_to(store, now), _led_to(store, recorded.real)
        if installed != recorded.real.rstrip("/"):  # put behind a link since: followed, as by an apply
            installed = _led_to(store, recorded.given)
        if real != installed:
            found[name] = real
    return found


def _led_to(store: Store, path: str) -> str:
    with contextlib.suppress(OSError):
        path = store.fs.real_path(path)
    return path.rstrip("/")


def _file(store: Store, ground: Ground, generation: Generation, record: FileRecord) -> PathState:
    full = generation.real_path(record.root, record.path)

    def told(state: State, detail: str = "") -> PathState:
        return PathState(record.key, full, state, detail)

    if record.held:
        return told(State.HELD)
    try:
        anchor = ground.add(generation.roots[record.root].real)
        status = ground.look(anchor, record.path)
        if status is None:
            return told(State.DELETED)
        if not is_regular(status):
            return told(State.OBSTRUCTED, f"a {kind_of(status)} stands there")
        digest = sha256_digest(ground.read(anchor, record.path))
    except FileNotFoundError:
        return told(State.DELETED)
    except GsdlockError as error:
        return told(State.OBSTRUCTED, error.what)
    except OSError as error:
        return told(State.UNREADABLE, reason(error))
    if digest != record.digest:
        return told(State.MODIFIED)
    changed = permissions(status) ^ record.mode
    if changed & 0o100:
        return told(State.MODE, "may no longer be executed" if record.mode & 0o100 else "may be executed now")
    if changed:
        return told(State.PERMISSIONS, f"{record.mode:04o} became {permissions(status):04o}")
    return told(State.UNCHANGED)


def _entries(store: Store, ground: Ground, generation: Generation, record: EditedRecord) -> list[EntryState]:
    try:
        data = _edited_bytes(ground, record)
        editor = store.editors(record.format)
        holds = {n: editor.holds(data, entry.change) for n, entry in enumerate(record.entries)}
        detail = ""
    except EditFault as fault:
        holds, detail, data = {}, f"{fault.message} (line {fault.line}, column {fault.column})", None
    except GsdlockError as error:
        holds, detail, data = {}, error.what, None
    except OSError as error:
        holds, detail, data = {}, reason(error), None
    digest = None if data is None else sha256_digest(data)
    states: list[EntryState] = []
    for number, entry in enumerate(record.entries):
        if number not in holds:
            state = State.HELD if entry.held else State.UNREADABLE
        elif record.by_hand:
            state = State.DONE if holds[number] else State.WANTED
        elif entry.held:
            state = State.HELD
        else:
            state = State.PRESENT if holds[number] else State.MISSING
        changed = not record.by_hand and digest != record.after
        states.append(
            EntryState(record.key, record.real, entry.entry.at, entry.executes, state, changed, detail)
        )
    return states


def _edited_bytes(ground: Ground, record: EditedRecord) -> bytes | None:
    """The bytes of a shared file, or of what it is a link to by now: it is only read."""
    path = record.real
    with contextlib.suppress(FileNotFoundError):
        path = ground.fs.real_path(path)
    folder, _, name = path.rpartition("/")
    try:
        return ground.read(ground.add(folder or "/"), name)
    except FileNotFoundError:
        return None
