"""What is held back by the user's word stays so for every verb, and what was ours in it is not forgotten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from gsdlock.store.items import Stays
from gsdlock.store.states import State, inspect
from gsdlock.store.wanted import wanted_from_generation

from .settings_file import MINE, hook, settings

WAYS = ["does not parse", "folder", "fifo", "link to nowhere", "link to a folder", "link to itself"]


def repair(world: Any) -> Any:
    """As the verb does it."""
    wanted = wanted_from_generation(world.current(), held=True)
    return world.apply(wanted, ours=["*"], keep_held=True)


def obstruct(path: Path, how: str) -> None:
    path.unlink()
    if how == "does not parse":
        path.write_text("{")
    elif how == "folder":
        path.mkdir()
    elif how == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to({"link to nowhere": "nowhere", "link to a folder": "/"}.get(how, path.name))


def clear(path: Path) -> None:
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("between", ["apply", "upgrade", "repair"])
@pytest.mark.parametrize("later", ["as it was", "with more of the user's"])
def test_a_file_that_could_not_be_read_for_a_while_is_left_without_a_trace(
    world: Any, how: str, between: str, later: str
) -> None:
    path = settings(world)
    wanted = world.wanted({"a.md": "A"}, [hook("x"), hook("y")])
    world.apply(wanted)
    good = path.read_text()
    obstruct(path, how)
    assert world.problems(wanted)
    world.apply(wanted, theirs=[str(path)])
    assert {e.state for e in inspect(world.store, world.current()).entries} == {State.HELD}
    if between == "upgrade":
        wanted = world.wanted({"a.md": "B"}, [hook("x"), hook("z")])
        world.apply(wanted)
    elif between == "repair":
        assert repair(world).generations == {}
    assert world.apply(wanted).generations == {}
    clear(path)
    mine = MINE if later == "as it was" else MINE.replace("opus", "haiku")
    path.write_text(good.replace("opus", "haiku") if mine != MINE else good)
    world.apply(wanted)
    text = path.read_text()
    assert all((f'"{name}"' in text) == (name in ("xz" if between == "upgrade" else "xy")) for name in "xyz")
    assert not any(e.held for e in world.current().edited[0].entries)
    world.apply(None)
    assert path.read_text() == mine


def test_what_is_gone_when_the_file_can_be_read_again_stays_away_until_asked_for(world: Any) -> None:
    path = settings(world)
    wanted = world.wanted({}, [hook("x"), hook("y")])
    world.apply(wanted)
    left = path.read_text()
    path.write_text("{")
    world.apply(wanted, theirs=[str(path)])
    path.write_text(left.replace('"x"', '"of mine"'))
    world.apply(wanted)
    assert '"x"' not in path.read_text()
    world.apply(None)
    assert '"of mine"' in path.read_text() and '"y"' not in path.read_text()


@pytest.mark.parametrize("how", WAYS)
def test_leaving_names_what_it_leaves_behind(world: Any, how: str) -> None:
    path = settings(world)
    wanted = world.wanted({"a.md": "A"}, [hook("x")])
    world.apply(wanted)
    obstruct(path, how)
    world.apply(wanted, theirs=[str(path)])
    result = world.apply(None)
    stays = [o.item for o in result.outcomes if o.item.stays is Stays.CHANGED]
    assert [str(path) in item.description for item in stays] == [True]
    assert not (world.root / "a.md").exists()


@pytest.mark.parametrize("how", [way for way in WAYS if way != "does not parse"])
def test_a_file_of_ours_that_is_held_back_is_in_nobodys_way(world: Any, how: str) -> None:
    wanted = world.wanted({"a.md": "A", "b.md": "B"})
    world.apply(wanted)
    obstruct(world.root / "a.md", how)
    world.apply(wanted, theirs=["config:a.md"])
    (world.root / "b.md").unlink()
    repair(world)
    assert (world.root / "b.md").read_text() == "B"
    assert world.apply(wanted).generations == {}
    world.apply(None)
    assert [p.name for p in world.root.iterdir()] == ["a.md"]


def test_repair_leaves_the_users_version_of_what_is_held_back(world: Any) -> None:
    path = settings(world)
    wanted = world.wanted({"a.md": "A"}, [hook("x")])
    world.apply(wanted)
    path.write_text(MINE)
    (world.root / "a.md").write_text("mine")
    world.apply(wanted, theirs=["*"])
    before = world.current()
    assert repair(world).generations == {}
    assert world.current() == before
    assert (path.read_text(), (world.root / "a.md").read_text()) == (MINE, "mine")
