"""What every verb that changes targets shares: its options, the gate, the ledger, the report."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache

from .render import Outcome, plural, step_name, tell

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from typing import Any

    from ..store.choices import Choices
    from ..store.gate import Settled, Veto
    from ..store.items import Item
    from ..store.ledger import Ledger
    from ..store.policy import Policy
    from ..store.recovery import Recovered
    from ..store.survey import TargetChange
    from ..store.transaction import Outcome as Denied
    from ..store.transaction import Result
    from .session import Session

RISKS = ("read-only", "low", "moderate", "high", "critical")


def common_arguments(
    parser: argparse.ArgumentParser,
    choices: Sequence[str] = ("ours", "theirs", "adopt"),
    *,
    partial: bool = True,
) -> None:
    """The options of verbs that change targets; `choices` and `partial` say which mean something there."""
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be done and asked; do nothing"
    )
    parser.add_argument(
        "--allow", metavar="RISK", action="append", choices=RISKS, default=[], help="answer up to this risk"
    )
    for name, text in (
        ("ours", "replace what you changed of ours; your version is kept in the store"),
        ("theirs", "keep what you changed of ours, and remember that it is held back"),
        ("adopt", "take over files of yours that are in the way; they are kept in the store"),
    ):
        if name in choices:
            parser.add_argument(
                f"--{name}", metavar="PATH", nargs="?", const="*", action="append", default=[], help=text
            )
    if partial:
        parser.add_argument("--partial", action="store_true", help="go ahead without what is denied")
    parser.add_argument(
        "--unsafe-auto-allow", action="store_true", help="allow everything unseen; recorded as such"
    )


def choices_of(options: argparse.Namespace) -> Choices:
    """What the options say about drift and collisions."""
    from ..store.choices import Choices

    return Choices(
        adopt=frozenset(map(full_name, getattr(options, "adopt", ()))),
        ours=frozenset(map(full_name, getattr(options, "ours", ()))),
        theirs=frozenset(map(full_name, getattr(options, "theirs", ()))),
        keep_held=getattr(options, "keep_held", False),
        move=getattr(options, "move", False),
        take_over=getattr(options, "take_over", False),
    )


def full_name(choice: str) -> str:
    """A name of a lock (`config:x`) as it is; anything else is a path and becomes a full one."""
    path, mark, pointer = choice.partition("#")
    root, colon, _ = path.partition(":")
    if choice == "*" or (colon and root.replace("-", "").isalpha() and "/" not in root):
        return choice
    return os.path.abspath(os.path.expanduser(path)) + mark + pointer


def carry_out(
    session: Session,
    options: argparse.Namespace,
    changes: Sequence[TargetChange],
    nothing: str = "nothing to do",
    inspect: Callable[[Sequence[Item]], None] | None = None,
    flag: Callable[[Sequence[Item]], Sequence[Item]] | None = None,
) -> Outcome:
    """Run the transaction (or only show it, under `--dry-run`), with gate and ledger around it.

    `nothing` is what is said where there was nothing to do. `inspect` sees the items before anything is
    decided, and may refuse; `flag` may add to their descriptions. Raises what the transaction raises.
    """
    from ..store.transaction import preview, run
    from .host_files import broken_files, with_host_rules
    from .overlays import marked
    from .vetoes import confinement_veto

    choices = choices_of(options)
    changes = with_host_rules(session, marked(session, changes))
    if options.dry_run:
        items = preview(session.store, changes, choices)
        if inspect is not None:
            inspect(items)
        veto = confinement_veto(session, changes)
        if veto is not None and veto.fault is not None:
            raise veto.fault
        return _dry_outcome(session, options, _described(session, items, flag))
    receipts = _Receipts(session)

    def decide(items: Sequence[Item]) -> Settled:
        if inspect is not None:
            inspect(items)
        veto = confinement_veto(session, changes)
        settled = _settle(session, options, _described(session, items, flag), veto)
        receipts.plan(settled)
        if veto is not None and veto.fault is not None:
            raise veto.fault
        return settled

    try:
        result = run(session.store, changes, choices, decide, receipt=receipts.id)
    except BaseException:
        receipts.undone()
        raise
    session.is_done = True
    receipts.outcomes(result)
    broken = broken_files(session, result.made)
    return _outcome(result, nothing, [*receipts.messages, *broken], rows=options.json)


def _described(
    session: Session, items: Sequence[Item], flag: Callable[[Sequence[Item]], Sequence[Item]] | None
) -> Sequence[Item]:
    """The items as they are shown and recorded: places below the home in their short form, and flagged."""
    from msgspec.structs import replace

    home = session.environment.home
    if home is not None and home != "/":
        items = [
            replace(i, description=i.description.replace(f"{home}/", "~/")) if home in i.description else i
            for i in items
        ]
    return items if flag is None else flag(items)


@lru_cache(maxsize=1)  # a process has one session, but for those that run several one after the other
def policy_of(session: Session) -> Policy:
    """The rules in force: the user's own file first, then the project's. Their warnings are told once.

    Raises `GsdlockError` E-POLICY-….
    """
    from ..resolver.finding import user_manifest
    from ..store.policy import Layer, Rules, merged, read_rules

    user_path = user_manifest(session.environment.folders.config)
    user, project = Rules(), Rules()
    if session.own is not None:
        user = read_rules(session.own.policy, Layer.USER, where=user_path, user_file=user_path)
    if session.manifest_path is not None and not session.manifest.of_user:
        manifest = session.manifest
        project = read_rules(
            manifest.policy,
            Layer.PROJECT,
            where=manifest.path,
            user_file=user_path,
            targets=[t.name for t in manifest.targets],
        )
    for warning in (*user.warnings, *project.warnings):
        session.progress(f"warning: {warning}")
    return merged(user, project)


def _settle(
    session: Session, options: argparse.Namespace, items: Sequence[Item], veto: Veto | None
) -> Settled:
    from ..store.gate import Resolver, UnattendedResolver, UnsafeAutoAllow, settle
    from ..store.items import Risk

    resolver: Resolver
    if options.unsafe_auto_allow:
        resolver = UnsafeAutoAllow(acknowledged=True, warn=tell)
    elif sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not options.json:
        from .terminal import TerminalResolver

        resolver = TerminalResolver()
    else:
        resolver = UnattendedResolver()
    return settle(
        items,
        policy_of(session),
        resolver,
        allow=[Risk(r) for r in options.allow],
        veto=veto,
        partial=getattr(options, "partial", False),
    )


class _Receipts:
    """The ledger around one transaction: decisions before it, outcomes behind it.

    A ledger that cannot be written stops an apply before anything is done; once it is done, the outcome is a
    fact whether or not the ledger can take it, so then it is only a message.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.id = os.urandom(16).hex()
        self._ledger: Ledger | None = None  # open from the plan to its outcomes
        self._allowed: dict[tuple[str, str], bool] = {}  # whether it changes anything, by target and key
        self.messages: list[str] = []

    def plan(self, settled: Settled) -> None:
        from ..store.faults import io_at
        from ..store.journal import Journals
        from ..store.ledger import may_know, open_with_plan

        store = self._session.store
        with io_at("cannot write in", store.state):
            Journals(store.fs, store.state).announce(self.id)
        try:
            ledger = open_with_plan(
                store.fs, store.state, store.now, self.id, settled.items, settled.decisions
            )
        except BaseException:
            if not may_know(store.fs, store.state, self.id):  # else the next command says what came of it
                self._withdraw()
            raise
        self.messages += ledger.messages
        self._ledger = ledger
        for item, decision in zip(settled.items, settled.decisions, strict=True):
            if decision.allow:  # two items of a key (it leaves one folder, comes into another) are one here
                key = (item.target, item.key)
                self._allowed[key] = item.changes or self._allowed.get(key, False)

    def outcomes(self, result: Result) -> None:
        """What was allowed was done, but for targets that a denial left as they were."""
        self._close(lambda target: "withheld" if target in result.unchanged else "done")

    def undone(self) -> None:
        """The transaction went back; or, where it could not yet, recovery says what came of it."""
        if self._ledger is None:
            return
        from ..capabilities.errors import GsdlockError
        from ..store.journal import Journals
        from ..store.receipts import targets_done

        store = self._session.store
        try:
            left = set(Journals(store.fs, store.state).pending()) - {self.id}
        except GsdlockError:
            left = {self.id}  # nobody can tell now
        if targets_done(store, {self.id}):
            self._ledger.close()  # an interruption that came after the end: the next command says so
        elif not left:
            self._close(lambda target: "undone")
        else:
            self._ledger.close()
            self._withdraw()

    def _close(self, outcome_of: Callable[[str], str]) -> None:
        if self._ledger is None:
            return
        from ..store.ledger import Outcome as Receipt

        with self._ledger as ledger:
            closed = {
                key: Receipt(outcome_of(key[0]) if changes else "unchanged")
                for key, changes in self._allowed.items()
            }
            told = ledger.record_outcomes(self.id, closed)
        self.messages += told
        if not told:  # else the next command sees to it
            self._withdraw()

    def _withdraw(self) -> None:
        """The receipts need nobody else any more. A folder that is left costs the next command a look."""
        import contextlib

        from ..store.journal import Journals

        store = self._session.store
        with contextlib.suppress(OSError):
            Journals(store.fs, store.state).withdraw(self.id)


