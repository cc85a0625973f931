"""Shared files that are links: the link stays, and the file behind it is edited."""

from __future__ import annotations

import json
import stat
from typing import Any

import pytest
from gsdlock.store.choices import PreflightError
from gsdlock.store.states import State, inspect
from gsdlock.store.wanted import wanted_from_generation

from .settings_file import MINE, hook, ops, server, settings


def test_a_chain_of_links_is_kept_and_the_file_behind_it_edited(world: Any) -> None:
    world.root.mkdir()
    (world.home / "dotfiles").mkdir()
    (world.home / "dotfiles/real.json").write_text(MINE)
    (world.home / "dotfiles/link.json").symlink_to("real.json")
    (world.root / "settings.json").symlink_to("../dotfiles/link.json")
    start = world.tree()
    result = world.apply(world.wanted({}, [server("docs", "x")]))
    assert result.outcomes[0].item.risk.value == "high"
    assert (world.root / "settings.json").is_symlink() and (world.home / "dotfiles/link.json").is_symlink()
    assert "docs" in (world.home / "dotfiles/real.json").read_text()
    assert world.apply(world.wanted({}, [server("docs", "x")])).generations == {}
    world.apply(None)
    assert world.tree() == start


def test_a_link_into_a_read_only_store_is_refused_before_anything_is_written(world: Any) -> None:
    world.root.mkdir()
    store = world.home / "store"
    store.mkdir()
    (store / "settings.json").write_text(MINE)
    (world.root / "settings.json").symlink_to(store / "settings.json")
    wanted = world.wanted({"a.md": "A"}, [hook("greet.sh")])
    for file_mode, folder_mode in ((0o444, 0o755), (0o644, 0o555), (0o444, 0o555)):
        (store / "settings.json").chmod(file_mode)
        store.chmod(folder_mode)
        with pytest.raises(PreflightError) as caught:
            world.apply(wanted)
        assert caught.value.code == "E-EDIT-READONLY"
        assert str(store / "settings.json") in caught.value.what
        assert "--no-edits" in caught.value.fix
        assert not (world.root / "a.md").exists()
    by_hand = world.wanted({"a.md": "A"}, [hook("greet.sh")], by_hand=True)
    world.apply(by_hand)
    assert (world.root / "a.md").exists()
    assert (store / "settings.json").read_text() == MINE
    assert world.apply(by_hand).generations == {}
    world.apply(None)
    assert (world.root / "settings.json").is_symlink()
    store.chmod(0o755)


def test_entries_that_the_user_put_into_a_read_only_store_need_no_write(world: Any) -> None:
    world.root.mkdir()
    store = world.home / "store"
    store.mkdir()
    value = hook("greet.sh")[3]
    (store / "settings.json").write_text(json.dumps({"hooks": {"Stop": [value]}}))
    (store / "settings.json").chmod(0o444)
    (world.root / "settings.json").symlink_to(store / "settings.json")
    assert world.problems(world.wanted({}, [hook("other.sh")])) == ["E-EDIT-READONLY"]
    assert ops(world.apply(world.wanted({"a.md": "A"}, [hook("greet.sh")]))) == ["create", "keep"]
    assert set(ops(world.apply(None))) == {"remove", "keep"}
    assert stat.S_IMODE((store / "settings.json").stat().st_mode) == 0o444


def test_a_read_only_file_of_the_users_is_not_replaced_behind_their_back(world: Any) -> None:
    settings(world).chmod(0o444)
    assert world.problems(world.wanted({"a.md": "A"}, [hook("greet.sh")])) == ["E-EDIT-READONLY"]


@pytest.mark.parametrize("leads_to", ["nowhere", "folder", "settings.json"])
def test_a_link_that_leads_to_no_file_is_refused(world: Any, leads_to: str) -> None:
    (world.root / "folder").mkdir(parents=True)
    (world.root / "settings.json").symlink_to(leads_to)
    assert world.problems(world.wanted({}, [hook("greet.sh")]))[0] in ("E-CONFINE-LINK", "E-IO-LINK")


def test_a_link_put_in_place_of_the_file_is_followed_with_our_entries(world: Any) -> None:
    path = settings(world)
    wanted = world.wanted({}, [hook("greet.sh")])
    world.apply(wanted)
    (world.home / "dotfiles").mkdir()
    path.rename(world.home / "dotfiles/settings.json")
    path.symlink_to("../dotfiles/settings.json")
    world.apply(wanted)
    assert (world.home / "dotfiles/settings.json").read_text().count("greet.sh") == 1
    world.apply(None)
    assert (world.home / "dotfiles/settings.json").read_text() == MINE
    assert path.is_symlink()


@pytest.mark.parametrize("what", ["file", "root", "folder around it"])
@pytest.mark.parametrize("between", ["nothing", "apply", "repair"])
def test_what_is_put_behind_a_link_is_followed_by_every_verb(world: Any, what: str, between: str) -> None:
    """Dotfiles managers do that. Nobody calls it damaged or moved, and it can be left as it was entered."""
    path = settings(world)
    wanted = world.wanted({"a.md": "A"}, [hook("greet.sh")], root=world.root)
    world.apply(wanted)
    moved = {"file": path, "root": world.root}.get(what, world.home)
    elsewhere = moved.with_name(f"{moved.name}-elsewhere")
    moved.rename(elsewhere)
    moved.symlink_to(elsewhere.name)
    if between == "apply":
        world.apply(wanted)
    elif between == "repair":
        world.apply(wanted_from_generation(world.current()), ours=["*"])
    state = inspect(world.store, world.current(), {"config": str(world.root)})
    assert (state.moved, state.differs) == ({}, False)
    assert [entry.state for entry in state.entries] == [State.PRESENT]
    world.apply(None)
    assert path.read_text() == MINE
    assert not (world.root / "a.md").exists()
    assert moved.is_symlink()


def test_a_link_put_in_place_of_the_file_that_leads_to_nobodys_file_is_not_followed(world: Any) -> None:
    path = settings(world)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    path.unlink()
    path.symlink_to("nowhere")
    assert world.problems(None) == ["E-EDIT-KIND"]
    (entry,) = inspect(world.store, world.current()).entries
    assert entry.state is State.UNREADABLE
