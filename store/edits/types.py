"""The values that the edit engine takes and gives. Plain data: no file, no path, no digest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from ...lockfiles.model import EditOp


class _Absent:
    """Nothing stood there. (None is a JSON value.)"""

    _only: _Absent | None = None

    def __new__(cls) -> _Absent:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class Change(Struct, frozen=True):
    """What should be in the file: `value` (JSON data; a string for `block`) at `at` by `op`."""

    op: EditOp
    at: str
    value: Any


class Entry(Struct, frozen=True):
    """What one change did: kept in the generation, and enough to take it out again.

    `added` is false where an equal value stood there before us (then it is not ours and stays). `prior` is
    the value that `ensure` displaced, or ABSENT. `made` are the pointers of the containers that we had to
    make around it, outermost first: they go again when they are empty. All entries of one `put` name those
    that they lie in, so that the last one to go takes them along.

    `trace` is text that `take` needs to give the very bytes back: what stood between the brackets of the
    empty container (or in the document without a value) that the entry went into, how a displaced `prior`
    was spelled, what was put between a user's text and a block. None where nothing is needed.
    """

    op: EditOp
    at: str
    value: Any
    added: bool
    prior: Any = ABSENT
    made: tuple[str, ...] = ()
    trace: str | None = None


class Edited(Struct, frozen=True):
    """The new bytes and one `Entry` per change, in the order of the changes."""

    data: bytes
    entries: tuple[Entry, ...] = field(default=())


class EditFault(Exception):
    """The file cannot be edited. `line` and `column` count from 1, 0 where unknown.

    `kind`: `syntax` (does not parse), `duplicate` (a key stands twice on our way), `shape` (a value of
    another type stands where we need a container, and it is not for it to decide, or the format cannot say
    it there), `collision` (`ensure` finds another value of the user's), `encoding` (not UTF-8), `block` (a
    marker without its counterpart).
    """

    def __init__(self, kind: str, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line
        self.column = column


class Editor(Protocol):
    """One file format. All functions are pure; `data` None means that the file does not exist.

    For all of them: bytes that need not change do not change (comments, order, indentation, end of line
    style, BOM, final newline or none, escapes, number spelling, trailing commas).
    """

    def check(self, data: bytes) -> None:
        """Raises `EditFault` where the document does not parse."""

    def read(self, data: bytes) -> Any:
        """What the document means, as plain data; None where it holds no value. Raises `EditFault`."""

    def put(
        self,
        data: bytes | None,
        changes: Sequence[Change],
        replacing: Sequence[Entry] = (),
        over: Collection[str] = (),
    ) -> Edited:
        """`data` with every change in it; a change that already holds alters no byte.

        `replacing` are the entries of an earlier `put` that these changes take the place of: those that are
        wanted again stay where they are, the others are taken out. It is `take` and `put` in one, but it
        knows which containers are ours, and lets `ensure` go beside what a host or a user added below our
        old value (which `put` alone calls a collision). `over` are pointers at which `ensure` displaces
        another value of the user's; the entry keeps it as `prior`.

        Raises `EditFault`.
        """

    def holds(self, data: bytes | None, change: Change) -> bool:
        """Whether the document already holds the change, by meaning (for `set-if-absent`: any value).

        A value that somebody extended (a key more, a handler more in a group) still holds. Raises
        `EditFault`.
        """

    def take(self, data: bytes | None, entries: Sequence[Entry]) -> bytes | None:
        """`data` without what the entries added, the inverse of `put`; None where nothing is left of a
        document that we made (its outermost container is in `made` as the pointer "" and is empty).

        An entry that is no longer there, or that was changed, is left alone. Where a container of ours was
        extended by somebody, only our parts go. Raises `EditFault`.
        """
