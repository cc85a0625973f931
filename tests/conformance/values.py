"""Files of configuration by what they say: every value of the one beside that of the other.

A settings file of two installers may say the same 45 things and one otherwise; so it is counted by its values
and not as one file. A value is a leaf of the parsed file (a text, number, truth value, or an empty mapping or
list) with its place as a JSON pointer; of an instruction file in Markdown it is a line that is not empty.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

import yaml


class Absent:
    """What stands for a value that one side has not."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = Absent()
Place = tuple[str, Any, Any]
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    ".json": json.loads,
    ".jsonc": json.loads,
    ".toml": tomllib.loads,
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
}
_LOOKED_UP = re.compile(r'"\$\(for n in .*?done\)"')
_INTERPRETER = re.compile(r'"(?:[^"\s]*/)?(node|bash|python3)"(?= )')


def has_values(path: str) -> bool:
    """Whether a file is of a format that is parsed into values."""
    return PurePosixPath(path).suffix in _READERS


def places_of(path: str, ours: str | None, theirs: str | None) -> list[Place]:
    """Every place at which either file has a value, with both values; None is a file that is not there."""
    read = _READERS[PurePosixPath(path).suffix]
    mine, other = (ABSENT if text is None else read(text) for text in (ours, theirs))
    return list(places(mine, other))


def places(ours: Any, theirs: Any, at: str = "") -> Iterator[Place]:
    """The places of two values, and what each side has there. A command is taken as the words that a shell
    makes of it, with interpreters by their bare name: both sides look them up in their own ways.

    What two lists have alike is paired first, in order; what is left over between it by its position.
    """
    if _holds(dict, ours, theirs):
        for key in sorted({*_members(ours), *_members(theirs)}):
            step = key.replace("~", "~0").replace("/", "~1")
            mine, other = (_members(v).get(key, ABSENT) for v in (ours, theirs))
            yield from places(mine, other, f"{at}/{step}")
    elif _holds(list, ours, theirs):
        for number, pair in enumerate(_paired(list(_items(ours)), list(_items(theirs)))):
            yield from places(*pair, f"{at}/{number}")
    else:
        yield at, _said(ours, at), _said(theirs, at)


def _holds(kind: type, ours: Any, theirs: Any) -> bool:
    """Whether both, or the one that is there, are such a container and not both empty."""
    given = [v for v in (ours, theirs) if v is not ABSENT]
    return all(isinstance(v, kind) for v in given) and any(given)


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _paired(ours: list[Any], theirs: list[Any]) -> Iterator[tuple[Any, Any]]:
    keys, others = ([json.dumps(v, sort_keys=True, default=str) for v in side] for side in (ours, theirs))
    for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, keys, others, autojunk=False).get_opcodes():
        mine, other = ours[i:i_end], theirs[j:j_end]
        if tag == "equal":
            yield from zip(mine, other, strict=True)
            continue
        for number in range(max(len(mine), len(other))):
            yield _at(mine, number), _at(other, number)


def _at(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else ABSENT


def _said(value: Any, at: str) -> Any:
    if not isinstance(value, str):
        return value
    text = _LOOKED_UP.sub("node", value).replace('"<NODE>"', "node")
    text = _INTERPRETER.sub(r"\1", text)
    return shlex.split(text) if at.endswith("/command") else text


def unlike_lines(ours: str, theirs: str) -> tuple[int, int]:
    """How many lines of two texts are alike, and how many are not; empty ones are not counted."""
    mine, other = ([line for line in t.splitlines() if line.strip()] for t in (ours, theirs))
    alike = unlike = 0
    for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        if tag == "equal":
            alike += i_end - i
        else:
            unlike += max(i_end - i, j_end - j)
    return alike, unlike
