"""TOML that somebody wrote to keep the parser busy is refused before it gets there."""

from __future__ import annotations

import tomllib

import pytest
from gsdlock.capabilities.toml_text import MOST_PARTS, read_toml


@pytest.mark.parametrize(
    "text",
    [
        "{}b = 1",
        "[{}b]",
        "[[{}b]]",
        "x = {{ {}b = 1 }}",
        "x = [{{ {}b = 1 }}]",
        "ok = 1\n{}b = 1 # c",
        "\"q.q\".'q' . {}b = 1",
        "{}'b' = 1",
    ],
)
def test_a_key_of_very_many_parts_is_refused_at_once(text: str) -> None:
    with pytest.raises(
        tomllib.TOMLDecodeError, match=rf"more than {MOST_PARTS} parts \(at line \d, column 1\)"
    ):
        read_toml(text.format("a." * 400_000))


@pytest.mark.parametrize("piece", ['"\\', '"\\"', "'\"", "'", '"', '".', "a.'", "a .", "\\"])
def test_looking_for_one_takes_no_time_of_its_own(piece: str) -> None:
    """A quote that is never closed is not looked at again from each of its neighbours: a million characters
    would take hours."""
    with pytest.raises(tomllib.TOMLDecodeError):
        read_toml("x = [ " + "." * MOST_PARTS + piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize(
    "text",
    [
        "a." * (MOST_PARTS - 1) + "b = 1",
        'url = "' + "a." * 500 + 'b"',
        "# " + "." * 500,
        'text = """\nChapter' + "." * 500 + ' 12 = 3\n"""',
        '"' + "a." * 500 + '" = 1',
        'x = ["' + '", "'.join(["1.2.3"] * 500) + '"]',
        "x = [" + ", ".join(["1.5"] * 500) + "]",
    ],
)
def test_whatever_else_has_many_dots_is_read_as_ever(text: str) -> None:
    assert read_toml(text) == tomllib.loads(text)
