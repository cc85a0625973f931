"""The process is killed before a file-system call, at every one: all is old or all is new.

Three ways to die, from the outside in: before the n-th call of the store's one interface to the disk; before
the n-th event that Python's audit hooks report (which sees what does not go through that interface, too: the
ledger, the lock, the lockfile); and before the n-th system call that changes anything, counted by the kernel.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.store.filesystem_decorators import Faulty

from . import tracing
from .kit import SCENES, Ended, Report, Scene, Unflushed, chosen, play


def die() -> None:
    """The end, without any chance to clean up."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module", params=SCENES)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return play(request.param, tmp_path_factory.mktemp("scene"))


_FEWER = 10  # changing system calls: what the note takes that is not made at the first look


def every(
    scene: Scene, table: str, total: int, most: int, at: Callable[[int], Ended], report: Report
) -> None:
    """Die at each chosen point, and check the promise after it.

    A run may make a few calls less than the one that was counted: at its end it waits until its files are old
    enough for a note, and looks again. Where it came to its end before the point, there was nothing to kill.
    """
    failures: list[str] = []
    missed = 0
    ended = set()
    points = chosen(range(1, total + 1), most, f"{table}/{scene.name}")
    for point in points:
        scene.machine.again()
        try:
            ended_by = at(point)
            if not ended_by.killed and ended_by.status == 0 and point > total - _FEWER:
                missed += 1
                continue
            assert ended_by.killed, f"point {point} of {total} did not come: {ended_by}"
            ended.add(scene.promise(f"{scene.name}, killed at {point} of {total}"))
        except AssertionError as failure:
            failures.append(str(failure))
    report(table, f"{scene.name} (of {total})", len(points) - missed, len(failures))
    assert not failures, f"{len(failures)} of {len(points)}:\n" + "\n".join(failures[:5])
    assert len(points) < total or ended == {True, False}


def test_killed_before_any_call_of_the_interface(scene: Scene, report: Report) -> None:
    machine, counting = scene.machine, Faulty(Unflushed(), at=0)
    machine.again()
    machine.run(*scene.words, fs=counting, last=lambda: counting.calls)

    def at(point: int) -> Ended:
        return machine.run(*scene.words, fs=Faulty(Unflushed(), point, instead=die, torn=True))

    every(scene, "killed before a call of the interface", int(machine.told), 12, at, report)


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGING = frozenset(
    {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.link", "os.symlink", "os.chmod", "os.truncate"}
    | {"os.setxattr", "sqlite3.connect"}
)


class Audit:
    """Counts the audit events that tell of a change, and dies at number `at` (0: never)."""

    def __init__(self, at: int) -> None:
        self.seen = 0
        self._at = at

    def begin(self) -> None:
        """In the child: from here on."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGING or (event == "open" and arguments[2] & WRITING):
            self.seen += 1
            if self.seen == self._at:
                die()


def test_killed_before_any_event_of_the_interpreter(scene: Scene, report: Report) -> None:
    machine, counting = scene.machine, Audit(0)
    machine.again()
    machine.run(*scene.words, first=counting.begin, last=lambda: counting.seen)

    def at(point: int) -> Ended:
        return machine.run(*scene.words, first=Audit(point).begin)

    every(scene, "killed before an audit event", int(machine.told), 6, at, report)


@pytest.mark.skipif(bool(tracing.unavailable()), reason=tracing.unavailable())
def test_killed_before_any_system_call_that_changes_something(scene: Scene, report: Report) -> None:
    machine, counts = scene.machine, list[int]()
    machine.again()
    machine.run(*scene.words, first=tracing.be_traced, wait=tracing.watching(0, counts))

    def at(point: int) -> Ended:
        return machine.run(*scene.words, first=tracing.be_traced, wait=tracing.watching(point, []))

    every(scene, "killed before a system call", counts[0], 6, at, report)
