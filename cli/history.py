"""List the generations of the targets, the newest last; an asterisk marks the current one.

example: gsdlock history --target claude
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .recovering import UNLESS_BUSY
from .render import Outcome, plural

if TYPE_CHECKING:
    from .session import Session

RECOVERY = UNLESS_BUSY


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb has no options of its own."""


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """List the generations. See the module's text."""
    from .installed import generations_of

    rows, lines = [], []
    generations = session.store.generations
    for current in generations_of(session, left=True):
        lines.append(f"target {current.target} ({current.runtime} {current.scope})")
        for number in generations.numbers(current.slug):
            generation = current if number == current.number else generations.read(current.slug, number)
            entries = sum(len(e.entries) for e in generation.edited)
            what = "left" if generation.left else _contents(len(generation.files), entries)
            mark = "*" if number == current.number else " "
            lines.append(f"  {mark} {number:>3}  {generation.created}  {what}")
            rows.append(
                {
                    "target": generation.target,
                    "number": number,
                    "parent": generation.parent,
                    "current": number == current.number,
                    "created": generation.created,
                    "left": generation.left,
                    "plan": generation.plan,
                    "files": len(generation.files),
                    "entries": entries,
                }
            )
    return Outcome(0, {"generations": rows}, lines or ["nothing was installed yet"])


def _contents(files: int, entries: int) -> str:
    return f"{plural(files, 'file')}, {plural(entries, 'entry', 'entries')}"
