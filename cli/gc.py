"""Delete stored content that nothing names.

Kept is everything that a generation or a lock that was applied names, and what was stored within the last
hour: a resolve that runs beside it may just need that. With --keep N only the newest N
generations of each target are kept, and with them what they name.

example: gsdlock gc --keep 5
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .render import Outcome, plural

if TYPE_CHECKING:
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--keep", metavar="N", type=_positive, help="forget all but the newest N generations")
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be deleted")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1 generation stays")
    return number


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Collect. See the module's text."""
    from ..store.collect import collect
    from ..store.overlays import bundle_digests, read_overlays

    overlays = bundle_digests(session.blobs, read_overlays(session.store).trees())
    done = collect(session.store, keep=options.keep, of=options.target, also=overlays, dry=options.dry_run)
    would = "would delete" if options.dry_run else "deleted"
    counts = [
        f"{plural(done.blobs, 'blob')} ({done.size / 1e6:.1f} MB)",
        plural(len(done.generations), "generation"),
        plural(done.temporaries, "left-over file"),
    ]
    lines = [f"{would} {', '.join(counts)}"]
    lines += [f"the lock {path} is gone; what it names is kept all the same" for path in done.absent]
    data = {
        "dry-run": bool(options.dry_run),
        "blobs": done.blobs,
        "bytes": done.size,
        "generations": [list(g) for g in done.generations],
        "absent-locks": list(done.absent),
    }
    return Outcome(0, data, lines)
