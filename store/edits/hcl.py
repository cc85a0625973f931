"""Whole labelled blocks in an HCL file: `mcp_server "tides" { command = "tided" }` is `/mcp_server/tides`.

An entry is one block at the top of the file; attributes and blocks of other kinds are the user's and are
never touched. A new block goes to the end, and taking it out gives the former bytes back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ...lockfiles.model import EditOp
from .hcl_tree import Attribute, Block, Expression, Reader
from .types import ABSENT, Change, Edited, EditFault, Entry

_BOM = b"\xef\xbb\xbf"
_OPS = (EditOp.ENSURE, EditOp.SET_IF_ABSENT)


class HclEditor(Struct, frozen=True):
    """The `Editor` of HCL: see the module."""

    def check(self, data: bytes) -> None:
        Reader(_text(data)).items()

    def read(self, data: bytes) -> Any:
        """Attributes by name, blocks by type and label. A block that is more than attributes is None."""
        found: dict[str, Any] = {}
        for item in Reader(_text(data)).items():
            if isinstance(item, Attribute):
                found[item.name] = _plain(item.value)
            else:
                at = found.setdefault(item.type, {})
                for label in item.labels[:-1]:
                    at = at.setdefault(label, {}) if isinstance(at, dict) else {}
                if isinstance(at, dict) and item.labels:
                    at[item.labels[-1]] = _plain(item.body)
        return found or None

    def holds(self, data: bytes | None, change: Change) -> bool:
        if data is None:
            return False
        block = _find(_text(data), change.at)
        if block is None or change.op is EditOp.SET_IF_ABSENT:
            return block is not None
        body = block.body
        return body is not None and all(k in body and body[k] == v for k, v in change.value.items())

    def put(
        self,
        data: bytes | None,
        changes: Sequence[Change],
        replacing: Sequence[Entry] = (),
        over: Collection[str] = (),
    ) -> Edited:
        wanted = {(c.op, c.at): c.value for c in changes}
        staying = {
            e.at: e
            for e in replacing
            if (e.op, e.at) in wanted
            and wanted[e.op, e.at] == e.value
            and self.holds(data, Change(e.op, e.at, e.value))
        }
        made = data is None or any("" in e.made for e in replacing)
        going = [e for e in replacing if e.at not in staying]
        kept = self.take(data, going) if data is not None else None
        text = "" if kept is None else _text(kept)
        entries = []
        for change in changes:
            if change.at in staying:
                entries.append(staying[change.at])
                continue
            text, entry = _put(text, change, change.at in over, ("",) if made else ())
            entries.append(entry)
        return Edited(_bytes(text, data), tuple(entries))

    def take(self, data: bytes | None, entries: Sequence[Entry]) -> bytes | None:
        if data is None:
            return None
        text = _text(data)
        for entry in reversed(entries):
            if entry.added:
                text = _take(text, entry)
        if not text and any(e.added and "" in e.made for e in entries):
            return None
        return _bytes(text, data)


EDITOR = HclEditor()


def _put(text: str, change: Change, over: bool, made: tuple[str, ...]) -> tuple[str, Entry]:
    kind, label = _place(change)
    block = _find(text, change.at)
    line_end = "\r\n" if "\r\n" in text else "\n"
    spelled = _spelled(kind, label, change.value).replace("\n", line_end)
    if block is None:
        lead = "" if not text else line_end if text.endswith("\n") else line_end * 2
        entry = Entry(change.op, change.at, change.value, added=True, made=made, trace=lead)
        return _seen(f"{text}{lead}{spelled}{line_end}", change), entry
    if change.op is EditOp.SET_IF_ABSENT or block.body == change.value:
        return text, Entry(change.op, change.at, change.value, added=False)
    if not over:
        raise EditFault(
            "collision", f"the block {kind} {label} is there and says something else", *_at(text, block)
        )
    before = text[block.start : block.end]
    entry = Entry(change.op, change.at, change.value, added=True, prior=_plain(block.body), trace=before)
    return _seen(text[: block.start] + spelled + text[block.end :], change), entry


def _seen(text: str, change: Change) -> str:
    """`text`, which says what the change asks for. Raises `EditFault` (shape) where HCL has no way to."""
    try:
        block = _find(text, change.at)
    except EditFault:
        block = None
    if block is None or block.body != change.value:
        raise EditFault("shape", f"HCL has no way to write what {change.at} shall be")
    return text


def _take(text: str, entry: Entry) -> str:
    """The text without the block of an entry, if it is still as it was written."""
    block = _find(text, entry.at)
    if block is None or block.body != entry.value:
        return text
    if entry.prior is not ABSENT:
        return text[: block.start] + (entry.trace or "") + text[block.end :]
    start, end = block.start, block.end
    lead = entry.trace or ""
    turned = lead.startswith("\n") and "\r\n" in text[start : end + 2]  # by somebody: it is half of one now
    if lead and text[:start].endswith(lead) and not turned:
        start -= len(lead)
    for line_end in ("\r\n", "\n"):
        if text.startswith(line_end, end):
            end += len(line_end)
            break
    return text[:start] + text[end:]


def _place(change: Change) -> tuple[str, str]:
    """Type and label of the block that a change is about."""
    parts = [p.replace("~1", "/").replace("~0", "~") for p in change.at.split("/")[1:]]
    if change.op not in _OPS or len(parts) != 2 or not isinstance(change.value, Mapping):
        raise EditFault(
            "shape", f"HCL takes whole blocks /type/label only, not {change.op.value} {change.at}"
        )
    return parts[0], parts[1]


def _find(text: str, at: str) -> Block | None:
    """The block at `/type/label`; raises where there are several, or an attribute has its name."""
    parts = tuple(p.replace("~1", "/").replace("~0", "~") for p in at.split("/")[1:])
    found = []
    for item in Reader(text).items():
        if isinstance(item, Attribute):
            if item.name == parts[0]:
                raise EditFault("shape", f"{item.name} is a value, where blocks should be", *_at(text, item))
        elif (item.type, *item.labels) == parts:
            found.append(item)
    if len(found) > 1:
        raise EditFault("duplicate", f"the block {' '.join(parts)} stands twice", *_at(text, found[1]))
    return found[0] if found else None


def _at(text: str, item: Attribute | Block) -> tuple[int, int]:
    return text.count("\n", 0, item.start) + 1, item.start - (text.rfind("\n", 0, item.start) + 1) + 1


def _spelled(kind: str, label: str, body: Mapping[str, Any]) -> str:
    lines = [f"  {name} = {_value(value)}\n" for name, value in body.items()]
    return f"{kind} {_quoted(label)} {{\n{''.join(lines)}}}"


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_quoted(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(map(_value, value)) + "]"


def _quoted(text: str) -> str:
    """A text: a value, a key or a label. What looks like a template, which a host would evaluate in a value
    and refuse in a label, is written as the text that it is."""
    spelled = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    plain = "".join(spelled.get(c, c if c.isprintable() else _code(c)) for c in text)
    return '"' + plain.replace("${", "$${").replace("%{", "%%{") + '"'


def _code(character: str) -> str:
    number = ord(character)
    if 0xD800 <= number <= 0xDFFF:
        raise EditFault("encoding", "a value holds half of a surrogate pair")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _plain(value: Any) -> Any:
    """A value as JSON data; an expression stands as its text."""
    if isinstance(value, Expression):
        return {"expression": value.text}
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


def _text(data: bytes) -> str:
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise EditFault("encoding", f"it is not UTF-8 at byte {error.start}") from None


def _bytes(text: str, like: bytes | None) -> bytes:
    return (_BOM if like is not None and like.startswith(_BOM) else b"") + text.encode("utf-8")
