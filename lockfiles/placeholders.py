"""Machine-specific text in locked bytes: written as a placeholder, filled in at apply.

Grammar: `{{gsdlock:<form>:<base>[/<rest>]}}`.

base: the name of a root of the target (`config`, `skills`, `agents-home`, `hooks-home`, `project`) or
`tool.<name>` for an interpreter (`tool.node`, `tool.bash`, `tool.python3`).
rest: a relative path of plain characters below a root.

| form  | a path under the home becomes | any other path |
|-------|-------------------------------|----------------|
| path  | absolute                      | absolute       |
| home  | `$HOME/…`                     | absolute       |
| tilde | `~/…`                         | absolute       |
| sh    | one double-quoted POSIX shell word of the absolute path | the same |
| sh-home | the same, `$HOME` in front of what follows the home | as `sh` |

A target may ask for portable tools: then a `tool.` base is filled with the bare name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

_OPENING = "{{gsdlock:"
_MARK, _CLOSING = _OPENING.encode("ascii"), b"}}"
_REST = re.compile(r"(path|home|tilde|sh|sh-home):([a-z][a-z0-9.-]*)((?:/[A-Za-z0-9._@+-]+)*)/?\}\}")


class Fillings(Struct, frozen=True):
    """What placeholders stand for on this machine. All paths absolute, `/` as separator.

    `bases` maps a root's name to its path and `tool.<name>` to an executable (or, for portable tools, to a
    bare name). `home` is the user's home, or None.
    """

    bases: Mapping[str, str]
    home: str | None


class PlaceholderError(ValueError):
    """A placeholder names a base that is not known; `base` says which."""

    def __init__(self, base: str) -> None:
        super().__init__(f"placeholder names {base}, which this target does not have")
        self.base = base


def placeholder(form: str, base: str, rest: str = "") -> str:
    """The text of a placeholder; `rest` is a relative path or empty."""
    return "{{gsdlock:" + form + ":" + base + ("/" + rest if rest else "") + "}}"


def has_placeholder(data: bytes) -> bool:
    """Whether the bytes hold anything that looks like the start of a placeholder."""
    return _MARK in data


def bases_used(data: bytes) -> frozenset[str]:
    """The bases that the placeholders in `data` name."""
    if not has_placeholder(data):
        return frozenset()
    pieces = data.decode("utf-8", "replace").split(_OPENING)[1:]
    return frozenset(match.group(2) for match in map(_REST.match, pieces) if match is not None)


def fill_text(text: str, fillings: Fillings) -> str:
    """`text` with every placeholder replaced. Raises `PlaceholderError` for an unknown base."""
    # Split at what all of them begin with: a search with the whole pattern takes ten times as long.
    head, *pieces = text.split(_OPENING)
    parts = [head]
    for piece in pieces:
        match = _REST.match(piece)
        parts += (_OPENING, piece) if match is None else (_filled(match, fillings), piece[match.end() :])
    return "".join(parts)


def fill_bytes(data: bytes, fillings: Fillings) -> bytes:
    """`fill_text` on UTF-8 bytes. Raises `UnicodeDecodeError` too."""
    data.decode("utf-8")
    # On the bytes themselves: text with one character beyond Latin-1 takes twice the room.
    head, *pieces = data.split(_MARK)
    parts = [head]
    known: dict[bytes, bytes | None] = {}
    for piece in pieces:
        end = piece.find(_CLOSING) + len(_CLOSING)
        rest = piece[:end]
        if rest not in known:
            match = _REST.fullmatch(rest.decode("utf-8", "replace"))
            known[rest] = None if match is None else _filled(match, fillings).encode("utf-8")
        filled = known[rest]
        parts += (_MARK, piece) if filled is None else (filled, piece[end:])
    return b"".join(parts)


def fill_value(value: Any, fillings: Fillings) -> Any:
    """JSON data with every string (keys too) filled."""
    if isinstance(value, str):
        return fill_text(value, fillings)
    if isinstance(value, list):
        return [fill_value(v, fillings) for v in value]
    if isinstance(value, dict):
        return {fill_text(k, fillings): fill_value(v, fillings) for k, v in value.items()}
    return value


def fill_pointer(pointer: str, fillings: Fillings) -> str:
    """A JSON pointer with every step filled; what is filled in is escaped as a step."""
    steps = [fill_text(s.replace("~1", "/").replace("~0", "~"), fillings) for s in pointer.split("/")]
    return "/".join(s.replace("~", "~0").replace("/", "~1") for s in steps)


def _filled(match: re.Match[str], fillings: Fillings) -> str:
    form, base, rest = match.groups()
    value = fillings.bases.get(base)
    if value is None:
        raise PlaceholderError(base)
    path = value.rstrip("/") + rest if rest else value
    home = fillings.home.rstrip("/") if fillings.home is not None else None
    below = path[len(home) :] if home is not None and (path + "/").startswith(home + "/") else None
    if form == "sh" or (form == "sh-home" and below is None):
        return _shell_word(path)
    if form == "path" or below is None:
        return path
    if form == "sh-home":
        return _shell_word(below, '"$HOME')
    return ("$HOME" if form == "home" else "~") + below


def _shell_word(path: str, opening: str = '"') -> str:
    escaped = re.sub(r'([\\"$`])', r"\\\1", path)
    return f'{opening}{escaped}"'
