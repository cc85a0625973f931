"""The ledger's file: made, opened, and set aside with its rows saved when it is damaged.

`<folder>/ledger.sqlite` (0600 in a 0700 folder) is made whole under another name and renamed into place, so a
file that is empty or lacks a table is a damaged one. It is written in WAL mode, so that readers never stop a
writer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..capabilities.errors import GsdlockError, refused, shown
from .filesystem import FileSystem, is_regular, open_private
from .ledger_schema import (
    BUSY_MILLISECONDS,
    MIGRATIONS,
    SELECT_EVENTS,
    Damaged,
    Row,
    add_event,
    check_sound,
    connect,
    create,
    is_intact,
    migrate,
    plan_rows,
    project_outcomes,
    project_plan,
    writing,
)
from .locking import HeldError, locked

if TYPE_CHECKING:
    import sqlite3

LEDGER_NAME = "ledger.sqlite"
_SCRATCH = f"{LEDGER_NAME}.new"
_COMPANIONS = ("-wal", "-shm")  # sqlite keeps these beside a file in WAL mode
_MOST_PROBES = 100_000


def ledger_path(folder: str) -> str:
    """Where the ledger of a state folder lies."""
    return f"{folder}/{LEDGER_NAME}"


def open_sound(
    fs: FileSystem,
    folder: str,
    now: Callable[[], str],
    first: Callable[[sqlite3.Connection], None] = lambda connection: None,
) -> tuple[sqlite3.Connection, tuple[str, ...]]:
    """A connection to a sound, current ledger in `folder`, and what the user is to be told.

    The folder and the file are made where they do not exist, and what `first` writes is in a file that is
    made. A damaged file is renamed, never deleted.
    Raises E-LEDGER-VERSION (status 3) for a newer one, which is left as it is, and E-LEDGER-WRITE (4) where
    the ledger cannot be had at all.
    """
    import sqlite3

    path = ledger_path(folder)
    try:
        handle = open_private(fs, folder)
        try:
            messages = _ensured(fs, handle, folder, now, first)
        finally:
            fs.close(handle)
        connection = _writable(path)
    except (OSError, sqlite3.Error) as fault:
        raise unwritable(path, fault) from fault
    return connection, messages


def unwritable(path: str, fault: Exception) -> GsdlockError:
    """E-LEDGER-WRITE: raised before anything is done, so that nothing is ever done unrecorded."""
    return refused(
        "E-LEDGER-WRITE",
        f"the record of decisions {path} cannot be written: {shown(str(fault), 200)}; "
        "nothing was written to any host",
        "Make the folder writable and see that its disk has room, then run it again.",
        where=path,
    )


def _writable(path: str) -> sqlite3.Connection:
    connection = connect(path, "rw")
    try:
        if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, MIGRATIONS)
    except BaseException:
        connection.close()
        raise
    return connection


def _ensured(
    fs: FileSystem,
    handle: int,
    folder: str,
    now: Callable[[], str],
    first: Callable[[sqlite3.Connection], None],
) -> tuple[str, ...]:
    """Make sure that a sound ledger lies in `folder`; messages where a damaged one was set aside."""
    if _fault(fs, handle, folder) is None:
        return ()
    # Making and mending are rare and are done by one process at a time, which looks again first.
    try:
        with locked(f"{ledger_path(folder)}.lock", BUSY_MILLISECONDS / 1000):
            fault = _fault(fs, handle, folder)
            if fault is None:
                return ()
            if not fault:
                _build(fs, handle, folder, first)
                _show(fs, handle)
                return ()
            return (_set_aside(fs, handle, folder, now, fault),)
    except HeldError as held:
        raise OSError("another process is making or mending it") from held


def _fault(fs: FileSystem, handle: int, folder: str) -> str | None:
    """None where a sound ledger lies in the folder, "" where there is none, else what is wrong with it."""
    status = fs.lstat(handle, LEDGER_NAME)
    if status is None:
        return ""
    if not is_regular(status):
        raise OSError("it is not a regular file")
    try:
        check_sound(ledger_path(folder), len(MIGRATIONS))
    except Damaged as damage:
        return str(damage)
    return None


def _build(fs: FileSystem, handle: int, folder: str, fill: Callable[[sqlite3.Connection], None]) -> None:
    """A whole new ledger under its scratch name, flushed.

    Whatever happens meanwhile, a scratch file is begun anew: so sqlite need neither flush nor be able to go
    back. It turns to WAL mode last of all, with nothing left to write: on a full disk closing would leave a
    part of it in a companion that is not renamed.
    """
    for left_over in (_SCRATCH, *(_SCRATCH + c for c in (*_COMPANIONS, "-journal"))):
        with contextlib.suppress(FileNotFoundError):
            fs.unlink(handle, left_over)
    fs.create(handle, _SCRATCH, b"", 0o600)
    connection = connect(f"{folder}/{_SCRATCH}", "rw")
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = MEMORY")
        create(connection)
        fill(connection)
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
    fs.flush_file(handle, _SCRATCH)


def _show(fs: FileSystem, handle: int) -> None:
    """The ledger that was built takes its place, in one step."""
    fs.rename(handle, _SCRATCH, handle, LEDGER_NAME)
    fs.flush_dir(handle)


def _set_aside(fs: FileSystem, handle: int, folder: str, now: Callable[[], str], damage: str) -> str:
    """Rename the damaged ledger, put a new one with all rows that can be read in its place; the message."""
    aside = _free_name(fs, handle)
    rows, last = _salvaged(ledger_path(folder))

    def fill(connection: sqlite3.Connection) -> None:
        with writing(connection):
            connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
            _project(connection, rows)
            highest = max([last, *(row[0] for row in rows)])
            if highest:  # a number is never given twice, also where the last rows were lost
                connection.execute("DELETE FROM sqlite_sequence WHERE name = 'events'")
                connection.execute("INSERT INTO sqlite_sequence VALUES ('events', ?)", (highest,))
            payload = {"damage": damage, "saved": len(rows), "set_aside": aside}
            add_event(connection, now(), "ledger-salvaged", "", payload)

    _build(fs, handle, folder, fill)
    for companion in _COMPANIONS:  # they would be taken for those of the new file
        with contextlib.suppress(FileNotFoundError):
            fs.rename_new(handle, LEDGER_NAME + companion, handle, aside + companion)
    try:
        fs.link(handle, LEDGER_NAME, handle, aside)
    except OSError:  # no hard links here: for a moment there is no ledger, which the next opening mends
        fs.rename_new(handle, LEDGER_NAME, handle, aside)
    _show(fs, handle)
    return (
        f"the record of decisions was damaged ({damage}); it lies in {folder}/{aside} now, "
        f"and a new one was started with the {len(rows)} receipts that could be read"
    )


def _salvaged(path: str) -> tuple[list[Row], int]:
    """The events that can be read, by rising sequence, and the highest sequence ever given (0: unknown).

    A damaged page ends a scan, so it is scanned from both ends and what lies between is asked for one by one.
    """
    import sqlite3

    rows: dict[int, Row] = {}
    last = 0
    try:
        connection = connect(path, "ro")
    except sqlite3.Error:
        return [], 0
    try:
        with contextlib.suppress(sqlite3.Error, TypeError, ValueError):  # ValueError: text that is none
            query = "SELECT seq FROM sqlite_sequence WHERE name = 'events'"
            last = int(connection.execute(query).fetchone()[0])
        for order in ("ASC", "DESC"):
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                for row in connection.execute(f"{SELECT_EVENTS} ORDER BY sequence {order}"):
                    if row[0] in rows:
                        break
                    rows[row[0]] = row
        for number in _gaps(rows, last):
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                for row in connection.execute(f"{SELECT_EVENTS} WHERE sequence = ?", (number,)):
                    rows[row[0]] = row
    finally:
        connection.close()
    # A row with another type or without a value could not be put into the new table.
    kept = [rows[n] for n in sorted(rows) if n > 0 and all(isinstance(v, str | bytes) for v in rows[n][1:])]
    return kept, last


def _gaps(rows: Mapping[int, Row], last: int) -> Iterator[int]:
    top = min(max([last, *rows]), _MOST_PROBES)
    return (n for n in range(1, top + 1) if n not in rows)


def _project(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Say again in `plan_items` and `outcomes` what the intact events say."""
    import json
    import sqlite3

    for row in rows:
        sequence, _, kind, transaction_id, payload, _ = row
        if kind not in ("plan", "outcomes") or not is_intact(row):
            continue
        said = json.loads(payload)
        with contextlib.suppress(sqlite3.IntegrityError):  # outcomes whose plan was lost
            if kind == "plan":
                project_plan(connection, sequence, transaction_id, said["items"])
            else:
                planned = plan_rows(connection, transaction_id)
                project_outcomes(connection, sequence, transaction_id, said, planned)


def _free_name(fs: FileSystem, handle: int) -> str:
    """`ledger.sqlite.corrupt`, or the first of `….2`, `….3` … that is free."""
    base = name = f"{LEDGER_NAME}.corrupt"
    number = 1
    while fs.lstat(handle, name) is not None:
        number += 1
        name = f"{base}.{number}"
    return name
