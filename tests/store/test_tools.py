"""Interpreters: the first hit on PATH, and only where nobody else can replace it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.tools import find_tools


def environment(path: str, platform: str = "linux") -> Environment:
    return Environment({"PATH": path}, "/home/ada", "/", platform, 1, Folders("/c", "/d", "/s", "/k"), str)


def program(folder: Path, name: str = "node", mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


def refusal(path: str, project: str = "", platform: str = "linux") -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        find_tools(["node"], environment(path, platform), project)
    assert caught.value.status == 4
    return caught.value


def test_the_first_hit_is_taken(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a"), program(tmp_path / "b")
    path = f"{first.parent}:{second.parent}"
    # tmp_path lies below a folder of a session, so what the hit leads to is named: here the hit itself.
    assert find_tools(["node"], environment(path), "") == {"node": str(first.resolve())}


def test_a_link_of_a_session_is_followed(tmp_path: Path) -> None:
    real = program(tmp_path / "versions")
    session = tmp_path / "fnm_multishells"
    session.mkdir(mode=0o755)
    (session / "node").symlink_to(real)
    assert find_tools(["node"], environment(str(session)), "") == {"node": str(real.resolve())}


@pytest.mark.parametrize("path", ["", ":", ".", "relative/bin", "/nowhere"])
def test_what_is_not_on_an_absolute_path_is_absent(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path)
    monkeypatch.chdir(tmp_path)
    fault = refusal(path)
    assert fault.code == "E-TOOL-ABSENT" and "portable-hooks" in fault.fix


@pytest.mark.parametrize("name", ["", "../node", "a/b", "-x", "no\nde"])
def test_a_name_is_a_name(name: str, tmp_path: Path) -> None:
    program(tmp_path / "bin")
    with pytest.raises(GsdlockError, match="E-TOOL-ABSENT"):
        find_tools([name], environment(str(tmp_path / "bin")), "")


def test_a_program_that_others_can_write_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    bad, good = program(tmp_path / "a"), program(tmp_path / "b")
    bad.chmod(0o777)
    fault = refusal(f"{bad.parent}:{good.parent}")
    assert fault.code == "E-TOOL-REFUSED" and "others can write" in fault.details[0]


def test_a_folder_that_a_group_can_write_is_refused(tmp_path: Path) -> None:
    file = program(tmp_path / "a")
    file.parent.chmod(0o775)
    assert "the group of" in refusal(str(file.parent)).details[0]
    # Elsewhere than on macOS no group is special.
    assert refusal(str(file.parent), platform="linux").code == "E-TOOL-REFUSED"


def test_a_program_of_the_project_is_refused_through_links_too(tmp_path: Path) -> None:
    inside = program(tmp_path / "project" / "bin")
    assert "in the project" in refusal(str(inside.parent), str(tmp_path / "project")).details[0]
    outside = tmp_path / "bin"
    outside.mkdir(mode=0o755)
    (outside / "node").symlink_to(inside)
    assert "in the project" in refusal(str(outside), str(tmp_path / "project")).details[0]
    beside = program(tmp_path / "project-x" / "bin")
    assert find_tools(["node"], environment(str(beside.parent)), str(tmp_path / "project"))


def test_where_case_is_ignored_another_spelling_of_the_project_is_the_project(tmp_path: Path) -> None:
    path, project = str(program(tmp_path / "project" / "bin").parent), str(tmp_path / "PROJECT")
    assert "in the project" in refusal(path, project, platform="darwin").details[0]
    assert find_tools(["node"], environment(path), project)


def test_a_file_that_cannot_be_executed_is_absent(tmp_path: Path) -> None:
    program(tmp_path / "a", mode=0o644)
    assert refusal(str(tmp_path / "a")).code == "E-TOOL-ABSENT"


def test_all_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(GsdlockError) as caught:
        find_tools(["node", "bash"], environment(str(tmp_path)), "")
    assert len(caught.value.details) == 2
