"""What capabilities must be to one another."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.cross import CrossFault, cross_faults, engine_faults, find_cycle
from gsdlock.capabilities.model import Capability
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.validation import load_capability
from hypothesis import given, settings
from hypothesis import strategies as st

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "validator_cases.json").read_text(encoding="utf-8")
)


def feature(id_: str, **fields: Any) -> Capability:
    """A feature that owns nothing but what is said."""
    data = copy.deepcopy(VECTORS["bases"]["feature"])
    data |= {
        "id": id_,
        "skills": [],
        "agents": [],
        "config": {},
        "steps": [],
        "contributions": [],
        "gates": [],
    }
    return load_capability(data | fields, id_)


def step(point: str, produces: list[str], consumes: list[str]) -> dict[str, Any]:
    ref = {"command": "c"}
    return {"point": point, "ref": ref, "produces": produces, "consumes": consumes, "onError": "skip"}


def messages(*capabilities: Capability) -> list[str]:
    return [str(f) for f in cross_faults(capabilities)]


@pytest.mark.parametrize("case", VECTORS["cross_cases"], ids=lambda c: c["id"])
def test_verdicts_on_sets_are_as_recorded(case: dict[str, Any]) -> None:
    members = [load_capability(c, c["id"]) for c in case["capabilities"]]
    found = cross_faults(members, frozenset(case["central_keys"]))
    assert (not found) is case["accept"], found
    if not case["throws"]:
        assert len(found) == case["error_count"]


def test_the_shipped_capabilities_go_together() -> None:
    registry = load_builtin()
    assert cross_faults(registry.get(i) for i in registry.ids) == ()


def test_faults_do_not_depend_on_the_order_of_the_set() -> None:
    members = [feature("a", requires=["c"], skills=["s"]), feature("b", requires=["a"], skills=["s"])]
    members.append(feature("c", requires=["b"], tier="core"))
    assert cross_faults(members) == cross_faults(reversed(members))


def test_a_missing_requirement_names_the_nearest() -> None:
    assert messages(feature("a", requires=["reserch"]), feature("research")) == [
        "a requires reserch, which does not exist (did you mean research?)"
    ]


def test_a_circle_is_shown_as_a_path_from_its_first_member() -> None:
    circle = [feature("b", requires=["c"]), feature("c", requires=["a"]), feature("a", requires=["b"])]
    assert messages(*circle, feature("d", requires=["a"])) == [
        "capabilities require one another in a circle: a → b → c → a"
    ]


def test_a_tier_may_not_require_a_higher_one() -> None:
    assert messages(feature("a", tier="standard", requires=["b"]), feature("b", tier="full")) == [
        "a (standard) requires b of higher tier full"
    ]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("skill", {"skills": ["x"]}),
        ("agent", {"agents": ["x"]}),
        ("command family", {"commands": [{"family": "x", "module": "m.cjs", "router": "r"}]}),
        ("MCP server", {"mcpServers": {"x": {"command": "c"}}}),
        ("config key", {"config": {"x": {"type": "boolean", "default": True, "description": "d"}}}),
    ],
)
def test_everything_has_one_owner(kind: str, fields: dict[str, Any]) -> None:
    assert messages(feature("a", **fields), feature("b", **fields), feature("c", **fields)) == [
        f"{kind} x is owned by a, b and c"
    ]


def test_a_capability_does_not_own_a_thing_twice() -> None:
    assert messages(feature("a", skills=["x", "x"])) == ["skill x is owned by a twice"]


def test_a_named_runtime_exists() -> None:
    compat = {"supported": ["cluade"], "unsupported": [], "notes": {"*": "n"}}
    assert messages(feature("a", runtimeCompat=compat), load_builtin().get("claude")) == [
        "a names the runtime cluade, which does not exist (did you mean claude?)"
    ]


def test_a_step_says_from_when_its_artifact_is_there() -> None:
    early = feature("a", steps=[step("plan:pre", [], ["S.md"])])
    late = feature("b", steps=[step("plan:post", ["S.md"], [])])
    assert messages(early, late) == ["a consumes S.md at plan:pre, which is produced only at plan:post"]
    assert messages(early) == ["a consumes S.md at plan:pre, which nothing else produces"]


def test_two_steps_of_one_capability_are_two_producers() -> None:
    both = feature("a", steps=[step("plan:pre", ["S.md"], []), step("plan:pre", ["S.md"], [])])
    assert messages(both) == ["S.md is produced at plan:pre by a twice"]


def test_contributions_of_one_point_are_ordered_too() -> None:
    def contribution(produces: str, consumes: str) -> dict[str, Any]:
        flow = {"point": "plan:pre", "produces": [produces], "consumes": [consumes]}
        return flow | {"into": "planner", "fragment": {"inline": "x"}}

    a = feature("a", contributions=[contribution("A", "B")])
    b = feature("b", contributions=[contribution("B", "A")])
    (fault,) = cross_faults([a, b])
    assert fault.capabilities == ("a", "b")
    assert fault.message.startswith("contributions at plan:pre wait for one another")


# --- engines


@pytest.mark.parametrize(
    ("range_", "version", "holds"),
    [
        (">=1.6.0", "1.10.0", True),
        ("^1.6", "2.0.0", False),
        (">=1.10.0", "1.10.0-rc.1", False),
        ("1.0.0 - 2.0.0", "1.10.0", True),
    ],
)
def test_engine_ranges_are_those_of_npm(range_: str, version: str, holds: bool) -> None:
    found = engine_faults([feature("a", engines={"gsd": range_})], version)
    assert (not found) is holds


def test_an_engine_fault_names_the_version_that_would_do() -> None:
    compat = {"0.9.0": ">=1.0.0 <2", "0.8.0": "^1", "2.0.0": "^3"}
    needy = feature("a", engines={"gsd": "^2"}, compatVersions=compat)
    assert engine_faults([needy], "1.10.0") == (
        CrossFault(("a",), "a 1.0.0 wants GSD ^2, not 1.10.0; its version 0.9.0 would"),
    )


def test_the_shipped_capabilities_hold_for_the_level_that_they_state() -> None:
    registry = load_builtin()
    assert engine_faults((registry.get(i) for i in registry.ids), "1.10.0") == ()


# --- circles

graphs = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3, unique=True)
)


@settings(deadline=None)
@given(graphs)
def test_a_circle_is_one_and_is_found_where_there_is_one(needs: dict[str, list[str]]) -> None:
    cycle = find_cycle(needs)
    if cycle:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert all(b in needs.get(a, ()) for a, b in pairwise(cycle))
    else:
        left = dict(needs)
        while free := [n for n, wants in left.items() if not any(w in left for w in wants)]:
            for node in free:
                del left[node]
        assert not left
