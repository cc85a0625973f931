"""One process at a time, with the system's own lock and with the library's, which keep each other out."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest
from gsdlock.store import locking
from gsdlock.store.locking import HeldError, locked

_HOLD = """
import sys, time
from gsdlock.store.locking import locked
with locked(sys.argv[1], 10):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(params=["flock", "library"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(locking, "HAS_FLOCK", request.param == "flock")
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


@pytest.fixture
def holder(path: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", _HOLD, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_lock_is_taken_given_back_and_taken_again(way: str, path: str) -> None:
    for _ in range(2):
        with locked(path, 0):
            assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.path.exists(path)  # those who wait have it open


def test_who_holds_it_keeps_others_out(way: str, path: str, holder: subprocess.Popen[bytes]) -> None:
    for wait in (0, 0.05):
        with pytest.raises(HeldError), locked(path, wait):
            pytest.fail("two hold the lock")


def test_the_lock_of_a_dead_process_is_free(way: str, path: str, holder: subprocess.Popen[bytes]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with locked(path, 10):
        pass


def test_the_library_and_the_system_keep_each_other_out(path: str) -> None:
    with locked(path, 0):
        assert locking.HAS_FLOCK
        with pytest.raises(filelock.Timeout):
            filelock.FileLock(path, timeout=0).acquire()
    with filelock.FileLock(path), pytest.raises(HeldError), locked(path, 0):
        pytest.fail("two hold the lock")


def test_an_error_inside_gives_it_back(way: str, path: str) -> None:
    with pytest.raises(ZeroDivisionError), locked(path, 0):
        raise ZeroDivisionError
    with locked(path, 0):
        pass


def test_a_file_system_without_locks_is_left_to_the_library(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = locking.fcntl.flock

    def refuse_once(descriptor: int, how: int) -> None:
        monkeypatch.setattr(locking.fcntl, "flock", real)
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(locking.fcntl, "flock", refuse_once)
    before = set(os.listdir("/proc/self/fd"))
    with locked(path, 0), pytest.raises(filelock.Timeout):
        filelock.FileLock(path, timeout=0).acquire()
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_link_in_its_place_is_not_followed(path: str, tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), locked(path, 0):
        pytest.fail("a link was followed")
    assert not (tmp_path / "elsewhere").exists()


def test_no_descriptor_is_left_open(path: str, holder: subprocess.Popen[bytes]) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(HeldError), locked(path, 0):
        pytest.fail("two hold the lock")
    assert set(os.listdir("/proc/self/fd")) == before
