"""Manifest + registry + packs -> lock; and from a lock back to the same content.

`resolve` keeps what a former lock pinned unless it is told to upgrade; a `path` or `builtin` pack has no
version to be pinned to, so its tree is read again each time.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..capabilities.errors import GsdlockError, input_error, missing
from ..capabilities.homes import check_scope
from ..capabilities.model import Runtime
from ..capabilities.registry import BUILTIN, Registry
from ..capabilities.vocabulary import Scope
from ..lockfiles.model import Lock, LockedCapability, LockedPack, PackKind, target_bytes
from .manifest import Manifest, PackEntry, TargetEntry
from .once import PutOnce, read_once
from .overlays import Given, Overlay
from .pack import Pack, PackLayout
from .packs import read_pack
from .plan import GSD_LEVEL, PlannedTarget, plan_target
from .sources import fetch
from .sources.base import PackSource, SourceContext

_ALWAYS_READ = (PackKind.PATH, PackKind.BUILTIN)


class Upgrade(Struct, frozen=True):
    """Which packs may move to another version: all of them, or those named."""

    everything: bool = False
    names: frozenset[str] = frozenset()

    def admits(self, pack: str) -> bool:
        """Whether that pack may move."""
        return self.everything or pack in self.names


class Resolution(Struct, frozen=True):
    """A new lock and what a user should be told about it."""

    lock: Lock
    notices: tuple[str, ...]


def resolve(
    manifest: Manifest,
    registry: Registry,
    context: SourceContext,
    previous: Lock | None,
    upgrade: Upgrade,
    given: Given | None = None,
) -> Resolution:
    """The lock of `manifest`. Content goes to the store of `context`; nothing else is written.

    `registry` holds what is first party; overlays come from the manifest and from what the user installed
    (`given`). Raises `GsdlockError`: E-PACK-UNKNOWN for an upgrade of a pack that does not exist,
    E-RUNTIME-UNKNOWN, E-PACK-… from sources, E-OVERLAY-…, E-CONFINE-PLACE, and whatever planning raises.
    """
    inputs = [*manifest.packs, *manifest.overlays]
    for name in sorted(upgrade.names - {p.name for p in inputs}):
        known = ", ".join(p.name for p in inputs) or "none"
        raise input_error(
            "E-PACK-UNKNOWN", f"there is no pack {name} to upgrade", f"The manifest has: {known}."
        )
    kept = kept_pins(manifest.packs, previous.packs if previous else (), upgrade)
    bundles = kept_pins(manifest.overlays, previous.overlays if previous else (), upgrade)
    return _build(manifest, registry, context, kept, _Bundles(given or Given(), bundles, locked=False))


class _Bundles(Struct, frozen=True):
    """What `_build` needs to know of overlays: see `overlays.load`."""

    given: Given
    pins: Mapping[str, LockedPack]
    locked: bool


def kept_pins(
    entries: Sequence[PackEntry], former: Sequence[LockedPack], upgrade: Upgrade | None = None
) -> dict[str, LockedPack]:
    """The pins that stay: asked for as before, of a kind that has versions, and not to be upgraded."""
    before = {p.name: p for p in former}
    return {
        e.name: before[e.name]
        for e in entries
        if e.name in before
        and before[e.name].kind is e.kind
        and before[e.name].requested == e.requested
        and e.integrity in ("", before[e.name].integrity)
        and e.kind not in _ALWAYS_READ
        and not (upgrade is not None and upgrade.admits(e.name))
    }


def rebuild(
    manifest: Manifest, registry: Registry, context: SourceContext, lock: Lock, given: Given | None = None
) -> None:
    """Bring all content that `lock` names into the store, from its pinned inputs.

    Raises `GsdlockError`: E-PACK-INTEGRITY or E-PACK-TREE (status 5) when an input is not what was locked,
    E-LOCK-REBUILD (5) naming the first files when the same inputs no longer give the locked content, and
    E-PACK-UNKNOWN (3) when the manifest has no pack of a locked name.
    """
    kept = {p.name: p for p in lock.packs}
    absent = sorted(set(kept) - {p.name for p in manifest.packs})
    if absent:
        raise input_error(
            "E-PACK-UNKNOWN",
            f"the lock pins pack {', '.join(absent)}, which the manifest does not have",
            "Make manifest and lock agree again: gsdlock resolve.",
        )
    bundles = _Bundles(given or Given(), {o.name: o for o in lock.overlays}, locked=True)
    try:
        made = _build(manifest, registry, context, kept, bundles).lock
    except GsdlockError as fault:
        if fault.code == "E-PACK-TREE":
            fault.details = (*fault.details, *_moved_files(manifest, registry, context, lock, bundles))
        raise
    if made.plan == lock.plan:
        return
    raise missing(
        "E-LOCK-REBUILD",
        "the pinned inputs do not give what the lock says",
        "Another gsdlock version made the lock, or somebody changed it by hand: look at its history. gsdlock "
        "resolve makes a new one.",
        details=_differences(lock, made),
    )


def _build(
    manifest: Manifest,
    first_party: Registry,
    context: SourceContext,
    kept: dict[str, LockedPack],
    bundles: _Bundles,
) -> Resolution:
    from .overlays import load, merged_registry, packs_for, pins_for

    overlays = load(manifest, context, bundles.given, bundles.pins, locked=bundles.locked)
    registry = merged_registry(first_party, overlays)
    apart = (*_apart(manifest, registry), *context.written)
    packs: dict[str, Pack] = {}
    pins: list[LockedPack] = []
    faults: list[GsdlockError] = []
    for entry in manifest.packs:
        try:
            pack, pin = _pack(entry, manifest, first_party, context, kept.get(entry.name), apart)
        except GsdlockError as fault:
            faults.append(fault)
            continue
        packs[entry.name] = read_once(pack)
        pins.append(pin)
    _raise_first(faults)
    planned: list[PlannedTarget] = []
    sink = PutOnce(context.blobs)
    for target in manifest.targets:
        try:
            names = [p.name for p in manifest.packs_of(target)]
            chosen = [packs[name] for name in names]
            runtime = registry.runtime(target.runtime)
            if registry.origin(runtime.id) != BUILTIN:
                _check_host(target, runtime, chosen, registry, manifest, context, bundles.given)
            added = [read_once(p) for p in packs_for(target, overlays, manifest.of_user)]
            used = [pin for pin in pins if pin.name in names] + pins_for(target, added, overlays)
            planned.append(plan_target(target, runtime, [*chosen, *added], used, sink))
        except GsdlockError as fault:
            faults.append(fault)
    _raise_first(faults)
    for plan in planned:
        # A generation keeps the digest of its target: this is what `diff` and `why` read it back by.
        context.blobs.put(target_bytes(plan.target))
    context.blobs.flush()
    lock = Lock(
        packs=tuple(sorted(pins, key=lambda p: p.name)),
        capabilities=_capabilities(planned, registry, packs),
        targets=tuple(sorted((p.target for p in planned), key=lambda t: t.name)),
        overlays=_used(overlays, planned),
    )
    notices = [f"pack {name}: {notice}" for name, pack in packs.items() for notice in pack.notices]
    return Resolution(lock, (*notices, *(n for p in planned for n in p.notices)))


def _check_host(
    target: TargetEntry,
    runtime: Runtime,
    packs: Sequence[Pack],
    registry: Registry,
    manifest: Manifest,
    context: SourceContext,
    given: Given,
) -> None:
    """What a third-party host must keep besides its descriptor. Raises E-OVERLAY-ENGINES, E-CONFINE-PLACE."""
    import os

    from .overlay_roots import check_roots
    from .overlays import check_engines

    level = next((p.version for p in packs if p.layout is PackLayout.GSD and p.version), GSD_LEVEL)
    check_engines(runtime, level)
    check_scope(runtime, target.scope)
    check_roots(
        runtime,
        target.scope,
        registry,
        context.environment,
        manifest.folder,
        exists=os.path.exists,
        real=given.real,
        shared=target.share_roots,
    )


def _used(overlays: Sequence[Overlay], planned: Sequence[PlannedTarget]) -> tuple[LockedPack, ...]:
    """The overlays that the lock pins: all that the manifest declares, and the user's that a target uses."""
    names = {p.target.runtime for p in planned} | {f for p in planned for f in p.target.features}
    return tuple(o.pin for o in overlays if o.declared or o.id in names)


