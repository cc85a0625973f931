"""The ledger's file: its versions, and what becomes of it where it is damaged.

Numbers are those of the gate's acceptance criteria."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.capabilities.errors import Exit, GsdlockError
from gsdlock.store.ledger import Ledger, Outcome, read_events
from gsdlock.store.ledger_schema import MIGRATIONS, connect, create, migrate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .ledgers import ALLOWED, FS, clock, filled, item, opened, rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


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

    @pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
    def test_an_older_one_is_brought_up_to_date_with_all_its_rows(self, folder: Path, version: int) -> None:
        folder.mkdir(mode=0o700)
        (folder / "ledger.sqlite").touch(0o600)
        connection = connect(str(folder / "ledger.sqlite"), "rw")
        migrate(connection, MIGRATIONS[:version])
        with Ledger(connection, str(folder / "ledger.sqlite"), clock()) as ledger:
            ledger.record_plan("t1", [item("config:a"), item("config:b")], [ALLOWED] * 2)
            outcomes = {("claude", "config:a"): Outcome.DONE, ("claude", "config:b"): Outcome.UNDONE}
            assert ledger.record_outcomes("t1", outcomes) == ()
        assert [e.kind for e in read_events(FS, str(folder))] == ["plan", "outcomes"]
        assert rows(folder, "PRAGMA user_version") == [(version,)]  # reading migrates nothing
        with opened(folder) as ledger:
            assert ledger.messages == ()
            ledger.record_plan("t2", [item()], [ALLOWED])
            assert ledger.record_outcomes("t2", {("claude", "config:a"): Outcome.UNCHANGED}) == ()
        assert rows(folder, "PRAGMA user_version") == [(len(MIGRATIONS),)]
        query = "SELECT transaction_id, position, outcome FROM outcomes"
        assert rows(folder, query) == [("t1", 0, "done"), ("t1", 1, "undone"), ("t2", 0, "unchanged")]
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            rows(folder, "DELETE FROM outcomes")

    def test_a_new_one_holds_what_all_steps_together_make(self) -> None:
        def tables(make: Callable[[sqlite3.Connection], None]) -> list[tuple[object, ...]]:
            connection = sqlite3.connect(":memory:", isolation_level=None)
            make(connection)
            found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name")
            return [*found.fetchall(), *connection.execute("PRAGMA user_version")]

        assert tables(create) == tables(lambda connection: migrate(connection, MIGRATIONS))

    @pytest.mark.parametrize("version", [*range(1, len(MIGRATIONS)), None])
    def test_an_outcome_is_one_of_the_vocabulary(self, version: int | None) -> None:
        """A row holds what `Outcome` can say and nothing else; the first version did not know all of it."""
        connection = sqlite3.connect(":memory:", isolation_level=None)
        create(connection) if version is None else migrate(connection, MIGRATIONS[:version])
        taken = []
        for n, outcome in enumerate([*Outcome, "", "Done", "lost"]):
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute("INSERT INTO outcomes VALUES ('t', ?, ?, 1)", (n, str(outcome)))
                taken.append(outcome)
        assert taken == [o for o in Outcome if version != 1 or o is not Outcome.UNCHANGED]

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
