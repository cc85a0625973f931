"""The power goes: of what was not flushed, any subset survives. After recovery all is old, or all is new.

Transactions run on a `Disk` in memory, which tells for each moment what may be left of it on the medium. At
each moment every subset of what was pending is tried where they are few, else some chosen by the seed, among
them the two ends: nothing of it, and all of it.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.canonical import canonical_json
from gsdlock.lockfiles.model import Edit, EditFormat, EditOp, Placement, Target
from gsdlock.store.blobs import Blobs
from gsdlock.store.choices import Choices
from gsdlock.store.filesystem import FileSystem
from gsdlock.store.gate import Settled
from gsdlock.store.generations import slug_of
from gsdlock.store.items import Decision, Item
from gsdlock.store.recovery import recover_locked
from gsdlock.store.restore import going_back
from gsdlock.store.store import Store
from gsdlock.store.survey import TargetChange
from gsdlock.store.transaction import run
from gsdlock.store.wanted import wanted_from_lock

from .disk import Careless, Disk, PlainDisk
from .points import FULL, SEED, Report
from .scenes import NOTES, SETTINGS

HOME = "/home/u"
FEW = 5
"""Up to so many pending events every subset of them is tried in a full run."""
SAMPLES = 12 if FULL else 2
LOST_AS = ("none", "half", "zeros")


@dataclass(frozen=True)
class Place:
    """A store on a disk. The lock of the state folder is a real file, so `state` is a real folder too."""

    disk: Any
    state: str
    home: str = HOME
    data: str = "/own/data"
    forgets: Callable[[str, str], bool] | None = None
    """Which flushes are left out, by the state folder and the path (see `test_flushes`)."""

    @property
    def store(self) -> Store:
        fs: FileSystem = self.disk if self.forgets is None else Careless(self.disk, self.omitted)
        blobs = Blobs(fs, self.data)
        return Store(
            fs, blobs, self.state, self.home, os.geteuid(), lambda: "2026-01-01T00:00:00.000Z", "apply"
        )

    def omitted(self, path: str) -> bool:
        """Whether the flush of what is at a path is left out."""
        return self.forgets is not None and self.forgets(self.state, path)

    def version(self, number: int, target: str = "host") -> TargetChange:
        """A version of a plan: files that stay, change, come and go, and an entry in a shared file."""
        blobs = self.store.blobs
        names = {"stays.md": "stays", "changes.md": f"{target} {number}", f"only{number}/x.md": "x"}
        placements = []
        for path, text in names.items():
            data = text.encode()
            placements.append(
                Placement("config", f"{target}/{path}", blobs.put(data), 0o644, len(data), False)
            )
        value = {"hooks": [{"type": "command", "command": f"{target}{number}.sh"}]}
        digest = blobs.put(canonical_json(value))
        edit = Edit(
            "config",
            "settings.json",
            EditFormat.JSONC,
            EditOp.APPEND_UNIQUE,
            "/hooks/Stop",
            digest,
            False,
            True,
            (),
        )
        blobs.flush()  # as resolve does at its end
        plan = Target(target, "host", "global", "full", (), tuple(placements), (edit,), "")
        wanted = wanted_from_lock(
            plan,
            blobs,
            roots={"config": f"{self.home}/.host"},
            tools={},
            home=self.home,
            installation="default",
            manifest=f"{self.home}/gsdlock.toml",
        )
        return TargetChange(slug_of("default", target), wanted)

    def apply(self, *changes: TargetChange, ours: bool = False) -> None:
        choices = Choices(ours=frozenset({"*"})) if ours else Choices()
        run(self.store, changes, choices, allow_all)

    def found(self) -> tuple[Any, dict[str, int]]:
        """What stands, and the numbers of the generations; nothing of a transaction is left."""
        store = self.store
        assert not [n for n in self.disk.tree(self.state) if n.startswith("transactions/")]
        numbers = {slug: g.number for slug, g in store.generations.currents().items()}
        return self.disk.tree(HOME), numbers


def allow_all(items: Sequence[Item]) -> Settled:
    decisions = tuple(Decision(True, "flag:--allow critical") for _ in items)
    return Settled(tuple(items), decisions, frozenset(), frozenset(), ())


def users_files(place: Place) -> None:
    place.disk.put(f"{HOME}/.host/settings.json", SETTINGS)
    place.disk.put(f"{HOME}/.host/NOTES.md", NOTES)


def installed(place: Place) -> None:
    users_files(place)
    place.apply(place.version(1))


def edited(place: Place) -> None:
    installed(place)
    place.disk.put(f"{HOME}/.host/host/changes.md", b"edited by the user")
    settings = place.disk.tree(HOME)[".host/settings.json"][1]
    place.disk.put(f"{HOME}/.host/settings.json", settings.replace(b"opus", b"sonnet"))


def upgraded(place: Place) -> None:
    installed(place)
    place.apply(place.version(2))


def three_installed(place: Place) -> None:
    users_files(place)
    place.apply(*(place.version(1, name) for name in ("one", "two", "three")))


SCENES: dict[str, tuple[Callable[[Place], None], Callable[[Place], None]]] = {
    "first install": (users_files, lambda p: p.apply(p.version(1))),
    "upgrade": (installed, lambda p: p.apply(p.version(2))),
    "rollback": (upgraded, lambda p: p.apply(going_back(p.store, "host@default", 1))),
    "uninstall": (installed, lambda p: p.apply(TargetChange("host@default", None))),
    "three targets": (
        three_installed,
        lambda p: p.apply(*(p.version(2, name) for name in ("one", "two", "three"))),
    ),
    "with edits": (edited, lambda p: p.apply(p.version(2), ours=True)),
}


def subsets(pending: list[int], name: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """What survives of the pending events, and how lost bytes look."""
    draw = random.Random(f"{SEED}/{name}")
    yield (), draw.choice(LOST_AS)
    if not pending:
        return
    if FULL and len(pending) <= FEW:
        for size in range(1, len(pending) + 1):
            for kept in itertools.combinations(pending, size):
                yield from ((kept, lost_as) for lost_as in LOST_AS)
        return
    yield tuple(pending), "none"
    for _ in range(SAMPLES):
        share = draw.random()
        yield tuple(n for n in pending if draw.random() < share), draw.choice(LOST_AS)


@pytest.mark.parametrize("kind", [Disk, PlainDisk])
@pytest.mark.parametrize("name", SCENES)
def test_the_power_goes_at_any_moment(name: str, kind: type[Disk], tmp_path: Path, report: Report) -> None:
    prepare, do = SCENES[name]
    place = Place(kind(), str(tmp_path))
    place.disk.close(place.disk.folder(str(tmp_path)))
    prepare(place)
    old = place.found()
    start, place = place.disk.copy(), replace(place, disk=place.disk.copy())
    place.disk.begin()
    do(place)
    new = place.found()
    assert old != new
    moments = range(len(place.disk.moments))
    if not FULL:
        moments = range(random.Random(f"{SEED}/{name}").randrange(3), len(moments), 3)
    tried, failures, ended, seen = 0, list[str](), set(), set()
    for moment in moments:
        pending = place.disk.pending(moment)
        for kept, lost_as in subsets(pending, f"{name}/{moment}"):
            key = (place.disk.moments[moment], kept, tuple(pending), lost_as)
            if key in seen:
                continue
            seen.add(key)
            tried += 1
            after = replace(place, disk=place.disk.survivor(start, moment, kept, lost_as))
            where = f"{name} at {moment} of {len(place.disk.moments)}, kept {kept} of {pending}, {lost_as}"
            try:
                ended.add(promise(after, do, old, new, where))
            except AssertionError as failure:
                failures.append(str(failure))
    plain = "" if kind is Disk else ", no exchange"
    report("the power goes", f"{name}{plain} (of {len(place.disk.moments)})", tried, len(failures))
    assert not failures, f"{len(failures)} of {tried}:\n" + "\n".join(failures[:5])
    assert ended == {True, False}


def promise(place: Place, do: Callable[[Place], None], old: Any, new: Any, where: str) -> bool:
    """Recovery, and what is promised after it; true where all is new."""
    try:
        recover_locked(place.store)
        found = place.found()
    except Exception as error:
        raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
    assert found in (old, new), f"{where}: neither old nor new: {difference(found, old, new)}"
    for generation in place.store.generations.currents().values():
        lost = [digest for digest in generation.digests() if not place.store.blobs.sound(digest)]
        assert not lost, f"{where}: the store lost {lost}"
    if found == old:
        try:
            do(place)
        except Exception as error:
            raise AssertionError(f"{where}: the next run: {type(error).__name__}: {error}") from error
        assert place.found()[0] == new[0], f"{where}: the next run does not get there"
    return bool(found == new)


def difference(found: Any, old: Any, new: Any) -> list[str]:
    """The paths in which what was found differs from the nearer one of old and new."""

    def from_end(end: Any) -> list[str]:
        return sorted(p for p in {*found[0], *end[0]} if found[0].get(p) != end[0].get(p))

    name, nearer = min((len(from_end(end)), name, end) for name, end in (("new", new), ("old", old)))[1:]
    return [f"from {name}:", *(f"{p}: {found[0].get(p)}" for p in from_end(nearer)), str(found[1])]


def test_the_model_forgets_what_was_not_flushed() -> None:
    """A rename over a file whose bytes were never flushed is the classic loss; the model shows it."""
    disk = Disk()
    disk.put("/d/a", b"old")
    start = disk.copy()
    disk.begin()
    folder = disk.open_root("/d")
    disk.create(folder, "tmp", b"new", 0o644)
    disk.rename(folder, "tmp", folder, "a")
    disk.flush_dir(folder)
    last = len(disk.moments) - 1
    assert disk.survivor(start, last, (), "none").tree("/d")["a"][1] == b""
    assert disk.survivor(start, last, disk.pending(last), "none").tree("/d")["a"][1] == b"new"
    assert disk.survivor(start, 0, (), "none").tree("/d") == start.tree("/d")
