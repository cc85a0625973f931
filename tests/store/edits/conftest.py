"""The laws that every editor keeps, and a plain model of what changes mean."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.edits.types import Change, EditFault, Editor
from hypothesis import assume

ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT


def applied(value: Any, changes: Sequence[Change]) -> Any:
    """What a document that means `value` has to mean with the changes in it: the plainest way to say it."""
    root = copy.deepcopy(value)
    for change in changes:
        around, keys = root, [k.replace("~1", "/").replace("~0", "~") for k in change.at[1:].split("/")]
        for key in keys[:-1]:
            around = around.setdefault(key, {})
        if change.op is APPEND:
            items = around.setdefault(keys[-1], [])
            if change.value not in items:
                items.append(copy.deepcopy(change.value))
        else:
            around.setdefault(keys[-1], copy.deepcopy(change.value))
    return root


def unordered(value: Any) -> Any:
    """`value` without the order of its arrays."""
    if isinstance(value, dict):
        return {key: unordered(item) for key, item in value.items()}
    return sorted(map(repr, map(unordered, value))) if isinstance(value, list) else value


def is_within(part: str, whole: str) -> bool:
    """Whether all of `part` but white space is in `whole`, in the same order."""
    rest = iter(whole)
    return all(c in rest for c in part if not c.isspace())


@dataclass(frozen=True)
class Laws:
    """What holds for any document that an editor takes. `meaning` reads a document, by other code than the
    editor's where there is any."""

    editor: Editor
    meaning: Callable[[bytes], Any]

    def put(self, data: bytes | None, changes: Sequence[Change]) -> Any:
        """`put`, but a document that it refuses is no example."""
        try:
            return self.editor.put(data, changes)
        except EditFault as fault:
            assume(fault.kind not in ("collision", "shape"))
            raise

    def hold(self, data: bytes | None, changes: Sequence[Change], other: Sequence[Change]) -> None:
        edited = self.put(data, changes)
        self._says_what_it_should(data, edited.data, changes)
        self._is_idempotent(edited.data, changes)
        assert self.editor.take(edited.data, edited.entries) == data
        self._comes_out_one_by_one(data, edited)
        self._is_replaced(data, edited, other)

    def _says_what_it_should(self, before: bytes | None, after: bytes, changes: Sequence[Change]) -> None:
        old = self.meaning(before) if before is not None else {}
        assert self.meaning(after) == applied(old, changes)
        if before is not None:
            assert is_within(before.decode(), after.decode())

    def _is_idempotent(self, after: bytes, changes: Sequence[Change]) -> None:
        again = self.editor.put(after, changes)
        assert again.data == after
        assert not any(entry.added for entry in again.entries)
        assert all(self.editor.holds(after, change) for change in changes)
        self.editor.check(after)

    def _comes_out_one_by_one(self, before: bytes | None, edited: Any) -> None:
        data = edited.data
        for entry in reversed(edited.entries):
            if data is not None:
                data = self.editor.take(data, [entry])
        assert data == before

    def _is_replaced(self, before: bytes | None, edited: Any, other: Sequence[Change]) -> None:
        """By `take` and `put`, and by `put` in the place of the old entries: then the original comes back."""
        try:
            second = self.editor.put(self.editor.take(edited.data, edited.entries), other)
            in_place = self.editor.put(edited.data, other, edited.entries)
        except EditFault as fault:
            assert fault.kind in ("collision", "shape")
            return
        assert self.editor.take(second.data, second.entries) == before
        assert unordered(self.meaning(in_place.data)) == unordered(self.meaning(second.data))
        left = self.editor.take(in_place.data, in_place.entries)
        assert left == before


@pytest.fixture(scope="session")
def laws() -> type[Laws]:
    return Laws
