"""Put our files and entries back as they should be.

What the installed generations say is made true again: deleted files and entries return, changed ones are
replaced (your version stays in the store: gsdlock restore). What you told gsdlock to hold back stays yours.

example: gsdlock repair --target claude
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .recovering import WAIT
from .render import Outcome

if TYPE_CHECKING:
    from .session import Session

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from .carrying import common_arguments

    common_arguments(parser)


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Repair the targets. See the module's text."""
    from ..store.survey import TargetChange
    from ..store.wanted import wanted_from_generation
    from .carrying import carry_out
    from .installed import require_targets

    options.keep_held = not (options.ours or options.theirs or options.adopt)
    if options.keep_held:
        options.ours = ["*"]
    changes = [TargetChange(g.slug, wanted_from_generation(g, held=True)) for g in require_targets(session)]
    return carry_out(session, options, changes)
