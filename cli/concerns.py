"""What `resolve`, `apply` and `status` warn of: the plan met with the folders and hosts of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .render import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..capabilities.model import Runtime
    from ..capabilities.reading import HostView
    from ..lockfiles.model import Lock, Target
    from ..resolver.concerns import Concern
    from ..resolver.located import Located
    from ..store.records import Generation
    from .session import Session


def plan_concerns(session: Session, lock: Lock) -> tuple[Concern, ...]:
    """What a user should know of a plan before it is applied, together with what else is installed here.

    Raises `GsdlockError` E-TARGET-CLASH where targets would overwrite each other on this machine.
    """
    from ..resolver.overlaps import overlaps

    placed = _placed(session, lock)
    home, runtimes = session.environment.home, session.registry.runtimes
    shared = overlaps(placed, home, session.blobs, os.path.realpath, runtimes)
    ours = [place for _, place in placed]
    return (*shared, *_shadowing(session, [*ours, *_others(session)]))


def standing_concerns(session: Session, lock: Lock | None) -> tuple[Concern, ...]:
    """The same of what is installed, and of what the lock adds to it."""
    generations = [_of_generation(session, g) for g in _generations(session)]
    known = {place.name for place in generations if not place.installation}
    planned = [p for _, p in _placed(session, lock) if p.name not in known] if lock is not None else []
    return _shadowing(session, [*generations, *planned])


def _placed(session: Session, lock: Lock) -> list[tuple[Target, Located]]:
    """The targets of a lock where they would go; one whose folders cannot be told here is left out."""
    from ..resolver.located import located

    found = []
    for target in lock.targets:
        roots = roots_of(session, target)
        if roots is not None:
            project = session.manifest.folder if target.scope == "local" else ""
            found.append((target, located(target, roots, project, os.path.realpath)))
    return found


def roots_of(session: Session, target: Target) -> Mapping[str, str] | None:
    """The full paths of a target's roots on this machine, by name; None where they cannot be told."""
    from ..capabilities.errors import GsdlockError
    from ..capabilities.homes import resolve_roots

    try:
        runtime = session.registry.runtime(target.runtime)
        folder = session.manifest.folder
        return resolve_roots(runtime, target.scope, session.environment, folder, os.path.exists).paths
    except GsdlockError:
        return None  # an apply says why


def _project(session: Session) -> str:
    """The folder whose local targets count: a host that is started there sees them with the global ones."""
    return session.manifest.folder if session.manifest_path is not None else session.environment.cwd


def _generations(session: Session) -> list[Generation]:
    """Everything that is installed for all projects or for this one, by whatever manifest."""
    currents = session.store.generations.currents().values()
    return [g for g in currents if not g.left and g.project in ("", _project(session))]


def _others(session: Session) -> list[Located]:
    """What is installed by somebody else; a target of ours that the plan lacks goes with the next apply."""
    from ..capabilities.errors import GsdlockError

    try:
        found = [_of_generation(session, g) for g in _generations(session)]
    except GsdlockError:
        return []  # a damaged record is told by every verb that works with it; the plan does not
    return [place for place in found if place.installation]


def _of_generation(session: Session, generation: Generation) -> Located:
    from ..resolver.located import Located

    ours = session.manifest_path is not None and _is_ours(session, generation)
    return Located(
        name=generation.target,
        installation="" if ours else generation.installation,
        runtime=generation.runtime,
        scope=generation.scope,
        project=generation.project,
        roots={name: root.given for name, root in generation.roots.items()},
        own=root.real if (root := generation.roots.get("config")) is not None else "",
        files={generation.real_path(f.root, f.path): None for f in generation.files if not f.held},
    )


def _is_ours(session: Session, generation: Generation) -> bool:
    manifest = session.manifest
    bound = generation.project == manifest.folder or generation.manifest == manifest.path
    return generation.installation == manifest.name and bound


def _shadowing(session: Session, targets: Sequence[Located]) -> tuple[Concern, ...]:
    from ..resolver.shadowing import shadowing

    return shadowing(_views(session, targets), targets)


def _views(session: Session, targets: Sequence[Located]) -> list[HostView]:
    """The hosts that are targets, then those that are on this machine besides; each with resolved folders."""
    from msgspec.structs import replace

    from ..capabilities.reading import host_view, is_present

    def exists(path: str) -> bool:
        if os.path.exists(path):
            return True
        real = os.path.realpath(path)  # the targets may be about to make it
        return any(f == real or f.startswith(real + "/") for target in targets for f in target.files)

    def look(runtime: Runtime) -> HostView:
        view = host_view(runtime, session.environment, _project(session), exists)
        folders = tuple(replace(f, path=os.path.realpath(f.path)) for f in view.folders)
        return replace(view, folders=folders)

    known = session.registry.runtimes
    runtimes = {target.runtime for target in targets}
    named = sorted(runtimes & known.keys())
    besides = [i for i in known if i not in runtimes]
    return [
        look(known[i])
        for i in (*named, *(i for i in besides if is_present(known[i], session.environment, os.path.isdir)))
    ]


def with_concerns(outcome: Outcome, concerns: Sequence[Concern]) -> Outcome:
    """An outcome with the warnings told: in few lines each, last, and in full as `warnings`."""
    data = {**outcome.data, "warnings": [concern.data() for concern in concerns]}
    told = [line for concern in concerns for line in concern.lines()]
    return Outcome(outcome.status, data, (*outcome.lines, *told))
