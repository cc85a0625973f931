"""What a descriptor may say: the recorded verdicts, and everything in which we are stricter."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.descriptor_warnings import DescriptorWarning, WarningCode, warnings_of
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.shapes import Fault
from gsdlock.capabilities.validation import MOST_FAULTS, load_capability, read_descriptor, validate
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).parent.parent / "data"
VECTORS: dict[str, Any] = json.loads((DATA / "validator_cases.json").read_text(encoding="utf-8"))
LATER = VECTORS["later_cases"]
CASES = [*VECTORS["cases"], *LATER["trigger_precedence"], *LATER["host_behavior_warnings"]]
STRICTER: dict[str, str] = {
    case["id"]: case["pointer"]
    for case in json.loads((DATA / "validator_stricter.json").read_text(encoding="utf-8"))["cases"]
}


def base(name: str) -> Any:
    """A fresh descriptor without a fault: `runtime`, `feature`, `reviewer` or `reviewer_http`."""
    return copy.deepcopy(VECTORS["bases"][name])


def changed(name: str, ops: list[dict[str, Any]]) -> Any:
    """A base with operations done to it: {op: set or remove, path: JSON pointer, value}."""
    data = base(name)
    for op in ops:
        *steps, last = [p.replace("~1", "/").replace("~0", "~") for p in op["path"].split("/")[1:]]
        place = data
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        key: Any = int(last) if isinstance(place, list) else last
        if op["op"] == "set":
            place[key] = op["value"]
        else:
            del place[key]
    return data


def with_(name: str, path: str, value: Any) -> Any:
    """A base with one value set."""
    return changed(name, [{"op": "set", "path": path, "value": value}])


def faults(data: Any) -> tuple[Fault, ...]:
    return validate(data, "demo").faults


def pointers(data: Any) -> list[str]:
    return [f.pointer for f in faults(data)]


# --- the recorded verdicts


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_verdicts_are_as_recorded_or_stricter_for_a_stated_reason(case: dict[str, Any]) -> None:
    found = faults(changed(case["base"], case["ops"]))
    if case["id"] in STRICTER:
        assert case["accept"], "a stricter case is one that the reference accepts"
        assert STRICTER[case["id"]] in [f.pointer for f in found]
    else:
        assert (not found) is case["accept"], [str(f) for f in found]


@pytest.mark.parametrize("case", [c for c in CASES if not c["accept"]], ids=lambda c: c["id"])
def test_a_fault_lies_at_the_change_or_beside_it(case: dict[str, Any]) -> None:
    beside = {op["path"].rsplit("/", 1)[0] for op in case["ops"]}
    found = pointers(changed(case["base"], case["ops"]))
    assert any(pointer.startswith(f"{place}/") for pointer in found for place in beside)


@pytest.mark.parametrize("case", LATER["host_behavior_warnings"], ids=lambda c: c["id"])
def test_warnings_are_as_recorded(case: dict[str, Any]) -> None:
    found = warnings_of(changed(case["base"], case["ops"]))
    assert [w.code for w in found] == case["warning_codes"]
    assert next((w.omitted for w in found if w.omitted), None) == case["omitted"]


# --- what a fault says


def test_all_faults_are_found_at_once() -> None:
    data = base("runtime")
    data["tier"] = "mega"
    data["runtime"]["sandboxTier"] = "codex-agent-sandbx"
    del data["runtime"]["hooksSurface"]
    data["runtime"]["artifactLayout"]["global"][0]["destSubpath"] = "../x"
    data["runtime"]["zzz"] = 1
    assert sorted(pointers(data)) == [
        "/runtime/artifactLayout/global/0/destSubpath",
        "/runtime/hooksSurface",
        "/runtime/sandboxTier",
        "/runtime/zzz",
        "/tier",
    ]


def test_a_fault_shows_the_value_what_is_allowed_and_the_nearest() -> None:
    (fault,) = faults(with_("runtime", "/runtime/hooksSurface", "setings-json"))
    assert fault.value == '"setings-json"'
    assert "settings-json" in fault.allowed and "none" in fault.allowed
    assert fault.nearest == "settings-json"
    assert str(fault).startswith("/runtime/hooksSurface: must be one of ")
    assert str(fault).endswith('not "setings-json" (did you mean settings-json?)')


def test_an_unknown_field_names_the_nearest_known_one() -> None:
    (fault,) = faults(with_("runtime", "/runtime/nativeSkill", None))
    assert (fault.pointer, fault.nearest) == ("/runtime/nativeSkill", "nativeSkills")


def test_keys_are_escaped_in_pointers() -> None:
    assert "/a~1b~0c" in pointers(with_("feature", "/a~1b~0c", 1))


def test_hostile_text_is_bounded_and_stripped() -> None:
    (fault,) = faults(with_("feature", "/tier", "\x1b[2J\u202e" + "x" * 5000))
    assert fault.value is not None
    assert "\x1b" not in str(fault) and "\u202e" not in str(fault)
    assert len(fault.value) < 100


def test_a_flood_of_faults_is_cut() -> None:
    assert len(faults(base("feature") | {f"k{i}": i for i in range(200_000)})) == MOST_FAULTS


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/skills", [f"s{i}" for i in range(1001)]),
        ("/steps", [base("feature")["steps"][0]] * 1001),
        ("/config", {f"k{i}": {"type": "boolean", "default": True, "description": "d"} for i in range(1001)}),
    ],
)
def test_what_nobody_needs_so_many_of_is_refused(path: str, value: Any) -> None:
    assert [str(f) for f in faults(with_("feature", path, value)) if f.pointer == path] == [
        f"{path}: must hold at most 1000, not an {'object' if path == '/config' else 'array'} of 1001"
    ]


def test_a_large_set_is_not_listed_in_full() -> None:
    data = with_("feature", "/skills", [f"s{i:03}" for i in range(1000)])
    (fault,) = faults(put(data, "/steps/0/ref/skill", "s0001"))
    assert fault.nearest == "s001" and len(fault.message) < 500


def test_a_refusal_lists_every_fault() -> None:
    data = with_("feature", "/tier", "mega")
    data["title"] = ""
    with pytest.raises(GsdlockError) as refusal:
        load_capability(data, "demo", "demo/capability.json")
    assert refusal.value.code == "E-DESCRIPTOR-INVALID"
    assert refusal.value.status == 3
    assert refusal.value.where == "demo/capability.json"
    assert [d.split(":")[0] for d in refusal.value.details] == ["/title", "/tier"]


# --- paths and stems never lead out

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


def put(data: Any, pointer: str, value: Any) -> Any:
    *steps, last = pointer.split("/")[1:]
    place = data
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = value
    return data


def test_a_runtime_with_every_path_is_valid() -> None:
    assert not faults(full_runtime())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("escape", ESCAPES)
def test_no_path_of_a_runtime_leads_out(path: str, escape: str) -> None:
    assert path in pointers(put(full_runtime(), path, escape))


@pytest.mark.parametrize("field", ["skills", "agents"])
@pytest.mark.parametrize(
    "stem", ["..", "../../escape", "a/b", "a\\b", ".hidden", "-x", "a b", "", "a\0", "__proto__"]
)
def test_a_stem_is_one_plain_name(field: str, stem: str) -> None:
    assert f"/{field}/1" in pointers(put(with_("feature", f"/{field}", ["s1", "?"]), f"/{field}/1", stem))


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


# --- features


@pytest.mark.parametrize(
    "server",
    [
        {"command": "npx"},
        {"command": "npx", "args": ["-y", ""], "env": {"A": ""}},
        {"type": "stdio", "command": "x"},
        {"type": "http", "url": "https://h.example/mcp"},
        {"type": "sse", "url": "http://localhost:1", "headers": {"X-Key": "v"}},
    ],
)
def test_mcp_servers_that_are_taken(server: dict[str, Any]) -> None:
    assert not faults(with_("feature", "/mcpServers", {"srv": server}))


@pytest.mark.parametrize(
    ("servers", "pointer"),
    [
        ([], "/mcpServers"),
        ({"a/b": {"command": "x"}}, "/mcpServers/a~1b"),
        ({"constructor": {"command": "x"}}, "/mcpServers/constructor"),
        ({"s": {}}, "/mcpServers/s/command"),
        ({"s": {"command": "x", "url": "https://h"}}, "/mcpServers/s/url"),
        ({"s": {"command": "x", "env": {"A=B": "1"}}}, "/mcpServers/s/env/A=B"),
        ({"s": {"command": "x", "args": "-y"}}, "/mcpServers/s/args"),
        ({"s": {"type": "http"}}, "/mcpServers/s/url"),
        ({"s": {"type": "http", "url": "file:///etc/passwd"}}, "/mcpServers/s/url"),
        ({"s": {"type": "grpc", "url": "https://h"}}, "/mcpServers/s/type"),
    ],
)
def test_mcp_servers_that_are_refused(servers: Any, pointer: str) -> None:
    assert pointer in pointers(with_("feature", "/mcpServers", servers))


@pytest.mark.parametrize(
    ("slice_", "pointer"),
    [
        ({"type": "boolean", "default": "true", "description": "d"}, "/config/k/default"),
        ({"type": "number", "default": float("nan"), "description": "d"}, "/config/k/default"),
        ({"type": "number", "default": True, "description": "d"}, "/config/k/default"),
        ({"type": "string", "default": None, "description": "d"}, "/config/k/default"),
        ({"type": "string", "default": "", "description": ""}, "/config/k/description"),
        ({"type": "enum", "default": "c", "values": ["a", "b"], "description": "d"}, "/config/k/default"),
        ({"type": "enum", "default": "a", "values": [], "description": "d"}, "/config/k/values"),
        ({"type": "boolean", "default": True, "values": ["a"], "description": "d"}, "/config/k/values"),
    ],
)
def test_a_config_key_has_a_type_and_a_default_of_it(slice_: dict[str, Any], pointer: str) -> None:
    assert pointers(with_("feature", "/config/k", slice_)) == [pointer]


@pytest.mark.parametrize("range_", [">=1 ||| 2", "1.2.3.4", "> ", ">=1,<2", "~>>1"])
def test_an_engine_range_is_one_that_npm_reads(range_: str) -> None:
    assert pointers(with_("feature", "/engines", {"gsd": range_})) == ["/engines/gsd"]


# --- review lanes


@pytest.mark.parametrize("name", ["PATH", "node_options", "Ld_Preload", "PYTHONPATH"])
def test_a_lane_sets_no_variable_that_makes_something_else_run(name: str) -> None:
    assert pointers(with_("reviewer", "/reviewer/invoke/env", {name: "x"})) == [
        f"/reviewer/invoke/env/{name}"
    ]


def test_a_lane_may_set_other_variables() -> None:
    assert not faults(with_("reviewer", "/reviewer/invoke/env", {"DEMO_QUIET": "1"}))


def test_a_default_effort_needs_the_key_that_changes_it() -> None:
    data = with_("reviewer", "/reviewer/defaultEffort", "high")
    assert pointers(data) == ["/reviewer/defaultEffort"]
    data["reviewer"]["effortConfigKey"] = "review.effort.demo"
    assert not faults(data)


def test_a_wrong_transport_does_not_hide_the_other_faults() -> None:
    data = with_("reviewer", "/reviewer/transport", "grpc")
    data["reviewer"]["slug"] = "Bad"
    assert pointers(data) == ["/reviewer/transport", "/reviewer/slug"]


# --- warnings


def test_warnings_are_capped_sorted_by_place_and_harmless_to_show() -> None:
    data = with_("runtime", "/runtime/hostBehaviors", {f"\x1bk{i}" + "x" * 90: 1 for i in range(1000)})
    data["reviewer"] = base("reviewer")["reviewer"] | {"bogus": 1}
    found = warnings_of(data)
    assert len(found) == 12
    assert found[10] == DescriptorWarning(
        WarningCode.UNKNOWN_HOST_BEHAVIOR, "demo", "runtime.hostBehaviors", omitted=990
    )
    assert all("\x1b" not in str(w) for w in found)
    assert found[0].field == "runtime.hostBehaviors.\ufffdk0" + "x" * 77 + "…"
    assert found[11].field == "reviewer.bogus" and "slug" in found[11].known


def test_a_removed_behavior_names_what_replaces_it() -> None:
    (warning,) = warnings_of(with_("runtime", "/runtime/hostBehaviors", {"reviewerCli": None}))
    assert (warning.code, warning.replacement) == (WarningCode.REMOVED_HOST_BEHAVIOR, "reviewer")


def test_an_unknown_behavior_is_not_read() -> None:
    data = with_(
        "runtime", "/runtime/hostBehaviors", {"noPathRewrite": True, "bogus": 1, "reviewerCli": True}
    )
    runtime = load_capability(data, "demo")
    assert dict(runtime.host_behaviors) == {"noPathRewrite": True}  # type: ignore[attr-defined]  # it is a runtime


# --- the bytes of a file


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1,}', "not JSON"),
        (b"// c\n{}", "not JSON"),
        (b"\xff{}", "not JSON"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'"\\ud800"', "surrogates"),
        (b"[" * 100_000, "too deeply"),
        (b"", "not JSON"),
    ],
)
def test_a_file_that_is_not_strict_json_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(GsdlockError) as refusal:
        read_descriptor(content, "x/capability.json")
    assert refusal.value.code == "E-DESCRIPTOR-SYNTAX"
    assert reason in refusal.value.what


def test_a_syntax_fault_has_line_and_column() -> None:
    with pytest.raises(GsdlockError) as refusal:
        read_descriptor(b'{\n  "a": 1,\n}', "x/capability.json")
    assert refusal.value.where == "x/capability.json:3:1"


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(GsdlockError) as refusal:
        read_descriptor(b" " * (8 * 1024 * 1024 + 1), "x/capability.json")
    assert refusal.value.code == "E-DESCRIPTOR-SIZE"


# --- nothing that JSON can hold breaks the validator

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, pointer: str = "") -> list[str]:
    found = [pointer] if pointer else []
    if isinstance(value, dict):
        found += [p for k, v in value.items() for p in places(v, f"{pointer}/{k.replace('/', '~1')}")]
    elif isinstance(value, list):
        found += [p for i, v in enumerate(value) for p in places(v, f"{pointer}/{i}")]
    return found


@settings(deadline=None)
@given(json_values)
def test_any_json_gets_a_verdict(data: Any) -> None:
    assert validate(data, "demo").faults


@pytest.mark.parametrize("name", ["runtime", "feature", "reviewer", "reviewer_http"])
@settings(deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_gets_a_verdict(name: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(places(base(name))))
    altered = with_(name, place, data.draw(json_values))
    verdict = validate(altered, "demo")
    if not verdict.faults:
        load_capability(altered, "demo")
    assert all(f.pointer.startswith("/") for f in verdict.faults)
