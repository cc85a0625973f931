"""What changes the overlays: add, update, trust, remove. Each reads, shows, asks, then writes in one step."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from .render import Outcome, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..capabilities.errors import GsdlockError
    from ..lockfiles.model import LockedPack
    from ..resolver.manifest import PackEntry
    from ..resolver.overlay_disclosure import Disclosure
    from ..resolver.overlays import Overlay
    from ..store.overlays import Consent, Overlays
    from .session import Session


def add(session: Session, options: argparse.Namespace) -> Outcome:
    """Install an overlay for the user, or declare it in this project's manifest."""
    from ..resolver.overlay_source import parse_source
    from ..resolver.overlays import read_bundle
    from ..store.overlays import Asked, Installed, read_overlays

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
    consented, disclosure = consenting(session, options, overlay, before)
    if options.dry_run:
        return _shown(disclosure, "nothing was changed")
    overlay.staged.keep()
    if declared:
        _declare(session, entry, overlay.id)
        write(session, before, consented)
        said = f"declared {overlay.id} in {session.manifest_path}"
    else:
        asked = Asked(entry.kind, entry.spec, entry.version, entry.ref, entry.subdirectory, entry.integrity)
        made = Installed(overlay.id, asked, overlay.pin, session.environment.now())
        write(session, before, consented.with_installed(made))
        said = f"installed {overlay.id} {overlay.capability.version} ({overlay.pin.tree})"
    return Outcome(0, _data(disclosure), [said, _next_step(overlay)])


def update(session: Session, options: argparse.Namespace) -> Outcome:
    """Fetch overlays again from where they came from, or go back to an earlier bundle."""
    from ..store.overlays import read_overlays

    record = read_overlays(session.store)
    ids = [options.subject] if options.subject else sorted(record.installed)
    lines: list[str] = []
    rows = []
    for id_ in ids:
        line, data = _update_one(session, options, id_)
        lines.append(line)
        rows.append(data)
    return Outcome(0, {"overlays": rows}, lines or ["no overlay is installed"])


def _update_one(session: Session, options: argparse.Namespace, id_: str) -> tuple[str, dict[str, object]]:
    from msgspec.structs import replace

    from ..resolver.overlays import read_bundle
    from ..store.overlays import read_overlays
    from .overlays import entry_of

    before = read_overlays(session.store)
    installed = before.installed.get(id_)
    if installed is None:
        return _update_declared(session, options, id_, before)
    entry = entry_of(id_, installed.asked)
    back = _former(installed.former, options.to, id_) if options.to else None
    session.progress(f"fetching {id_}")
    overlay = read_bundle(entry, "/", session.sources, back, declared=False)
    if overlay.pin.tree == installed.pin.tree and before.consented("user", id_, overlay.pin.tree):
        return f"{id_} is up to date", {"id": id_, "digest": overlay.pin.tree, "changed": False}
    after, _ = consenting(session, options, overlay, before)
    changed = not options.dry_run
    if changed:
        overlay.staged.keep()
        made = replace(installed, pin=overlay.pin, since=session.environment.now())
        write(session, before, after.with_installed(made))
    said = f"{id_}: {installed.pin.resolved} -> {overlay.pin.resolved} ({overlay.pin.tree})"
    return said, {"id": id_, "digest": overlay.pin.tree, "changed": changed}


def _update_declared(
    session: Session, options: argparse.Namespace, id_: str, before: Overlays
) -> tuple[str, dict[str, object]]:
    """The newest bundle of what the manifest declares: consented to here, put into the lock by resolve."""
    from ..resolver.overlays import read_bundle

    entry = declared_entry(session, id_)
    overlay = read_bundle(entry, session.manifest.folder, session.sources, None, declared=True)
    after, _ = consenting(session, options, overlay, before)
    if not options.dry_run:
        overlay.staged.keep()
        write(session, before, after)
    said = f"{id_}: {overlay.pin.resolved}; lock it with gsdlock resolve --upgrade-pack {id_}"
    return said, {"id": id_, "digest": overlay.pin.tree, "changed": False}


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
    """Consent to what the manifest declares (or what is installed), or take consent back."""
    from ..store.overlays import read_overlays
    from .overlays import scope_of

    before = read_overlays(session.store)
    id_ = options.subject
    if options.revoke:
        declared = _is_declared(session, id_)
        after = before.revoked(scope_of(session, declared), id_)
        if after == before:
            raise unknown(id_, "you have not consented to it here")
        write(session, before, after)
        return Outcome(0, {"id": id_, "revoked": True}, [f"you no longer consent to {id_} here"])
    overlay = find(session, id_, before)
    after, disclosure = consenting(session, options, overlay, before)
    if options.dry_run:
        return _shown(disclosure, "nothing was changed")
    overlay.staged.keep()
    write(session, before, after)
    return Outcome(0, _data(disclosure), [f"you consent to {id_} as {overlay.pin.tree}"])


