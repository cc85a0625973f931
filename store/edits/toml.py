"""Edits in TOML: config.toml of codex and kimi and their like.

New keys go behind the last key of their table, new tables to the end of the file. Where a table was spelled
inline or by dotted keys, a new member is spelled the same way, as TOML lets no table be declared twice.
Every result is parsed again and has to mean what it should.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from . import flow
from .document import Document
from .editing import DocumentEditor
from .flow import Flow, Item, Layout
from .meaning import Path, copied, same
from .text import decode, end_of_line, place_in
from .toml_tree import (
    SYNTAX,
    Kind,
    Statement,
    assign_paths,
    is_table_like,
    key_text,
    meaning_of,
    new_statements,
    statements_of,
    tables_text,
    value_text,
)
from .types import ABSENT, EditFault


class TomlDocument(Document):
    """A TOML document and its statements."""

    def __init__(self, data: bytes | None) -> None:
        self._decoded = decode(data)
        super().__init__(copied(meaning_of(self._decoded.text)), absent=data is None)
        self._eol = end_of_line(self._decoded.text)

    @cached_property
    def _statements(self) -> list[Statement]:
        return statements_of(self._decoded.text)

    # Reading

    def place(self, path: Path) -> tuple[int, int]:
        found = next((s for s in self._statements if s.path[: len(path)] == path and s.offset >= 0), None)
        return place_in(self._decoded.text, found.offset) if found else (0, 0)

    def inside(self, path: Path) -> str | None:
        container = self._container(path)
        return container.tail if container else None

    def spelling(self, path: Path) -> str | None:
        item = self._item(path)
        return flow.text_of(item.value) if item else None

    def encode(self) -> bytes:
        if "_statements" not in self.__dict__:
            return self._decoded.encode(self._decoded.text)
        text = "".join(statement.text() for statement in self._statements)
        if text != self._decoded.text and not same(_meaning_or_none(text), self.data):
            raise EditFault("shape", "this TOML cannot be edited here without changing what else it says")
        return self._decoded.encode(text)

    def is_blank(self, trace: str | None) -> bool:
        return not any(statement.text().strip() for statement in self._statements)

    # Changing

    def remove(self, path: Path) -> None:
        super().remove(path)
        for depth in range(len(path) - 1, 0, -1):  # a table without a declaration of its own is gone now
            around = path[:depth]
            if self.get(around) in ({}, []) and not self._is_spelled(around):
                del self.get(around[:-1])[around[-1]]

    def tidy(self, path: Path) -> None:
        below = [s for s in self._statements if s.path[: len(path)] == path and s.kind is not Kind.BLANK]
        header = next((s for s in below if s.kind is Kind.TABLE and s.path == path), None)
        holds_keys = any(s.kind is Kind.KEY and s.base == path for s in below)
        if header and len(below) > 1 and not holds_keys:
            self._drop([header])

    def refill(self, path: Path, text: str) -> None:
        container = self._container(path)
        if container and SYNTAX.comments(container.tail) == SYNTAX.comments(text):
            container.tail = text

    def _insert(self, path: Path, key: str, value: Any) -> tuple[Path, ...]:
        container = self._container(path)
        if container:
            self._add_inline(container, self._dotted_in(container, path, key), value)
            return ()
        beside = self._dotted_beside(path)
        if beside:
            keys = (*(str(part) for part in path[len(beside.base) :]), key)
            self._add_line(self._statements.index(beside), keys, value)
            return ()
        if is_table_like(value):
            self._add_tables((*path, key), value)
            return ()
        body = self._body(path)
        if path and body is None:
            self._add_tables(path, {key: value})
            return (path,)
        self._add_to_body(path, body, key, value)
        return ()

    def _append(self, path: Path, value: Any) -> None:
        container = self._container(path)
        if container:
            self._add_inline(container, (), value)
        elif isinstance(value, dict):
            self._add_tables(path, [value])
        else:
            raise EditFault("shape", "an array of tables takes nothing but tables", *self.place(path))

    def _remove(self, path: Path) -> None:
        owner = self._owner(path)
        if owner and owner.path != path and owner.item:
            container, keys = self._descend(owner, path[:-1])
            last = path[-1]
            if isinstance(last, int):
                flow.remove(container, last, SYNTAX)
                return
            named = [i for i, item in enumerate(container.items) if _begins(item.keys, (*keys, last))]
            for index in reversed(named):
                flow.remove(container, index, SYNTAX, ())  # an inline table has no room for a comment
            return
        self._drop([s for s in self._statements if s.kind is not Kind.BLANK and _begins(s.path, path)])

    def _replace(self, path: Path, value: Any, spelling: str | None) -> None:
        item = self._item(path)
        if item:
            item.value = value_text(value) if spelling is None else spelling
        else:
            self._remove(path)
            self._insert(path[:-1], str(path[-1]), value)

    def _may_fold(self, path: Path) -> bool:
        container = self._container(path)
        return container is None or not SYNTAX.comments(container.tail)

    # Finding

    def _owner(self, path: Path) -> Statement | None:
        """The key whose value `path` is, or lies in."""
        for statement in self._statements:
            if statement.kind is Kind.KEY and _begins(path, statement.path):
                return statement
        return None

    def _container(self, path: Path) -> Flow | None:
        """The inline table or array that spells the container at `path`."""
        owner = self._owner(path)
        return self._descend(owner, path)[0] if owner else None

    def _descend(self, owner: Statement, path: Path) -> tuple[Flow, Path]:
        """The innermost inline container on the way to `path`, and the dotted rest of the way in it."""
        if owner.item is None:
            raise AssertionError("a key has a value")
        container = flow.opened(owner.item, SYNTAX)
        rest = path[len(owner.path) :]
        while rest:
            if isinstance(rest[0], int):
                item, used = container.items[rest[0]], 1
            else:
                found = next((i for i in container.items if _begins(rest, i.keys)), None)
                if found is None:
                    return container, rest
                item, used = found, len(found.keys)
            container, rest = flow.opened(item, SYNTAX), rest[used:]
        return container, ()

    def _dotted_in(self, container: Flow, path: Path, key: str) -> tuple[str, ...]:
        """The key of a new member as it has to be spelled in the inline container around it."""
        owner = self._owner(path)
        rest = self._descend(owner, path)[1] if owner else ()
        return (*(str(part) for part in rest), key)

    def _item(self, path: Path) -> Item | None:
        """The key and value that spell the value at `path`, if one key does."""
        owner = self._owner(path)
        if owner is None or self.get(path) is ABSENT:
            return None
        if owner.path == path:
            return owner.item
        container, keys = self._descend(owner, path[:-1])
        if isinstance(path[-1], int):
            return container.items[path[-1]]
        return next((item for item in container.items if item.keys == (*keys, path[-1])), None)

    def _dotted_beside(self, path: Path) -> Statement | None:
        """The last key that defines the table at `path` by being dotted."""
        dotted = [
            s
            for s in self._statements
            if s.kind is Kind.KEY and len(s.base) < len(path) < len(s.path) and _begins(s.path, path)
        ]
        return dotted[-1] if dotted else None

    def _body(self, path: Path) -> Statement | None:
        """The header of the table at `path`."""
        return next((s for s in self._statements if s.is_header and s.path == path), None)

    def _is_spelled(self, path: Path) -> bool:
        if self._owner(path):
            return True
        return any(s.kind is not Kind.BLANK and _begins(s.path, path) for s in self._statements)

    # Writing

    def _add_inline(self, container: Flow, keys: tuple[str, ...], value: Any) -> None:
        last = container.items[-1] if container.items else None
        indent = flow.indent_in(last.lead) if last else None
        inline = container.opener == "{" or indent is None
        gap = last.lead if last and len(container.items) > 1 and not last.lead.strip(" \t") else " "
        eol = (flow.end_of_line_in(last.lead) if last else None) or self._eol
        colon = (last.colon if last else "") or " = "
        raw = key_text(keys) if container.opener == "{" else ""
        new = Item("", raw, colon if raw else "", value_text(value), "", False, keys if raw else ())
        flow.append(container, new, Layout(inline, eol, indent or "", "", gap), SYNTAX)

    def _add_line(self, behind: int, keys: tuple[str, ...], value: Any, lead: str | None = None) -> None:
        """A key on a line of its own behind a statement, indented like it."""
        before = self._statements[behind]
        lead = before.lead if lead is None else lead
        self._splice(behind + 1, f"{lead}{key_text(keys)} = {value_text(value)}")

    def _add_to_body(self, path: Path, header: Statement | None, key: str, value: Any) -> None:
        inside = [s for s in self._statements if s.kind is Kind.KEY and s.base == path]
        if inside:
            self._add_line(self._statements.index(inside[-1]), (key,), value)
        elif header:
            self._add_line(self._statements.index(header), (key,), value)
        else:
            self._add_first_root_key(f"{key_text([key])} = {value_text(value)}")

    def _add_first_root_key(self, line: str) -> None:
        """A root key goes before the first table and the comment that belongs to it, or to the end.

        It brings a blank line of its own: behind it where something follows, else before it.
        `_blank_of_root_key` finds that line again.
        """
        headers = [i for i, s in enumerate(self._statements) if s.is_header]
        index = headers[0] if headers else len(self._statements)
        while headers and index and _is_attached(self._statements[index - 1]):
            index -= 1
        if headers:
            self._splice(index, line + self._eol)
        else:
            self._splice(index, self._eol + line if index else line)

    def _blank_of_root_key(self, gone: set[int]) -> set[int]:
        """The blank line that came with a last root key, which is among the statements that go."""
        before, behind = self._blank_beside(min(gone), -1), self._blank_beside(max(gone), 1)
        has_tables = any(s.is_header for s in self._statements[max(gone) :])
        return (behind or before) if has_tables else (before or behind)

    def _blank_beside(self, index: int, step: int) -> set[int]:
        """The blank line that came with a statement of ours, above it (`step` -1) or below it (1).

        Whoever wrote a comment right beside the statement wrote it between the two.
        """
        index += step
        while 0 <= index < len(self._statements) and _is_comment(self._statements[index]):
            index += step
        return {index} if self._is_empty_line(index) else set()

    def _add_tables(self, path: Path, value: Any) -> None:
        keys = tuple(part for part in path if isinstance(part, str))
        tables = value if isinstance(value, list) else [value]
        text = "".join(tables_text(keys, t, self._eol, item=isinstance(value, list)) for t in tables)
        if not self._statements:
            text = text.removeprefix(self._eol)
        self._splice(len(self._statements), text.removesuffix(self._eol))

    def _splice(self, index: int, text: str) -> None:
        """Statements of ours before the one at `index`; a file without a final newline stays so."""
        before = self._statements[index - 1].end if index else self._eol
        eol = "\r\n" if before.endswith("\r\n") else "\n" if before.endswith("\n") else self._eol
        if before.endswith("\n"):
            text += eol
        else:
            self._statements[index - 1].end += eol
        self._statements[index:index] = new_statements(text)
        assign_paths(self._statements)

    def _drop(self, doomed: list[Statement]) -> None:
        """Take statements out: comments at their ends stay, the blank lines that came with them go."""
        if not doomed:
            return
        ids = {id(statement) for statement in doomed}
        open_end = id(self._statements[-1]) in ids and not doomed[-1].end.endswith("\n")
        was_root_key = not doomed[-1].base and doomed[-1].kind is Kind.KEY
        gone: set[int] = set()
        for index, statement in enumerate(self._statements):
            if id(statement) not in ids:
                continue
            if statement.is_header:
                gone |= self._blank_beside(index, -1)
            if statement.remark:
                _make_comment(statement)
            else:
                gone.add(index)
        if was_root_key and gone and not self._root_keys() - gone:
            gone |= self._blank_of_root_key(gone)
        if 0 in gone and doomed[0].is_header and self._is_empty_line(max(gone) + 1):
            gone.add(max(gone) + 1)
        self._statements = [s for i, s in enumerate(self._statements) if i not in gone]
        if open_end and self._statements:
            _strip_line_end(self._statements[-1])
        assign_paths(self._statements)

    def _root_keys(self) -> set[int]:
        return {i for i, s in enumerate(self._statements) if s.kind is Kind.KEY and not s.base}

    def _is_empty_line(self, index: int) -> bool:
        """Whether the statement at `index` is a line with nothing on it."""
        if not 0 <= index < len(self._statements):
            return False
        return self._statements[index].kind is Kind.BLANK and not self._statements[index].remark


def _begins(path: Iterable[Any], start: Path) -> bool:
    return tuple(path)[: len(start)] == start


def _is_attached(statement: Statement) -> bool:
    """Whether it is a comment that belongs to what follows; `#:` is a directive for the whole file."""
    return _is_comment(statement) and statement.remark[:2] != "#:"


def _is_comment(statement: Statement) -> bool:
    return statement.kind is Kind.BLANK and bool(statement.remark)


def _make_comment(statement: Statement) -> None:
    statement.kind, statement.header, statement.item = Kind.BLANK, "", None
    statement.end = statement.end.lstrip(" \t")


def _strip_line_end(statement: Statement) -> None:
    statement.end = statement.end.removesuffix("\n").removesuffix("\r")


def _meaning_or_none(text: str) -> Any:
    try:
        return meaning_of(text)
    except EditFault:
        return None


EDITOR = DocumentEditor(TomlDocument)
