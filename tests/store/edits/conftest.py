"""The laws that every editor keeps, and a plain model of what changes mean."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.edits.types import Change, EditFault, Editor
from gsdlock.store.merge import Known, merge
from gsdlock.store.records import EntryRecord
from gsdlock.store.wanted import WantedChange
from hypothesis import assume
from hypothesis import strategies as st

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


def without_empties(value: Any) -> Any:
    """`value` without the members that are empty containers."""
    if not isinstance(value, dict):
        return value
    members = {key: without_empties(item) for key, item in value.items()}
    return {key: item for key, item in members.items() if item not in ({}, [], None)}


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

    def keep_a_comment(self, data: bytes, changes: Sequence[Change], note: bytes, where: int) -> None:
        """A comment on any line of a document with our entries outlives them, and nothing else does: it keeps
        the containers that it stands in, though."""
        edited = self.put(data, changes)
        lines = edited.data.splitlines(keepends=True)
        where %= len(lines) + 1
        eol = b"\r\n" if lines[:1] and lines[0].endswith(b"\r\n") else b"\n"
        start = b"".join(lines[:where])
        commented = start + note + eol + b"".join(lines[where:])
        assume(start.endswith(b"\n") and self._means_the_same(edited.data, commented))
        left = self.editor.take(commented, edited.entries)
        assert left is not None
        assert note in left
        assert without_empties(self.meaning(left)) == without_empties(self.meaning(data))

    def _means_the_same(self, data: bytes, other: bytes) -> bool:
        try:
            return bool(self.meaning(data) == self.meaning(other))
        except Exception:  # whatever the other parser raises where the comment fell into a text
            return False

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


class History(Laws):
    """One shared file through applies and upgrades of two owners, edits by the user, rewriting by the host,
    and leaving. Beside it goes the document as it would be had we never come (`theirs`)."""

    @staticmethod
    def steps(ours: Sequence[Change], comments: Sequence[str]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
        """What `play` plays: applies of these changes, comments and values of the user, a host's writing."""
        some = st.lists(st.sampled_from(ours), max_size=5, unique_by=str)
        kinds: list[st.SearchStrategy[tuple[Any, ...]]] = [
            st.tuples(st.just("apply"), st.sampled_from(["one", "two"]), some),
            st.tuples(st.just("apply"), st.just("one"), some),
            st.tuples(st.just("comment"), st.sampled_from(comments), st.booleans()),
            st.tuples(st.just("set"), st.sampled_from(["mine", "yours"])),
            st.tuples(st.just("host")),
        ]
        return st.lists(st.one_of(kinds), min_size=1, max_size=6)

    def play(
        self, data: bytes | None, steps: Sequence[tuple[Any, ...]], anew: Callable[[bytes], bytes]
    ) -> None:
        """`anew` is the host's writing: the same meaning, without the comments."""
        current, theirs = data, data
        owned: dict[str, tuple[EntryRecord, ...]] = {"one": (), "two": ()}
        known: Known | None = None
        exact = True
        for name, *arguments in [*steps, ("apply", "one", []), ("apply", "two", [])]:
            if name == "apply":
                owner, wanted = arguments
                asked = {o: [WantedChange(r.change, "", False) for r in rs] for o, rs in owned.items()}
                asked[owner] = [WantedChange(change, "", False) for change in wanted]
                held = known if known is not None and known.after == current else None
                try:
                    merged = merge(self.editor, current, owned, asked, held)
                except EditFault as fault:
                    assert fault.kind in ("collision", "shape"), fault
                    continue  # refused: nothing is written
                assert merged.data is None or merged.data == current or self.check(merged.data, wanted)
                current, owned = merged.data, dict(merged.entries)
                known = Known(merged.without, merged.data)
            elif name == "comment" and current is not None and theirs is not None:
                text, at_end = arguments
                exact = exact and (not at_end or theirs.endswith(b"\n"))  # who ends the last line, and how
                current, theirs = (self._with(d, text, at_end=at_end) for d in (current, theirs))
            elif name == "set" and current is not None and theirs is not None:
                (key,) = arguments
                change = Change(ENSURE, f"/{key}", {"its": [1, "x"]})
                try:
                    current, theirs = (self.editor.put(d, [change]).data for d in (current, theirs))
                except EditFault:
                    break  # the test's own way to write a user's edit does not fit here
                exact = False
            elif name == "host" and current is not None and theirs is not None:
                current, theirs = anew(current), anew(theirs)
                exact = False
        else:
            self._left(current, theirs, exact=exact)

    def check(self, data: bytes, wanted: Sequence[Change]) -> bool:
        """The file parses, for others too, and holds what was asked for."""
        self.meaning(data)
        return all(self.editor.holds(data, change) for change in wanted)

    def _with(self, data: bytes, text: str, *, at_end: bool) -> bytes:
        if not at_end:
            bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
            return bom + text.encode() + b"\n" + data[len(bom) :]
        return data + (b"" if data.endswith(b"\n") else b"\n") + text.encode() + b"\n"

    def _left(self, current: bytes | None, theirs: bytes | None, *, exact: bool) -> None:
        if exact:
            assert current == theirs
            return
        assert (self.meaning(current) if current is not None else {}) == (
            self.meaning(theirs) if theirs is not None else {}
        )


@pytest.fixture(scope="session")
def laws() -> type[Laws]:
    return Laws


@pytest.fixture(scope="session")
def history() -> type[History]:
    return History
