"""The smaller parts: router skills, delegated calls, the catalog, TOML strings."""

from __future__ import annotations

import json
import tomllib

import pytest
from gsdlock.resolver.converters import AgentProfile, read_catalog, toml_text
from gsdlock.resolver.converters.delegation import delegated
from gsdlock.resolver.converters.routers import point_below
from hypothesis import given
from hypothesis import strategies as st

ROUTER = """\
| User wants | Invoke |
|---|---|
| Review code | gsd-code-review |
| Fix findings | gsd-code-review --fix |
| Something else | gsd-other |

Invoke the matched skill directly using the Skill tool.
"""


def test_a_router_points_at_the_skills_below_it() -> None:
    text = point_below(ROUTER, frozenset({"code-review"}))
    assert "| User wants | Read |" in text
    assert "| Review code | Read `skills/code-review/SKILL.md` |" in text
    assert "| Fix findings | Read `skills/code-review/SKILL.md` (--fix) |" in text
    assert "| Something else | gsd-other |" in text
    assert "Skill tool" not in text


def test_a_router_without_skills_below_stays_as_it_is() -> None:
    assert point_below(ROUTER, frozenset({"x"})) == ROUTER


def test_a_named_sub_agent_is_handed_on_with_its_role() -> None:
    text = (
        'Agent(\n  subagent_type="gsd-planner",\n  model="{m}",\n  prompt="x",\n  run_in_background=true\n)'
    )
    assert delegated(text).splitlines() == [
        "delegate_task(",
        '  gsd_role="gsd-planner",',
        "  gsd_role_prompt=<the text of agents/gsd-planner.md; stop with an error where there is none>,",
        '  role="leaf",',
        '  prompt="x",',
        "  background=true",
        ")",
    ]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('Agent(subagent_type="gsd-x", prompt="y")', 'gsd_role="gsd-x", gsd_role_prompt=<'),
        ('Agent({ subagent_type: "gsd-x", prompt: "y" })', 'gsd_role: "gsd-x", gsd_role_prompt: <'),
        (
            "Agent(subagent_type=ref.agent)",
            "gsd_role=ref.agent, gsd_role_prompt=<the text of the agent ref.agent",
        ),
        ('Agent(subagent_type="general-purpose")', 'delegate_task(gsd_role="general-purpose")'),
        ('Agent(subagent_type="{TYPE}",\n  prompt="y")', 'gsd_role="{TYPE}",\n  gsd_role_prompt=<'),
        # The host's call is flat, whatever the form of what was written for another.
        ('Agent({\n  subagent_type: "gsd-x",\n  prompt: "y"\n})', 'delegate_task(\n  gsd_role="gsd-x",\n'),
        ('Agent({\n  subagent_type: "gsd-x",\n  prompt: "y"\n})', '  prompt: "y"\n)'),
        # A template shows the call under its other name; nothing is handed on in it.
        ('Task(subagent_type="gsd-x", prompt="y")', 'Task(gsd_role="gsd-x", prompt="y")'),
        ('Agent(prompt="y", model="{m}")', 'delegate_task(prompt="y")'),
        ('Agent(prompt="y", model=m_1)', 'delegate_task(prompt="y")'),
        ("the Agent tool", "the delegate_task"),
        ("with Agent available", "with delegate_task available"),
        ("an Agent has no Agent tool", "an delegate_task has no nested delegate_task"),
        ('pass `model="{m}"` on', 'pass `model="{m}"` on'),
        ("SubAgent(x)", "SubAgent(x)"),
    ],
)
def test_every_form_of_a_call_is_delegated(source: str, wanted: str) -> None:
    assert wanted in delegated(source)


def test_a_catalog_says_how_an_agent_thinks() -> None:
    data = {"agents": {"a": {"routingTier": "heavy", "phaseType": "verification"}, "b": {}, "c": 1}}
    catalog = read_catalog(json.dumps(data).encode())
    assert catalog == {"a": AgentProfile("heavy", "verification"), "b": AgentProfile()}
    assert (catalog["a"].effort, catalog["a"].verifies, catalog["a"].light) == ("xhigh", True, False)
    assert (catalog["b"].effort, catalog["b"].verifies) == ("", False)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"agents": []}', b'{"agents": {"a": {"routingTier": "x y"}}}']
)
def test_a_catalog_of_another_shape_says_nothing(data: bytes) -> None:
    assert all(p == AgentProfile() for p in read_catalog(data).values())


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))


@given(TEXT)
def test_every_string_survives_toml(text: str) -> None:
    assert tomllib.loads(f"key = {toml_text.basic_string(text)}") == {"key": text}
    assert tomllib.loads(f"key = {toml_text.text_block(text)}") == {"key": text + "\n"}
