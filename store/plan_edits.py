"""The part of a preflight that is about shared files: which file is really edited, and who has entries in it.

`shared_files` judges each file with all who have a claim on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.errors import GsdlockError
from .edit_claims import EditClaim, entry_item, is_left_alone
from .edits.types import EditFault, Entry
from .faults import io_error
from .items import Item, ItemOp
from .locate import followed, locate
from .planned import PlannedStep
from .records import EditedRecord, EntryRecord, Generation
from .roots import Pinned
from .shared_files import SharedFile
from .survey import Spot, Survey, TargetChange
from .wanted import WantedEdit, identity


class EditsPlan(Struct, frozen=True):
    """What is to be done about shared files: steps, and by slug the records that the next generation has, and
    the items. `saves` are bytes that the records name and that go into the store."""

    steps: tuple[PlannedStep, ...]
    records: Mapping[str, tuple[EditedRecord, ...]]
    items: Mapping[str, tuple[Item, ...]]
    saves: tuple[bytes, ...]
    paths: Mapping[str, str]  # full path -> key, of all files that are edited


def plan_edits(
    survey: Survey,
    wanted_roots: Mapping[str, Mapping[str, Pinned]],
    base_roots: Mapping[str, Mapping[str, Pinned | None]],
) -> EditsPlan:
    """Judge every shared file of the targets to be changed; the roots are by slug and name. What stands in
    the way goes into the survey."""
    files: dict[str, list[EditClaim]] = {}
    records: dict[str, list[EditedRecord]] = {change.slug: [] for change in survey.changes}
    items: dict[str, list[Item]] = {change.slug: [] for change in survey.changes}
    for change in survey.changes:
        if change.next is not None and change.next.by_hand and not change.force:
            _by_hand(survey, change, wanted_roots[change.slug], records, items)
            continue
        for claim in _claims(survey, change, wanted_roots[change.slug], base_roots[change.slug]):
            if not change.force or claim.spot.full in change.restores:
                files.setdefault(claim.spot.full, []).append(claim)
            elif claim.base is not None:
                records[change.slug].append(claim.base)
    steps: list[PlannedStep] = []
    saves: list[bytes] = []
    for full, claims in files.items():
        file = SharedFile(survey, claims, _bystanders(survey, full)).judged()
        steps += [file.step] if file.step is not None else []
        saves += file.saves
        for slug, record in file.records:
            records[slug].append(record)
        for slug, item in file.items:
            items[slug].append(item)
    return EditsPlan(
        steps=tuple(steps),
        records={slug: tuple(of_slug) for slug, of_slug in records.items()},
        items={slug: tuple(of_slug) for slug, of_slug in items.items()},
        saves=tuple(saves),
        paths={full: claims[0].key for full, claims in files.items() if any(c.wanted for c in claims)},
    )


def _claims(
    survey: Survey,
    change: TargetChange,
    wanted_roots: Mapping[str, Pinned],
    base_roots: Mapping[str, Pinned | None],
) -> list[EditClaim]:
    current = survey.currents.get(change.slug)
    records = [r for r in (current.edited if current is not None else ()) if r.entries and not r.by_hand]
    claims: list[EditClaim] = []
    met: set[str] = set()
    for edit in change.next.edits if change.next is not None else ():
        root = wanted_roots.get(edit.root)
        if root is None:
            continue
        path = f"{root.given}/{edit.path}"
        base = next((r for r in records if r.key == edit.key), None)
        as_it_is = EditClaim(change, current, survey.spot(root, edit.path), False, base, edit, path)
        find = partial(_located, survey, root, edit, as_it_is)
        found = survey.collect(survey.name_of(change), edit.key, path, find)
        if found is None or isinstance(found, EditClaim):
            met |= {r.real for r in records if r.key == edit.key}  # noted; not to be taken apart besides
            claims += [found] if found is not None else []
            continue
        spot, linked = found
        base = next((r for r in records if r.real == spot.full), None)
        if base is None:
            base, gone = _followed(survey, records, edit, spot, base_roots, current)
            met |= gone
        else:
            met.add(base.real)
        claims.append(EditClaim(change, current, spot, linked, base, edit, path))
    for record in records:
        if record.real not in met:
            look = partial(_gone_or_recorded, survey, record, base_roots, current)
            place = survey.collect(survey.name_of(change), record.key, record.real, look)
            if place is not None:
                claims.append(EditClaim(change, current, *place, record, None, record.real))
    return claims


def _located(
    survey: Survey, root: Pinned, edit: WantedEdit, claim: EditClaim
) -> tuple[Spot, bool] | EditClaim:
    """`locate`; where something is in the way that is left alone by the user's word, `claim` with that.

    Raises E-CONFINE-…, `OSError`.
    """
    try:
        return locate(survey, root, edit)
    except (GsdlockError, OSError) as error:
        fault = error if isinstance(error, GsdlockError) else io_error(error, "cannot read", claim.given)
        if fault.code == "E-CONFINE-PATH" or not is_left_alone(survey, claim):
            raise
        return replace(claim, obstruction=fault)


def _followed(
    survey: Survey,
    records: list[EditedRecord],
    edit: WantedEdit,
    spot: Spot,
    base_roots: Mapping[str, Pinned | None],
    current: Generation | None,
) -> tuple[EditedRecord | None, set[str]]:
    """Our record of the same file where it was before: the user renamed it, or put a link in its place, or a
    file in place of a link, and our entries came along. Also the paths where it is no more.

    Where the old file is still there too, only the entries that the new one holds came along.
    """
    record = next((r for r in records if r.key == edit.key), None)
    if record is None:
        return None, set()
    try:
        before, _, _ = survey.look(_recorded(survey, record, base_roots, current)[0])
    except (GsdlockError, OSError):
        return record, {record.real}
    if before.kind != "file":
        return record, {record.real}
    try:
        _, status, data = survey.look(spot)
        editor = survey.store.editors(edit.format)
        present = tuple(e for e in record.entries if status is not None and editor.holds(data, e.change))
    except (GsdlockError, OSError, EditFault):
        present = ()  # reported with the file itself
    return (replace(record, entries=present) if present else None), set()


def _recorded(
    survey: Survey,
    record: EditedRecord,
    base_roots: Mapping[str, Pinned | None],
    current: Generation | None,
) -> tuple[Spot, bool]:
    """Where a file that we edited is: in a root, which may have been put behind a link since, or (True) where
    a link led. Raises `OSError`, E-CONFINE-…"""
    root = base_roots.get(record.root)
    if root is not None and current is not None:
        for real in (root.real, current.roots[record.root].real):
            above = real.rstrip("/") + "/"
            if record.real.startswith(above):
                return survey.spot(root, record.real[len(above) :]), False
    return survey.spot_of(record.real), True


def _gone_or_recorded(
    survey: Survey,
    record: EditedRecord,
    base_roots: Mapping[str, Pinned | None],
    current: Generation | None,
) -> tuple[Spot, bool] | None:
    """`_recorded`, a link that was put there since followed; None where not even the folder is there any
    more."""
    try:
        spot, linked = _recorded(survey, record, base_roots, current)
    except FileNotFoundError:
        return None
    spot, led = followed(survey, spot)
    return spot, linked or led


def _bystanders(survey: Survey, full: str) -> list[tuple[Generation, EditedRecord]]:
    """What targets that this transaction does not change know of a file, uninstalled ones too: these may
    remember how the file was without us."""
    changing = {change.slug for change in survey.changes}
    return [
        (generation, record)
        for slug, generation in survey.currents.items()
        if slug not in changing
        for record in generation.edited
        if record.real == full and not record.by_hand
    ]


def _by_hand(
    survey: Survey,
    change: TargetChange,
    roots: Mapping[str, Pinned],
    records: dict[str, list[EditedRecord]],
    items: dict[str, list[Item]],
) -> None:
    """No shared file is touched: what is ours there already stays ours, the rest is noted for the user."""
    current = survey.currents.get(change.slug)
    wanted = change.next
    assert wanted is not None
    ours = [r for r in (current.edited if current is not None else ()) if r.entries and not r.by_hand]
    records[change.slug] += ours
    have = {identity(e.change) for record in ours for e in record.entries}
    for edit in wanted.edits:
        root = roots.get(edit.root)
        entries = tuple(
            EntryRecord(Entry(w.change.op, w.change.at, w.change.value, added=False), w.source, w.executes)
            for w in edit.changes
            if w.identity not in have
        )
        if root is None or not entries:
            continue
        real = f"{root.real.rstrip('/')}/{edit.path}"
        records[change.slug].append(
            EditedRecord(edit.root, edit.path, real, edit.format, None, None, entries, by_hand=True)
        )
        claim = EditClaim(change, current, survey.spot(root, edit.path), False, None, edit, real)
        items[change.slug] += [
            entry_item(claim, w, ItemOp.KEEP, "is put in by you, by hand")
            for w in edit.changes
            if w.identity not in have
        ]
