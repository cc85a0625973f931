"""What was left over by writes and transactions that broke off: found, and removed where nobody needs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.store.doctor import Finding, examine, mend

LONG_AGO = 2 * 3600  # seconds; what is younger may be of a command that is at work


def left_over(path: Path, age: int = LONG_AGO) -> Path:
    """A temporary file of a write that broke off so many seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"half")
    os.utime(path, (path.stat().st_mtime - age,) * 2)
    return path


def found(world: Any) -> list[tuple[str, str, bool]]:
    return [(f.kind, f.path, f.mendable) for f in examine(world.store)]


def mended(world: Any) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    return mend(world.store, {})


@pytest.fixture
def installed(world: Any) -> Any:
    world.root.mkdir()
    world.apply(world.wanted({"a.md": "one", "b.md": "two"}))
    return world


FOLDERS = ["", "targets/host@default/", "targets/host@default/generations/", "locks/", "unchanged/"]


@pytest.mark.parametrize("folder", [*FOLDERS, "transactions/"])
def test_a_temporary_file_is_found_and_removed(installed: Any, folder: str) -> None:
    path = left_over(installed.state / f"{folder}.tmp-77-0123456789ab")
    before = installed.tree()
    assert found(installed) == [("temporary", str(path), True)]
    assert path.exists(), "looking changes nothing"
    done, left = mended(installed)
    assert (done, left) == ((f"{path} was removed",), ())
    assert not path.exists() and found(installed) == []
    assert installed.tree() == before


def test_one_that_may_be_in_use_is_left(installed: Any) -> None:
    path = left_over(installed.state / ".tmp-77-0123456789ab", age=60)
    assert found(installed) == []
    assert mended(installed) == ((), ()) and path.exists()


# -- staging folders that no journal knows of


def staging(world: Any, **files: str) -> Path:
    folder: Path = world.root / ".gsdlock-0123456789abcdef"
    folder.mkdir(mode=0o700)
    for name, text in files.items():
        (folder / f"{name}.new").write_text(text)
    return folder


@pytest.mark.parametrize("files", [{}, {"a": "one"}, {"a": "one", "b": "two"}], ids=len)
def test_a_staging_folder_goes_where_the_store_has_all_of_it(installed: Any, files: dict[str, str]) -> None:
    before = installed.tree()
    folder = staging(installed, **files)
    assert found(installed) == [("staging", str(folder), True)]
    done, left = mended(installed)
    assert (done, left) == ((f"{folder} was removed; the store has all that was in it",), ())
    assert installed.tree() == before


@pytest.mark.parametrize(("text", "spare"), [("two", True), ("in no store", False)])
def test_a_folder_that_was_to_come_whole_is_looked_through(text: str, spare: bool, installed: Any) -> None:
    before = installed.tree()
    folder = staging(installed, a="one")
    (folder / "0.tree/deep/er").mkdir(parents=True)
    (folder / "0.tree/deep/er/b.md").write_text(text)
    (folder / "0.tree/c.md").write_text("one")
    assert found(installed) == [("staging", str(folder), spare)]
    mended(installed)
    assert folder.exists() is not spare
    if spare:
        assert installed.tree() == before


def test_folders_too_deep_to_be_ours_are_left(installed: Any) -> None:
    folder = staging(installed)
    (folder / "0.tree" / "/".join("d" * 70)).mkdir(parents=True)
    assert found(installed) == [("staging", str(folder), False)]


def content_of_the_user(folder: Path) -> None:
    (folder / "1.new").write_text("taken out, and kept nowhere else")


def a_folder(folder: Path) -> None:
    (folder / "1.new").mkdir()


def a_link(folder: Path) -> None:
    (folder / "1.new").symlink_to("../a.md")


def itself_a_link(folder: Path) -> None:
    (folder / "0.new").unlink()
    folder.rmdir()
    (folder.parent.parent / "elsewhere").mkdir()
    (folder.parent.parent / "elsewhere/0.new").write_text("one")
    folder.symlink_to("../elsewhere")


@pytest.mark.parametrize("more", [content_of_the_user, a_folder, a_link, itself_a_link])
def test_a_staging_folder_stays_where_it_may_hold_more(installed: Any, more: Callable[[Path], None]) -> None:
    folder = staging(installed)
    (folder / "0.new").write_text("one")
    more(folder)
    before = installed.tree()
    assert found(installed) == [("staging", str(folder), False)]
    done, left = mended(installed)
    assert done == () and [f.path for f in left] == [str(folder)]
    assert "remove it" in left[0].fix
    assert installed.tree() == before


def test_a_staging_folder_stays_where_the_store_lost_its_content(installed: Any) -> None:
    folder = staging(installed, a="one")
    for path in installed.data.glob("blobs/sha256/*/*"):
        if path.read_text() == "one":
            path.chmod(0o600)
            path.write_text("other")
    assert ("staging", str(folder), False) in found(installed)


def test_the_staging_folder_of_a_journal_is_none_that_was_left(installed: Any) -> None:
    """Recovery sees to it, and `mend` recovers first."""
    folder = staging(installed, a="one")
    (installed.state / "transactions" / folder.name.removeprefix(".gsdlock-")).mkdir(parents=True)
    assert not [row for row in found(installed) if row[0] == "staging"]


# -- a change of only the mode


def test_a_mode_that_the_user_changed_is_no_damage(installed: Any) -> None:
    """It is for `status` to tell; doctor looks at files of ours."""
    (installed.root / "a.md").chmod(0o600)
    (installed.root / "b.md").chmod(0o755)
    assert found(installed) == []


def test_a_blob_whose_mode_was_changed_is_sound(installed: Any) -> None:
    """Its bytes are what is trusted; a blob that nobody can read cannot be told sound."""
    for path in installed.data.glob("blobs/sha256/*/*"):
        path.chmod(0o644)
    assert found(installed) == []
