"""Many at work at the same time, many times over: no byte outside a root, no lost update, no deadlock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from . import racing
from .apart import Apart
from .points import Report

RACES = {
    "a folder swapped for a link": racing.folder_swapped_for_a_link,
    "two applies of one target": racing.two_applies_of_one_target,
    "two targets that share a file": racing.two_targets_that_share_a_file,
    "an apply and a collection": racing.apply_and_collection,
    "an apply and a host": racing.apply_and_host,
    "many readers": racing.many_readers,
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_whoever_comes_first_nothing_is_lost(
    race: Callable[[Path], racing.Ran], apart: Apart, tmp_path: Path, report: Report
) -> None:
    said, times = apart(race, tmp_path)
    report("races", said, times, 0)
