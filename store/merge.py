"""One shared file: what stands in it, what of it is ours, what should be ours, and the bytes that result.

Several targets (and installations) may own entries in one file. They are merged together, so that an entry
that two of them want is written once and goes with the last of them. Pure: bytes and records in, bytes and
records out; raises `EditFault` where the file cannot be edited.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..lockfiles.model import EditOp
from .edits.meaning import same, value_at
from .edits.types import ABSENT, Change, EditFault, Editor, Entry
from .records import EntryRecord
from .wanted import WantedChange, identity

Identity = tuple[str, str, bytes]
LOST = frozenset({"E-BLOB-MISSING", "E-BLOB-CORRUPT"})
"""What says that the bytes without us are lost: that costs exactness, not the way out."""


class Known(Struct, frozen=True):
    """A state of the file that we wrote: the bytes `without` any of us, and the bytes `after` us."""

    without: bytes | None
    after: bytes | None


class Merged(Struct, frozen=True):
    """The file as it shall be (`data`, None: it goes), as it would be without any of us, and the entries of
    each owner, in the order in which they were asked for."""

    data: bytes | None
    without: bytes | None
    entries: Mapping[str, tuple[EntryRecord, ...]]


def merge(
    editor: Editor,
    current: bytes | None,
    owned: Mapping[str, Sequence[EntryRecord]],
    asked: Mapping[str, Sequence[WantedChange]],
    known: Known | None = None,
    over: Collection[str] = (),
    whole: Collection[str] = (),
) -> Merged:
    """The file with every asked change in it and no entry of ours besides.

    `owned` are the entries in the file by owner, `asked` the changes by owner (an owner that asks for nothing
    leaves). `known` is the state that we wrote last: where the file still is in it, leaving gives
    `known.without` back byte for byte, and other changes start from it if what is owned comes out of it the
    same way. Else the file as it stands is changed as little as possible.
    `over` are pointers at which another value of the user's gives way, `whole` those of entries that go with
    everything that others put into them.
    """
    ours = _as_wholes(editor, current, _ours(owned), whole)
    current = _single(editor, current, ours)
    wanted = _unique(change for changes in asked.values() for change in changes)
    settled = all(key in ours and editor.holds(current, w.change) for key, w in wanted.items())
    untouched = known is not None and known.after == current and not whole
    over = {*over, *(entry.at for entry in ours.values() if entry.prior is not ABSENT)}
    entries: Mapping[Identity, Entry] = {}
    if settled and len(wanted) == len(ours):
        entries, data = ours, current
    elif not wanted:
        data = known.without if known and untouched else editor.take(current, list(ours.values()))
    else:
        changes = [w.change for w in wanted.values()]
        if known and untouched and _repeats(editor, known, ours, over):
            edited = editor.put(known.without, changes, over=over)
        else:
            edited = editor.put(current, changes, list(ours.values()), over)
        entries, data = dict(zip(wanted, edited.entries, strict=True)), edited.data
    if known and untouched:
        without = known.without
    elif not ours:
        without = current
    else:
        without = editor.take(data, list(entries.values())) if entries else data
    return Merged(data, without, _shared_out(asked, entries))


def _ours(owned: Mapping[str, Sequence[EntryRecord]]) -> dict[Identity, Entry]:
    """Entries by what they ask for. One that we added outranks an equal one that was found there."""
    found: dict[Identity, Entry] = {}
    for records in owned.values():
        for record in records:
            if record.held:
                continue
            key = identity(record.change)
            if key not in found or (record.entry.added and not found[key].added):
                found[key] = record.entry
    return found


def _single(editor: Editor, current: bytes | None, ours: Mapping[Identity, Entry]) -> bytes | None:
    """The file with every list item of ours in it once at most, whoever put the others there."""
    items = [entry for entry in ours.values() if entry.op is EditOp.APPEND_UNIQUE and entry.added]
    if current is None or not items:
        return current
    meaning = editor.read(current)
    more: list[Entry] = []
    for entry in items:
        there = value_at(meaning, entry.at)
        copies = sum(same(item, entry.value) for item in there) if isinstance(there, list) else 0
        more += [entry] * (copies - 1)
    return editor.take(current, more) if more else current


def _as_wholes(
    editor: Editor, current: bytes | None, ours: dict[Identity, Entry], whole: Collection[str]
) -> dict[Identity, Entry]:
    """The entries, those at a pointer of `whole` as if we had written all that stands there."""
    if current is None or not any(entry.at in whole for entry in ours.values()):
        return ours
    meaning = editor.read(current)
    found = dict(ours)
    for key, entry in ours.items():
        value = value_at(meaning, entry.at) if entry.at in whole else ABSENT
        if value is not ABSENT:
            found[key] = replace(entry, value=value)
    return found


def _unique(changes: Iterable[WantedChange]) -> dict[Identity, WantedChange]:
    found: dict[Identity, WantedChange] = {}
    for change in changes:
        found.setdefault(change.identity, change)
    return found


def _repeats(editor: Editor, known: Known, ours: Mapping[Identity, Entry], over: Collection[str]) -> bool:
    """Whether putting our entries into `known.without` gives `known.after`, byte for byte."""
    changes = [Change(entry.op, entry.at, entry.value) for entry in ours.values()]
    try:
        return editor.put(known.without, changes, over=over).data == known.after
    except EditFault:
        return False


def _shared_out(
    asked: Mapping[str, Sequence[WantedChange]], settled: Mapping[Identity, Entry]
) -> dict[str, tuple[EntryRecord, ...]]:
    return {
        owner: tuple(EntryRecord(settled[w.identity], w.source, w.executes) for w in changes)
        for owner, changes in asked.items()
    }
