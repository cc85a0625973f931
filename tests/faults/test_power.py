"""The power goes: of what was not flushed, any subset survives. After recovery all is old, or all is new.

Transactions run on a `Disk` in memory, which tells for each moment what may be left of it on the medium. At
each moment every subset of what was pending is tried where they are few, else some chosen by the seed, among
them the two ends: nothing of it, and all of it. What was checked on one disk is not checked on one like it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gsdlock.store.recovery import recover_locked

from .disk import Disk, PlainDisk
from .places import SCENES, Place
from .points import FULL, SEED, Report

FEW = 5
"""Up to so many pending events every subset of them is tried in a full run."""
SAMPLES = 12 if FULL else 2
LOST_AS = ("none", "half", "zeros")


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
    tried, failures = 0, list[str]()
    checked: dict[tuple[object, ...], bool] = {}  # many subsets leave disks that are alike
    for moment in moments:
        pending = place.disk.pending(moment)
        for kept, lost_as in subsets(pending, f"{name}/{moment}"):
            tried += 1
            after = replace(place, disk=place.disk.survivor(start, moment, kept, lost_as))
            where = f"{name} at {moment} of {len(place.disk.moments)}, kept {kept} of {pending}, {lost_as}"
            if (contents := after.disk.contents()) in checked:
                continue
            checked[contents] = False
            try:
                checked[contents] = promise(after, do, old, new, where)
            except AssertionError as failure:
                failures.append(str(failure))
    plain = "" if kind is Disk else ", no exchange"
    report("the power goes", f"{name}{plain} (of {len(place.disk.moments)})", tried, len(failures))
    assert not failures, f"{len(failures)} of {tried}:\n" + "\n".join(failures[:5])
    assert set(checked.values()) == {True, False}


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
