"""Policy as a specification: which rule speaks, which rules may not stand, and whose rules count."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import Exit, GsdlockError
from gsdlock.store.items import Item, ItemKind, ItemOp, Risk
from gsdlock.store.policy import (
    MOST_RULES,
    Action,
    Layer,
    Match,
    Policy,
    Rule,
    Rules,
    conflicting,
    merged,
    read_rules,
    verdict,
)
from hypothesis import given
from hypothesis import strategies as st

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "gate_runner_vectors.json").read_text("utf-8"))
USER_FILE = "/home/u/.config/gsdlock/gsdlock.toml"

# The vectors speak of another system: the words left, ours right. Its kinds are labels here as there.
FIELD = {"provider": "target", "op": "op", "risk": "risk", "kind": "kind"}
VALUE = {
    "write": "create",
    "x": "create",
    "y": "replace",
    "resource": "file",
    "data_source": "entry",
    "interactive": "hook",
    "read_only": "read-only",
}
# Where the design decided otherwise than the vectors' source.
OURS = {"resource-default": (["allow", "policy:default", False], "design 7: low risk is allowed by default")}


def item(**changes: Any) -> Item:
    values: dict[str, Any] = {
        "target": "codex",
        "op": ItemOp.CREATE,
        "key": "config:skills/x/SKILL.md",
        "kind": ItemKind.FILE,
        "risk": Risk.LOW,
        "executes": False,
        "before": "",
        "after": "sha256:" + "a" * 64,
        "description": "a skill",
        "scope": "global",
    }
    return Item(**(values | changes))


def rules(text: str, layer: Layer = Layer.USER, targets: list[str] | None = None) -> Rules:
    table = tomllib.loads(text).get("policy", {})
    return read_rules(table, layer, where="gsdlock.toml", user_file=USER_FILE, targets=targets)


def ours(fields: dict[str, str]) -> dict[str, str]:
    return {FIELD[k]: VALUE.get(v, v) for k, v in fields.items()}


def vector_item(fields: dict[str, str]) -> Item:
    words = ours(fields)
    return item(
        target=words["target"],
        op=ItemOp(words["op"]),
        kind=ItemKind(words["kind"]),
        risk=Risk(words["risk"]),
    )


def test_the_table_of_words_keeps_different_things_different() -> None:
    kinds = ["resource", "data_source", "interactive"]
    assert len({VALUE[k] for k in kinds}) == len(kinds)


@pytest.mark.parametrize("vector", VECTORS["policy"], ids=lambda v: v["id"])
def test_policy_vectors(vector: dict[str, Any]) -> None:
    table = {r["name"]: {"match": ours(r["match"]), "action": r["action"]} for r in vector["rules"]}
    read = read_rules(table, Layer.USER, where="gsdlock.toml", user_file=USER_FILE)
    spoken = verdict(merged(read, Rules()), vector_item(vector["item"]))
    expected = OURS[vector["id"]][0] if vector["id"] in OURS else vector["expect"]
    assert [spoken.action, spoken.decided_by, spoken.downgraded] == expected
    assert len(read.warnings) == (1 if vector.get("warn") == "empty_match" else 0)


@pytest.mark.parametrize("vector", VECTORS["policy_conflict"])
def test_policy_conflict_vectors(vector: dict[str, Any]) -> None:
    """Criterion 23: the same fields with the same values; disjoint values load."""
    table = {
        "first": {"match": ours(vector["a"]), "action": "deny"},
        "second": {"match": ours(vector["b"]), "action": "allow"},
    }
    if not vector["expect"]:
        assert len(read_rules(table, Layer.USER, where="f", user_file=USER_FILE).rules) == 2
        return
    with pytest.raises(GsdlockError) as caught:
        read_rules(table, Layer.USER, where="f", user_file=USER_FILE)
    assert caught.value.code == "E-POLICY-CONFLICT"
    assert caught.value.status == Exit.INPUT
    (line,) = caught.value.details
    assert "policy.first (deny)" in line and "policy.second (allow)" in line


def test_equal_rules_that_agree_load_and_the_first_is_named() -> None:
    read = rules(
        """
        [policy.one]
        match = { risk = "high" }
        action = "ask"
        [policy.two]
        match = { risk = "high" }
        action = "ask"
        """
    )
    assert verdict(merged(read, Rules()), item(risk=Risk.HIGH)).rule == "one"


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ({"op": "create"}, {"target": "codex", "scope": "global", "risk": "low", "kind": "file"}),
        ({"target": "codex"}, {"scope": "global", "risk": "low", "kind": "file"}),
        ({"scope": "global"}, {"risk": "low", "kind": "file"}),
        ({"risk": "low"}, {"kind": "file"}),
        ({"kind": "file"}, {}),
        ({"op": "create", "kind": "file"}, {"op": "create"}),
    ],
)
def test_criterion_22_specificity_is_compared_from_the_left(
    stronger: dict[str, str], weaker: dict[str, str]
) -> None:
    """op over target over scope over risk over kind, whatever the order in the file."""
    pair = [
        ("s", {"match": stronger, "action": "deny"}),
        ("w", {"match": weaker, "action": "allow"}),
    ]
    for order in (pair, pair[::-1]):
        read = read_rules(dict(order), Layer.USER, where="f", user_file=USER_FILE)
        assert verdict(merged(read, Rules()), item()).rule == "s"


@pytest.mark.parametrize(
    ("risk", "action"),
    [
        (Risk.READ_ONLY, Action.ALLOW),
        (Risk.LOW, Action.ALLOW),
        (Risk.MODERATE, Action.ALLOW),
        (Risk.HIGH, Action.ASK),
        (Risk.CRITICAL, Action.ASK),
    ],
)
def test_without_a_rule_high_and_critical_are_asked(risk: Risk, action: Action) -> None:
    spoken = verdict(Policy(), item(risk=risk))
    assert (spoken.action, spoken.decided_by) == (action, "policy:default")


def test_a_rule_reads_as_in_the_manual() -> None:
    read = rules(
        """
        [policy.no-global-hooks]
        match = { op = "register-hook", scope = "global" }
        action = "ask"
        """,
        Layer.PROJECT,
    )
    policy = merged(Rules(), read)
    hook = item(op=ItemOp.REGISTER_HOOK, kind=ItemKind.HOOK, risk=Risk.LOW)
    assert verdict(policy, hook).decided_by == "policy:no-global-hooks"
    assert verdict(policy, item()).rule == "default"


class TestAProjectsRules:
    """A repository cannot allow itself anything."""

    def test_an_allow_is_refused_and_the_users_file_is_named(self) -> None:
        with pytest.raises(GsdlockError) as caught:
            rules(
                """
                [policy.trust-me]
                match = {}
                action = "allow"
                [policy.careful]
                match = { risk = "low" }
                action = "ask"
                [policy.and-me]
                match = { risk = "critical" }
                action = "allow"
                """,
                Layer.PROJECT,
            )
        assert caught.value.code == "E-POLICY-PROJECT-ALLOW"
        assert caught.value.status == Exit.REFUSED
        assert USER_FILE in caught.value.fix
        assert [line.split(".action")[0] for line in caught.value.details] == [
            "policy.trust-me",
            "policy.and-me",
        ]

    def test_a_projects_more_specific_ask_does_not_soften_the_users_deny(self) -> None:
        user = rules('[policy.never]\nmatch = {}\naction = "deny"')
        project = rules(
            '[policy.please]\nmatch = { op = "create", target = "codex" }\naction = "ask"', Layer.PROJECT
        )
        assert verdict(merged(user, project), item()).decided_by == "policy:never"

    def test_a_projects_deny_holds_against_the_users_allow(self) -> None:
        user = rules('[policy.mine]\nmatch = { op = "create" }\naction = "allow"')
        project = rules('[policy.theirs]\nmatch = {}\naction = "deny"', Layer.PROJECT)
        assert verdict(merged(user, project), item()).decided_by == "policy:theirs"

    def test_a_name_in_both_files_stays_unambiguous(self) -> None:
        user = rules('[policy.hooks]\nmatch = { kind = "hook" }\naction = "allow"')
        project = rules('[policy.hooks]\nmatch = { kind = "hook" }\naction = "deny"', Layer.PROJECT)
        spoken = verdict(merged(user, project), item(kind=ItemKind.HOOK))
        assert spoken.decided_by == "policy:project/hooks"


class TestFaults:
    def test_all_are_reported_at_once_with_the_nearest_member(self) -> None:
        with pytest.raises(GsdlockError) as caught:
            rules(
                """
                [policy]
                flat = "allow"
                default = { match = {}, action = "ask" }
                [policy.a]
                match = { op = "crate", scop = "global" }
                action = "alow"
                [policy.b]
                match = { risk = "hihg", kind = "hok", scope = "world" }
                action = "deny"
                color = "red"
                [policy.c]
                action = "deny"
                [policy."A B"]
                match = {}
                action = "deny"
                [policy.d]
                match = { target = "cladue" }
                action = "deny"
                [policy.e]
                match = { risk = 3 }
                action = "deny"
                """,
                targets=["claude", "codex"],
            )
        assert caught.value.code == "E-POLICY-INVALID"
        assert caught.value.status == Exit.INPUT
        text = "\n".join(caught.value.details)
        for expected in (
            "policy.flat: must be a table",
            "policy.default:",
            "policy.a.match.op:",
            "did you mean create?",
            "policy.a.match.scop: is not known here (did you mean scope?)",
            "policy.a.action:",
            "did you mean allow?",
            "did you mean high?",
            "did you mean hook?",
            'policy.b.match.scope: "world" is not one of global, local',
            "policy.b.color: is not known here",
            "policy.c.match: is required",
            "policy.A B:",
            "did you mean claude?",
            "policy.e.match.risk: must be a string",
        ):
            assert expected in text, expected

    def test_several_kinds_of_fault_come_as_one_error(self) -> None:
        with pytest.raises(GsdlockError) as caught:
            rules(
                """
                [policy.a]
                match = {}
                action = "allow"
                [policy.b]
                match = {}
                action = "deny"
                [policy.c]
                match = { op = "nothing" }
                action = "deny"
                """,
                Layer.PROJECT,
            )
        assert caught.value.code == "E-POLICY-INVALID"
        assert len(caught.value.details) == 3

    def test_the_users_file_may_name_targets_of_any_manifest(self) -> None:
        assert rules('[policy.a]\nmatch = { target = "elsewhere" }\naction = "deny"').rules

    def test_a_strangers_file_cannot_make_reading_dear(self) -> None:
        table = {f"r{n}": {"match": {"target": f"t{n}"}, "action": "deny"} for n in range(MOST_RULES + 1)}
        with pytest.raises(GsdlockError) as caught:
            read_rules(table, Layer.PROJECT, where="f", user_file=USER_FILE)
        assert caught.value.details == (f"policy: has {MOST_RULES + 1} rules; at most {MOST_RULES} are read",)

    def test_hostile_text_is_not_shown_as_it_is(self) -> None:
        table = {"a": {"match": {"op": "\x1b[2J\u202eevil" + "x" * 500}, "action": "deny"}}
        with pytest.raises(GsdlockError) as caught:
            read_rules(table, Layer.USER, where="f", user_file=USER_FILE)
        (line,) = caught.value.details
        assert "\x1b" not in line and "\u202e" not in line and "x" * 100 not in line


MATCHES = st.builds(
    Match,
    op=st.none() | st.sampled_from([*ItemOp]),
    target=st.none() | st.sampled_from(["codex", "claude"]),
    scope=st.none() | st.sampled_from(["global", "local"]),
    risk=st.none() | st.sampled_from([*Risk]),
    kind=st.none() | st.sampled_from([*ItemKind]),
)
ITEMS = st.builds(
    item,
    op=st.sampled_from([*ItemOp]),
    target=st.sampled_from(["codex", "claude"]),
    scope=st.sampled_from(["global", "local"]),
    risk=st.sampled_from([*Risk]),
    kind=st.sampled_from([*ItemKind]),
)


def _layer(layer: Layer) -> st.SearchStrategy[tuple[Rule, ...]]:
    actions = [Action.ASK, Action.DENY] if layer is Layer.PROJECT else list(Action)
    rule = st.builds(
        lambda match, action, n: Rule(f"r{n}", match, action, layer, f"r{n}"),
        MATCHES,
        st.sampled_from(actions),
        st.integers(0, 99),
    )
    return st.lists(rule, max_size=8, unique_by=lambda r: r.match).map(tuple)


@given(_layer(Layer.USER), _layer(Layer.PROJECT), ITEMS)
def test_a_projects_rules_never_make_anything_softer(
    user: tuple[Rule, ...], project: tuple[Rule, ...], it: Item
) -> None:
    alone = verdict(Policy(user=user), it)
    together = verdict(Policy(user=user, project=project), it)
    assert together.action.strictness >= alone.action.strictness


@given(_layer(Layer.USER), ITEMS, st.randoms())
def test_the_order_of_rules_in_a_file_never_matters(user: tuple[Rule, ...], it: Item, random: Any) -> None:
    shuffled = list(user)
    random.shuffle(shuffled)
    assert conflicting(user) == []
    assert verdict(Policy(user=user), it) == verdict(Policy(user=tuple(shuffled)), it)
