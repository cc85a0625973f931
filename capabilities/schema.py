"""The JSON Schema of `capability.json`, made from the shapes that validation uses.

It says what one descriptor may look like. Relations (between fields, between capabilities, to the folder's
name) are beyond it: validation checks those.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from .validation import DESCRIPTOR

# A part whose JSON is shorter than this is repeated rather than referred to.
_SMALLEST = 90
SCHEMA_PATH = "docs/schema/capability.schema.json"

_Visit = Callable[[dict[str, Any], str], dict[str, Any]]


def capability_schema() -> dict[str, Any]:
    """The schema as JSON data (draft 2020-12). What stands in several places is said once, in `$defs`."""
    definitions: dict[str, Any] = {}
    body = _shared(DESCRIPTOR.json_schema(), definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gsdlock capability descriptor",
        "description": "A runtime, a feature or a reviewer: capabilities/<id>/capability.json.",
        **body,
        "$defs": dict(sorted(definitions.items())),
    }


def capability_schema_text() -> str:
    """The schema as the text of its file: two spaces, LF, a final newline."""
    return json.dumps(capability_schema(), indent=2, ensure_ascii=False) + "\n"


def _shared(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """`schema` with each larger part that occurs more than once replaced by a reference to `definitions`."""
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}

    def count(part: dict[str, Any], name: str) -> dict[str, Any]:
        text = json.dumps(part)
        seen[text] += 1
        return part if seen[text] > 1 else _each(part, name, count)  # parts are counted the first time only

    def refer(part: dict[str, Any], name: str) -> dict[str, Any]:
        text = json.dumps(part)
        if seen[text] < 2 or len(text) < _SMALLEST:
            return _each(part, name, refer)
        if text not in names:
            number = sum(n.rstrip("0123456789") == name for n in names.values())
            names[text] = f"{name}{number + 1 if number else ''}"
            definitions[names[text]] = _each(part, name, refer)
        return {"$ref": f"#/$defs/{names[text]}"}

    count(schema, "")
    return refer(schema, "")


def _each(part: dict[str, Any], name: str, visit: _Visit) -> dict[str, Any]:
    """A schema with `visit` done to each schema directly in it; `name` is the property that it belongs to."""
    result: dict[str, Any] = {}
    for keyword, value in part.items():
        if keyword == "properties":
            result[keyword] = {k: visit(v, k) for k, v in value.items()}
        elif keyword in ("anyOf", "oneOf"):
            result[keyword] = [visit(v, name) for v in value]
        elif keyword in ("items", "propertyNames", "additionalProperties") and isinstance(value, dict):
            result[keyword] = visit(value, name)
        else:
            result[keyword] = value
    return result
