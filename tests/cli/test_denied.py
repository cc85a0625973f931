"""What may not be read is told as that, and never as damage that something would put right."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import COMMAND, Machine

# Root may read everything; without its capabilities it is a user like any other, who owns its files.
POWERLESS = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []
pytestmark = pytest.mark.skipif(
    bool(POWERLESS) and shutil.which("setpriv") is None, reason="root may read everything"
)

PLACES = [
    "",
    "ledger.sqlite",
    "targets/claude@default",
    "targets/claude@default/current",
    "targets/claude@default/generations/1.json",
    "targets/claude@default/generations/2.json",
    "locks",
    "unchanged",
    "transactions",
    "blob",
]


@pytest.fixture
def denied(starter: Machine, request: pytest.FixtureRequest) -> Iterator[Path]:
    """One place of ours with two generations in the records, which may be neither read nor written."""
    starter.ok("apply", "--allow", "high")
    starter.ok("uninstall", "--allow", "high")
    starter.ok("apply", "--allow", "high")
    path = starter.state / request.param
    if request.param == "blob":
        path = next(p for p in (starter.home / ".local/share/gsdlock/blobs/sha256").rglob("*") if p.is_file())
    mode = path.stat().st_mode
    path.chmod(0)
    yield path
    path.chmod(mode)


def run(machine: Machine, *words: str) -> str:
    """What it says to a user without special rights."""
    done = subprocess.run(
        [*POWERLESS, COMMAND, "--no-progress", *words],
        cwd=machine.project,
        env=machine.env(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode != 70, done.stderr
    return done.stdout + done.stderr


def records(machine: Machine) -> dict[str, tuple[int, bytes | str]]:
    """All of the state folder but for what a command, or sqlite, notes of itself."""
    rows = machine.tree(machine.state)
    return {name: row for name, row in rows.items() if not name.startswith(("lock.", "ledger.sqlite-"))}


@pytest.mark.parametrize("denied", PLACES, indirect=True)
def test_it_is_told_and_nothing_is_put_right(starter: Machine, denied: Path) -> None:
    before = records(starter), starter.tree(starter.home)
    for words in (["doctor"], ["doctor", "--repair"]):
        said = run(starter, *words)
        assert str(denied) in said and ("Permission" in said or "unable to open" in said), said
        assert "Mend the permissions" in said or "Give yourself the right" in said, said
        assert "backup" not in said and "puts it right" not in said and "is damaged" not in said
    for words in (["log"], ["history"], ["status"], ["log", "--json"]):
        said = run(starter, *words)
        assert "DAMAGED" not in said and "CORRUPT" not in said, said
    assert (records(starter), starter.tree(starter.home)) == before


def test_a_state_folder_that_is_only_read(starter: Machine) -> None:
    """sqlite cannot read without writing beside the file: that is told, and the rest is read."""
    starter.ok("apply", "--allow", "high")
    ledger = starter.state / "ledger.sqlite"
    modes = {path: path.stat().st_mode for path in (ledger, starter.state)}
    ledger.chmod(0o400)
    starter.state.chmod(0o500)
    try:
        for verb in ("log", "doctor"):
            said = run(starter, verb)
            assert "DAMAGED" not in said and "puts it right" not in said, said
            assert "Give yourself the right" in said or verb == "log", said
        for verb in ("history", "status", "diff", "verify", "apply"):
            assert "E-" not in run(starter, verb)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
