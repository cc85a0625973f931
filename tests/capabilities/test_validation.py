"""What a descriptor may say: the recorded verdicts, and everything in which we are stricter."""

from __future__ import annotations

from typing import Any

import pytest
from gsdlock.capabilities.descriptor_warnings import DescriptorWarning, WarningCode, warnings_of
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.validation import MOST_FAULTS, load_capability, read_descriptor, validate
from hypothesis import given, settings
from hypothesis import strategies as st

from .descriptorkit import CASES, LATER, STRICTER, base, changed, faults, pointers, put, with_

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
