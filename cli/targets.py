"""From the targets of a lock to what they shall hold on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lockfiles.model import Lock, Target
    from ..resolver.manifest import TargetEntry
    from ..store.survey import TargetChange
    from ..store.wanted import Wanted
    from .session import Session


def changes_of(session: Session, lock: Lock, *, by_hand: bool = False) -> list[TargetChange]:
    """What an apply of `lock` changes, in the manifest's order; then the targets that are to be left because
    the manifest no longer has them.

    Raises `GsdlockError`: E-TARGET-UNKNOWN, E-RUNTIME-UNKNOWN, E-HOME-…, E-TOOL-…, E-BLOB-…, E-FILL-….
    """
    from ..store.generations import slug_of
    from ..store.survey import TargetChange
    from .installed import check_target_names, generations_of

    manifest = session.manifest
    installed = generations_of(session)
    names = [t.name for t in manifest.targets]
    check_target_names(session, names + [g.target for g in installed if g.target not in names])
    changes = []
    for entry in manifest.targets:
        target = lock.target(entry.name)
        if target is None or not session.wanted(entry.name):
            continue
        project = manifest.folder if entry.scope == "local" else ""
        wanted = wanted_target(session, entry, target, by_hand=by_hand or not entry.edits)
        changes.append(TargetChange(slug_of(manifest.name, entry.name, project), wanted))
    going = [g for g in installed if g.target not in names]
    return [*changes, *(TargetChange(g.slug, None) for g in going)]


def wanted_target(session: Session, entry: TargetEntry, target: Target, *, by_hand: bool) -> Wanted:
    """One target of the lock met with the folders and tools of this machine."""
    from ..capabilities.homes import resolve_roots
    from ..store.checkouts import checkouts
    from ..store.tools import find_tools
    from ..store.wanted import wanted_from_lock

    manifest, environment = session.manifest, session.environment
    runtime = session.registry.runtime(target.runtime)
    roots = resolve_roots(runtime, target.scope, environment, manifest.folder, os.path.exists)
    guards = () if manifest.of_user else (manifest.folder, *checkouts(manifest.folder, environment.home))
    return wanted_from_lock(
        target,
        session.blobs,
        roots=roots.paths,
        tools=find_tools(target.tools, environment, guards),
        home=environment.home,
        installation=manifest.name,
        manifest=manifest.path,
        project=manifest.folder if target.scope == "local" else "",
        by_hand=by_hand,
        outside=not manifest.of_user
        and (target.scope == "global" or _leads_out(roots.paths, manifest.folder)),
    )


def _leads_out(roots: Mapping[str, str], folder: str) -> bool:
    """Whether a root lies outside of the project, as a link in somebody's repository can make it."""
    from ..store.confinement import within

    real = os.path.realpath(folder)
    return not all(within(os.path.realpath(path), real, fold=False) for path in roots.values())


def leaving(session: Session) -> Sequence[TargetChange]:
    """The change that leaves every installed target that the command is about."""
    from ..store.survey import TargetChange
    from .installed import named_targets

    return [TargetChange(g.slug, None) for g in named_targets(session)]
