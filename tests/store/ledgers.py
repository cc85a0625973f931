"""Ledgers for tests: with a clock that ticks, and items that differ in their key only."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.items import Decision, Item, ItemKind, ItemOp, Risk
from gsdlock.store.ledger import Ledger, Outcome, open_ledger

FS = RealFileSystem()
ALLOWED = Decision(True, "policy:default")
DENIED = Decision(False, "policy:no-hooks")


def clock() -> Callable[[], str]:
    ticks = itertools.count()
    return lambda: f"2026-01-01T00:00:{next(ticks) % 60:02}.000Z"


def item(key: str = "config:a", target: str = "claude", op: ItemOp = ItemOp.CREATE) -> Item:
    return Item(
        target=target,
        op=op,
        key=key,
        kind=ItemKind.FILE,
        risk=Risk.LOW,
        executes=False,
        before="",
        after="sha256:" + "a" * 64,
        description="a skill",
        scope="global",
    )


def opened(folder: Path) -> Ledger:
    return open_ledger(FS, str(folder), clock())


def rows(folder: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def filled(folder: Path, applies: int) -> None:
    """A ledger with `applies` finished applies of twenty items each."""
    with opened(folder) as ledger:
        for n in range(applies):
            items = [item(f"config:{k}") for k in range(20)]
            ledger.record_plan(f"t{n}", items, [ALLOWED] * 20)
            ledger.record_outcomes(f"t{n}", dict.fromkeys(ledger.allowed(f"t{n}"), Outcome.DONE))
