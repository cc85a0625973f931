"""A descriptor becomes typed, frozen values; its digest is that of its meaning."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.model import (
    ConfigHome,
    ConfigSlice,
    Feature,
    FeatureHook,
    LayoutEntry,
    McpServer,
    Reviewer,
    Runtime,
    RuntimeCompat,
)
from gsdlock.capabilities.parse import descriptor_digest
from gsdlock.capabilities.validation import load_capability
from gsdlock.capabilities.vocabulary import ConverterName, HomeKind, LayoutKind, Nesting, Tier, Trigger
from hypothesis import given, settings
from hypothesis import strategies as st

BASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "validator_cases.json").read_text(encoding="utf-8")
)["bases"]


def load(name: str, **fields: Any) -> Any:
    return load_capability(copy.deepcopy(BASES[name]) | fields, "demo")


def test_a_runtime() -> None:
    runtime = load("runtime")
    assert isinstance(runtime, Runtime)
    assert runtime.config_home == ConfigHome(HomeKind.DOT_HOME, ".demo", env=("DEMO_DIR",))
    assert runtime.artifact_layout["global"] == (
        LayoutEntry(LayoutKind.SKILLS, "skills", "gsd-", Nesting.FLAT, ConverterName.COMMAND_TO_CLAUDE_SKILL),
    )
    assert runtime.artifact_layout["local"] == ()
    assert runtime.trigger_precedence == (Trigger.SKILLS, Trigger.COMMANDS)
    assert runtime.host_integration["dispatch"]["maxDepth"] == 1
    assert runtime.reviewer is None


def test_a_feature() -> None:
    feature = load(
        "feature",
        hooks=[{"event": "Stop", "script": "hooks/x.sh", "matcher": "Write"}],
        mcpServers={"b": {"type": "http", "url": "https://h"}, "a": {"command": "x", "args": ["-y"]}},
        engines={"gsd": ">=1.6.0"},
    )
    assert isinstance(feature, Feature)
    assert (feature.tier, feature.engines_gsd) == (Tier.FULL, ">=1.6.0")
    assert feature.skills == ("s1",)
    assert feature.hooks == (FeatureHook("Stop", "hooks/x.sh", "Write"),)
    assert feature.config == {"x.on": ConfigSlice("boolean", True, "d")}
    assert feature.mcp_servers == (
        McpServer("a", "stdio", command="x", args=("-y",)),
        McpServer("b", "http", url="https://h"),
    )
    assert feature.steps[0]["produces"] == ("A.md",)


def test_a_reviewer() -> None:
    reviewer = load("reviewer")
    assert isinstance(reviewer, Reviewer)
    assert reviewer.reviewer is not None and reviewer.reviewer["slug"] == "demo"


@pytest.mark.parametrize(
    ("compat", "runtime", "admitted"),
    [
        (RuntimeCompat(("*",)), "claude", True),
        (RuntimeCompat(("*",), ("claude",)), "claude", False),
        (RuntimeCompat(("codex",)), "claude", False),
        (RuntimeCompat(("claude", "codex")), "codex", True),
    ],
)
def test_for_which_runtimes_a_feature_is_meant(compat: RuntimeCompat, runtime: str, admitted: bool) -> None:
    assert compat.admits(runtime) is admitted


def test_nothing_of_a_capability_can_be_changed() -> None:
    feature = load("feature")
    with pytest.raises(AttributeError):
        feature.id = "other"
    for mapping in (feature.config, feature.steps[0], feature.data):
        with pytest.raises(TypeError):
            mapping["new"] = 1


def test_a_capability_does_not_change_with_the_data_it_was_made_of() -> None:
    data = copy.deepcopy(BASES["feature"])
    feature = load_capability(data, "demo")
    data["steps"][0]["produces"].append("B.md")
    data["config"].clear()
    assert feature == load("feature")


# --- the digest


def test_the_digest_is_that_of_the_meaning_not_of_the_spelling() -> None:
    text = json.dumps(BASES["feature"], indent=4)
    backwards = json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert descriptor_digest(backwards) == descriptor_digest(BASES["feature"]) == load("feature").digest
    assert load("feature", title="U").digest != load("feature").digest


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
values = st.dictionaries(
    st.text(max_size=3), st.recursive(scalars, lambda i: st.lists(i, max_size=3), max_leaves=4)
)


def spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@settings(deadline=None)
@given(values, values)
def test_different_descriptors_have_different_digests(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert (descriptor_digest(a) == descriptor_digest(b)) is (spelled(a) == spelled(b))
