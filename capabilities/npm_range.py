"""npm version ranges: `^1.2`, `~1.2.3`, `1.x`, `1.2 - 2.3`, `>=1 <2 || 3.*`, with npm's rule for prereleases.

A version is strict SemVer 2.0.0. A range is a set of alternatives (`||`), each a conjunction of comparators.
A prerelease satisfies an alternative only where one of its comparators names a prerelease of the same
major.minor.patch. Source of the grammar: the semver documentation of npm ("Advanced Range Syntax").
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

_NUMBER = r"(?:0|[1-9]\d{0,15})"
_WORD = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_WORDS = rf"{_WORD}(?:\.{_WORD})*"
_ANY_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
# Strict SemVer 2.0.0, to be matched as a whole.
VERSION_PATTERN = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_WORDS})?(?:\+{_ANY_WORDS})?"

_TAIL = rf"(?:-({_WORDS}))?(?:\+({_ANY_WORDS}))?"
# Compiled when one is first used: a start of the program needs none of them.
_VERSION = rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER}){_TAIL}"
_PART = rf"(?:{_NUMBER}|[xX*])"
_PARTIAL = rf"({_PART})(?:\.({_PART})(?:\.({_PART}){_TAIL})?)?"
_COMPARATOR = rf"(\^|~>?|[<>]=?|=)?(?:[v=]*|\s+v?){_PARTIAL}"
_HYPHEN = rf"\s*[v=]*{_PARTIAL}\s+-\s+[v=]*{_PARTIAL}\s*"
_LONGEST = 256


class RangeError(ValueError):
    """The text is not a version, or not a range."""


class Version(Struct, frozen=True):
    """A SemVer version. `prerelease` holds numbers as int and words as str; build metadata is not kept,
    because it has no part in precedence."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()

    @property
    def triple(self) -> tuple[int, int, int]:
        """The numbers alone: major, minor, patch."""
        return (self.major, self.minor, self.patch)

    # All four by hand: a Struct has comparisons already, which refuse, so `total_ordering` would add none.
    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def __le__(self, other: Version) -> bool:
        return self._key() <= other._key()

    def __gt__(self, other: Version) -> bool:
        return self._key() > other._key()

    def __ge__(self, other: Version) -> bool:
        return self._key() >= other._key()

    def _key(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        words = tuple((isinstance(w, str), w if isinstance(w, int) else 0, str(w)) for w in self.prerelease)
        return (self.triple, not self.prerelease, words)


class Comparator(Struct, frozen=True):
    """`op` is one of `<`, `<=`, `>`, `>=`, `=`."""

    op: str
    version: Version

    def admits(self, version: Version) -> bool:
        """Whether `version` stands in that relation, prereleases in plain precedence order."""
        if self.op == "<":
            return version < self.version
        if self.op == "<=":
            return version <= self.version
        if self.op == ">":
            return version > self.version
        if self.op == ">=":
            return version >= self.version
        return version == self.version


_LEAST = Version(0, 0, 0)
_NOTHING = (Comparator("<", Version(0, 0, 0, (0,))),)
_ANYTHING = (Comparator(">=", _LEAST),)


def parse_version(text: str) -> Version:
    """`text` as a strict SemVer version. Raises `RangeError`."""
    match = re.fullmatch(_VERSION, text, re.ASCII) if len(text) <= _LONGEST else None
    if match is None:
        raise RangeError("not a version")
    major, minor, patch, prerelease, _build = match.groups()
    return Version(int(major), int(minor), int(patch), _words(prerelease))


def parse_range(text: str) -> tuple[tuple[Comparator, ...], ...]:
    """`text` as alternatives of comparators, all of which must hold. Raises `RangeError`."""
    if len(text) > _LONGEST:
        raise RangeError("a range has at most 256 characters")
    alternatives = tuple(_alternative(part) for part in text.split("||"))
    # To npm, an alternative that takes everything is the whole range: the prereleases that another
    # alternative names are then not taken.
    return (_ANYTHING,) if _ANYTHING in alternatives else alternatives


def satisfies(version: str, range_: str) -> bool:
    """Whether `version` (strict SemVer) lies in `range_` by npm's rules. Raises `RangeError`."""
    parsed = parse_version(version)
    return any(_holds(parsed, alternative) for alternative in parse_range(range_))


def max_satisfying(versions: Iterable[str], range_: str) -> str | None:
    """The highest of `versions` that lies in `range_`, or None. Texts that are no version are passed over.

    Of versions that differ in build metadata only, the first is taken. Raises `RangeError` for the range.
    """
    alternatives = parse_range(range_)
    best: tuple[Version, str] | None = None
    for text in versions:
        try:
            version = parse_version(text)
        except RangeError:
            continue
        if any(_holds(version, a) for a in alternatives) and (best is None or version > best[0]):
            best = (version, text)
    return best[1] if best else None


def _holds(version: Version, comparators: tuple[Comparator, ...]) -> bool:
    if not all(c.admits(version) for c in comparators):
        return False
    if not version.prerelease:
        return True
    return any(c.version.prerelease and c.version.triple == version.triple for c in comparators)


def _words(prerelease: str | None) -> tuple[int | str, ...]:
    if not prerelease:
        return ()
    return tuple(int(w) if w.isdigit() else w for w in prerelease.split("."))


class _Partial(Struct, frozen=True):
    """A version of which trailing parts may be missing (`1`, `1.2`, `1.x`, `*`)."""

    numbers: tuple[int, ...]
    prerelease: tuple[int | str, ...]

    @property
    def floor(self) -> Version:
        """The least version that the partial stands for."""
        major, minor, patch = (*self.numbers, 0, 0, 0)[:3]
        return Version(major, minor, patch, self.prerelease)

    def next(self, position: int) -> Version:
        """The least version, prereleases included, in which the number at `position` is one higher."""
        numbers = [*self.numbers[:position], self.numbers[position] + 1, 0, 0, 0][:3]
        return Version(numbers[0], numbers[1], numbers[2], (0,))


def _partial(groups: tuple[str | None, ...]) -> _Partial:
    numbers: list[int] = []
    for group in groups[:3]:
        if group is None or group in "xX*":
            break
        numbers.append(int(group))
    if any(g is not None and g not in "xX*" for g in groups[len(numbers) : 3]):
        raise RangeError("a number stands behind a placeholder")
    # A prerelease of an incomplete version means nothing to npm.
    return _Partial(tuple(numbers), _words(groups[3]) if len(numbers) == 3 else ())


def _alternative(text: str) -> tuple[Comparator, ...]:
    if not text.strip():
        return _ANYTHING
    hyphen = re.fullmatch(_HYPHEN, text, re.ASCII)
    if hyphen is not None:
        groups = hyphen.groups()
        return _between(_partial(groups[:5]), _partial(groups[5:]))
    comparators: list[Comparator] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = re.compile(_COMPARATOR, re.ASCII).match(text, at)
        if match is None or (match.end() < len(text) and not text[match.end()].isspace()):
            raise RangeError("not a range")
        op, *groups_ = match.groups()
        comparators.extend(_simple(op or "", _partial(tuple(groups_))))
        at = match.end()
    return tuple(c for c in comparators if c != _ANYTHING[0]) or _ANYTHING


def _between(low: _Partial, high: _Partial) -> tuple[Comparator, ...]:
    comparators = [Comparator(">=", low.floor)]
    if len(high.numbers) == 3:
        comparators.append(Comparator("<=", high.floor))
    elif high.numbers:
        comparators.append(Comparator("<", high.next(len(high.numbers) - 1)))
    return tuple(comparators)


def _simple(op: str, partial: _Partial) -> tuple[Comparator, ...]:
    count = len(partial.numbers)
    if count == 0:
        return _NOTHING if op in ("<", ">") else _ANYTHING
    if op == "^":
        # Everything up to the next change of the leftmost number that is not zero.
        leading = next((i for i, n in enumerate(partial.numbers) if n), count - 1)
        return (Comparator(">=", partial.floor), Comparator("<", partial.next(leading)))
    if op.startswith("~"):
        return (Comparator(">=", partial.floor), Comparator("<", partial.next(min(count, 2) - 1)))
    if count == 3:
        return (Comparator(op or "=", partial.floor),)
    above = partial.next(count - 1)
    if op == ">":
        return (Comparator(">=", Version(*above.triple)),)
    if op == "<=":
        return (Comparator("<", above),)
    if op == "<":
        return (Comparator("<", Version(*partial.floor.triple, (0,))),)
    if op == ">=":
        return (Comparator(">=", partial.floor),)
    return (Comparator(">=", partial.floor), Comparator("<", above))
