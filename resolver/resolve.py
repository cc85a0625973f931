"""Manifest + registry + packs -> lock; and from a lock back to the same content.

`resolve` keeps what a former lock pinned unless it is told to upgrade; a `path` or `builtin` pack has no
version to be pinned to, so its tree is read again each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..capabilities.canonical import canonical_json
from ..capabilities.errors import GsdlockError, input_error, missing
from ..capabilities.registry import Registry
from ..lockfiles.model import Lock, LockedCapability, LockedPack, PackKind, target_data
from .manifest import Manifest, PackEntry
from .pack import Pack
from .packs import read_pack
from .plan import PlannedTarget, plan_target
from .sources import fetch
from .sources.base import PackSource, SourceContext

_ALWAYS_READ = (PackKind.PATH, PackKind.BUILTIN)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Which packs may move to another version: all of them, or those named."""

    everything: bool = False
    names: frozenset[str] = frozenset()

    def admits(self, pack: str) -> bool:
        """Whether that pack may move."""
        return self.everything or pack in self.names


@dataclass(frozen=True, slots=True)
class Resolution:
    """A new lock and what a user should be told about it."""

    lock: Lock
    notices: tuple[str, ...]


def resolve(
    manifest: Manifest,
    registry: Registry,
    context: SourceContext,
    previous: Lock | None,
    upgrade: Upgrade,
) -> Resolution:
    """The lock of `manifest`. Content goes to the store of `context`; nothing else is written.

    Raises `GsdlockError`: E-PACK-UNKNOWN for an upgrade of a pack that does not exist, E-RUNTIME-UNKNOWN,
    E-PACK-… from sources, and whatever planning raises.
    """
    for name in sorted(upgrade.names - {p.name for p in manifest.packs}):
        known = ", ".join(p.name for p in manifest.packs) or "none"
        raise input_error(
            "E-PACK-UNKNOWN", f"there is no pack {name} to upgrade", f"The manifest has: {known}."
        )
    former = {p.name: p for p in previous.packs} if previous else {}
    kept = {
        p.name: former[p.name]
        for p in manifest.packs
        if p.name in former
        and former[p.name].kind is p.kind
        and former[p.name].requested == p.requested
        and p.kind not in _ALWAYS_READ
        and not upgrade.admits(p.name)
    }
    return _build(manifest, registry, context, kept)


def rebuild(manifest: Manifest, registry: Registry, context: SourceContext, lock: Lock) -> None:
    """Bring all content that `lock` names into the store, from its pinned inputs.

    Raises `GsdlockError` (status 5): E-PACK-INTEGRITY or E-PACK-TREE when an input is not what was locked,
    E-LOCK-REBUILD naming the first files when the same inputs no longer give the locked content, and
    E-PACK-UNKNOWN when the manifest has no pack of a locked name.
    """
    kept = {p.name: p for p in lock.packs}
    absent = sorted(set(kept) - {p.name for p in manifest.packs})
    if absent:
        raise missing(
            "E-PACK-UNKNOWN",
            f"the lock pins pack {', '.join(absent)}, which the manifest does not have",
            "Make manifest and lock agree again: gsdlock resolve.",
        )
    try:
        made = _build(manifest, registry, context, kept).lock
    except GsdlockError as fault:
        if fault.code == "E-PACK-TREE":
            fault.details = (*fault.details, *_moved_files(manifest, registry, context, lock))
        raise
    if made.plan == lock.plan:
        return
    raise missing(
        "E-LOCK-REBUILD",
        "the pinned inputs no longer give the content that the lock names",
        "Use the gsdlock version that made the lock, or make a new one: gsdlock resolve.",
        details=_differences(lock, made),
    )


