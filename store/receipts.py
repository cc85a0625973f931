"""The receipts of transactions that did not come to their own end: closed by what became of the targets.

The ledger is never asked what to do. It is told what was done, as far as it can be written; where it cannot,
nothing is lost but the receipt.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ..capabilities.errors import GsdlockError
from .statefiles import read_whole
from .store import Store

if TYPE_CHECKING:
    from .ledger import Ledger, Outcome
    from .overlays import Overlays


def close_receipts(store: Store) -> None:
    """Write down the outcome of each plan that has none. For one who holds the lock, after recovery: then no
    transaction is under way, and one was carried out exactly where a generation bears its name.

    Never raises.
    """
    import sqlite3

    from .ledger import open_ledger
    from .ledger_file import LEDGER_NAME

    with contextlib.suppress(GsdlockError, OSError, sqlite3.Error):
        if read_whole(store.fs, store.state, LEDGER_NAME) is None:
            return
        with open_ledger(store.fs, store.state, store.now) as ledger:
            close_overlay_receipts(store, ledger)
            unfinished = set(ledger.unfinished())
            done = targets_done(store, unfinished) if unfinished else {}
            for id in sorted(unfinished):
                ledger.record_outcomes(id, _outcomes(ledger, id, done.get(id, set())))


def close_overlay_receipts(store: Store, ledger: Ledger) -> None:
    """Write down the outcome of each change of the overlays that has none: the record names the change that
    made it what it is. For one who holds the lock. Raises E-LEDGER-WRITE, E-OVERLAY-STATE."""
    from .ledger import OVERLAY, OVERLAY_OUTCOME
    from .overlays import read_overlays

    closed = {event.transaction_id for event in ledger.events(kind=OVERLAY_OUTCOME)}
    decided = [event.transaction_id for event in ledger.events(kind=OVERLAY) if event.transaction_id]
    for id in decided:
        if id not in closed:
            outcome = overlay_outcome(read_overlays(store), id)
            ledger.record(OVERLAY_OUTCOME, {"outcome": outcome}, id)


def overlay_outcome(record: Overlays, id: str) -> str:
    """What came of the change of the overlays that the ledger calls `id`, while no later one was begun."""
    from .ledger import Outcome

    return (Outcome.DONE if record.receipt == id else Outcome.UNDONE).value


def targets_done(store: Store, receipts: set[str]) -> dict[str, set[str]]:
    """The targets that got a generation, by the name of the transaction in the ledger."""
    found: dict[str, set[str]] = {}
    for slug in store.generations.slugs():
        current = store.generations.current_number(slug)
        for number in store.generations.numbers(slug):
            with contextlib.suppress(GsdlockError):  # a damaged one is told of by those who need it
                generation = store.generations.read(slug, number)
                if number <= current and generation.receipt in receipts:
                    found.setdefault(generation.receipt, set()).add(generation.target)
    return found


def _outcomes(ledger: Ledger, id: str, done: set[str]) -> dict[tuple[str, str], Outcome]:
    """What came of each allowed item of a plan."""
    from .items import Risk
    from .ledger import Outcome

    rows: list[dict[str, Any]] = [
        row
        for event in ledger.events(kind="plan")
        if event.transaction_id == id and event.intact
        for row in event.payload["items"]
    ]
    risks: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row["allow"]:
            risks.setdefault((row["target"], row["key"]), set()).add(row["risk"])
    found: dict[tuple[str, str], Outcome] = {}
    for target, key in ledger.allowed(id):
        if risks.get((target, key)) == {Risk.READ_ONLY.value}:
            found[target, key] = Outcome.UNCHANGED
        elif target in done:
            found[target, key] = Outcome.DONE
        else:
            found[target, key] = Outcome.WITHHELD if done else Outcome.UNDONE
    return found
