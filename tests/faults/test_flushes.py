"""Which flush buys what, as `docs/durability.md` has it: without it, the power can take what is promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from .disk import Disk
from .places import HOME, SCENES, Place
from .test_power import promise

ROOT = f"{HOME}/.host"


def content(state: str, path: str) -> bool:
    return path.startswith("/own/data")


def journal(state: str, path: str) -> bool:
    return path.startswith(f"{state}/transactions")


def staged(state: str, path: str) -> bool:
    return "/.gsdlock-" in path


def generation(state: str, path: str) -> bool:
    return path.endswith("/generations") or "/generations/" in path


def folders(state: str, path: str) -> bool:
    return path.startswith(ROOT) and "/.gsdlock-" not in path


def pointer(state: str, path: str) -> bool:
    return path.startswith(f"{state}/targets") and not generation(state, path)


def none(state: str, path: str) -> bool:
    return False


FLUSHES = [content, journal, staged, generation, folders, pointer]


def few(pending: list[int]) -> Iterator[tuple[int, ...]]:
    """Nothing survives, all does, one thing only, or all but one."""
    yield ()
    yield tuple(pending)
    for one in pending:
        yield (one,)
        yield tuple(n for n in pending if n != one)


def broken(forgets: Callable[[str, str], bool], name: str, folder: Path, each: int = 1) -> str:
    """What the power takes in a scene where these flushes are left out; empty where nothing is found. Each so
    many moments are looked at, from the last on."""
    prepare, do = SCENES[name]
    place = Place(Disk(), str(folder))
    place.disk.close(place.disk.folder(str(folder)))
    prepare(place)
    old = place.found()
    start, place = place.disk.copy(), replace(place, disk=place.disk.copy(), forgets=forgets)
    place.disk.begin()
    do(place)
    new = place.found()
    for moment in reversed(range(0, len(place.disk.moments), each)):
        for kept in few(place.disk.pending(moment)):
            after = replace(place, disk=place.disk.survivor(start, moment, kept, "none"), forgets=None)
            try:
                promise(after, do, old, new, f"{name} at {moment}, kept {kept}")
            except AssertionError as failure:
                return str(failure)
    return ""


@pytest.mark.parametrize("forgets", FLUSHES)
def test_without_a_flush_the_promise_breaks(forgets: Callable[[str, str], bool], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    assert broken(forgets, "with edits", tmp_path / "state")


def test_with_all_of_them_it_holds(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    assert broken(none, "with edits", tmp_path / "state", each=10) == ""
