"""TOML as a list of statements, each with its own text: a key and its value, a table header, or neither.

`tomllib` says what a document means and where it is wrong; here only valid text is taken apart. Source of
the grammar: TOML 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from enum import Enum, auto
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from ...capabilities.toml_text import read_toml
from .flow import Item, Syntax, shallow_container, text_of, value_end
from .meaning import Path, decimal_of, is_endless
from .text import place_in
from .types import EditFault

# Possessive throughout: no text can make these patterns backtrack.
_BASIC = r'"(?:[^"\\\n]++|\\.)*+"'
_LITERAL = r"'[^'\n]*+'"
_LONG = r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+"{3,5}+' + r"|'''(?:[^']++|'(?!''))*+'{3,5}+"
_STRING = rf"{_LONG}|{_BASIC}|{_LITERAL}"
_COMMENT = r"#[^\r\n]*+"
_TRIVIA = rf"(?:[ \t\r\n]++|{_COMMENT})*+"
_KEY_PART = rf"(?:[A-Za-z0-9_-]+|{_BASIC}|{_LITERAL})"
_KEY = rf"{_KEY_PART}(?:[ \t]*\.[ \t]*{_KEY_PART})*"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def read_key(raw: str) -> tuple[str, ...]:
    """The parts of a dotted key."""
    if _BARE_KEY.fullmatch(raw):
        return (raw,)
    return tuple(_read_part(part) for part in re.findall(_KEY_PART, raw))


def _read_part(raw: str) -> str:
    if raw[0] not in "\"'":
        return raw
    if "\\" not in raw or raw[0] == "'":
        return raw[1:-1]
    import tomllib

    return str(tomllib.loads(f"key = {raw}")["key"])


SYNTAX = Syntax(
    trivia=re.compile(_TRIVIA),
    comment=re.compile(_COMMENT),
    key=re.compile(_KEY),
    colon=re.compile(r"[ \t]*=[ \t]*"),
    scalar=re.compile(rf"{_STRING}|[^\s,\]}}#]+(?: \d\d:[^\s,\]}}#]+)?"),  # a date may hold one space
    step=re.compile(rf"{_STRING}|{_COMMENT}|[\[\]{{}}]"),
    shallow=partial(shallow_container, _STRING, _COMMENT),
    line_comment="#",
    keys=read_key,
)
# Space, then a header and its key, or a key and its sign, or neither.
_START = re.compile(rf"([ \t]*+)(?:(\[\[?[ \t]*({_KEY})[ \t]*\]\]?)|({_KEY})([ \t]*=[ \t]*))?")
_REST = re.compile(r"[^\n]*\n?")


class Kind(Enum):
    """What a statement is. A blank one holds nothing but space and perhaps a comment."""

    BLANK = auto()
    KEY = auto()
    TABLE = auto()
    TABLE_ITEM = auto()


class Statement(Struct):
    """One statement: `lead` (indentation), header or key and value, and `end` (space, comment, end of line).

    `item` is the key and its value, `keys` the key of a header. `path` is where it stands in the document:
    the table, the item of an array of tables (its index last), or the value.
    """

    kind: Kind
    lead: str
    header: str
    item: Item | None
    keys: tuple[str, ...]
    end: str
    offset: int = -1
    path: Path = ()

    def text(self) -> str:
        item = self.item
        body = item.raw + item.colon + text_of(item.value) if item else self.header
        return self.lead + body + self.end

    def copied(self) -> Statement:
        """One of its own, to be changed: parsed statements are shared."""
        item = self.item and copy(self.item)
        return Statement(self.kind, self.lead, self.header, item, self.keys, self.end, self.offset, self.path)

    @property
    def is_header(self) -> bool:
        """Whether it opens a table, or an item of an array of tables."""
        return self.kind in (Kind.TABLE, Kind.TABLE_ITEM)

    @property
    def remark(self) -> str:
        """The comment at its end, or the comment that it is."""
        return self.end.strip()

    @property
    def base(self) -> Path:
        """The table in whose body a key stands."""
        return self.path[: -len(self.keys)] if self.kind is Kind.KEY else self.path


def statements_of(text: str) -> list[Statement]:
    """The statements of a valid text, in order, each with its path."""
    return [statement.copied() for statement in _read_statements(text)]


def new_statements(text: str) -> list[Statement]:
    """The statements of a valid text that is no part of the file yet: they have no place and no path."""
    statements = _split(text)
    for statement in statements:
        statement.offset = -1
    return statements


@lru_cache(maxsize=8)
def _read_statements(text: str) -> list[Statement]:
    """Remembered like `meaning_of`."""
    statements = _split(text)
    assign_paths(statements)
    return statements


def _split(text: str) -> list[Statement]:
    statements: list[Statement] = []
    pos = 0
    while pos < len(text):
        statement, pos = _statement_at(text, pos)
        statements.append(statement)
    return statements


def _statement_at(text: str, start: int) -> tuple[Statement, int]:
    """The statement that begins at an offset, and the offset behind it."""
    found = _matched(_START, text, start)
    lead, header, of_header, raw, colon = found.groups()
    offset, pos = start + len(lead), found.end()
    if raw is not None:
        stop = value_end(text, pos, SYNTAX)
        keys = read_key(raw)
        item = Item("", raw, colon, text[pos:stop], "", False, keys, offset)
        end = _matched(_REST, text, stop)
        return Statement(Kind.KEY, lead, "", item, keys, end.group(), offset), end.end()
    end = _matched(_REST, text, pos)
    if header is None:
        return Statement(Kind.BLANK, lead, "", None, (), end.group(), offset), end.end()
    kind = Kind.TABLE_ITEM if header[:2] == "[[" else Kind.TABLE
    return Statement(kind, lead, header, None, read_key(of_header), end.group(), offset), end.end()


def assign_paths(statements: Iterable[Statement]) -> None:
    """Work out where each statement stands."""
    counts: dict[Path, int] = {}
    base: Path = ()
    for statement in statements:
        if statement.kind is Kind.KEY:
            statement.path = base + statement.keys
        elif statement.is_header:
            base = ()
            for key in statement.keys[:-1]:
                base += (key,)
                if base in counts:
                    base += (counts[base] - 1,)
            base += statement.keys[-1:]
            if statement.kind is Kind.TABLE_ITEM:
                index = counts.get(base, 0)
                counts[base] = index + 1
                base += (index,)
            statement.path = base
        else:
            statement.path = base


@lru_cache(maxsize=8)
def meaning_of(text: str) -> dict[str, Any]:
    """What a document means; floats are `Decimal`s. Raises `EditFault` (syntax, duplicate).

    It is remembered, as every step of an apply asks about the same few texts: nobody may change it.
    """
    import tomllib

    try:
        meaning = read_toml(text, decimal_of)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.S)
        message, line, column = found.groups() if found else (str(error), None, None)
        twice = message.startswith(_TWICE)
        place = (int(line), int(column)) if line and column else place_in(text, len(text))
        raise EditFault("duplicate" if twice else "syntax", message, *place) from error
    except RecursionError as error:
        raise EditFault("syntax", "values are nested too deep") from error
    except ValueError as error:  # Python's own limit
        raise EditFault("syntax", "a number has more digits than can be read") from error
    fault = _beyond(meaning)
    if fault:
        raise EditFault("syntax", fault)
    return meaning


_DEEPEST = 100


def _beyond(meaning: Any) -> str:
    """What goes beyond what anybody writes and what could be followed, or written again; else empty."""
    level = [meaning]
    for _ in range(_DEEPEST):
        if any(map(is_endless, level)):
            return "a number has more digits than can be read"
        below = [v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)]
        level = [value for values in below for value in values]
        if not level:
            return ""
    return "values are nested too deep"  # dotted keys nest without recursion in the parser


# How tomllib begins its messages about a key or a table that was there before.
_TWICE = (
    "Cannot overwrite",
    "Cannot declare",
    "Cannot redefine",
    "Cannot mutate",
    "Duplicate inline table key",
)


def key_text(keys: Iterable[str]) -> str:
    """A dotted key as text: bare parts where they can be."""
    return ".".join(key if _BARE_KEY.fullmatch(key) else _string(key) for key in keys)


def value_text(value: Any) -> str:
    """A value on one line. Raises `EditFault` (shape) for what TOML cannot say (null, a wide integer)."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() if -(2**63) <= value < 2**63:
            return str(value)
        case float():
            return repr(value)
        case list() | tuple():
            return "[" + ", ".join(value_text(item) for item in value) + "]"
        case dict():
            members = [f"{key_text([key])} = {value_text(item)}" for key, item in value.items()]
            return "{ " + ", ".join(members) + " }" if members else "{}"
        case _:
            raise EditFault("shape", f"TOML has no way to write {value!r}")


