"""What all roles share: the envelope and the config keys, and helpers to look into data of unknown shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .npm_range import RangeError, parse_range
from .patterns import CONFIG_KEY, ID, INTEGRITY, LINE, NAME, RANGE, VERSION
from .shapes import (
    ANY_TEXT,
    TEXT,
    Choice,
    Fault,
    Flag,
    ListOf,
    MapOf,
    Number,
    Record,
    Shape,
    Tagged,
    choice,
    show,
)
from .vocabulary import Tier

ENVELOPE: dict[str, Shape] = {
    "id": ID,
    "title": LINE,
    "description": TEXT,
    "tier": choice(Tier),
    "version": VERSION,
    "requires": ListOf(ID),
}
ENVELOPE_OPTIONAL: dict[str, Shape] = {
    "engines": Record({}, {"gsd": RANGE}),
    "compatVersions": MapOf(VERSION, RANGE),
    "integrity": INTEGRITY,
    "provenance": Record({"sourceRepo": TEXT, "commit": TEXT}),
}


def _slice(type_: str, default: Shape, **more: Shape) -> Record:
    return Record({"type": Choice((type_,)), "default": default, "description": TEXT, **more})


CONFIG = MapOf(
    CONFIG_KEY,
    Tagged(
        "type",
        {
            "boolean": _slice("boolean", Flag()),
            "string": _slice("string", ANY_TEXT),
            "number": _slice("number", Number()),
            "enum": _slice("enum", NAME, values=ListOf(NAME, least=1, unique=True)),
        },
    ),
)


def record(value: Any) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one: a fault of shape is reported elsewhere."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> Sequence[Any]:
    """`value` where it is an array, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def strings(value: Any) -> list[str]:
    """The strings of an array."""
    return [v for v in items(value) if isinstance(v, str)]


def envelope_faults(data: Mapping[str, Any], folder: str | None) -> Iterator[Fault]:
    """What the shape of the envelope cannot say: the folder's name, ranges that cannot be read, and enum
    defaults that are no member."""
    id_ = data.get("id")
    if folder is not None and isinstance(id_, str) and id_ != folder:
        yield Fault("/id", f"must be the name of its folder, {show(folder)}", show(id_), (folder,))
    ranges = {"/engines/gsd": record(data.get("engines")).get("gsd")}
    ranges |= {f"/compatVersions/{k}": v for k, v in record(data.get("compatVersions")).items()}
    for pointer, text in ranges.items():
        if isinstance(text, str) and next(RANGE.check(text, pointer), None) is None:
            try:
                parse_range(text)
            except RangeError:
                yield Fault(pointer, "must be a version range that npm reads", show(text), (RANGE.what,))
    for key, value in record(data.get("config")).items():
        slice_ = record(value)
        members = strings(slice_.get("values"))
        if slice_.get("type") == "enum" and members and slice_.get("default") not in members:
            yield Choice(tuple(members)).fault(slice_.get("default"), f"/config/{key}/default")
