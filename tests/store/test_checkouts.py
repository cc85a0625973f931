"""The folders of a project: where we are, its repository, and the one that a worktree or submodule is of."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from gsdlock.store.checkouts import checkouts


def git(folder: Path, *words: str) -> None:
    identity = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **identity}
    subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=env,
        check=True,
        capture_output=True,
    )


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_a_folder_alone_is_itself(tmp_path: Path) -> None:
    assert checkouts(str(tmp_path), None) == (str(tmp_path),)


def test_a_folder_in_a_repository_is_the_repository_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    below = root / "a/b"
    below.mkdir(parents=True)
    assert checkouts(str(below), None) == (str(below), str(root))
    assert checkouts(str(root), None) == (str(root),)


def test_a_worktree_is_its_repository_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    worktree = tmp_path / "elsewhere"
    git(root, "worktree", "add", "-q", str(worktree))
    assert checkouts(str(worktree), None) == (str(worktree), str(root))


def test_a_submodule_is_the_repository_around_it_too(tmp_path: Path) -> None:
    part, root = repository(tmp_path / "part"), repository(tmp_path / "repo")
    git(root, "submodule", "--quiet", "add", str(part), "part")
    assert checkouts(str(root / "part"), None) == (str(root / "part"), str(root))


def test_a_folder_behind_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    (root / "a").mkdir()
    (tmp_path / "alias").symlink_to(root / "a")
    assert checkouts(str(tmp_path / "alias"), None) == (str(tmp_path / "alias"), str(root / "a"), str(root))


def test_the_home_and_what_holds_it_is_no_project(tmp_path: Path) -> None:
    """Many people keep their home in git; then all that they installed would lie in the project."""
    home = repository(tmp_path / "home")
    work = home / "work"
    work.mkdir()
    (tmp_path / "alias").symlink_to(home)
    for own in (home, tmp_path / "alias"):
        assert checkouts(str(home), str(own)) == ()
        assert checkouts(str(tmp_path), str(own)) == ()
        assert checkouts(str(work), str(own)) == (str(work),)
    spelt = str(tmp_path).upper()
    assert checkouts(spelt, str(home), fold=True) == () and checkouts(spelt, str(home)) == (spelt,)


def test_a_git_file_that_names_nothing_is_passed_over(tmp_path: Path) -> None:
    for text in ("", "gitdir:", "gitdir: /a/b.git/worktrees/x", "\x00", "gitdir: ../" + "x" * 9000):
        (tmp_path / ".git").write_text(text)
        assert checkouts(str(tmp_path), None) == (str(tmp_path),)
