"""The overlays of a resolve: which are in force, what their bundles hold, whether the user consented to them.

A bundle is a tree with one `capability.json` at its top. A runtime takes part as a host of the manifest; a
feature as a pack of one feature, on every target. What the manifest declares is in force there; what the user
installed is in force where the manifest names it, and in the user's own manifest by its tier as well. Nothing
of a bundle reaches the store before every check and the user's consent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ..capabilities.cross import engine_faults
from ..capabilities.errors import GsdlockError, input_error, missing, refused, shown
from ..capabilities.model import Capability, Feature, Runtime
from ..capabilities.overlay_rules import check_files, check_overlay
from ..capabilities.registry import Registry
from ..lockfiles.model import OVERLAY_PREFIX as PREFIX
from ..lockfiles.model import LockedPack
from . import pack_capability
from .manifest import Manifest, PackEntry, TargetEntry
from .marks import check_decoded
from .pack import Pack, Tree
from .sources import fetch
from .sources.base import PackSource, SourceContext
from .sources.staging import StagedBlobs

_DESCRIPTOR = "capability.json"


class Overlay(Struct, frozen=True):
    """A bundle that was read and checked by itself.

    `spec` is the source as it was asked for, `pin` its identity (`pin.tree` the digest that is consented
    to), `pack` what a feature brings, None for the other roles. `declared` says that a manifest names its
    source, else the user installed it.
    """

    capability: Capability
    pin: LockedPack
    tree: Tree
    pack: Pack | None
    declared: bool
    spec: str
    staged: StagedBlobs

    @property
    def id(self) -> str:
        """The id of its capability, which it is installed and locked by."""
        return self.capability.id

    @property
    def origin(self) -> str:
        """How the lock and `why` name it."""
        return PREFIX + self.capability.id


def _nobody(declared: bool, id_: str, digest: str) -> bool:
    return False


def _same(path: str) -> str:
    return path


class Given(Struct, frozen=True):
    """What a resolve is told of the user's overlays.

    `installed` maps an id to the source as it was asked for and the bundle in force; `consented(declared, id,
    digest)` tells whether the user consented to a bundle, declared by this manifest or installed; `real`
    resolves the links of a path.
    """

    installed: Mapping[str, tuple[PackEntry, LockedPack]] = field(default_factory=dict)
    consented: Callable[[bool, str, str], bool] = _nobody
    real: Callable[[str], str] = _same


def read_bundle(
    entry: PackEntry, folder: str, context: SourceContext, locked: LockedPack | None, *, declared: bool
) -> Overlay:
    """Fetch a bundle, on trial, and check it by itself. `entry.name` is the id that it must have, or empty.

    Raises what `sources.fetch` raises, E-OVERLAY-GIT, E-OVERLAY-DESCRIPTOR (none at the top), E-OVERLAY-ID
    (another id than expected), E-DESCRIPTOR-…, E-PACK-PLACEHOLDER, E-PACK-ARTIFACT-MISSING,
    E-OVERLAY-RESERVED, E-OVERLAY-TEXT, E-OVERLAY-SURFACES.
    """
    from ..capabilities.validation import load_capability, read_descriptor

    staged = StagedBlobs(context.blobs)
    source = PackSource(
        name=entry.name or entry.spec,
        kind=entry.kind,
        spec=entry.spec,
        folder=folder,
        version=entry.version,
        ref=entry.ref,
        subdirectory=entry.subdirectory,
        integrity=entry.integrity,
        what="overlay",
    )
    fetched = fetch(source, replace(context, blobs=staged), locked)
    tree = fetched.tree
    check_files(entry.name or entry.spec, tree.files)
    if _DESCRIPTOR not in tree.files:
        raise input_error(
            "E-OVERLAY-DESCRIPTOR",
            f"{source.subject} has no {_DESCRIPTOR} at its top",
            "An overlay is one capability: its descriptor stands at the top of the bundle.",
        )
    data = read_descriptor(tree.read(_DESCRIPTOR), _DESCRIPTOR)
    check_decoded(source.subject, _DESCRIPTOR, data)
    capability = load_capability(data, None, _DESCRIPTOR)
    if entry.name and capability.id != entry.name:
        raise refused(
            "E-OVERLAY-ID",
            f"{source.subject} says that it is {shown(capability.id)}",
            "An overlay keeps its id: remove it and add the other one, or rename the table in the manifest.",
        )
    check_overlay(capability)
    pack = None
    if isinstance(capability, Feature):
        pack = pack_capability.read(PREFIX + capability.id, capability.version, tree)
    pin = LockedPack(
        name=capability.id,
        kind=entry.kind,
        requested=entry.requested,
        resolved=fetched.resolved or f"{entry.kind} {capability.version}",
        tree=tree.digest,
        integrity=fetched.integrity,
        revision=fetched.revision,
    )
    return Overlay(capability, pin, tree, pack, declared, entry.spec, staged)


def load(
    manifest: Manifest, context: SourceContext, given: Given, pins: Mapping[str, LockedPack], *, locked: bool
) -> tuple[Overlay, ...]:
    """The overlays of a manifest, sorted by id, each consented to and kept in the store.

    `pins` are the bundles that must come back, by id; with `locked` exactly those are loaded, else an
    installed one has the bundle that is in force. Raises E-OVERLAY-MISSING (a locked one is neither declared
    nor installed), E-OVERLAY-CONSENT (with all that lack consent), and what `read_bundle` raises.
    """
    found: list[Overlay] = []
    for id_, entry, pin, declared in _wanted(manifest, given, pins, locked):
        found.append(read_bundle(entry, manifest.folder, context, pin, declared=declared))
        assert found[-1].id == id_
    lacking = [o for o in found if not given.consented(o.declared, o.id, o.pin.tree)]
    if lacking:
        raise consent_refusal([(o.id, o.pin, o.declared) for o in lacking])
    for overlay in found:
        overlay.staged.keep()
    return tuple(sorted(found, key=lambda o: o.id))


def consent_refusal(lacking: Sequence[tuple[str, LockedPack, bool]]) -> GsdlockError:
    """E-OVERLAY-CONSENT: bundles that nobody has consented to, as id, identity, and whether a manifest
    declares it."""
    id_, pin, declared = lacking[0]
    where = "this manifest declares" if declared else "you installed"
    return refused(
        "E-OVERLAY-CONSENT",
        f"you have not consented to the overlay {shown(id_)} that {where}, as it is now ({pin.tree})",
        f"Read what it would do, and consent to it or not: gsdlock overlay trust {shown(id_)}",
        details=[f"{shown(i)} from {shown(p.resolved, 200)}: {p.tree}" for i, p, _ in lacking],
    )


def _wanted(
    manifest: Manifest, given: Given, pins: Mapping[str, LockedPack], locked: bool
) -> list[tuple[str, PackEntry, LockedPack | None, bool]]:
    """Id, source, bundle that must come back, and whether it is declared."""
    declared = {entry.name: entry for entry in manifest.overlays}
    if locked:
        rows: list[tuple[str, PackEntry, LockedPack | None, bool]] = []
        for id_, pin in pins.items():
            if id_ in declared:
                rows.append((id_, declared[id_], pin, True))
            elif id_ in given.installed:
                rows.append((id_, given.installed[id_][0], pin, False))
            else:
                raise missing(
                    "E-OVERLAY-MISSING",
                    f"the lock uses the overlay {shown(id_)} ({shown(pin.resolved, 200)}), and neither the "
                    "manifest nor you have it",
                    "Add it with gsdlock overlay add, or declare it in the manifest: [overlays."
                    f"{shown(id_)}].",
                )
        return rows
    rows = [(id_, entry, pins.get(id_), True) for id_, entry in declared.items()]
    named = {t.runtime for t in manifest.targets} | {f for t in manifest.targets for f in t.enable}
    for id_, (entry, pin) in given.installed.items():
        if id_ not in declared and (manifest.of_user or id_ in named):
            rows.append((id_, entry, pin, False))
    return rows


def merged_registry(registry: Registry, overlays: Sequence[Overlay]) -> Registry:
    """The registry with the overlays on top. Raises E-OVERLAY-CONFLICT."""
    return registry.merge([(o.capability, o.origin) for o in overlays]) if overlays else registry


def packs_for(target: TargetEntry, overlays: Sequence[Overlay], of_user: bool) -> list[Pack]:
    """The packs that overlays bring to a target: all that the manifest declares; of those that the user
    installed, all in the user's own manifest, else those that the target enables by name."""
    return [
        o.pack for o in overlays if o.pack is not None and (o.declared or of_user or o.id in target.enable)
    ]


def pins_for(target: TargetEntry, packs: Sequence[Pack], overlays: Sequence[Overlay]) -> list[LockedPack]:
    """The identities of the overlays in use on a target, named as packs are."""
    names = {p.name for p in packs} | {PREFIX + target.runtime}
    return [replace(o.pin, name=o.origin) for o in overlays if o.origin in names]


def check_engines(runtime: Runtime, level: str) -> None:
    """Raises E-OVERLAY-ENGINES where a third-party host asks for another GSD than `level`."""
    raise_engines(engine_faults([runtime], level))


def raise_engines(faults: Sequence[object]) -> None:
    """Raises E-OVERLAY-ENGINES with the faults, if there are any."""
    if faults:
        raise refused(
            "E-OVERLAY-ENGINES",
            f"the overlay does not go with the GSD that is used: {faults[0]}",
            "Use the version that it names, or ask its author for one that fits.",
            details=[str(f) for f in faults],
        )
