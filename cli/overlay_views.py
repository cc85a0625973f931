"""What looks at the overlays and changes nothing: show, list, verify."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from .render import Outcome

if TYPE_CHECKING:
    from ..lockfiles.model import LockedPack
    from ..resolver.overlay_disclosure import Disclosure, Former
    from ..resolver.overlays import Overlay
    from ..store.overlays import Overlays
    from .session import Session


def show(session: Session, options: argparse.Namespace) -> Outcome:
    """What an overlay, installed, declared or still at its source, would write and execute."""
    from ..resolver.overlay_disclosure import data_of, lines_of
    from ..resolver.overlay_source import parse_source
    from ..resolver.overlays import read_bundle
    from ..store.overlays import read_overlays
    from .overlay_actions import find
    from .overlays import scope_of

    record = read_overlays(session.store)
    if "/" in options.subject or ":" in options.subject or options.subject in (".", ".."):
        entry = parse_source(
            options.subject,
            cwd=session.environment.cwd,
            ref=options.ref,
            version=options.version,
            subdirectory=options.subdirectory,
            integrity=options.integrity,
        )
        overlay = read_bundle(entry, session.environment.cwd, session.sources, None, declared=False)
    else:
        overlay = find(session, options.subject, record)
    disclosure = disclose(session, overlay, record)
    consented = record.consented(scope_of(session, overlay.declared), overlay.id, overlay.pin.tree)
    said = "you consented to this" if consented else "you have not consented to this"
    data = {"overlay": data_of(disclosure), "consented": consented}
    return Outcome(0, data, [*lines_of(disclosure), f"  {said}"])


def disclose(session: Session, overlay: Overlay, record: Overlays) -> Disclosure:
    """Judge an overlay beside everything that is here, and put together what the user is shown.

    Raises E-OVERLAY-CONFLICT, E-OVERLAY-ENGINES, E-CONFINE-PLACE.
    """
    from ..capabilities.cross import engine_faults
    from ..resolver.overlay_disclosure import Disclosure
    from ..resolver.overlays import merged_registry, raise_engines
    from ..resolver.plan import GSD_LEVEL
    from .overlays import known_overlays

    others = [o for o in known_overlays(session, record) if o.id != overlay.id]
    registry = merged_registry(session.first_party, [*others, overlay])
    raise_engines(engine_faults([overlay.capability], GSD_LEVEL))
    return Disclosure(overlay, tuple(_roots(session, overlay, registry)), _former(session, overlay, record))


def _roots(session: Session, overlay: Overlay, registry: Any) -> list[str]:
    """Every folder that it would write in: a host's own; for a feature those of the manifest's targets."""
    from ..capabilities.errors import GsdlockError
    from ..capabilities.homes import resolve_roots
    from ..capabilities.model import Feature, Runtime
    from ..capabilities.vocabulary import HomeKind, Root
    from ..resolver.overlay_roots import check_roots

    capability, environment = overlay.capability, session.environment
    targets = session.manifest.targets if session.manifest_path is not None else ()
    project = session.manifest.folder if session.manifest_path is not None else environment.cwd
    lines = []
    if isinstance(capability, Runtime):
        shared = {s for t in targets if t.runtime == capability.id for s in t.share_roots}
        scopes = [] if capability.config_home.kind is HomeKind.NONE else ["global", "local"]
        for scope in scopes:
            roots = check_roots(
                capability,
                scope,
                registry,
                environment,
                project,
                exists=os.path.exists,
                real=os.path.realpath,
                shared=shared,
            )
            if scope == "global":
                lines += [f"global {name}: {path}" for name, path in roots.items()]
            else:
                inside = [n for n in roots if n != Root.PROJECT.value]
                lines += [
                    f"local {name}: {os.path.relpath(roots[name], project)} in a project" for name in inside
                ]
    elif isinstance(capability, Feature):
        for target in targets:
            if target.runtime not in registry or not capability.runtime_compat.admits(target.runtime):
                continue
            try:
                runtime = registry.runtime(target.runtime)
                found = resolve_roots(runtime, target.scope, environment, project, os.path.exists).paths
            except GsdlockError:
                continue  # the target has a fault of its own, which resolve tells
            lines += [f"{target.name} {target.scope} {name}: {path}" for name, path in found.items()]
    return lines


def _former(session: Session, overlay: Overlay, record: Overlays) -> Former | None:
    from ..resolver.overlay_disclosure import Former
    from ..resolver.sources.tree import differences, stored_listing
    from .overlays import scope_of

    last = record.last(scope_of(session, overlay.declared), overlay.id)
    if last is None:
        return None
    before = stored_listing(last.digest, session.blobs)
    changed = [] if before is None else differences(before, overlay.tree.files)
    return Former(last.version, frozenset(last.surfaces), frozenset(last.roots), tuple(changed))


def listing(session: Session, options: argparse.Namespace) -> Outcome:
    """What is installed and declared, with where it comes from and whether it was consented to."""
    from ..store.overlays import read_overlays
    from .overlays import scope_of

    record = read_overlays(session.store)
    rows: list[dict[str, Any]] = []
    for id_, pin in _declared_pins(session).items():
        digest = pin.tree if pin is not None else ""
        consented = record.consented(scope_of(session, True), id_, digest)
        rows.append(_row(id_, "declared", pin, consented, ()))
    for id_, installed in sorted(record.installed.items()):
        consented = record.consented(scope_of(session, False), id_, installed.pin.tree)
        rows.append(_row(id_, "installed", installed.pin, consented, [p.tree for p in installed.former]))
    lines = []
    for row in rows:
        state = "consented" if row["consented"] else "not consented"
        lines.append(f"{row['id']}  {row['where']}, {state}: {row['resolved'] or 'not locked yet'}")
        if options.verbose:
            lines.append(f"  {row['digest']}")
            lines += [f"  before: {digest}" for digest in row["former"]]
    return Outcome(0, {"overlays": rows}, lines or ["there are no overlays"])


def _row(
    id_: str, where: str, pin: LockedPack | None, consented: bool, former: list[str] | tuple[str, ...]
) -> dict[str, Any]:
    return {
        "id": id_,
        "where": where,
        "kind": pin.kind.value if pin is not None else "",
        "resolved": pin.resolved if pin is not None else "",
        "digest": pin.tree if pin is not None else "",
        "consented": consented,
        "former": list(former),
    }


def _declared_pins(session: Session) -> dict[str, LockedPack | None]:
    if session.manifest_path is None:
        return {}
    lock = session.lock()
    pins = {o.name: o for o in lock.overlays} if lock is not None else {}
    return {entry.name: pins.get(entry.name) for entry in session.manifest.overlays}


def verify(session: Session, options: argparse.Namespace) -> Outcome:
    """Check the stored bundles: every byte against its digest. Raises E-OVERLAY-DAMAGED (status 5)."""
    from ..capabilities.errors import missing
    from ..store.overlays import bundle_digests, read_overlays

    record = read_overlays(session.store)
    pins = {i: p for i, p in _declared_pins(session).items() if p is not None}
    pins |= {i: o.pin for i, o in record.installed.items() if i not in pins}
    if options.subject:
        if options.subject not in pins:
            from .overlay_actions import unknown

            raise unknown(options.subject, "it is neither installed nor locked here")
        pins = {options.subject: pins[options.subject]}
    damaged, lines = [], []
    for id_, pin in sorted(pins.items()):
        digests = bundle_digests(session.blobs, [pin.tree])
        bad = [d for d in sorted(digests) if not session.blobs.sound(d)] if digests else [pin.tree]
        damaged += [f"{id_}: {digest} is missing or damaged" for digest in bad]
        if not bad:
            lines.append(f"{id_}: {len(digests)} blobs checked, in order")
    if damaged:
        raise missing(
            "E-OVERLAY-DAMAGED",
            f"the store lacks content of overlays: {damaged[0]}",
            "gsdlock overlay update fetches an installed one again, gsdlock resolve a declared one.",
            details=damaged,
        )
    return Outcome(0, {"overlays": sorted(pins)}, lines or ["there are no overlays"])
