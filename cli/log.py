"""List the receipts: what was decided about each item and each overlay, by whom, and what came of it.

The ledger is for reading back only: losing it loses no file and blocks no rollback.

example: gsdlock log --since 12
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from .render import Outcome, plural, step_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..store.ledger import Event
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--since", metavar="N", type=_number, default=0, help="only receipts after number N")
    parser.add_argument("--kind", metavar="KIND", help="only receipts of this kind, such as plan or overlay")


def _number(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError("a receipt has no negative number")
    return number


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """List the receipts. See the module's text.

    Raises `GsdlockError`: E-LOG-KIND, E-LEDGER-DAMAGED, E-LEDGER-VERSION.
    """
    from ..store.ledger import read_events

    store = session.store
    found = read_events(store.fs, store.state)
    if options.kind is not None:
        _check_kind(options.kind, [e.kind for e in found])
    events = [e for e in found if e.sequence > options.since and options.kind in (None, e.kind)]
    lines = [line for event in events for line in _lines(event, options.verbose)]
    rows = [
        {
            "sequence": e.sequence,
            "time": e.at,
            "kind": e.kind,
            "transaction": e.transaction_id,
            "intact": e.intact,
            "payload": e.payload,
        }
        for e in events
    ]
    nothing = f"no receipt of the {len(found)} is meant" if found else "no receipt yet"
    return Outcome(0, {"events": rows}, lines or [nothing])


def _check_kind(kind: str, there: Sequence[str]) -> None:
    from ..capabilities.errors import shown, usage_error
    from ..capabilities.tables import nearest
    from ..store.ledger import KINDS

    known = sorted({*KINDS, *there})
    if kind not in known:
        raise usage_error(
            "E-LOG-KIND",
            f"there are no receipts of kind {shown(kind)}{nearest(kind, known)}",
            f"Kinds: {', '.join(map(shown, known))}.",
        )


def _lines(event: Event, verbose: bool) -> list[str]:
    head = f"{event.sequence:>4}  {event.at}  {event.kind}"
    if not event.intact:
        return [f"{head}: damaged, not to be relied on"]
    payload: dict[str, Any] = event.payload
    if event.kind == "plan":
        rows = payload["items"]
        counts = Counter(row["decided_by"] for row in rows)
        said = ", ".join(f"{n} by {who}" for who, n in sorted(counts.items()))
        lines = [f"{head}: {plural(len(rows), 'item')}: {said}"]
        if verbose:
            lines += [f"        {_item_line(row)}" for row in rows]
        return lines
    if event.kind == "outcomes":
        results = Counter(row[2] for row in payload["outcomes"])
        return [f"{head}: " + ", ".join(f"{what} {n}" for what, n in sorted(results.items()))]
    if event.kind == "overlay":
        return [f"{head}: {_decision_line(payload)}", *(_disclosed(payload) if verbose else ())]
    if event.kind == "overlay-outcome":
        return [f"{head}: {payload['outcome']}"]
    return [head]


def _decision_line(payload: dict[str, Any]) -> str:
    from ..capabilities.errors import shown

    said = "allow" if payload["allow"] else "deny"
    where = "user" if payload["scope"] == "user" else shown(payload["scope"], 200)
    return (
        f"{said} {payload['action']} {payload['id']} for {where} ({payload['decided_by']})"
        f": {payload['digest']}"
    )


def _disclosed(payload: dict[str, Any]) -> list[str]:
    """What the user was shown when it was decided."""
    from ..capabilities.errors import shown

    rows = [("from", payload["source"]), ("was", payload["resolved"]), ("signed", payload["signer"])]
    lines = [f"{name} {shown(text, 300)}" for name, text in rows if text]
    lines += [f"writes {shown(root, 400)}" for root in payload["roots"]]
    lines += [f"executes {kind} {name}: {text}" for kind, name, text in payload["surfaces"]]
    return [f"        {line}" for line in lines]


def _item_line(row: dict[str, Any]) -> str:
    said = "allow" if row["allow"] else "deny"
    return f"{said} {row['target']} {row['op']} {step_name(row['key'])} ({row['risk']}, {row['decided_by']})"
