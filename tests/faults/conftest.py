"""The figures of the tests of faults: how many points were tried, and how many failed. Printed at the end of
the run by `tests/conftest.py`."""

from __future__ import annotations

import pytest

from .kit import Report


@pytest.fixture
def report(record_property: object) -> Report:
    """Adds a line to the table."""

    def add(table: str, row: str, points: int, failures: int) -> None:
        record_property("faults", [table, row, points, failures])  # type: ignore[operator]

    return add
