"""Edits in YAML: config.yaml of hermes and its like.

New members are block lines with the indentation of the file, or go into the brackets where a collection is
in brackets. What cannot be done safely is refused: a collection that an alias shares, one that takes members
from a merge key, several documents. Every result is parsed again and has to mean what it should.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import flow
from .document import Document
from .editing import DocumentEditor
from .flow import Flow, Item, Layout, Syntax
from .meaning import Path, same
from .text import decode, end_of_line, place_in
from .types import EditFault
from .yaml_tree import (
    BlockStyle,
    Kind,
    Node,
    Tree,
    flow_text,
    item_lines,
    key_of,
    meaning_of,
    pair_lines,
    parse,
    scalar_text,
)

_NOTHING = re.compile(r"(?!)")
_DEEPER = re.compile(r"(?: ++#[^\n]*\n)++")
_BLOCK = re.compile(r"(?:[&!]\S*\s+)*[|>]([-+0-9]*)")
_COMMENT = re.compile(r"(?<!\S)#[^\r\n]*")
# Only what `flow.append` and `flow.remove` need: they work on items that PyYAML has told apart.
_SYNTAX = Syntax(
    trivia=re.compile(r"(?:[ \t\r\n]++|#[^\r\n]*)*+"),
    comment=re.compile(r"#[^\r\n]*"),
    key=_NOTHING,
    colon=_NOTHING,
    scalar=_NOTHING,
    step=_NOTHING,
    shallow=lambda: _NOTHING,
    line_comment="#",
    keys=lambda raw: (raw,),
)


class YamlDocument(Document):
    """A YAML document: its text, and the nodes in it, which are found anew after each change."""

    def __init__(self, data: bytes | None) -> None:
        self._decoded = decode(data)
        self._text = self._decoded.text
        self._eol = end_of_line(self._text)
        lone = re.search(r"\r(?!\n)", self._text)
        if lone:
            where = place_in(self._text, lone.start())
            raise EditFault("shape", "a carriage return alone ends a line here", *where)
        self._known: Tree | None = None
        super().__init__(meaning_of(self._tree), absent=data is None)

    @property
    def _tree(self) -> Tree:
        if self._known is None:
            self._known = parse(self._text)
        return self._known

    # Reading

    def guard(self, path: Path) -> None:
        node = self._tree.root
        for part in path:
            if node is None:
                return
            self._refuse_shared(node)
            named = (
                [pair for pair in node.pairs if key_of(pair[0]) == part] if node.kind is Kind.MAPPING else []
            )
            if len(named) > 1:
                raise self._fault("duplicate", f"the key {part!r} stands twice in one mapping", named[1][0])
            if not named and node.kind is Kind.MAPPING and any(k.text == "<<" for k, _ in node.pairs):
                raise self._fault("shape", f"{part!r} may come from a merge key", node)
            node = named[0][1] if named else None
        if node is not None:
            self._refuse_shared(node)

    def opens(self, path: Path) -> bool:
        node = self._node(path)
        return node is not None and node.is_null and self._segment(path) is not None

    def place(self, path: Path) -> tuple[int, int]:
        node = self._node(path)
        return place_in(self._text, node.start) if node else (0, 0)

    def inside(self, path: Path) -> str | None:
        segment = self._segment(path)
        return self._text[slice(*segment)] if segment else None

    def spelling(self, path: Path) -> str | None:
        node = self._node(path)
        if node is None or node.kind is Kind.ALIAS or (node.children and not node.flow):
            return None
        spelled = self._text[node.start : node.end]
        return None if "\n" in spelled else spelled

    def encode(self) -> bytes:
        if self._text != self._decoded.text and not same(_meaning_or_none(self._text), self.data):
            raise EditFault("shape", "this YAML cannot be edited here without changing what else it says")
        return self._decoded.encode(self._text)

    def is_blank(self, trace: str | None) -> bool:
        return not self._text.strip()

    # Changing

    def refill(self, path: Path, text: str) -> None:
        segment = self._segment(path)
        if segment is None or "#" in self._text[slice(*segment)]:
            return
        spaced = self._text[segment[0] : segment[1]][:1] == " " and text[:1] not in ("", " ", "\t")
        self._splice(*segment, " " + text if spaced else text)
        if path:
            node = self._node(path)
            self.get(path[:-1])[path[-1]] = None if node is None or node.is_null else self.get(path)

    def _insert(self, path: Path, key: str, value: Any) -> tuple[Path, ...]:
        node = self._node(path)
        if node is not None and node.flow:
            self._edit_flow(node, Item("", scalar_text(key), ": ", flow_text(value), "", False, (key,)))
        elif node is not None and node.kind is Kind.MAPPING:
            first = node.children[0]
            if not _is_simple_start(self._line_before(first.start)):
                raise self._fault("shape", "the keys of this mapping are spelled in an unusual way", first)
            lines = pair_lines(key, value, self._column(first.start), self._style())
            self._add_lines(self._content_end(node), lines)
        else:
            self._fill_null(path, lambda indent: pair_lines(key, value, indent, self._style()), dash=False)
        return ()

    def _append(self, path: Path, value: Any) -> None:
        node = self._node(path)
        if node is not None and node.flow:
            self._edit_flow(node, Item("", "", "", flow_text(value), "", False, ()))
        elif node is not None and node.kind is Kind.SEQUENCE:
            column = self._dash_column(node)
            self._add_lines(self._content_end(node), item_lines(value, column, self._style()))
        else:
            self._fill_null(path, lambda indent: item_lines(value, indent, self._style()), dash=True)

    def _remove(self, path: Path) -> None:
        around = self._existing(path[:-1])
        index = self._index(around, path[-1])
        if around.flow:
            container = self._as_flow(around)
            step = 2 if around.kind is Kind.MAPPING else 1
            gone = around.children[index * step : (index + 1) * step]
            on_line = flow.indent_in(container.items[index].lead) is not None
            inner = self._comments_in(gone[0].start, gone, gone[-1].end) if on_line else []
            flow.remove(container, index, _SYNTAX, inner)
            self._splice(around.start, around.end, flow.text_of(container))
            return
        step = 2 if around.kind is Kind.MAPPING else 1
        if len(around.children) > step:
            self._cut(around, index * step)
            return
        self._cut(around, 0)
        if path[:-1]:  # what was a block collection would be null now
            where = self._segment(path[:-1])
            if where is None:
                raise self._fault("shape", "this collection cannot be left empty", around)
            self._splice(where[0], where[1], " {}" if around.kind is Kind.MAPPING else " []")

    def _replace(self, path: Path, value: Any, spelling: str | None) -> None:
        node = self._existing(path)
        if self.spelling(path) is not None:
            self._splice(node.start, node.end, flow_text(value) if spelling is None else spelling)
            return
        self._remove(path)
        self._insert(path[:-1], str(path[-1]), value)

    def _may_fold(self, path: Path) -> bool:
        return "#" not in (self.inside(path) or "")

    # Finding

    def _node(self, path: Path) -> Node | None:
        node = self._tree.root
        for part in path:
            if node is None:
                return None
            if node.kind is Kind.SEQUENCE and isinstance(part, int):
                node = node.children[part] if part < len(node.children) else None
            elif node.kind is Kind.MAPPING:
                node = next((value for key, value in node.pairs if key_of(key) == part), None)
            else:
                return None
        return node

    def _existing(self, path: Path) -> Node:
        node = self._node(path)
        if node is None:
            raise AssertionError("the path was followed before")
        return node

    def _index(self, around: Node, part: str | int) -> int:
        if isinstance(part, int):
            return part
        return next(i for i, (key, _) in enumerate(around.pairs) if key_of(key) == part)

    def _segment(self, path: Path) -> tuple[int, int] | None:
        """Where the value of a key stands, with the space before it, if it is an empty container.

        That is a pair of brackets, a spelled null, or nothing at all. None where it is something else.
        """
        node = self._node(path)
        if node is None or node.kind is Kind.ALIAS or node.children or not (node.flow or node.is_null):
            return None
        if not path:
            return (node.start, node.end) if node.flow else None
        around = self._existing(path[:-1])
        if around.kind is not Kind.MAPPING or around.flow:
            return (node.start, node.end) if node.flow else None
        key = around.pairs[self._index(around, path[-1])][0]
        between = re.fullmatch(r"([ \t]*:)[ \t]*", self._text[key.end : node.start])
        return (key.end + len(between[1]), node.end) if between else None

    def _refuse_shared(self, node: Node) -> None:
        if node.kind is Kind.ALIAS:
            raise self._fault("shape", f"the alias *{node.text} stands where an entry has to go in", node)
        shared = node.anchor is not None and node.anchor in self._tree.referred
        if shared and node.kind is not Kind.SCALAR:
            raise self._fault("shape", f"what an entry has to go into is shared by *{node.anchor}", node)

    def _content_end(self, node: Node) -> int:
        """The offset behind the last character that belongs to a node."""
        while node.children and not node.flow:
            node = node.children[-1]
        spelled = self._text[node.start : node.end]
        header = _BLOCK.match(spelled)
        if header and "+" not in header[1]:  # a block scalar: the blank lines behind it are not its own
            return node.start + len(spelled.rstrip())
        return node.end

    # Writing

    def _splice(self, start: int, end: int, text: str) -> None:
        self._text = self._text[:start] + text + self._text[end:]
        self._known = None

    def _add_lines(self, behind: int, lines: list[str]) -> None:
        """Lines behind the line of an offset; a file without a final newline stays so."""
        at_start = behind > 0 and self._text[behind - 1] == "\n"
        stop = behind if at_start else self._text.find("\n", behind) + 1
        text = self._eol.join(lines)
        if stop > 0 or not self._text:
            self._splice(stop, stop, text + self._eol)
        else:
            self._splice(len(self._text), len(self._text), self._eol + text)

    def _fill_null(self, path: Path, lines: Any, *, dash: bool) -> None:
        """The first member of a container that is spelled as null, or of a document without a node."""
        if not path:
            at_line = not self._text or self._text.endswith("\n")
            text = self._eol.join(lines(0))
            stop = len(self._text)
            self._splice(stop, stop, text + self._eol if at_line else self._eol + text)
            return
        segment = self._segment(path)
        around = self._existing(path[:-1])
        if segment is None:
            raise AssertionError("only a null that opens is filled")
        key = around.pairs[self._index(around, path[-1])][0]
        style = self._style()
        self._splice(*segment, "")
        indent = self._column(key.start) + (style.dash if dash else style.unit)
        self._add_lines(segment[0], lines(indent))

    def _edit_flow(self, node: Node, item: Item) -> None:
        container = self._as_flow(node)
        last = container.items[-1] if container.items else None
        indent = flow.indent_in(last.lead) if last else None
        gap = last.lead if last and len(container.items) > 1 and not last.lead.strip(" \t") else " "
        layout = Layout(indent is None, self._eol, indent or "", "", gap)
        flow.append(container, item, layout, _SYNTAX)
        self._splice(node.start, node.end, flow.text_of(container))

    def _as_flow(self, node: Node) -> Flow:
        """A collection in brackets as a tree of its parts."""
        text = self._text
        opener = text.index("{" if node.kind is Kind.MAPPING else "[", node.start)
        if node.start != opener:
            raise self._fault("shape", "a collection with an anchor or a tag cannot take an entry", node)
        container, pos = Flow(text[opener], [], ""), opener + 1
        pairs = node.pairs if node.kind is Kind.MAPPING else [(None, child) for child in node.children]
        for key, value in pairs:
            start = key.start if key else value.start
            raw, colon = (text[key.start : key.end], text[key.end : value.start]) if key else ("", "")
            item = Item(text[pos:start], raw, colon, text[value.start : value.end], "", False, ())
            container.items.append(item)
            trivia = _SYNTAX.trivia.match(text, value.end)
            stop = trivia.end() if trivia else value.end
            item.comma = text[stop] == ","
            item.trail = text[value.end : stop] if item.comma else ""
            pos = stop + 1 if item.comma else value.end
        container.tail = text[pos : node.end - 1]
        return container

    def _cut(self, around: Node, child: int) -> None:
        """Take the lines of one member or item of a block collection out."""
        first = around.children[child]
        gone = around.children[child : child + 2] if around.kind is Kind.MAPPING else [first]
        last = gone[-1]
        behind = self._content_end(last)
        start = first.start if around.kind is Kind.MAPPING else self._text.rindex("-", 0, first.start)
        before = self._line_before(start)
        line_end = self._eol + " " * len(before)
        inner = "".join(c + line_end for c in self._comments_in(start, gone, behind))
        if before.strip(" "):
            follower = around.children[child + 2] if len(around.children) > child + 2 else None
            if around.kind is not Kind.MAPPING or follower is None:
                raise self._fault("shape", "this item cannot be taken out on its own", first)
            self._splice(start, follower.start, inner)
            return
        stop = self._text.find("\n", behind) + 1 if self._text[behind - 1] != "\n" else behind
        remark = self._text[behind : stop or len(self._text)].strip()
        if remark:
            self._splice(start, self._text.index(remark, behind), inner)
            return
        begin = start - len(before)
        if inner:
            end = self._eol if stop > 0 else ""
            self._splice(start, stop or len(self._text), inner.removesuffix(line_end) + end)
        elif stop > 0:
            left = _DEEPER.match(self._text, stop)
            inside = left is not None and self._is_below_a_text(begin)
            notes = left.group().splitlines(keepends=True) if left is not None and inside else []
            text = "".join(before + note.lstrip(" ") for note in notes)
            self._splice(begin, stop + sum(map(len, notes)), text)
        else:
            kept = self._text[:begin].removesuffix("\n").removesuffix("\r")
            self._splice(len(kept), len(self._text), "")

    def _is_below_a_text(self, offset: int) -> bool:
        """Whether the scalar before an offset is a block of text, which would take in a comment that is
        indented below it."""
        nodes = [self._tree.root] if self._tree.root else []
        last = None
        while nodes:
            node = nodes.pop()
            nodes += node.children
            if node.kind is Kind.SCALAR and node.start < offset and (last is None or node.start > last.start):
                last = node
        return last is not None and _BLOCK.match(self._text, last.start) is not None

    def _comments_in(self, start: int, nodes: Sequence[Node], stop: int) -> list[str]:
        """The comments from `start` to `stop` that stand between the scalars of the nodes there."""
        found: list[str] = []
        todo = list(reversed(nodes))
        while todo:
            node = todo.pop()
            todo += reversed(node.children)
            if node.kind in (Kind.SCALAR, Kind.ALIAS):
                found += _COMMENT.findall(self._text[start : node.start])
                start = max(start, self._content_end(node))
        return found + _COMMENT.findall(self._text[start:stop])

    def _line_before(self, offset: int) -> str:
        return self._text[self._text.rfind("\n", 0, offset) + 1 : offset]

    def _column(self, offset: int) -> int:
        return len(self._line_before(offset))

    def _dash_column(self, node: Node) -> int:
        if self._text[node.start] != "-":
            raise self._fault("shape", "a sequence with an anchor or a tag cannot take an entry", node)
        return self._column(node.start)

    def _style(self) -> BlockStyle:
        """How the file is indented, seen from its first nested collections; two spaces where it has none."""
        unit = dash = None
        todo = [self._tree.root] if self._tree.root else []
        while todo and (unit is None or dash is None):
            node = todo.pop(0)
            if node.flow or node.kind is not Kind.MAPPING:
                todo += [child for child in node.children if child.children]
                continue
            for key, value in node.pairs:
                if not value.children or value.flow:
                    continue
                todo.append(value)
                inner = self._column(value.children[0].start if value.kind is Kind.MAPPING else value.start)
                added = inner - self._column(key.start)
                if value.kind is Kind.MAPPING and unit is None and added > 0:
                    unit = added
                elif value.kind is Kind.SEQUENCE and dash is None and self._text[value.start] == "-":
                    dash = added
        return BlockStyle(self._eol, unit or 2, unit or 2 if dash is None else dash)

    def _fault(self, kind: str, message: str, node: Node) -> EditFault:
        return EditFault(kind, message, *place_in(self._text, node.start))


def _is_simple_start(before: str) -> bool:
    """Whether a first key has nothing before it on its line but space and the dashes of items."""
    return not before.replace("-", " ").strip(" ")


def _meaning_or_none(text: str) -> Any:
    try:
        return meaning_of(parse(text))
    except EditFault:
        return None


EDITOR = DocumentEditor(YamlDocument)
