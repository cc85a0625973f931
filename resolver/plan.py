"""Layout x converters x surfaces -> one target of the plan, its bytes put into the store.

Pure but for `blobs.put`: the same entry, descriptors and packs give the same target on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from ..capabilities.canonical import canonical_json
from ..capabilities.errors import input_error, shown
from ..capabilities.homes import check_scope
from ..capabilities.model import Feature, Runtime
from ..lockfiles.model import (
    OVERLAY_PREFIX,
    Edit,
    EditOp,
    LockedPack,
    Origin,
    Placement,
    Target,
    edit_origin_key,
    origins_data,
)
from ..lockfiles.placeholders import bases_used, has_placeholder
from .drafts import EditDraft, FileDraft
from .features import ActiveSet, active_features, select_artifacts
from .manifest import TargetEntry
from .pack import Pack, PackLayout
from .skill_places import with_skills

# The level of the GSD vocabulary that this gsdlock implements: used for `engines.gsd` where no GSD pack says.
GSD_LEVEL = "1.10.0"


class BlobSink(Protocol):
    """Where content goes."""

    def put(self, data: bytes) -> str:
        """Keeps `data`, gives its digest."""


class PlannedTarget(Struct, frozen=True):
    """A target, the features that are active on it, and what a user should be told."""

    target: Target
    features: Mapping[str, Feature]
    notices: tuple[str, ...]


def plan_target(
    entry: TargetEntry,
    runtime: Runtime,
    packs: Sequence[Pack],
    pins: Sequence[LockedPack],
    blobs: BlobSink,
) -> PlannedTarget:
    """Plan one target of the manifest. `packs` are those it uses (see `once.read_once`), `pins` their
    identities.

    Raises `GsdlockError` (status 3): E-FEATURE-…, E-FEATURE-CLASH, E-PLAN-CLASH, E-CONFINE-… for paths, and
    whatever layout and surfaces raise for content that cannot be carried.
    """
    check_scope(runtime, entry.scope)
    runtime = with_skills(runtime, entry)
    packs = sorted(packs, key=lambda p: p.name)
    active = active_features(entry, _known_features(packs), _engines(packs))
    files, edits, notices = _drafts(entry, runtime, packs, active)
    placements, origins = _placements(entry.name, files, blobs)
    planned_edits = _edits(entry.name, edits, origins, blobs)
    bases = {b for f in files for b in bases_used(f.data)}
    bases |= {b for e in edits for b in bases_used(canonical_json(e.value))}
    target = Target(
        name=entry.name,
        runtime=entry.runtime,
        scope=entry.scope,
        profile=entry.profile,
        features=tuple(sorted(active.features)),
        packs=tuple(p.name for p in packs if not p.name.startswith(OVERLAY_PREFIX)),
        tools=tuple(sorted(b.removeprefix("tool.") for b in bases if b.startswith("tool."))),
        options=entry.options,
        placements=placements,
        edits=planned_edits,
        origins=blobs.put(canonical_json(origins_data(origins, sorted(pins, key=lambda p: p.name)))),
    )
    return PlannedTarget(target, active.features, (*active.notices, *notices))


def _known_features(packs: Sequence[Pack]) -> dict[str, Feature]:
    known: dict[str, tuple[Feature, str]] = {}
    for pack in packs:
        for feature in pack.features:
            other = known.get(feature.id)
            if other is not None and other[0].digest != feature.digest:
                raise input_error(
                    "E-FEATURE-CLASH",
                    f"feature {feature.id} comes from pack {other[1]} and, different, from pack {pack.name}",
                    "Leave one of the packs out of the target (packs = [...]) or of the manifest.",
                )
            known.setdefault(feature.id, (feature, pack.name))
    return {i: f for i, (f, _) in known.items()}


def _engines(packs: Sequence[Pack]) -> Callable[[Feature], bool]:
    from ..capabilities.npm_range import satisfies

    level = next((p.version for p in packs if p.layout is PackLayout.GSD and p.version), GSD_LEVEL)
    return lambda feature: not feature.engines_gsd or satisfies(level, feature.engines_gsd)


def _drafts(
    entry: TargetEntry, runtime: Runtime, packs: Sequence[Pack], active: ActiveSet
) -> tuple[list[FileDraft], list[EditDraft], list[str]]:
    from ..capabilities.gsd_layout import load_gsd_layout
    from .layout import artifact_drafts
    from .selection import Selection
    from .surfaces import surface_drafts

    files: list[FileDraft] = []
    edits: list[EditDraft] = []
    notices: list[str] = []
    base = load_gsd_layout().profiles
    for pack in packs:
        own = {f.id for f in pack.features}
        selection = Selection(
            features=tuple(f for i, f in active.features.items() if i in own),
            artifacts=select_artifacts(pack, active, entry.profile, base),
            hooks=entry.hooks,
            portable_hooks=entry.portable_hooks,
            profile=entry.profile,
        )
        files += artifact_drafts(runtime, entry.scope, pack, selection)
        surface = surface_drafts(runtime, entry.scope, pack, selection)
        files += surface.files
        edits += surface.edits
        notices += [
            f"{entry.name}: {shown(o.what)} of {o.feature or pack.name} is left out: {o.reason}"
            for o in surface.omissions
        ]
    return files, edits, notices


def _placements(
    name: str, files: Sequence[FileDraft], blobs: BlobSink
) -> tuple[tuple[Placement, ...], dict[str, Origin]]:
    from ..store.confinement import check_relative, check_twins

    chosen: dict[str, FileDraft] = {}
    faults: list[str] = []
    for draft in files:
        key = f"{draft.root}:{draft.path}"
        check_relative(draft.path)
        other = chosen.setdefault(key, draft)
        if other is not draft and (other.data, other.mode) != (draft.data, draft.mode):
            faults.append(f"{name} {key}: from {_source(other.origin)} and from {_source(draft.origin)}")
    for root in sorted({d.root for d in files}):
        check_twins([d.path for d in chosen.values() if d.root == root])
    if faults:
        raise input_error(
            "E-PLAN-CLASH",
            f"target {name}: two artifacts want the same file with different content",
            "Disable one of the features, or give the target fewer packs (packs = [...]).",
            details=faults,
        )
    placements = tuple(
        Placement(
            root=draft.root,
            path=draft.path,
            digest=blobs.put(draft.data),
            mode=draft.mode,
            size=len(draft.data),
            fill=has_placeholder(draft.data),
        )
        for _, draft in sorted(chosen.items())
    )
    return placements, {key: draft.origin for key, draft in sorted(chosen.items())}


def _edits(
    name: str, drafts: Sequence[EditDraft], origins: dict[str, Origin], blobs: BlobSink
) -> tuple[Edit, ...]:
    edits: dict[str, Edit] = {}
    ensured: dict[tuple[str, str], tuple[str, Origin]] = {}
    for draft in drafts:
        value = canonical_json(draft.value)
        edit = Edit(
            root=draft.root,
            path=draft.path,
            format=draft.format,
            op=draft.op,
            at=draft.at,
            value=blobs.put(value),
            fill=has_placeholder(value) or has_placeholder(draft.at.encode()),
            executes=draft.executes,
            instead=draft.instead,
        )
        if draft.op is not EditOp.APPEND_UNIQUE:
            first = ensured.setdefault((edit.key, draft.at), (edit.value, draft.origin))
            if first[0] != edit.value:
                raise input_error(
                    "E-PLAN-CLASH",
                    f"target {name}: {edit.key} {draft.at} gets two different values, from "
                    f"{_source(first[1])} and from {_source(draft.origin)}",
                    "Disable one of the features, or give the target fewer packs (packs = [...]).",
                )
        key = edit_origin_key(edit)
        if key not in edits:
            edits[key] = edit
            origins[key] = draft.origin
    # Entries of one file stay together and in the order of the surfaces: hosts run hooks in that order.
    return tuple(sorted(edits.values(), key=lambda e: e.key))


def _source(origin: Origin) -> str:
    return f"{origin.artifact or origin.axis} ({origin.feature or origin.pack})"
