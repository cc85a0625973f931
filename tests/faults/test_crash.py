"""The process is killed before a file-system call, at every one: all is old or all is new.

Three ways to die, from the outside in: see `sweeps`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from . import tracing
from .apart import Apart
from .points import Report
from .scenes import ALL_SCENES
from .sweeps import KILLS, killed


@pytest.mark.parametrize("before", KILLS)
@pytest.mark.parametrize("name", ALL_SCENES)
def test_killed_at_any_point_all_is_old_or_all_is_new(
    name: str, before: str, apart: Apart, stage: Path, report: Report
) -> None:
    if before == "a system call" and (why := tracing.unavailable()):
        pytest.skip(why)
    swept = apart(killed, name, before, stage)
    report(f"killed before {before}", f"{name} (of {swept.total})", swept.tried, len(swept.failures))
    assert not swept.failures, f"{len(swept.failures)} of {swept.tried}:\n" + "\n".join(swept.failures[:5])
    assert swept.tried < swept.total * 0.9 or all(swept.ended), "both ends come to pass"
