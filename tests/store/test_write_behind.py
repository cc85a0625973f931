"""A flush that is started early: it never hides an error, and costs nothing where little is written."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from gsdlock.store import filesystem_posix
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.write_behind import WriteBehind

MUCH = b"x" * (4 << 20)


class Flushes:
    """Counts flushes; each waits until it may go on, and answers `answer`."""

    def __init__(self) -> None:
        self.count = 0
        self.answer = 0
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, descriptor: int) -> int:
        os.fstat(descriptor)  # raises where it is not open
        self.count += 1
        self.begun.set()
        self.may_end.wait()
        return self.answer


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    handle = os.open(tmp_path, os.O_RDONLY)
    yield handle
    os.close(handle)


def test_it_starts_when_enough_was_written_and_not_while_one_is_under_way(folder: int) -> None:
    flushes = Flushes()
    behind = WriteBehind(flushes)
    behind.wrote(1 << 20, folder)
    assert not flushes.begun.is_set()
    for _ in range(8):
        behind.wrote(1 << 20, folder)
    flushes.begun.wait()
    assert flushes.count == 1
    flushes.may_end.set()
    assert behind.settle() == 0
    behind.wrote(len(MUCH), folder)
    assert behind.settle() == 0
    assert flushes.count == 2


def test_an_error_is_told_once(folder: int) -> None:
    flushes = Flushes()
    flushes.answer = errno.EIO
    flushes.may_end.set()
    behind = WriteBehind(flushes)
    behind.wrote(len(MUCH), folder)
    assert behind.settle() == errno.EIO
    assert behind.settle() == 0


def test_the_flush_at_the_end_fails_for_what_was_lost_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, answers = filesystem_posix._flush_system, [errno.EIO]
    monkeypatch.setattr(
        filesystem_posix, "_flush_system", lambda handle: answers.pop() if answers else real(handle)
    )
    fs = RealFileSystem()
    handle = fs.open_root(str(tmp_path))
    fs.create(handle, "much", MUCH, 0o644)
    with pytest.raises(OSError) as fault:
        fs.flush_all(handle)
    assert fault.value.errno == errno.EIO
    assert fs.flush_all(handle)
    fs.close(handle)


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    fs = RealFileSystem()
    handle = fs.open_root(str(tmp_path))
    before = set(os.listdir("/proc/self/fd"))
    for name in "abc":
        fs.create(handle, name, MUCH, 0o644)
    assert fs.flush_all(handle)
    assert set(os.listdir("/proc/self/fd")) == before
    fs.close(handle)


def test_where_no_thread_can_be_had_nothing_is_lost(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    behind = WriteBehind(Flushes())
    before = set(os.listdir("/proc/self/fd"))
    behind.wrote(len(MUCH), folder)
    assert behind.settle() == 0
    assert set(os.listdir("/proc/self/fd")) == before
