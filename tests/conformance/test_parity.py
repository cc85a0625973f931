"""Every file that gsdlock installs, beside what the reference installer writes; see parity.py.

`script/parity` writes the page anew (GSDLOCK_WRITE_PARITY=1).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.capabilities.registry import load_builtin

from .measured import Measured, targets
from .parity import KINDS, SCOPES, Differences, Outcome, Target, reasons_for_text, unlike
from .report import page

Measure = Callable[[Target], Measured]
PAGE = Path(__file__).parents[2] / "docs/parity.md"
ENTRIES = Differences().entries
FINE = (Outcome.IDENTICAL, Outcome.ON_PURPOSE)


@pytest.mark.network
@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name)
def test_as_the_reference_installs_but_for_what_differs_on_purpose(measure: Measure, target: Target) -> None:
    outcome = measure(target)
    unlisted = [
        f"{f.outcome}: {f.kind} {f.path}\n{f.detail}" for f in outcome.findings if f.outcome not in FINE
    ]
    assert not unlisted, "\n".join(unlisted)
    assert bool(outcome.findings) == (not outcome.refused)
    assert bool(outcome.reference_wrote) == (not outcome.refused)


@pytest.mark.network
def test_the_page_says_what_was_measured(measure: Measure) -> None:
    made = page([(target, measure(target)) for target in targets()], Differences())
    if os.environ.get("GSDLOCK_WRITE_PARITY"):
        PAGE.write_text(made, "utf-8")
    assert PAGE.read_text("utf-8").splitlines() == made.splitlines(), "run script/parity and look at the diff"


@pytest.mark.network
def test_no_reason_is_left_over(measure: Measure) -> None:
    used = {r for target in targets() for f in measure(target).findings for r in f.reasons}
    assert {e["id"] for e in ENTRIES} == used


def test_every_reason_says_what_why_and_on_what_evidence() -> None:
    assert len({e["id"] for e in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert entry["reason"].endswith("."), entry["id"]
        assert entry["evidence"].endswith("."), entry["id"]
        assert set(entry.get("runtimes", ())) <= set(load_builtin().runtimes), entry["id"]
        assert set(entry.get("scopes", ())) <= set(SCOPES)
        assert set(entry.get("kinds", ())) <= set(KINDS)
        assert {"rewrites", "settings", "missing", "extra", "modes", "moved"} & set(entry), entry["id"]
        for rule in entry.get("rewrites", ()):
            assert rule["side"] in ("ours", "reference", "both")
            re.compile(rule["pattern"])


def test_a_reason_covers_what_it_describes_and_nothing_else() -> None:
    entry = {"id": "x", "rewrites": [{"side": "reference", "pattern": "^a: .*?$", "replace": "a: 1"}]}
    assert reasons_for_text([entry], "a: 1\nb\n", "a: 2\nb\n") == ("x",)
    assert reasons_for_text([entry], "a: 1\nb\n", "a: 2\nc\n") is None
    assert reasons_for_text([], "a", "b") is None


def test_settings_are_compared_place_by_place() -> None:
    ours = {"hooks": {"Stop": [{"command": "a"}]}, "mine": 1}
    theirs = {"hooks": {"Stop": [{"command": "b"}]}}
    assert dict(unlike(ours, theirs)) == {"/hooks/Stop/0/command": ("a", "b"), "/mine": (1, None)}
    assert dict(unlike(json.loads('{"a": [1, 2]}'), {"a": [1]})) == {"/a": ([1, 2], [1])}
