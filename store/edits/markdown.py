"""A marked block of ours in a Markdown file: AGENTS.md, copilot-instructions.md and their like.

The markers are lines of their own that begin in the first column: `<!-- BEGIN name -->` and
`<!-- END name -->`. What looks like one inside a fenced code block of the user's is none. All text outside
the block stays as it is; a new block goes to the end, with one blank line before it, and an end of line after
it, so that `echo text >> FILE` does not write on our marker. Where an editor took that end of line away, what
is written there is the user's all the same. A block of our name is ours: where it stands already, its text is
replaced in its place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from ...lockfiles.model import EditOp
from .text import decode, end_of_line
from .types import ABSENT, Change, Edited, EditFault, Entry

_MARKER = re.compile(r"<!-- (BEGIN|END) (\S+) -->[ \t]*")
_NAME = re.compile(r"(?:[^\s<>-]|-(?!-))+")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_OUR_PREFIX = "gsdlock:"


class _Block(Struct, frozen=True):
    """The lines (from 0) of the markers of a block."""

    begin: int
    end: int


class _Scan(Struct, frozen=True):
    """A text by lines, with their ends, and its blocks by name.

    `open_fence` is the line (from 1) of a code fence that has no end, 0 if there is none.
    """

    lines: list[str]
    blocks: dict[str, _Block]
    open_fence: int

    def body(self, block: _Block) -> str:
        return "".join(self.lines[block.begin + 1 : block.end])


class MarkdownEditor:
    """The `Editor` of Markdown. Its only operation is `block`; `at` is the name in the markers."""

    def check(self, data: bytes) -> None:
        _scan(decode(data).text, "")

    def read(self, data: bytes) -> str:
        return decode(data).text

    def holds(self, data: bytes | None, change: Change) -> bool:
        if data is None:
            return False
        scan = _scan(decode(data).text, change.at)
        block = scan.blocks.get(change.at)
        return block is not None and _lines(scan.body(block)) == _lines(_text_of(change))

    def put(
        self,
        data: bytes | None,
        changes: Sequence[Change],
        replacing: Sequence[Entry] = (),
        over: Collection[str] = (),
    ) -> Edited:
        """See `Editor.put`. A block of that name that is not ours is somebody else's: `over` displaces it."""
        decoded = decode(data)
        text = decoded.text
        wanted = {change.at for change in changes}
        old = {entry.at: entry for entry in replacing if entry.added}
        for entry in reversed(old.values()):
            if entry.at not in wanted:
                text = _without(text, entry)
        entries: list[Entry] = []
        for change in changes:
            text, entry = _with(text, change, old.get(change.at), absent=data is None, over=change.at in over)
            entries.append(entry)
        return Edited(decoded.encode(text), tuple(entries))

    def take(self, data: bytes | None, entries: Sequence[Entry]) -> bytes | None:
        if data is None:
            return None
        decoded = decode(data)
        text = decoded.text
        ours = [entry for entry in entries if entry.added]
        for entry in reversed(ours):
            text = _without(text, entry)
        if not text.strip() and any("" in entry.made for entry in ours):
            return None
        return decoded.encode(text)


def _with(text: str, change: Change, old: Entry | None, *, absent: bool, over: bool) -> tuple[str, Entry]:
    """`text` with the block in it, and what was done. `old` is our entry for the block that stands there."""
    body = _lines(_text_of(change))
    begin, end = f"<!-- BEGIN {change.at} -->", f"<!-- END {change.at} -->"
    if any((found := _MARKER.match(line)) and found[2] == change.at for line in body):
        raise EditFault("block", f"the text of the block {change.at} holds one of its own markers")
    scan = _scan(text, change.at)
    block = scan.blocks.get(change.at)
    eol = end_of_line(text)
    made = old.made if old else ("",) if absent else ()
    if block:
        trace = old.trace if old else None
        if _lines(scan.body(block)) == body and old is None:
            return text, Entry(change.op, change.at, change.value, added=False)
        if old is None and not over and not change.at.startswith(_OUR_PREFIX):
            where = f"another block {change.at} stands there"
            raise EditFault("collision", where, block.begin + 1, 1)
        prior = old.prior if old else ABSENT if change.at.startswith(_OUR_PREFIX) else scan.body(block)
        entry = Entry(change.op, change.at, change.value, added=True, prior=prior, made=made, trace=trace)
        if _lines(scan.body(block)) == body:
            return text, entry
        lines = [*scan.lines[: block.begin + 1], *(line + eol for line in body), *scan.lines[block.end :]]
        return "".join(lines), entry
    if scan.open_fence:
        raise EditFault("block", "a code fence has no end, so no block can follow it", scan.open_fence)
    gap = _gap(text, eol)
    text += gap + eol.join([begin, *body, end]) + eol
    return text, Entry(change.op, change.at, change.value, added=True, made=made, trace=gap)


