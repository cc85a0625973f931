"""The editor of a format whose documents are trees: JSON, TOML, YAML.

What to do is decided on plain data (`putting`, `taking`); how the text changes is the business of a
`Document`, one kind a format.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from .document import Document
from .putting import Putting, held, kept, walk
from .taking import take_all
from .text import BOM
from .types import ABSENT, Change, Edited, EditFault, Entry


@contextlib.contextmanager
def _not_too_deep() -> Iterator[None]:
    """Values are compared level by level, so what could just be read may still be too deep for that."""
    try:
        yield
    except RecursionError as error:
        raise EditFault("syntax", "collections are nested too deep") from error


class DocumentEditor(Struct, frozen=True):
    """The `Editor` of a format, given by how its documents are opened (None: there is no file)."""

    open: Callable[[bytes | None], Document]

    def check(self, data: bytes) -> None:
        self.open(data)

    def read(self, data: bytes) -> Any:
        meaning = self.open(data).data
        return None if meaning is ABSENT else meaning

    @_not_too_deep()
    def holds(self, data: bytes | None, change: Change) -> bool:
        if data is None:
            return False
        document = self.open(data)
        return held(document, walk(document, change), change)

    @_not_too_deep()
    def put(
        self,
        data: bytes | None,
        changes: Sequence[Change],
        replacing: Sequence[Entry] = (),
        over: Collection[str] = (),
    ) -> Edited:
        document = self.open(data)
        staying = kept(document, changes, replacing)
        stays = {id(entry) for entry in staying.values()}
        take_all(document, [entry for entry in replacing if id(entry) not in stays])
        putting = Putting(document, over)
        putting.inherit(replacing)
        entries = [staying.get(number) or putting.put(change) for number, change in enumerate(changes)]
        return Edited(document.encode(), tuple(entries))

    @_not_too_deep()
    def take(self, data: bytes | None, entries: Sequence[Entry]) -> bytes | None:
        if data is None:
            return None
        document = self.open(data)
        take_all(document, entries)
        ours = next((entry for entry in entries if entry.added and "" in entry.made), None)
        if ours is None or document.data not in ({}, ABSENT):
            return document.encode()
        if document.is_blank(ours.trace):
            return None if ours.trace is None else _with_bom_of(data, ours.trace)
        left = None if ours.trace is None else document.rootless(ours.trace)
        return document.encode() if left is None else _with_bom_of(data, left)


def _with_bom_of(data: bytes, text: str) -> bytes:
    return (BOM if data.startswith(BOM) else b"") + text.encode("utf-8")
