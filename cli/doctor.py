"""Look for damage in gsdlock's own files, and put it right.

Stored content, generations, pointers, journals, receipts, notes and the lock are read and checked. With
--repair, what can be put right from what is known is, and what broken-off writes left over is removed; for
the rest it is said what to do. Nothing else of a host is changed, but that a broken-off transaction is
completed or undone first. The status is 5 while damage is left.

example: gsdlock doctor --repair
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .render import Outcome, plural

if TYPE_CHECKING:
    from ..store.doctor import Finding
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--repair", action="store_true", help="put right what can be")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Examine, and repair where asked. See the module's text. Raises `GsdlockError`: E-BUSY, E-IO-…."""
    from ..capabilities.errors import Exit
    from ..store.doctor import examine, mend

    outside, locks = _own_inputs(session)
    done: tuple[str, ...] = ()
    if options.repair:
        done, left = mend(session.store, locks)
    else:
        left = examine(session.store)
    found = [*outside, *left]
    lines = list(done)
    for finding in found:
        mendable = finding.mendable and not options.repair
        lines += [finding.what, f"  {'gsdlock doctor --repair puts it right.' if mendable else finding.fix}"]
    lines.append(f"{plural(len(found), 'damage', 'damages')} left" if found else "no damage")
    rows = [
        {"kind": f.kind, "path": f.path, "what": f.what, "fix": f.fix, "repairable": f.mendable}
        for f in found
    ]
    return Outcome(Exit.MISSING if found else Exit.DONE, {"damage": rows, "repaired": list(done)}, lines)


def _own_inputs(session: Session) -> tuple[list[Finding], dict[str, frozenset[str]]]:
    """What is wrong with the manifest and the lock in force; and the lock, where it can be read."""
    from ..capabilities.errors import GsdlockError
    from ..store.collect import lock_digests
    from ..store.doctor import Finding

    if session.manifest_path is None:
        return [], {}
    kind = "manifest"
    try:
        path = session.manifest.path
        kind, path = "lock", session.lock_path
        lock = session.lock()
    except GsdlockError as error:
        where = error.where or session.manifest_path
        return [Finding(kind, where, error.code, f"{error.code}: {error.what}", error.fix, False)], {}
    return [], {} if lock is None else {path: frozenset(lock_digests(lock))}
