"""The ledger as a specification. Numbers are those of the gate's acceptance criteria (30 to 39)."""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import Exit, GsdlockError
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.items import Decision, Item, ItemKind, ItemOp, Risk
from gsdlock.store.ledger import Ledger, Outcome, open_ledger, read_events
from gsdlock.store.ledger_schema import MIGRATIONS, connect, migrate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    with opened(folder) as made:
        yield made


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


class TestVersions:
    """36: a newer file is refused and not changed; an older one is migrated step by step."""

    def test_newer(self, folder: Path) -> None:
        filled(folder, 1)
        rows(folder, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        before = (folder / "ledger.sqlite").read_bytes()
        for attempt in (lambda: opened(folder), lambda: read_events(FS, str(folder))):
            with pytest.raises(GsdlockError) as caught:
                attempt()
            assert (caught.value.code, caught.value.status) == ("E-LEDGER-VERSION", Exit.INPUT)
            assert (folder / "ledger.sqlite").read_bytes() == before

    def test_the_first_version_is_brought_up_to_date_with_all_its_rows(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        (folder / "ledger.sqlite").touch(0o600)
        connection = connect(str(folder / "ledger.sqlite"), "rw")
        migrate(connection, MIGRATIONS[:1])
        with Ledger(connection, str(folder / "ledger.sqlite"), clock()) as ledger:
            ledger.record_plan("t1", [item("config:a"), item("config:b")], [ALLOWED] * 2)
            outcomes = {("claude", "config:a"): Outcome.DONE, ("claude", "config:b"): Outcome.UNDONE}
            assert ledger.record_outcomes("t1", outcomes) == ()
        assert [e.kind for e in read_events(FS, str(folder))] == ["plan", "outcomes"]
        assert rows(folder, "PRAGMA user_version") == [(1,)]  # reading migrates nothing
        with opened(folder) as ledger:
            assert ledger.messages == ()
            ledger.record_plan("t2", [item()], [ALLOWED])
            assert ledger.record_outcomes("t2", {("claude", "config:a"): Outcome.UNCHANGED}) == ()
        assert rows(folder, "PRAGMA user_version") == [(len(MIGRATIONS),)]
        query = "SELECT transaction_id, position, outcome FROM outcomes"
        assert rows(folder, query) == [("t1", 0, "done"), ("t1", 1, "undone"), ("t2", 0, "unchanged")]
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            rows(folder, "DELETE FROM outcomes")

    def test_stepwise_and_a_step_that_fails_leaves_the_one_before(self, folder: Path) -> None:
        filled(folder, 1)
        version = len(MIGRATIONS)
        steps = (
            *MIGRATIONS,
            ("CREATE TABLE extra (a TEXT)",),
            ("CREATE TABLE more (a TEXT)", "INSERT INTO nowhere VALUES (1)"),
        )
        connection = connect(str(folder / "ledger.sqlite"), "rw")
        with pytest.raises(sqlite3.Error, match="nowhere"):
            migrate(connection, steps)
        connection.close()
        assert rows(folder, "PRAGMA user_version") == [(version + 1,)]
        names = {name for (name,) in rows(folder, "SELECT name FROM sqlite_master")}
        assert "extra" in names and "more" not in names
        assert rows(folder, "SELECT count(*) FROM events") == [(2,)]


def damage_truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def damage_header(data: bytes) -> bytes:
    return b"not a data base " + data[16:]


def damage_middle(data: bytes) -> bytes:
    start, stop = (len(data) * tenth // 10 // 4096 * 4096 for tenth in (4, 6))
    return data[:start] + b"\xff" * (stop - start) + data[stop:]


class TestDamage:
    """37: a damaged ledger is renamed, never deleted, told of, and its rows are saved."""

    @pytest.mark.parametrize(
        ("damage", "some_saved"),
        [
            (lambda data: b"", False),
            (lambda data: b"\x00" * len(data), False),
            (damage_header, False),
            (damage_truncated, False),
            (damage_middle, True),
        ],
        ids=["emptied", "zeroes", "header", "truncated", "pages in the middle"],
    )
    def test_set_aside(self, folder: Path, damage: Callable[[bytes], bytes], some_saved: bool) -> None:
        filled(folder, 30)
        path = folder / "ledger.sqlite"
        before = {e.sequence: e for e in read_events(FS, str(folder))}
        damaged = damage(path.read_bytes())
        path.write_bytes(damaged)
        with pytest.raises(GsdlockError) as caught:
            read_events(FS, str(folder))
        assert (caught.value.code, caught.value.status) == ("E-LEDGER-DAMAGED", Exit.MISSING)
        with opened(folder) as ledger:
            (message,) = ledger.messages
            assert str(folder / "ledger.sqlite.corrupt") in message
            assert (folder / "ledger.sqlite.corrupt").read_bytes() == damaged
            *saved, told = ledger.events()
            assert told.kind == "ledger-salvaged"
            assert told.payload["saved"] == len(saved)
            assert bool(saved) is some_saved
            for event in saved:
                assert not event.intact or event == before[event.sequence]
            ledger.record_plan("after", [item()], [ALLOWED])
        with opened(folder) as again:
            assert again.messages == ()

    def test_what_can_be_read_on_both_sides_of_the_damage_is_saved_with_its_numbers(
        self, folder: Path
    ) -> None:
        filled(folder, 30)
        path = folder / "ledger.sqlite"
        path.write_bytes(damage_middle(path.read_bytes()))
        with opened(folder) as ledger:
            *saved, told = ledger.events()
            numbers = [e.sequence for e in saved]
            assert numbers == sorted(numbers) and {1, 60} <= set(numbers)
            assert len(numbers) < 60
            assert told.sequence == 61

    def test_the_rows_of_saved_plans_are_there_again(self, folder: Path) -> None:
        filled(folder, 30)
        path = folder / "ledger.sqlite"
        path.write_bytes(damage_middle(path.read_bytes()))
        with opened(folder) as ledger:
            plans = [e for e in ledger.events(kind="plan") if e.intact]
            assert len(plans) > 20
            assert all(len(ledger.allowed(e.transaction_id)) == 20 for e in plans)

    def test_a_second_damaged_one_does_not_displace_the_first(self, folder: Path) -> None:
        for content in (b"first", b"second"):
            folder.mkdir(exist_ok=True)
            (folder / "ledger.sqlite").write_bytes(content * 1000)
            opened(folder).close()
        assert (folder / "ledger.sqlite.corrupt").read_bytes() == b"first" * 1000
        assert (folder / "ledger.sqlite.corrupt.2").read_bytes() == b"second" * 1000

    def test_a_stale_log_is_not_taken_for_that_of_the_new_file(self, tmp_path: Path, folder: Path) -> None:
        folder.mkdir()
        with opened(tmp_path / "busy") as busy:
            busy.record("one", {})
            shutil.copy(tmp_path / "busy" / "ledger.sqlite-wal", folder / "ledger.sqlite-wal")
        (folder / "ledger.sqlite").write_bytes(b"rubbish" * 1000)
        with opened(folder) as ledger:
            assert [e.kind for e in ledger.events()] == ["ledger-salvaged"]
        assert (folder / "ledger.sqlite.corrupt-wal").exists()

    def test_what_a_killed_process_wrote_is_there(self, tmp_path: Path, folder: Path) -> None:
        """A copy taken while the ledger is open is what a kill leaves: the file, its log, no goodbye."""
        with opened(folder) as ledger:
            ledger.record_plan("t1", [item()], [ALLOWED])
            shutil.copytree(folder, tmp_path / "after")
        with opened(tmp_path / "after") as after:
            assert after.messages == ()
            assert after.unfinished() == ("t1",)

    def test_left_over_scratch_of_a_killed_process_is_in_nobodys_way(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "ledger.sqlite.new").write_bytes(b"half")
        (folder / "ledger.sqlite.new-wal").write_bytes(b"half")
        with opened(folder) as ledger:
            assert ledger.record("one", {}) == 1
        assert not (folder / "ledger.sqlite.new").exists()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sound")
    filled(made, 3)
    return made / "ledger.sqlite"


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_flipped_bit_is_survived_and_no_receipt_is_forged(sound: Path, where: float, bit: int) -> None:
    data = bytearray(sound.read_bytes())
    data[int(where * len(data))] ^= 1 << bit
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        before = read_events(FS, str(sound.parent))
        (folder / "ledger.sqlite").write_bytes(bytes(data))
        try:
            ledger = opened(folder)
        except GsdlockError as fault:
            assert fault.code == "E-LEDGER-VERSION"  # the flipped bit made it look newer
            assert (folder / "ledger.sqlite").read_bytes() == bytes(data)
            return
        with ledger:
            for event in ledger.events():
                told = event.kind == "ledger-salvaged"
                assert told or not event.intact or event in before
            assert ledger.record("after", {}) > 0


def test_many_processes_start_one_ledger_at_once(folder: Path) -> None:
    code = (
        "import sys\n"
        "from gsdlock.store.filesystem_posix import RealFileSystem\n"
        "from gsdlock.store.ledger import open_ledger\n"
        "with open_ledger(RealFileSystem(), sys.argv[1], lambda: 'now') as ledger:\n"
        "    for _ in range(20):\n"
        "        ledger.record('one', {'of': sys.argv[2]})\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(folder), str(n)]) for n in range(6)]
    assert [process.wait(60) for process in running] == [0] * 6
    assert [e.sequence for e in read_events(FS, str(folder))] == list(range(1, 121))
