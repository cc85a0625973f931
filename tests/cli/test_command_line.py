"""The command line itself: verbs, options, errors, exit statuses."""

from __future__ import annotations

import pytest
from gsdlock import __version__
from gsdlock.cli.verbs import VERBS

from .conftest import Machine


def test_the_version(machine: Machine) -> None:
    assert machine.ok("--version").out == f"gsdlock {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(machine: Machine, verb: str) -> None:
    text = machine.ok(verb, "--help").out
    assert f"example: gsdlock {verb}" in text
    assert "--json" in text and "--target" in text


def test_help_lists_every_verb(machine: Machine) -> None:
    text = machine.ok("--help").out
    assert all(f"  {verb} " in text for verb in VERBS)


USAGE = [
    ([], "a verb is missing"),
    (["aply"], "did you mean apply"),
    (["apply", "--alow", "high"], "--alow"),
    (["apply", "--allow", "huge"], "huge"),
    (["--bogus", "status"], "--bogus"),
    (["--bogus"], "--bogus"),
]


@pytest.mark.parametrize(("words", "says"), USAGE, ids=[" ".join(u[0]) or "nothing" for u in USAGE])
def test_wrong_usage_is_status_2_and_says_what(machine: Machine, words: list[str], says: str) -> None:
    ran = machine.run(*words)
    assert ran.status == 2
    assert "E-USAGE" in ran.err and says in ran.err
    assert ran.out == ""


def test_global_options_work_before_and_after_the_verb(starter: Machine) -> None:
    assert starter.ok("--json", "resolve").data["verb"] == "resolve"
    assert starter.ok("resolve", "--json").data["verb"] == "resolve"
    lock = starter.root / "other.lock"
    starter.ok("--lock", str(lock), "resolve")
    assert lock.exists()


def test_an_error_as_data(machine: Machine) -> None:
    ran = machine.run("resolve", "--json")
    assert ran.status == 3
    assert ran.data["error"]["code"] == "E-MANIFEST-MISSING"
    assert ran.data["error"]["fix"]


def test_quiet_prints_errors_only(starter: Machine) -> None:
    assert starter.ok("resolve", "-q").out == ""
    starter.manifest("nonsense = ")
    assert "E-MANIFEST-SYNTAX" in starter.run("resolve", "-q").err


def test_without_a_home_the_error_names_it(machine: Machine) -> None:
    machine.variables["HOME"] = ""
    ran = machine.run("status")
    assert ran.status == 3 and "HOME" in ran.err
    machine.variables["HOME"] = "relative"
    assert "E-HOME-UNSET" in machine.run("status").err


def test_gsdlock_home_moves_everything_of_ours(starter: Machine) -> None:
    own = starter.root / "own"
    starter.variables["GSDLOCK_HOME"] = str(own)
    starter.ok("resolve")
    starter.ok("apply", "--allow", "high")
    assert (own / "state").is_dir() and (own / "data").is_dir()
    assert not (starter.home / ".local").exists() and not (starter.home / ".cache").exists()
    starter.variables["GSDLOCK_HOME"] = "relative"
    assert "E-HOME-RELATIVE" in starter.run("status").err


def test_unknown_target_names_are_refused(starter: Machine) -> None:
    starter.ok("resolve")
    ran = starter.run("apply", "--target", "cloude", "--allow", "high")
    assert ran.status == 3 and "did you mean claude" in ran.err


@pytest.mark.parametrize("name", ["gsdlock.toml", "gsdlock.lock"])
def test_a_fifo_in_the_place_of_a_file_does_not_hang(starter: Machine, name: str) -> None:
    import os

    (starter.project / name).unlink(missing_ok=True)
    os.mkfifo(starter.project / name)
    ran = starter.run("resolve")
    assert ran.status == 3 and "E-FILE-READ" in ran.err
