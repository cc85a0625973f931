"""Policy: rules that say of an item allow, ask or deny. Pure.

A rule is `[policy.<name>]` with `match = { op, target, scope, kind, risk }` (each optional) and `action`. Of
the rules of one file that match an item, the most specific speaks. Specificity is a tuple of present or
absent, compared from the left in the order of `SPECIFICITY`; two equally specific rules that overlap and
disagree are refused when they are read, so that the order of rules in a file never matters.

Rules come from two layers. The user's own file may say anything. A project's file comes with somebody's
repository, so it can only make things stricter: an `allow` in it is refused, and where both layers speak, the
stricter verdict holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..capabilities.errors import GsdlockError, input_error, refused, shown
from ..capabilities.tables import Table
from ..capabilities.words import Words
from .items import Item, ItemKind, ItemOp, Risk

# Compared from the left: a rule for one op is more specific than any rule without an op, and so on. Source:
# the gate's criterion 22 (op over risk, provider over risk, risk over kind); scope goes with target.
SPECIFICITY = ("op", "target", "scope", "risk", "kind")
SCOPES = ("global", "local")
DEFAULT_RULE = "default"
MOST_RULES = 500  # a project's file is a stranger's: reading it must stay cheap

_NAME = r"[a-z0-9][a-z0-9._-]{0,63}"
_FIX = "Mend the rules; docs/formats/manifest.md says what may stand in [policy]."


class Action(Words):
    """What a rule says, in rising strictness."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def strictness(self) -> int:
        """0 for allow, 1 for ask, 2 for deny."""
        return list(Action).index(self)


class Layer(Words):
    """Whose file a rule stands in."""

    USER = "user"
    PROJECT = "project"


class Match(Struct, frozen=True):
    """What an item must be; None matches anything. `target` is the name of a target in the manifest."""

    op: ItemOp | None = None
    target: str | None = None
    scope: str | None = None
    risk: Risk | None = None
    kind: ItemKind | None = None

    @property
    def values(self) -> tuple[str | None, ...]:
        """The fields in the order of `SPECIFICITY`."""
        return (self.op, self.target, self.scope, self.risk, self.kind)

    @property
    def specificity(self) -> tuple[bool, ...]:
        """Which fields are given; a greater tuple is more specific."""
        return tuple(value is not None for value in self.values)

    def admits(self, item: Item) -> bool:
        """Whether the item is what the rule is about."""
        return all(
            want is None or want == have for want, have in zip(self.values, matched(item), strict=True)
        )


def matched(item: Item) -> tuple[str, ...]:
    """What rules see of an item, in the order of `SPECIFICITY`: of two that are alike in it, policy says the
    same."""
    return (item.op, item.target, item.scope, item.risk, item.kind)


class Rule(Struct, frozen=True):
    """One rule. `label` is how a decision names it: the name, or `project/<name>` for a project's rule
    whose name the user's file has as well."""

    name: str
    match: Match
    action: Action
    layer: Layer
    label: str


class Rules(Struct, frozen=True):
    """The rules of one layer, and what is odd about them though legal."""

    rules: tuple[Rule, ...] = ()
    warnings: tuple[str, ...] = ()


class Policy(Struct, frozen=True):
    """All rules in force, the user's first."""

    user: tuple[Rule, ...] = ()
    project: tuple[Rule, ...] = ()


class Verdict(Struct, frozen=True):
    """What policy says of one item. `rule` is the label of the rule that spoke, or `default`.

    `downgraded` says that a rule asked about an item that changes nothing: there is nothing to ask, so it is
    denied, and the gate reports it.
    """

    action: Action
    rule: str
    downgraded: bool = False

    @property
    def decided_by(self) -> str:
        """Who decided, as it is recorded: `policy:<rule>`."""
        return f"policy:{self.rule}"


def read_rules(
    table: Mapping[str, Any],
    layer: Layer,
    *,
    where: str,
    user_file: str,
    targets: Sequence[str] | None = None,
) -> Rules:
    """The rules in a parsed `[policy]` table of the file `where`.

    `user_file` is the path of the user's own file, named when a project tries to allow. `targets` are the
    names that `match.target` may have; None (the user's file: it serves every manifest) admits any.
    Raises `GsdlockError` with all faults of the file at once: E-POLICY-INVALID (status 3),
    E-POLICY-CONFLICT (3) or E-POLICY-PROJECT-ALLOW (4), E-POLICY-INVALID when they are of several kinds.
    """
    shape: list[str] = []
    top = Table(dict(table), "policy", shape)
    read = (_rule(name, top, layer, targets) for name in top.names()[:MOST_RULES])
    rules = [rule for rule in read if rule is not None]
    if len(top.names()) > MOST_RULES:
        top.fault("", f"has {len(top.names())} rules; at most {MOST_RULES} are read")
    conflicts = [
        f"policy.{a.name} ({a.action}) and policy.{b.name} ({b.action}) {_common(a.match)}"
        for a, b in conflicting(rules)
    ]
    allows = [
        f"policy.{r.name}.action: a project may not allow; an allow belongs into {shown(user_file, 200)}"
        for r in rules
        if layer is Layer.PROJECT and r.action is Action.ALLOW
    ]
    _raise_all(where, shape, conflicts, allows, user_file)
    warnings = tuple(
        f"policy.{r.name} in {where} has an empty match: it speaks for every item that no other rule names"
        for r in rules
        if r.match == Match()
    )
    return Rules(rules=tuple(rules), warnings=warnings)


