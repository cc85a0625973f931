"""YAML as a tree of nodes with their places in the text, and new YAML text.

PyYAML's events say what a document means and where each part of it begins and ends. Its own node trees are
not used, as an alias has no place of its own in them.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct, field

from .meaning import is_endless
from .text import place_in
from .types import EditFault

_TAG = "tag:yaml.org,2002:"
_STR, _NULL, _MAP, _SEQ = _TAG + "str", _TAG + "null", _TAG + "map", _TAG + "seq"
_MERGE = _TAG + "merge"


class Kind(Enum):
    """What a node is; an alias stands for a node elsewhere."""

    SCALAR = auto()
    MAPPING = auto()
    SEQUENCE = auto()
    ALIAS = auto()


class Node(Struct):
    """One node: its text is `text[start:end]`, but for block collections, where `end` is not exact.

    `children` are the items, or key, value, key, value. `text` of a scalar is what it says, of an alias the
    name of its anchor. `flow` says that a collection is in brackets. `tag` is the one that is spelled, else
    the one that follows from kind and text; an alias has none.
    """

    kind: Kind
    start: int
    end: int
    anchor: str | None
    text: str
    tag: str
    flow: bool = False
    children: list[Node] = field(default_factory=list)

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """Key and value of each member of a mapping."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    @property
    def is_null(self) -> bool:
        """Whether it stands for no value, and nothing refers to it."""
        return self.kind is Kind.SCALAR and self.anchor is None and self.tag == _NULL


class Opaque(Struct, frozen=True):
    """A value that plain data has no form for: an unknown tag, or a key that is no string. As a text it is
    what stands in the file."""

    tag: str
    value: Any

    def __str__(self) -> str:
        return str(self.value[0] if isinstance(self.value, tuple) else self.value)


class Tree(Struct):
    """The root (None where the document holds no node) and the anchors that some alias refers to."""

    root: Node | None
    referred: set[str]


@lru_cache(maxsize=8)
def parse(text: str) -> Tree:
    """The tree of a text that holds one document at most. Raises `EditFault` (syntax, shape).

    It is remembered, as every step of an apply asks about the same few texts: nobody changes a tree.
    """
    import yaml

    tree = Tree(None, set())
    around: list[Node] = []
    documents = 0
    try:
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        while event := loader.get_event():
            kind = _EVENTS.get(type(event).__name__)
            if isinstance(kind, Kind):
                node = _node(kind, event)
                if around:
                    around[-1].children.append(node)
                else:
                    tree.root = node
                if kind is Kind.ALIAS:
                    tree.referred.add(node.text)
                elif kind is not Kind.SCALAR:
                    around.append(node)
            elif kind == "end":
                node = around.pop()
                node.end = event.end_mark.index
            elif kind == "document":
                documents += 1
                if documents > 1:
                    raise EditFault("shape", "the file holds more than one YAML document", *_place(event))
    except yaml.YAMLError as error:
        raise _syntax_fault(error, text) from error
    return tree


_EVENTS: dict[str, Kind | str] = {
    "ScalarEvent": Kind.SCALAR,
    "AliasEvent": Kind.ALIAS,
    "MappingStartEvent": Kind.MAPPING,
    "SequenceStartEvent": Kind.SEQUENCE,
    "MappingEndEvent": "end",
    "SequenceEndEvent": "end",
    "DocumentStartEvent": "document",
}


def _node(kind: Kind, event: Any) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    if kind is Kind.ALIAS:
        return Node(kind, start, end, None, event.anchor, "")
    given = None if event.tag == "!" else event.tag
    if kind is Kind.SCALAR:
        text = event.value
        tag = given or (_plain_tag(text) if event.implicit[0] else _STR)
        return Node(kind, start, end, event.anchor, text, tag)
    tag = given or (_MAP if kind is Kind.MAPPING else _SEQ)
    return Node(kind, start, end, event.anchor, "", tag, bool(event.flow_style))


@lru_cache(maxsize=1024)
def _plain_tag(text: str) -> str:
    """The tag of a scalar that is spelled without quotes and without a tag."""
    resolver, of_scalar = _resolver()
    return str(resolver.resolve(of_scalar, text, (True, False)))


@cache
def _resolver() -> tuple[Any, Any]:
    import yaml

    return yaml.resolver.Resolver(), yaml.ScalarNode


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _syntax_fault(error: Any, text: str) -> EditFault:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    message = getattr(error, "problem", None) or getattr(error, "reason", None) or "this is no YAML"
    if mark is not None:
        return EditFault("syntax", str(message), mark.line + 1, mark.column + 1)
    position = getattr(error, "position", None)
    return EditFault("syntax", str(message), *(place_in(text, position) if position else (0, 0)))


