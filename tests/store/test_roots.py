"""Roots on disk: resolved once, judged, pinned, and walked without ever following a link."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.roots import Ground, Pinned, pin

FS = RealFileSystem()
ME = os.geteuid()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir(mode=0o755)
    return path


def pinned(path: Path | str, home: Path) -> Pinned:
    return pin(FS, str(path), ME, str(home))


def test_an_existing_root_is_its_own_anchor(home: Path) -> None:
    root = pinned(home, home)
    assert (root.real, root.anchor, root.missing, root.link) == (str(home), str(home), (), False)


def test_a_missing_root_is_anchored_at_the_folder_above(home: Path) -> None:
    root = pinned(home / ".config" / "host", home)
    assert (root.anchor, root.missing, root.below) == (str(home), (".config", "host"), ".config/host")
    assert root.real == str(home / ".config" / "host")


def test_a_root_that_is_a_link_is_resolved_and_told(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".host").symlink_to("dotfiles")
    root = pinned(home / ".host", home)
    assert (root.real, root.link) == (str(home / "dotfiles"), True)


def test_a_group_writable_root_is_told(home: Path) -> None:
    home.chmod(0o775)
    assert pinned(home, home).group_writable


def dangling(home: Path) -> Path:
    (home / ".host").symlink_to("nowhere")
    return home / ".host"


def loop(home: Path) -> Path:
    (home / ".host").symlink_to(".host")
    return home / ".host"


def file_in_the_way(home: Path) -> Path:
    (home / "file").write_text("x")
    return home / "file" / "host"


def is_a_file(home: Path) -> Path:
    (home / ".host").write_text("x")
    return home / ".host"


def for_everybody(home: Path) -> Path:
    (home / ".host").mkdir()
    (home / ".host").chmod(0o777)
    return home / ".host"


def below_for_everybody(home: Path) -> Path:
    return for_everybody(home) / "new"


def read_only(home: Path) -> Path:
    (home / ".host").mkdir(mode=0o555)
    return home / ".host"


def outside_home(home: Path) -> Path:
    return home.parent / "elsewhere" / "deep" / "host"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda home: Path("relative/host"), "E-CONFINE-ROOT"),
        (dangling, "E-CONFINE-ROOT"),
        (loop, "E-IO-LINK"),
        (file_in_the_way, "E-CONFINE-ROOT"),
        (is_a_file, "E-CONFINE-ROOT"),
        (for_everybody, "E-CONFINE-WRITABLE"),
        (below_for_everybody, "E-CONFINE-WRITABLE"),
        (read_only, "E-ROOT-READONLY"),
        (outside_home, "E-CONFINE-ROOT"),
    ],
)
def test_what_cannot_be_a_root_is_refused(home: Path, make: Callable[[Path], Path], code: str) -> None:
    with pytest.raises(GsdlockError) as caught:
        pinned(make(home), home)
    assert (caught.value.code, caught.value.status) == (code, 4)


def test_another_users_root_is_refused(home: Path) -> None:
    with pytest.raises(GsdlockError) as caught:
        pin(FS, str(home), ME + 1, str(home))
    assert caught.value.code == "E-CONFINE-OWNER"


def test_a_new_root_in_a_sticky_folder_of_others_is_fine(home: Path) -> None:
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)
    assert pin(FS, str(home / "tmp" / "host"), ME + 1, None).missing == ("host",)


def test_one_missing_folder_outside_the_home_is_made(home: Path) -> None:
    assert pinned(home.parent / "host", home).missing == ("host",)


# -- walking ---------------------------------------------------------------------------------------------


@pytest.fixture
def tree(home: Path) -> Path:
    (home / "a" / "b").mkdir(parents=True)
    (home / "a" / "b" / "file").write_text("inside")
    (home.parent / "outside").mkdir()
    (home.parent / "outside" / "file").write_text("outside")
    return home


def test_a_walk_reads_below_its_anchor(tree: Path) -> None:
    with Ground(FS) as ground:
        anchor = ground.add(str(tree))
        assert ground.read(anchor, "a/b/file") == b"inside"
        assert ground.look(anchor, "a/nothing/file") is None
        assert ground.path(anchor, "a/b") == f"{tree}/a/b"
        assert ground.add(str(tree)) == anchor


@pytest.mark.parametrize("link", ["a", "a/b"])
def test_a_link_on_the_way_is_refused_and_its_end_is_named(tree: Path, link: str) -> None:
    target = tree / link
    target.rename(tree / "away")
    target.symlink_to(tree.parent / "outside")
    with Ground(FS) as ground, pytest.raises(GsdlockError) as caught:
        ground.read(ground.add(str(tree)), f"{link}/file")
    assert caught.value.code == "E-CONFINE-LINK"
    assert str(target) in caught.value.what
    assert str(tree.parent / "outside") in caught.value.what


def test_a_file_in_place_of_a_folder_is_refused(tree: Path) -> None:
    with Ground(FS) as ground, pytest.raises(GsdlockError) as caught:
        ground.folder(ground.add(str(tree)), "a/b/file/deeper")
    assert caught.value.code == "E-CONFINE-KIND"


def test_a_folder_swapped_for_a_link_after_it_was_opened_is_not_walked_again(tree: Path) -> None:
    with Ground(FS) as ground:
        anchor = ground.add(str(tree))
        assert ground.read(anchor, "a/b/file") == b"inside"
        (tree / "a").rename(tree / "moved")
        (tree / "a").symlink_to(tree.parent / "outside")
        ground.forget()
        with pytest.raises(GsdlockError) as caught:
            ground.read(anchor, "a/b/file")
    assert caught.value.code == "E-CONFINE-LINK"


def test_an_anchor_that_became_another_folder_is_refused(tree: Path) -> None:
    with Ground(FS) as ground:
        anchor = ground.add(str(tree))
        tree.rename(tree.parent / "old")
        tree.mkdir()
        with pytest.raises(GsdlockError) as caught:
            ground.folder(anchor, "")
    assert caught.value.code == "E-CONFINE-MOVED"


def test_few_folders_are_held_open_however_many_are_walked(home: Path) -> None:
    for number in range(300):
        (home / str(number)).mkdir()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with Ground(FS) as ground:
        anchor = ground.add(str(home))
        for number in range(300):
            ground.folder(anchor, str(number))
        if before:
            assert len(os.listdir("/proc/self/fd")) < before + 80
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def deep(home: Path, depth: int) -> None:
    """A file at the end of so many folders, deeper than any path that can be given to the system."""
    handles = [FS.open_root(str(home))]
    for _ in range(depth):
        FS.make_dir(handles[-1], "d", 0o755)
        handles.append(FS.open_dir(handles[-1], "d"))
        FS.close(handles.pop(0))
    FS.create(handles[-1], "file", b"deep", 0o644)
    FS.close(handles[-1])


@pytest.mark.parametrize("depth", [60, 400])
def test_a_very_deep_tree_is_walked(home: Path, depth: int) -> None:
    deep(home, depth)
    with Ground(FS) as ground:
        assert ground.read(ground.add(str(home)), "/".join(["d"] * depth) + "/file") == b"deep"


@pytest.mark.parametrize("depth", [60, 70, 200])
def test_a_handle_stays_good_while_a_deep_folder_is_walked_to(home: Path, depth: int) -> None:
    """What is staged goes from one folder to another: the first must not be closed on the way to the second,
    since its number would then mean another folder."""
    deep(home, depth)
    (home / "bench").mkdir()
    (home / "bench/file").write_bytes(b"staged")
    with Ground(FS) as ground:
        anchor = ground.add(str(home))
        bench = ground.folder(anchor, "bench")
        place = ground.folder(anchor, "/".join(["d"] * depth))
        assert (FS.read(bench, "file"), FS.read(place, "file")) == (b"staged", b"deep")
        ground.folder(anchor, "/".join(["d"] * (depth // 2)))
        assert (FS.read(bench, "file"), FS.read(place, "file")) == (b"staged", b"deep")