def _without(text: str, entry: Entry) -> str:
    """`text` without the block of an entry and the gap before it, if the block still says what we wrote."""
    scan = _scan(text, entry.at)
    block = scan.blocks.get(entry.at)
    if block is None or _lines(scan.body(block)) != _lines(str(entry.value)):
        return text
    if entry.prior is not ABSENT:  # a block of that name stood there before us
        inside = "".join(scan.lines[: block.begin + 1]), "".join(scan.lines[block.end :])
        return inside[0] + str(entry.prior) + inside[1]
    before, after = "".join(scan.lines[: block.begin]), "".join(scan.lines[block.end + 1 :])
    # Where somebody turned the line ends, the gap that we noted would be half of one.
    turned = scan.lines[block.begin].endswith("\r\n") and (entry.trace or "").startswith("\n")
    if entry.trace is not None and before.endswith(entry.trace) and not turned:
        before = before[: len(before) - len(entry.trace)]
    elif before.endswith(("\n\n", "\n\r\n")):
        before = before.removesuffix("\n").removesuffix("\r")
    if before and after and not before.endswith("\n"):
        before += end_of_line(text)
    return before + after


def _gap(text: str, eol: str) -> str:
    """What has to stand between `text` and a block at its end: one blank line, if there is any text."""
    if not text.endswith("\n"):
        return eol + eol if text.strip() else eol if text else ""
    last_line = text.removesuffix("\n").rpartition("\n")[2]
    return eol if last_line.strip() else ""


def _scan(text: str, watched: str) -> _Scan:
    """Find the blocks named `watched` and all blocks of ours.

    Raises `EditFault` (block) with the line where their markers do not pair up.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    blocks: dict[str, _Block] = {}
    name, begin = "", 0  # of the block that we are in
    fence, fence_line = "", 0  # of the code fence that we are in
    for number, line in enumerate(lines):
        ending = f"<!-- END {name} -->"
        if name and line.startswith(ending) and line[len(ending) :].strip():
            lines[number : number + 1] = [ending, line[len(ending) :]]  # what follows is the next to be read
        bare = lines[number].rstrip("\r\n")
        marker = _MARKER.fullmatch(bare)
        if marker and (marker[2] == name if name else _is_watched(marker[2], watched) and not fence):
            if marker[1] == "END" and name:
                blocks[name] = _Block(begin, number)
                name = ""
            elif marker[1] == "END" or name or marker[2] in blocks:
                what = "has no begin marker before it" if marker[1] == "END" else "stands twice"
                raise EditFault("block", f"the {marker[1]} marker of {marker[2]} {what}", number + 1, 1)
            else:
                name, begin = marker[2], number
        elif not name and fence:
            closing = _FENCE.match(bare)
            if closing and closing[1].startswith(fence) and not bare[closing.end() :].strip():
                fence = ""
        elif not name and (opening := _FENCE.match(bare)):
            fence, fence_line = opening[1], number + 1
    if name:
        raise EditFault("block", f"the block {name} has no end marker", begin + 1, 1)
    return _Scan(lines, blocks, fence_line if fence else 0)


def _is_watched(name: str, watched: str) -> bool:
    return name == watched or name.startswith(_OUR_PREFIX)


def _text_of(change: Change) -> str:
    """The text of a change. Raises `EditFault` (shape) for what is no block or no name of one."""
    if change.op is not EditOp.BLOCK or not isinstance(change.value, str):
        raise EditFault("shape", "a Markdown file takes nothing but a marked block of text")
    if not _NAME.fullmatch(change.at):
        raise EditFault("shape", f"{change.at!r} cannot be the name of a marked block")
    return change.value


def _lines(text: str) -> list[str]:
    """The lines of a block, whatever their ends; a final end of line adds none."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


EDITOR = MarkdownEditor()
