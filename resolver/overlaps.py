"""Targets of one manifest that meet in one file on this machine.

Alike, the file belongs to all of them and goes with the last. Otherwise one would overwrite the other, and
that is refused before a lock is written; an apply refuses it once more, on the machine where it happens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from ..capabilities.canonical import canonical_json, sha256_digest
from ..capabilities.errors import GsdlockError, refused, shown
from ..capabilities.model import Runtime
from ..capabilities.vocabulary import HomeKind, Root, Scope
from ..lockfiles.model import EditOp, Placement, Target
from ..lockfiles.placeholders import Fillings, PlaceholderError, fill_bytes, fill_pointer, fill_value
from ..store.blobs import named_value
from .concerns import Concern, ConcernCode, Place, listing, some
from .located import Located

_MOST_LINES = 10


class BlobSource(Protocol):
    """Where content is read from."""

    def get(self, digest: str) -> bytes:
        """The bytes of that digest."""


def overlaps(
    targets: Sequence[tuple[Target, Located]],
    home: str | None,
    blobs: BlobSource,
    real: Callable[[str], str],
    runtimes: Mapping[str, Runtime],
) -> tuple[Concern, ...]:
    """One concern for each group of targets that have files in common, alike in all of them.

    `home` is the user's, `real` resolves the links in a path, `runtimes` are those of the targets by id.

    Raises `GsdlockError` E-TARGET-CLASH (status 4) where two targets want different content in one place.
    """
    contents = [_Content(target, place, home, blobs) for target, place in targets]
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    clashes: dict[tuple[str, str], list[str]] = defaultdict(list)
    owners: dict[str, list[_Content]] = defaultdict(list)
    for content in contents:
        for path in content.place.files:
            owners[path].append(content)
    for path, several in sorted(owners.items()):
        if len(several) < 2:
            continue
        first = several[0]
        others = [c for c in several[1:] if c.of(path) != first.of(path)]
        if not others:
            alike[tuple(c.target.name for c in several)].append(path)
        for other in others:
            clashes[first.target.name, other.target.name].append(path)
    for one, two in combinations(contents, 2):
        clashes[one.target.name, two.target.name] += _clashing_entries(one.entries(real), two.entries(real))
    if any(clashes.values()):
        raise _clash({pair: lines for pair, lines in clashes.items() if lines}, contents, runtimes)
    return tuple(_shared(names, paths) for names, paths in alike.items())


class _Content:
    """What one target puts where, filled in as an apply on this machine would."""

    def __init__(self, target: Target, place: Located, home: str | None, blobs: BlobSource) -> None:
        self.target = target
        self.place = place
        self._blobs = blobs
        # Where an interpreter lies is the same for all targets, so its name stands for it.
        tools = {f"tool.{name}": name for name in target.tools}
        self._fillings = Fillings({**place.roots, **tools}, home)

    def of(self, path: str) -> tuple[str, int]:
        """Digest and mode of what shall stand at a full path."""
        placement = self.place.files[path]
        assert isinstance(placement, Placement), "a target of the plan has a placement for each of its files"
        if not placement.fill:
            return placement.digest, placement.mode
        try:
            data = fill_bytes(self._blobs.get(placement.digest), self._fillings)
        except PlaceholderError:
            return placement.digest, placement.mode  # an apply says what is missing
        return sha256_digest(data), placement.mode

    def entries(self, real: Callable[[str], str]) -> Mapping[tuple[str, str], bytes]:
        """What the target insists on in shared files: canonical values by full path and pointer."""
        found: dict[tuple[str, str], bytes] = {}
        for edit in self.target.edits:
            if edit.op not in (EditOp.ENSURE, EditOp.BLOCK) or edit.root not in self.place.roots:
                continue
            path = real(f"{self.place.roots[edit.root].rstrip('/')}/{edit.path}")
            value = named_value(self._blobs.get, edit.value, "the value of an entry")
            try:
                at = fill_pointer(edit.at, self._fillings)
                found[path, at] = canonical_json(fill_value(value, self._fillings))
            except PlaceholderError:
                continue
        return found


def _clashing_entries(
    one: Mapping[tuple[str, str], bytes], two: Mapping[tuple[str, str], bytes]
) -> list[str]:
    both = sorted(one.keys() & two.keys())
    return [f"{path} {at}" for path, at in both if one[path, at] != two[path, at]]


def _clash(
    clashes: Mapping[tuple[str, str], Sequence[str]],
    contents: Sequence[_Content],
    runtimes: Mapping[str, Runtime],
) -> GsdlockError:
    details: list[str] = []
    for (one, two), paths in clashes.items():
        details += [f"{one} and {two}: {shown(path, 400)}" for path in paths[:_MOST_LINES]]
        if len(paths) > _MOST_LINES:
            details.append(f"{one} and {two}: and {len(paths) - _MOST_LINES} more")
    names = sorted({name for pair in clashes for name in pair})
    moves = [_elsewhere(c, runtimes) for c in contents if c.target.name in names]
    return refused(
        "E-TARGET-CLASH",
        f"targets {listing(names)} would overwrite each other on this machine",
        " ".join([*filter(None, dict.fromkeys(moves)), "Or leave one of them out, or change its scope."]),
        details=details,
    )


def _elsewhere(content: _Content, runtimes: Mapping[str, Runtime]) -> str:
    """How a target comes to another folder; empty where the user has no say in it."""
    runtime = runtimes.get(content.target.runtime)
    if runtime is None or content.target.scope != Scope.GLOBAL:
        return ""
    home = runtime.config_home
    if home.kind is HomeKind.GENERIC_AGENTS_ROOT:
        first = home.probe[0]
        return (
            ""
            if content.place.roots[Root.CONFIG.value].endswith(first.removeprefix("~"))
            else f"Make the folder {first}/{home.probe_exists}: then {runtime.id} goes there."
        )
    return ""


def _shared(names: tuple[str, ...], paths: Sequence[str]) -> Concern:
    folders = sorted({path.rpartition("/")[0] for path in paths})
    count = f"{len(paths)} files" if len(paths) != 1 else "one file"
    return Concern(
        ConcernCode.SHARED,
        "",
        f"targets {listing(names)} have {count} in common, alike, below {some(_tops(folders))}",
        "Nothing is to be done: what they share is put there once and goes with the last of them.",
        tuple(paths),
        tuple(Place(name, "", "files", folder) for name in names for folder in _tops(folders)),
    )


def _tops(folders: Sequence[str]) -> list[str]:
    """Those of the sorted folders that lie in no other of them."""
    tops: list[str] = []
    for folder in folders:
        if not any(f"{folder}/".startswith(f"{top}/") for top in tops):
            tops.append(folder)
    return tops