def _dry_outcome(session: Session, options: argparse.Namespace, items: Sequence[Item]) -> Outcome:
    from ..store.gate import judge
    from ..store.items import ItemKind, Risk, item_data

    judged = judge(items, policy_of(session), allow=[Risk(r) for r in options.allow])
    lines, rows = [], []
    for judgement in judged:
        item = judgement.item
        if judgement.decision is None:
            answer = "asked"
        else:
            answer = "allowed" if judgement.decision.allow else "denied"
        rows.append({**item_data(item), "decision": answer})
        if item.changes:
            # Of an entry the name does not tell what it does: a hook's command is in its description.
            entry = f": {item.description}" if item.kind in (ItemKind.ENTRY, ItemKind.HOOK) else ""
            lines.append(f"{item.target}: {item.op.value} {named(item)} ({item.risk.value}, {answer}){entry}")
    asked = sum(row["decision"] == "asked" for row in rows)
    if not lines:
        lines = ["nothing would be done"]
    elif asked:
        lines.append(f"{plural(asked, 'item')} would be asked about; nothing was done")
    else:
        lines.append("nothing would be asked; nothing was done")
    return Outcome(0, {"dry-run": True, "items": rows}, lines)


def _outcome(result: Result, nothing: str, messages: Sequence[str], *, rows: bool) -> Outcome:
    """What is said of a transaction; the data has a row for every item only where somebody reads `rows`."""
    from ..store.generations import target_of_slug

    done = [o for o in result.outcomes if o.result == "done"]
    lines = [f"{r}" for r in map(recovered_line, result.recovered)]
    by_target: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for outcome in done:
        by_target[outcome.item.target][outcome.item.op.value] += 1
    for target, counts in by_target.items():
        number = next((n for slug, n in result.generations.items() if target_of_slug(slug) == target), None)
        what = ", ".join(f"{op} {n}" for op, n in sorted(counts.items()))
        lines.append(f"{target}: {what}" + (f"; generation {number}" if number else ""))
    denied = [o for o in result.outcomes if o.item.changes and not o.decision.allow]
    for target in dict.fromkeys(o.item.target for o in denied):
        left = target in result.unchanged
        lines.append(
            f"{target}: denied, left as it was" if left else f"{target}: left out, as it was denied:"
        )
        lines += denied_lines([o for o in denied if o.item.target == target])
    held = _held_lines(result)
    kept = []
    if result.kept:
        from shlex import quote

        kept = [f"the former version of {p} is kept: gsdlock restore {quote(p)}" for p in result.kept]
    lines += [*bounded(held), *bounded(kept), *result.downgrades, *messages]
    if not (done or denied or held):
        lines.append(nothing)
    data: dict[str, Any] = {
        "generations": dict(result.generations),
        "denied": sorted(result.unchanged),
        "kept": list(result.kept),
        "staying": [
            {"target": item.target, "key": item.key, "why": item.stays.value}
            for item in _settled_items(result)
            if item.stays is not None
        ],
        "messages": list(messages),
        "items": [
            {
                "target": o.item.target,
                "op": o.item.op.value,
                "key": o.item.key,
                "risk": o.item.risk.value,
                "result": o.result,
                "decided-by": o.decision.decided_by,
            }
            for o in result.outcomes
            if rows
        ],
    }
    from ..capabilities.errors import Exit

    return Outcome(Exit.REFUSED if result.unchanged else 0, data, lines)


