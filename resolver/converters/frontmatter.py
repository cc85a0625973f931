"""Front matter of a Markdown file: the block of YAML between two `---` lines at its very start.

Where the block is, is read leniently: it opens with `---` as the first characters and ends at the next
line that starts with `---`, which is where the reference looks too. What it means, a YAML parser says. A
block that is not YAML, as authors write it by hand (`description: Use when: x`), is read line by line
instead, so that nothing is lost. What is written always parses as YAML, for hosts whose parsers are strict.

A block is kept as `Entry` values, one a key, each with its source text, so that a host that takes the
source's own front matter gets it byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

_BLOCK = re.compile(r"---(.*?)\n?^---", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([A-Za-z0-9_][\w.-]*):(?=[ \t]|$)")
_ANY_KEY = re.compile(r"^[\"']?[A-Za-z0-9_{][^\n:]*:(?:[ \t]|$)", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.*/-]*")
# Letters, digits and `-` that YAML 1.1 reads as a number or a date: 12, 0x1f, 0b1, 1e5, 2024-01-01.
_NUMBER = re.compile(r"[\d-]+|0[xob][0-9A-Fa-f]+|\d+[eE]-?\d+")
# What a YAML stream may not hold as it is, and what JSON leaves as it is.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
# Plain words that YAML 1.1 takes for something else than a string.
_SPECIAL = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_BOM = "\ufeff"


class Entry(Struct, frozen=True):
    """One key with its source text: no final newline, further lines belong to it. A comment has no key."""

    key: str
    source: str


class Document(Struct, frozen=True):
    """A file apart: `front` is the text between the fences without them (None: there is no block), `body`
    what follows the closing fence, its newline included."""

    front: str | None
    body: str


def split(text: str) -> Document:
    """`text` apart into front matter and body. A block without any key is a part of the body; a byte order
    mark is dropped."""
    text = text.removeprefix(_BOM)
    match = _BLOCK.match(text) if text.startswith("---") else None
    if match is None:
        return Document(None, text)
    front = match[1].strip()
    if front and not _ANY_KEY.search(front):
        return Document(None, text)
    return Document(front, text[match.end() :])


def entries(front: str) -> list[Entry]:
    """The entries of a block in the order of the source. Lines before the first key form a comment."""
    found: list[Entry] = []
    lines: list[str] = []
    key = ""

    def close() -> None:
        if lines:
            found.append(Entry(key, "\n".join(lines)))
            lines.clear()

    for line in front.split("\n"):
        match = _KEY.match(line)
        if match is not None or (line.startswith("#") and key):
            close()
            key = match[1] if match is not None else ""
        lines.append(line)
    close()
    return found


def fields(front: str | None) -> Mapping[str, Any]:
    """What the block says: key to value (a string, a list or a mapping of such; every scalar is a string).

    A block that is not a YAML mapping is read line by line.
    """
    if not front:
        return {}
    value = _mapping(front)
    if value is not None:
        return value
    return {e.key: _naive(e.source) for e in entries(front) if e.key}


def text_of(value: Any) -> str:
    """A scalar as one line; anything else, and nothing, as ""."""
    return one_line(value) if isinstance(value, str) else ""


def list_of(value: Any) -> list[str]:
    """A list of names, written as a YAML list or as one string with commas; doubles are dropped."""
    parts: Iterable[Any] = (
        value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    )
    names = (one_line(p) for p in parts if isinstance(p, str))
    return list(dict.fromkeys(n for n in names if n))


def one_line(text: str) -> str:
    """`text` with every run of white space as one space, none at the ends."""
    return " ".join(text.split())


def clipped(text: str, limit: int) -> str:
    """At most `limit` code points of `text`; what was cut ends in `...`, within the limit."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def quoted(text: str) -> str:
    """`text` as a double-quoted YAML scalar. (A JSON string is one, but for a few characters.)"""
    import json

    encoded = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", encoded)


def plain(text: str) -> str:
    """`text` unquoted where it is a name of letters, digits and `-` in any YAML, else quoted."""
    safe = _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL and not _NUMBER.fullmatch(text)
    return text if safe else quoted(text)


def item(text: str) -> str:
    """`text` as an item of a list or as a key: unquoted where it is a name, `*`, `.` and `/` in it too."""
    return text if _NAME.fullmatch(text) and text.lower() not in _SPECIAL else quoted(text)


def scalar(text: str) -> str:
    """`text` as the value of a key: as it is where YAML reads it back as that string, else quoted."""
    return text if _loaded(f"key: {text}") == {"key": text} else quoted(text)


def description(given: Mapping[str, Any], name: str) -> str:
    """The description of the artifact `name` on one line. One stands in where the author left it out, for
    hosts drop what has none."""
    return text_of(given.get("description")) or f"Run the {name} workflow."


def block(lines: Sequence[str]) -> str:
    """The lines between fences, with a final newline."""
    return "\n".join(("---", *lines, "---", ""))


def legal(front: str) -> str:
    """`front` itself where it is a YAML mapping of one key a line, else with what offends quoted.

    More lines of `key: value` may follow the result.
    """
    kept = entries(front)
    if all(e.key or _is_comment(e.source) for e in kept):
        if _is_legal(front):
            return front
        mended = "\n".join(e.source if not e.key or _is_legal(e.source) else _mended(e) for e in kept)
        if _mapping(mended) is not None:
            return mended
    return "\n".join(f"{item(k)}: {_flow(v)}" for k, v in fields(front).items())


def _is_legal(source: str) -> bool:
    """Whether every parser reads it as a mapping; they do not agree on tabs."""
    return "\t" not in source and _mapping(source) is not None


def _is_comment(source: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("#") for line in source.split("\n"))


def _mended(entry: Entry) -> str:
    return f"{entry.key}: {quoted(_naive(entry.source))}"


def _flow(value: Any) -> str:
    """A value on one line: strings quoted, lists and mappings in brackets and braces."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(str(k))}: {_flow(v)}" for k, v in value.items()) + "}"
    return quoted(str(value))


def _naive(source: str) -> str:
    """The value of an entry that YAML refuses: all its lines as one, without the quotes around it."""
    value = one_line(source.partition(":")[2])
    return value.strip("\"'") if value[:1] in ("'", '"') or value[-1:] in ("'", '"') else value


@lru_cache(maxsize=512)  # each target converts the same sources
def _mapping(front: str) -> Mapping[str, Any] | None:
    """The block as key to value, or None where it is no mapping, or one that swallows a line which reads as a
    key (an open quote does)."""
    value = _loaded(front)
    if not isinstance(value, dict):
        return None
    found = {str(k): v for k, v in value.items()}
    return found if all(e.key in found for e in entries(front) if e.key) else None


def _loaded(front: str) -> Any:
    """The block as data with strings for all scalars, or None where it is not YAML."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(front, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
