"""The text by which a pack is asked for: the same on every machine, and another one for another thing."""

from __future__ import annotations

import pytest
from gsdlock.resolver.specs import distinct, portable


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("https://h.example/a/x.tgz", "https://h.example/a/x.tgz"),
        ("git@h.example:o/x.git", "git@h.example:o/x.git"),
        ("./v1/x.tgz", "x.tgz"),
        ("~/packs/x/", "x"),
        ("/home/ann/v1/x.tgz", "x.tgz"),
        ("file:///home/ann/x", "x"),
        ("FILE:///home/ann/x/", "x"),
        ("C:\\Users\\ann\\x.zip", "x.zip"),
        ("", ""),
    ],
)
def test_a_url_is_named_in_full_and_a_path_by_its_last_part(spec: str, named: str) -> None:
    assert portable(spec) == named


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("https://h.example/a/x.tgz", "https://h.example/a/x.tgz"),
        ("git@h.example:o/x.git", "git@h.example:o/x.git"),
        ("./v1/x.tgz", "v1/x.tgz"),
        ("../v1/x.tgz", "../v1/x.tgz"),
        ("..\\v1\\x.tgz", "../v1/x.tgz"),
        ("~/packs/x.tgz", "~/packs/x.tgz"),
        ("x/", "x"),
        ("", ""),
    ],
)
def test_what_holds_on_every_machine_is_asked_for_as_it_is_written(spec: str, text: str) -> None:
    assert distinct(spec) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("../v1/x.tgz", "../v2/x.tgz"),
        ("/v1/x.tgz", "/v2/x.tgz"),
        ("file:///v1/x", "file:///v2/x"),
        ("C:\\v1\\x.zip", "C:\\v2\\x.zip"),
        ("~/v1/x.tgz", "~/v2/x.tgz"),
        ("x.tgz", "/x.tgz"),
    ],
)
def test_two_places_with_the_same_last_name_are_told_apart(one: str, other: str) -> None:
    assert distinct(one) != distinct(other)


def test_nothing_of_an_absolute_path_but_its_last_name_gets_out() -> None:
    assert "ann" not in distinct("/home/ann/x.tgz")
