"""What a user should know of a plan although nothing is wrong: warnings with stable codes, one a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ..capabilities.errors import shown
from ..capabilities.words import Words

_FEW = 3


class ConcernCode(Words):
    """Stable codes of warnings; docs/errors.md has a row for each."""

    SHADOWED = "W-TRIGGER-SHADOWED"
    TWICE = "W-TRIGGER-TWICE"
    SHARED = "W-FILE-SHARED"


class Place(Struct, frozen=True):
    """Where some of it lies: a target, and a folder (full path). `kind` is skills, commands or files; `used`
    says whether the host takes what is there (None: nobody can tell)."""

    target: str
    scope: str
    kind: str
    folder: str
    used: bool | None = None

    def __str__(self) -> str:
        return f"{shown(self.folder, 400)} (target {self.target})"


class Concern(Struct, frozen=True):
    """One reason, with everything that it holds for.

    `host` is the host that is concerned, empty where it is about files. `names` are the triggers as a user
    types them, or relative paths, sorted. `fix` says how to get rid of it.
    """

    code: ConcernCode
    host: str
    what: str
    fix: str
    names: tuple[str, ...]
    places: tuple[Place, ...]

    def lines(self) -> tuple[str, str]:
        """Two lines for people, however many names there are."""
        return f"warning {self.code.value}: {self.what}: {some(self.names)}", f"  {self.fix}"

    def data(self) -> dict[str, Any]:
        """For `--json`, with all names."""
        return {
            "code": self.code.value,
            "host": self.host,
            "what": self.what,
            "fix": self.fix,
            "names": list(self.names),
            "places": [
                {"target": p.target, "scope": p.scope, "kind": p.kind, "folder": p.folder, "used": p.used}
                for p in self.places
            ],
        }


def some(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    listed = ", ".join(shown(name, 120) for name in names[:_FEW])
    return f"{listed} and {len(names) - _FEW} more" if len(names) > _FEW else listed


def listing(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
