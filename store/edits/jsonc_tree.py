"""JSON with comments (`//`, `/* */`) and trailing commas on top of RFC 8259: what it means, and its text.

The standard library's parser says what a document means and where it is wrong; comments and trailing commas
are blanked for it, so that its places are those of the file.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from .flow import Flow, Node, Syntax, parse, shallow_container, text_of, value_end
from .meaning import MOST_DIGITS, decimal_of
from .text import place_in
from .types import ABSENT, EditFault

# Possessive: white space can be cut up in 2^n ways, and a search that fails would try them all.
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_COMMENT = r"//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/"
_TRIVIA = rf"(?:[ \t\r\n]++|{_COMMENT})*+"


def _keys(raw: str) -> tuple[str, ...]:
    if "\\" not in raw:
        return (raw[1:-1],)
    import json

    return (str(json.loads(raw)),)


SYNTAX = Syntax(
    trivia=re.compile(_TRIVIA),
    comment=re.compile(_COMMENT),
    key=re.compile(_STRING),
    colon=re.compile(rf"{_TRIVIA}:{_TRIVIA}"),
    scalar=re.compile(rf"{_STRING}|[A-Za-z0-9.+-]+"),
    step=re.compile(rf"{_STRING}|{_COMMENT}|[\[\]{{}}]"),
    shallow=partial(shallow_container, _STRING, _COMMENT),
    line_comment="//",
    keys=_keys,
)

# Strings stand first, so that nothing inside them is taken for a comment or a comma.
_EXTENSIONS = (
    rf"(?P<string>{_STRING})|(?P<comment>{_COMMENT})|(?P<endless>\"|/\*)"
    rf"|(?P<lone>[\[{{]{_TRIVIA},)|(?P<comma>,)(?={_TRIVIA}[\]}}])"
)


class Tree(Struct):
    """A document: its root (None where it holds no value) and the space and comments around it."""

    before: str
    root: Node | None
    after: str

    def text(self) -> str:
        return self.before + (text_of(self.root) if self.root is not None else "") + self.after


def tree_of(text: str) -> Tree:
    """The tree of a valid text."""
    begin = _value_begin(text)
    if begin == len(text):
        return Tree(text, None, "")
    end = value_end(text, begin, SYNTAX)
    value = text[begin:end]
    root: Node = parse(value, SYNTAX, begin) if value[0] in "{[" else value
    return Tree(text[:begin], root, text[end:])


@lru_cache(maxsize=8)
def meaning_of(text: str) -> Any:
    """What a text means as plain data, ABSENT where it holds no value.

    Numbers with a fraction or an exponent are `Decimal`s. Raises `EditFault` (syntax) with line and column.
    It is remembered, as every step of an apply asks about the same few texts: nobody may change it.
    """
    if _value_begin(text) == len(text):
        return ABSENT
    try:
        return _strict(text)
    except EditFault:
        blanked = re.sub(_EXTENSIONS, _blank, text)
        if blanked == text:
            raise
    return _strict(blanked)


def _value_begin(text: str) -> int:
    found = SYNTAX.trivia.match(text)
    return found.end() if found else 0


def _strict(text: str) -> Any:
    import json

    try:
        return json.loads(
            text, parse_float=decimal_of, parse_int=_integer, parse_constant=partial(_refuse, text)
        )
    except json.JSONDecodeError as error:
        raise EditFault("syntax", error.msg, error.lineno, error.colno) from error
    except RecursionError as error:
        raise EditFault("syntax", "containers are nested too deep") from error


def _blank(found: re.Match[str]) -> str:
    """Spaces in place of a comment or of a comma behind the last item."""
    text = found.group()
    if found["string"]:
        return text
    if found["endless"]:
        what = "a string" if text == '"' else "a comment"
        raise EditFault("syntax", f"{what} has no end", *place_in(found.string, found.start()))
    if found["lone"]:
        where = place_in(found.string, found.end() - 1)
        raise EditFault("syntax", "a comma stands where an item should", *where)
    return re.sub(r"[^\r\n]", " ", text)


def _refuse(text: str, constant: str) -> Any:
    found = next(m for m in re.finditer(rf"{_STRING}|(-?(?:NaN|Infinity))", text) if m[1])
    raise EditFault("syntax", f"{constant} is no JSON value", *place_in(text, found.start()))


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < MOST_DIGITS else Decimal(digits)


def as_flow(node: Node | None) -> Flow:
    """The root that is known to be a container."""
    if not isinstance(node, Flow):
        raise AssertionError("the root is a container: the path was followed before")
    return node
