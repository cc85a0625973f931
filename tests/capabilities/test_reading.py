"""Where hosts look for skills and commands. Facts: measured on the clients, but for those that have none."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.model import Runtime
from gsdlock.capabilities.reading import host_view, is_present
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import LayoutKind, Scope, Trigger

RUNTIMES = load_builtin().runtimes


def environment(home: str | None = "/h", **variables: str) -> Environment:
    return Environment(variables, home, "/w", "linux", 1000, Folders("/c", "/d", "/s", "/k"), lambda: "")


def seen(
    host: str,
    kind: Trigger = Trigger.SKILLS,
    project: str = "/p",
    present: Collection[str] = (),
    home: str | None = "/h",
    **variables: str,
) -> list[str]:
    """The folders as text, `/**` behind those that are looked through."""
    view = host_view(RUNTIMES[host], environment(home, **variables), project, lambda path: path in present)
    return [f.path + ("/**" if f.below else "") for f in view.folders if f.kind is kind]


# host: (at global scope, in a project); N marks hosts that look through the folders below.
SHARED_AGENTS = {
    "augment": "N",
    "cline": "",
    "codex": "N",
    "copilot": "N",
    "gemini": "",
    "kilo": "N",
    "kimi-code": "N",
    "opencode": "N",
    "pi": "N",
    "qwen": "",
}


def test_ten_hosts_read_the_folder_that_codex_installs_in() -> None:
    found = {host: [f for f in seen(host) if f.startswith("/h/.agents/skills")] for host in RUNTIMES}
    told = {host: "N" if paths[0].endswith("/**") else "" for host, paths in found.items() if paths}
    assert told == SHARED_AGENTS


def test_the_hosts_that_read_the_folder_of_claude() -> None:
    readers = {host for host in RUNTIMES if any(f.startswith("/h/.claude/skills") for f in seen(host))}
    assert readers == {"claude", "augment", "kilo", "opencode"}


def test_of_several_folders_the_first_that_exists_is_read() -> None:
    """kimi: `~/.config/agents/skills` hides `~/.agents/skills`."""
    config, agents, claude = "/h/.config/agents/skills", "/h/.agents/skills", "/h/.claude/skills"
    assert seen("kimi", project="") == []
    assert seen("kimi", project="", present={agents, claude}) == [agents, claude]
    assert seen("kimi", project="", present={config, agents}) == [config]


def test_a_variable_moves_the_own_folder_only() -> None:
    moved = seen("codex", project="", CODEX_HOME="/elsewhere")
    assert moved == ["/elsewhere/skills/**", "/h/.agents/skills/**"]


# Measured on the clients, with a skill of one name in every folder: the one that is listed first to last.
ORDERS = {
    "augment": [
        "/h/.augment/skills/**",
        "/p/.augment/skills/**",
        "/h/.claude/skills/**",
        "/p/.claude/skills/**",
        "/h/.agents/skills/**",
        "/p/.agents/skills/**",
    ],
    "gemini": ["/p/.agents/skills", "/p/.gemini/skills", "/h/.agents/skills", "/h/.gemini/skills"],
    "pi": ["/p/.pi/skills/**", "/p/.agents/skills/**", "/h/.pi/agent/skills/**", "/h/.agents/skills/**"],
}


@pytest.mark.parametrize("host", RUNTIMES)
def test_of_two_skills_the_order_tells_where_it_is_known(host: str) -> None:
    view = host_view(RUNTIMES[host], environment(), "/p", lambda path: False)
    known = sorted((f for f in view.folders if f.rank is not None), key=lambda f: f.rank or 0)
    assert [f.path + ("/**" if f.below else "") for f in known] == ORDERS.get(host, [])
    assert not known or len(known) == len(seen(host)), "of all or of none"


def test_augment_takes_a_command_before_a_skill() -> None:
    """Measured; of the other hosts nothing else is known than what the vocabulary says."""
    commands_first = {i for i, r in RUNTIMES.items() if r.trigger_precedence[0] is Trigger.COMMANDS}
    assert commands_first == {"augment"}


def test_without_a_project_nothing_of_one_is_seen() -> None:
    assert seen("claude") == ["/h/.claude/skills", "/p/.claude/skills"]
    assert seen("claude", project="") == ["/h/.claude/skills"]


def test_what_cannot_be_told_is_left_out() -> None:
    assert seen("claude", home=None) == ["/p/.claude/skills"]
    assert seen("claude", project="", CLAUDE_CONFIG_DIR="relative") == []


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=lambda r: r.id)
def test_a_command_is_placed_where_the_host_looks(runtime: Runtime, scope: Scope) -> None:
    folder = "{config}" if scope == Scope.GLOBAL else runtime.local_config_dir
    read = {f.removesuffix("/**"): f.endswith("/**") for (f,) in runtime.commands_read.get(scope, ())}
    for entry in runtime.artifact_layout[scope]:
        if entry.kind is LayoutKind.COMMANDS:
            top, _, below = entry.dest_subpath.partition("/")
            assert f"{folder}/{top}" in read
            assert not below or read[f"{folder}/{top}"]


@pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=lambda r: r.id)
def test_the_sign_is_that_of_the_command_style(runtime: Runtime) -> None:
    view = host_view(runtime, environment(), "", lambda path: False)
    assert view.sign == ("$" if runtime.command_style.value == "shell-var" else "/")
    assert view.precedence == runtime.trigger_precedence


def test_a_host_is_known_by_its_own_home_and_not_by_a_shared_one() -> None:
    def present(*paths: str) -> set[str]:
        return {i for i, r in RUNTIMES.items() if is_present(r, environment(), lambda p: p in paths)}

    assert present("/h/.codex") == {"codex"}
    assert present("/h/.agents", "/h/.agents/skills") == set()
    assert present("/h/.kimi") == {"kimi"}
    assert is_present(RUNTIMES["claude"], environment(None), lambda p: True) is False
