"""What changes from one set of targets to another: by pack, target, file and entry. Pure.

Two sides of anything that is made of `Target`s can be compared: locks, generations, what is installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..capabilities.words import Words
from .model import Edit, EditOp, LockedPack, Placement, Target


class Change(Words):
    """How one thing differs between the sides."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class FileChange(Struct, frozen=True):
    """One placement. `before` or `after` is None where the side does not have it."""

    key: str
    change: Change
    before: Placement | None
    after: Placement | None


class EntryChange(Struct, frozen=True):
    """One entry in a shared file. An `ensure` whose value moved is CHANGED; an entry of an array is REMOVED
    and ADDED."""

    key: str
    at: str
    change: Change
    before: Edit | None
    after: Edit | None


class TargetChange(Struct, frozen=True):
    """One target. `change` is ADDED or REMOVED where only one side has it."""

    name: str
    runtime: str
    scope: str
    change: Change
    features_added: tuple[str, ...]
    features_removed: tuple[str, ...]
    files: tuple[FileChange, ...]
    entries: tuple[EntryChange, ...]


class PackChange(Struct, frozen=True):
    """One pack whose identity moved. `before` or `after` is None where the side does not have it."""

    name: str
    change: Change
    before: LockedPack | None
    after: LockedPack | None


class Difference(Struct, frozen=True):
    """All of it; empty where the sides are alike."""

    packs: tuple[PackChange, ...]
    targets: tuple[TargetChange, ...]

    def __bool__(self) -> bool:
        return bool(self.packs or self.targets)


def compare(
    before: Mapping[str, Target],
    after: Mapping[str, Target],
    packs_before: Sequence[LockedPack] = (),
    packs_after: Sequence[LockedPack] = (),
) -> Difference:
    """The difference from `before` to `after`; targets are matched by name, files and entries by place."""
    names = [*before, *(n for n in after if n not in before)]
    targets = []
    for name in names:
        change = _target(before.get(name), after.get(name))
        if change is not None:
            targets.append(change)
    return Difference(_packs(packs_before, packs_after), tuple(targets))


def _target(before: Target | None, after: Target | None) -> TargetChange | None:
    either = after or before
    assert either is not None
    if before is not None and after is not None and before.digest == after.digest:
        return None
    files = _files(before.placements if before else (), after.placements if after else ())
    entries = _entries(before.edits if before else (), after.edits if after else ())
    old, new = set(before.features if before else ()), set(after.features if after else ())
    change = Change.CHANGED if before and after else Change.ADDED if after else Change.REMOVED
    if change is Change.CHANGED and not files and not entries and old == new:
        return None  # only the bookkeeping of origins moved
    return TargetChange(
        name=either.name,
        runtime=either.runtime,
        scope=either.scope,
        change=change,
        features_added=tuple(sorted(new - old)),
        features_removed=tuple(sorted(old - new)),
        files=files,
        entries=entries,
    )


def _files(before: Sequence[Placement], after: Sequence[Placement]) -> tuple[FileChange, ...]:
    old, new = {p.key: p for p in before}, {p.key: p for p in after}
    changes = []
    for key in sorted(old.keys() | new.keys()):
        left, right = old.get(key), new.get(key)
        if left is None or right is None:
            changes.append(FileChange(key, Change.ADDED if left is None else Change.REMOVED, left, right))
        elif (left.digest, left.mode) != (right.digest, right.mode):
            changes.append(FileChange(key, Change.CHANGED, left, right))
    return tuple(changes)


def _entries(before: Sequence[Edit], after: Sequence[Edit]) -> tuple[EntryChange, ...]:
    def place(edit: Edit) -> tuple[str, str, str]:
        member = edit.value if edit.op is EditOp.APPEND_UNIQUE else ""
        return (edit.key, edit.at, member)

    old, new = {place(e): e for e in before}, {place(e): e for e in after}
    changes = []
    for where in sorted(old.keys() | new.keys()):
        left, right = old.get(where), new.get(where)
        if left is None or right is None:
            change = Change.ADDED if left is None else Change.REMOVED
        elif left.value != right.value:
            change = Change.CHANGED
        else:
            continue
        changes.append(EntryChange(where[0], where[1], change, left, right))
    return tuple(changes)


def _packs(before: Sequence[LockedPack], after: Sequence[LockedPack]) -> tuple[PackChange, ...]:
    old, new = {p.name: p for p in before}, {p.name: p for p in after}
    changes = []
    for name in sorted(old.keys() | new.keys()):
        left, right = old.get(name), new.get(name)
        if left != right:
            change = Change.CHANGED if left and right else Change.ADDED if right else Change.REMOVED
            changes.append(PackChange(name, change, left, right))
    return tuple(changes)
