"""Version ranges mean to us what they mean to npm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.npm_range import (
    RangeError,
    Version,
    max_satisfying,
    parse_range,
    parse_version,
    satisfies,
)
from hypothesis import given, settings
from hypothesis import strategies as st

CASES: list[list[Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "npm_range_cases.json").read_text(encoding="utf-8")
)["cases"]


@pytest.mark.parametrize(("version", "range_", "verdict"), CASES)
def test_verdicts_are_those_of_npm(version: str, range_: str, verdict: bool | None) -> None:
    if verdict is None:
        with pytest.raises(RangeError):
            satisfies(version, range_)
    else:
        assert satisfies(version, range_) is verdict


# One line a rule, for reading; the table above is for breadth.
@pytest.mark.parametrize(
    ("range_", "inside", "outside"),
    [
        ("1.2.3", "1.2.3", "1.2.4"),
        ("=1.2.3", "1.2.3", "1.2.2"),
        ("^1.2.3", "1.9.0", "2.0.0"),
        ("^0.2.3", "0.2.9", "0.3.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("^0.0", "0.0.9", "0.1.0"),
        ("^1.x", "1.0.0", "2.0.0"),
        ("~1.2.3", "1.2.9", "1.3.0"),
        ("~1", "1.9.0", "2.0.0"),
        ("1.x", "1.5.0", "2.0.0"),
        ("1.2.*", "1.2.7", "1.3.0"),
        ("*", "0.0.1", "1.0.0-rc.1"),
        ("", "3.2.1", "1.0.0-rc.1"),
        (">1.2", "1.3.0", "1.2.9"),
        ("<=1.2", "1.2.9", "1.3.0"),
        (">= 1.2.0 < 2", "1.9.9", "2.0.0"),
        ("1.2 - 2.3", "2.3.9", "2.4.0"),
        ("1.2.3 - 2", "2.9.9", "3.0.0"),
        ("<1 || >=2", "2.1.0", "1.5.0"),
        ("^1.2.3-beta.2", "1.2.3-beta.10", "1.2.4-beta.3"),
        (">=1.0.0-rc.1", "1.0.0-rc.2", "1.1.0-rc.1"),
        (">=1.10.0", "1.10.0+build.7", "1.10.0-rc.1"),
    ],
)
def test_what_a_range_takes(range_: str, inside: str, outside: str) -> None:
    assert satisfies(inside, range_)
    assert not satisfies(outside, range_)


@pytest.mark.parametrize("text", ["latest", "1.2.3.4", ">=1,<2", "1 -2", "^", "1.x.3", "01.2.3", "9" * 300])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(RangeError):
        parse_range(text)


@pytest.mark.parametrize(
    "text", ["1.2", "v1.2.3", "1.2.3-01", "1.2.3 ", "01.2.3", "1.2.3-", "1.2.3\n", "١.2.3"]
)
def test_a_version_is_strict(text: str) -> None:
    with pytest.raises(RangeError):
        parse_version(text)


def test_precedence_is_that_of_semver() -> None:
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"]
    ordered += ["1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "2.0.0"]
    backwards = [parse_version(text) for text in reversed(ordered)]
    assert sorted(backwards) == [parse_version(text) for text in ordered]


def test_the_highest_version_in_a_range() -> None:
    published = ["1.6.1", "1.8.0", "1.14.0", "1.11.0", "2.0.0-rc.1", "not-a-version"]
    assert max_satisfying(published, "^1.8") == "1.14.0"
    assert max_satisfying(published, ">=2.0.0-0") == "2.0.0-rc.1"
    assert max_satisfying(published, "^3") is None
    assert max_satisfying([], "*") is None


numbers = st.integers(0, 12)
versions = st.builds(Version, numbers, numbers, numbers)


def text_of(version: Version) -> str:
    return ".".join(map(str, version.triple))


@settings(deadline=None)
@given(versions, versions)
def test_a_caret_takes_a_version_exactly_up_to_the_next_breaking_one(base: Version, other: Version) -> None:
    leading = next((i for i, n in enumerate(base.triple) if n), 2)
    compatible = other >= base and other.triple[: leading + 1] == base.triple[: leading + 1]
    assert satisfies(text_of(other), f"^{text_of(base)}") is compatible


@settings(deadline=None)
@given(versions, versions, versions)
def test_a_hyphen_range_is_a_pair_of_bounds(low: Version, high: Version, other: Version) -> None:
    hyphen = satisfies(text_of(other), f"{text_of(low)} - {text_of(high)}")
    assert (
        hyphen is satisfies(text_of(other), f">={text_of(low)} <={text_of(high)}") is (low <= other <= high)
    )


@settings(deadline=None)
@given(st.lists(versions, min_size=1), st.sampled_from(["*", "^1", "~2.3", ">=4 <9", "1 - 3"]))
def test_the_highest_lies_in_the_range_and_none_above_does(found: list[Version], range_: str) -> None:
    texts = [text_of(v) for v in found]
    best = max_satisfying(texts, range_)
    inside = [parse_version(t) for t in texts if satisfies(t, range_)]
    assert (parse_version(best) if best else None) == max(inside, default=None)