def _build(
    manifest: Manifest, registry: Registry, context: SourceContext, kept: dict[str, LockedPack]
) -> Resolution:
    packs: dict[str, Pack] = {}
    pins: list[LockedPack] = []
    faults: list[GsdlockError] = []
    for entry in manifest.packs:
        try:
            pack, pin = _pack(entry, manifest, registry, context, kept.get(entry.name))
        except GsdlockError as fault:
            faults.append(fault)
            continue
        packs[entry.name] = pack
        pins.append(pin)
    _raise_first(faults)
    planned: list[PlannedTarget] = []
    for target in manifest.targets:
        try:
            runtime = registry.runtime(target.runtime)
            names = [p.name for p in manifest.packs_of(target)]
            chosen = [packs[name] for name in names]
            used = [pin for pin in pins if pin.name in names]
            planned.append(plan_target(target, runtime, chosen, used, context.blobs))
        except GsdlockError as fault:
            faults.append(fault)
    _raise_first(faults)
    for plan in planned:
        # A generation keeps the digest of its target: this is what `diff` and `why` read it back by.
        context.blobs.put(canonical_json(target_data(plan.target)))
    context.blobs.flush()
    lock = Lock(
        packs=tuple(sorted(pins, key=lambda p: p.name)),
        capabilities=_capabilities(planned, registry, packs),
        targets=tuple(sorted((p.target for p in planned), key=lambda t: t.name)),
    )
    notices = [f"pack {name}: {notice}" for name, pack in packs.items() for notice in pack.notices]
    return Resolution(lock, (*notices, *(n for p in planned for n in p.notices)))


def _pack(
    entry: PackEntry,
    manifest: Manifest,
    registry: Registry,
    context: SourceContext,
    locked: LockedPack | None,
) -> tuple[Pack, LockedPack]:
    source = PackSource(
        name=entry.name,
        kind=entry.kind,
        spec=entry.spec,
        folder=manifest.folder,
        version=entry.version,
        ref=entry.ref,
        subdirectory=entry.subdirectory,
        integrity=entry.integrity,
    )
    fetched = fetch(source, context, locked)
    pack = read_pack(entry.name, fetched.version, fetched.tree, registry.features)
    pin = LockedPack(
        name=entry.name,
        kind=entry.kind,
        requested=entry.requested,
        # A folder has no name that holds on every machine: its kind, and the version it says it has.
        resolved=fetched.resolved or f"{entry.kind} {pack.version}".strip(),
        tree=fetched.tree.digest,
        integrity=fetched.integrity,
        revision=fetched.revision,
    )
    return pack, pin


def _capabilities(
    planned: Sequence[PlannedTarget], registry: Registry, packs: dict[str, Pack]
) -> tuple[LockedCapability, ...]:
    """Every descriptor in use, sorted by id: runtimes, and the features that are active somewhere."""
    pins: dict[str, LockedCapability] = {}
    first_party = registry.features
    for plan in planned:
        runtime = registry.runtime(plan.target.runtime)
        pins[runtime.id] = LockedCapability(runtime.id, "runtime", runtime.version, "builtin", runtime.digest)
        for feature in plan.features.values():
            builtin = first_party.get(feature.id)
            origin = "builtin"
            if builtin is None or builtin.digest != feature.digest:
                origin = "pack:" + next(
                    p.name for p in sorted(packs.values(), key=lambda p: p.name) if feature in p.features
                )
            pins[feature.id] = LockedCapability(
                feature.id, "feature", feature.version, origin, feature.digest
            )
    return tuple(pins[i] for i in sorted(pins))


def _raise_first(faults: Sequence[GsdlockError]) -> None:
    """Raise the first fault, with the others as its details: one run shows all that is wrong."""
    if not faults:
        return
    first, *others = faults
    first.details = (
        *first.details,
        *(line for f in others for line in (f"{f.code}: {f.what}", *(f"  {d}" for d in f.details))),
    )
    raise first


def _moved_files(manifest: Manifest, registry: Registry, context: SourceContext, lock: Lock) -> list[str]:
    """Which locked files come out otherwise, when a pack without a version is no longer what it was.

    A tree digest does not tell which of its files moved; planning once more from what is there now does.
    """
    kept = {p.name: p for p in lock.packs if p.kind not in _ALWAYS_READ}
    try:
        return _differences(lock, _build(manifest, registry, context, kept).lock)
    except GsdlockError as fault:
        return [f"{fault.code}: {fault.what}"]


def _differences(lock: Lock, made: Lock) -> list[str]:
    lines = []
    for target in lock.targets:
        other = made.target(target.name)
        ours = {p.key: (p.digest, p.mode) for p in target.placements}
        theirs = {p.key: (p.digest, p.mode) for p in other.placements} if other else {}
        moved = sorted(k for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k))
        lines += [f"{target.name} {key} differs" for key in moved]
        if other and not moved and other.digest != target.digest:
            lines.append(f"{target.name}: its entries or features differ")
    shown_lines = lines[:10]
    return [*shown_lines, f"and {len(lines) - 10} more"] if len(lines) > 10 else shown_lines