_MOST_LINES = 12


def bounded(lines: Sequence[str], more: str = "and {} more") -> list[str]:
    """The first lines of one kind, and how many there are more."""
    rest = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], more.format(rest)] if rest > 0 else list(lines)


def denied_lines(denied: Sequence[Denied]) -> list[str]:
    """What was denied of one target, and who did it; bounded."""
    lines = [
        f"  {o.item.op.value} {named(o.item)} ({o.item.risk.value}, {o.decision.decided_by})" for o in denied
    ]
    return bounded(lines, "  and {} more; gsdlock log -v shows all")


def named(item: Item) -> str:
    """The key of an item without the digest of an entry's value, which says nothing to people."""
    return step_name(item.key)


def _held_lines(result: Result) -> list[str]:
    """What stays as the user has it in the generations that were made, one line an item."""
    from ..store.items import ItemOp, Stays

    how = {
        Stays.DECIDES: "stays: your own value decides; without it the next apply puts ours in",
        Stays.CHANGED: "stays as it is now: you changed it, so it is yours",
        Stays.BEFORE: "stays: it stood there before us",
        None: "stays as you have it, held back until --ours",
    }
    told = (i for i in _settled_items(result) if i.stays is not None or i.op is ItemOp.HOLD_BACK)
    return [f"{item.target}: {named(item)} {how[item.stays]}" for item in told]


def _settled_items(result: Result) -> list[Item]:
    """The items of the targets that have a new generation."""
    from ..store.generations import target_of_slug

    made = set(map(target_of_slug, result.generations))
    return [o.item for o in result.outcomes if o.item.target in made]


def recovered_line(recovered: Recovered) -> str:
    """What an earlier, interrupted transaction needed."""
    what = "completed" if recovered.completed else "undone"
    targets = ", ".join(recovered.targets)
    return f"{recovered.command} had been interrupted: {what} first ({targets})"
