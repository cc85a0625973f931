"""Where a third-party runtime may write: below the home or in its project, in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..capabilities.environment import Environment
from ..capabilities.errors import GsdlockError, refused, shown
from ..capabilities.homes import resolve_roots
from ..capabilities.model import Runtime
from ..capabilities.registry import Registry
from ..capabilities.vocabulary import Root, Scope
from ..store.confinement import check_root_place, folded

Paths = Callable[[str], str]


def check_roots(
    runtime: Runtime,
    scope: str,
    registry: Registry,
    environment: Environment,
    project: str,
    *,
    exists: Callable[[str], bool],
    real: Paths,
    shared: Collection[str] = (),
) -> Mapping[str, str]:
    """The roots of a target of a third-party runtime, by name; `project` is the folder of its manifest.

    Raises as `check_places`, and E-HOME-….
    """
    roots = resolve_roots(runtime, scope, environment, project, exists).paths
    check_places(
        roots, runtime.id, scope, registry, environment, project, exists=exists, real=real, shared=shared
    )
    return roots


def check_places(
    roots: Mapping[str, str],
    id_: str,
    scope: str,
    registry: Registry,
    environment: Environment,
    project: str,
    *,
    exists: Callable[[str], bool],
    real: Paths,
    shared: Collection[str] = (),
) -> None:
    """Whether the third-party runtime `id_` may write in these roots.

    Judged as they are written and (`real`) with their links resolved: below the home, or at local scope in
    the project; none of the protected places; not the root of another runtime or a folder of ours, nor above
    or below one, unless that runtime is in `shared`. Raises E-CONFINE-PLACE (status 4).
    """
    owned = _others(id_, scope, registry, environment, project, exists, shared)
    others = dict(owned) | {
        f"{owner}, which leads elsewhere": real(path) for owner, path in owned if real(path) != path
    }
    base = project if scope == Scope.LOCAL else environment.home
    # A home may lie behind a link, too: what is resolved is compared with where it really is.
    homes = [environment.home, real(environment.home)] if environment.home else [None]
    for name, path in roots.items():
        if scope == Scope.LOCAL and name == Root.PROJECT.value:
            continue
        for place in dict.fromkeys((path, real(path))):
            bases = [b for b in dict.fromkeys((base, real(base) if base else None)) if b]
            if not any(_below(place, b) for b in bases):
                raise _outside(path, place, base)
            if scope == Scope.LOCAL and _meets(f"{project}/.git", place):
                raise _protected(path, "it is the repository itself")
            for home in homes:
                _check(place, home, others, scope)


def _check(place: str, home: str | None, others: Mapping[str, str], scope: str) -> None:
    """A project may lie anywhere, so at local scope only other owners count, and the home itself."""
    if scope == Scope.GLOBAL:
        check_root_place(place, home, others)
        return
    for owner, other in others.items():
        if _meets(place, other):
            raise _protected(place, f"it meets {owner} ({shown(other, 200)})")


def _others(
    runtime: str,
    scope: str,
    registry: Registry,
    environment: Environment,
    project: str,
    exists: Callable[[str], bool],
    shared: Collection[str],
) -> list[tuple[str, str]]:
    """Who owns which place, apart from the runtime itself."""
    found = []
    if scope == Scope.GLOBAL:
        folders = environment.folders
        mine = {
            "config": folders.config,
            "data": folders.data,
            "state": folders.state,
            "cache": folders.cache,
        }
        found += [(f"gsdlock's own {name} folder", path) for name, path in mine.items()]
    for id_, other in registry.runtimes.items():
        if id_ == runtime or id_ in shared:
            continue
        try:
            roots = resolve_roots(other, scope, environment, project, exists).paths
        except GsdlockError:
            continue  # it has no folder at this scope
        found += [
            (f"the {name} folder of {id_}", path)
            for name, path in roots.items()
            if name != Root.PROJECT.value and path != project
        ]
    return found


def _meets(one: str, other: str) -> bool:
    """Whether one is the other, or lies in it, on a system that ignores case or not."""
    one, other = folded(one), folded(other)
    return _below(one, other) or _below(other, one)


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/") or path == folder


def _outside(path: str, place: str, base: str | None) -> GsdlockError:
    leads = f" (it leads to {shown(place, 200)})" if place != path else ""
    return _protected(path, f"it is not below {shown(base or 'the home', 200)}{leads}")


def _protected(path: str, why: str) -> GsdlockError:
    return refused(
        "E-CONFINE-PLACE",
        f"{shown(path, 200)} cannot be the root of a third-party runtime: {why}",
        "Ask its author for a folder of its own, such as one below ~/.config.",
        where=shown(path, 400),
    )
