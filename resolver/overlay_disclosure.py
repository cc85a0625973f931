"""What a user reads before consenting to an overlay: who, from where, what it writes, what it executes. Pure.

Nothing that executes is abbreviated (`overlay_rules` refuses what would not fit). All text of the overlay's
is somebody else's, so it passes `shown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ..capabilities.errors import MOST_SURFACE_TEXT, shown
from ..capabilities.model import Feature
from ..capabilities.overlay_surfaces import Surface, surfaces_of
from .overlays import Overlay

_MOST_NAMES = 40


class Former(Struct, frozen=True):
    """What was consented to before: the version, its surfaces (kind, name, text), where it wrote, and which
    files have changed since, one line each."""

    version: str
    surfaces: frozenset[tuple[str, str, str]]
    roots: frozenset[str]
    changed: tuple[str, ...]


class Disclosure(Struct, frozen=True):
    """One overlay, as it is shown. `roots` are lines `host scope root: path`; `executables` are files that a
    system would run as programs; `former` is None where nothing was consented to before."""

    overlay: Overlay
    roots: tuple[str, ...]
    former: Former | None = None

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """Where it would have a say in a host, in the order of the descriptor."""
        return surfaces_of(self.overlay.capability)

    @property
    def executables(self) -> tuple[str, ...]:
        """The paths of its files that may run, sorted."""
        return tuple(path for path, file in sorted(self.overlay.tree.files.items()) if file.mode & 0o100)


def lines_of(disclosure: Disclosure) -> list[str]:
    """The screen: what is new since the former consent is marked with a plus, what is gone with a minus."""
    capability, tree = disclosure.overlay.capability, disclosure.overlay.tree
    pin, former = disclosure.overlay.pin, disclosure.former
    size = sum(file.size for file in tree.files.values())
    lines = [
        f"{shown(capability.title)} ({capability.role.value} {capability.id} {shown(capability.version)})",
        f"  {shown(capability.description, 300)}",
        f"  from     {pin.kind.value} {shown(disclosure.overlay.spec, 300)}",
        f"  locked   {shown(pin.resolved, 300)}",
    ]
    if capability.provenance:
        said = ", ".join(f"{shown(k)} {shown(v, 200)}" for k, v in sorted(capability.provenance.items()))
        lines.append(f"  says     {said} (nobody checked this)")
    lines += [
        f"  digest   {pin.tree}",
        f"  holds    {len(tree.files)} {'file' if len(tree.files) == 1 else 'files'}, {size} bytes",
    ]
    if former is not None:
        lines.append(f"  before   you consented to version {shown(former.version)}; + is new, - is gone")
    lines += ["  writes", *_roots(disclosure)]
    lines += ["  executes", *_surfaces(disclosure)]
    lines += _instructions(disclosure)
    if disclosure.executables:
        lines += [f"  programs {_names(disclosure.executables)}"]
    if former is not None and former.changed:
        lines += ["  changed files", *(f"    {shown(line, 300)}" for line in former.changed)]
    return lines


def data_of(disclosure: Disclosure) -> dict[str, Any]:
    """The same as data, unabridged."""
    capability, pin, former = disclosure.overlay.capability, disclosure.overlay.pin, disclosure.former
    return {
        "id": capability.id,
        "role": capability.role.value,
        "version": capability.version,
        "title": capability.title,
        "kind": pin.kind.value,
        "resolved": pin.resolved,
        "digest": pin.tree,
        "files": len(disclosure.overlay.tree.files),
        "roots": list(disclosure.roots),
        "surfaces": [
            {
                "kind": s.kind,
                "name": s.name,
                "text": s.text,
                "new": former is not None and (s.kind, s.name, s.text) not in former.surfaces,
            }
            for s in disclosure.surfaces
        ],
        "executables": list(disclosure.executables),
        "changed": list(former.changed) if former is not None else [],
    }


def _roots(disclosure: Disclosure) -> list[str]:
    former = disclosure.former
    marked = [
        f"   {_mark(former is not None and r not in former.roots)} {shown(r, 400)}" for r in disclosure.roots
    ]
    return marked or ["    the folders of each host that a manifest puts it on"]


def _surfaces(disclosure: Disclosure) -> list[str]:
    former, surfaces = disclosure.former, disclosure.surfaces
    known = former.surfaces if former is not None else frozenset()
    now = [(s.kind, s.name, s.text) for s in surfaces]
    lines = [f"   {_mark(former is not None and s not in known)} {_surface(*s)}" for s in now]
    lines += [f"   - {_surface(*gone)}" for gone in sorted(known.difference(now))]
    return lines or ["    nothing by itself"]


def _surface(kind: str, name: str, text: str) -> str:
    most = MOST_SURFACE_TEXT + 1
    return f"{kind} {shown(name, most)}: {shown(text, most)}"


def _instructions(disclosure: Disclosure) -> list[str]:
    capability, pack = disclosure.overlay.capability, disclosure.overlay.pack
    if not isinstance(capability, Feature) or pack is None or not pack.artifacts:
        return []
    kinds: dict[str, list[str]] = {}
    for artifact in pack.artifacts:
        kinds.setdefault(artifact.kind.value, []).append(artifact.stem)
    said = "; ".join(f"{kind}: {_names(stems)}" for kind, stems in sorted(kinds.items()))
    return [f"  tells    agents what to do by {said}"]


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(shown(n) for n in names[:_MOST_NAMES]) + more


def _mark(new: bool) -> str:
    return "+" if new else " "
