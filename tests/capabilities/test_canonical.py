"""Canonical JSON: the bytes are those of the standard library with our settings, whatever the text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gsdlock.capabilities.canonical import canonical_json, plain_json
from gsdlock.capabilities.words import Words
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw


def plain(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Word(Words):
    ONE = "one"


class Text(str):
    """A string that the fast encoder does not know."""


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_bytes_are_those_of_the_standard_encoder(value: Any) -> None:
    assert canonical_json(value) == plain(value)


@given(VALUES)
def test_bytes_made_before_stand_for_what_they_say(value: Any) -> None:
    made = Raw(canonical_json(value))
    assert canonical_json({"b": made, "a": [made]}) == plain({"b": value, "a": [value]})


@given(VALUES)
def test_what_is_vouched_for_gives_the_same_bytes(value: Any) -> None:
    assert canonical_json({"b": plain_json(value), "a": Text("t")}) == plain({"b": value, "a": "t"})


def test_what_only_the_slow_way_can_take_is_left_to_it() -> None:
    """A name that is no UTF-8, in a record of ours."""
    rows = [["\udcff", 1]]
    assert plain_json(rows) == rows


def test_bytes_made_before_stand_for_what_they_say_beside_what_the_fast_encoder_does_not_know() -> None:
    assert canonical_json({"b": Raw(b'{"x":1}'), Text("a"): "t"}) == plain({"b": {"x": 1}, "a": "t"})


def test_every_character_is_written_alike() -> None:
    every = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    assert canonical_json(every) == plain(every)


@pytest.mark.parametrize("value", [Word.ONE, {Word.ONE: Word.ONE}, Text("x"), {Text("x"): (1, ())}, 10**30])
def test_kinds_of_strings_and_numbers(value: Any) -> None:
    assert canonical_json(value) == plain(value)


@pytest.mark.parametrize("value", [1.5, [float("nan")], {1: 2}, {None: 1}, b"x", {"a": {"b": {1}}}, object()])
def test_what_has_more_than_one_spelling_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError):
        canonical_json("\ud800")
