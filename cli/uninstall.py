"""Take out everything that gsdlock put in.

A file of ours that you changed stays, as yours, and is named; --ours takes it out too (it stays in the
store). What stood there before us stays too. Shared files lose exactly our entries, and are what they were,
byte for byte, when nobody changed them in between. Stored content stays until gsdlock gc.

example: gsdlock uninstall --target claude
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

    common_arguments(parser, ("ours",), partial=False)


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Leave the targets. See the module's text."""
    from .carrying import carry_out
    from .targets import leaving

    changes = leaving(session)
    nothing = "nothing to do" if changes else "nothing to do: nothing of this manifest is installed"
    return carry_out(session, options, changes, nothing)
