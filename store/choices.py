"""What the user says about drift and collisions on the command line, and the problems it may answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from ..capabilities.errors import Exit, GsdlockError, shown
from .drift import Say

ALL = "*"


class Choices(Struct, frozen=True):
    """`adopt`, `ours` and `theirs` each hold `*` (everything) or names of what is meant: a key
    (`config:skills/x/SKILL.md`), an entry (`config:settings.json#/hooks/Stop`), a full path, or a folder
    above it; with `keep_held` they are not about what is held back already. `move` lets a target follow a
    root that resolves elsewhere now; `take_over` binds an installation to another manifest.
    """

    adopt: frozenset[str] = frozenset()
    ours: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()
    keep_held: bool = False
    move: bool = False
    take_over: bool = False

    def __bool__(self) -> bool:
        """Whether anything was said about any path."""
        return bool(self.adopt or self.ours or self.theirs)

    def say(self, spot: Named) -> Say:
        """What was said about one file or entry."""
        return Say(
            adopt=any(spot.met_by(choice) for choice in self.adopt),
            ours=any(spot.met_by(choice) for choice in self.ours),
            theirs=any(spot.met_by(choice) for choice in self.theirs),
        )

    def unmatched(self, spots: Collection[Named]) -> list[str]:
        """The choices that meet none of `spots`, sorted: most likely typing errors."""
        named = sorted((self.adopt | self.ours | self.theirs) - {ALL})
        return [choice for choice in named if not any(spot.met_by(choice) for spot in spots)]


class Named(Struct, frozen=True):
    """All names of one file: its key and full paths (resolved, and as given); of an entry also its place."""

    key: str
    paths: tuple[str, ...]
    at: str | None = None

    def met_by(self, choice: str) -> bool:
        """Whether a choice means this file or entry, or a folder above it."""
        if choice in (ALL, self.key, *self.paths):
            return True
        if self.at is not None and choice in {f"{name}#{self.at}" for name in (self.key, *self.paths)}:
            return True
        return any(path.startswith(choice.rstrip("/") + "/") for path in self.paths)


class Problem(Struct, frozen=True):
    """One reason why nothing can be done. `key` is the path or entry, `path` the full path; `lines` (a short
    diff) belong to it."""

    code: str
    target: str
    key: str
    path: str
    text: str
    fix: str
    status: int = Exit.REFUSED
    lines: tuple[str, ...] = ()


class PreflightError(GsdlockError):
    """Everything that stands in the way, of all targets, at once; nothing was written."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        count = len(problems)
        what = first.text if count == 1 else f"{count} problems stand in the way; the first: {first.text}"
        details: list[str] = []
        for problem in problems:
            details.append(f"{problem.code} {problem.target}: {problem.text}")
            details += [f"    {shown(line, 120)}" for line in problem.lines]
        super().__init__(
            first.code,
            what,
            first.fix,
            status=first.status,
            where=first.path or None,
            details=details if count > 1 or first.lines else (),
        )
        self.problems = tuple(problems)
