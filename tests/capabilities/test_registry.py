"""All capabilities by id: read when asked for, overlays on top."""

from __future__ import annotations

import copy
import json
import os
import shutil
from pathlib import Path
from typing import Any

import gsdlock.capabilities
import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.model import Capability
from gsdlock.capabilities.registry import load_builtin, load_folder
from gsdlock.capabilities.validation import load_capability

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "validator_cases.json").read_text(encoding="utf-8")
)
SHIPPED = Path(os.path.dirname(gsdlock.capabilities.__file__))
RUNTIMES = sorted(load_builtin().runtimes)


def overlay(kind: str, id_: str, **fields: Any) -> Capability:
    data = copy.deepcopy(VECTORS["bases"][kind]) | {"id": id_} | fields
    return load_capability(data, id_)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with a copy of every shipped descriptor."""
    for path in SHIPPED.glob("*/capability.json"):
        (tmp_path / path.parent.name).mkdir()
        shutil.copy(path, tmp_path / path.parent.name)
    return tmp_path


def test_ids_are_sorted_and_distinct_by_role() -> None:
    registry = load_builtin()
    assert list(registry.ids) == sorted(registry.ids)
    assert len(registry.runtimes) == 20
    assert len(registry.features) == 20
    assert len(registry.ids) == 44
    assert "claude" in registry and "nope" not in registry


def test_review_lanes_stand_on_runtimes_and_on_their_own() -> None:
    lanes = load_builtin().reviewers
    assert {"claude", "gemini", "coderabbit", "llama-cpp", "lm-studio", "ollama"} <= set(lanes)
    assert len(lanes) == 12


def test_one_runtime_is_read_without_the_others(copied: Path) -> None:
    for other in copied.glob("*/capability.json"):
        if other.parent.name != "claude":
            other.write_text("not JSON")
    assert load_folder(str(copied)).runtime("claude").title == "Claude Code"


def test_a_pack_beside_the_descriptors_is_not_one(copied: Path) -> None:
    (copied / "starter").mkdir(exist_ok=True)
    (copied / "starter" / "capability.json").write_text("{}")
    (copied / "no-descriptor").mkdir()
    assert not {"starter", "no-descriptor"} & set(load_folder(str(copied)).ids)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_host_is_its_folder_and_nothing_else(copied: Path, runtime: str) -> None:
    shutil.rmtree(copied / runtime)
    registry = load_folder(str(copied))
    assert set(registry.runtimes) == set(RUNTIMES) - {runtime}
    assert dict(registry.features) == dict(load_builtin().features)
    assert registry.merge([(overlay("feature", "demo"), "somewhere")]).get("demo").id == "demo"


def test_a_new_host_is_a_new_folder(copied: Path) -> None:
    shutil.copytree(copied / "claude", copied / "clyde")
    data = json.loads((copied / "clyde" / "capability.json").read_text())
    (copied / "clyde" / "capability.json").write_text(json.dumps(data | {"id": "clyde"}))
    assert load_folder(str(copied)).runtime("clyde").config_home.name == ".claude"


@pytest.mark.parametrize(
    ("id_", "told"),
    [("cluade", "claude"), ("open-code", "opencode"), ("research", "feature"), ("ollama", "reviewer")],
)
def test_what_is_no_runtime_is_refused_with_a_hint(id_: str, told: str) -> None:
    with pytest.raises(GsdlockError) as refusal:
        load_builtin().runtime(id_)
    assert refusal.value.code == "E-RUNTIME-UNKNOWN"
    assert told in refusal.value.what


def test_a_descriptor_in_a_folder_of_another_name_is_refused(copied: Path) -> None:
    (copied / "claude").rename(copied / "clyde")
    with pytest.raises(GsdlockError) as refusal:
        load_folder(str(copied)).get("clyde")
    assert refusal.value.code == "E-DESCRIPTOR-INVALID"
    assert refusal.value.where == "clyde/capability.json"


# --- overlays


def test_an_overlay_runtime_is_a_runtime() -> None:
    merged = load_builtin().merge([(overlay("runtime", "demo"), "npm:demo")])
    assert merged.runtime("demo").config_home.name == ".demo"
    assert merged.origin("demo") == "npm:demo"
    assert merged.origin("claude") == "builtin"
    assert "demo" not in load_builtin()


def test_an_overlay_may_require_and_consume_what_is_first_party() -> None:
    step = {"point": "plan:pre", "ref": {"skill": "s1"}, "produces": [], "consumes": ["RESEARCH.md"]}
    demo = overlay(
        "feature",
        "demo",
        requires=["research"],
        runtimeCompat={"supported": ["claude"], "unsupported": []},
        steps=[step | {"onError": "skip"}],
    )
    assert load_builtin().merge([(demo, "./demo")]).get("demo").requires == ("research",)


@pytest.mark.parametrize(
    ("kind", "id_", "fields", "reason"),
    [
        ("feature", "research", {}, "the id research of ./x is taken"),
        ("feature", "gsd-more", {}, "reserved prefix"),
        ("feature", "anthropic-x", {}, "reserved prefix"),
        (
            "feature",
            "demo",
            {"agents": ["a1", "gsd-ui-checker"]},
            "agent gsd-ui-checker is owned by demo and ui",
        ),
        ("feature", "demo", {"requires": ["nope"]}, "demo requires nope"),
        ("reviewer", "demo", {}, "review lane claude is owned by claude and demo"),
    ],
)
def test_first_party_wins(kind: str, id_: str, fields: dict[str, Any], reason: str) -> None:
    if kind == "reviewer":
        body = copy.deepcopy(VECTORS["bases"]["reviewer"]["reviewer"])
        fields = {"reviewer": body | {"slug": "claude"}}
    with pytest.raises(GsdlockError) as refusal:
        load_builtin().merge([(overlay(kind, id_, **fields), "./x")])
    assert refusal.value.code == "E-OVERLAY-CONFLICT"
    assert refusal.value.status == 4
    assert reason in "\n".join(refusal.value.details)


def test_all_conflicts_of_all_overlays_are_told_at_once() -> None:
    first = overlay("feature", "one", skills=["s1", "graphify"])
    second = overlay("feature", "two")
    with pytest.raises(GsdlockError) as refusal:
        load_builtin().merge([(first, "./one"), (second, "./two"), (second, "./again")])
    assert list(refusal.value.details) == [
        "the id two of ./again is taken by ./two",
        "skill graphify is owned by graphify and one",
        "skill s1 is owned by one and two",
        "agent a1 is owned by one and two",
        "config key x.on is owned by one and two",
        "A.md is produced at plan:pre by one and two",
    ]


def test_overlays_add_up() -> None:
    once = load_builtin().merge([(overlay("runtime", "one"), "./one")])
    twice = once.merge([(overlay("runtime", "two"), "./two")])
    assert {"one", "two"} <= set(twice.runtimes)
    assert twice.origin("one") == "./one"
    with pytest.raises(GsdlockError):
        twice.merge([(overlay("runtime", "one"), "./other")])
