"""Where the places of a plan really are on this machine: what a review of names alone does not show.

A root or a folder may be a link, and so may a shared file, which may also bear another of its names here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..lockfiles.model import Target
    from .session import Session


def leads(session: Session, targets: Iterable[Target]) -> list[str]:
    """A line for each link on the way to something that the targets place, and for each shared file that is
    another one here. Nothing of a target whose folders cannot be told: an apply says why."""
    from .concerns import roots_of

    lines = []
    for target in targets:
        roots = {name: path.rstrip("/") for name, path in (roots_of(session, target) or {}).items()}
        base = session.manifest.folder if target.scope == "local" else session.environment.home or ""
        links = {**_links_to(roots, base), **_links_below(target, roots)}
        lines += [f"{target.name}: {path} is a link to {what}" for path, what in sorted(links.items())]
        lines += [
            f"{target.name}: {own} is {os.path.basename(path)} here"
            for own, path in _shared(target, roots)
            if path != own
        ]
    return lines


def _links_to(roots: Mapping[str, str], base: str) -> dict[str, str]:
    """The links on the way to the roots: an apply follows them."""
    return {p: os.path.realpath(p) for root in roots.values() for p in _way(root, base) if os.path.islink(p)}


def _links_below(target: Target, roots: Mapping[str, str]) -> dict[str, str]:
    """The folders below the roots that are links, and the shared files: an apply follows only the latter."""
    places = {(p.root, os.path.dirname(p.path)) for p in target.placements if p.root in roots}
    places |= {(e.root, os.path.dirname(e.path)) for e in target.edits if e.root in roots}
    folders = {p for root, path in places for p in _way(f"{roots[root]}/{path}".rstrip("/"), roots[root])}
    found = {
        p: f"{os.path.realpath(p)}, and an apply writes through none" for p in folders if os.path.islink(p)
    }
    files = (path for _, path in _shared(target, roots))
    return found | {path: os.path.realpath(path) for path in files if os.path.islink(path)}


def _shared(target: Target, roots: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each shared file of the plan, and the one that is edited here: the first of its names that exists."""
    edits = {f"{roots[e.root]}/{e.path}": e.instead for e in target.edits if e.root in roots}
    for own, instead in edits.items():
        others = (os.path.join(os.path.dirname(own), name) for name in instead)
        yield own, next((path for path in others if os.path.lexists(path)), own)


def _way(path: str, base: str) -> list[str]:
    """The folders below `base` that lead to `path`, and itself; itself alone where it is not below."""
    base = base.rstrip("/")
    if path == base:
        return []
    if not path.startswith(base + "/"):
        return [path]
    parts = path[len(base) + 1 :].split("/")
    return ["/".join((base, *parts[:count])) for count in range(1, len(parts) + 1)]
