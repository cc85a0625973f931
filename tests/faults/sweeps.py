"""A fault at each point of a scene, and the promise after it: a kill, or an error. Run in a process apart.

Each sweep gives how many points there are, how many were tried, and what went wrong at which.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from gsdlock.store.filesystem_decorators import Faulty

from . import tracing
from .children import Ended, Unflushed
from .dying import Audit, die
from .hosts import CLAUDE, HOSTS
from .points import chosen
from .scenes import FOLLOW, Scene, play

CODE = re.compile(r"gsdlock: (E-[A-Z]+-[A-Z-]+): ")
_FEWER = 10  # changing system calls: what the note takes that is not made at the first look


ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EMFILE", "EXDEV", "EINTR")


@dataclass(frozen=True)
class Swept:
    """What came of a sweep. `ended`: at how many points all was old, or all was new, afterwards (of errors:
    at how many it was told, or could be done without)."""

    total: int
    tried: int
    failures: tuple[str, ...]
    ended: tuple[int, int]


@cache
def scene_of(name: str, stage: Path) -> Scene:
    """A scene, played once in this process."""
    folder = stage / name.replace(": ", "-").replace(" ", "-")
    folder.mkdir()
    return play(name, folder)


def points_of(name: str, total: int, most: int, key: str, each: int, turn: int = 0) -> list[int]:
    """The points of a scene that are tried: in a full run all of them; on third-party hosts, where the code
    is the same, each so many, and on each host other ones. `turn` is where to begin."""
    host = name.rpartition(": ")[0]
    step = each if host else 1
    first = 1 + (turn + list(HOSTS).index(host or CLAUDE.name)) % step
    return chosen(range(first, total + 1, step), most, f"{key}/{name}")


# -- kills -----------------------------------------------------------------------------------------------

Kill = tuple[int, Callable[[int], Ended]]
"""How many points there are, and a run that is killed before one of them."""


def before_a_call(scene: Scene) -> Kill:
    """Before the n-th call of the store's one interface to the disk; half of a file may have been written."""
    machine, counting = scene.machine, Faulty(Unflushed(), at=0)
    machine.again()
    machine.run(*scene.words, fs=counting, last=lambda: counting.calls)

    def at(point: int) -> Ended:
        return machine.run(*scene.words, fs=Faulty(Unflushed(), point, instead=die, torn=True))

    return int(machine.told), at


def before_an_event(scene: Scene) -> Kill:
    """Before the n-th audit event, which sees what does not go through the interface, too: the ledger, the
    lock, the lockfile."""
    machine, counting = scene.machine, Audit(0)
    machine.again()
    machine.run(*scene.words, first=counting.begin, last=lambda: counting.seen)

    def at(point: int) -> Ended:
        return machine.run(*scene.words, first=Audit(point).begin)

    return int(machine.told), at


def before_a_system_call(scene: Scene) -> Kill:
    """Before the n-th system call that changes anything, counted by the kernel."""
    machine, counts = scene.machine, list[int]()
    machine.again()
    machine.run(*scene.words, first=tracing.be_traced, wait=tracing.watching(0, counts))

    def at(point: int) -> Ended:
        return machine.run(*scene.words, first=tracing.be_traced, wait=tracing.watching(point, []))

    return counts[0], at


KILLS: dict[str, tuple[Callable[[Scene], Kill], int, int]] = {
    "a call of the interface": (before_a_call, 12, 8),
    "an audit event": (before_an_event, 6, 8),
    "a system call": (before_a_system_call, 6, 8),
}
"""What a process is killed before; how many points are chosen in a run that is not full; and in one that is,
of how many points one is tried on third-party hosts."""


def killed(name: str, before: str, stage: Path) -> Swept:
    """Die at each chosen point of a scene, and check the promise after it.

    A run may make a few calls less than the one that was counted: at its end it waits until its files are old
    enough for a note, and looks again. Where it came to its end before the point, there was nothing to kill.
    """
    scene = scene_of(name, stage)
    begin, most, each = KILLS[before]
    total, at = begin(scene)
    failures: list[str] = []
    missed = 0
    ended = [0, 0]
    points = points_of(name, total, most, before, each)
    for point in points:
        scene.machine.again()
        try:
            by = at(point)
            if not by.killed and by.status == 0 and point > total - _FEWER:
                missed += 1
                continue
            assert by.killed, f"point {point} of {total} did not come: {by}"
            ended[scene.kept(f"{name}, killed at {point} of {total}")] += 1
        except AssertionError as failure:
            failures.append(str(failure))
    return Swept(total, len(points) - missed, tuple(failures), (ended[0], ended[1]))


# -- errors ----------------------------------------------------------------------------------------------


def failed(name: str, kind: str, most: int, stage: Path) -> Swept:
    """The system fails each chosen call of the interface, with this kind of error, and goes on well. On
    third-party hosts every fourth call fails with one kind, in turn."""
    scene = scene_of(name, stage)
    counting = Faulty(Unflushed(), at=0)
    scene.machine.again()
    scene.machine.here(*scene.words, fs=counting)
    total, failures, ended = counting.calls, list[str](), [0, 0]
    points = points_of(name, total, most, kind, 4 * len(ERRORS), 4 * ERRORS.index(kind))
    for point in points:
        try:
            ended[failing(scene, point, total, kind)] += 1
        except AssertionError as failure:
            failures.append(str(failure))
    return Swept(total, len(points), tuple(failures), (ended[1], ended[0]))


def failing(scene: Scene, point: int, total: int, kind: str) -> bool:
    """One error at one call; whether the command told of it (some it can do without)."""
    machine, fs = scene.machine, Faulty(Unflushed(), point, getattr(errno, kind))
    machine.again()
    ended = machine.here(*scene.words, fs=fs)
    where = f"{scene.name}, {kind} at {point} of {total} ({fs.failed})"
    if ended.status == 0:
        # Only cleaning up may be left to the next command.
        assert machine.current() == scene.new[1], f"{where}: said to be done, and is not"
        assert files(machine.tree()) == files(scene.new[0]), f"{where}: said to be done, and is not"
    else:
        assert ended.status in (3, 4, 5) and CODE.search(ended.text), f"{where}: {ended.text}"
        if machine.untouched():
            return True  # and what follows from there is known
    scene.kept(where)
    return ended.status != 0


def files(found: dict[str, Any]) -> dict[str, Any]:
    """The files and links of a tree, but for those in staging folders."""
    return {p: what for p, what in found.items() if what[0][:4] != "0o40" and "/.gsdlock-" not in p}


# -- few handles ----------------------------------------------------------------------------------------


def short_of_handles(name: str, stage: Path) -> tuple[int, int]:
    """How many limits were tried, and with how many of them the command succeeded."""
    scene = scene_of(name, stage)
    limits = [3 + limit for limit in points_of(name, 36, 4, "handles", 4)]
    ended_well = 0
    for limit in limits:
        scene.machine.again()
        ended = scene.machine.run(*scene.words, first=partial(limit_handles, limit))
        where = f"{name} with {limit} handles"
        assert ended.status == 0 or CODE.search(ended.text), f"{where}: {ended}"
        assert "E-FAULT" not in ended.text, f"{where}: {ended.text}"
        ended_well += ended.status == 0
        scene.promise(where)
    return len(limits), ended_well


def limit_handles(most: int) -> None:
    """This process may have only so many files open."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def without_a_lock(stage: Path) -> int | None:
    """The exit status of the following apply where the lock is gone."""
    scene = scene_of("upgrade", stage)
    scene.machine.again()
    (scene.machine.project / "gsdlock.lock").unlink()
    return scene.machine.here(*FOLLOW).status
