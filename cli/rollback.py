"""Go back to a former generation.

Without a number: every target that the last transaction changed goes back to what it was before it; once more
goes back one step more. With one: every target goes back to its generation of that number (0: before the
first). Files and entries are what they were, byte for byte, wherever nobody changed them since. Going back
makes a new generation, so any generation can be gone to again.

example: gsdlock rollback 3 --target claude
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .recovering import WAIT
from .render import Outcome

if TYPE_CHECKING:
    from ..store.survey import TargetChange
    from .session import Session

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from .carrying import common_arguments

    parser.add_argument("number", metavar="N", nargs="?", type=int, help="the generation to go back to")
    common_arguments(parser)


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Go back. See the module's text."""
    from .carrying import carry_out

    return carry_out(session, options, _changes(session, options.number))


def _changes(session: Session, number: int | None) -> list[TargetChange]:
    """Raises `GsdlockError`: E-NOTHING-INSTALLED, E-GENERATION-UNKNOWN."""
    from ..capabilities.errors import input_error
    from ..store.restore import former_number, going_back, unknown_generation
    from .installed import generations_of

    store = session.store
    current = generations_of(session, left=True)
    if session.manifest_path is None and not session.options.target:
        from .installed import require_targets

        current = require_targets(session)
    if not current:
        raise input_error("E-NOTHING-INSTALLED", "nothing was installed here", "gsdlock apply installs.")
    if number is not None:
        chosen = [g for g in current if number == 0 or number in store.generations.numbers(g.slug)]
        if not chosen:
            raise unknown_generation(store.generations, current, number)
        return [going_back(store, g.slug, number) for g in chosen]
    last = max(g.created for g in current)
    return [
        going_back(store, g.slug, former_number(store.generations, g)) for g in current if g.created == last
    ]
