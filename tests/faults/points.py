"""Which points of failure are tried, and the line of the table that tells of them.

A full run (GSDLOCK_FULL=1) tries every point; else some are chosen by GSDLOCK_SEED, which is printed at the
end of the run and can be set to try the same ones again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from typing import Any

FULL = os.environ.get("GSDLOCK_FULL", "") == "1"
SEED = os.environ.get("GSDLOCK_SEED", "0")


def chosen(points: Sequence[Any], most: int, name: str) -> list[Any]:
    """All points in a full run, else `most` of them by the seed; `name` keeps one table's choice apart."""
    if FULL or len(points) <= most:
        return list(points)
    picked = random.Random(f"{SEED}/{name}").sample(range(len(points)), most)
    return [points[n] for n in sorted(picked)]


Report = Callable[[str, str, int, int], None]
"""`report(table, row, points, failures)`: a line of the table at the end of the run."""