def meaning_of(tree: Tree) -> Any:
    """What a tree means as plain data; a document without a value is an empty mapping.

    Raises `EditFault` (shape) where a node holds itself.
    """
    anchors: dict[str, Any] = {}
    try:
        root = tree.root
        if root is None or (root.is_null and root.start == root.end):
            return {}
        return _meaning(root, anchors)
    except RecursionError as error:
        raise EditFault("syntax", "collections are nested too deep") from error


def _meaning(node: Node, anchors: dict[str, Any]) -> Any:
    if node.kind is Kind.ALIAS:
        if node.text not in anchors:
            raise EditFault("shape", f"the alias *{node.text} stands inside what it refers to")
        return anchors[node.text]
    value: Any
    if node.kind is Kind.SCALAR:
        value = node.text if node.tag == _STR else _scalar(node.tag, node.text)
    elif node.kind is Kind.SEQUENCE:
        value = [_meaning(child, anchors) for child in node.children]
    else:
        value = {key_of(key): _meaning(member, anchors) for key, member in node.pairs}
    if node.kind is not Kind.SCALAR and node.tag not in (_MAP, _SEQ):
        value = Opaque(node.tag, value)
    if node.anchor is not None:
        anchors[node.anchor] = value
    return value


@lru_cache(maxsize=1024)
def _scalar(tag: str, text: str) -> Any:
    import yaml

    try:
        constructor = yaml.constructor.SafeConstructor()
        value = constructor.construct_object(yaml.ScalarNode(tag, text))
    except (yaml.YAMLError, ValueError, KeyError, OverflowError):
        return Opaque(tag, text)
    return Opaque(tag, text) if is_endless(value) else value


def key_of(node: Node) -> Any:
    """A key as it stands in plain data: a string, or something that equals no string."""
    if node.kind is Kind.SCALAR and node.tag == _STR:
        return node.text
    return Opaque(node.tag, (node.text, *map(key_of, node.children)))


def with_merged(meaning: Any) -> Any:
    """A meaning with the members that merge keys (`<<: *base`) bring in their mappings, as readers of YAML
    1.1 have it: a key of the mapping itself wins, then that of the first mapping named. What is referred to
    often is gone through once. Raises `EditFault` (syntax) where it is nested too deep.
    """
    done: dict[int, Any] = {}

    def merged(value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            return value
        if id(value) not in done:
            done[id(value)] = [merged(item) for item in value] if isinstance(value, list) else members(value)
        return done[id(value)]

    def members(value: dict[Any, Any]) -> dict[Any, Any]:
        own = {key: merged(item) for key, item in value.items()}
        found: dict[Any, Any] = {}
        for key in [key for key in own if isinstance(key, Opaque) and key.tag == _MERGE]:
            bases = own.pop(key)
            for base in reversed(bases if isinstance(bases, list) else [bases]):
                found |= base if isinstance(base, dict) else {}
        return {**found, **own}

    try:
        return merged(meaning)
    except RecursionError as error:
        raise EditFault("syntax", "collections are nested too deep") from error


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*")
# Line breaks and what YAML does not let stand in a text.
_UNFIT = re.compile("[\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def scalar_text(value: Any) -> str:
    """A scalar on one line: a plain word where it can be one, else as JSON, which YAML reads."""
    import json

    is_word = isinstance(value, str) and _PLAIN.fullmatch(value)
    if is_word and _plain_tag(value) == _STR:
        return str(value)
    text = json.dumps(value, ensure_ascii=False)
    return _UNFIT.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def flow_text(value: Any) -> str:
    """A value in brackets on one line."""
    if isinstance(value, dict):
        members = [f"{scalar_text(key)}: {flow_text(item)}" for key, item in value.items()]
        return "{" + ", ".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    return scalar_text(value)


class BlockStyle(Struct, frozen=True):
    """`unit` is what one level adds to the indentation, `dash` what a sequence adds below a key."""

    eol: str
    unit: int
    dash: int


def pair_lines(key: str, value: Any, indent: int, style: BlockStyle) -> list[str]:
    """A key and its value as block lines, without line ends."""
    head = " " * indent + scalar_text(key) + ":"
    if isinstance(value, dict) and value:
        inner = indent + style.unit
        return [head, *(line for k, v in value.items() for line in pair_lines(k, v, inner, style))]
    if isinstance(value, list) and value:
        inner = indent + style.dash
        return [head, *(line for item in value for line in item_lines(item, inner, style))]
    return [f"{head} {flow_text(value)}"]


def item_lines(value: Any, indent: int, style: BlockStyle) -> list[str]:
    """An item of a sequence as block lines."""
    if isinstance(value, dict) and value:
        lines = [line for k, v in value.items() for line in pair_lines(k, v, indent + 2, style)]
        return [" " * indent + "- " + lines[0].lstrip(" "), *lines[1:]]
    return [" " * indent + "- " + flow_text(value)]
