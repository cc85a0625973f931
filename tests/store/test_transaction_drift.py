"""Files of the user's, and files of ours that the user changed: nothing of theirs is lost."""

from __future__ import annotations

import stat
from typing import Any

import pytest
from gsdlock.store.choices import PreflightError
from gsdlock.store.records import Kept
from gsdlock.store.restore import going_back

A, B = "skills/a/SKILL.md", "skills/b/SKILL.md"
SCRIPT = ("#!/bin/sh\n", 0o755)


def ops(result: Any) -> dict[str, str]:
    return {o.item.key: o.item.op.value for o in result.outcomes}


def test_a_file_of_the_users_is_a_collision_until_they_say_adopt(world: Any) -> None:
    path = world.root / A
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    path.chmod(0o600)
    start = world.tree()
    assert world.problems(world.wanted({A: "A"})) == ["E-COLLISION"]
    result = world.apply(world.wanted({A: "A"}), adopt=[f"config:{A}"])
    assert ops(result) == {f"config:{A}": "adopt"}
    assert path.read_text() == "A"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert result.kept == (str(path),)
    world.apply(world.wanted({A: "AA"}))
    world.apply(None)
    assert world.tree() == start


def test_an_equal_file_is_taken_over_silently_and_stays_when_we_leave(world: Any) -> None:
    path = world.root / A
    path.parent.mkdir(parents=True)
    path.write_text("A")
    start, inode = world.tree(), path.stat().st_ino
    result = world.apply(world.wanted({A: "A"}))
    assert ops(result) == {f"config:{A}": "keep"}
    assert path.stat().st_ino == inode
    world.apply(world.wanted({A: "AA"}))
    assert path.read_text() == "AA"
    world.apply(None)
    assert world.tree() == start


def test_a_foreign_file_is_left_alone_with_theirs_for_as_long_as_they_like(world: Any) -> None:
    path = world.root / A
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    start = world.tree()
    result = world.apply(world.wanted({A: "A"}), theirs=[str(path)])
    assert ops(result) == {f"config:{A}": "hold-back"}
    assert world.apply(world.wanted({A: "A"})).generations == {}
    path.write_text("mine, newer")
    assert ops(world.apply(world.wanted({A: "AA"}))) == {f"config:{A}": "hold-back"}
    result = world.apply(world.wanted({A: "AA"}), ours=["*"])
    assert path.read_text() == "AA"
    world.apply(None)
    assert path.read_text() == "mine, newer"
    assert world.tree().keys() == start.keys()


def test_an_edited_file_of_ours_stops_everything_with_a_diff(world: Any) -> None:
    world.apply(world.wanted({A: "one\ntwo\n", B: "1"}))
    (world.root / A).write_text("one\nmy own\ntwo\n")
    with pytest.raises(PreflightError) as caught:
        world.apply(world.wanted({A: "one\ntwo\nthree\n", B: "2"}))
    problem = caught.value.problems[0]
    assert (problem.code, problem.key) == ("E-DRIFT", f"config:{A}")
    assert "+my own" in problem.lines
    assert "edited" in caught.value.what
    assert (world.root / B).read_text() == "1"


def test_all_drift_is_reported_at_once_in_the_order_of_the_plan(world: Any) -> None:
    world.apply(world.wanted({A: "1", B: "1", "c.md": "1", "d.sh": SCRIPT}))
    (world.root / A).write_text("mine")
    (world.root / B).unlink()
    (world.root / "d.sh").chmod(0o644)
    assert world.problems(world.wanted({A: "2", B: "2", "c.md": "2", "d.sh": SCRIPT})) == ["E-DRIFT"] * 3


def test_ours_replaces_and_their_version_is_in_the_store(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    (world.root / A).write_text("mine")
    result = world.apply(world.wanted({A: "2"}), ours=[f"config:{A}"])
    assert (world.root / A).read_text() == "2"
    kept = world.current().displaced[str(world.root / A)]
    assert world.store.blobs.get(kept.digest) == b"mine"
    assert result.outcomes[0].item.risk.value == "high"
    world.apply(None)
    assert world.tree() == {}


def test_going_back_brings_back_what_the_last_transaction_displaced(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    (world.root / A).write_text("mine")
    edited = world.tree()
    world.apply(world.wanted({A: "2"}), ours=["*"])
    world.apply(going_back(world.store, "host@default", 1))
    assert world.tree() == edited
    assert world.problems(world.wanted({A: "2"})) == ["E-DRIFT"]


def test_theirs_keeps_the_edited_file_over_upgrades_and_when_we_leave(world: Any) -> None:
    world.apply(world.wanted({A: "1", B: "1"}))
    (world.root / A).write_text("mine")
    world.apply(world.wanted({A: "2", B: "2"}), theirs=[str(world.root / "skills")])
    world.apply(world.wanted({A: "3", B: "3"}))
    assert ((world.root / A).read_text(), (world.root / B).read_text()) == ("mine", "3")
    world.apply(None)
    assert (world.root / A).read_text() == "mine"
    assert not (world.root / B).exists()


def test_a_deleted_file_is_put_back_only_when_asked(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    (world.root / A).unlink()
    assert world.problems(world.wanted({A: "1"})) == ["E-DRIFT"]
    world.apply(world.wanted({A: "1"}), ours=["*"])
    assert (world.root / A).read_text() == "1"


def test_a_deleted_file_stays_away_with_theirs(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    (world.root / A).unlink()
    world.apply(world.wanted({A: "1"}), theirs=["*"])
    assert world.apply(world.wanted({A: "2"})).generations == {"host@default": 3}
    assert not (world.root / A).exists()


def test_an_edited_file_that_the_plan_drops_is_left_with_the_user(world: Any) -> None:
    world.apply(world.wanted({A: "1", B: "1"}))
    (world.root / A).write_text("mine")
    result = world.apply(world.wanted({B: "1"}))
    assert (world.root / A).read_text() == "mine"
    item = next(o.item for o in result.outcomes if o.item.key == f"config:{A}")
    assert "left with you" in item.description
    world.apply(None)
    assert (world.root / A).read_text() == "mine"


def test_leaving_with_ours_removes_edited_files_and_keeps_them_in_the_store(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    (world.root / A).write_text("mine")
    world.apply(None, ours=["*"])
    assert world.tree() == {}
    assert world.current().displaced == {str(world.root / A): Kept(world.store.blobs.put(b"mine"), 0o644)}


def test_who_may_read_a_file_is_the_users_business(world: Any) -> None:
    world.apply(world.wanted({A: "1", "x.sh": SCRIPT}))
    (world.root / A).chmod(0o600)
    (world.root / "x.sh").chmod(0o700)
    assert world.apply(world.wanted({A: "1", "x.sh": SCRIPT})).generations == {}
    world.apply(world.wanted({A: "2", "x.sh": ("#!/bin/sh\n2", 0o755)}))
    modes = [stat.S_IMODE((world.root / p).stat().st_mode) for p in (A, "x.sh")]
    assert modes == [0o600, 0o700]
