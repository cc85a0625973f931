"""SECURITY.md and docs/durability.md name the tests of their promises: each of them must be there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
BOTH = PAGE + (ROOT / "docs/durability.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[^`]+)`", BOTH)))
PROMISES = [
    p for p in PAGE.split("## Promises")[1].split("## What is not promised")[0].split("\n\n") if p.strip()
]


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_is_there(name: str) -> None:
    file, _, function = name.partition("::")
    path = ROOT / file
    assert path.is_file() or any(path.glob("test_*.py")), file
    if function:
        assert f"def {function}(" in path.read_text("utf-8")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: p[2:40].split("**")[0])
def test_every_promise_names_its_tests(promise: str) -> None:
    assert re.search(r"Tests: `tests/", promise)
