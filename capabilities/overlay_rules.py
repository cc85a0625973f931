"""What an overlay must be besides a valid descriptor: rules that first party descriptors need not keep.

An overlay is somebody else's: it takes no name that looks like first party, and all that it would make a host
execute can be shown whole. Relations to the other capabilities are `registry.Registry.merge`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .errors import MOST_SURFACE_TEXT, refused, shown
from .model import Capability, Feature
from .overlay_surfaces import Surface, surfaces_of
from .registry import RESERVED_PREFIXES

MOST_SURFACES = 200
"""Nobody can consent to what cannot be read: more executable surfaces, or a longer one, is a refusal."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def check_overlay(capability: Capability) -> None:
    """Raises E-OVERLAY-RESERVED (a name with a reserved prefix), E-OVERLAY-TEXT (something that executes
    holds characters that no screen shows), E-OVERLAY-SURFACES (more than can be read), each with every
    fault."""
    taken = [f"{kind} {shown(name)}" for kind, name in _names(capability) if is_reserved(name)]
    if taken:
        raise refused(
            "E-OVERLAY-RESERVED",
            f"the overlay {shown(capability.id)} takes a name that is kept for first party: {taken[0]}",
            f"Its author has to choose names that begin with none of {', '.join(RESERVED_PREFIXES)}.",
            details=taken,
        )
    surfaces = surfaces_of(capability)
    _check_size(capability, surfaces)
    unseen = [f"{s.kind} {shown(s.name)}: {shown(s.text, 200)}" for s in surfaces if _is_unseen(s)]
    if unseen:
        raise refused(
            "E-OVERLAY-TEXT",
            f"the overlay {shown(capability.id)} would execute something whose text does not show whole: "
            + unseen[0],
            "Do not use it: its author hides characters in what a host would run.",
            details=unseen,
        )


def is_reserved(name: str) -> bool:
    """Whether a name begins with a prefix that only first party may have."""
    plain = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", plain).casefold().startswith(RESERVED_PREFIXES)


def check_files(id_: str, paths: Iterable[str]) -> None:
    """Raises E-OVERLAY-GIT where a bundle brings the folder of a git repository along.

    It is not content, and git runs what stands in it. Spellings that a file system may take for `.git`
    count too.
    """
    for path in paths:
        if any(_is_git(name) for name in path.split("/")):
            raise refused(
                "E-OVERLAY-GIT",
                f"the overlay {shown(id_)} holds {shown(path, 200)}, a part of a git repository",
                "Ask its author to pack it without its repository.",
                where=shown(path, 400),
            )


def _is_git(name: str) -> bool:
    plain = "".join(c for c in name if unicodedata.category(c) != "Cf")
    plain = unicodedata.normalize("NFKC", plain).casefold().rstrip(". ")
    return plain == ".git" or re.fullmatch(r"git~[0-9]+", plain) is not None


def _check_size(capability: Capability, surfaces: tuple[Surface, ...]) -> None:
    long = [f"{s.kind} {shown(s.name)}: {len(s.text)} characters" for s in surfaces if _is_long(s)]
    if len(surfaces) > MOST_SURFACES or long:
        what = long[0] if long else f"{len(surfaces)} of them"
        raise refused(
            "E-OVERLAY-SURFACES",
            f"the overlay {shown(capability.id)} has more executable surfaces than anybody can read: {what}",
            f"At most {MOST_SURFACES} of {MOST_SURFACE_TEXT} characters can be consented to; ask its author.",
            details=long,
        )


def _is_long(surface: Surface) -> bool:
    return len(surface.name) + len(surface.text) > MOST_SURFACE_TEXT


def _is_unseen(surface: Surface) -> bool:
    return any(unicodedata.category(c) in _UNSEEN for c in surface.name + surface.text)


def _names(capability: Capability) -> Iterator[tuple[str, str]]:
    yield "id", capability.id
    if isinstance(capability, Feature):
        yield from (("skill", stem) for stem in capability.skills)
        yield from (("agent", stem) for stem in capability.agents)
        yield from (("command family", command.family) for command in capability.commands)
        yield from (("MCP server", server.name) for server in capability.mcp_servers)
    lane: Mapping[str, Any] | None = capability.reviewer
    if lane is not None:
        yield "review lane", lane["slug"]
        yield from (("review flag", flag.lstrip("-")) for flag in lane["flags"])
