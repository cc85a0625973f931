"""The system fails a call, with each of seven errors: that is told with a code, everything stands as before,
and once the fault is over the same command succeeds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .apart import Apart
from .full_disk import SCENES as FULL_SCENES
from .points import FULL, SEED, Report
from .scenes import ALL_SCENES, FOLLOW
from .sweeps import ERRORS, failed, short_of_handles, without_a_lock

CHOSEN = 5
"""At so many calls each error comes to each scene in a run that is not full."""


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("name", ALL_SCENES)
def test_an_error_at_any_call_is_told_and_everything_stands_as_before(
    name: str, kind: str, apart: Apart, stage: Path, report: Report
) -> None:
    swept = apart(failed, name, kind, CHOSEN, stage)
    report(f"{kind} at a call", f"{name} (of {swept.total})", swept.tried, len(swept.failures))
    assert not swept.failures, f"{len(swept.failures)} of {swept.tried}:\n" + "\n".join(swept.failures[:5])
    assert swept.tried < swept.total or swept.ended[0], "some cannot be done without"


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


@pytest.mark.parametrize("name", ALL_SCENES)
def test_really_out_of_handles(name: str, apart: Apart, stage: Path, report: Report) -> None:
    """With a limit of so many open files, whatever opens them."""
    tried, well = apart(short_of_handles, name, stage)
    report("with few handles", name, tried, 0)
    assert well < tried or tried < 36


def test_what_follows_is_the_same_command(apart: Apart, stage: Path) -> None:
    """The promise runs a following apply; it is not one that would succeed whatever stands there."""
    assert "--locked" in FOLLOW
    assert apart(without_a_lock, stage) == 3
