"""What the verbs share about overlays: those the user has, those a lock uses, and their registry."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..capabilities.registry import Registry
    from ..lockfiles.model import Lock, LockedPack
    from ..resolver.manifest import PackEntry
    from ..resolver.overlays import Given, Overlay
    from ..store.overlays import Asked, Overlays
    from ..store.survey import TargetChange
    from ..store.wanted import Wanted
    from .session import Session


def scope_of(session: Session, declared: bool) -> str:
    """The scope at which consent counts: what a project's manifest declares is consented to for that folder,
    all else for the user."""
    from ..store.overlays import USER_SCOPE

    if not declared or session.manifest.of_user:
        return USER_SCOPE
    return os.path.realpath(session.manifest.folder)


def given(session: Session) -> Given:
    """What the resolver is told of the user's overlays."""
    from ..resolver.overlays import Given
    from ..store.overlays import read_overlays

    record = read_overlays(session.store)
    return Given(
        installed={i: (entry_of(i, o.asked), o.pin) for i, o in record.installed.items()},
        consented=lambda declared, id_, digest: record.consented(scope_of(session, declared), id_, digest),
        real=os.path.realpath,
    )


def entry_of(id_: str, asked: Asked) -> PackEntry:
    """The source of an installed overlay, in the form in which a manifest declares one."""
    from ..resolver.manifest import PackEntry

    return PackEntry(
        id_, asked.kind, asked.spec, asked.version, asked.ref, asked.subdirectory, asked.integrity
    )


def locked_registry(session: Session, lock: Lock) -> Registry:
    """The registry that a lock was made with: first party, and the bundles that it pins.

    A bundle that the store has lost is fetched again. Raises E-OVERLAY-CONSENT: what is in a lock binds
    nobody; E-OVERLAY-MISSING, E-OVERLAY-CONFLICT, and what fetching raises.
    """
    from ..capabilities.registry import load_builtin

    first_party = load_builtin()
    if not lock.overlays:
        return first_party
    from ..resolver.overlays import load, merged_registry

    pins = {o.name: o for o in lock.overlays}
    found = load(session.manifest, session.sources, given(session), pins, locked=True)
    return merged_registry(first_party, found)


def known_registry(session: Session) -> Registry:
    """First party, with every overlay that the user consented to and the store holds: for listing.

    Raises E-OVERLAY-CONFLICT where what is installed does not go together (any more).
    """
    from ..capabilities.registry import load_builtin
    from ..resolver.overlays import merged_registry

    return merged_registry(load_builtin(), known_overlays(session))


def known_overlays(session: Session, record: Overlays | None = None) -> list[Overlay]:
    """The overlays of the manifest's lock, then the user's own, as far as they are consented to and here."""
    from ..capabilities.errors import GsdlockError
    from ..resolver.overlays import read_bundle
    from ..resolver.sources.tree import stored_tree
    from ..store.overlays import read_overlays

    record = read_overlays(session.store) if record is None else record
    rows: list[tuple[PackEntry, LockedPack, bool]] = []
    locked = {pin.name: pin for pin in _locked(session)}
    if locked:
        declared = {entry.name: entry for entry in session.manifest.overlays}
        rows += [(declared[i], pin, True) for i, pin in locked.items() if i in declared]
    taken = {entry.name for entry, _, _ in rows}
    rows += [(entry_of(i, o.asked), o.pin, False) for i, o in record.installed.items() if i not in taken]
    found = []
    for entry, pin, declared_here in rows:
        scope = scope_of(session, declared_here)
        if not record.consented(scope, entry.name, pin.tree) or stored_tree(pin.tree, session.blobs) is None:
            continue
        try:
            found.append(read_bundle(entry, "/", session.sources, pin, declared=declared_here))
        except GsdlockError as fault:
            session.progress(f"the overlay {entry.name} cannot be used: {fault.what}")
    return found


def _locked(session: Session) -> Sequence[LockedPack]:
    """The overlays of the lock, where there is one that can be read."""
    from ..capabilities.errors import GsdlockError

    if session.manifest_path is None:
        return ()
    try:
        lock = session.lock()
    except GsdlockError:
        return ()
    return lock.overlays if lock is not None else ()


def marked(session: Session, changes: Sequence[TargetChange]) -> list[TargetChange]:
    """The changes, with what they bring from overlays named: the gate takes what executes of it as critical.

    It makes no difference whether a plan comes from a lock or from a former generation, and the overlay may
    be gone by then.
    """
    from msgspec.structs import replace

    if not session.may_have_overlays():
        return list(changes)
    return [
        change
        if change.next is None
        else replace(change, next=replace(change.next, third_party=_third_party(session, change.next)))
        for change in changes
    ]


def _third_party(session: Session, wanted: Wanted) -> frozenset[str]:
    """The item keys of a plan that come from an overlay: all of them where the host itself is one, or where
    it cannot be told (any more).

    Where an item comes from is said by the lock, which is somebody's file: one that hides an overlay which
    the user knows is not believed.
    """
    from ..capabilities.errors import GsdlockError
    from ..lockfiles.model import OVERLAY_PREFIX
    from ..store.overlays import bundle_digests, read_overlays
    from ..store.wanted import item_key
    from .installed import origins_of, target_of

    entries = [(e.key, c.source, item_key(e.key, c)) for e in wanted.edits for c in e.changes]
    every = frozenset([*(f.key for f in wanted.files), *(key for _, _, key in entries)])
    if wanted.runtime not in session.first_party:
        return every
    try:
        target = target_of(session.blobs, wanted.plan)
        origins, packs = origins_of(session.blobs, target)
        record = read_overlays(session.store)
        content = bundle_digests(session.blobs, record.trees())
    except GsdlockError:
        return every
    said = {p.name.removeprefix(OVERLAY_PREFIX) for p in packs if p.name.startswith(OVERLAY_PREFIX)}
    known = {consent.id for consent in record.consents} | set(record.installed)
    theirs = {key for key, origin in origins.items() if origin.pack.startswith(OVERLAY_PREFIX)}
    hidden = [f for f in wanted.files if f.mode & 0o100 and f.source in content and f.key not in theirs]
    if hidden or (known & set(target.features)) - said:
        return every
    # Pointers are filled in by now; file and value are as in the lock.
    values = {(key.partition("#")[0], key.rpartition("#")[2]) for key in theirs if "#" in key}
    return frozenset(
        [
            *(f.key for f in wanted.files if f.key in theirs),
            *(key for file, source, key in entries if (file, source) in values),
        ]
    )


def overlay_digests(session: Session, lock: Lock) -> set[str]:
    """The blobs of the bundles that a lock pins: they stay as long as the lock is in use."""
    if not lock.overlays:
        return set()
    from ..store.overlays import bundle_digests

    return bundle_digests(session.blobs, [o.tree for o in lock.overlays])
