"""Programs: the first hit on PATH, and only where nobody else can replace it.

The vectors `admission` and `admin_group` of the reference run here, and with them criteria 46 to 51 as far as
they are about finding a program.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.tools import find_tools, look_up, path_outside, who_can_write

VECTORS = json.loads((Path(__file__).parents[1] / "data/gate_runner_vectors.json").read_text("utf-8"))


def environment(path: str, platform: str = "linux", cwd: str = "/") -> Environment:
    return Environment({"PATH": path}, "/home/ada", cwd, platform, 1, Folders("/c", "/d", "/s", "/k"), str)


def program(folder: Path, name: str = "node", mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


def refusal(path: str, project: str = "", platform: str = "linux") -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        find_tools(["node"], environment(path, platform), [project] if project else [])
    assert caught.value.status == 4
    return caught.value


def test_the_first_hit_is_taken(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a"), program(tmp_path / "b")
    path = f"{first.parent}:{second.parent}"
    # tmp_path lies below a folder of a session, so what the hit leads to is named: here the hit itself.
    assert find_tools(["node"], environment(path), []) == {"node": str(first.resolve())}


def test_a_link_of_a_session_is_followed(tmp_path: Path) -> None:
    real = program(tmp_path / "versions")
    session = tmp_path / "fnm_multishells"
    session.mkdir(mode=0o755)
    (session / "node").symlink_to(real)
    assert find_tools(["node"], environment(str(session)), []) == {"node": str(real.resolve())}


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
        find_tools([name], environment(str(tmp_path / "bin")), [])


def test_a_program_that_others_can_write_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    bad, good = program(tmp_path / "a"), program(tmp_path / "b")
    bad.chmod(0o777)
    fault = refusal(f"{bad.parent}:{good.parent}")
    assert fault.code == "E-TOOL-REFUSED" and "others can write" in fault.details[0]


def test_a_folder_that_a_group_can_write_is_refused(tmp_path: Path) -> None:
    file = program(tmp_path / "a")
    file.parent.chmod(0o775)
    assert "the group can write" in refusal(str(file.parent)).details[0]
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
    assert find_tools(["node"], environment(str(beside.parent)), [str(tmp_path / "project")])


def test_where_case_is_ignored_another_spelling_of_the_project_is_the_project(tmp_path: Path) -> None:
    path, project = str(program(tmp_path / "project" / "bin").parent), str(tmp_path / "PROJECT")
    assert "in the project" in refusal(path, project, platform="darwin").details[0]
    assert find_tools(["node"], environment(path), [project])


def test_a_file_that_cannot_be_executed_is_absent(tmp_path: Path) -> None:
    program(tmp_path / "a", mode=0o644)
    assert refusal(str(tmp_path / "a")).code == "E-TOOL-ABSENT"


def test_all_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(GsdlockError) as caught:
        find_tools(["node", "bash"], environment(str(tmp_path)), [])
    assert len(caught.value.details) == 2


# -- admission, as the reference has it ----------------------------------------------------------------------


@pytest.mark.parametrize("vector", VECTORS["admission"], ids=lambda v: v["id"])
def test_admission(vector: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """46 to 51: `$X` is a folder of nobody's project, `$R` the project, `$C` the checkout that it is of."""
    places = {"$X": tmp_path / "x", "$R": tmp_path / "r", "$C": tmp_path / "c"}

    def place(text: str) -> Path:
        text = text.replace("$R_UPPERCASED", str(places["$R"]).upper())
        for name, path in places.items():
            text = text.replace(name, str(path))
        return Path(text)

    links = {place(k): place(v) for k, v in vector.get("symlinks", {}).items()}
    listed = str(vector.get("path_entry", vector.get("PATH", "")))
    for folder in places.values():
        folder.mkdir()
    for path, target in links.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    cwd = tmp_path / "cwd"
    programs = (
        [] if vector["id"] in ("not-on-path", "dangling") else [place(f"{listed.split(':')[0]}/claude")]
    )
    if "also" in vector:
        programs.append(place("$X/bin/claude"))
    if "cwd_has" in vector:
        programs = [cwd / vector["cwd_has"]]
    if vector["id"] == "case-fold":
        programs = [place("$R/tools/claude")]
    for file in programs:
        real = Path(os.path.realpath(file))
        real.parent.mkdir(parents=True, exist_ok=True)
        program(real.parent, "claude")
        file.parent.chmod(0o755)
    for path, mode in vector.get("modes", {}).items():
        place(path).chmod(int(mode, 8))
    guards = [str(place(vector[key])) for key in ("run_dir", "checkout") if key in vector]
    folders = ":".join(str(place(part)) if part.startswith("$") else part for part in listed.split(":"))
    if vector["id"] == "case-fold":  # this file system may be one that tells upper case from lower
        folders, guards = str(places["$R"] / "tools"), [str(place("$R_UPPERCASED"))]
    found = look_up(
        "claude",
        environment(folders, vector.get("platform", "linux"), str(cwd)),
        guards or [str(places["$R"])],
    )
    assert ("absent" if found.reason else "admit") == vector["expect"], found
    assert bool(found.hit) is (vector["id"] not in ("not-on-path", "dangling") and "cwd_has" not in vector)


