"""The three-way rule for the entries of one target in one shared file. Pure; `drift` is the one for files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..lockfiles.model import EditOp
from .drift import Say
from .edits.types import Change, EditFault, Editor, Entry
from .records import EntryRecord
from .wanted import WantedChange, identity


class Asked(Struct, frozen=True):
    """What becomes of the wanted changes, each in exactly one of `asked` (put in, or standing already),
    `held` (the user's version stays) and `drifted` (refused). `over` are places where a value of the user's
    gives way; `present` are the changes that the file holds now, `yours` those of them that are content with
    another value of the user's."""

    asked: tuple[WantedChange, ...]
    held: tuple[WantedChange, ...]
    drifted: tuple[WantedChange, ...]
    over: frozenset[str]
    present: frozenset[tuple[str, str, bytes]]
    yours: frozenset[tuple[str, str, bytes]]


def judge_entries(
    editor: Editor,
    current: bytes | None,
    entries: Sequence[EntryRecord],
    changes: Sequence[WantedChange],
    say: Callable[[WantedChange], Say],
) -> Asked:
    """`entries` are our records, `changes` what the plan wants, `say` what the user said about one.

    An entry of ours that the file no longer holds was changed or removed by hand. So was its successor, the
    change that the plan now wants at the same place: it is not put in behind the user's back either. What is
    held stays so, and its successor too.
    Raises `EditFault`.
    """
    wants = {change.identity for change in changes}
    ours = {identity(r.change): r for r in entries if r.entry.added and not r.held}
    held = {identity(r.change) for r in entries if r.held}
    lost = {
        record.entry.at
        for key, record in ours.items()
        if key not in wants and not editor.holds(current, record.change)
    }
    # A value of ours that makes way for its successor is nobody else's, so it does not count as the user's.
    making_way = {r.entry.at for key, r in ours.items() if key not in wants and is_ours(editor, current, r)}
    held_at = {r.entry.at for r in entries if r.held and identity(r.change) not in wants}
    asked: list[WantedChange] = []
    kept: list[WantedChange] = []
    drifted: list[WantedChange] = []
    over: set[str] = set()
    present: set[tuple[str, str, bytes]] = set()
    yours: set[tuple[str, str, bytes]] = set()
    for change in changes:
        said = say(change)
        if said.ours or said.adopt:
            over.add(change.change.at)
        succeeds = change.change.op is EditOp.SET_IF_ABSENT and change.change.at in making_way
        holds = not succeeds and editor.holds(current, change.change)
        if holds:
            present.add(change.identity)
            if _is_other(editor, current, change.change):
                yours.add(change.identity)
        stays = change.identity in held or change.change.at in held_at
        if holds or said.ours or not (stays or change.identity in ours or change.change.at in lost):
            asked.append(change)
        elif stays or said.theirs:
            kept.append(change)
        else:
            drifted.append(change)
    return Asked(
        tuple(asked), tuple(kept), tuple(drifted), frozenset(over), frozenset(present), frozenset(yours)
    )


def is_ours(editor: Editor, current: bytes | None, record: EntryRecord) -> bool:
    """Whether what we put in stands there: for a `set-if-absent` the very value."""
    change = record.change
    try:
        if change.op is EditOp.SET_IF_ABSENT:
            change = replace(change, op=EditOp.ENSURE)
        return editor.holds(current, change)
    except EditFault:
        return False


def _is_other(editor: Editor, current: bytes | None, change: Change) -> bool:
    """Whether another value than that of a `set-if-absent` stands there, or on the way to it."""
    if change.op is not EditOp.SET_IF_ABSENT:
        return False
    try:
        return not editor.holds(current, replace(change, op=EditOp.ENSURE))
    except EditFault:
        return True


def found_again(editor: Editor, current: bytes | None, entries: Sequence[EntryRecord]) -> list[EntryRecord]:
    """Our records, those that were held because nobody could read the file as the file says now: what stands
    there as we put it in is ours as before, anything else is the user's. Raises `EditFault`."""
    return [
        record
        if not record.held or not record.entry.added
        else replace(record, held=False)
        if is_ours(editor, current, record)
        else held_back(WantedChange(record.change, record.source, record.executes))
        for record in entries
    ]


def held_back(change: WantedChange) -> EntryRecord:
    """The record of a change that is not made, because the user's version stays."""
    wanted = change.change
    entry = Entry(wanted.op, wanted.at, wanted.value, added=False)
    return EntryRecord(entry, change.source, change.executes, held=True)