def remove(session: Session, options: argparse.Namespace) -> Outcome:
    """Forget an installed overlay, and the consents to it."""
    from ..store.overlays import read_overlays

    before = read_overlays(session.store)
    id_ = options.subject
    if id_ not in before.installed:
        here = _is_declared(session, id_)
        raise unknown(
            id_,
            "this manifest declares it: take [overlays."
            f"{id_}] out of it, and consent back with gsdlock overlay trust {id_} --revoke"
            if here
            else "it is not installed",
        )
    holding = _holding(session, id_)
    if not options.dry_run:
        write(session, before, before.without(id_))
    lines = [f"removed {id_}" if not options.dry_run else f"would remove {id_}"]
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


def consenting(
    session: Session, options: argparse.Namespace, overlay: Overlay, before: Overlays
) -> tuple[Overlays, Disclosure]:
    """The record with consent to exactly this bundle, after it was judged and shown; and what was shown.

    Raises E-OVERLAY-CONFLICT, E-OVERLAY-ENGINES, E-CONFINE-PLACE (nobody is asked about what may not be),
    E-OVERLAY-CONSENT-DIGEST, E-OVERLAY-UNATTENDED, E-OVERLAY-DECLINED.
    """
    from .overlay_views import disclose

    disclosure = disclose(session, overlay, before)
    scope = _scope(session, overlay)
    if options.dry_run or before.consented(scope, overlay.id, overlay.pin.tree):
        return before, disclosure
    by = _ask(options, disclosure, sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty())
    return before.with_consent(_consent(session, disclosure, scope, by)), disclosure


def _ask(options: argparse.Namespace, disclosure: Disclosure, attended: bool) -> str:
    """How consent was given. Raises where it was not."""
    from ..capabilities.errors import refused, shown
    from ..resolver.overlay_disclosure import lines_of

    digest = disclosure.overlay.pin.tree
    if options.consent is not None:
        if options.consent == digest:
            return "flag:--consent"
        raise refused(
            "E-OVERLAY-CONSENT-DIGEST",
            f"you consent to {shown(options.consent, 100)}, and the bundle is {digest}",
            "Somebody changed it since you read it, or you copied wrongly: read it again.",
            details=lines_of(disclosure),
        )
    if not attended or options.json:
        raise refused(
            "E-OVERLAY-UNATTENDED",
            f"the overlay {shown(disclosure.overlay.id)} needs your consent, and nobody is there to be asked",
            f"Read what it does. If you want that, run it again with --consent {digest}",
            details=lines_of(disclosure),
        )
    for line in lines_of(disclosure):
        tell(line)
    if confirmed(tell, _read_line, sorted(disclosure.overlay.tree.files)):
        return "terminal"
    raise refused(
        "E-OVERLAY-DECLINED",
        f"you did not consent to {shown(disclosure.overlay.id)}",
        "Nothing was installed, and nothing was kept.",
    )


def confirmed(write: Callable[[str], None], read: Callable[[], str], files: Sequence[str]) -> bool:
    """Asks until the answer is yes or no; an empty one is no."""
    while True:
        write("Do you want this? [y]es, [n]o, [l]ist all files")
        match read().strip().lower():
            case "y" | "yes":
                return True
            case "n" | "no" | "":
                return False
            case "l" | "list":
                for path in files:
                    write(f"  {path}")


def _read_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise KeyboardInterrupt
    return line


def _consent(session: Session, disclosure: Disclosure, scope: str, by: str) -> Consent:
    from ..store.overlays import Consent

    overlay = disclosure.overlay
    return Consent(
        scope=scope,
        id=overlay.id,
        digest=overlay.pin.tree,
        version=overlay.capability.version,
        surfaces=tuple((s.kind, s.name, s.text) for s in disclosure.surfaces),
        roots=disclosure.roots,
        since=session.environment.now(),
        by=by,
    )


def _scope(session: Session, overlay: Overlay) -> str:
    from .overlays import scope_of

    return scope_of(session, overlay.declared)


def write(session: Session, before: Overlays, after: Overlays) -> None:
    """Write the record, where it differs."""
    from ..store.overlays import write_overlays

    if after != before:
        write_overlays(session.store, before, after)


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
