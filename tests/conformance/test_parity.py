"""Every file that gsdlock installs, beside what the reference installer writes; see parity.py.

`script/parity` writes the page anew (GSDLOCK_WRITE_PARITY=1).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.capabilities.registry import load_builtin

from .measured import Measured, targets
from .parity import CONFIG, KINDS, SCOPES, Differences, Finding, Outcome, Target, reasons_for_text
from .report import BECAUSE, page, rows_of
from .values import ABSENT, places, unlike_lines

Measure = Callable[[Target], Measured]
PAGE = Path(__file__).parents[2] / "docs/parity.md"
ENTRIES = Differences().entries


@pytest.mark.network
@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name)
def test_as_the_reference_installs_but_for_what_differs_on_purpose(measure: Measure, target: Target) -> None:
    outcome = measure(target)
    unlisted = [f"{f.kind} {f.path}: {f.counts}\n{f.detail}" for f in outcome.findings if f.unlisted]
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
        assert entry["because"] in BECAUSE, entry["id"]
        assert set(entry.get("runtimes", ())) <= set(load_builtin().runtimes), entry["id"]
        assert set(entry.get("scopes", ())) <= set(SCOPES)
        assert set(entry.get("kinds", ())) <= set(KINDS)
        assert {"rewrites", "settings", "missing", "extra", "modes"} & set(entry), entry["id"]
        for rule in entry.get("rewrites", ()):
            assert rule["side"] in ("ours", "reference", "both")
            re.compile(rule["pattern"])


def test_a_reason_covers_what_it_describes_and_nothing_else() -> None:
    entry = {"id": "x", "rewrites": [{"side": "reference", "pattern": "^a: .*?$", "replace": "a: 1"}]}
    assert reasons_for_text([entry], "a: 1\nb\n", "a: 2\nb\n") == ("x",)
    assert reasons_for_text([entry], "a: 1\nb\n", "a: 2\nc\n") is None
    assert reasons_for_text([], "a", "b") is None


def test_settings_are_compared_value_by_value() -> None:
    ours = {"hooks": {"Stop": [{"command": "a"}]}, "mine": 1, "same": [1, {"x": True}], "none": {}}
    theirs = {"hooks": {"Stop": [{"command": "b", "timeout": 5}]}, "same": [1, {"x": True}], "none": {}}
    assert list(places(ours, theirs)) == [
        ("/hooks/Stop/0/command", ["a"], ["b"]),
        ("/hooks/Stop/0/timeout", ABSENT, 5),
        ("/mine", 1, ABSENT),
        ("/none", {}, {}),
        ("/same/0", 1, 1),
        ("/same/1/x", True, True),
    ]


def test_a_file_that_is_not_there_lacks_each_of_its_values() -> None:
    assert list(places(ABSENT, {"a": {"b": 1, "c/d": []}})) == [("/a/b", ABSENT, 1), ("/a/c~1d", ABSENT, [])]


def test_lists_are_paired_by_what_they_have_alike() -> None:
    assert list(places(["a", "b", "c"], ["a", "c"])) == [
        ("/0", "a", "a"),
        ("/1", "b", ABSENT),
        ("/2", "c", "c"),
    ]
    assert [p[1:] for p in places([{"m": 1}], [{"m": 2}])] == [(1, 2)]


@pytest.mark.parametrize(
    ("ours", "theirs", "alike"),
    [
        ("node .cursor/hooks/x.js", 'node ".cursor/hooks/x.js"', True),
        ('"/usr/bin/node" x.js', '"<NODE>" x.js', True),
        ("node x.js", "node y.js", False),
        ('node "a b"', "node a b", False),
    ],
)
def test_a_command_is_its_words(ours: str, theirs: str, alike: bool) -> None:
    ((_, mine, other),) = places({"command": ours}, {"command": theirs})
    assert (mine == other) is alike


def test_an_instruction_file_is_its_lines_without_the_marks_around_a_block() -> None:
    differences = Differences()
    mine = "<!-- BEGIN gsd -->\none\n\ntwo\n<!-- END gsd -->\n"
    other = "<!-- GSD Configuration \u2014 managed -->\none\n\nthree\n<!-- /GSD Configuration -->\n"
    assert differences.unmarked(mine) == "one\n\ntwo\n"
    assert unlike_lines(differences.unmarked(mine), differences.unmarked(other)) == (1, 1)


def test_a_row_counts_files_or_values_and_hides_none() -> None:
    target = targets()[0]
    findings = (
        Finding("home/a", "skills", {Outcome.IDENTICAL: 1}),
        Finding("home/b", CONFIG, {Outcome.IDENTICAL: 45, Outcome.ON_PURPOSE: 1}, {"x": 1}),
        Finding("home/c", CONFIG, {Outcome.MISSING: 4}),
    )
    skills, config = rows_of([(target, Measured(findings))])
    assert skills.share(Outcome.IDENTICAL) == 100
    assert config.share(Outcome.IDENTICAL) == 90
    assert config.reasons == {"x": 1}
    assert [f.unlisted for f in findings] == [False, False, True]
