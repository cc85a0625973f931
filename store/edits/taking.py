"""Entries out of a document again: exactly what we put in, whatever became of the document since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...lockfiles.model import EditOp
from .document import Document
from .meaning import Path, contains, holds_more, is_whole, matched, pointer_path, same
from .types import ABSENT, Entry


def take_all(document: Document, entries: Sequence[Entry]) -> None:
    """Take out what the entries added, the last one first. Raises `EditFault`."""
    if document.data is ABSENT:
        return
    for entry in reversed(entries):
        if entry.added:
            _take(document, entry)


def _take(document: Document, entry: Entry) -> None:
    path = pointer_path(entry.at)
    document.guard(path)
    theirs = document.get(path)
    if entry.op is EditOp.APPEND_UNIQUE:
        if isinstance(theirs, list):
            _take_item(document, path, entry.value)
    elif theirs is not ABSENT and contains(theirs, entry.value, strict=False):
        _take_value(document, path, entry)
    for pointer in reversed(entry.made):
        made = pointer_path(pointer)
        if made and document.get(made) is not ABSENT:
            document.fold(made)
            document.tidy(made)
    if entry.trace is not None and "" not in entry.made and not displaced(entry):
        container = outside(entry)
        if document.get(container) in ({}, []):
            document.refill(container, entry.trace)


def _take_value(document: Document, path: tuple[str, ...], entry: Entry) -> None:
    theirs = document.get(path)
    if displaced(entry):
        if same(theirs, entry.value):
            document.replace(path, entry.prior, entry.trace)
        else:
            _strip_members(document, path, entry.value)
            for key, value in entry.prior.items() if isinstance(entry.prior, dict) else ():
                if document.get((*path, key)) is ABSENT:
                    document.insert(path, key, value)
    elif joined(entry) or not path:
        _strip_members(document, path, entry.value)
    else:
        _strip(document, path, entry.value)
        if document.get(path) is not ABSENT:
            document.tidy(path)


def _strip(document: Document, path: Path, ours: Any) -> None:
    """Take `ours`, which the value at `path` contains, out of it, and the value itself if nothing is left."""
    theirs = document.get(path)
    if not same(theirs, ours):
        if isinstance(ours, dict):
            _strip_members(document, path, ours)
        elif isinstance(ours, list):
            _strip_items(document, path, ours)
        if document.get(path) not in ({}, []):
            return
    document.remove(path)


def _strip_members(document: Document, path: Path, ours: Any) -> None:
    if isinstance(ours, dict):
        for key, value in reversed(ours.items()):
            document.guard((*path, key))
            if document.get((*path, key)) is not ABSENT:
                _strip(document, (*path, key), value)


def _strip_items(document: Document, path: Path, ours: list[Any]) -> None:
    pairs = matched(document.get(path), ours, strict=False) or []
    for index, item in sorted(zip(pairs, ours, strict=True), key=lambda pair: -pair[0]):
        _strip_item(document, (*path, index), item)


def _strip_item(document: Document, path: Path, ours: Any) -> None:
    """Take one item of ours out of an array.

    Where somebody's items or keys are in it, it stays for them, with our plain members (they say when the
    items apply); only our items inside it go.
    """
    if not holds_more(document.get(path), ours):
        document.remove(path)
        return
    for key, value in reversed(ours.items()):
        if isinstance(value, list) and not is_whole(value):
            _strip_items(document, (*path, key), value)
            if document.get((*path, key)) == []:
                document.remove((*path, key))
        elif isinstance(value, dict) and holds_more(document.get((*path, key)), value):
            _strip_item(document, (*path, key), value)


def _take_item(document: Document, path: tuple[str, ...], ours: Any) -> None:
    items = document.get(path)
    equal = [i for i, item in enumerate(items) if same(item, ours)]
    extended = [i for i, item in enumerate(items) if contains(item, ours, strict=False)]
    if equal or extended:  # the last one: ours was appended
        _strip_item(document, (*path, (equal or extended)[-1]), ours)


def outside(entry: Entry) -> Path:
    """The container that an entry went into and that was there before us."""
    inner = [pointer for pointer in entry.made if pointer]
    if "" in entry.made:
        return ()
    if inner:
        return pointer_path(inner[0])[:-1]
    path = pointer_path(entry.at)
    return path if joined(entry) or entry.op is EditOp.APPEND_UNIQUE else path[:-1]


def joined(entry: Entry) -> bool:
    """Whether our object went beside the members of an object that stood there."""
    return isinstance(entry.value, dict) and entry.prior == {}


def displaced(entry: Entry) -> bool:
    """Whether our value took the place of another one."""
    return entry.prior is not ABSENT and not joined(entry)
