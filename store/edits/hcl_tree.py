"""What stands at the top of an HCL document: attributes and blocks, with their places in the text. Pure.

Only as much of the language as an editor of whole blocks needs (source: the HCL native syntax specification):
comments, quoted templates with nested interpolations, heredocs, brackets. Expressions that are no literals
are kept as their text.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from .types import EditFault

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_INLINE = re.compile(r"(?:[ \t]|/\*.*?\*/)*", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5})")
_NAME = re.compile(r"[^\W\d][\w-]*")
_HEREDOC = re.compile(r"<<-?([^\W\d][\w-]*)\r?\n")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_DEEPEST = 100


class Expression(Struct, frozen=True):
    """A value that is no literal, as it is spelled."""

    text: str


class Attribute(Struct, frozen=True):
    """`name = value` at the top; `end` is behind the value."""

    name: str
    value: Any
    start: int
    end: int


class Block(Struct, frozen=True):
    """`type "label" … { … }` at the top: from its first letter to behind its closing brace. `body` are its
    attributes by name; None where it holds blocks of its own, or an attribute twice."""

    type: str
    labels: tuple[str, ...]
    body: dict[str, Any] | None
    start: int
    end: int


class Reader:
    """Reads one document from front to back. Raises `EditFault` of kind `syntax`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._templates = 0  # how many texts are open around the place that is read

    def items(self, closing: str = "", depth: int = 0) -> list[Attribute | Block]:
        """The attributes and blocks up to the end, or up to and behind the brace `closing`.

        Raises `EditFault`: syntax, or nested too deeply.
        """
        if depth > _DEEPEST:
            raise self._fault("is nested too deeply")
        found: list[Attribute | Block] = []
        while True:
            self._skip()
            if closing and self._text.startswith(closing, self._at):
                self._at += 1
                return found
            if self._at >= len(self._text):
                if closing:
                    raise self._fault(f"ends without {closing}")
                return found
            found.append(self._item(depth))

    def _item(self, depth: int) -> Attribute | Block:
        start, name = self._at, self._name()
        labels: list[str] = []
        while True:
            self._skip_inline()
            if self._text.startswith("=", self._at) and not labels:
                self._at += 1
                self._skip_inline()
                value = self._value(depth)
                return Attribute(name, value, start, self._at)
            if self._text.startswith("{", self._at):
                self._at += 1
                return Block(name, tuple(labels), _body(self.items("}", depth + 1)), start, self._at)
            quoted = self._text.startswith('"', self._at)
            label = self._string() if quoted else self._name()
            labels.append(label if isinstance(label, str) else label.text)

    def _value(self, depth: int) -> Any:
        """A literal, or the text of an expression up to the end of its line."""
        start = self._at
        literal = self._literal(depth)
        end = self._at
        self._skip_inline()
        if literal is not _NONE and self._ends():
            self._at = end
            return literal
        self._at = start
        self._run("\n")
        return Expression(self._text[start : self._at].strip())

    def _ends(self) -> bool:
        rest = self._text[self._at : self._at + 2]
        return not rest or rest[0] in "\n}],#" or rest in ("\r\n", "//")

    def _literal(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self._fault("is nested too deeply")
        head = self._text[self._at : self._at + 1]
        if head == '"':
            return self._string()
        if head == "[":
            return self._list(depth)
        if head == "{":
            return self._object(depth)
        if number := _NUMBER.match(self._text, self._at):
            self._at = number.end()
            spelled = number.group()
            return int(spelled) if re.fullmatch(r"-?\d+", spelled) else float(spelled)
        if (word := _NAME.match(self._text, self._at)) and word.group() in _WORDS:
            self._at = word.end()
            return _WORDS[word.group()]
        return _NONE

    def _list(self, depth: int) -> Any:
        self._at += 1
        found: list[Any] = []
        while True:
            self._skip()
            if self._text.startswith("]", self._at):
                self._at += 1
                return found
            value = self._literal(depth + 1)
            self._skip()
            if value is _NONE or not self._text.startswith((",", "]"), self._at):
                return _NONE
            found.append(value)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _object(self, depth: int) -> Any:
        self._at += 1
        found: dict[str, Any] = {}
        while True:
            self._skip()
            if self._text.startswith("}", self._at):
                self._at += 1
                return found
            quoted = self._text.startswith('"', self._at)
            name = _NAME.match(self._text, self._at)
            if not quoted and name is None:
                return _NONE
            key = self._string() if quoted else self._name()
            self._skip()
            if not isinstance(key, str) or not self._text.startswith(("=", ":"), self._at):
                return _NONE
            self._at += 1
            self._skip()
            value = self._literal(depth + 1)
            if value is _NONE:
                return _NONE
            found[key] = value
            self._skip_inline()
            if self._text.startswith(",", self._at):
                self._at += 1
            elif not self._text.startswith(("}", "\n", "\r\n", "#", "//"), self._at):
                return _NONE

    def _string(self) -> str | Expression:
        """A quoted template: its value, or its spelling where something is interpolated."""
        start = self._at
        self._at += 1
        parts: list[str] = []
        plain = True
        while True:
            head = self._text[self._at : self._at + 1]
            if head in ("", "\n"):
                raise self._fault("has a text without an end")
            if head == '"':
                self._at += 1
                return "".join(parts) if plain else Expression(self._text[start : self._at])
            if head == "\\":
                parts.append(self._escape())
            elif self._text.startswith(("$${", "%%{"), self._at):
                parts.append(self._text[self._at + 1 : self._at + 3])
                self._at += 3
            elif self._text.startswith(("${", "%{"), self._at):
                plain = False
                self._at += 2
                self._templates += 1
                if self._templates > _DEEPEST:
                    raise self._fault("is nested too deeply")
                self._run("}")
                self._templates -= 1
                self._at += 1
            else:
                parts.append(head)
                self._at += 1

    def _escape(self) -> str:
        kind = self._text[self._at + 1 : self._at + 2]
        if kind in _ESCAPES:
            self._at += 2
            return _ESCAPES[kind]
        match = _CODE.match(self._text, self._at)
        if match is None:
            raise self._fault("has an unknown escape")
        self._at = match.end()
        return chr(int(match.group(1) or match.group(2), 16))

    def _run(self, closing: str) -> None:
        """Move to the character `closing` (or the end, for a line) outside of brackets, texts, comments."""
        stack: list[str] = []
        while True:
            head = self._text[self._at : self._at + 1]
            if not stack and head == closing:
                return
            if not head:
                if closing == "\n" and not stack:
                    return
                raise self._fault(f"ends without {stack[-1] if stack else closing}")
            if not stack and head in "}])" and closing == "\n":
                return
            if head == '"':
                self._string()
            elif heredoc := _HEREDOC.match(self._text, self._at):
                self._heredoc(heredoc)
            elif comment := _COMMENT.match(self._text, self._at):
                self._at = comment.end()
            else:
                if head in _CLOSING:
                    stack.append(_CLOSING[head])
                elif stack and head == stack[-1]:
                    stack.pop()
                if len(stack) > _DEEPEST:
                    raise self._fault("is nested too deeply")
                self._at += 1

    def _heredoc(self, start: re.Match[str]) -> None:
        end = re.compile(rf"^[ \t]*{re.escape(start.group(1))}[ \t]*\r?$", re.MULTILINE).search(
            self._text, start.end()
        )
        if end is None:
            raise self._fault("has a heredoc without an end")
        self._at = end.end()

    def _name(self) -> str:
        match = _NAME.match(self._text, self._at)
        if match is None:
            raise self._fault("has something else than a name here")
        self._at = match.end()
        return match.group()

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # it may match nothing
        self._at = match.end()

    def _skip_inline(self) -> None:
        match = _INLINE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _fault(self, why: str) -> EditFault:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        return EditFault("syntax", f"the HCL {why}", line, column)


class _None:
    """No literal stands there. (None is a value of HCL.)"""


_NONE = _None()


def _body(items: list[Attribute | Block]) -> dict[str, Any] | None:
    values = {i.name: i.value for i in items if isinstance(i, Attribute)}
    return values if len(values) == len(items) else None
