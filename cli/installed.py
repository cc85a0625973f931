"""What is installed, as the verbs see it: the current generations that a command is about."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lockfiles.model import LockedPack, Origin, Target
    from ..store.blobs import Blobs
    from ..store.records import Generation
    from .session import Session


def generations_of(session: Session, *, left: bool = False, as_written: bool = False) -> list[Generation]:
    """The current generations that this command is about, in the order of the manifest, then by name.

    With a manifest: those of its installation that belong to it. Without one: all, or those that `--target`
    names. Targets that were uninstalled are left out unless `left`. `as_written`: see `Generations.currents`.
    """
    currents = session.store.generations.currents(as_written=as_written)
    found = [g for g in currents.values() if left or not g.left]
    order: dict[str, int] = {}
    if session.manifest_path is not None:
        manifest = session.manifest
        order = {t.name: n for n, t in enumerate(manifest.targets)}
        found = [g for g in found if g.installation == manifest.name and _of_this(session, g)]
    chosen = [g for g in found if session.wanted(g.target)]
    return sorted(chosen, key=lambda g: (order.get(g.target, len(order)), g.target, g.slug))


def _of_this(session: Session, generation: Generation) -> bool:
    """Whether a generation belongs to the manifest: to its folder, or at global scope to its path.

    Another manifest that bears the same installation's name (a clone that calls itself `default`) has no say
    over what the first one installed, unless --take-over gives it.
    """
    if generation.project:
        return generation.project == session.manifest.folder
    taken = getattr(session.options, "take_over", False)
    return taken or generation.manifest == session.manifest.path


def require_targets(session: Session) -> list[Generation]:
    """As `named_targets`, where there must be something. Raises `GsdlockError`: E-TARGET-WHICH,
    E-NOTHING-INSTALLED."""
    from ..capabilities.errors import input_error

    found = named_targets(session)
    if not found:
        raise input_error(
            "E-NOTHING-INSTALLED", "nothing of this manifest is installed", "gsdlock apply installs."
        )
    return found


def named_targets(session: Session) -> list[Generation]:
    """As `generations_of`, for verbs that change things: without a manifest `--target` must say which.

    Raises `GsdlockError`: E-TARGET-WHICH.
    """
    from ..capabilities.errors import input_error

    found = generations_of(session)
    if session.manifest_path is None and not session.options.target:
        names = ", ".join(sorted(g.target for g in found)) or "none"
        raise input_error(
            "E-TARGET-WHICH",
            "there is no manifest here, so it is not clear which targets are meant",
            f"Name them with --target. Installed: {names}.",
        )
    return found


def check_target_names(session: Session, known: list[str]) -> None:
    """Raises `GsdlockError` E-TARGET-UNKNOWN where `--target` names what is not in `known`."""
    from ..capabilities.errors import input_error, shown
    from ..capabilities.tables import nearest

    for name in session.options.target or ():
        if name not in known:
            raise input_error(
                "E-TARGET-UNKNOWN",
                f"there is no target {shown(name)}{nearest(name, known)}",
                f"Targets: {', '.join(known) or 'none'}.",
            )


def check_targets(session: Session, more: Iterable[str] = ()) -> None:
    """For every verb: raises `GsdlockError` E-TARGET-UNKNOWN where `--target` names what neither the manifest
    has, nor its lock, nor anything that is or was installed, nor `more`.

    A name mistyped in a check would else be a check of nothing, and pass. Where one of them cannot be read,
    nothing is said: that is for the verb to say.
    """
    from ..capabilities.errors import GsdlockError

    try:
        known: set[str] = set()
        if session.manifest_path is not None or session.options.lock:
            lock = session.lock()
            known |= {t.name for t in lock.targets} if lock is not None else set()
        if session.manifest_path is not None:
            known |= {t.name for t in session.manifest.targets}
        known |= {g.target for g in session.store.generations.currents().values()}
    except GsdlockError:
        return
    if known := known.union(more):
        check_target_names(session, sorted(known))


def target_of(blobs: Blobs, plan: str) -> Target:
    """The target that a generation was made from. `plan` is the digest that the generation names.

    Raises `GsdlockError` E-BLOB-… where the store has lost it.
    """
    from ..lockfiles.model import target_from_data

    return target_from_data(json.loads(blobs.get(plan)))


def held_target(blobs: Blobs, generation: Generation) -> Target:
    """What a generation really holds: the target that it was made from, but for what was denied.

    A denied file or entry is missing, or is still what it was before. Raises `GsdlockError` E-BLOB-….
    """
    from msgspec.structs import replace

    from ..lockfiles.model import Edit, Placement

    target = target_of(blobs, generation.plan)
    denied = set(generation.partial)
    if not denied:
        return target
    # The pointer of a denied entry is filled in, that of the lock is not: file and value tell them apart.
    entries = {(key.partition("#")[0], key.rpartition("#")[2]) for key in denied if "#" in key}
    placements = [p for p in target.placements if p.key not in denied]
    for file in generation.files:
        if file.key in denied:
            size = len(blobs.get(file.source))
            placements.append(Placement(file.root, file.path, file.source, file.locked_mode, size, file.fill))
    edits = [e for e in target.edits if (e.key, e.value) not in entries]
    for edited in generation.edited:
        edits += [
            Edit(
                edited.root,
                edited.path,
                edited.format,
                record.entry.op,
                record.entry.at,
                record.source,
                executes=record.executes,
            )
            for record in edited.entries
            if (edited.key, record.source) in entries
        ]
    return replace(
        target,
        placements=tuple(sorted(placements, key=lambda p: p.key)),
        edits=tuple(sorted(edits, key=lambda e: e.key)),
    )


def installed_targets(session: Session) -> dict[str, Target]:
    """What the current generations hold, by the name of the target."""
    return {g.target: held_target(session.blobs, g) for g in generations_of(session)}


def origins_of(blobs: Blobs, target: Target) -> tuple[dict[str, Origin], tuple[LockedPack, ...]]:
    """Why each file and entry of a target is there (keys as in `lockfiles.model.origins_data`), and the
    packs that it was made from.

    Raises `GsdlockError` E-BLOB-…, E-LOCK-INVALID.
    """
    from msgspec import ValidationError, convert

    from ..lockfiles.model import origins_from_data
    from ..store.blobs import named_value, wrong_kind

    what = f"the origins of target {target.name}"
    data = named_value(blobs.get, target.origins, what)
    try:
        rows = convert(data, dict[str, dict[str, list[str]] | list[list[str]]])
        return origins_from_data(rows)
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError):
        raise wrong_kind(target.origins, what) from None
