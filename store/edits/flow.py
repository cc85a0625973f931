"""Bracketed containers as they stand in a text: every character belongs to some part of the tree.

JSON documents and the inline tables and arrays of TOML are trees of `Flow`s. Joining the parts of a tree
gives its text again, so an edit changes just the parts that it touches. A container is taken apart only
where an edit goes through it; all others stay text. That the text is valid was seen before, by a parser of
the format: here a fault is one of our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from msgspec import Struct

_CLOSERS = {"{": "}", "[": "]"}
_STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}


class Item(Struct):
    """A member or an item: `lead` `raw` `colon` value `trail` and, if `comma`, a comma.

    `lead` is the space and comments since the bracket or the last comma, `trail` those before the comma
    (empty for a last one without a comma: they are the tail of the container). `raw` is the key as it is
    spelled and `keys` what it says (more than one for a dotted key, none in an array). `offset` is where it
    began in the text that was parsed, -1 for a new one.
    """

    lead: str
    raw: str
    colon: str
    value: Node
    trail: str
    comma: bool
    keys: tuple[str, ...]
    offset: int = -1


class Flow(Struct):
    """A container: its opening bracket, its items, and the space and comments before its closing one."""

    opener: str
    items: list[Item]
    tail: str


Node = Flow | str
"""A container that was taken apart, or text: a scalar, or a container as it stands."""


class Syntax(Struct, frozen=True):
    """What differs between the formats.

    `trivia` matches any run of space and comments, `comment` one comment, `key` a key, `colon` what joins
    key and value with the space around, `scalar` a value that is no container, `step` a bracket, a string or
    a comment. `shallow` gives a pattern for a whole container that is not nested deep, made when first asked
    for. `line_comment` is how a comment begins that needs an end of line; `keys` reads a key.
    """

    trivia: re.Pattern[str]
    comment: re.Pattern[str]
    key: re.Pattern[str]
    colon: re.Pattern[str]
    scalar: re.Pattern[str]
    step: re.Pattern[str]
    shallow: Callable[[], re.Pattern[str]]
    line_comment: str
    keys: Callable[[str], tuple[str, ...]]

    def comments(self, trivia: str) -> list[str]:
        """The comments in what stands between two values."""
        return self.comment.findall(trivia)


class Layout(Struct, frozen=True):
    """How new text is laid out: on one line, or a line an item with `indent`, the bracket at `base`."""

    inline: bool
    eol: str
    indent: str = ""
    base: str = ""
    gap: str = " "


LONG = 8192
"""In a text of so many characters the pattern of `Syntax.shallow` saves more time than it takes to make."""


@cache
def shallow_container(string: str, comment: str, levels: int = 4) -> re.Pattern[str]:
    """A pattern for `Syntax.shallow`: containers nested in at most so many `levels`.

    It only saves time: one match in place of a step a bracket. It never backtracks.
    """
    atoms = rf"[^\[\]{{}}\"'/#]++|{string}|{comment}|[/#']"
    pattern = r"(?!)"
    for _ in range(levels):
        pattern = rf"[\[{{](?:{atoms}|{pattern})*+[\]}}]"
    return re.compile(pattern)


def value_end(text: str, start: int, syntax: Syntax) -> int:
    """The offset behind the value that begins at `start`, in a text that is known to be valid."""
    if text[start] not in _CLOSERS:
        return _end(syntax.scalar.match(text, start))
    if len(text) >= LONG and (shallow := syntax.shallow().match(text, start)):
        return shallow.end()
    depth = 0
    for step in syntax.step.finditer(text, start):
        depth += _STEPS.get(step.group(), 0)
        if not depth:
            return step.end()
    raise AssertionError("the brackets of a valid text are balanced")


def parse(text: str, syntax: Syntax, offset: int = 0) -> Flow:
    """The container that `text` is, taken apart; what is nested in it stays text.

    `offset` is where `text` begins in the whole document, -1 for new text.
    """
    flow = Flow(text[0], [], "")
    pos = 1
    while True:
        begin, pos = pos, _end(syntax.trivia.match(text, pos))
        if pos == len(text) - 1:  # the closing bracket: nothing yet, or a comma before
            flow.tail = text[begin:pos]
            return flow
        item = Item(text[begin:pos], "", "", "", "", False, (), offset + pos if offset >= 0 else -1)
        flow.items.append(item)
        if flow.opener == "{":
            begin, pos = pos, _end(syntax.key.match(text, pos))
            item.raw = text[begin:pos]
            item.keys = syntax.keys(item.raw)
            begin, pos = pos, _end(syntax.colon.match(text, pos))
            item.colon = text[begin:pos]
        begin, pos = pos, value_end(text, pos, syntax)
        item.value = text[begin:pos]
        begin, pos = pos, _end(syntax.trivia.match(text, pos))
        if text[pos] != ",":
            flow.tail = text[begin:pos]
            return flow
        item.trail, item.comma, pos = text[begin:pos], True, pos + 1


def opened(item: Item, syntax: Syntax) -> Flow:
    """The container that is the value of an item, taken apart in its place."""
    if isinstance(item.value, str):
        offset = item.offset + len(item.raw) + len(item.colon) if item.offset >= 0 else -1
        item.value = parse(item.value, syntax, offset)
    return item.value


def text_of(node: Node) -> str:
    """The text of a tree: what was parsed, with the changes since."""
    if isinstance(node, str):
        return node
    parts = [node.opener]
    for item in node.items:
        parts += (item.lead, item.raw, item.colon, text_of(item.value), item.trail, "," if item.comma else "")
    return "".join((*parts, node.tail, _CLOSERS[node.opener]))


def append(flow: Flow, item: Item, layout: Layout, syntax: Syntax) -> None:
    """Put `item` last, in the style of the container: no trailing comma unless there was one."""
    before = flow.tail
    same_line, rest = _same_line(before, syntax)
    needs_line = any(c.startswith(syntax.line_comment) for c in syntax.comments(same_line))
    inline = layout.inline and not needs_line
    if inline:
        cut = len(same_line.rstrip(" \t"))
        same_line, rest = before[:cut], before[cut:]
    own_line = layout.eol + layout.indent
    if flow.items:
        last = flow.items[-1]
        item.comma, last.comma = last.comma, True
        item.lead = same_line + (layout.gap if inline else own_line)
        flow.tail = rest
    elif syntax.comments(before):
        item.lead = same_line + (layout.gap if inline else own_line)
        flow.tail = rest if inline or _has_line_end(rest) else layout.eol + layout.base
    elif layout.inline:
        item.lead = flow.tail = before
    else:
        item.lead, flow.tail = own_line, layout.eol + layout.base
    flow.items.append(item)


def comments_in(item: Item, syntax: Syntax) -> list[str]:
    """The comments inside an item. What we write has none, so they are somebody else's."""
    text = item.raw + item.colon + text_of(item.value)
    return [step.group() for step in syntax.step.finditer(text) if syntax.comment.fullmatch(step.group())]


