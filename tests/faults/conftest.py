"""The figures of the tests of faults: how many points were tried, and how many failed. Printed at the end of
the run by `tests/conftest.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .apart import Apart
from .points import Report


@pytest.fixture
def report(record_property: object) -> Report:
    """Adds a line to the table."""

    def add(table: str, row: str, points: int, failures: int) -> None:
        record_property("faults", [table, row, points, failures])  # type: ignore[operator]

    return add


@pytest.fixture(scope="session")
def apart() -> Iterator[Apart]:
    """A small process, for what forks at every point."""
    process = Apart()
    yield process
    process.close()


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scenes are played, each in a folder of its own that stays until the end."""
    return tmp_path_factory.mktemp("scenes")