def conflicting(rules: Sequence[Rule]) -> list[tuple[Rule, Rule]]:
    """The pairs that are equally specific, have an item in common, and disagree; rules of one layer.

    Equally specific rules name the same fields, so they have an item in common exactly when they name the
    same values. Of several rules with one match, each is compared with the first.
    """
    first: dict[Match, Rule] = {}
    return [
        (first[rule.match], rule)
        for rule in rules
        if first.setdefault(rule.match, rule).action is not rule.action
    ]


def merged(user: Rules, project: Rules) -> Policy:
    """Both layers as one policy; a project's rule that bears a name of the user's is relabelled."""
    taken = {rule.name for rule in user.rules}
    relabelled = tuple(
        Rule(r.name, r.match, r.action, r.layer, f"project/{r.name}") if r.name in taken else r
        for r in project.rules
    )
    return Policy(user=user.rules, project=relabelled)


def verdict(policy: Policy, item: Item) -> Verdict:
    """What policy says of the item: the stricter of the two layers.

    Without a rule, read-only, low and moderate are allowed, high and critical are asked. A project's rule
    never softens what the user's rules or the default say.
    """
    spoken = _spoken(policy.user, item) or Verdict(default_action(item.risk), DEFAULT_RULE)
    stricter = _spoken(policy.project, item)
    if stricter is not None and stricter.action.strictness > spoken.action.strictness:
        spoken = stricter
    if spoken.action is Action.ASK and not item.changes:
        return Verdict(Action.DENY, spoken.rule, downgraded=True)
    return spoken


def default_action(risk: Risk) -> Action:
    """What holds where no rule speaks. Source: the design, section 7."""
    return Action.ALLOW if risk <= Risk.MODERATE else Action.ASK


def _spoken(rules: Sequence[Rule], item: Item) -> Verdict | None:
    matching = [r for r in rules if r.match.admits(item)]
    if not matching:
        return None
    # Equally specific rules that match one item are equal in all they name, so they agree: `read_rules`.
    best = max(matching, key=lambda r: r.match.specificity)
    return Verdict(best.action, best.label)


def _rule(name: str, top: Table, layer: Layer, targets: Sequence[str] | None) -> Rule | None:
    """One rule; a faulty field is recorded and left out, None where the rule cannot stand at all."""
    before = len(top.faults)
    row = top.table(name)
    if not re.fullmatch(_NAME, name):
        top.fault(name, 'the name must be 1 to 64 lower-case letters, digits, ".", "_" or "-"')
    elif name == DEFAULT_RULE:
        top.fault(name, f'"{DEFAULT_RULE}" stands for the absence of a rule in receipts; take another name')
    if row is None:
        return None
    action = row.string("action", allowed=[a.value for a in Action])
    if not row.has("match"):
        row.fault("match", "is required; an empty one, match = {}, matches every item")
    fields = row.table("match")
    row.finish()
    values: dict[str, str] = {}
    if fields is not None:
        allowed = {
            "op": [o.value for o in ItemOp],
            "target": None if targets is None else list(targets),
            "scope": list(SCOPES),
            "kind": [k.value for k in ItemKind],
            "risk": [r.value for r in Risk],
        }
        values = {key: fields.string(key, "", members) for key, members in allowed.items()}
        fields.finish()
    if len(top.faults) > before:
        return None
    match = Match(
        op=ItemOp(values["op"]) if values["op"] else None,
        target=values["target"] or None,
        scope=values["scope"] or None,
        risk=Risk(values["risk"]) if values["risk"] else None,
        kind=ItemKind(values["kind"]) if values["kind"] else None,
    )
    return Rule(name=name, match=match, action=Action(action), layer=layer, label=name)


def _common(match: Match) -> str:
    named = [f'{k} = "{shown(v)}"' for k, v in zip(SPECIFICITY, match.values, strict=True) if v is not None]
    return f"both match {{ {', '.join(named)} }}" if named else "both match everything"


def _raise_all(
    where: str, shape: Sequence[str], conflicts: Sequence[str], allows: Sequence[str], user_file: str
) -> None:
    kinds = [faults for faults in (shape, conflicts, allows) if faults]
    if not kinds:
        return
    fault: GsdlockError
    if allows and len(kinds) == 1:
        fault = refused(
            "E-POLICY-PROJECT-ALLOW",
            f"{where} comes with a project and tries to allow",
            f"Take the rule out; what you allow yourself stands in {user_file} or on the command line.",
            where=where,
            details=allows,
        )
    elif conflicts and len(kinds) == 1:
        fault = input_error(
            "E-POLICY-CONFLICT",
            f"{where} has rules that contradict each other",
            "Make one of the two more specific, or give both the same action.",
            where=where,
            details=conflicts,
        )
    else:
        faults = [*shape, *conflicts, *allows]
        count = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
        fault = input_error(
            "E-POLICY-INVALID", f"the policy in {where} has {count}", _FIX, where=where, details=faults
        )
    raise fault
