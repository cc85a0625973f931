"""The ledger: who decided what, when, and what came of it. Audit only.

No recovery and no rollback reads it: it may be lost at any time without harm. But nothing is done unrecorded:
a decision that cannot be written down is an error before the first write to a host.

An apply leaves two events: `plan`, with every item and its decision, before anything is done; and `outcomes`,
with exactly one outcome for every item that was allowed. Order is by sequence alone; a time is told by the
caller's clock, read once an event, and decides nothing. Payloads are canonical JSON.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..capabilities.canonical import plain_json
from ..capabilities.errors import Exit, GsdlockError, missing, shown
from ..capabilities.words import Words
from .faults import io_error
from .filesystem import FileSystem
from .gate import is_decided_by
from .items import Decision, Item, item_data
from .ledger_file import LEDGER_NAME, ledger_path, open_sound, unwritable
from .ledger_schema import (
    MIGRATIONS,
    SELECT_EVENTS,
    Damaged,
    PlanRow,
    Row,
    add_event,
    check_sound,
    connect,
    is_denied,
    is_intact,
    is_out_of_reach,
    plan_rows,
    project_outcomes,
    project_plan,
    writing,
)

if TYPE_CHECKING:
    import sqlite3

OVERLAY, OVERLAY_OUTCOME = "overlay", "overlay-outcome"
"""What the user decided about a third-party capability, and what came of it: see `overlay_changes`."""

KINDS = ("plan", "outcomes", OVERLAY, OVERLAY_OUTCOME, "ledger-salvaged")
"""The kinds of events that gsdlock itself records."""

_KIND = r"[a-z][a-z0-9-]{0,63}"
Key = tuple[str, str]


class Outcome(Words):
    """What came of an item that was allowed.

    done: it was carried out. unchanged: it changes nothing, so there was nothing to do. undone: its
    transaction went back. withheld: its target was left unchanged, because another item of it was denied.
    """

    DONE = "done"
    UNCHANGED = "unchanged"
    UNDONE = "undone"
    WITHHELD = "withheld"


class Event(Struct, frozen=True):
    """One receipt. `at` is RFC 3339 UTC with milliseconds; `transaction_id` is empty where it has none.

    `intact` is false where the digest does not match: then nothing that it says can be relied on, and
    `payload` may be None.
    """

    sequence: int
    at: str
    kind: str
    transaction_id: str
    payload: Any
    intact: bool


class Ledger:
    """An open ledger. `messages` are for the user: a damaged file was set aside."""

    def __init__(
        self, connection: sqlite3.Connection, path: str, now: Callable[[], str], messages: Sequence[str] = ()
    ) -> None:
        self._connection = connection
        self._path = path
        self._now = now
        self._planned: dict[str, list[PlanRow]] = {}  # what this connection wrote: need not be read again
        self.messages = tuple(messages)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def record(self, kind: str, payload: Mapping[str, Any], transaction_id: str = "") -> int:
        """Add one event of any kind (lower-case words with dashes) but `plan` and `outcomes`; its sequence.

        Raises E-LEDGER-WRITE (status 4).
        """
        if not re.fullmatch(_KIND, kind) or kind in ("plan", "outcomes"):
            raise ValueError(f"not a kind of event to be recorded by itself: {kind!r}")
        import sqlite3

        try:
            with writing(self._connection):
                return add_event(self._connection, self._now(), kind, transaction_id, payload)
        except (sqlite3.Error, OSError) as fault:
            raise unwritable(self._path, fault) from fault

    def record_plan(self, transaction_id: str, items: Sequence[Item], decisions: Sequence[Decision]) -> int:
        """Write down what was decided, before it is done: one event and a row an item, or nothing.

        `transaction_id` is new and not empty. Returns the sequence. Raises E-LEDGER-WRITE (status 4).
        """
        return self._write_plan(transaction_id, _plan_data(transaction_id, items, decisions))

    def _write_plan(self, transaction_id: str, rows: Sequence[Mapping[str, Any]]) -> int:
        import sqlite3

        try:
            with writing(self._connection):
                event = _add_plan(self._connection, self._now(), transaction_id, rows)
        except (sqlite3.Error, OSError) as fault:
            raise unwritable(self._path, fault) from fault
        self._remember(transaction_id, rows)
        return event

    def _remember(self, transaction_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self._planned[transaction_id] = [
            (n, row["target"], row["key"], int(row["allow"])) for n, row in enumerate(rows)
        ]

    def record_outcomes(self, transaction_id: str, outcomes: Mapping[Key, Outcome]) -> tuple[str, ...]:
        """Write down what came of each allowed item, by `(target, key)`; messages for the user.

        It is done already, so a ledger that cannot be written is a message and no error. Where the plan is
        not known (the ledger was lost in between) the outcomes are kept without it; where they were written
        before, nothing is. Raises E-LEDGER-OUTCOMES (status 70) unless there is exactly one outcome for
        every allowed item.
        """
        import sqlite3

        rows = [[target, key, outcomes[target, key].value] for target, key in sorted(outcomes)]
        payload: dict[str, Any] = {"outcomes": rows}
        try:
            with writing(self._connection):
                planned = self._planned.get(transaction_id) or plan_rows(self._connection, transaction_id)
                allowed = {(target, key) for _, target, key, allow in planned if allow}
                if not planned:
                    payload["plan"] = "unknown"
                elif self._is_closed(transaction_id):
                    return ()
                elif allowed != outcomes.keys():
                    raise _mismatch(allowed, set(outcomes))
                event = add_event(
                    self._connection,
                    self._now(),
                    "outcomes",
                    transaction_id,
                    payload | {"outcomes": plain_json(rows)},
                )
                if planned:
                    project_outcomes(self._connection, event, transaction_id, payload, planned)
        except (sqlite3.Error, OSError) as fault:
            reason = shown(str(fault), 200)
            return (
                f"the outcome could not be written down in {self._path}: {reason}; it stands all the same",
            )
        if not planned:
            return (f"the ledger does not know the plan of {shown(transaction_id)}; its outcome was kept",)
        return ()

    def allowed(self, transaction_id: str) -> tuple[Key, ...]:
        """The `(target, key)` of what was allowed in a transaction; empty where that is not known."""
        rows = plan_rows(self._connection, transaction_id)
        return tuple(dict.fromkeys((target, key) for _, target, key, allow in rows if allow))

    def unfinished(self) -> tuple[str, ...]:
        """The transactions whose plan has no outcomes, oldest first."""
        query = (
            "SELECT transaction_id FROM events WHERE kind = 'plan' AND transaction_id NOT IN "
            "(SELECT transaction_id FROM events WHERE kind = 'outcomes') ORDER BY sequence"
        )
        return tuple(row[0] for row in self._connection.execute(query))

    def events(self, since: int = 0, kind: str | None = None) -> tuple[Event, ...]:
        """The events after the sequence number `since`, of one kind or of all, in the order of sequence."""
        return _events(self._connection, since, kind)

    def _is_closed(self, transaction_id: str) -> bool:
        query = "SELECT 1 FROM events WHERE kind = 'outcomes' AND transaction_id = ?"
        return self._connection.execute(query, (transaction_id,)).fetchone() is not None


def open_ledger(fs: FileSystem, folder: str, now: Callable[[], str]) -> Ledger:
    """The ledger in `folder` (absolute; the state folder), made where there is none.

    `now` is `Environment.now`. Raises E-LEDGER-VERSION (status 3), E-LEDGER-WRITE (4).
    """
    connection, messages = open_sound(fs, folder, now)
    return Ledger(connection, ledger_path(folder), now, messages)


def open_with_plan(
    fs: FileSystem,
    folder: str,
    now: Callable[[], str],
    transaction_id: str,
    items: Sequence[Item],
    decisions: Sequence[Decision],
) -> Ledger:
    """`open_ledger` and `record_plan` in one: a ledger that has to be made is made with the plan in it, which
    takes two flushes where it would be five. Raises as both do; the plan may be written down all the same,
    where only what came after it failed."""
    rows = _plan_data(transaction_id, items, decisions)
    made = False

    def first(connection: sqlite3.Connection) -> None:
        nonlocal made
        with writing(connection):
            _add_plan(connection, now(), transaction_id, rows)
        made = True

    connection, messages = open_sound(fs, folder, now, first)
    ledger = Ledger(connection, ledger_path(folder), now, messages)
    try:
        if made:
            ledger._remember(transaction_id, rows)
        else:
            ledger._write_plan(transaction_id, rows)
    except BaseException:
        ledger.close()
        raise
    return ledger


def may_know(fs: FileSystem, folder: str, transaction_id: str) -> bool:
    """Whether the ledger has a plan of that transaction; True also where it cannot be asked."""
    try:
        return any(event.transaction_id == transaction_id for event in read_events(fs, folder))
    except GsdlockError:
        return True


def _plan_data(
    transaction_id: str, items: Sequence[Item], decisions: Sequence[Decision]
) -> list[dict[str, Any]]:
    """What a `plan` event says of each item."""
    faulty = [text for text in {d.decided_by for d in decisions} if not is_decided_by(text)]
    if len(items) != len(decisions) or faulty or not transaction_id:
        raise ValueError(f"not a settled plan: {len(items)} items, {len(decisions)} decisions, {faulty}")
    return [
        {**item_data(item), "allow": decision.allow, "decided_by": decision.decided_by}
        for item, decision in zip(items, decisions, strict=True)
    ]


def _add_plan(
    connection: sqlite3.Connection, at: str, transaction_id: str, rows: Sequence[Mapping[str, Any]]
) -> int:
    event = add_event(connection, at, "plan", transaction_id, {"items": plain_json(rows)})
    project_plan(connection, event, transaction_id, rows)
    return event


def read_events(fs: FileSystem, folder: str, since: int = 0, kind: str | None = None) -> tuple[Event, ...]:
    """The events of the ledger in `folder`, to be shown. Makes, migrates and mends nothing.

    Empty where there is no ledger. Raises E-LEDGER-DAMAGED (status 5), E-LEDGER-VERSION (3), and E-IO-… (4)
    where nothing is known of what is in it.
    """
    import sqlite3

    path = ledger_path(folder)
    try:
        if not _exists(fs, folder):
            return ()
        check_sound(path, len(MIGRATIONS))
        connection = connect(path, "ro")
        try:
            return _events(connection, since, kind)
        finally:
            connection.close()
    except OSError as fault:
        raise io_error(fault, "cannot read", path) from fault
    except (Damaged, sqlite3.Error) as fault:
        if is_out_of_reach(fault):
            raise _out_of_reach(fs, path, fault) from fault
        raise missing(
            "E-LEDGER-DAMAGED",
            f"the record of decisions {path} cannot be read: {shown(str(fault), 200)}",
            "gsdlock doctor --repair keeps it under another name and saves the receipts that can be read.",
            where=path,
        ) from fault


def _out_of_reach(fs: FileSystem, path: str, fault: Exception) -> GsdlockError:
    """Why sqlite cannot get at the ledger, in the system's words where it says something. A file that can be
    read is denied all the same where nothing may be written beside it: readers share a file there."""
    try:
        fs.read_path(path)
    except OSError as error:
        return io_error(error, "cannot read", path)
    return io_error(OSError(errno.EACCES if is_denied(fault) else errno.EIO, str(fault)), "cannot read", path)


def _exists(fs: FileSystem, folder: str) -> bool:
    try:
        handle = fs.open_root(folder)
    except FileNotFoundError:
        return False
    try:
        return fs.lstat(handle, LEDGER_NAME) is not None
    finally:
        fs.close(handle)


def _events(connection: sqlite3.Connection, since: int, kind: str | None) -> tuple[Event, ...]:
    query = f"{SELECT_EVENTS} WHERE sequence > ? AND (? IS NULL OR kind = ?) ORDER BY sequence"
    return tuple(_event(row) for row in connection.execute(query, (since, kind, kind)))


def _event(row: Row) -> Event:
    import json

    sequence, at, kind, transaction_id, payload, _ = row
    try:
        said = json.loads(payload)
    except ValueError:
        said = None
    return Event(sequence, at, kind, transaction_id, said, is_intact(row))


def _mismatch(planned: set[Key], told: set[Key]) -> GsdlockError:
    lines = [f"no outcome: {t} {shown(k, 200)}" for t, k in sorted(planned - told)]
    lines += [f"not allowed, yet it has an outcome: {t} {shown(k, 200)}" for t, k in sorted(told - planned)]
    return GsdlockError(
        "E-LEDGER-OUTCOMES",
        "the outcomes of a transaction do not match what was allowed, one to one",
        "This is a fault in gsdlock; the targets themselves are whole. Please report it.",
        status=Exit.FAULT,
        details=lines,
    )
