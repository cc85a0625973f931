"""Whole files from one generation to the next: install, upgrade, drift, leave; nothing is lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.choices import PreflightError
from gsdlock.store.filesystem_decorators import CHANGING, Recording
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.items import Stays
from gsdlock.store.restore import going_back

A, B = "skills/a/SKILL.md", "skills/b/SKILL.md"
SCRIPT = ("#!/bin/sh\n", 0o755)


def ops(result: Any) -> dict[str, str]:
    return {o.item.key: o.item.op.value for o in result.outcomes}


# -- coming and going ------------------------------------------------------------------------------------


def test_an_install_places_files_with_their_modes_and_makes_folders(world: Any) -> None:
    result = world.apply(world.wanted({A: "A", "hooks/x.sh": SCRIPT}))
    assert ops(result) == {f"config:{A}": "create", "config:hooks/x.sh": "create"}
    assert result.generations == {"host@default": 1}
    umask = RealFileSystem().umask
    assert (world.root / A).read_text() == "A"
    assert stat.S_IMODE((world.root / A).stat().st_mode) == 0o644 & ~(umask & 0o077)
    assert stat.S_IMODE((world.root / "hooks/x.sh").stat().st_mode) == 0o755 & ~(umask & 0o077)
    generation = world.current()
    assert [f.key for f in generation.files] == ["config:hooks/x.sh", f"config:{A}"]
    folders = ["", "/hooks", "/skills", "/skills/a"]
    assert generation.made == tuple(f"{world.root}{folder}" for folder in folders)


@pytest.mark.parametrize(("umask", "modes"), [("077", (0o600, 0o700, 0o700)), ("002", (0o664, 0o775, 0o775))])
def test_new_files_and_folders_follow_the_umask(
    world: Any, monkeypatch: pytest.MonkeyPatch, umask: str, modes: tuple[int, int, int]
) -> None:
    before = os.umask(int(umask, 8))
    monkeypatch.setattr("gsdlock.store.filesystem_posix._umask", lambda: int(umask, 8))
    try:
        world.apply(world.wanted({A: ("A", 0o644), "x.sh": SCRIPT}))
    finally:
        os.umask(before)
    found = [stat.S_IMODE((world.root / p).stat().st_mode) for p in (A, "x.sh", "skills")]
    assert found == [modes[0] & 0o644, modes[1] & 0o755, modes[2]]
    assert world.apply(world.wanted({A: ("A", 0o644), "x.sh": SCRIPT})).generations == {}


def test_leaving_removes_everything_that_came_and_nothing_else(world: Any) -> None:
    world.root.mkdir()
    (world.root / "mine.md").write_text("mine")
    start = world.tree()
    world.apply(world.wanted({A: "A", "deep/er/x": "x"}))
    result = world.apply(None)
    assert world.tree() == start
    assert set(ops(result).values()) == {"remove"}
    assert world.current().left
    assert world.apply(None).generations == {}


def test_a_root_and_its_parents_that_we_made_go_again_when_they_are_empty(world: Any) -> None:
    root = world.home / ".config" / "deep" / "host"
    world.apply(world.wanted({A: "A"}, root=root))
    assert (root / A).exists()
    world.apply(None)
    assert world.tree() == {}


def test_the_users_files_in_our_folders_outlive_upgrade_and_leaving(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    notes = world.root / "skills/a/NOTES.md"
    notes.write_text("mine")
    world.apply(world.wanted({A: "2"}))
    assert notes.read_text() == "mine"
    world.apply(None)
    assert list(world.tree()) == [".host", ".host/skills", ".host/skills/a", ".host/skills/a/NOTES.md"]


def test_a_folder_that_we_made_goes_later_once_the_user_has_emptied_it(world: Any) -> None:
    world.apply(world.wanted({A: "1", B: "1"}))
    (world.root / "skills/a/NOTES.md").write_text("mine")
    world.apply(world.wanted({B: "1"}))
    (world.root / "skills/a/NOTES.md").unlink()
    world.apply(world.wanted({A: "1", B: "1"}))
    world.apply(None)
    assert world.tree() == {}


def test_a_renamed_file_leaves_no_old_copy_and_comes_back_by_going_back(world: Any) -> None:
    world.apply(world.wanted({A: "A"}))
    first = world.tree()
    result = world.apply(world.wanted({B: "B"}))
    assert ops(result) == {f"config:{B}": "create", f"config:{A}": "remove"}
    assert list(world.tree()) == [".host", ".host/skills", ".host/skills/b", ".host/skills/b/SKILL.md"]
    result = world.apply(going_back(world.store, "host@default", 1))
    assert world.tree() == first
    assert result.generations == {"host@default": 3}


def test_going_back_before_the_first_generation_leaves(world: Any) -> None:
    world.apply(world.wanted({A: "A"}))
    world.apply(going_back(world.store, "host@default", 0))
    assert world.tree() == {}
    world.apply(going_back(world.store, "host@default", 1))
    assert (world.root / A).read_text() == "A"


def test_placeholders_are_filled_with_the_roots_as_they_were_given(world: Any) -> None:
    (world.home / "dotfiles").mkdir()
    world.root.symlink_to("dotfiles")
    text = "run {{gsdlock:path:config/x.sh}} or {{gsdlock:tilde:config}} with {{gsdlock:path:tool.node}}"
    world.apply(world.wanted({A: text}, fill=[A], tools={"node": "/usr/bin/node"}))
    assert (world.home / "dotfiles" / A).read_text() == f"run {world.root}/x.sh or ~/.host with /usr/bin/node"
    assert world.current().roots["config"].real == str(world.home / "dotfiles")
    assert world.apply(world.wanted({A: text}, fill=[A], tools={"node": "/usr/bin/node"})).generations == {}
    result = world.apply(world.wanted({A: text}, fill=[A], tools={"node": "/opt/node"}))
    assert ops(result) == {f"config:{A}": "replace"}


def test_an_unknown_placeholder_is_named(world: Any) -> None:
    assert world.problems(world.wanted({A: "{{gsdlock:path:tool.node}}"}, fill=[A])) == ["E-FILL-BASE"]


# -- nothing to do ---------------------------------------------------------------------------------------


def test_nothing_to_do_writes_nothing_and_takes_no_lock(world: Any) -> None:
    world.apply(world.wanted({A: "A", "x.sh": SCRIPT}))
    before = world.tree(), world.tree(world.state), world.tree(world.data)
    times = {p: p.lstat().st_mtime_ns for p in world.home.parent.rglob("*")}
    fs = Recording(RealFileSystem(), CHANGING)
    result = world.using(fs).apply(world.wanted({A: "A", "x.sh": SCRIPT}))
    assert result.generations == {}
    assert {o.result for o in result.outcomes} == {"unchanged"}
    assert fs.calls == []
    assert (world.tree(), world.tree(world.state), world.tree(world.data)) == before
    assert {p: p.lstat().st_mtime_ns for p in world.home.parent.rglob("*")} == times


def test_an_upgrade_touches_only_what_differs(world: Any) -> None:
    world.apply(world.wanted({A: "A", B: "1"}))
    before = (world.root / A).stat()
    world.apply(world.wanted({A: "A", B: "2"}))
    after = (world.root / A).stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert (world.root / B).read_text() == "2"


def test_nothing_is_left_of_the_staging(world: Any) -> None:
    world.apply(world.wanted({A: "1", B: "1"}))
    world.apply(world.wanted({A: "2"}))
    assert not [p for p in world.home.rglob("*") if "gsdlock" in p.name]
    assert list((world.state / "transactions").iterdir()) == []
    assert list((world.data / "blobs" / "tmp").iterdir()) == []


# -- what stands in the way ------------------------------------------------------------------------------


def a_folder(path: Path) -> None:
    path.mkdir()


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_link(path: Path) -> None:
    path.symlink_to("elsewhere")


def a_link_to_a_file(path: Path) -> None:
    (path.parent / "real").write_text("x")
    path.symlink_to("real")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (a_folder, "E-CONFINE-KIND"),
        (a_fifo, "E-CONFINE-KIND"),
        (a_link, "E-CONFINE-LINK"),
        (a_link_to_a_file, "E-CONFINE-LINK"),
    ],
)
@pytest.mark.parametrize("owned", [False, True])
def test_what_is_no_file_is_never_written_over(
    world: Any, make: Callable[[Path], None], code: str, owned: bool
) -> None:
    path = world.root / "x.md"
    if owned:
        world.apply(world.wanted({"x.md": "1"}))
        path.unlink()
    else:
        world.root.mkdir()
    make(path)
    assert world.problems(world.wanted({"x.md": "2"})) == [code]
    assert world.problems(world.wanted({"x.md": "2"}), ours=["*"], adopt=["*"]) == [code]
    before = world.tree()
    world.apply(world.wanted({"x.md": "2"}), theirs=["*"])
    assert world.tree() == before
    world.apply(None)
    assert world.tree() == before


def test_a_linked_folder_inside_the_root_is_named_with_where_it_leads(world: Any) -> None:
    outside = world.home / "work"
    outside.mkdir()
    world.root.mkdir()
    (world.root / "skills").symlink_to(outside)
    assert world.problems(world.wanted({A: "A"})) == ["E-CONFINE-LINK"]
    with pytest.raises(PreflightError) as caught:
        world.apply(world.wanted({A: "A"}))
    assert str(world.root / "skills") in caught.value.what
    assert str(outside) in caught.value.what
    assert list(outside.iterdir()) == []


def test_our_folder_that_the_user_put_behind_a_link_is_neither_followed_nor_destroyed(world: Any) -> None:
    world.apply(world.wanted({A: "1", B: "1"}))
    (world.home / "mine").mkdir()
    (world.root / "skills/a").rename(world.home / "mine/a")
    (world.root / "skills/a").symlink_to(world.home / "mine/a")
    assert world.problems(world.wanted({A: "2", B: "2"})) == ["E-CONFINE-LINK"]
    result = world.apply(None)
    assert [(o.item.key, o.item.stays) for o in result.outcomes if o.item.stays] == [
        (f"config:{A}", Stays.CHANGED)
    ]
    assert (world.home / "mine/a/SKILL.md").read_text() == "1"
    assert (world.root / "skills/a").is_symlink()
    assert not (world.root / B).exists()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\b", "nul", "a\nb", ".gsdlock-1/x"])
def test_an_unsafe_path_in_a_plan_is_refused(world: Any, path: str) -> None:
    assert world.problems(world.wanted({path: "x"})) == ["E-CONFINE-PATH"]


def test_twins_across_targets_are_refused(world: Any) -> None:
    one = world.wanted({"skills/A.md": "1"}, target="one")
    two = world.wanted({"skills/a.md": "1"}, target="two")
    assert world.problems(one, two) == ["E-CONFINE-TWINS"]


def test_a_read_only_folder_is_refused_for_root_too(world: Any) -> None:
    (world.root / "skills").mkdir(parents=True)
    (world.root / "skills").chmod(0o555)
    assert world.problems(world.wanted({A: "A"})) == ["E-ROOT-READONLY"]


def test_a_missing_blob_is_found_before_anything_is_written(world: Any) -> None:
    wanted = world.wanted({A: "A", B: "B"})
    for file in wanted.files:
        world.store.blobs.remove(file.source)
    assert world.problems(wanted) == ["E-BLOB-MISSING", "E-BLOB-MISSING"]


def test_a_damaged_blob_is_found_before_anything_is_written(world: Any) -> None:
    wanted = world.wanted({A: "A"})
    digest = wanted.files[0].source
    path = world.data / "blobs/sha256" / digest[7:9] / digest[9:]
    path.chmod(0o644)
    path.write_bytes(b"B")
    assert world.problems(wanted) == ["E-BLOB-CORRUPT"]


def test_a_choice_that_names_nothing_is_a_typing_error(world: Any) -> None:
    assert world.problems(world.wanted({A: "A"}), ours=["config:skills/x"]) == ["E-CHOICE-UNKNOWN"]


def test_a_file_cannot_become_a_folder_in_one_step(world: Any) -> None:
    world.apply(world.wanted({"x": "1"}))
    assert world.problems(world.wanted({"x/y": "1"})) == ["E-CONFINE-KIND"]


def test_damaged_records_stop_everything_and_nothing_is_forgotten(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    path = world.state / "targets/host@default/generations/1.json"
    path.write_bytes(path.read_bytes()[:100])
    before = world.tree()
    for wanted in (world.wanted({B: "1"}), None):
        with pytest.raises(GsdlockError) as caught:
            world.apply(wanted)
        assert caught.value.code == "E-GENERATION-CORRUPT"
    assert world.tree() == before


# -- where it belongs ------------------------------------------------------------------------------------


def test_another_manifest_of_the_same_name_is_refused_until_it_takes_over(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    other = world.wanted({A: "2"}, manifest="/elsewhere/gsdlock.toml")
    assert world.problems(other) == ["E-INSTALLATION-BOUND"]
    world.apply(other, take_over=True)
    assert world.current().manifest == "/elsewhere/gsdlock.toml"


def test_an_installation_is_one_manifests_with_all_its_targets(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    new = world.wanted({B: "1"}, target="another", manifest="/elsewhere/gsdlock.toml")
    assert world.problems(new) == ["E-INSTALLATION-BOUND"]
    named = world.wanted({B: "1"}, target="another", installation="team", manifest="/elsewhere/gsdlock.toml")
    assert world.apply(named).generations


def test_a_root_that_is_elsewhere_now_is_moved_only_when_asked(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    moved = world.wanted({A: "1"}, root=world.home / ".other")
    assert world.problems(moved) == ["E-ROOT-MOVED"]
    result = world.apply(moved, move=True)
    assert [o.item.op.value for o in result.outcomes] == ["create", "remove"]
    assert list(world.tree()) == [".other", ".other/skills", ".other/skills/a", ".other/skills/a/SKILL.md"]
    world.apply(None)
    assert world.tree() == {}


def test_a_root_that_was_put_behind_a_link_is_the_same_root(world: Any) -> None:
    world.apply(world.wanted({A: "1"}))
    (world.home / "dotfiles").mkdir()
    world.root.rename(world.home / "dotfiles/host")
    world.root.symlink_to("dotfiles/host")
    world.apply(world.wanted({A: "2"}))
    assert (world.home / "dotfiles/host" / A).read_text() == "2"
    world.apply(None)
    assert not (world.home / "dotfiles/host/skills").exists()
    assert world.root.is_symlink()


def test_what_reaches_out_of_a_project_is_of_high_risk(world: Any) -> None:
    result = world.apply(world.wanted({A: "1"}, outside=True))
    assert {o.item.risk.value for o in result.outcomes} == {"high"}


def test_a_third_partys_script_is_critical_and_a_group_writable_root_high(world: Any) -> None:
    world.root.mkdir()
    world.root.chmod(0o775)
    wanted = world.wanted({"x.sh": SCRIPT, A: "A"}, third_party={"config:x.sh"})
    risks = {o.item.key: o.item.risk.value for o in world.apply(wanted).outcomes}
    assert risks == {"config:x.sh": "critical", f"config:{A}": "high"}
