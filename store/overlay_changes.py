"""A change of the user's overlays and its receipts: decided, written down, done, its outcome written down.

The order is that of a transaction. The decision is in the ledger before the first write, so that nobody's
capability is ever in force unrecorded; where it cannot be written down, nothing is done. What a change breaks
off with is closed by the next command (`receipts`), which sees in the record itself whether it was made.

Grammar of `Decided.by`:

    resolver:terminal              it was shown, and the person at the terminal answered
    flag:--consent sha256:<hex>    the command line named exactly this bundle
    earlier-consent                this bundle was consented to before, at this scope
    command:<action>               the command itself says it: remove, revoke
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.errors import GsdlockError
from ..capabilities.words import Words
from .exclusive import DEFAULT_WAIT, exclusive
from .faults import io_at
from .journal import Journals
from .ledger import OVERLAY, OVERLAY_OUTCOME, Ledger, open_ledger
from .overlays import Overlays, read_overlays, write_overlays
from .receipts import close_overlay_receipts, overlay_outcome
from .recovery import recover_locked
from .store import Store


class Action(Words):
    """What was decided about."""

    ADD = "add"
    UPDATE = "update"
    TRUST = "trust"
    REVOKE = "revoke"
    REMOVE = "remove"


_BY = re.compile(
    rf"resolver:terminal|flag:--consent sha256:[0-9a-f]{{64}}|earlier-consent|command:(?:{'|'.join(Action)})"
)


class Decided(Struct, frozen=True):
    """A decision, as the ledger keeps it.

    `scope` is `user` or the folder of a project; it, `source` (kind, and where the bundle came from) and
    `roots` (lines `host scope root: path`) have places below the home in their short form. `digest` is that
    of the bundle, `resolved` what the source was then, `surfaces` all that it was told to execute (kind,
    name, text), `signer` whose good signature was demanded. What is not known, or was not asked, is empty.
    """

    action: Action
    id: str
    scope: str
    digest: str
    allow: bool
    by: str
    version: str = ""
    source: str = ""
    resolved: str = ""
    surfaces: tuple[tuple[str, str, str], ...] = ()
    roots: tuple[str, ...] = ()
    signer: str = ""


def change(
    store: Store,
    before: Overlays,
    after: Overlays,
    decided: Decided,
    first: Callable[[], None] = lambda: None,
    wait: float = DEFAULT_WAIT,
) -> tuple[str, ...]:
    """Put `after` in the place of `before`, with receipts; messages for the user. `first` is what else the
    change does, before the record makes it count.

    Raises E-LEDGER-WRITE (status 4) and E-LEDGER-VERSION (3) before anything is done; E-BUSY and
    E-OVERLAY-MOVED (6), E-IO-…, what `first` and `recover_locked` raise.
    """
    assert decided.allow, "what is denied changes nothing"
    id = os.urandom(16).hex()
    with exclusive(store, wait):
        recover_locked(store)
        journals = Journals(store.fs, store.state)
        with io_at("cannot write in", store.state):
            journals.announce(id)
        told: tuple[str, ...] = ()
        try:
            with open_ledger(store.fs, store.state, store.now) as ledger:
                close_overlay_receipts(store, ledger)
                ledger.record(OVERLAY, _payload(decided), id)
                try:
                    first()
                    write_overlays(store, before, replace(after, receipt=id))
                finally:
                    told = _close(store, ledger, id)
        finally:
            if not told:  # else the next command sees to it
                with contextlib.suppress(OSError):
                    journals.withdraw(id)
    return (*ledger.messages, *told)


def declined(store: Store, decided: Decided) -> None:
    """Write down that the user said no. It has no outcome: nothing is done.

    Raises E-LEDGER-WRITE (status 4), E-LEDGER-VERSION (3).
    """
    assert not decided.allow, "what is allowed is recorded when it is done"
    with open_ledger(store.fs, store.state, store.now) as ledger:
        ledger.record(OVERLAY, _payload(decided))


def _close(store: Store, ledger: Ledger, id: str) -> tuple[str, ...]:
    """Write down what came of it. It is a fact by now, so a ledger that cannot take it is only a message."""
    try:
        ledger.record(OVERLAY_OUTCOME, {"outcome": overlay_outcome(read_overlays(store), id)}, id)
    except GsdlockError as fault:
        return (f"what came of it could not be written down yet: {fault.what}",)
    return ()


def _payload(decided: Decided) -> dict[str, Any]:
    if not _BY.fullmatch(decided.by):
        raise ValueError(f"not somebody who decides: {decided.by!r}")
    return {
        "action": decided.action.value,
        "id": decided.id,
        "scope": decided.scope,
        "digest": decided.digest,
        "version": decided.version,
        "source": decided.source,
        "resolved": decided.resolved,
        "surfaces": [list(surface) for surface in decided.surfaces],
        "roots": list(decided.roots),
        "signer": decided.signer,
        "allow": decided.allow,
        "decided_by": decided.by,
    }
