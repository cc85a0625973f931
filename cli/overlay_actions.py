"""What changes the overlays: add, update, trust, remove. Each reads, shows, asks, records, then writes in one
step."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from .render import Outcome

if TYPE_CHECKING:
    from ..capabilities.errors import GsdlockError
    from ..lockfiles.model import LockedPack
    from ..resolver.manifest import PackEntry
    from ..resolver.overlay_disclosure import Disclosure
    from ..resolver.overlays import Overlay
    from ..store.overlays import Overlays
    from .session import Session


def add(session: Session, options: argparse.Namespace) -> Outcome:
    """Install an overlay for the user, or declare it in this project's manifest."""
    from ..resolver.overlay_source import parse_source
    from ..resolver.overlays import read_bundle
    from ..store.overlay_changes import Action, change
    from ..store.overlays import Asked, Installed, read_overlays
    from .overlay_consent import consenting

    entry = parse_source(
        options.subject,
        cwd=session.environment.cwd,
        ref=options.ref,
        version=options.version,
        subdirectory=options.subdirectory,
        integrity=options.integrity,
    )
    before = read_overlays(session.store)
    declared = bool(options.project)
    session.progress("fetching the overlay")
    overlay = read_bundle(entry, session.environment.cwd, session.sources, None, declared=declared)
    given = consenting(session, options, overlay, before, Action.ADD)
    if options.dry_run:
        return _shown(given.disclosure, "nothing was changed")

    def first() -> None:
        overlay.staged.keep()
        if declared:
            _declare(session, entry, overlay.id)

    after = given.after
    if declared:
        said = f"declared {overlay.id} in {session.manifest_path}"
    else:
        asked = Asked(entry.kind, entry.spec, entry.version, entry.ref, entry.subdirectory, entry.integrity)
        made = Installed(overlay.id, asked, overlay.pin, session.environment.now())
        after = after.with_installed(made)
        said = f"installed {overlay.id} {overlay.capability.version} ({overlay.pin.tree})"
    told = change(session.store, before, after, given.decided, first)
    return Outcome(0, _data(given.disclosure), [said, *told, _next_step(overlay)])


def update(session: Session, options: argparse.Namespace) -> Outcome:
    """Fetch overlays again from where they came from, or go back to an earlier bundle.

    Raises `GsdlockError`: E-USAGE, E-OVERLAY-…, and those of the kind of source.
    """
    from ..capabilities.errors import usage_error
    from ..store.overlays import read_overlays

    record = read_overlays(session.store)
    ids = [options.subject] if options.subject else sorted(record.installed)
    if options.signature is not None and len(ids) != 1:
        raise usage_error(
            "E-USAGE", "--signature is of one bundle", "gsdlock overlay update ID --signature FILE"
        )
    lines: list[str] = []
    rows = []
    for id_ in ids:
        said, data = _update_one(session, options, id_)
        lines += said
        rows.append(data)
    return Outcome(0, {"overlays": rows}, lines or ["no overlay is installed"])


def _update_one(
    session: Session, options: argparse.Namespace, id_: str
) -> tuple[list[str], dict[str, object]]:
    from msgspec.structs import replace

    from ..resolver.overlays import read_bundle
    from ..store.overlay_changes import Action, change
    from ..store.overlays import USER_SCOPE, read_overlays
    from .overlay_consent import consenting
    from .overlays import entry_of

    before = read_overlays(session.store)
    installed = before.installed.get(id_)
    if installed is None:
        return _update_declared(session, options, id_, before)
    entry = entry_of(id_, installed.asked)
    back = _former(installed.former, options.to, id_) if options.to else None
    session.progress(f"fetching {id_}")
    overlay = read_bundle(entry, "/", session.sources, back, declared=False)
    if overlay.pin.tree == installed.pin.tree and before.consented(USER_SCOPE, id_, overlay.pin.tree):
        return [f"{id_} is up to date"], {"id": id_, "digest": overlay.pin.tree, "changed": False}
    given = consenting(session, options, overlay, before, Action.UPDATE)
    told: tuple[str, ...] = ()
    if not options.dry_run:
        made = replace(installed, pin=overlay.pin, since=session.environment.now())
        after = given.after.with_installed(made)
        told = change(session.store, before, after, given.decided, overlay.staged.keep)
    said = f"{id_}: {installed.pin.resolved} -> {overlay.pin.resolved} ({overlay.pin.tree})"
    return [said, *told], {"id": id_, "digest": overlay.pin.tree, "changed": not options.dry_run}


