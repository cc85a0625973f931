"""What is in the ledger's file: its tables, how they are migrated, and how a row becomes a checked event.

Events are the truth and are only ever added: triggers refuse an update or a deletion. `plan_items` and
`outcomes` say again, in rows that constraints can check, what the events of kind `plan` and `outcomes` say.
Every connection waits 5 seconds for a lock and enforces foreign keys.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..capabilities.canonical import canonical_json, sha256_digest
from ..capabilities.errors import input_error, shown

if TYPE_CHECKING:
    import sqlite3

BUSY_MILLISECONDS = 5000

# Written with `OR`: for a list of more than two, sqlite makes and fills a table of its own at every row.
_WIDER = "outcome = 'done' OR outcome = 'unchanged' OR outcome = 'undone' OR outcome = 'withheld'"
_EVENTS = """CREATE TABLE events (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            at TEXT NOT NULL,
            kind TEXT NOT NULL,
            transaction_id TEXT NOT NULL,
            payload BLOB NOT NULL,
            digest TEXT NOT NULL
        )"""
_PLAN_ITEMS = """CREATE TABLE plan_items (
            transaction_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            target TEXT NOT NULL,
            op TEXT NOT NULL,
            key TEXT NOT NULL,
            allow INTEGER NOT NULL CHECK (allow IN (0, 1)),
            decided_by TEXT NOT NULL,
            event INTEGER NOT NULL REFERENCES events (sequence),
            PRIMARY KEY (transaction_id, position)
        ) WITHOUT ROWID"""


def _outcomes(name: str, check: str) -> str:
    return f"""CREATE TABLE {name} (
            transaction_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            outcome TEXT NOT NULL CHECK ({check}),
            event INTEGER NOT NULL REFERENCES events (sequence),
            PRIMARY KEY (transaction_id, position),
            FOREIGN KEY (transaction_id, position) REFERENCES plan_items (transaction_id, position)
        ) WITHOUT ROWID"""


def _only_added(*tables: str) -> tuple[str, ...]:
    return tuple(
        f"""CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table}
            BEGIN SELECT RAISE(ABORT, 'receipts are only ever added'); END"""
        for table in tables
        for verb in ("UPDATE", "DELETE")
    )


def _outcomes_anew(check: str) -> tuple[str, ...]:
    return (
        _outcomes("outcomes_wider", check),
        "INSERT INTO outcomes_wider SELECT transaction_id, position, outcome, event FROM outcomes",
        "DROP TABLE outcomes",
        "ALTER TABLE outcomes_wider RENAME TO outcomes",
        *_only_added("outcomes"),
    )


# Step n brings user_version from n to n + 1. A step that was released is never changed; new ones are added.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        _EVENTS,
        _PLAN_ITEMS,
        _outcomes("outcomes", "outcome IN ('done', 'undone', 'withheld')"),
        *_only_added("events", "plan_items", "outcomes"),
    ),
    # `unchanged` became an outcome: what was allowed and stood already is not counted as done.
    _outcomes_anew("outcome IN ('done', 'unchanged', 'undone', 'withheld')"),
    _outcomes_anew(_WIDER),
)
# What all steps together make, for a new file. The quotes are those that renaming a table leaves.
SCHEMA = (
    _EVENTS,
    _PLAN_ITEMS,
    _outcomes('"outcomes"', _WIDER),
    *_only_added("events", "plan_items", "outcomes"),
)
SELECT_EVENTS = "SELECT sequence, at, kind, transaction_id, payload, digest FROM events"
Row = tuple[int, str, str, str, bytes, str]
PlanRow = tuple[int, str, str, int]
"""Position, target, key and whether it was allowed, of one item of a plan."""


class Damaged(Exception):
    """The file is no sound ledger; the text says how it shows."""


def connect(path: str, mode: str) -> sqlite3.Connection:
    """A connection in autocommit mode; `mode` is `ro` or `rw`, and neither makes a file."""
    import os
    import sqlite3

    if os.path.exists(f"{path}-journal"):
        mode = "rw"  # a change was broken off, and sqlite undoes it before it reads
    quoted = "".join(f"%{byte:02x}" for byte in os.fsencode(path))
    connection = sqlite3.connect(
        f"file:{quoted}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY_MILLISECONDS / 1000
    )
    # Bytes that are no UTF-8 any more are shown as damaged by the digest, and must not stop a scan.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def check_sound(path: str, known: int) -> None:
    """Raises `Damaged`, or E-LEDGER-VERSION for a `user_version` above `known`. Changes no byte of the file.

    Other faults (no permission, a lock that is not given up) come as `OSError` or `sqlite3.Error`.
    """
    import sqlite3

    connection = None
    try:
        connection = connect(path, "ro")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > known:
            raise input_error(
                "E-LEDGER-VERSION",
                f"{path} was written by a newer gsdlock (version {version}, this one knows {known})",
                "Use that gsdlock. The file is a record only: moved away, a new one is started.",
                where=path,
            )
        if version < 1 or _schema(connection) != _expected_schema(version):
            raise Damaged("its tables are not those of a ledger")
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except UnicodeDecodeError as fault:  # Python's sqlite3, where the text of the schema is damaged
        raise Damaged("its tables have names that are no text") from fault
    except sqlite3.Error as fault:
        if is_out_of_reach(fault):
            raise
        raise Damaged(shown(str(fault), 200)) from fault
    finally:
        if connection is not None:
            connection.close()
    if verdict != "ok":
        raise Damaged(shown(str(verdict), 200))


def _schema(connection: sqlite3.Connection) -> list[tuple[str, str, str | None]]:
    """All tables and triggers with the text that made them."""
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()


@cache
def _expected_schema(version: int) -> list[tuple[str, str, str | None]]:
    """What a ledger of that version holds, asked of sqlite itself."""
    import sqlite3

    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        if version == len(MIGRATIONS):
            create(connection)
        else:
            migrate(connection, MIGRATIONS[:version])
        return _schema(connection)
    finally:
        connection.close()


def is_out_of_reach(fault: Exception) -> bool:
    """Whether sqlite could not get at the file, so that nothing is known of what is in it."""
    import sqlite3

    codes = (
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    )
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF in codes


def is_denied(fault: Exception) -> bool:
    """Whether sqlite may not open the file, or not write what readers share beside it."""
    import sqlite3

    codes = (sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF in codes


def migrate(connection: sqlite3.Connection, steps: Sequence[Sequence[str]]) -> None:
    """Bring the schema up to `len(steps)`, each step with its stamp in one transaction.

    A step that fails leaves the version before it. Raises `sqlite3.Error`.
    """
    while connection.execute("PRAGMA user_version").fetchone()[0] < len(steps):
        with writing(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < len(steps):  # another process may have done it meanwhile
                for statement in steps[version]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")


def create(connection: sqlite3.Connection) -> None:
    """The whole schema in a new file: what all steps together make. Raises `sqlite3.Error`."""
    with writing(connection):
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


@contextlib.contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: all of it, or on any exception nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def event_digest(sequence: int, at: str, kind: str, transaction_id: str, payload: bytes) -> str:
    """`sha256:…` over all that an event says: a changed byte shows when the event is read."""
    return sha256_digest(canonical_json([sequence, at, kind, transaction_id, sha256_digest(payload)]))


def is_intact(row: Row) -> bool:
    """Whether the row has the types of an event and says what was written."""
    sequence, at, kind, transaction_id, payload, digest = row
    typed = sequence > 0 and all(isinstance(t, str) for t in (at, kind, transaction_id))
    if not typed or not isinstance(payload, bytes):
        return False
    return digest == event_digest(sequence, at, kind, transaction_id, payload)


def add_event(
    connection: sqlite3.Connection, at: str, kind: str, transaction_id: str, payload: Mapping[str, Any]
) -> int:
    """Add one event inside a write transaction; its sequence number."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
    sequence = (row[0] if row else 0) + 1
    data = canonical_json(payload)
    digest = event_digest(sequence, at, kind, transaction_id, data)
    connection.execute(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", (sequence, at, kind, transaction_id, data, digest)
    )
    return sequence


