"""What a runtime may say: no path of it leads out, and a known behaviour has its type."""

from __future__ import annotations

from typing import Any

import pytest

from .descriptorkit import base, faults, pointers, put, with_

ESCAPES = [
    "..",
    ".",
    "../x",
    "a/../b",
    "/abs",
    "a\\b",
    "a\0b",
    "a/",
    "/",
    "a//b",
    "C:x",
    "a/.",
    "a\nb",
    "a\x85b",
    "",
]
PATHS = [
    "/runtime/configHome/name",
    "/runtime/configHome/parent",
    "/runtime/configHome/probe/0",
    "/runtime/configHome/probeExists",
    "/runtime/configHome/skillsHome/name",
    "/runtime/localConfigDir",
    "/runtime/artifactLayout/global/0/destSubpath",
    "/runtime/artifactLayout/global/0/home",
    "/runtime/nativeSkills/global/destSubpath",
    "/runtime/nativeSkills/global/home",
    "/runtime/nativeSkills/local/destSubpath",
    "/runtime/skillsRead/local/0",
    "/runtime/skillsRead/global/0",
    "/runtime/skillsRead/global/1/1",
    "/runtime/commandsRead/global/0",
    "/runtime/skillsOrder/0",
    "/runtime/commandsRead/local/0",
    "/runtime/roots/hooks-home/name",
    "/runtime/hostBehaviors/flatCommandDir",
    "/runtime/hostBehaviors/nativePlugin/dir",
    "/runtime/hostBehaviors/nativePlugin/file",
    "/runtime/hostBehaviors/nativePlugin/source",
    "/runtime/hostBehaviors/projectInstructionFile",
    "/runtime/hostBehaviors/retiredArtifacts/0/destSubpath",
    "/runtime/hostBehaviors/settingsFileByScope/local",
    "/runtime/hostBehaviors/sharedHooksDirName",
    "/runtime/hostBehaviors/sourceMarkerFile",
]


def full_runtime() -> Any:
    """A runtime in which every path of the vocabulary stands."""
    data = base("runtime")
    body = data["runtime"]
    body["configHome"] = {
        "kind": "dot-home-nested",
        "name": "demo",
        "parent": ".parent",
        "env": ["DEMO_HOME"],
        "probe": ["demo", "demo-next"],
        "probeExists": "gsd-core/VERSION",
        "skillsHome": {"kind": "dot-home", "name": ".skills", "env": []},
    }
    body["artifactLayout"]["global"][0]["home"] = ".agents"
    body["nativeSkills"] = {"global": {"destSubpath": "s", "home": ".agents"}, "local": {"destSubpath": "s"}}
    shared = ["~/.config/agents/skills", "~/.agents/skills"]
    body["skillsRead"] = {"global": ["{config}/skills/**", shared], "local": [".demo/skills"]}
    body["skillsOrder"] = [".demo/skills", "{config}/skills/**"]
    body["commandsRead"] = {"global": ["{config}/commands/**"], "local": [".demo/commands"]}
    body["roots"] = {"hooks-home": {"kind": "dot-home", "name": ".hooks", "env": ["DEMO_HOOKS"]}}
    body["hostBehaviors"] = {
        "flatCommandDir": "command",
        "nativePlugin": {"dir": "plugins", "file": "gsd.js", "source": ".x/gsd.js"},
        "projectInstructionFile": "DEMO.md",
        "retiredArtifacts": [{"destSubpath": "commands", "prefix": "gsd-", "suffix": ".md"}],
        "settingsFileByScope": {"global": "s.json", "local": "s.local.json"},
        "sharedHooksDirName": "hooks",
        "sourceMarkerFile": ".source",
    }
    return data


def test_a_runtime_with_every_path_is_valid() -> None:
    assert not faults(full_runtime())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("escape", ESCAPES)
def test_no_path_of_a_runtime_leads_out(path: str, escape: str) -> None:
    assert path in pointers(put(full_runtime(), path, escape))


@pytest.mark.parametrize(
    "path", ["/runtime/configHome", "/runtime/artifactLayout/local", "/runtime/nativeSkills"]
)
def test_a_field_of_the_global_scope_only_is_refused_elsewhere(path: str) -> None:
    data = full_runtime()
    if path.endswith("local"):
        data["runtime"]["artifactLayout"]["local"] = data["runtime"]["artifactLayout"]["global"]
        assert pointers(data) == ["/runtime/artifactLayout/local/0/home"]
    elif path.endswith("nativeSkills"):
        data["runtime"]["nativeSkills"]["local"]["home"] = ".agents"
        assert pointers(data) == ["/runtime/nativeSkills/local/home"]
    else:
        data["runtime"]["configHome"]["skillsHome"]["skillsHome"] = {
            "kind": "dot-home",
            "name": ".x",
            "env": [],
        }
        assert pointers(data) == ["/runtime/configHome/skillsHome/skillsHome"]


@pytest.mark.parametrize(
    "value", [[], ["~/.x/skills"], ["~/.x/skills", "~/.x/skills"], {}, None, "{home}/x/.."]
)
def test_what_is_read_is_a_folder_or_several_of_which_the_first_counts(value: Any) -> None:
    found = pointers(put(full_runtime(), "/runtime/skillsRead/global/0", value))
    assert any(p.startswith("/runtime/skillsRead/global/0") for p in found)


def test_what_has_an_order_is_read() -> None:
    data = put(full_runtime(), "/runtime/skillsOrder/0", ".demo/other")
    assert pointers(data) == ["/runtime/skillsOrder/0"]
    assert not faults(put(full_runtime(), "/runtime/skillsOrder/0", "~/.agents/skills")), "one of a group"


def test_all_entries_with_an_alternate_home_share_it() -> None:
    data = full_runtime()
    data["runtime"]["nativeSkills"]["global"]["home"] = ".other"
    assert pointers(data) == ["/runtime/nativeSkills/global/home"]
    data = full_runtime()
    data["runtime"]["roots"]["agents-home"] = {"kind": "dot-home", "name": ".other", "env": []}
    assert pointers(data) == ["/runtime/artifactLayout/global/0/home", "/runtime/nativeSkills/global/home"]


@pytest.mark.parametrize("root", ["config", "skills", "project", "elsewhere"])
def test_only_second_roots_can_be_declared(root: str) -> None:
    home = {"kind": "dot-home", "name": ".x", "env": []}
    assert pointers(with_("runtime", "/runtime/roots", {root: home})) == [f"/runtime/roots/{root}"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agentTomlFiles", "yes"),
        ("nativePlugin", {"dir": "p"}),
        ("brandingRewrites", []),
        ("frontmatterDialect", "cluade"),
        ("agentFileExtension", "agent.md"),
        ("legacyCommandsGsdUninstall", "local"),
    ],
)
def test_a_known_host_behavior_has_its_type(key: str, value: Any) -> None:
    found = pointers(with_("runtime", "/runtime/hostBehaviors", {key: value}))
    assert found and all(p.startswith(f"/runtime/hostBehaviors/{key}") for p in found)
