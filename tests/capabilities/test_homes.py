"""Where hosts keep their configuration: the recorded vectors, and what we refuse above them."""

from __future__ import annotations

import json
import ntpath
import posixpath
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.homes import (
    Surroundings,
    config_home,
    hooks_home,
    local_directory,
    placed_root,
    resolve_roots,
    skills_base,
)
from gsdlock.capabilities.model import ConfigHome, LayoutEntry, Runtime
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import HomeKind, LayoutKind

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "confighome_cases.json").read_text(encoding="utf-8")
)["cases"]
# The reference takes any unknown id for another host. We refuse it, so these vectors hold no path for us.
UNKNOWN_IDS = {"CH124", "CH125", "CH126", "CH127", "CH128", "CH129", "CH136"}
ERRORS = {
    "no_config_home": "E-HOME-NONE",
    "local_install_deferred": "E-HOME-LOCAL-DEFERRED",
    "no_local_config_dir": "E-HOME-LOCAL-NONE",
}
KNOWN = [c for c in CASES if c["id"] not in UNKNOWN_IDS]


def existing(paths: list[str], platform: str) -> Callable[[str], bool]:
    """A disk on which these paths and all their parents exist."""
    flavour = ntpath if platform == "win32" else posixpath
    there: set[str] = set()
    for path in paths:
        while path not in there:
            there.add(path)
            path = flavour.dirname(path)
    return there.__contains__


def surroundings(case: Mapping[str, Any]) -> Surroundings:
    platform = "win32" if case["platform"] == "win32" else "linux"
    there = existing(case.get("exists") or [], platform)
    return Surroundings(case.get("env") or {}, case["home"], there, platform)


def home_of(data: Mapping[str, Any]) -> ConfigHome:
    """A config home as a vector states it, whether or not a descriptor could."""
    inner = data.get("skillsHome")
    return ConfigHome(
        HomeKind(data["kind"]),
        data["name"],
        data.get("parent", ""),
        tuple(data["env"]),
        tuple(data.get("probe", ())),
        data.get("probeExists"),
        home_of(inner) if inner else None,
    )


def resolve(case: Mapping[str, Any]) -> str:
    around = surroundings(case)
    if case["fn"] == "config_home" and case.get("configHome"):
        return config_home(home_of(case["configHome"]), around).path
    runtime = load_builtin().runtime(case["runtime"])
    if case["fn"] == "local_target":
        return local_directory(runtime, case["cwd"], around)
    if case["fn"] == "kimi_hooks_dir":
        return hooks_home(runtime, around).path
    return config_home(runtime.config_home, around, case.get("explicit_dir") or "").path


@pytest.mark.parametrize("case", KNOWN, ids=[c["id"] for c in KNOWN])
def test_homes_are_found_as_recorded(case: dict[str, Any]) -> None:
    if case.get("expect_error"):
        with pytest.raises(GsdlockError) as refusal:
            resolve(case)
        assert refusal.value.code == ERRORS[case["expect_error"]]
    else:
        assert resolve(case) == case["expect"]


@pytest.mark.parametrize("case", [c for c in CASES if c["id"] in UNKNOWN_IDS], ids=lambda c: c["id"])
def test_an_unknown_runtime_is_never_taken_for_another(case: dict[str, Any]) -> None:
    with pytest.raises(GsdlockError) as refusal:
        load_builtin().runtime(case.get("runtime") or "")
    assert refusal.value.code == "E-RUNTIME-UNKNOWN"


BASES = [c for c in KNOWN if c.get("expect_skills_base") and c.get("runtime")]


@pytest.mark.parametrize("case", BASES, ids=[c["id"] for c in BASES])
def test_the_skills_of_a_global_install_lie_as_recorded(case: dict[str, Any]) -> None:
    base = skills_base(load_builtin().runtime(case["runtime"]), surroundings(case))
    assert base is not None
    assert base.path == case["expect_skills_base"]


def test_a_runtime_without_a_home_has_no_skills_base() -> None:
    assert skills_base(load_builtin().runtime("vscode"), Surroundings({}, "/home/u", lambda _: False)) is None


# --- resolve_roots


def environment(home: str | None = "/home/u", platform: str = "linux", **variables: str) -> Environment:
    folders = Folders("/f/config", "/f/data", "/f/state", "/f/cache")
    return Environment(variables, home, "/cwd", platform, 1000, folders, lambda: "2026-01-01T00:00:00.000Z")


def roots(runtime: str, scope: str = "global", env: Environment | None = None) -> dict[str, str]:
    found = resolve_roots(
        load_builtin().runtime(runtime), scope, env or environment(), "/project", lambda _: False
    )
    return dict(found.paths)


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        ("claude", {"config": "/home/u/.claude"}),
        ("codex", {"config": "/home/u/.codex", "agents-home": "/home/u/.agents"}),
        ("kilo", {"config": "/home/u/.config/kilo", "skills": "/home/u/.kilo"}),
        ("kimi", {"config": "/home/u/.config/agents", "hooks-home": "/home/u/.kimi"}),
        ("kimi-code", {"config": "/home/u/.kimi-code"}),
        ("cline", {"config": "/home/u/.cline", "agents-home": "/home/u/.agents"}),
    ],
)
def test_roots_at_global_scope(runtime: str, expected: dict[str, str]) -> None:
    assert roots(runtime) == expected


