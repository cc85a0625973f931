"""Bringing one displaced version back: whichever it was, wherever it stood, and nothing else is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.restore import bringing_back, displaced_versions


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", {"command": command})


def test_a_version_that_ours_displaced_comes_back_and_is_held(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1", "b.md": "1"}))
    (world.root / "a.md").write_text("mine")
    world.apply(world.wanted({"a.md": "2", "b.md": "2"}), ours=["*"])
    (world.root / "b.md").write_text("drifted meanwhile")
    result = world.apply(bringing_back(world.store, str(world.root / "a.md")))
    assert [(o.item.key, o.item.op.value, o.item.risk.value) for o in result.outcomes] == [
        ("config:a.md", "restore", "moderate")
    ]
    assert (world.root / "a.md").read_text() == "mine"
    assert (world.root / "b.md").read_text() == "drifted meanwhile"
    (world.root / "b.md").write_text("2")
    world.apply(world.wanted({"a.md": "3", "b.md": "3"}))
    assert ((world.root / "a.md").read_text(), (world.root / "b.md").read_text()) == ("mine", "3")


def test_what_stands_there_now_is_kept_in_turn(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1"}))
    for text in ("first", "second"):
        (world.root / "a.md").write_text(text)
        world.apply(world.wanted({"a.md": "1"}), ours=["*"])
    (world.root / "a.md").write_text("third")
    path = str(world.root / "a.md")
    assert [v.number for v in displaced_versions(world.store, path)] == [3, 2]
    world.apply(bringing_back(world.store, "config:a.md", 2))
    assert (world.root / "a.md").read_text() == "first"
    world.apply(bringing_back(world.store, path))
    assert (world.root / "a.md").read_text() == "third"


def test_a_settings_file_comes_back_whole_and_missing_entries_are_held(world: Any) -> None:
    world.root.mkdir()
    path = world.root / "settings.json"
    path.write_text('{"mine": 1}\n')
    world.apply(world.wanted({"a.md": "1"}, [hook("greet")]))
    world.apply(bringing_back(world.store, str(path)))
    assert path.read_text() == '{"mine": 1}\n'
    assert world.current().edited[0].entries[0].held
    assert world.apply(world.wanted({"a.md": "1"}, [hook("greet")])).generations == {}
    world.apply(world.wanted({"a.md": "1"}, [hook("greet")]), ours=["*"])
    assert "greet" in json.dumps(json.loads(path.read_text()))
    world.apply(None)
    assert path.read_text() == '{"mine": 1}\n'


def test_a_file_comes_back_after_we_have_left(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1"}))
    (world.root / "a.md").write_text("mine")
    world.apply(None, ours=["*"])
    assert world.tree() == {}
    world.root.mkdir()
    world.apply(bringing_back(world.store, str(world.root / "a.md")))
    assert (world.root / "a.md").read_text() == "mine"
    assert world.current().left


def test_what_was_never_displaced_is_told(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1"}))
    with pytest.raises(GsdlockError) as caught:
        bringing_back(world.store, str(world.root / "a.md"))
    assert (caught.value.code, caught.value.status) == ("E-RESTORE-UNKNOWN", 5)


def test_a_version_comes_back_though_another_target_has_entries_in_the_file(world: Any) -> None:
    world.root.mkdir()
    path = world.root / "settings.json"
    path.write_text('{"mine": 1}\n')
    world.apply(world.wanted({}, [hook("one")], target="one"))
    world.apply(world.wanted({}, [hook("two")], target="two"))
    before = path.read_text()
    world.apply(world.wanted({}, [hook("one, newer")], target="one"))
    assert path.read_text() != before
    world.apply(bringing_back(world.store, str(path)))
    assert path.read_text() == before
    assert world.apply(world.wanted({}, [hook("two")], target="two")).generations == {}
    assert world.apply(world.wanted({}, [hook("one, newer")], target="one")).generations == {}
    assert path.read_text() == before
