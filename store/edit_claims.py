"""Who has a say about a shared file, and the items that come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from ..capabilities.errors import MOST_SURFACE_TEXT, GsdlockError, shown
from ..lockfiles.model import EditOp
from .confinement import within
from .items import Item, ItemKind, ItemOp, Stays
from .planned import Weight, risk_of
from .records import EditedRecord, EntryRecord, Generation
from .survey import Spot, Survey, TargetChange
from .wanted import Wanted, WantedChange, WantedEdit, identity, item_key


class EditClaim(Struct, frozen=True):
    """What one target says about one shared file: our record of it (`base`) and the changes that the plan
    wants. `linked` says that a link leads to it; `given` is its path as the root was given. `obstruction` is
    why the file cannot even be found, where that is left as it is."""

    change: TargetChange
    current: Generation | None
    spot: Spot
    linked: bool
    base: EditedRecord | None
    wanted: WantedEdit | None
    given: str
    obstruction: GsdlockError | None = None

    @property
    def owner(self) -> Wanted | Generation:
        """The plan, or for a target that leaves its generation: both know its name, scope and so on."""
        owner = self.change.next or self.current
        assert owner is not None, "a claim comes from a plan or from a generation"
        return owner

    @property
    def slug(self) -> str:
        """The target and installation, as generations go by."""
        return self.change.slug

    @property
    def key(self) -> str:
        """`root:path` of the shared file."""
        known = self.wanted or self.base
        assert known is not None, "a claim has a plan or a record"
        return known.key

    @property
    def entries(self) -> tuple[EntryRecord, ...]:
        """The entries of our record."""
        return self.base.entries if self.base is not None else ()

    @property
    def changes(self) -> tuple[WantedChange, ...]:
        """The changes that the plan wants."""
        return self.wanted.changes if self.wanted is not None else ()


def weight_of(claim: EditClaim, change: WantedChange | None = None) -> Weight:
    """What makes an item of a claim heavier."""
    wanted = claim.change.next
    third_party = wanted.third_party if wanted is not None else ()
    return Weight(
        outside=wanted is not None and wanted.outside,
        group_writable=claim.spot.group_writable,
        third_party=change is not None and item_key(claim.key, change) in third_party,
        linked=claim.linked,
    )


def is_left_alone(survey: Survey, claim: EditClaim) -> bool:
    """Whether a file that cannot be used stays as it is: the user says so now, or did before, so that all
    that we have in it is held back."""
    said = survey.say(claim.key, claim.spot.full, claim.given)
    held = bool(claim.entries) and all(entry.held for entry in claim.entries)
    return said.theirs or (held and not said.of_held(survey.choices.keep_held).ours)


def scope_of(claim: EditClaim) -> str:
    """Where the file of a claim is: `global` also where a target is local and a link leads out of its
    project, so that a rule about local items never speaks for that."""
    wanted = claim.change.next
    if wanted is None or wanted.scope != "local":
        return claim.owner.scope
    led_out = claim.linked and not within(claim.spot.full, wanted.project, fold=False)
    return "global" if wanted.outside or led_out else wanted.scope


def _told(change: WantedChange) -> str:
    """A value as it is asked about. What a host would run is shown as far as anybody can read."""
    value = change.change.value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown(text, MOST_SURFACE_TEXT if change.executes else 300)


def entry_item(
    claim: EditClaim, change: WantedChange, op: ItemOp, text: str, stays: Stays | None = None
) -> Item:
    """The item of one entry; `text` goes on after the place of the entry."""
    executes = change.executes and op in (ItemOp.EDIT, ItemOp.REGISTER_HOOK)
    at = shown(change.change.at) or "the top level"
    return Item(
        target=claim.owner.target,
        op=op,
        key=item_key(claim.key, change),
        kind=ItemKind.HOOK if change.executes else ItemKind.ENTRY,
        risk=risk_of(op, executes, weight_of(claim, change)),
        executes=executes,
        before=change.source if op in (ItemOp.KEEP, ItemOp.UNEDIT) else "",
        after="" if op is ItemOp.UNEDIT else change.source,
        description=f"{shown(f'{claim.spot.full}: {at}', 200)} {text}",
        scope=scope_of(claim),
        stays=stays,
    )


class Standing(Struct, frozen=True):
    """What of the entries is in a shared file now: `present` are wanted changes that stand there, `yours`
    those of them that leave another value of the user's alone; `holds` says whether an entry of ours is
    there as we put it in. `whole` are pointers of entries that go with all that others put into them."""

    present: Collection[tuple[str, str, bytes]]
    yours: Collection[tuple[str, str, bytes]]
    holds: Callable[[EntryRecord], bool]
    whole: Collection[str] = ()


def entry_items(
    claims: Sequence[EditClaim],
    asked: Mapping[str, Sequence[WantedChange]],
    others: Sequence[EditedRecord],
    standing: Standing,
) -> list[tuple[str, Item]]:
    """The items of one shared file, by slug.

    `asked` are the changes that are made or stand already (the rest is held back); `others` are records of
    targets that are not changed.
    """
    wanted = {w.identity for changes in asked.values() for w in changes}
    wanted |= {identity(entry.change) for record in others for entry in record.entries}
    items: list[tuple[str, Item]] = []
    for claim in claims:
        going_ahead = {change.identity for change in asked[claim.slug]}
        for change in claim.changes:
            stays = None
            if change.identity not in going_ahead:
                op, text = ItemOp.HOLD_BACK, "your version stays"
            elif change.identity in standing.yours:
                op, text, stays = ItemOp.HOLD_BACK, "your own value decides", Stays.DECIDES
            elif change.identity in standing.present:
                op, text = ItemOp.KEEP, "stands as it should"
            else:
                op = ItemOp.REGISTER_HOOK if change.executes else ItemOp.EDIT
                text = f"is put in: {_told(change)}"
            items.append((claim.slug, entry_item(claim, change, op, text, stays)))
        wants = {change.identity for change in claim.changes}
        filled = {c.change.at for c in asked[claim.slug] if c.change.op is not EditOp.APPEND_UNIQUE}
        for record in claim.entries:
            if identity(record.change) in wants or record.held:
                continue
            stays = None
            if identity(record.change) in wanted:
                op, text = ItemOp.KEEP, "stays, another target has it too"
            elif not record.entry.added:
                op, text, stays = ItemOp.KEEP, "stays, it was yours before", Stays.BEFORE
            elif record.entry.at in standing.whole:
                op, text = (
                    ItemOp.UNEDIT,
                    "is taken out, and what was put into it, which the host would refuse",
                )
            elif standing.holds(record):
                op, text = ItemOp.UNEDIT, "is taken out"
            elif record.entry.at in filled:
                op, text = ItemOp.KEEP, "makes way for what is wanted there now"
            else:
                op, text, stays = ItemOp.KEEP, "you changed it, and it is left with you", Stays.CHANGED
            change = WantedChange(record.change, record.source, record.executes)
            items.append((claim.slug, entry_item(claim, change, op, text, stays)))
    return items
