"""TOML from anybody, in bounded time.

The standard library's parser takes quadratic time for a key of very many parts: 100 kB of `a.a.a…` keep it
busy for half a minute. Nobody writes such a key, so one is refused before the parser sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

MOST_PARTS = 64
"""A dotted key, or a table's name, has at most so many parts."""

# A quote that is never closed goes to the end of the line: else each would be looked at to the end anew.
_PART = r"(?:[A-Za-z0-9_-]++|\"(?:[^\"\\]|\\.)*+\"?|'[^']*+'?)"
_RUN = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*+"


def read_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """`tomllib.loads`, with the same errors, and one more for a key of too many parts.

    Raises `tomllib.TOMLDecodeError`, `ValueError` (a number with too many digits), `RecursionError`.
    """
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= MOST_PARTS and _is_endless(line):
            raise tomllib.TOMLDecodeError(
                f"A key has more than {MOST_PARTS} parts (at line {number}, column 1)"
            )
    return tomllib.loads(text, parse_float=parse_float)


def _is_endless(line: str) -> bool:
    return any(len(re.findall(_PART, run)) > MOST_PARTS for run in re.findall(_RUN, line))
