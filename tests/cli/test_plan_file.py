"""`apply --plan-out` and `apply --plan`: what was looked at is what is done, or nothing is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Machine, PackMaker
from .test_apply import claude

SKILL = ".claude/skills/greet/SKILL.md"


@pytest.fixture
def planned(machine: Machine, make_pack: PackMaker) -> Path:
    """A machine with a plan of its first apply; the file."""
    claude(machine, make_pack())
    machine.ok("resolve")
    ran = machine.ok("apply", "--plan-out", "plan.json")
    assert "wrote the plan to plan.json" in ran.out and "nothing was done" in ran.out
    assert not (machine.home / ".claude").exists() and not machine.state.exists()
    return machine.project / "plan.json"


def test_a_plan_is_carried_out_as_it_was_shown(machine: Machine, planned: Path) -> None:
    machine.ok("apply", "--plan", str(planned), "--allow", "high")
    assert (machine.home / SKILL).exists()
    assert "nothing to do" in machine.ok("apply", "--plan", str(planned)).out, "it is done already"


def test_it_is_asked_about_as_any(machine: Machine, planned: Path) -> None:
    assert "E-ASK-UNRESOLVED" in machine.run("apply", "--plan", str(planned)).err


def moved_by_the_user(machine: Machine, make_pack: PackMaker) -> None:
    (machine.home / SKILL).parent.mkdir(parents=True)
    (machine.home / SKILL).write_text("mine")


def moved_by_a_resolve(machine: Machine, make_pack: PackMaker) -> None:
    make_pack("2.0.0")
    machine.ok("resolve")


@pytest.mark.parametrize(
    ("move", "code"), [(moved_by_the_user, "E-COLLISION"), (moved_by_a_resolve, "E-PLAN-FILE-MOVED")]
)
def test_what_has_moved_since_is_not_carried_out(
    machine: Machine, make_pack: PackMaker, planned: Path, move: Callable[..., None], code: str
) -> None:
    move(machine, make_pack)
    before = machine.tree()
    ran = machine.run("apply", "--plan", str(planned), "--allow", "high")
    assert ran.status == 4 and code in ran.err
    assert machine.tree() == before


def test_a_file_that_changed_between_is_named(machine: Machine, make_pack: PackMaker, planned: Path) -> None:
    machine.ok("apply", "--allow", "high")
    (machine.home / SKILL).write_text("edited")
    machine.ok("apply", "--ours", "--plan-out", "second.json")
    (machine.home / SKILL).write_text("edited again")
    ran = machine.run("apply", "--plan", "second.json", "--allow", "high")
    assert ran.status == 4 and "E-PLAN-FILE-MOVED" in ran.err and "config:skills/greet/SKILL.md" in ran.err
    assert (machine.home / SKILL).read_text() == "edited again"
    (machine.home / SKILL).write_text("edited")
    machine.ok("apply", "--plan", "second.json", "--allow", "high")
    assert "edited" not in (machine.home / SKILL).read_text(), "--ours is part of the plan"


def test_what_the_plan_settles_is_not_said_again(machine: Machine, planned: Path) -> None:
    for words in (["--ours"], ["--no-edits"], ["--target", "claude"]):
        ran = machine.run("apply", "--plan", str(planned), *words)
        assert ran.status == 2 and words[0] in ran.err


@pytest.mark.parametrize("damage", [b"", b"{}", b"{}\n", b"[1]\nsha256:0\n"])
def test_a_damaged_file_is_refused(machine: Machine, planned: Path, damage: bytes) -> None:
    whole = planned.read_bytes()
    for data in (damage, whole[:-2], whole.replace(b"create", b"remove", 1)):
        planned.write_bytes(data)
        ran = machine.run("apply", "--plan", str(planned), "--allow", "high")
        assert ran.status == 3 and "E-PLAN-FILE" in ran.err


def test_a_file_that_is_not_there_is_told(machine: Machine, planned: Path) -> None:
    ran = machine.run("apply", "--plan", "nowhere.json")
    assert ran.status == 3 and "nowhere.json" in ran.err