def _pack(
    entry: PackEntry,
    manifest: Manifest,
    registry: Registry,
    context: SourceContext,
    locked: LockedPack | None,
    apart: tuple[str, ...],
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
        apart=apart,
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


def _apart(manifest: Manifest, registry: Registry) -> tuple[str, ...]:
    """What of the manifest's folder is in no pack, although the pack may lie there or above: the manifest,
    and the folders that local targets are installed into. As full paths."""
    runtimes = (registry.runtimes.get(t.runtime) for t in manifest.targets if t.scope == Scope.LOCAL)
    folders = {r.local_config_dir for r in runtimes if r is not None and r.local_config_dir}
    return (manifest.path, *(posixpath.join(manifest.folder, f) for f in sorted(folders)))


def _capabilities(
    planned: Sequence[PlannedTarget], registry: Registry, packs: dict[str, Pack]
) -> tuple[LockedCapability, ...]:
    """Every descriptor in use, sorted by id: runtimes, and the features that are active somewhere."""
    pins: dict[str, LockedCapability] = {}
    known_features = registry.features
    for plan in planned:
        runtime = registry.runtime(plan.target.runtime)
        pins[runtime.id] = LockedCapability(
            runtime.id, "runtime", runtime.version, registry.origin(runtime.id), runtime.digest
        )
        for feature in plan.features.values():
            known = known_features.get(feature.id)
            origin = registry.origin(feature.id) if known is not None else ""
            if known is None or known.digest != feature.digest:
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


def _moved_files(
    manifest: Manifest, registry: Registry, context: SourceContext, lock: Lock, bundles: _Bundles
) -> list[str]:
    """Which locked files come out otherwise, when a pack without a version is no longer what it was.

    A tree digest does not tell which of its files moved; planning once more from what is there now does.
    """
    kept = {p.name: p for p in lock.packs if p.kind not in _ALWAYS_READ}
    try:
        return _differences(lock, _build(manifest, registry, context, kept, bundles).lock)
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