def project_plan(
    connection: sqlite3.Connection, event: int, transaction_id: str, items: Sequence[Mapping[str, Any]]
) -> None:
    """The rows of a `plan` event, one an item (its plain data).

    Raises `sqlite3.IntegrityError` for a second plan.
    """
    connection.executemany(
        "INSERT INTO plan_items VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (transaction_id, n, i["target"], i["op"], i["key"], int(i["allow"]), i["decided_by"], event)
            for n, i in enumerate(items)
        ],
    )


def plan_rows(connection: sqlite3.Connection, transaction_id: str) -> list[PlanRow]:
    """All items of a plan; none where it is unknown."""
    query = "SELECT position, target, key, allow FROM plan_items WHERE transaction_id = ? ORDER BY position"
    return connection.execute(query, (transaction_id,)).fetchall()


def project_outcomes(
    connection: sqlite3.Connection,
    event: int,
    transaction_id: str,
    payload: Mapping[str, Any],
    planned: Sequence[PlanRow],
) -> None:
    """The rows of an `outcomes` event, one an allowed item. Raises `sqlite3.IntegrityError` for a second one.

    `planned` are the `plan_rows` of the transaction. A target may have two items of one key (it leaves one
    folder, comes into another): both get the outcome.
    """
    # One pass over the plan: to look every item up by its key would take time with the square of their count.
    outcome_of = {(target, key): outcome for target, key, outcome in payload["outcomes"]}
    connection.executemany(
        "INSERT INTO outcomes VALUES (?, ?, ?, ?)",
        [
            (transaction_id, position, outcome_of[target, key], event)
            for position, target, key, allow in planned
            if allow and (target, key) in outcome_of
        ],
    )
