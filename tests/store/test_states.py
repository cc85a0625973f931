"""Where things stand: told path by path and entry by entry, whatever stands there, and nothing is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.filesystem_decorators import CHANGING, Recording
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.states import State, TargetState, disk_bytes, inspect, written_bytes


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", value)


@pytest.fixture
def installed(world: Any) -> Any:
    world.root.mkdir()
    (world.root / "settings.json").write_text('{"mine": 1}\n')
    world.apply(world.wanted({"a.md": "A", "x.sh": ("#!", 0o755), "d/e.md": "E"}, [hook("greet.sh")]))
    return world


def look(world: Any, **more: Any) -> TargetState:
    return inspect(world.store, world.current(), **more)


def state_of(world: Any, path: str) -> State:
    return next(s.state for s in look(world).files if s.key == f"config:{path}")


def test_all_is_in_order_after_an_apply(installed: Any) -> None:
    found = look(installed)
    assert {s.state for s in found.files} == {State.UNCHANGED}
    assert [(s.at, s.state, s.executes, s.file_changed) for s in found.entries] == [
        ("/hooks/Stop", State.PRESENT, True, False)
    ]
    assert not found.differs


def linked_away(folder: Path) -> None:
    folder.rename(folder.parent / "away")
    folder.symlink_to("away")


CASES: list[tuple[str, Callable[[Path], Any], State]] = [
    ("a.md", lambda p: p.write_text("mine"), State.MODIFIED),
    ("a.md", lambda p: p.unlink(), State.DELETED),
    ("a.md", lambda p: p.chmod(0o600), State.PERMISSIONS),
    ("a.md", lambda p: p.chmod(0o755), State.MODE),
    ("x.sh", lambda p: p.chmod(0o644), State.MODE),
    ("a.md", lambda p: (p.unlink(), p.mkdir()), State.OBSTRUCTED),
    ("a.md", lambda p: (p.unlink(), os.mkfifo(p)), State.OBSTRUCTED),
    ("a.md", lambda p: (p.unlink(), p.symlink_to("x.sh")), State.OBSTRUCTED),
    (
        "d/e.md",
        lambda p: (p.parent.rename(p.parent.parent / "away"), p.parent.symlink_to("away")),
        State.OBSTRUCTED,
    ),
    ("d/e.md", lambda p: (p.unlink(), p.parent.rmdir(), p.parent.write_text("x")), State.OBSTRUCTED),
    ("a.md", lambda p: p.parent.rename(p.parent.parent / "gone"), State.DELETED),
]


@pytest.mark.parametrize(("path", "do", "state"), CASES)
def test_each_way_in_which_a_file_can_differ(
    installed: Any, path: str, do: Callable[[Path], Any], state: State
) -> None:
    do(installed.root / path)
    assert state_of(installed, path) is state
    assert look(installed).differs is (state is not State.PERMISSIONS)


def test_entries_are_found_by_meaning(installed: Any) -> None:
    path = installed.root / "settings.json"
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    (entry,) = look(installed).entries
    assert (entry.state, entry.file_changed) == (State.PRESENT, True)
    assert not look(installed).differs
    path.write_text("{}")
    assert look(installed).entries[0].state is State.MISSING
    path.write_text("{ broken")
    (entry,) = look(installed).entries
    assert entry.state is State.UNREADABLE
    assert "line 1" in entry.detail
    path.unlink()
    assert look(installed).entries[0].state is State.MISSING


def test_what_is_held_is_told_as_held(installed: Any) -> None:
    (installed.root / "a.md").write_text("mine")
    (installed.root / "settings.json").write_text("{}")
    plan = installed.wanted({"a.md": "A", "x.sh": ("#!", 0o755), "d/e.md": "E"}, [hook("greet.sh")])
    installed.apply(plan, theirs=["*"])
    found = look(installed)
    assert state_of(installed, "a.md") is State.HELD
    assert found.entries[0].state is State.HELD
    assert not found.differs


def test_entries_put_in_by_hand_are_wanted_until_they_are_there(world: Any) -> None:
    world.root.mkdir()
    (world.home / "managed.json").write_text("{}")
    (world.root / "settings.json").symlink_to("../managed.json")
    world.apply(world.wanted({}, [hook("greet.sh")], by_hand=True))
    assert look(world).entries[0].state is State.WANTED
    assert look(world).differs
    (world.home / "managed.json").write_text(json.dumps({"hooks": {"Stop": [hook("greet.sh")[3]]}}))
    assert look(world).entries[0].state is State.DONE
    assert not look(world).differs
    world.apply(None)
    assert "greet.sh" in (world.home / "managed.json").read_text()


def test_roots_that_are_elsewhere_now_are_told(installed: Any) -> None:
    assert look(installed, roots={"config": str(installed.root)}).moved == {}
    other = installed.home / ".other"
    assert look(installed, roots={"config": str(other)}).moved == {"config": str(other)}


def test_looking_changes_nothing(installed: Any) -> None:
    fs = Recording(RealFileSystem(), CHANGING)
    look(installed.using(fs))
    assert fs.calls == []


def test_both_sides_of_a_difference_can_be_shown(world: Any) -> None:
    world.apply(world.wanted({"a.md": "in {{gsdlock:path:config}}"}, fill=["a.md"]))
    (world.root / "a.md").write_text("mine")
    generation = world.current()
    assert written_bytes(world.store, generation, generation.files[0]) == f"in {world.root}".encode()
    assert disk_bytes(world.store, str(world.root / "a.md")) == b"mine"
    assert disk_bytes(world.store, str(world.root)) is None
    assert disk_bytes(world.store, "/nowhere/x") is None
