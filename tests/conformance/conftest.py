"""What every target is like: measured once in a test run, by whichever worker comes first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .measured import Measured, measured_in
from .parity import Target
from .reference import Reference, Unavailable, fetched


@pytest.fixture(scope="session")
def reference() -> Reference:
    """The reference installer and its Node."""
    try:
        return fetched()
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def measure(
    reference: Reference, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Target], Measured | None]:
    """What was measured of a target; None where the host takes no install at that scope."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = Path(shared, "conformance")
    folder.mkdir(exist_ok=True)
    return lambda target: measured_in(folder, target, reference)
