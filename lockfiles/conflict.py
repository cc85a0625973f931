"""What two sides of a lock with merge conflict markers agree on.

The rest of such a lock is made again from the manifest. But what both sides pin alike must stay pinned: a
merge is no reason for a pack to move.
"""

from __future__ import annotations

from typing import Any

from ..capabilities.tables import Table
from ..capabilities.toml_text import read_toml
from .model import Lock, LockedPack
from .read import read_pin

_MARKS = {"<<<<<<<": "ours", "|||||||": "base", "=======": "theirs", ">>>>>>>": ""}


def agreed(data: bytes) -> Lock:
    """The packs and overlays that both sides pin alike, as a lock without targets; never raises.

    Nothing is agreed on where a side is no TOML, or a row is none of a lock. The digests of such a lock cover
    neither side, so they are not looked at: what is fetched is held against each pin's own.
    """
    ours, theirs = map(_pins, sides(data.decode("utf-8", "replace").replace("\r\n", "\n")))
    packs, overlays = (
        tuple(pin for name, pin in ours[table].items() if theirs[table].get(name) == pin)
        for table in ("pack", "overlay")
    )
    return Lock(packs=packs, capabilities=(), targets=(), overlays=overlays)


def sides(text: str) -> tuple[str, str]:
    """The text as either side had it, by the marker lines of git; the common ancestor is passed over."""
    found: dict[str, list[str]] = {"ours": [], "theirs": []}
    side = ""
    for line in text.split("\n"):
        mark = line[:7]
        if mark in _MARKS and line[7:8] in ("", " "):
            side = _MARKS[mark]
            continue
        for name, lines in found.items():
            if side in ("", name):
                lines.append(line)
    return "\n".join(found["ours"]), "\n".join(found["theirs"])


def _pins(text: str) -> dict[str, dict[str, LockedPack]]:
    import tomllib

    found: dict[str, dict[str, LockedPack]] = {"pack": {}, "overlay": {}}
    try:
        document: dict[str, Any] = read_toml(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return found
    for table, pins in found.items():
        rows = document.get(table)
        for row in rows if isinstance(rows, list) else ():
            faults: list[str] = []
            pin = read_pin(Table(row, "", faults))
            if not faults:
                pins[pin.name] = pin
    return found
