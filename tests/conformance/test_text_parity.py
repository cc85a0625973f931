"""Every artifact's text beside the reference installer's; see text_parity.py."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from gsdlock.capabilities.registry import load_builtin

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PARITY = load("text_parity")
RUNTIMES = sorted(load_builtin().runtimes)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_text_is_the_references_but_for_what_differs_on_purpose(runtime: str) -> None:
    folder = os.environ.get("GSDLOCK_REFERENCE")
    if not folder:
        pytest.skip("GSDLOCK_REFERENCE names no folder with the reference's package and goldens")
    result = PARITY.compare(Path(folder), runtime)
    differing = [PARITY.difference(p) for tally in result.values() for p in tally.differs]
    assert not differing, "\n".join([PARITY.table(result), *differing])


def test_every_difference_says_why_and_how() -> None:
    entries = json.loads((HERE / "differences.json").read_text())["differences"]
    assert len({e["id"] for e in entries}) == len(entries)
    for entry in entries:
        assert entry["reason"].endswith(".")
        assert entry["verdict"] in ("better on purpose", "own words"), entry["id"]
        assert set(entry.get("runtimes", [])) <= set(RUNTIMES), entry["id"]
        assert entry["rewrites"]
        for rule in entry["rewrites"]:
            assert rule["side"] in ("ours", "reference", "both")
            re.compile(rule["pattern"])


def test_an_excuse_covers_what_it_describes_and_nothing_else() -> None:
    differences = PARITY.Differences()
    ours = 'sandbox_mode = "workspace-write"\nbody\n'
    theirs = 'sandbox_mode = "read-only"\nbody\n'
    pair = PARITY.Pair("codex", "global", "agent", "agents/gsd-x.toml", ours, theirs)
    assert differences.excused(pair) == ("codex-sandbox",)
    other = PARITY.Pair("codex", "global", "agent", "agents/gsd-x.toml", ours, theirs + "more\n")
    assert differences.excused(other) is None