def remove(flow: Flow, index: int, syntax: Syntax, inner: Sequence[str] | None = None) -> None:
    """Take an item out, with the line or the space that it stood on; comments around it and in it stay.

    `inner` are those in it, where the syntax cannot tell them.
    """
    item = flow.items[index]
    inner = comments_in(item, syntax) if inner is None else inner
    follower = flow.items[index + 1] if index + 1 < len(flow.items) else None
    after = follower.lead if follower else flow.tail
    remark = item.trail.lstrip(" \t") if syntax.comments(item.trail) else ""
    keeps_line = bool(remark or syntax.comments(_same_line(after, syntax)[0])) and _has_line_end(item.lead)
    above = _without_last_line(item.lead, syntax)
    own = item.lead[len(above) :]
    if keeps_line:
        left = item.lead + "".join(comment + own for comment in inner) + remark
        after = after if remark else after.lstrip(" \t")
    elif index == 0 and not (item.lead + after).strip() and not remark and not inner:
        left, after = item.lead if follower else "", ""
    else:
        left = above + "".join((own or " ") + comment for comment in inner) + remark
    del flow.items[index]
    eol = end_of_line_in(item.lead) or "\n"
    if follower is not None:
        follower.lead = _closed(left + after, syntax, eol)
    elif item.comma or index == 0:
        flow.tail = _closed(left + after, syntax, eol)
    else:
        before = flow.items[-1]
        flow.tail = _closed(before.trail + left + after, syntax, eol)
        before.trail, before.comma = "", False


def _closed(trivia: str, syntax: Syntax, eol: str) -> str:
    """`trivia` with an end of line where a comment at its end would swallow what follows."""
    comments = syntax.comments(trivia)
    if not comments or not comments[-1].startswith(syntax.line_comment):
        return trivia
    return trivia + eol if trivia.rstrip(" \t").endswith(comments[-1].rstrip(" \t")) else trivia


def end_of_line_in(trivia: str) -> str | None:
    """The last end of line in a run of space and comments."""
    found = _LINE_END.findall(trivia)
    return found[-1] if found else None


def indent_in(trivia: str) -> str | None:
    """The indentation of what follows a run of space and comments, None where it does not begin a line."""
    if not _has_line_end(trivia):
        return None
    line = _LINE_END.split(trivia)[-1]
    return line[: len(line) - len(line.lstrip(" \t"))]


_LINE_END = re.compile(r"\r\n|\n|\r")


def _has_line_end(trivia: str) -> bool:
    return "\n" in trivia or "\r" in trivia


def _same_line(trivia: str, syntax: Syntax) -> tuple[str, str]:
    """`trivia` cut where the line of what precedes it ends: behind its comments, before the end of line.

    Without an end of line it is cut behind the last comment.
    """
    pos = behind_comment = 0
    while pos < len(trivia):
        comment = syntax.comment.match(trivia, pos)
        if comment:
            pos = behind_comment = comment.end()
        elif trivia[pos] in "\r\n":
            return (trivia[:pos], trivia[pos:])
        else:
            pos += 1
    return trivia[:behind_comment], trivia[behind_comment:]


def _without_last_line(lead: str, syntax: Syntax) -> str:
    """`lead` without the end of line and the indentation at its end, or without the space there."""
    behind = 0
    for comment in syntax.comment.finditer(lead):
        behind = comment.end()
    ends = list(_LINE_END.finditer(lead, behind))
    return lead[: ends[-1].start()] if ends else lead[:behind]


def _end(found: re.Match[str] | None) -> int:
    if found is None:
        raise AssertionError("a parser of the format has seen that the text is valid")
    return found.end()
