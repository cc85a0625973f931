"""Bring back a file that a transaction displaced.

The newest kept version comes back, or with @N the one that generation N displaced. From then on the file is
held back as yours: apply leaves it alone until --ours. What stands there now is kept in turn.

example: gsdlock restore ~/.claude/settings.json@2 --allow high
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

    parser.add_argument("place", metavar="PATH[@N]", help="the file, and the generation that displaced it")
    parser.add_argument("--list", action="store_true", help="only list the versions that are kept")
    common_arguments(parser, (), partial=False)


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Restore one file. See the module's text."""
    import os
    import re

    from ..store.restore import bringing_back, displaced_versions
    from .carrying import carry_out, full_name

    match = re.fullmatch(r"(.+)@([0-9]+)", options.place)
    # A file may have a name that looks like a version of another, so the whole of it comes first.
    readings: list[tuple[str, int | None]] = [(full_name(options.place), None)]
    readings += [(full_name(match.group(1)), int(match.group(2)))] if match else []
    # A path through a link was recorded by where it leads.
    places = [(c, n) for p, n in readings for c in ((p, os.path.realpath(p)) if p.startswith("/") else (p,))]
    known = (place for place in places if displaced_versions(session.store, *place))
    path, number = next(known, readings[-1])
    if options.list:
        versions = displaced_versions(session.store, path, number)
        rows = [
            {"path": v.path, "target": v.target, "generation": v.number, "digest": v.kept.digest}
            for v in versions
        ]
        lines = [f"{v.path}@{v.number} ({v.target}) {v.kept.digest}" for v in versions]
        return Outcome(0, {"versions": rows}, lines or [f"no version of {path} is kept"])
    outcome = carry_out(session, options, [bringing_back(session.store, path, number)])
    if options.dry_run or outcome.status or not _is_held(session, path):
        return outcome
    held = f"{path} is held back as yours now; gsdlock apply --ours {path} ends that"
    return Outcome(outcome.status, outcome.data, [*outcome.lines, held])


def _is_held(session: Session, path: str) -> bool:
    """Whether a whole file of ours is held back there (a shared file never is as a whole)."""
    currents = session.store.generations.currents().values()
    return any(f.held and g.real_path(f.root, f.path) == path for g in currents for f in g.files)
