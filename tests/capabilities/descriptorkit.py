"""Descriptors without a fault, and changes to them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from gsdlock.capabilities.shapes import Fault
from gsdlock.capabilities.validation import validate

DATA = Path(__file__).parent.parent / "data"
VECTORS: dict[str, Any] = json.loads((DATA / "validator_cases.json").read_text(encoding="utf-8"))
LATER = VECTORS["later_cases"]
CASES = [*VECTORS["cases"], *LATER["trigger_precedence"], *LATER["host_behavior_warnings"]]
STRICTER: dict[str, str] = {
    case["id"]: case["pointer"]
    for case in json.loads((DATA / "validator_stricter.json").read_text(encoding="utf-8"))["cases"]
}


def base(name: str) -> Any:
    """A fresh descriptor without a fault: `runtime`, `feature`, `reviewer` or `reviewer_http`."""
    return copy.deepcopy(VECTORS["bases"][name])


def changed(name: str, ops: list[dict[str, Any]]) -> Any:
    """A base with operations done to it: {op: set or remove, path: JSON pointer, value}."""
    data = base(name)
    for op in ops:
        *steps, last = [p.replace("~1", "/").replace("~0", "~") for p in op["path"].split("/")[1:]]
        place = data
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        key: Any = int(last) if isinstance(place, list) else last
        if op["op"] == "set":
            place[key] = op["value"]
        else:
            del place[key]
    return data


def with_(name: str, path: str, value: Any) -> Any:
    """A base with one value set."""
    return changed(name, [{"op": "set", "path": path, "value": value}])


def faults(data: Any) -> tuple[Fault, ...]:
    return validate(data, "demo").faults


def pointers(data: Any) -> list[str]:
    return [f.pointer for f in faults(data)]


def put(data: Any, pointer: str, value: Any) -> Any:
    """The data itself, with one value set in it."""
    *steps, last = pointer.split("/")[1:]
    place = data
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = value
    return data
