"""The values that the edit engine takes and gives. Plain data: no file, no path, no digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

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


@dataclass(frozen=True, slots=True)
class Change:
    """What should be in the file: `value` (JSON data; a string for `block`) at `at` by `op`."""

    op: EditOp
    at: str
    value: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """What one change did: kept in the generation, and enough to take it out again.

    `added` is false where an equal value stood there before us (then it is not ours and stays). `prior` is
    the value that `ensure` displaced, or ABSENT. `made` are the pointers of the containers that we had to
    make around it, outermost first: they go again when they are empty.
    """

    op: EditOp
    at: str
    value: Any
    added: bool
    prior: Any = ABSENT
    made: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edited:
    """The new bytes and one `Entry` per change, in the order of the changes."""

    data: bytes
    entries: tuple[Entry, ...] = field(default=())


class EditFault(Exception):
    """The file cannot be edited. `line` and `column` count from 1, 0 where unknown.

    `kind`: `syntax` (does not parse), `duplicate` (a key stands twice on our way), `shape` (a value of another
    type stands where we need a container), `collision` (`ensure` finds another value of the user's),
    `encoding` (not UTF-8), `block` (a begin marker without its end).
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

    def put(self, data: bytes | None, changes: Sequence[Change]) -> Edited:
        """`data` with every change in it; a change that already holds alters no byte.

        Raises `EditFault`.
        """

    def holds(self, data: bytes | None, change: Change) -> bool:
        """Whether the document already holds the change, by meaning (for `set-if-absent`: any value)."""

    def take(self, data: bytes | None, entries: Sequence[Entry]) -> bytes | None:
        """`data` without what the entries added, the inverse of `put`; None where nothing is left of a
        document that we made (its outermost container is in `made` as the pointer "" and is empty).

        An entry that is no longer there, or that was changed, is left alone. Where a container of ours was
        extended by somebody, only our parts go. Raises `EditFault`.
        """
