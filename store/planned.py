"""The pieces that a preflight is put together from, and the risk of each item: see the design, section 7."""

from __future__ import annotations

from msgspec import Struct

from ..capabilities.errors import shown
from .items import Item, ItemKind, ItemOp, Risk
from .journal import Place, Recipe, Step
from .records import Kept
from .survey import FolderFacts, Spot
from .wanted import Validator, Wanted


class Source(Struct, frozen=True):
    """Where the bytes of a staged file come from: `data` itself, or the blob `digest`, filled in for the
    target `slug` where `fill` is given."""

    digest: str
    fill: Wanted | None = None
    key: str = ""
    slug: str = ""
    data: bytes | None = None


class PlannedStep(Struct, frozen=True):
    """One step on disk: an `Operation` but for the number of its staging folder.

    `stage` is the folder to stage in, `makes` the folders to be made first, `slugs` the targets that it is
    for. `keep` is the user's version that is displaced and goes into the store. `validators` judge an
    edit that has to be merged again.
    """

    step: Step
    spot: Spot
    stage: Place
    new: Kept | None
    old: Kept | None
    signature: tuple[int, int, int] | None
    source: Source | None
    makes: tuple[Place, ...]
    slugs: tuple[str, ...]
    keep: bytes | None = None
    recipe: Recipe | None = None
    validators: tuple[Validator, ...] = ()


def stage_for(spot: Spot, facts: FolderFacts) -> Place:
    """Where a step on `spot` is staged: in its root, or, where another file system is mounted below that, in
    the nearest folder of the same one."""
    return spot.root if facts.device == spot.device else facts.nearest


class Weight(Struct, frozen=True):
    """What makes an item heavier than its kind: see `Risk`."""

    outside: bool = False  # a project's manifest reaches beyond the project, by its scope or by a link
    group_writable: bool = False
    third_party: bool = False
    users: bool = False  # a file of the user's, or one that they changed
    linked: bool = False  # the file behind a link is written


_BASE = {
    ItemOp.CREATE: Risk.LOW,
    ItemOp.REPLACE: Risk.MODERATE,
    ItemOp.REMOVE: Risk.MODERATE,
    ItemOp.RESTORE: Risk.MODERATE,
    ItemOp.ADOPT: Risk.HIGH,
    ItemOp.EDIT: Risk.HIGH,
    ItemOp.UNEDIT: Risk.HIGH,
    ItemOp.REGISTER_HOOK: Risk.HIGH,
    ItemOp.KEEP: Risk.READ_ONLY,
    ItemOp.HOLD_BACK: Risk.READ_ONLY,
}
_HEAVY = {op: max(risk, Risk.HIGH) for op, risk in _BASE.items()}


def risk_of(op: ItemOp, executes: bool, weight: Weight) -> Risk:
    """The risk of an item. What changes nothing is read-only, whatever else is true of it."""
    base = _BASE[op]
    if base is Risk.READ_ONLY:
        return base
    if executes and weight.third_party:
        return Risk.CRITICAL
    heavy = (executes, weight.outside, weight.group_writable, weight.users, weight.linked)
    return _HEAVY[op] if any(heavy) else base


def file_item(
    *,
    target: str,
    scope: str,
    op: ItemOp,
    key: str,
    mode: int,
    before: str,
    after: str,
    text: str,
    weight: Weight,
) -> Item:
    """The item of one whole file; `mode` is that of the file after it (or before, where it goes). Its scope
    is where it is: a rule about local items never speaks for what a link leads out of the project."""
    script = bool(mode & 0o100)
    executes = script and op in (ItemOp.CREATE, ItemOp.REPLACE, ItemOp.ADOPT)
    return Item(
        target=target,
        op=op,
        key=key,
        kind=ItemKind.SCRIPT if script else ItemKind.FILE,
        risk=risk_of(op, executes, weight),
        executes=executes,
        before=before,
        after=after,
        description=shown(text, 200),
        scope="global" if weight.outside else scope,
    )
