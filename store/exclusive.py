"""One writer at a time: the lock of a state folder.

The system's file lock decides (it goes with the process, however that ends, so no dead holder blocks
anybody); a note beside it says who holds it, for the message of those who wait.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

from ..capabilities.errors import Exit, GsdlockError, shown
from .faults import io_at, io_error
from .filesystem import open_private
from .locking import HeldError, locked
from .statefiles import read_whole, write_whole
from .store import Store

DEFAULT_WAIT = 30.0
"""Seconds to wait for another gsdlock before giving up."""


@contextlib.contextmanager
def exclusive(store: Store, wait: float = DEFAULT_WAIT) -> Iterator[None]:
    """Hold the lock of the state folder. Waits at most `wait` seconds (0: does not wait).

    Raises E-BUSY (status 6) naming the holder, E-IO-….
    """
    path = f"{store.state}/lock"
    with io_at("cannot make", store.state):
        store.fs.close(open_private(store.fs, store.state))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(path, wait))
        except HeldError:
            raise _busy(store, wait) from None
        except OSError as error:
            raise io_error(error, "cannot lock", path) from error
        note = {"pid": os.getpid(), "since": store.now(), "command": store.command}
        with contextlib.suppress(OSError):  # only a courtesy to others; a full disk is reported elsewhere
            write_whole(store.fs, store.state, "lock.holder", json.dumps(note).encode(), flush=False)
        yield


def _busy(store: Store, wait: float) -> GsdlockError:
    return GsdlockError(
        "E-BUSY",
        f"another gsdlock is at work here{_holder(store)}"
        + (f"; it was not done after {wait:g} seconds" if wait else ""),
        "Let it finish, then run this again. If it hangs, end it: what it did is then undone or completed.",
        status=Exit.BUSY,
        where=f"{store.state}/lock",
    )


def _holder(store: Store) -> str:
    """Who holds the lock, as far as its note tells."""
    try:
        note = json.loads(read_whole(store.fs, store.state, "lock.holder") or b"{}")
        pid, since, command = int(note["pid"]), str(note["since"]), str(note["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return f" (process {pid}, {shown(command, 100)}, since {shown(since, 40)})"