def tables_text(keys: tuple[str, ...], value: dict[str, Any], eol: str, *, item: bool) -> str:
    """A table as lines: a blank line, its header, its plain members; then its tables in the same way.

    `item`: it is an item of an array of tables. A table of nothing but tables needs no header.
    """
    plain = {key: member for key, member in value.items() if not is_table_like(member)}
    text = ""
    if item or plain or not value:
        header = key_text(keys)
        text = eol + (f"[[{header}]]" if item else f"[{header}]") + eol
        text += "".join(f"{key_text([key])} = {value_text(member)}{eol}" for key, member in plain.items())
    for key, member in value.items():
        if key in plain:
            continue
        of_list = isinstance(member, list)
        for table in member if of_list else [member]:
            text += tables_text((*keys, key), table, eol, item=of_list)
    return text


def is_table_like(value: Any) -> bool:
    """Whether a value is written with headers: an object, or an array of nothing but objects."""
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _string(text: str) -> str:
    """A basic string; control characters and DEL are escaped."""
    parts = [_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else c) for c in text]
    return '"' + "".join(parts) + '"'


def _matched(pattern: re.Pattern[str], text: str, pos: int) -> re.Match[str]:
    found = pattern.match(text, pos)
    if found is None:
        raise AssertionError("tomllib has seen that the text is valid")
    return found
