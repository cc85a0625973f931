"""A ledger that is opened with a plan: the same as opened first and written then, was there one or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store import ledger_file
from gsdlock.store.ledger import Event, may_know, open_ledger, open_with_plan, read_events

from .ledgers import ALLOWED, DENIED, FS, clock, item

ITEMS, DECISIONS = [item("config:a"), item("config:b")], [ALLOWED, DENIED]


def written(folder: Path, before: int, *, at_once: bool) -> tuple[Event, ...]:
    """The events of a ledger with some plans in it and one more."""
    now = clock()
    for number in range(before):
        open_with_plan(FS, str(folder), now, f"t{number}", ITEMS, DECISIONS).close()
    if at_once:
        open_with_plan(FS, str(folder), now, "last", ITEMS, DECISIONS).close()
    else:
        with open_ledger(FS, str(folder), now) as ledger:
            ledger.record_plan("last", ITEMS, DECISIONS)
    return read_events(FS, str(folder))


@pytest.mark.parametrize("before", [0, 1, 2])
def test_at_once_is_the_same_as_one_after_the_other(tmp_path: Path, before: int) -> None:
    events = written(tmp_path / "at once", before, at_once=True)
    assert events == written(tmp_path / "in turn", before, at_once=False)
    assert [event.sequence for event in events] == list(range(1, before + 2))
    assert all(event.intact and event.kind == "plan" for event in events)


def test_a_second_plan_of_one_transaction_is_refused(tmp_path: Path) -> None:
    open_with_plan(FS, str(tmp_path), clock(), "t1", ITEMS, DECISIONS).close()
    with pytest.raises(GsdlockError, match="cannot be written"):
        open_with_plan(FS, str(tmp_path), clock(), "t1", ITEMS, DECISIONS)
    assert len(read_events(FS, str(tmp_path))) == 1


def test_a_plan_may_stand_though_what_came_after_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full once the ledger has its place."""

    def full(path: str) -> Any:
        raise OSError(28, "No space left on device")

    assert not may_know(FS, str(tmp_path), "t1"), "there is no ledger yet"
    monkeypatch.setattr(ledger_file, "_writable", full)
    with pytest.raises(GsdlockError, match="No space left"):
        open_with_plan(FS, str(tmp_path), clock(), "t1", ITEMS, DECISIONS)
    assert may_know(FS, str(tmp_path), "t1")
    assert not may_know(FS, str(tmp_path), "t2")


def test_of_a_ledger_that_cannot_be_asked_nobody_knows(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no ledger at all" * 100)
    assert may_know(FS, str(tmp_path), "t1")
