"""Where nobody reads, or nothing can be written: what was done is done, and its status is what it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from .conftest import COMMAND, Machine

SHELL = shutil.which("bash") or "bash"


def shell(machine: Machine, line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash with `$G` for the command; the status is that of the first of a pipe."""
    script = f"{line}\nexit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        [SHELL, "-c", script],
        cwd=machine.project,
        env={**machine.env(), "G": COMMAND},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def drifted(starter: Machine) -> Machine:
    starter.ok("resolve")
    starter.ok("apply", "--allow", "high")
    skill = starter.home / ".claude/skills/gsdlock/SKILL.md"
    skill.write_text(skill.read_text() + "mine")
    return starter


@pytest.mark.parametrize("verb", ["verify", "status --exit-code", "diff --exit-code", "verify --json"])
@pytest.mark.parametrize("to", [">&-", "> /dev/full", "| true", "2>&-", "2> /dev/full"])
def test_a_verb_ends_as_it_would_before_a_reader(drifted: Machine, verb: str, to: str) -> None:
    ran = shell(drifted, f'"$G" {verb} {to}')
    assert ran.returncode == 1, ran.stderr
    assert "Exception ignored" not in ran.stderr and "E-FAULT" not in ran.stderr + ran.stdout


@pytest.mark.parametrize("to", ["2>&-", "2> /dev/full", ">&-", "> /dev/full"])
def test_progress_that_nobody_sees_ends_nothing(starter: Machine, to: str) -> None:
    assert shell(starter, f'"$G" apply --allow high {to}').returncode == 0
    assert (starter.home / ".claude/skills/gsdlock/SKILL.md").exists()


def test_a_full_disk_behind_the_output_is_told(drifted: Machine) -> None:
    assert "standard output: No space left" in shell(drifted, '"$G" verify > /dev/full').stderr


def test_what_belongs_on_standard_error_never_lands_in_the_output(starter: Machine) -> None:
    assert shell(starter, '(exec 2>&-; "$G" nonsense) | cat').stdout == ""


@pytest.mark.parametrize(
    "words",
    ["status --manifest .", "status --lock .", "apply --plan .", "diff . @lock", "resolve --lock ."],
)
def test_a_folder_where_a_file_is_meant_is_named(starter: Machine, words: str) -> None:
    starter.ok("resolve")
    ran = starter.run(*words.split())
    assert ran.status == 3 and "E-FILE-READ" in ran.err, ran.err


def test_gc_forgets_generations_of_the_targets_that_are_named_alone(machine: Machine) -> None:
    scopes = "".join(f'[targets.{host}]\nscope = "global"\n' for host in ("claude", "codex"))
    machine.manifest(f'[packs.starter]\nbuiltin = "starter"\n{scopes}')
    for verb in ("apply", "uninstall", "apply"):
        machine.ok(verb, "--allow", "high")
    assert len(machine.ok("gc", "--keep", "1", "--target", "claude", "--json").data["generations"]) == 2
    left = machine.ok("history", "--json").data["generations"]
    assert [g["number"] for g in left if g["target"] == "claude"] == [3]
    assert [g["number"] for g in left if g["target"] == "codex"] == [1, 2, 3]


def test_names_are_utf_8_in_every_locale(machine: Machine) -> None:
    pack = machine.project / "pack/skills/s"
    pack.mkdir(parents=True)
    (pack / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\nx\n")
    (pack / "ünï.md").write_text("x")
    machine.manifest('[packs.own]\npath = "./pack"\n[targets.claude]\nscope = "local"\n')
    machine.ok("resolve")
    lock = (machine.project / "gsdlock.lock").read_bytes()
    machine.variables |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    machine.ok("resolve", "--check")
    machine.ok("apply", "--allow", "high")
    assert (machine.project / "gsdlock.lock").read_bytes() == lock
    assert "ünï.md".encode() in os.listdir(os.fsencode(machine.project / ".claude/skills/s"))


def test_a_command_that_is_printed_can_be_pasted(machine: Machine) -> None:
    pack = machine.project / "k/skills/s"
    pack.mkdir(parents=True)
    (pack / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\nx\n")
    name = "a $(touch pwned).md"
    (pack / name).write_text("x")
    machine.manifest('[packs.own]\npath = "./k"\n[targets.claude]\nscope = "local"\n')
    machine.ok("apply", "--allow", "high")
    file = machine.project / ".claude/skills/s" / name
    file.write_text("mine")
    ran = machine.ok("apply", "--ours", "--allow", "high")
    (command,) = [line.split("gsdlock ")[1] for line in ran.out.splitlines() if "is kept" in line]
    assert shell(machine, f'"$G" {command} --allow high').returncode == 0
    assert file.read_text() == "mine" and not (machine.project / "pwned").exists()


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("cli.carrying._Receipts.plan", "nothing is left half done"),
        ("store.transaction._idle", "nothing is left half done"),
        ("cli.carrying._Receipts.outcomes", "all that was to be done is done"),
    ],
)
def test_an_interruption_says_what_is_true(starter: Machine, place: str, says: str) -> None:
    """Once all is installed nothing is undone any more; the next command completes the receipts."""
    starter.ok("resolve")
    program = (
        "import gsdlock.cli.carrying, gsdlock.store.transaction\n"
        "def stop(*words): raise KeyboardInterrupt\n"
        f"gsdlock.{place} = stop\n"
        "from gsdlock.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "apply", "--allow", "high"],
        cwd=starter.project,
        env=starter.env(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 130 and f"interrupted; {says}" in done.stderr, done.stderr
    is_there = not place.endswith(".plan")
    assert (starter.home / ".claude/skills/gsdlock/SKILL.md").exists() == is_there
    starter.ok("status")
    starter.ok("apply", "--allow", "high")
    events = starter.ok("log", "--json").data["events"]
    assert [e["kind"] for e in events][:2] == ["plan", "outcomes"]
    assert {outcome for _, _, outcome in events[1]["payload"]["outcomes"]} == {"done"}