@pytest.mark.parametrize("vector", VECTORS["admin_group"], ids=lambda v: f"{v['os']}-{v['mode']}-{v['gid']}")
def test_admin_group(vector: dict[str, Any]) -> None:
    """49: the group of Homebrew's folders may write them, on macOS, and nobody else's."""
    assert (not who_can_write(int(vector["mode"], 8), vector["gid"], vector["os"])) is vector["admit"]


def test_a_program_of_the_system_is_admitted() -> None:
    """51: who owns it need not be who asks."""
    found = look_up("sh", environment("/usr/bin:/bin"), ["/home/ada"])
    assert found.hit and not found.reason and os.stat(found.real).st_uid == 0


def test_a_relative_folder_that_has_it_is_not_passed_over(tmp_path: Path) -> None:
    """50: whoever starts it by name gets what lies in the working directory."""
    good, cwd = program(tmp_path / "bin"), program(tmp_path / "cwd").parent
    for relative in ("", ".", "../cwd"):
        found = look_up("node", environment(f"{relative}:{good.parent}", cwd=str(cwd)), [])
        assert not found.hit and "relative folder" in found.reason
    assert look_up("node", environment(f"nothing:{good.parent}", cwd=str(cwd)), []).hit == str(good)


def test_a_way_through_the_project_is_refused(tmp_path: Path) -> None:
    """A folder of PATH that is a link into the project, or a link on the way, lets the project decide."""
    good = program(tmp_path / "bin", "real")
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    (project / "bin/node").symlink_to(good)
    (tmp_path / "into").symlink_to(project / "bin")
    (tmp_path / "over").mkdir(mode=0o755)
    (tmp_path / "over/node").symlink_to(project / "bin/node")
    for folder in ("into", "over"):
        found = look_up("node", environment(str(tmp_path / folder)), [str(project)])
        assert "in the project" in found.reason, folder
        assert not look_up("node", environment(str(tmp_path / folder)), []).reason


@pytest.mark.parametrize("line", ["{project}/python", "/usr/bin/env python", "/usr/bin/env -S A=1 python -u"])
def test_a_script_whose_interpreter_lies_in_the_project_is_refused(line: str, tmp_path: Path) -> None:
    project = program(tmp_path / "project", "python").parent
    script = program(tmp_path / "bin")
    script.write_text(f"#!{line.format(project=project)}\n")
    (script.parent / "python").symlink_to(project / "python")
    found = look_up("node", environment(str(script.parent)), [str(project)])
    assert "interpreter" in found.reason and "in the project" in found.reason
    assert not look_up("node", environment(str(script.parent)), []).reason


def test_an_interpreter_without_a_full_path_is_refused(tmp_path: Path) -> None:
    """It is looked up where the program is started, and hooks are started in the project."""
    script = program(tmp_path / "bin")
    for line in ("bin/python", "/usr/bin/env ./python"):
        script.write_text(f"#!{line}\n")
        assert "not an absolute path" in look_up("node", environment(str(script.parent)), []).reason


def test_scripts_that_name_each_other_do_not_hang(tmp_path: Path) -> None:
    first, second = program(tmp_path / "bin"), program(tmp_path / "bin", "other")
    first.write_text(f"#!{second}\n")
    second.write_text(f"#!{first}\n")
    assert look_up("node", environment(str(first.parent)), []).hit


def test_what_is_started_looks_nothing_up_in_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    (tmp_path / "into").symlink_to(project / "bin")
    beside = tmp_path / "project-x"
    path = f":.:bin:{project}:{project}/bin:{tmp_path}/into:{tmp_path}/x/../project:{beside}:/usr/bin"
    assert path_outside(environment(path), [str(project)]) == f"{beside}:/usr/bin"
    (tmp_path / "alias").symlink_to(project)
    assert path_outside(environment(path), [str(tmp_path / "alias")]) == f"{beside}:/usr/bin"
    assert path_outside(environment(str(project).upper(), "darwin"), [str(project)]) == ""
