"""What is left of a plan when some of its items were denied and the rest shall go ahead. Pure."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from .items import Item, ItemOp
from .records import Generation
from .survey import TargetChange
from .wanted import Wanted, WantedChange, WantedEdit, WantedFile, item_key, wanted_from_generation


def without_denied(
    change: TargetChange, current: Generation | None, denied: Collection[Item]
) -> TargetChange | None:
    """The change of a target but for the denied items: what was to come does not, what was to go stays.

    None where the target would leave and something of it was denied: then it stays whole.
    """
    wanted = change.next
    if wanted is None:
        return None if denied else change
    keys = {item.key for item in denied}
    going = {item.key for item in denied if item.op in (ItemOp.REMOVE, ItemOp.UNEDIT, ItemOp.RESTORE)}
    before = wanted_from_generation(current) if current is not None and not current.left else None
    files = [file for file in wanted.files if file.key not in keys]
    edits = [_edit(edit, keys) for edit in wanted.edits]
    if before is not None:
        files += [file for file in before.files if file.key in keys and _stood(before, file)]
        edits += _edits_kept(before, going)
    return replace(
        change,
        next=replace(
            wanted,
            files=tuple(files),
            edits=tuple(edit for edit in edits if edit.changes),
            partial=tuple(sorted(keys)),
        ),
    )


def _stood(before: Wanted, file: WantedFile) -> bool:
    return file.key in {known.key for known in before.files}


def _edit(edit: WantedEdit, keys: Collection[str]) -> WantedEdit:
    return replace(edit, changes=tuple(c for c in edit.changes if item_key(edit.key, c) not in keys))


def _edits_kept(before: Wanted, going: Collection[str]) -> list[WantedEdit]:
    """The edits of entries that were to be taken out and stay."""
    kept: list[WantedEdit] = []
    for edit in before.edits:
        changes: tuple[WantedChange, ...] = tuple(
            change for change in edit.changes if item_key(edit.key, change) in going
        )
        if changes:
            kept.append(replace(edit, changes=changes))
    return kept
