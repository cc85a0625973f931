"""Strict reading of a parsed table (TOML or JSON): every fault is collected, none is guessed away.

A `Table` hands out typed values and remembers which keys were asked for; `finish` reports the others as
unknown, with the nearest known key. A faulty value is replaced by a harmless one of its type so that reading
goes on and all faults are found in one pass; the caller raises when `faults` is not empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .errors import hides, shown

_MOST_UNKNOWN = 5
HIDDEN = "holds a control character, a line end or a control of writing direction"


def nearest(word: str, known: Sequence[str]) -> str:
    """` (did you mean X?)`, or an empty string when nothing known is close."""
    import difflib

    hits = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {hits[0]}?)" if hits else ""


class Table:
    """One table being read. `at` names it in messages (`targets.claude`); `faults` is shared by all tables
    of one document."""

    def __init__(self, data: Any, at: str, faults: list[str]) -> None:
        self.at = at
        self.faults = faults
        self._known: list[str] = []
        if isinstance(data, dict):
            self._data: dict[str, Any] = data
        else:
            self._data = {}
            self.fault("", f"must be a table, not {_type_name(data)}")

    def fault(self, key: str, message: str) -> None:
        """Record a fault of `key` ("" for the table itself)."""
        place = ".".join(p for p in (self.at, shown(key)) if p)
        self.faults.append(f"{place}: {message}" if place else message)

    def names(self) -> list[str]:
        """The keys that stand in the table, in their order."""
        return list(self._data)

    def has(self, key: str) -> bool:
        return key in self._data

    def raw(self, key: str) -> Any:
        """The value as it is; None where absent."""
        self._known.append(key)
        return self._data.get(key)

    def string(self, key: str, default: str | None = None, allowed: Sequence[str] | None = None) -> str:
        """A string; required when `default` is None; one of `allowed` when given."""
        value = self.raw(key)
        if value is None and key not in self._data:
            if default is None:
                self.fault(key, "is required" + (f": one of {', '.join(allowed)}" if allowed else ""))
            return default or ""
        if not isinstance(value, str) or not value:
            self.fault(key, f"must be a string that is not empty, not {_type_name(value)}")
            return default or ""
        if hides(value):
            self.fault(key, HIDDEN)
            return default or ""
        if allowed is not None and value not in allowed:
            hint = nearest(value, allowed)
            self.fault(key, f'"{shown(value)}" is not one of {", ".join(allowed)}{hint}')
            return default or ""
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """An array of non-empty strings without repeats; empty where absent."""
        value = self.raw(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            self.fault(key, "must be an array of strings that are not empty")
            return ()
        if any(map(hides, value)):
            self.fault(key, HIDDEN)
            return ()
        for item in sorted({v for v in value if value.count(v) > 1}):
            self.fault(key, f'names "{shown(item)}" twice')
        return tuple(value)

    def boolean(self, key: str, default: bool) -> bool:
        """A value that must be true or false; another one is a fault, and `default` is taken."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(key, f"must be true or false, not {_type_name(value)}")
            return default
        return value

    def table(self, key: str) -> Table | None:
        """The table at `key`; None where absent."""
        value = self.raw(key)
        if value is None:
            return None
        return Table(value, ".".join(p for p in (self.at, shown(key)) if p), self.faults)

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of an array of tables."""
        value = self.raw(key)
        if value is None:
            return
        if not isinstance(value, list):
            self.fault(key, f"must be an array of tables, not {_type_name(value)}")
            return
        for number, item in enumerate(value):
            yield Table(item, f"{self.at}{'.' if self.at else ''}{key}[{number}]", self.faults)

    def finish(self) -> None:
        """Report every key that was not asked for: at most five, then a count."""
        known = sorted(set(self._known))
        unknown = [k for k in self._data if k not in known]
        for key in unknown[:_MOST_UNKNOWN]:
            self.fault(key, f"is not known here{nearest(key, known)}; known: {', '.join(known)}")
        if len(unknown) > _MOST_UNKNOWN:
            self.fault("", f"and {len(unknown) - _MOST_UNKNOWN} more unknown keys")


def _type_name(value: Any) -> str:
    names = {dict: "a table", list: "an array", str: "a string", bool: "a boolean", int: "an integer"}
    if value == "":
        return "an empty string"
    return names.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")
