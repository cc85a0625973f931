"""The published JSON Schema is made from the shapes of validation, and says the same."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import gsdlock
import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
from gsdlock.capabilities.schema import SCHEMA_PATH, capability_schema, capability_schema_text
from gsdlock.capabilities.validation import DESCRIPTOR
from hypothesis import given, settings
from hypothesis import strategies as st

SHIPPED = Path(os.path.dirname(gsdlock.__file__)) / "capabilities"
REPOSITORY = Path(__file__).resolve().parent.parent.parent
VECTORS: dict[str, Any] = json.loads(
    (REPOSITORY / "tests" / "data" / "validator_cases.json").read_text(encoding="utf-8")
)
DESCRIPTORS = sorted(SHIPPED.glob("*/capability.json"))


SCHEMA = jsonschema.Draft202012Validator(capability_schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(capability_schema())


def test_the_published_schema_is_the_one_that_the_shapes_give() -> None:
    published = (REPOSITORY / SCHEMA_PATH).read_text(encoding="utf-8")
    assert published == capability_schema_text(), (
        f"write {SCHEMA_PATH} anew: python -c "
        "'from gsdlock.capabilities.schema import *; print(capability_schema_text(), end=str())'"
    )


@pytest.mark.parametrize("path", DESCRIPTORS, ids=lambda p: p.parent.name)
def test_every_shipped_descriptor_follows_the_schema(path: Path) -> None:
    SCHEMA.validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("base", "path", "value"),
    [
        ("feature", "/tier", "mega"),
        ("feature", "/skills/0", "../x"),
        ("feature", "/zzz", 1),
        ("feature", "/steps/0/ref", {}),
        ("feature", "/mcpServers", {"s": {"type": "http"}}),
        ("runtime", "/runtime/hooksSurface", "x"),
        ("runtime", "/runtime/artifactLayout/global/0/destSubpath", "a/../b"),
        ("runtime", "/runtime/configHome", {"kind": "dot-home-nested", "name": "n", "env": []}),
        ("runtime", "/runtime/supportTier", "1"),
        ("reviewer", "/reviewer/probe", {"kind": "command-exists", "binary": "d", "extra": 1}),
        ("reviewer_http", "/reviewer/invoke/effortChannel", "argv"),
    ],
)
def test_the_schema_refuses_what_validation_refuses(base: str, path: str, value: Any) -> None:
    data = copy.deepcopy(VECTORS["bases"][base])
    assert SCHEMA.is_valid(data)
    *steps, last = path.split("/")[1:]
    place = data
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = value
    assert not SCHEMA.is_valid(data)


@pytest.mark.parametrize("base", sorted(VECTORS["bases"]))
def test_the_schema_leaves_unknown_behaviors_and_lane_fields_alone(base: str) -> None:
    data = copy.deepcopy(VECTORS["bases"][base])
    if "runtime" in data:
        data["runtime"]["hostBehaviors"] = {"bogus": 1}
    if "reviewer" in data:
        data["reviewer"]["bogus"] = 1
    assert SCHEMA.is_valid(data)


plain = st.text("ab./-~*Z0\\", max_size=4) | st.sampled_from(
    ["none", "skills", "claude", "undocumented", "*"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | plain,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(plain, inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, pointer: str = "") -> list[str]:
    found = [pointer] if pointer else []
    if isinstance(value, dict):
        found += [p for k, v in value.items() for p in places(v, f"{pointer}/{k}")]
    elif isinstance(value, list):
        found += [p for i, v in enumerate(value) for p in places(v, f"{pointer}/{i}")]
    return found


@pytest.mark.parametrize("base", sorted(VECTORS["bases"]))
@settings(deadline=None)
@given(data=st.data())
def test_schema_and_shapes_judge_alike(base: str, data: st.DataObject) -> None:
    descriptor = copy.deepcopy(VECTORS["bases"][base])
    *steps, last = data.draw(st.sampled_from(places(descriptor))).split("/")[1:]
    place = descriptor
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = data.draw(values)
    accepted = next(DESCRIPTOR.check(descriptor, ""), None) is None
    assert SCHEMA.is_valid(descriptor) is accepted
