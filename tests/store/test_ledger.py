"""The ledger as a specification. Numbers are those of the gate's acceptance criteria (30 to 39)."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from gsdlock.capabilities.errors import Exit, GsdlockError
from gsdlock.store.items import Decision, Item, ItemOp
from gsdlock.store.ledger import Ledger, Outcome, open_ledger, read_events

from .ledgers import ALLOWED, DENIED, FS, filled, item, opened, rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    with opened(folder) as made:
        yield made


class TestPlanAndOutcomes:
    """31: rows hold only allow and deny, and outcomes match what was allowed one to one."""

    def test_a_finished_apply(self, ledger: Ledger, folder: Path) -> None:
        items = [item("config:a"), item("config:b"), item("config:a", "codex")]
        ledger.record_plan("t1", items, [ALLOWED, DENIED, ALLOWED])
        assert ledger.unfinished() == ("t1",)
        assert ledger.allowed("t1") == (("claude", "config:a"), ("codex", "config:a"))
        outcomes = {("claude", "config:a"): Outcome.WITHHELD, ("codex", "config:a"): Outcome.DONE}
        assert ledger.record_outcomes("t1", outcomes) == ()
        assert ledger.unfinished() == ()
        assert rows(folder, "SELECT target, key, allow, decided_by FROM plan_items") == [
            ("claude", "config:a", 1, "policy:default"),
            ("claude", "config:b", 0, "policy:no-hooks"),
            ("codex", "config:a", 1, "policy:default"),
        ]
        assert rows(folder, "SELECT position, outcome FROM outcomes") == [(0, "withheld"), (2, "done")]

    @pytest.mark.parametrize(
        "told",
        [
            {},
            {("claude", "config:a"): Outcome.DONE, ("claude", "config:b"): Outcome.DONE},
            {("claude", "config:b"): Outcome.DONE},
            {("codex", "config:a"): Outcome.DONE},
        ],
        ids=["missing", "denied has one", "denied instead", "unknown"],
    )
    def test_anything_but_one_to_one_is_an_error_and_writes_nothing(
        self, ledger: Ledger, told: dict[tuple[str, str], Outcome]
    ) -> None:
        ledger.record_plan("t1", [item("config:a"), item("config:b")], [ALLOWED, DENIED])
        with pytest.raises(GsdlockError) as caught:
            ledger.record_outcomes("t1", told)
        assert (caught.value.code, caught.value.status) == ("E-LEDGER-OUTCOMES", Exit.FAULT)
        assert caught.value.details
        assert [e.kind for e in ledger.events()] == ["plan"]
        assert ledger.unfinished() == ("t1",)

    @pytest.mark.parametrize(
        ("items", "decisions", "transaction"),
        [
            ([item()], [], "t1"),
            ([item()], [Decision(True, "whoever")], "t1"),
            ([item()], [ALLOWED], ""),
        ],
        ids=["a decision is missing", "decided_by is not of the grammar", "no transaction"],
    )
    def test_what_is_not_settled_is_not_recorded(
        self, ledger: Ledger, items: list[Item], decisions: list[Decision], transaction: str
    ) -> None:
        with pytest.raises(ValueError, match="not a settled plan"):
            ledger.record_plan(transaction, items, decisions)
        assert ledger.events() == ()

    def test_a_key_that_stands_twice_gives_each_item_an_outcome(self, ledger: Ledger, folder: Path) -> None:
        """A target whose root moved leaves one folder and comes into another, under the same keys."""
        items = [item(op=op) for op in (ItemOp.REMOVE, ItemOp.CREATE, ItemOp.RESTORE)]
        ledger.record_plan("t1", items, [ALLOWED, ALLOWED, DENIED])
        assert ledger.allowed("t1") == (("claude", "config:a"),)
        assert ledger.record_outcomes("t1", {("claude", "config:a"): Outcome.DONE}) == ()
        assert rows(folder, "SELECT position, outcome FROM outcomes") == [(0, "done"), (1, "done")]

    def test_closing_twice_writes_once(self, ledger: Ledger) -> None:
        """Recovery may run after an outcome was written and before the journal was cleared."""
        ledger.record_plan("t1", [item()], [ALLOWED])
        for _ in range(2):
            assert ledger.record_outcomes("t1", {("claude", "config:a"): Outcome.DONE}) == ()
        assert [e.kind for e in ledger.events()] == ["plan", "outcomes"]

    def test_an_outcome_whose_plan_was_lost_is_kept_and_told(self, ledger: Ledger) -> None:
        (message,) = ledger.record_outcomes("lost", {("claude", "config:a"): Outcome.UNDONE})
        assert "lost" in message
        (event,) = ledger.events()
        assert event.payload == {"outcomes": [["claude", "config:a", "undone"]], "plan": "unknown"}

    def test_a_transaction_has_one_plan(self, ledger: Ledger) -> None:
        ledger.record_plan("t1", [item()], [ALLOWED])
        with pytest.raises(GsdlockError):
            ledger.record_plan("t1", [item()], [ALLOWED])
        assert len(ledger.events()) == 1


class TestEvents:
    def test_34_order_is_by_sequence_whatever_the_clock_says(self, folder: Path) -> None:
        times = iter(["2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000Z"])
        with open_ledger(FS, str(folder), lambda: next(times)) as ledger:
            ledger.record("first", {})
            ledger.record("second", {})
            assert [(e.sequence, e.kind) for e in ledger.events()] == [(1, "first"), (2, "second")]

    def test_since_and_kind(self, ledger: Ledger) -> None:
        for kind in ("a", "b", "a"):
            ledger.record(kind, {"of": kind}, "t1")
        assert [e.sequence for e in ledger.events(since=1)] == [2, 3]
        assert [e.sequence for e in ledger.events(kind="a")] == [1, 3]
        assert [e.sequence for e in ledger.events(since=1, kind="a")] == [3]
        assert ledger.events(since=3) == ()

    @pytest.mark.parametrize("kind", ["", "Plan", "two words", "plan", "outcomes", "a\n"])
    def test_kinds_are_words_and_plans_go_their_own_way(self, ledger: Ledger, kind: str) -> None:
        with pytest.raises(ValueError, match="not a kind"):
            ledger.record(kind, {})

    @pytest.mark.parametrize("table", ["events", "plan_items", "outcomes"])
    @pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET transaction_id = 'x'"])
    def test_receipts_are_only_ever_added(self, folder: Path, table: str, statement: str) -> None:
        filled(folder, 1)
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            rows(folder, statement.format(table))

    def test_38_the_same_plan_gives_the_same_bytes(self, tmp_path: Path) -> None:
        payloads = []
        for name in ("one", "two"):
            filled(tmp_path / name, 1)
            payloads.append(rows(tmp_path / name, "SELECT payload FROM events"))
        assert payloads[0] == payloads[1]
        assert payloads[0][0][0].startswith(b'{"items":[{"after":"sha256:')

    def test_reading_makes_nothing(self, folder: Path) -> None:
        assert read_events(FS, str(folder)) == ()
        assert not folder.exists()
        folder.mkdir()
        assert read_events(FS, str(folder)) == ()
        assert os.listdir(folder) == []

    def test_reading_gives_what_was_recorded(self, folder: Path) -> None:
        filled(folder, 2)
        assert [e.kind for e in read_events(FS, str(folder), since=1)] == ["outcomes", "plan", "outcomes"]
        assert all(e.intact for e in read_events(FS, str(folder)))

    def test_a_changed_receipt_shows(self, folder: Path) -> None:
        """sqlite sees no fault in a changed letter; the digest of the event does."""
        filled(folder, 1)
        path = folder / "ledger.sqlite"
        data = path.read_bytes()
        assert data.count(b'"decided_by":"policy:default"') == 20
        path.write_bytes(data.replace(b'"decided_by":"policy:default"', b'"decided_by":"policy:defaulT"', 1))
        plan, outcomes = read_events(FS, str(folder))
        assert (plan.intact, outcomes.intact) == (False, True)

    def test_bytes_that_are_no_text_any_more_stop_nothing(self, folder: Path) -> None:
        filled(folder, 1)
        path = folder / "ledger.sqlite"
        path.write_bytes(path.read_bytes().replace(b"2026-01-01T00:00:00", b"\xff026-01-01T00:00:00"))
        plan, outcomes = read_events(FS, str(folder))
        assert (plan.intact, outcomes.intact) == (False, True)


class TestWriting:
    """30: what cannot be recorded is an error before anything is done."""

    def test_a_full_disk(self, ledger: Ledger) -> None:
        (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
        items = [item(f"config:{n}") for n in range(500)]
        with pytest.raises(GsdlockError) as caught:
            ledger.record_plan("t1", items, [ALLOWED] * 500)
        assert (caught.value.code, caught.value.status) == ("E-LEDGER-WRITE", Exit.REFUSED)
        assert "nothing was written to any host" in caught.value.what
        assert ledger.events() == ()
        assert ledger.allowed("t1") == ()

    def test_a_lock_that_is_not_given_up(self, ledger: Ledger, folder: Path) -> None:
        other = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ledger._connection.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(GsdlockError) as caught:
            ledger.record_plan("t1", [item()], [ALLOWED])
        assert caught.value.code == "E-LEDGER-WRITE"
        other.close()
        ledger.record_plan("t1", [item()], [ALLOWED])

    def test_after_the_act_it_is_a_message_and_no_error(self, ledger: Ledger, folder: Path) -> None:
        ledger.record_plan("t1", [item()], [ALLOWED])
        other = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ledger._connection.execute("PRAGMA busy_timeout = 0")
        (message,) = ledger.record_outcomes("t1", {("claude", "config:a"): Outcome.DONE})
        assert "stands all the same" in message
        other.close()

    @pytest.mark.parametrize("kind", ["folder", "fifo", "link"])
    def test_something_else_in_its_place(self, folder: Path, tmp_path: Path, kind: str) -> None:
        folder.mkdir()
        path = folder / "ledger.sqlite"
        if kind == "folder":
            path.mkdir()
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(GsdlockError) as caught:
            opened(folder)
        assert caught.value.code == "E-LEDGER-WRITE"
        assert not (tmp_path / "elsewhere").exists()

    def test_a_file_in_place_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "state").write_text("")
        with pytest.raises(GsdlockError) as caught:
            opened(tmp_path / "state")
        assert caught.value.code == "E-LEDGER-WRITE"


def test_35_a_reader_does_not_stop_a_writer(ledger: Ledger, folder: Path) -> None:
    ledger.record("before", {})
    reader = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
    ledger._connection.execute("PRAGMA busy_timeout = 0")
    ledger.record_plan("t1", [item()], [ALLOWED])
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
    reader.execute("COMMIT")
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (2,)
    reader.close()


def test_35_every_connection_waits_and_enforces(ledger: Ledger) -> None:
    pragmas = {"busy_timeout": 5000, "foreign_keys": 1, "journal_mode": "wal", "synchronous": 2}
    for name, value in pragmas.items():
        assert ledger._connection.execute(f"PRAGMA {name}").fetchone() == (value,)


def test_39_private_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        with opened(folder) as ledger:
            ledger.record("one", {})
            names = os.listdir(folder)
            assert {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"} <= set(names)
            modes = {n: stat.S_IMODE((folder / n).stat().st_mode) for n in names}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
