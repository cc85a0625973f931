"""What an earlier command left half done is finished or undone before a verb looks at anything.

A verb's module says in `RECOVERY` how: `WAIT` where it changes something or judges what is there,
`UNLESS_BUSY` where it only reads, and nothing holds it up. Verbs that look at no target say nothing.
"""

from __future__ import annotations

from .render import Outcome

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    import argparse
    from types import ModuleType

    from ..store.recovery import Recovered
    from .session import Session

WAIT = "wait"
UNLESS_BUSY = "unless-busy"


def run_recovered(session: Session, module: ModuleType, options: argparse.Namespace) -> Outcome:
    """Run a verb behind its recovery, with a line for each transaction that needed one, also where it fails.

    Raises `GsdlockError`: those of `recover` and of the verb.
    """
    from ..capabilities.errors import GsdlockError

    lines = [line for one in _recovered(session, module) for line in _lines(one)]
    try:
        outcome: Outcome = module.run(session, options)
    except GsdlockError as fault:
        fault.details = (*lines, *fault.details)
        raise
    if not lines:
        return outcome
    return Outcome(outcome.status, {**outcome.data, "recovered": lines}, [*lines, *outcome.lines])


def _recovered(session: Session, module: ModuleType) -> tuple[Recovered, ...]:
    from ..store.recovery import recover, recover_unless_busy

    how = getattr(module, "RECOVERY", "")
    if how == WAIT:
        return recover(session.store)
    return recover_unless_busy(session.store) if how == UNLESS_BUSY else ()


def _lines(recovered: Recovered) -> list[str]:
    import shlex

    from .carrying import bounded, recovered_line

    kept = [
        f"somebody's version of {path} made way and is kept: gsdlock restore {shlex.quote(path)}"
        for path in recovered.kept
    ]
    return [recovered_line(recovered), *bounded(kept)]
