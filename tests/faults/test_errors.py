"""The system fails a call, with each of seven errors: that is told with a code, everything stands as before,
and once the fault is over the same command succeeds."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from gsdlock.store.filesystem_decorators import Faulty

from .kit import FOLLOW, FULL, SCENES, SEED, Report, Scene, Unflushed, chosen, play

ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EMFILE", "EXDEV", "EINTR")
EVERY_KIND = ("first install", "upgrade", "with edits")
"""Scenes in which each kind of error comes at each call; in the others each call gets one, in turn."""
CODE = re.compile(r"gsdlock: (E-[A-Z]+-[A-Z-]+): ")


@pytest.fixture(scope="module", params=SCENES)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return play(request.param, tmp_path_factory.mktemp("scene"))


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_at_any_call_is_told_and_everything_stands_as_before(
    scene: Scene, kind: str, report: Report
) -> None:
    machine, counting = scene.machine, Faulty(Unflushed(), at=0)
    machine.again()
    machine.here(*scene.words, fs=counting)
    total, failures, told = counting.calls, list[str](), 0
    turn = ERRORS.index(kind)
    points = [
        point for point in range(1, total + 1) if scene.name in EVERY_KIND or point % len(ERRORS) == turn
    ]
    points = chosen(points, 5, f"{kind}/{scene.name}")
    for point in points:
        try:
            told += failing(scene, point, total, kind)
        except AssertionError as failure:
            failures.append(str(failure))
    report(f"{kind} at a call", f"{scene.name} (of {total})", len(points), len(failures))
    assert not failures, f"{len(failures)} of {len(points)}:\n" + "\n".join(failures[:5])
    assert told or len(points) < total // 2


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
    scene.promise(where, here=True)
    return ended.status != 0


def files(found: dict[str, Any]) -> dict[str, Any]:
    """The files and links of a tree, but for those in staging folders."""
    return {p: what for p, what in found.items() if what[0][:4] != "0o40" and "/.gsdlock-" not in p}


# -- a disk that is really full --------------------------------------------------------------------------


def not_mountable(folder: Path) -> str:
    """Why no small file system can be mounted here; empty where it can."""
    if shutil.which("unshare") is None:
        return "there is no unshare here"
    script = 'mount -t tmpfs -o size=64k tmpfs "$0"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, str(folder)],
        capture_output=True,
        check=False,
    )
    return "" if done.returncode == 0 else "no file system may be mounted here"


def test_a_disk_that_is_full(tmp_path: Path, report: Report) -> None:
    """In a mount of its own, which goes with the process: see `full_disk`."""
    reason = not_mountable(tmp_path)
    if reason:
        pytest.skip(reason)
    script = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$0" && exec "$@"'
    words = [sys.executable, "-m", f"{__package__}.full_disk", str(tmp_path)]
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, str(tmp_path), *words]
    above = Path(__file__).parents[len(str(__package__).split("."))]
    path = os.pathsep.join([str(above), *filter(None, sys.path)])
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": path, "GSDLOCK_SEED": SEED, "GSDLOCK_FULL": "1" if FULL else ""},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for line in done.stdout.splitlines():
        name, points, failures = line.rsplit(" ", 2)
        report("a full disk", name, int(points), int(failures))
    assert len(done.stdout.splitlines()) == len(FULL_SCENES), done.stdout


FULL_SCENES = ("first install", "upgrade", "uninstall", "with edits")


def test_really_out_of_handles(scene: Scene, report: Report) -> None:
    """With a limit of so many open files, whatever opens them."""
    limits = chosen(range(4, 40), 4, f"handles/{scene.name}")
    ended_well = 0
    for limit in limits:
        scene.machine.again()
        ended = scene.machine.run(*scene.words, first=partial(limit_handles, limit))
        where = f"{scene.name} with {limit} handles"
        assert ended.status == 0 or CODE.search(ended.text), f"{where}: {ended}"
        assert "E-FAULT" not in ended.text, f"{where}: {ended.text}"
        ended_well += ended.status == 0
        scene.promise(where)
    report("with few handles", scene.name, len(limits), 0)
    assert ended_well < len(limits) or len(limits) < 36


def limit_handles(most: int) -> None:
    """This process may have only so many files open."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def test_what_follows_is_the_same_command(scene: Scene) -> None:
    """The promise runs a following apply; it is not one that would succeed whatever stands there."""
    scene.machine.again()
    assert "--locked" in FOLLOW
    (scene.machine.project / "gsdlock.lock").unlink()
    assert scene.machine.here(*FOLLOW).status == 3
