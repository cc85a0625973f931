"""What hosts have against a merged file, and what is done about it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..capabilities.errors import GsdlockError, refused, shown
from .edits.types import ABSENT
from .records import EntryRecord
from .wanted import Objection, Validator, WantedChange, identity


def objections(validators: Iterable[Validator], before: bytes | None, after: bytes | None) -> list[Objection]:
    """What hosts have against `after` that they had not against `before`, each once. Nothing against no file.

    Raises `EditFault` where the bytes before do not parse.
    """
    found: dict[Objection, None] = {}
    for validate in validators if after is not None else ():
        found.update(dict.fromkeys(validate(before, after or b"")))
    return list(found)


def rests(
    against: Sequence[Objection],
    owned: Mapping[str, Sequence[EntryRecord]],
    asked: Mapping[str, Collection[WantedChange]],
) -> frozenset[str]:
    """The pointers of entries of ours that must go as a whole: what somebody put into them means nothing
    without ours, and the host would refuse it."""
    going = [r for r in _going(owned, asked) if r.entry.prior is ABSENT]
    return frozenset(r.entry.at for r in going for o in against if _at_or_below(o.at, r.entry.at))


def leaves(
    against: Objection,
    owned: Mapping[str, Sequence[EntryRecord]],
    asked: Mapping[str, Collection[WantedChange]],
) -> bool:
    """Whether an objection is to what an entry of ours leaves behind that went beside the user's own: that
    was so before us, and no reason to stay."""
    return any(_at_or_below(against.at, record.entry.at) for record in _going(owned, asked))


def _going(
    owned: Mapping[str, Sequence[EntryRecord]], asked: Mapping[str, Collection[WantedChange]]
) -> list[EntryRecord]:
    """The entries of ours that nobody asks for any more."""
    wanted = {change.identity for changes in asked.values() for change in changes}
    at = {change.change.at for changes in asked.values() for change in changes}
    return [
        record
        for records in owned.values()
        for record in records
        if record.entry.added and identity(record.change) not in wanted and record.entry.at not in at
    ]


def _at_or_below(pointer: str, other: str) -> bool:
    return f"{pointer}/".startswith(f"{other}/")


def host_refusal(path: str, against: Sequence[Objection]) -> GsdlockError:
    """The error for a file that the host would not take."""
    first = against[0]
    return refused(
        "E-HOST-SHAPE",
        f"{shown(path, 400)} would be refused by its host: {objection_text(first)}",
        "Change what stands there in your file, or disable what brings the entry; nothing was written.",
        where=path,
        details=[objection_text(o) for o in against],
    )


def objection_text(objection: Objection) -> str:
    """Where and why, for people."""
    return shown(f"{objection.at or 'the file'} {objection.text}", 300)
