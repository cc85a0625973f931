"""The gate: every item of a plan is settled before the first write. Pure but for the resolver.

In order: policy per item; a veto, which denies all; `--allow`, which answers what policy asks; at last one
call of the resolver with all that is still open. Nothing is returned unless everything is settled, so an
interrupted question leaves no decision behind.

Grammar of `Decision.decided_by`:

    policy:<rule> | policy:default              a rule, or the default, spoke
    policy:<rule>+resolver:<who>                it asked, and <who> answered
    flag:--allow <risk>                         it asked, and the command line had answered
    hook-veto:<name>                            a veto, whatever policy said

`<rule>` is `store.policy.Rule.label`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from ..capabilities.errors import Exit, GsdlockError, refused, shown, usage_error
from ..capabilities.words import Words
from .items import Decision, Item, Risk
from .policy import Action, Policy, Verdict, matched, verdict

CONFINEMENT = "confinement"
UNSAFE_STAMP = "UNSAFE-AUTO-ALLOW(no-frontend-attached)"

_RULE = r"(?:project/)?[a-z0-9][a-z0-9._-]{0,63}"
_WHO = r"[A-Za-z0-9][A-Za-z0-9().-]{0,63}"
_DECIDED_BY = (
    rf"policy:{_RULE}(?:\+resolver:{_WHO})?"
    rf"|flag:--allow (?:{'|'.join(r.value for r in Risk)})"
    r"|hook-veto:[a-z0-9][a-z0-9-]{0,63}"
)


class Lasting(Words):
    """How long an answer is meant to hold."""

    ONCE = "once"
    ALWAYS = "always"


class Answer(Struct, frozen=True):
    """What a resolver says to one question."""

    allow: bool
    lasting: Lasting = Lasting.ONCE


class Ask(Struct, frozen=True):
    """One open question. `rule` is the label of the rule that asks, or `default`."""

    item: Item
    rule: str


class Resolver(Protocol):
    """Answers what policy asks. The one on a terminal belongs to the command line."""

    @property
    def who(self) -> str:
        """Who answers, as it stands in `decided_by`: letters, digits, `(`, `)`, `.`, `-`."""

    def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        """One answer per question, in the order of the questions; called at most once an apply.

        May raise; then nothing is decided.
        """


class UnattendedResolver:
    """Nobody is there and nobody was told to answer: every question is an error."""

    @property
    def who(self) -> str:
        return "nobody"

    def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        """Raises E-ASK-UNRESOLVED (status 4), which lists every question: the highest risk first, and within
        it what executes, since a long list is shown in part."""
        listed = sorted(asks, key=lambda ask: (-ask.item.risk.rank, not ask.item.executes))
        highest = max((ask.item.risk for ask in asks), default=Risk.READ_ONLY)
        raise refused(
            "E-ASK-UNRESOLVED",
            f"{_count(len(asks), 'item needs', 'items need')} an answer and nobody is there to give it; "
            "nothing was written",
            f"Read the list, then run it on a terminal or answer with --allow {highest}.",
            details=[_line(ask) for ask in listed],
        )


class UnsafeAutoAllow:
    """Allows whatever is asked, with nobody looking. Exists only where that was acknowledged in words."""

    def __init__(self, *, acknowledged: bool, warn: Callable[[str], None]) -> None:
        """`acknowledged` must be exactly True; `warn` is given one line now and one for each item.

        Raises E-UNSAFE-UNACKNOWLEDGED (status 2).
        """
        if acknowledged is not True:
            raise usage_error(
                "E-UNSAFE-UNACKNOWLEDGED",
                "allowing everything unseen needs an explicit acknowledgement",
                "Say --unsafe-auto-allow, or better --allow with the risk you accept.",
            )
        self._warn = warn
        warn("everything that policy asks will be allowed with nobody looking (--unsafe-auto-allow)")

    @property
    def who(self) -> str:
        return UNSAFE_STAMP

    def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        for ask in asks:
            self._warn(f"allowed unseen: {_line(ask)}")
        return [Answer(allow=True) for _ in asks]


class Veto(Struct, frozen=True):
    """A check that overrides every rule, such as `confinement`. `name` is lower-case words with dashes.

    `fault` is the refusal that tells of it: whoever settles with a veto writes the denials down, then raises
    it.
    """

    name: str = CONFINEMENT
    fault: GsdlockError | None = None


class Judged(Struct, frozen=True):
    """What is known of one item before anybody is asked: a decision, or (None) an open question."""

    item: Item
    verdict: Verdict
    decision: Decision | None


class AskGroup(Struct, frozen=True):
    """Questions of one target and one risk, to be shown together; `numbers` are their places in the asks."""

    target: str
    risk: Risk
    asks: tuple[Ask, ...]
    numbers: tuple[int, ...]


class Settled(Struct, frozen=True):
    """Every item with its decision, in the order of the plan.

    `unchanged` are the targets that stay as they are because something of theirs was denied; `partial` those
    that go ahead without what was denied. `downgrades` are lines to report.
    """

    items: tuple[Item, ...]
    decisions: tuple[Decision, ...]
    unchanged: frozenset[str]
    partial: frozenset[str]
    downgrades: tuple[str, ...]


def judge(
    items: Iterable[Item], policy: Policy, *, allow: Sequence[Risk] = (), veto: Veto | None = None
) -> tuple[Judged, ...]:
    """Each item with what policy, the veto and the flags say of it; nobody is asked.

    `allow` are the risks of `--allow`: each answers every question up to and including it. It answers
    questions only: what a rule denies stays denied.
    """
    rising = sorted(allow)
    # What a rule can name of an item decides, and hundreds of items are alike in it.
    known: dict[tuple[str, ...], tuple[Verdict, Decision | None]] = {}
    found: list[Judged] = []
    for item in items:
        alike = matched(item)
        said = known.get(alike)
        if said is None:
            said = known[alike] = _judge(item, policy, rising, veto)
        found.append(Judged(item, *said))
    return tuple(found)


def settle(
    items: Sequence[Item],
    policy: Policy,
    resolver: Resolver,
    *,
    allow: Sequence[Risk] = (),
    veto: Veto | None = None,
    partial: bool = False,
) -> Settled:
    """A decision for every item. The resolver is called once, and only where something is open.

    With `partial` a target goes ahead without the items that were denied; else it stays as it is. An item
    that changes nothing holds nothing back when it is denied.
    Raises E-ASK-ALWAYS (status 4) for an answer that is meant to last, E-ASK-ANSWERS (70) when the resolver
    breaks its protocol (number of answers, spelling of `who`), and whatever the resolver raises.
    """
    judged = judge(items, policy, allow=allow, veto=veto)
    asks = [Ask(j.item, j.verdict.rule) for j in judged if j.decision is None]
    answers = iter(_answers(resolver, asks))
    decisions = tuple(
        j.decision
        if j.decision is not None
        else Decision(next(answers).allow, f"{j.verdict.decided_by}+resolver:{resolver.who}")
        for j in judged
    )
    denied = frozenset(i.target for i, d in zip(items, decisions, strict=True) if i.changes and not d.allow)
    return Settled(
        items=tuple(items),
        decisions=decisions,
        unchanged=frozenset() if partial else denied,
        partial=denied if partial else frozenset(),
        downgrades=tuple(
            f"{j.item.target} {j.item.key}: policy.{j.verdict.rule} asks about an item that changes nothing; "
            "there is nothing to ask, so it is denied"
            for j in judged
            if j.verdict.downgraded and veto is None
        ),
    )


def grouped(asks: Sequence[Ask]) -> tuple[AskGroup, ...]:
    """Questions by target (in the order of the plan) and within it by risk, the highest first."""
    groups: dict[tuple[str, Risk], list[int]] = {}
    for number, ask in enumerate(asks):
        groups.setdefault((ask.item.target, ask.item.risk), []).append(number)
    targets = list(dict.fromkeys(target for target, _ in groups))
    ordered = sorted(groups, key=lambda key: (targets.index(key[0]), -key[1].rank))
    return tuple(
        AskGroup(target, risk, tuple(asks[n] for n in groups[target, risk]), tuple(groups[target, risk]))
        for target, risk in ordered
    )


def is_decided_by(text: str) -> bool:
    """Whether `text` follows the grammar of `decided_by`."""
    return re.fullmatch(_DECIDED_BY, text) is not None


def _judge(
    item: Item, policy: Policy, allow: Sequence[Risk], veto: Veto | None
) -> tuple[Verdict, Decision | None]:
    spoken = verdict(policy, item)
    if veto is not None:
        return spoken, Decision(False, f"hook-veto:{veto.name}")
    if spoken.action is not Action.ASK:
        return spoken, Decision(spoken.action is Action.ALLOW, spoken.decided_by)
    flag = next((risk for risk in allow if item.risk <= risk), None)
    return spoken, None if flag is None else Decision(True, f"flag:--allow {flag.value}")


def _answers(resolver: Resolver, asks: Sequence[Ask]) -> Sequence[Answer]:
    if not asks:
        return ()
    answers = resolver.settle(asks)
    if len(answers) != len(asks) or not re.fullmatch(_WHO, resolver.who):
        raise GsdlockError(
            "E-ASK-ANSWERS",
            f'"{shown(resolver.who)}" gave {len(answers)} answers to {len(asks)} questions',
            "This is a fault in gsdlock; nothing was written. Please report it.",
            status=Exit.FAULT,
        )
    lasting = [ask for ask, answer in zip(asks, answers, strict=True) if answer.lasting is Lasting.ALWAYS]
    if lasting:
        raise refused(
            "E-ASK-ALWAYS",
            "an answer for always was given, and an answer holds for one apply only; nothing was written",
            "Answer for this once, and put what shall always hold into [policy] of your own file.",
            details=[_line(ask) for ask in lasting],
        )
    return answers


def _line(ask: Ask) -> str:
    """One question for people; the digest at the end of an entry's key says nothing to them."""
    item = ask.item
    name = shown(item.key.split("#sha256:")[0], 200)
    return f"{item.target}: {item.op} {name} ({item.risk}, asked by {ask.rule}): {item.description}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
