"""Small user stories made from reports of installers that did harm; each is one test. See casekit.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cases_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


KIT, ADAPTER = load("casekit"), load("adapter")


@pytest.mark.parametrize("case", KIT.cases(), ids=lambda c: c.id)
def test_case(case: object, tmp_path: Path) -> None:
    run, results = KIT.run_one(case, ADAPTER.run, str(tmp_path / "case"))
    KIT.unlock(tmp_path)
    output = "\n".join(out for _, out in run.results)
    assert not run.skip, f"{run.skip}\n{output}"
    failed = [why for ok, why in results if not ok]
    assert not failed, "\n".join([*failed, output])