def _update_declared(
    session: Session, options: argparse.Namespace, id_: str, before: Overlays
) -> tuple[list[str], dict[str, object]]:
    """The newest bundle of what the manifest declares: consented to here, put into the lock by resolve."""
    from ..resolver.overlays import read_bundle
    from ..store.overlay_changes import Action, change
    from .overlay_consent import consenting

    entry = declared_entry(session, id_)
    overlay = read_bundle(entry, session.manifest.folder, session.sources, None, declared=True)
    given = consenting(session, options, overlay, before, Action.UPDATE)
    told: tuple[str, ...] = ()
    if not options.dry_run and given.after != before:
        told = change(session.store, before, given.after, given.decided, overlay.staged.keep)
    said = f"{id_}: {overlay.pin.resolved}; lock it with gsdlock resolve --upgrade-pack {id_}"
    return [said, *told], {"id": id_, "digest": overlay.pin.tree, "changed": False}


def _former(former: tuple[LockedPack, ...], digest: str, id_: str) -> LockedPack:
    from ..capabilities.errors import input_error, shown

    for pin in former:
        if pin.tree == digest:
            return pin
    raise input_error(
        "E-OVERLAY-FORMER",
        f"{shown(id_)} never was {shown(digest)} here",
        f"Earlier bundles: {', '.join(p.tree for p in former) or 'none'}.",
    )


def trust(session: Session, options: argparse.Namespace) -> Outcome:
    """Consent to what the manifest declares (or what is installed), or take consent back.

    Raises `GsdlockError`: E-OVERLAY-…, and those of the kind of source.
    """
    from ..store.overlay_changes import Action, change
    from ..store.overlays import read_overlays
    from .overlay_consent import consenting, decision
    from .overlays import scope_of

    before = read_overlays(session.store)
    id_ = options.subject
    if options.revoke:
        scope = scope_of(session, _is_declared(session, id_))
        last = before.last(scope, id_)
        if last is None:
            raise unknown(id_, "you have not consented to it here")
        told: tuple[str, ...] = ()
        if not options.dry_run:
            decided = decision(session, Action.REVOKE, id_, scope, last.digest, version=last.version)
            told = change(session.store, before, before.revoked(scope, id_), decided)
        said = f"you no longer consent to {id_} here" if not options.dry_run else f"would revoke {id_}"
        return Outcome(0, {"id": id_, "revoked": not options.dry_run}, [said, *told])
    overlay = find(session, id_, before)
    given = consenting(session, options, overlay, before, Action.TRUST)
    if options.dry_run:
        return _shown(given.disclosure, "nothing was changed")
    told = ()
    if given.after != before:
        told = change(session.store, before, given.after, given.decided, overlay.staged.keep)
    return Outcome(0, _data(given.disclosure), [f"you consent to {id_} as {overlay.pin.tree}", *told])


def remove(session: Session, options: argparse.Namespace) -> Outcome:
    """Forget an installed overlay, and the consents to it. Raises `GsdlockError` E-OVERLAY-…."""
    from ..store.overlay_changes import Action, change
    from ..store.overlays import USER_SCOPE, read_overlays
    from .overlay_consent import decision

    before = read_overlays(session.store)
    id_ = options.subject
    installed = before.installed.get(id_)
    if installed is None:
        here = _is_declared(session, id_)
        raise unknown(
            id_,
            "this manifest declares it: take [overlays."
            f"{id_}] out of it, and consent back with gsdlock overlay trust {id_} --revoke"
            if here
            else "it is not installed",
        )
    holding = _holding(session, id_)
    lines = [f"would remove {id_}"]
    if not options.dry_run:
        pin = installed.pin
        decided = decision(
            session,
            Action.REMOVE,
            id_,
            USER_SCOPE,
            pin.tree,
            source=f"{pin.kind.value} {installed.asked.spec}",
            resolved=pin.resolved,
        )
        told = change(session.store, before, before.without(id_), decided)
        lines = [f"removed {id_}", *told]
    lines += [
        f"target {name} still holds what it brought: gsdlock uninstall --target {name}" for name in holding
    ]
    return Outcome(0, {"id": id_, "targets": holding}, lines)


