"""The two sides of a diff: where each of them is read from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ..capabilities.errors import GsdlockError
    from ..lockfiles.model import Lock, LockedPack, Target
    from .session import Session

INSTALLED, LOCK, DISK = "@installed", "@lock", "@disk"


class Side(Struct, frozen=True):
    """Targets by name, and the packs that they were made from. `names` are those of all targets that there
    are, also of those that `--target` keeps out."""

    targets: Mapping[str, Target]
    packs: tuple[LockedPack, ...] = ()
    names: tuple[str, ...] = ()


def read_side(session: Session, name: str) -> Side:
    """One side of a diff. Raises `GsdlockError`: E-LOCK-MISSING, E-SIDE-UNKNOWN, E-GIT-SHOW, E-LOCK-…,
    E-GENERATION-…."""
    from .installed import installed_targets

    if name == INSTALLED:
        return _of_targets(session, installed_targets(session))
    if name == LOCK:
        return _of_lock(session, _present(session.lock(), session.lock_path))
    if name.startswith("@"):
        return _of_targets(session, _generation(session, name))
    if name.startswith("git:"):
        return _of_lock(session, _from_git(session, name))
    return _of_lock(session, _from_path(session, name))


def _of_targets(session: Session, targets: Mapping[str, Target]) -> Side:
    """A side of generations. A pack that two targets have in different versions is shown in one of them."""
    from ..capabilities.errors import GsdlockError
    from .installed import origins_of

    chosen = _filtered(session, targets)
    packs: dict[str, LockedPack] = {}
    for target in chosen.values():
        try:
            packs |= {p.name: p for p in origins_of(session.blobs, target)[1]}
        except GsdlockError:
            continue  # content that the store has lost: the files can be compared all the same
    return Side(chosen, tuple(packs.values()), tuple(targets))


def _filtered(session: Session, targets: Mapping[str, Target]) -> dict[str, Target]:
    return {name: t for name, t in targets.items() if session.wanted(name)}


def _of_lock(session: Session, lock: Lock) -> Side:
    targets = {t.name: t for t in lock.targets}
    return Side(_filtered(session, targets), lock.inputs, tuple(targets))


def _present(lock: Lock | None, path: str) -> Lock:
    if lock is None:
        raise lock_missing(path, ours=True)
    return lock


def lock_missing(path: str, *, ours: bool) -> GsdlockError:
    """There is no lock at `path`; `resolve` makes it only where that is `ours`, the lock of the manifest."""
    from ..capabilities.errors import input_error

    fix = "Make it: gsdlock resolve." if ours else "Name a lock that there is."
    return input_error("E-LOCK-MISSING", f"there is no {path}", fix, where=path)


def _from_path(session: Session, name: str) -> Lock:
    from .session import read_file

    path = os.path.normpath(os.path.join(session.environment.cwd, name))
    if path == _path_of_ours(session):
        return _present(session.lock(), path)
    data = read_file(path)
    if data is None:
        raise lock_missing(path, ours=False)
    return _other(data, path)


def _path_of_ours(session: Session) -> str:
    """Where the lock of the manifest lies; empty where there is no manifest."""
    return session.lock_path if session.manifest_path or session.options.lock else ""


def _other(data: bytes, where: str) -> Lock:
    """A lock that is not the manifest's: no `resolve` makes it again. Raises `GsdlockError` E-LOCK-…."""
    from ..capabilities.errors import GsdlockError
    from ..lockfiles.read import read_lock

    try:
        return read_lock(data, where)
    except GsdlockError as fault:
        if fault.code != "E-LOCK-VERSION-NEWER":
            fault.fix = "It cannot be compared as it is: name another lock, or another revision."
        raise


def _generation(session: Session, name: str) -> dict[str, Target]:
    from ..capabilities.errors import input_error, shown
    from .installed import generations_of, held_target

    if not name[1:].isascii() or not name[1:].isdigit():
        raise input_error(
            "E-SIDE-UNKNOWN",
            f"{shown(name)} is no side of a diff",
            "Use a path, git:REV:PATH, @lock, @installed, @disk, or @ and the number of a generation.",
        )
    number = int(name[1:])
    generations = session.store.generations
    found = {}
    for current in generations_of(session, left=True):
        if number in generations.numbers(current.slug):
            generation = generations.read(current.slug, number)
            if not generation.left:
                found[generation.target] = held_target(session.blobs, generation)
    if not found:
        gone = any(generations.forgot(g.slug, number) for g in generations_of(session, left=True))
        what = f"generation {number} is not kept any more: gsdlock gc forgot it"
        raise input_error(
            "E-SIDE-UNKNOWN",
            what if gone else f"no target has a generation {number}",
            "gsdlock history lists them.",
        )
    return found


def _from_git(session: Session, name: str) -> Lock:
    from ..capabilities.errors import input_error, missing, shown
    from ..resolver.sources.process import SystemProcesses

    _, revision, path = [*name.split(":", 2), "", ""][:3]
    environment = session.environment
    processes = SystemProcesses()
    git = processes.find("git", environment.variables.get("PATH", ""))
    if git is None:
        raise missing("E-GIT-ABSENT", "git is not on PATH", "Install git, or name the lock by its path.")
    if not revision or revision.startswith("-") or not path:
        raise input_error("E-SIDE-UNKNOWN", f"{shown(name)} is not git:REV:PATH", "git:HEAD~1:gsdlock.lock")
    # `./` makes git take the path relative to the working directory, as every other path here.
    spec = f"{revision}:{path if path.startswith(('/', './', '../')) else './' + path}"
    done = processes.run(
        [git, "-c", "core.quotePath=false", "show", "--no-textconv", spec],
        cwd=environment.cwd,
        # A partial clone would fetch what it lacks, by whatever its own configuration says.
        env={**environment.variables, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"},
        timeout=60,
        limit=64 * 1024 * 1024,
    )
    if done.status != 0:
        raise input_error(
            "E-GIT-SHOW",
            f"git has no {shown(spec, 200)}",
            "Check revision and path with git log.",
            details=[shown(line, 200) for line in done.err.decode("utf-8", "replace").splitlines()[:3]],
        )
    return _other(done.out, name)