@pytest.mark.parametrize(
    ("runtime", "config"),
    [("claude", "/project/.claude"), ("copilot", "/project/.github"), ("cline", "/project")],
)
def test_roots_at_local_scope_are_the_folder_of_the_host_and_the_project(runtime: str, config: str) -> None:
    assert roots(runtime, "local") == {"config": config, "project": "/project"}


def test_roots_say_which_variable_decided() -> None:
    env = environment(KILO_CONFIG="/etc/kilo/kilo.json")
    found = resolve_roots(load_builtin().runtime("kilo"), "global", env, "/project", lambda _: False)
    assert found.paths["config"] == "/etc/kilo"
    assert dict(found.decided_by) == {"config": "KILO_CONFIG"}


def test_one_variable_does_not_move_the_root_of_another_product() -> None:
    moved = environment(KIMI_CODE_HOME="/c", KIMI_SHARE_DIR="/s", CODEX_HOME="/x")
    assert roots("kimi", env=moved) == {"config": "/home/u/.config/agents", "hooks-home": "/s"}
    assert roots("codex", env=moved) == {"config": "/x", "agents-home": "/home/u/.agents"}


def test_local_roots_have_no_override() -> None:
    assert roots("claude", "local", environment(CLAUDE_CONFIG_DIR="/c"))["config"] == "/project/.claude"


@pytest.mark.parametrize("value", ["rel/dir", "~bob/x", "$HOME/x", " /x ", "."])
def test_an_override_that_depends_on_the_working_directory_is_refused(value: str) -> None:
    with pytest.raises(GsdlockError) as refusal:
        roots("claude", env=environment(CLAUDE_CONFIG_DIR=value))
    assert refusal.value.code == "E-HOME-RELATIVE"
    assert "CLAUDE_CONFIG_DIR" in refusal.value.what


@pytest.mark.parametrize("value", ["C:rel", "\\rooted", "rel"])
def test_windows_paths_need_drive_and_root(value: str) -> None:
    with pytest.raises(GsdlockError) as refusal:
        roots("claude", env=environment("C:\\Users\\u", "win32", CLAUDE_CONFIG_DIR=value))
    assert refusal.value.code == "E-HOME-RELATIVE"


def test_without_a_home_an_override_is_enough() -> None:
    assert roots("claude", env=environment(None, CLAUDE_CONFIG_DIR="/c")) == {"config": "/c"}


@pytest.mark.parametrize(
    ("variables", "platform", "named"),
    [({}, "linux", "HOME"), ({"CLAUDE_CONFIG_DIR": "~/c"}, "linux", "HOME"), ({}, "win32", "USERPROFILE")],
)
def test_without_a_home_what_lies_below_it_is_refused(
    variables: dict[str, str], platform: str, named: str
) -> None:
    with pytest.raises(GsdlockError) as refusal:
        roots("claude", env=environment(None, platform, **variables))
    assert refusal.value.code == "E-HOME-UNSET"
    assert named in refusal.value.what


def test_spellings_of_one_folder_are_one_root() -> None:
    for value in ("/c/d", "/c/d/", "/c//d", "/c/./d"):
        assert roots("claude", env=environment(CLAUDE_CONFIG_DIR=value)) == {"config": "/c/d"}


def test_dots_in_an_override_are_left_to_the_file_system() -> None:
    assert roots("claude", env=environment(CLAUDE_CONFIG_DIR="/link/../d")) == {"config": "/link/../d"}


def first(runtime: Runtime, scope: str, kind: LayoutKind) -> LayoutEntry:
    return next(e for e in runtime.artifact_layout[scope] if e.kind is kind)


@pytest.mark.parametrize(
    ("runtime", "scope", "kind", "root"),
    [
        ("claude", "global", LayoutKind.SKILLS, "config"),
        ("codex", "global", LayoutKind.SKILLS, "agents-home"),
        ("codex", "local", LayoutKind.SKILLS, "config"),
        ("codex", "global", LayoutKind.AGENTS, "config"),
        ("kilo", "global", LayoutKind.SKILLS, "config"),
        ("kilo", "global", LayoutKind.COMMANDS, "config"),
        ("kilo", "local", LayoutKind.SKILLS, "config"),
    ],
)
def test_the_root_of_an_entry(runtime: str, scope: str, kind: LayoutKind, root: str) -> None:
    host = load_builtin().runtime(runtime)
    assert placed_root(host, scope, first(host, scope, kind)) == root


@pytest.mark.parametrize("scope", ["global", "local"])
@pytest.mark.parametrize("runtime", sorted(load_builtin().runtimes))
def test_every_entry_of_every_runtime_has_its_root(runtime: str, scope: str) -> None:
    host = load_builtin().runtime(runtime)
    entries: list[Any] = [*host.artifact_layout[scope]]
    if scope in host.native_skills:
        entries.append(host.native_skills[scope])
    for entry in entries:
        assert placed_root(host, scope, entry) in roots(runtime, scope)
