"""Edits in JSON with comments: settings.json, hooks.json, opencode.jsonc and their like.

New text follows the file: its end of line, its indentation, the space around its colons, one line where the
container stands on one line. A document without a value (no file, or nothing but space) gets an object with
an indentation of two spaces and a final newline.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from . import flow
from .document import Document
from .editing import DocumentEditor
from .flow import Flow, Item, Layout
from .jsonc_tree import SYNTAX, Tree, as_flow, meaning_of, tree_of
from .meaning import Path, copied
from .text import decode, end_of_line, place_in
from .types import ABSENT, EditFault

_DEFAULT_UNIT = "  "


class JsoncDocument(Document):
    """A JSON document and its tree."""

    def __init__(self, data: bytes | None) -> None:
        self._decoded = decode(data)
        super().__init__(copied(meaning_of(self._decoded.text)), absent=data is None)
        self._eol = end_of_line(self._decoded.text)

    @cached_property
    def _tree(self) -> Tree:
        return tree_of(self._decoded.text)

    # Reading

    def guard(self, path: Path) -> None:
        for depth, part in enumerate(path):
            if self.get(path[: depth + 1]) is ABSENT:
                return
            named = [item for item in self._flow(path[:depth]).items if item.keys == (part,)]
            if len(named) > 1:
                where = self._place_of(named[1].offset)
                raise EditFault("duplicate", f"the key {part!r} stands twice in one object", *where)

    def place(self, path: Path) -> tuple[int, int]:
        if not path:
            return self._place_of(len(self._tree.before))
        return self._place_of(self._item(path).offset)

    def inside(self, path: Path) -> str | None:
        if self._tree.root is None:
            return None if self.absent else self._tree.before
        return self._flow(path).tail

    def spelling(self, path: Path) -> str | None:
        return flow.text_of(self._item(path).value)

    def encode(self) -> bytes:
        return self._decoded.encode(self._tree.text())

    def is_blank(self, trace: str | None) -> bool:
        root = self._tree.root
        inner = root.tail if isinstance(root, Flow) else ""
        left = SYNTAX.comments(self._tree.before) + SYNTAX.comments(inner) + SYNTAX.comments(self._tree.after)
        return left == SYNTAX.comments(trace or "")

    def rootless(self, trace: str) -> str | None:
        root = self._tree.root
        if not isinstance(root, Flow) or SYNTAX.comments(root.tail):
            return None
        before, after = self._tree.before, self._tree.after.removeprefix("\r").removeprefix("\n")
        ours = trace if SYNTAX.comments(trace) else ""
        for made in (ours, ours + "\n", ours + "\r\n"):  # see `_create`
            if before.endswith(made):
                before = before.removesuffix(made) + trace
                break
        ends_line = not before or before.endswith("\n") or not after.strip()
        return before + ("" if ends_line else self._eol) + after

    # Changing

    def refill(self, path: Path, text: str) -> None:
        container = self._flow(path)
        if SYNTAX.comments(container.tail) == SYNTAX.comments(text):
            container.tail = text

    def _create(self) -> None:
        before = self._tree.before
        if not SYNTAX.comments(before):
            before = ""
        elif not before.endswith("\n"):
            before += self._eol
        self._tree = Tree(before, Flow("{", [], ""), self._eol)

    def _insert(self, path: Path, key: str, value: Any) -> tuple[Path, ...]:
        self._add(path, _quoted(key), (key,), value)
        return ()

    def _append(self, path: Path, value: Any) -> None:
        self._add(path, "", (), value)

    def _add(self, path: Path, raw: str, keys: tuple[str, ...], value: Any) -> None:
        chain = self._chain(path)
        target = chain[-1][1]
        style = _Style(chain, self._eol)
        layout = style.layout()
        colon = style.colon if keys else ""
        new = _rendered(value, style, layout, layout.indent)
        flow.append(target, Item("", raw, colon, new, "", False, keys), layout, SYNTAX)

    def _remove(self, path: Path) -> None:
        container = self._flow(path[:-1])
        flow.remove(container, _index(container, path[-1]), SYNTAX)

    def _replace(self, path: Path, value: Any, spelling: str | None) -> None:
        if spelling is None:
            style = _Style(self._chain(path[:-1]), self._eol)
            spelling = _rendered(value, style, style.layout(), style.layout().indent)
        item = self._item(path)
        item.value, item.offset = spelling, -1

    def _may_fold(self, path: Path) -> bool:
        return not SYNTAX.comments(self._flow(path).tail)

    # Finding

    def _chain(self, path: Path) -> list[tuple[str, Flow]]:
        """The containers from the root to `path`, each with what stands before it in the one around."""
        chain = [(self._tree.before, as_flow(self._tree.root))]
        for part in path:
            container = chain[-1][1]
            item = container.items[_index(container, part)]
            chain.append((item.lead, flow.opened(item, SYNTAX)))
        return chain

    def _flow(self, path: Path) -> Flow:
        return self._chain(path)[-1][1]

    def _item(self, path: Path) -> Item:
        container = self._flow(path[:-1])
        return container.items[_index(container, path[-1])]

    def _place_of(self, offset: int) -> tuple[int, int]:
        return (0, 0) if offset < 0 else place_in(self._decoded.text, offset)


class _Style:
    """How new text looks at the end of a chain of containers: as its neighbours do."""

    def __init__(self, chain: list[tuple[str, Flow]], eol: str) -> None:
        self._chain = chain
        self._eol = eol
        filled = [container for _, container in chain if container.items]
        self._nearest = filled[-1] if filled else None
        self.inline = self._nearest is not None and all(
            flow.indent_in(text) is None for text in (self._nearest.items[-1].lead, self._nearest.tail)
        )
        self.colon = self._colon(filled)
        self.gap = self._gap()
        self.unit = self._unit()

    def layout(self) -> Layout:
        base = self._bases()[-1]
        target = self._chain[-1][1]
        lead = target.items[-1].lead if target.items else ""
        indent = flow.indent_in(lead)
        near = self._nearest.items[-1].lead if self._nearest else ""
        eol = flow.end_of_line_in(near) or self._eol
        return Layout(self.inline, eol, base + self.unit if indent is None else indent, base, self.gap)

    def _bases(self) -> list[str]:
        """For each container the indentation of the line that its opening bracket stands on."""
        bases: list[str] = []
        for lead, _ in self._chain:
            indent = flow.indent_in(lead)
            bases.append(indent if indent is not None else bases[-1] if bases else "")
        return bases

    def _unit(self) -> str:
        """What one level of nesting adds to the indentation."""
        for (_, container), base in zip(reversed(self._chain), reversed(self._bases()), strict=True):
            indent = flow.indent_in(container.items[-1].lead) if container.items else None
            if indent is not None and indent.startswith(base) and len(indent) > len(base):
                return indent[len(base) :]
        return _DEFAULT_UNIT

    def _colon(self, filled: list[Flow]) -> str:
        for container in reversed(filled):
            colon = container.items[-1].colon
            if colon and not colon.replace(":", "", 1).strip(" \t"):
                return colon
        return ": "

    def _gap(self) -> str:
        """What stands between a comma and the next item on one line."""
        if self._nearest is not None and len(self._nearest.items) > 1:
            lead = self._nearest.items[-1].lead
            if not lead.strip(" \t"):
                return lead
        return " " if self.colon[-1:] in " \t" else ""


def _rendered(value: Any, style: _Style, layout: Layout, indent: str) -> str:
    """`value` as text that begins on a line indented by `indent`."""
    if isinstance(value, dict):
        parts = [
            _quoted(key) + style.colon + _rendered(item, style, layout, indent + style.unit)
            for key, item in value.items()
        ]
        return _bracketed("{", parts, "}", style, layout, indent)
    if isinstance(value, (list, tuple)):
        parts = [_rendered(item, style, layout, indent + style.unit) for item in value]
        return _bracketed("[", parts, "]", style, layout, indent)
    return _quoted(value)


def _bracketed(opener: str, parts: list[str], closer: str, style: _Style, layout: Layout, indent: str) -> str:
    if not parts:
        return opener + closer
    if layout.inline:
        return opener + ("," + style.gap).join(parts) + closer
    line = layout.eol + indent + style.unit
    return opener + line + ("," + line).join(parts) + layout.eol + indent + closer


def _quoted(value: Any) -> str:
    """A scalar as JSON: text as it is, but for what cannot be UTF-8 (half a surrogate pair)."""
    import json

    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def _index(container: Flow, part: str | int) -> int:
    """The index of an item; of several members of one name the last, which is the one that readers see."""
    if isinstance(part, int):
        return part
    items = container.items
    return next(i for i in range(len(items) - 1, -1, -1) if items[i].keys == (part,))


EDITOR = DocumentEditor(JsoncDocument)
