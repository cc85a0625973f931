"""The gate as a specification. Numbers are those of the gate's acceptance criteria (21 to 33)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import Exit, GsdlockError
from gsdlock.store.gate import (
    UNSAFE_STAMP,
    Answer,
    Ask,
    Lasting,
    Resolver,
    UnattendedResolver,
    UnsafeAutoAllow,
    Veto,
    grouped,
    is_decided_by,
    judge,
    settle,
)
from gsdlock.store.items import Decision, Item, ItemKind, ItemOp, Risk
from gsdlock.store.policy import Layer, Policy, Rules, merged, read_rules
from hypothesis import given
from hypothesis import strategies as st

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "gate_runner_vectors.json").read_text("utf-8"))


def item(key: str = "config:a", **changes: Any) -> Item:
    values: dict[str, Any] = {
        "target": "claude",
        "op": ItemOp.CREATE,
        "key": key,
        "kind": ItemKind.FILE,
        "risk": Risk.LOW,
        "executes": False,
        "before": "",
        "after": "sha256:" + "a" * 64,
        "description": "a skill",
        "scope": "global",
    }
    return Item(**(values | changes))


def policy(**rules: tuple[dict[str, str], str]) -> Policy:
    table = {name: {"match": match, "action": action} for name, (match, action) in rules.items()}
    return merged(read_rules(table, Layer.USER, where="user", user_file="user"), Rules())


class Person:
    """Somebody at a terminal: answers from a list, and remembers what was asked and how often."""

    who = "tty"

    def __init__(self, *answers: bool, lasting: Lasting = Lasting.ONCE) -> None:
        self.answers = answers
        self.lasting = lasting
        self.calls: list[Sequence[Ask]] = []

    def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        self.calls.append(asks)
        return [Answer(a, self.lasting) for a in self.answers]


class TestDecidedBy:
    """The `decided_by` vectors: each string of steps is played, and what was recorded is compared."""

    STEPS: Mapping[str, Mapping[str, Any]] = {
        "policy allow by rule r1": {"rule": ("r1", "allow")},
        "no rule": {},
        "no rule -> ask": {"risk": Risk.HIGH},
        "rule r2 asks": {"rule": ("r2", "ask")},
        "human at terminal allows": {"resolver": "person"},
        "unattended, acknowledged": {"resolver": "unsafe"},
        "unattended, not acknowledged": {"resolver": "nobody"},
        "veto by confinement check": {"veto": Veto()},
    }

    @pytest.mark.parametrize("vector", VECTORS["decided_by"], ids=lambda v: v["steps"][-1])
    def test_vector(self, vector: dict[str, Any]) -> None:
        played: dict[str, Any] = {}
        for step in vector["steps"]:
            played |= self.STEPS[step]
        name, action = played.get("rule", ("", ""))
        rules = policy(**{name: ({"op": "create"}, action)}) if name else Policy()
        resolvers: dict[str, Callable[[], Resolver]] = {
            "person": lambda: Person(True),
            "unsafe": lambda: UnsafeAutoAllow(acknowledged=True, warn=lambda line: None),
            "nobody": UnattendedResolver,
        }
        items = [item(risk=played.get("risk", Risk.LOW))]
        resolver = resolvers[played.get("resolver", "nobody")]()
        if "error" in vector:
            with pytest.raises(GsdlockError) as caught:
                settle(items, rules, resolver)
            assert caught.value.code == "E-ASK-UNRESOLVED"
            return
        (decision,) = settle(items, rules, resolver, veto=played.get("veto")).decisions
        assert decision.decided_by == vector["expect"]
        assert decision.allow is ("veto" not in played)

    @pytest.mark.parametrize(
        "text",
        [
            "policy:default",
            "policy:project/no-hooks",
            "policy:r.1+resolver:tty",
            f"policy:default+resolver:{UNSAFE_STAMP}",
            "flag:--allow high",
            "hook-veto:confinement",
        ],
    )
    def test_grammar_admits(self, text: str) -> None:
        assert is_decided_by(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "default",
            "policy:",
            "policy:Default",
            "policy:a+session:tty",
            "policy:a+resolver:",
            "policy:a+resolver:two words",
            "policy:a\n",
            "flag:--allow",
            "flag:--allow everything",
            "flag:--yes",
            "hook-veto:",
            "policy:a+flag:--allow high",
        ],
    )
    def test_grammar_refuses(self, text: str) -> None:
        assert not is_decided_by(text)


def test_21_every_item_is_decided_by_itself() -> None:
    items = [item(target=t, risk=Risk.MODERATE) for t in ("claude", "codex", "opencode")]
    rules = policy(a=({"target": "claude"}, "deny"), b=({"target": "codex"}, "ask"))
    settled = settle(items, rules, Person(True))
    assert settled.decisions == (
        Decision(False, "policy:a"),
        Decision(True, "policy:b+resolver:tty"),
        Decision(True, "policy:default"),
    )
    assert settled.unchanged == {"claude"}


def test_24_asking_about_what_changes_nothing_is_a_reported_denial() -> None:
    person = Person()
    settled = settle([item(op=ItemOp.KEEP, risk=Risk.READ_ONLY)], policy(r=({}, "ask")), person)
    assert settled.decisions == (Decision(False, "policy:r"),)
    assert person.calls == []
    (line,) = settled.downgrades
    assert "claude config:a" in line and "policy.r" in line


def test_24_what_changes_nothing_holds_nothing_back_when_it_is_denied() -> None:
    """Else a rule that asks about everything would stop every apply but the first."""
    items = [item(op=ItemOp.KEEP, risk=Risk.READ_ONLY), item("config:b", risk=Risk.HIGH)]
    settled = settle(items, policy(r=({}, "ask")), Person(True))
    assert [d.allow for d in settled.decisions] == [False, True]
    assert settled.unchanged == settled.partial == frozenset()


class TestNobodyThere:
    """25: an open question without anybody to answer it is an error, and nothing is decided."""

    def test_every_question_is_listed(self) -> None:
        items = [
            item("config:a", risk=Risk.HIGH),
            item("config:b"),
            item("config:c", risk=Risk.CRITICAL, target="codex"),
        ]
        with pytest.raises(GsdlockError) as caught:
            settle(items, Policy(), UnattendedResolver())
        assert caught.value.code == "E-ASK-UNRESOLVED"
        assert caught.value.status == Exit.REFUSED
        assert len(caught.value.details) == 2
        assert "config:c" in caught.value.details[0] and "config:a" in caught.value.details[1]
        assert "--allow critical" in caught.value.fix

    def test_what_executes_is_not_hidden_behind_a_hundred_texts(self) -> None:
        """The command line shows the first of a long list."""
        items = [*(item(f"config:{n}", risk=Risk.HIGH) for n in range(100))]
        items += [item("config:run.sh", risk=Risk.HIGH, executes=True), item("config:z", risk=Risk.CRITICAL)]
        with pytest.raises(GsdlockError) as caught:
            settle(items, Policy(), UnattendedResolver())
        names = [detail.split(" (")[0].split(":")[-1] for detail in caught.value.details]
        assert names == ["z", "run.sh", *(str(n) for n in range(100))]

    def test_an_entry_is_named_without_its_digest(self) -> None:
        key = "config:settings.json#/hooks/Stop#sha256:" + "a" * 64
        with pytest.raises(GsdlockError) as caught:
            settle([item(key, op=ItemOp.REGISTER_HOOK, risk=Risk.HIGH)], Policy(), UnattendedResolver())
        assert caught.value.details == (
            "claude: register-hook config:settings.json#/hooks/Stop (high, asked by default): a skill",
        )

    def test_it_is_not_called_when_nothing_is_open(self) -> None:
        assert settle([item()], Policy(), UnattendedResolver()).unchanged == frozenset()


class TestUnsafeAutoAllow:
    def test_26_the_stamp_is_verbatim_and_each_item_is_warned_of(self) -> None:
        lines: list[str] = []
        items = [item("config:a", risk=Risk.HIGH), item("config:b", risk=Risk.CRITICAL), item("config:c")]
        settled = settle(items, Policy(), UnsafeAutoAllow(acknowledged=True, warn=lines.append))
        stamped = "policy:default+resolver:UNSAFE-AUTO-ALLOW(no-frontend-attached)"
        assert [d.decided_by for d in settled.decisions] == [stamped, stamped, "policy:default"]
        assert len(lines) == 3  # one when it was made, one an item
        assert "config:a" in lines[1] and "config:b" in lines[2]

    @pytest.mark.parametrize("acknowledged", [False, None, 1, "yes"])
    def test_27_it_cannot_be_made_without_the_acknowledgement(self, acknowledged: Any) -> None:
        lines: list[str] = []
        with pytest.raises(GsdlockError) as caught:
            UnsafeAutoAllow(acknowledged=acknowledged, warn=lines.append)
        assert caught.value.code == "E-UNSAFE-UNACKNOWLEDGED"
        assert lines == []

    def test_27_there_is_no_default(self) -> None:
        with pytest.raises(TypeError):
            UnsafeAutoAllow()  # type: ignore[call-arg]  # the point of the test


def test_28_an_answer_for_always_is_an_error_and_not_a_once() -> None:
    with pytest.raises(GsdlockError) as caught:
        settle([item(risk=Risk.HIGH)], Policy(), Person(True, lasting=Lasting.ALWAYS))
    assert caught.value.code == "E-ASK-ALWAYS"
    assert "config:a" in caught.value.details[0]


def test_29_a_veto_denies_all_over_rules_flags_and_people() -> None:
    person = Person(True, True)
    items = [item("config:a"), item("config:b", risk=Risk.HIGH, target="codex")]
    settled = settle(
        items, policy(all=({}, "allow")), person, allow=[Risk.CRITICAL], veto=Veto(), partial=True
    )
    assert settled.decisions == (Decision(False, "hook-veto:confinement"),) * 2
    assert person.calls == []


class TestDenied:
    """32: something denied leaves its whole target unchanged, unless the apply is partial."""

    ITEMS = (item("config:a"), item("config:b", kind=ItemKind.SCRIPT), item("config:a", target="codex"))
    RULES = policy(no=({"kind": "script"}, "deny"))

    def test_the_whole_target_stays(self) -> None:
        settled = settle(self.ITEMS, self.RULES, UnattendedResolver())
        assert settled.unchanged == {"claude"}
        assert settled.partial == frozenset()
        # What was decided is recorded as it was decided, also for the items that stay behind.
        assert [d.allow for d in settled.decisions] == [True, False, True]

    def test_partial_goes_ahead_without_it(self) -> None:
        settled = settle(self.ITEMS, self.RULES, UnattendedResolver(), partial=True)
        assert settled.unchanged == frozenset()
        assert settled.partial == {"claude"}


def test_33_an_interrupted_question_decides_nothing() -> None:
    class Interrupted(Person):
        def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        settle([item(), item("config:b", risk=Risk.HIGH)], Policy(), Interrupted())


class TestAllowFlag:
    @pytest.mark.parametrize(
        ("flags", "risk", "expected"),
        [
            ([Risk.HIGH], Risk.HIGH, "flag:--allow high"),
            ([Risk.HIGH], Risk.CRITICAL, None),
            ([Risk.CRITICAL], Risk.HIGH, "flag:--allow critical"),
            ([Risk.CRITICAL, Risk.HIGH], Risk.HIGH, "flag:--allow high"),
            ([Risk.LOW, Risk.MODERATE], Risk.HIGH, None),
            ([], Risk.HIGH, None),
        ],
    )
    def test_it_answers_up_to_and_including_its_risk(
        self, flags: list[Risk], risk: Risk, expected: str | None
    ) -> None:
        (judged,) = judge([item(risk=risk)], Policy(), allow=flags)
        assert judged.decision == (None if expected is None else Decision(True, expected))

    def test_what_needed_no_answer_keeps_its_own_reason(self) -> None:
        (judged,) = judge([item()], Policy(), allow=[Risk.CRITICAL])
        assert judged.decision == Decision(True, "policy:default")

    def test_it_does_not_lift_a_denial(self) -> None:
        (judged,) = judge([item()], policy(no=({}, "deny")), allow=[Risk.CRITICAL])
        assert judged.decision == Decision(False, "policy:no")

    def test_it_does_not_lift_a_downgraded_question(self) -> None:
        (judged,) = judge([item(risk=Risk.READ_ONLY)], policy(no=({}, "ask")), allow=[Risk.CRITICAL])
        assert judged.decision == Decision(False, "policy:no")


class TestQuestions:
    def test_all_are_asked_in_one_call(self) -> None:
        person = Person(True, False)
        items = [item("config:a", risk=Risk.HIGH), item("config:b"), item("config:c", risk=Risk.CRITICAL)]
        settled = settle(items, Policy(), person)
        assert [[a.item.key for a in call] for call in person.calls] == [["config:a", "config:c"]]
        assert [d.allow for d in settled.decisions] == [True, True, False]

    @pytest.mark.parametrize("answers", [(), (True,), (True, True, True)])
    def test_a_resolver_that_miscounts_is_a_fault_of_ours(self, answers: tuple[bool, ...]) -> None:
        items = [item("config:a", risk=Risk.HIGH), item("config:b", risk=Risk.HIGH)]
        with pytest.raises(GsdlockError) as caught:
            settle(items, Policy(), Person(*answers))
        assert (caught.value.code, caught.value.status) == ("E-ASK-ANSWERS", Exit.FAULT)

    def test_a_resolver_cannot_forge_who_decided(self) -> None:
        person = Person(True)
        person.who = "tty\npolicy:default"
        with pytest.raises(GsdlockError) as caught:
            settle([item(risk=Risk.HIGH)], Policy(), person)
        assert caught.value.code == "E-ASK-ANSWERS"

    def test_they_are_grouped_by_target_and_by_falling_risk(self) -> None:
        rows = [
            ("codex", Risk.HIGH),
            ("claude", Risk.CRITICAL),
            ("codex", Risk.CRITICAL),
            ("codex", Risk.HIGH),
        ]
        asks = [Ask(item(f"config:{n}", target=t, risk=r), "default") for n, (t, r) in enumerate(rows)]
        groups = grouped(asks)
        assert [(g.target, g.risk, g.numbers) for g in groups] == [
            ("codex", Risk.CRITICAL, (2,)),
            ("codex", Risk.HIGH, (0, 3)),
            ("claude", Risk.CRITICAL, (1,)),
        ]
        assert all(g.asks == tuple(asks[n] for n in g.numbers) for g in groups)


def test_risks_are_ordered_by_what_they_are_and_not_by_their_spelling() -> None:
    assert sorted(Risk, reverse=True) == [
        Risk.CRITICAL,
        Risk.HIGH,
        Risk.MODERATE,
        Risk.LOW,
        Risk.READ_ONLY,
    ]
    assert max(Risk.CRITICAL, Risk.HIGH) is Risk.CRITICAL
    assert Risk.LOW <= Risk.LOW < Risk.MODERATE
    assert Risk.CRITICAL >= Risk.HIGH > Risk.READ_ONLY


PLANS = st.lists(
    st.builds(
        item,
        key=st.sampled_from(["config:a", "config:b", "config:c", "config:d"]),
        target=st.sampled_from(["claude", "codex", "opencode"]),
        op=st.sampled_from([*ItemOp]),
        kind=st.sampled_from([*ItemKind]),
        risk=st.sampled_from([*Risk]),
    ),
    max_size=12,
    unique_by=lambda i: (i.target, i.key),
)


class Coin:
    """Answers at random."""

    who = "tty"

    def __init__(self, random: Any) -> None:
        self.random = random

    def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        return [Answer(self.random.random() < 0.5) for _ in asks]


@given(PLANS, st.lists(st.sampled_from([*Risk]), max_size=2), st.booleans(), st.randoms())
def test_whatever_is_settled_is_settled_wholly(
    items: list[Item], allow: list[Risk], partial: bool, random: Any
) -> None:
    rules = policy(scripts=({"kind": "script"}, "ask"), removals=({"op": "remove"}, "deny"))
    settled = settle(items, rules, Coin(random), allow=allow, partial=partial)
    assert settled.items == tuple(items)
    assert len(settled.decisions) == len(items)
    assert all(is_decided_by(d.decided_by) for d in settled.decisions)
    pairs = zip(items, settled.decisions, strict=True)
    denied = {i.target for i, d in pairs if i.changes and not d.allow}
    assert settled.unchanged | settled.partial == denied
    assert (settled.unchanged if partial else settled.partial) == frozenset()