def _holding(session: Session, id_: str) -> list[str]:
    """The installed targets that an overlay has a part in, by the records of their generations."""
    from .installed import target_of

    found = []
    for generation in session.store.generations.currents().values():
        if not generation.left:
            features = target_of(session.blobs, generation.plan).features
            if id_ == generation.runtime or id_ in features:
                found.append(generation.target)
    return sorted(found)


# -- looking and asking


def find(session: Session, id_: str, record: Overlays) -> Overlay:
    """The bundle that `resolve` would use: declared (as locked, where it has versions), or installed.

    Raises E-OVERLAY-UNKNOWN, and what reading raises.
    """
    from ..resolver.overlays import read_bundle
    from ..resolver.resolve import kept_pins
    from .overlays import entry_of

    if _is_declared(session, id_):
        entry = declared_entry(session, id_)
        lock = session.lock()
        pins = kept_pins((entry,), lock.overlays if lock is not None else ())
        return read_bundle(entry, session.manifest.folder, session.sources, pins.get(id_), declared=True)
    if id_ in record.installed:
        installed = record.installed[id_]
        entry = entry_of(id_, installed.asked)
        return read_bundle(entry, "/", session.sources, installed.pin, declared=False)
    raise unknown(id_, "it is neither installed nor declared here")


def declared_entry(session: Session, id_: str) -> PackEntry:
    """The manifest's entry for an overlay. Raises E-OVERLAY-UNKNOWN."""
    if _is_declared(session, id_):
        return next(e for e in session.manifest.overlays if e.name == id_)
    raise unknown(id_, "it is neither installed nor declared here")


def _is_declared(session: Session, id_: str) -> bool:
    return session.manifest_path is not None and any(e.name == id_ for e in session.manifest.overlays)


def unknown(id_: str, why: str) -> GsdlockError:
    """E-OVERLAY-UNKNOWN."""
    from ..capabilities.errors import input_error, shown

    return input_error(
        "E-OVERLAY-UNKNOWN", f"the overlay {shown(id_)}: {why}", "gsdlock overlay list shows what there is."
    )


def _declare(session: Session, entry: PackEntry, id_: str) -> None:
    """Put `[overlays.<id>]` into the manifest, which otherwise stays as it is byte for byte.

    Raises E-MANIFEST-MISSING, E-OVERLAY-DECLARED where another source stands there.
    """
    from ..capabilities.errors import input_error
    from ..lockfiles.model import EditFormat, EditOp, PackKind
    from ..store.edits import editor
    from ..store.edits.types import Change, EditFault
    from .session import read_file, write_file

    spec = entry.spec
    if entry.kind in (PackKind.PATH, PackKind.ARCHIVE) and spec.startswith("/"):
        below = os.path.relpath(spec, session.manifest.folder)
        spec = spec if below.startswith("..") else f"./{below}"
    table = {entry.kind.value: spec}
    for key in ("version", "ref", "subdirectory", "integrity"):
        if value := getattr(entry, key):
            table[key] = value
    path = session.manifest.path
    try:
        change = Change(EditOp.ENSURE, f"/overlays/{id_}", table)
        data = editor(EditFormat.TOML).put(read_file(path), [change]).data
    except EditFault as fault:
        raise input_error(
            "E-OVERLAY-DECLARED",
            f"{path} cannot take [overlays.{id_}]: {fault.message}",
            "Change the manifest by hand, then run gsdlock overlay trust.",
            where=path,
        ) from None
    write_file(path, data, inside="" if session.manifest.of_user else session.manifest.folder)


# -- telling


def _shown(disclosure: Disclosure, last: str) -> Outcome:
    from ..resolver.overlay_disclosure import lines_of

    return Outcome(0, _data(disclosure), [*lines_of(disclosure), last])


def _data(disclosure: Disclosure) -> dict[str, object]:
    from ..resolver.overlay_disclosure import data_of

    return {"overlay": data_of(disclosure)}


def _next_step(overlay: Overlay) -> str:
    if overlay.capability.role == "runtime":
        return f"put [targets.{overlay.id}] into a gsdlock.toml, then gsdlock resolve"
    if overlay.declared:
        return "next: gsdlock resolve"
    return (
        "it is in force in your own gsdlock.toml, and on targets that name it: "
        f'enable = ["{overlay.id}"]; then gsdlock resolve'
    )
