"""The scratch machine of the command line's tests, for the commands that the documentation shows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

NAME = "gsdlock_scratch_machine"


def _machine_class() -> Any:
    """`Machine` of tests/cli/conftest.py. `tests` is no package, so the file is loaded by its place."""
    if NAME not in sys.modules:
        place = Path(__file__).parent.parent / "cli/conftest.py"
        spec = importlib.util.spec_from_file_location(NAME, place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return sys.modules[NAME].Machine


@pytest.fixture
def machine(tmp_path: Path) -> Any:
    made = _machine_class()(tmp_path)
    made.home.mkdir()
    made.project.mkdir()
    return made
