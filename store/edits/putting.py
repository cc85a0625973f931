"""Changes into a document: what has to happen, decided on plain data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct, field

from ...lockfiles.model import EditOp
from .document import Document
from .meaning import Path, contains, path_pointer, pointer_path, same
from .taking import displaced, outside
from .types import ABSENT, Change, EditFault, Entry


class Putting(Struct):
    """One `put`: which containers are ours so far, and what stood in those that were empty."""

    document: Document
    over: Collection[str]
    made: set[Path] = field(default_factory=set)
    traces: dict[Path, str | None] = field(default_factory=dict)
    upgraded: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.document.absent:
            self.made.add(())

    def inherit(self, replacing: Sequence[Entry]) -> None:
        """Take over what an earlier `put` knew: its containers that are still there are still ours."""
        for entry in replacing:
            if not entry.added:
                continue
            self.upgraded[entry.at] = entry.prior
            paths = [pointer_path(pointer) for pointer in entry.made]
            self.made.update(p for p in paths if not p or self.document.get(p) is not ABSENT)
            if not displaced(entry):
                self.traces.setdefault(outside(entry), entry.trace)

    def put(self, change: Change) -> Entry:
        path = walk(self.document, change, opening=True)
        if held(self.document, path, change):
            return Entry(change.op, change.at, change.value, added=False)
        theirs = self.document.get(path)
        if theirs is ABSENT or self.document.data is ABSENT:
            return self._insert(change, path)
        if change.op is EditOp.APPEND_UNIQUE:
            return self._append(change, path)
        if _joinable(theirs, change.value, loosely=change.at in self.upgraded):
            return self._join(change, path)
        if change.at in self.over and path:
            prior, spelling = theirs, self.document.spelling(path)
            self.document.replace(path, change.value)
            return Entry(change.op, change.at, change.value, added=True, prior=plain(prior), trace=spelling)
        where = f"another value stands at {change.at or 'the top level'}"
        raise EditFault("collision", where, *self.document.place(path))

    def _insert(self, change: Change, path: tuple[str, ...]) -> Entry:
        """The value where nothing stands, with the containers that are missing around it."""
        if self.document.data is ABSENT:
            self.traces[()] = self.document.inside(())
            self.document.create()
            self.made.add(())
        in_list = change.op is EditOp.APPEND_UNIQUE
        if not path:
            if in_list:
                raise EditFault("shape", "an object stands at the top level where an array is needed")
            if not isinstance(change.value, dict):
                raise EditFault("shape", "the top level has to be an object")
            self._join_members(path, change.value)
            return self._entry(change, path)
        depth = next(i for i in range(len(path)) if self.document.get(path[: i + 1]) is ABSENT)
        value = [change.value] if in_list else change.value
        for part in reversed(path[depth + 1 :]):
            value = {part: value}
        self._remember(path[:depth])
        self.made.update(self.document.insert(path[:depth], path[depth], value))
        self.made.update(path[:i] for i in range(depth + 1, len(path) + in_list))
        return self._entry(change, path)

    def _append(self, change: Change, path: tuple[str, ...]) -> Entry:
        self._remember(path)
        self.document.append(path, change.value)
        return self._entry(change, path)

    def _join(self, change: Change, path: tuple[str, ...]) -> Entry:
        """Our members beside those of an object that has no value of its own to collide with.

        Where that is an object of ours that somebody put something into, it is ours as before.
        """
        self._remember(path)
        self._join_members(path, change.value)
        if self.upgraded.get(change.at, {}) is ABSENT:
            return self._entry(change, path)
        made = tuple(path_pointer(p) for p in _prefixes(path) if p in self.made)
        trace = self.traces.get(path)
        return Entry(change.op, change.at, change.value, added=True, prior={}, made=made, trace=trace)

    def _join_members(self, path: Path, ours: dict[str, Any]) -> None:
        for key, value in ours.items():
            theirs = self.document.get((*path, key))
            if theirs is ABSENT:
                self.made.update(self.document.insert(path, key, value))
            elif isinstance(value, dict):
                self._join_members((*path, key), value)

    def _remember(self, container: Path) -> None:
        """Note what stands inside a container that is empty and not ours, before something goes into it."""
        if container not in self.made and self.document.get(container) in ({}, [], None):
            self.traces[container] = self.document.inside(container)

    def _entry(self, change: Change, path: tuple[str, ...]) -> Entry:
        within = _prefixes(path) if change.op is EditOp.APPEND_UNIQUE else _prefixes(path[:-1])
        made = tuple(path_pointer(p) for p in within if p in self.made)
        entry = Entry(change.op, change.at, change.value, added=True, made=made)
        trace = self.traces.get(outside(entry))
        return Entry(change.op, change.at, change.value, added=True, made=made, trace=trace)


def walk(document: Document, change: Change, *, opening: bool = False) -> tuple[str, ...]:
    """The path of a change, after it was seen that all that stands on the way can be followed.

    Where a plain value stands on the way of a `set-if-absent`, the path ends there: that value decides.
    `opening`: a null that stands for an empty container becomes one, as something is about to go into it.
    Raises `EditFault` (shape) where something else is in the way.
    """
    if change.op is EditOp.BLOCK:
        raise EditFault("shape", "a marked block has no place in this format")
    path = pointer_path(change.at)
    if document.data is ABSENT:
        return path
    document.guard(path)
    wants_list = change.op is EditOp.APPEND_UNIQUE
    for depth in range(len(path) + wants_list):
        here = path[:depth]
        value = document.get(here)
        if value is ABSENT:
            return path
        needed: Any
        needed, what = ([], "an array") if depth == len(path) else ({}, "an object")
        if value is None and document.opens(here):
            if not opening:
                return path
            document.open(here, needed)
        elif type(value) is not type(needed):
            if change.op is EditOp.SET_IF_ABSENT and here and not isinstance(value, (dict, list)):
                return here
            where = path_pointer(here) or "the top level"
            found = f"{_kind(value)} stands at {where} where {what} is needed"
            raise EditFault("shape", found, *document.place(here))
    return path


def held(document: Document, path: tuple[str, ...], change: Change) -> bool:
    """Whether a change at `path` (see `walk`) holds already."""
    theirs = document.get(path)
    if document.data is ABSENT or theirs is ABSENT:
        return False
    if change.op is EditOp.APPEND_UNIQUE and not isinstance(theirs, list):
        return False  # a null that stands for an empty array
    if change.op is EditOp.APPEND_UNIQUE:
        return any(contains(item, change.value, strict=True) for item in theirs)
    return change.op is EditOp.SET_IF_ABSENT or contains(theirs, change.value, strict=True)


def _joinable(theirs: Any, ours: Any, *, loosely: bool) -> bool:
    """Whether our object may go beside the members of theirs.

    It may where theirs holds nothing but objects (a table that exists only because something was put below
    it) under other keys. `loosely`: it was our object once, so members of any kind may stand there, as long
    as none is at odds with ours.
    """
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        return False
    if not loosely:
        return theirs.keys().isdisjoint(ours) and all(isinstance(value, dict) for value in theirs.values())
    return all(
        contains(theirs[key], value, strict=True) or _joinable(theirs[key], value, loosely=True)
        for key, value in ours.items()
        if key in theirs
    )


def kept(document: Document, changes: Sequence[Change], replacing: Sequence[Entry]) -> dict[int, Entry]:
    """By number of the change: the old entries that are wanted again and still hold."""
    found: dict[int, Entry] = {}
    if document.data is ABSENT:
        return found
    unused = [entry for entry in replacing if entry.added]
    for number, change in enumerate(changes):
        for entry in unused:
            if (entry.op, entry.at) == (change.op, change.at) and same(entry.value, change.value):
                if _still_ours(document, entry):
                    found[number] = entry
                    unused.remove(entry)
                break
    return found


def _still_ours(document: Document, entry: Entry) -> bool:
    op = EditOp.ENSURE if entry.op is EditOp.SET_IF_ABSENT else entry.op
    change = Change(op, entry.at, entry.value)
    return held(document, walk(document, change), change)


def _prefixes(path: tuple[str, ...]) -> list[Path]:
    """All paths from the root to `path` itself, outermost first."""
    return [path[:i] for i in range(len(path) + 1)]


def _kind(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "an array"
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case _:
            return "a number or a date"


def plain(value: Any) -> Any:
    """A user's value as JSON data: a decimal number as a float, a date or an infinite number as text."""
    import math
    from decimal import Decimal

    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(float(value)) else str(value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
