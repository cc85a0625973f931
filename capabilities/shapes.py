"""Shapes: what JSON data may look like, said once as data.

One shape serves twice: `check` finds every fault of a value at once, `json_schema` gives the same rules as
JSON Schema (2020-12). A rule that a shape cannot express (a relation between two fields) is code in
`validate_*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct, field

from .errors import shown
from .word_sets import RESERVED_NAMES

_SHOWN_VALUE = 80
# So many fields are listed in a message; `Fault.allowed` has them all.
_FEW = 12
# So many members of a set are listed; four times as many are compared to find the nearest.
_MOST_LISTED = 50
_MOST_ITEMS = 1000


class Fault(Struct, frozen=True):
    """One thing that is wrong with a descriptor.

    `pointer` is a JSON pointer (RFC 6901), `message` says what is required there, `value` shows what stands
    there (None where nothing does), `allowed` lists what may, `nearest` is the allowed member that comes
    closest to the value (empty where none is close).
    """

    pointer: str
    message: str
    value: str | None = None
    allowed: tuple[str, ...] = ()
    nearest: str = ""

    def __str__(self) -> str:
        text = f"{shown(self.pointer, 200) or '/'}: {self.message}"
        if self.value is not None:
            text += f", not {self.value}"
        return f"{text} (did you mean {self.nearest}?)" if self.nearest else text


# Shapes are compared by identity.
class Text(Struct, frozen=True, eq=False):
    """A string of at most `longest` characters that `pattern` matches as a whole. `what` says what it is."""

    what: str = "a text that is not empty"
    pattern: str = r"[\s\S]+"
    longest: int = 4096

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        if not isinstance(value, str) or len(value) > self.longest or not _matcher(self.pattern)(value):
            yield Fault(pointer, f"must be {self.what}", show(value), (self.what,))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "maxLength": self.longest}


TEXT = Text()
ANY_TEXT = Text("a text", r"[\s\S]*")


class Flag(Struct, frozen=True, eq=False):
    """True or false."""

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        if not isinstance(value, bool):
            yield Fault(pointer, "must be true or false", show(value), ("true", "false"))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Whole(Struct, frozen=True, eq=False):
    """A whole number of at least `least`."""

    least: int

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        if isinstance(value, bool) or not isinstance(value, int) or value < self.least:
            what = f"a whole number of at least {self.least}"
            yield Fault(pointer, f"must be {what}", show(value), (what,))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least}


class Number(Struct, frozen=True, eq=False):
    """A finite number; a `Decimal`, as the readers of users' files give them, is one too."""

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number and not isinstance(value, (str, list, dict, bool, type(None))):
            from decimal import Decimal

            is_number = isinstance(value, Decimal)
        if not is_number or value != value or value in (float("inf"), float("-inf")):
            yield Fault(pointer, "must be a finite number", show(value), ("a finite number",))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number"}


class Choice(Struct, frozen=True, eq=False):
    """One of a closed set of strings, numbers, true, false or null."""

    members: tuple[str | int | bool | None, ...]

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        if not any(type(value) is type(m) and value == m for m in self.members):
            yield self.fault(value, pointer)

    def fault(self, value: Any, pointer: str) -> Fault:
        names = tuple(m if isinstance(m, str) else show(m) for m in self.members[:_MOST_LISTED])
        close = nearest(value, (m for m in self.members if isinstance(m, str)))
        more = ", …" if len(self.members) > _MOST_LISTED else ""
        message = f"must be {'one of ' if len(names) > 1 else ''}{', '.join(names) or 'absent'}{more}"
        return Fault(pointer, message, show(value), names, close)

    def json_schema(self) -> dict[str, Any]:
        return {"enum": list(self.members)}


def choice(members: Iterable[str], *others: str | int | bool | None) -> Choice:
    """A `Choice` of an enum or a set, in a fixed order, and of `others`."""
    plain = tuple(str(m) for m in members)
    return Choice((*(sorted(plain) if isinstance(members, frozenset) else plain), *others))


class Nullable(Struct, frozen=True, eq=False):
    """Null, or the inner shape."""

    inner: Shape

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        if value is not None:
            yield from self.inner.check(value, pointer)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.json_schema(), {"type": "null"}]}


class Either(Struct, frozen=True, eq=False):
    """`first`, or any of `members`."""

    first: Shape
    members: tuple[str, ...]

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        if value not in self.members:
            for fault in self.first.check(value, pointer):
                others = tuple(f'"{m}"' for m in self.members)
                message = f"{fault.message} or {', '.join(others)}"
                yield Fault(fault.pointer, message, fault.value, (*fault.allowed, *others), fault.nearest)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [self.first.json_schema(), {"enum": list(self.members)}]}


class ListOf(Struct, frozen=True, eq=False):
    """An array of one shape; `unique` forbids equal strings. No array has a use for more than `most` items,
    and rules that compare each with each rely on it."""

    item: Shape
    least: int = 0
    unique: bool = False
    most: int = _MOST_ITEMS

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        """Faults of the array and of each of its items."""
        if not isinstance(value, list):
            yield Fault(pointer, "must be an array", show(value), ("an array",))
            return
        if len(value) > self.most:
            yield Fault(pointer, f"must hold at most {self.most}", show(value), ("a shorter array",))
            return
        if len(value) < self.least:
            yield Fault(pointer, f"must hold at least {self.least}", show(value), ("a longer array",))
        seen: set[str] = set()
        for index, item in enumerate(value):
            yield from self.item.check(item, f"{pointer}/{index}")
            if self.unique and isinstance(item, str):
                if item in seen:
                    yield Fault(f"{pointer}/{index}", "must not stand twice", show(item), ("each once",))
                seen.add(item)

    def json_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array", "items": self.item.json_schema(), "maxItems": self.most}
        if self.least:
            schema["minItems"] = self.least
        if self.unique:
            schema["uniqueItems"] = True
        return schema


class FirstOf(Struct, frozen=True, eq=False):
    """One text, or an array of several of which the first that applies counts."""

    item: Text

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        several = isinstance(value, list)
        yield from (ListOf(self.item, least=2, unique=True) if several else self.item).check(value, pointer)

    def json_schema(self) -> dict[str, Any]:
        several = ListOf(self.item, least=2, unique=True)
        return {"anyOf": [self.item.json_schema(), several.json_schema()]}


class MapOf(Struct, frozen=True, eq=False):
    """An object whose keys are free within `key` and whose values have one shape; at most `most` of them."""

    key: Text
    value: Shape
    most: int = _MOST_ITEMS

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        """Faults of each key and of each value."""
        if not isinstance(value, dict):
            yield Fault(pointer, "must be an object", show(value), ("an object",))
            return
        if len(value) > self.most:
            yield Fault(pointer, f"must hold at most {self.most}", show(value), ("fewer fields",))
            return
        for name, item in value.items():
            at = pointer_to(pointer, name)
            if name in RESERVED_NAMES:
                yield reserved(at, name)
            for fault in self.key.check(name, at):
                yield Fault(at, f"its name {fault.message}", fault.value, fault.allowed)
            yield from self.value.check(item, at)

    def json_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "propertyNames": self.key.json_schema(),
            "additionalProperties": self.value.json_schema(),
            "maxProperties": self.most,
        }


class Record(Struct, frozen=True, eq=False):
    """An object with named fields. Fields that are not named are faults, unless `open` is true.

    `count`, where set, is how few and how many fields must stand.
    """

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)
    open: bool = False
    count: tuple[int, int] | None = None

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        """Faults of the object: fields that are missing, unknown or wrong."""
        if not isinstance(value, dict):
            yield Fault(pointer, "must be an object", show(value), ("an object",))
            return
        for name, shape in self.required.items():
            if name not in value:
                yield Fault(pointer_to(pointer, name), "is missing", None, _allowed(shape))
        known = (*self.required, *self.optional)
        if self.count is not None and not self.count[0] <= sum(n in value for n in known) <= self.count[1]:
            number = "exactly one" if self.count == (1, 1) else "at least one"
            yield Fault(pointer, f"must hold {number} of {', '.join(known)}", show(value), known)
        for name, item in value.items():
            at = pointer_to(pointer, name)
            inner = self.required.get(name) or self.optional.get(name)
            if inner is not None:
                yield from inner.check(item, at)
            elif not self.open:
                fields = f"; the fields are {', '.join(known)}" if len(known) <= _FEW else ""
                message = f"is not a field here{fields}"
                yield Fault(at, message, None, known, nearest(name, known))

    def json_schema(self) -> dict[str, Any]:
        """The object with its properties; closed unless the record is open."""
        properties = {n: s.json_schema() for n, s in (*self.required.items(), *self.optional.items())}
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if self.required:
            schema["required"] = list(self.required)
        if not self.open:
            schema["additionalProperties"] = False
        if self.count is not None:
            schema["minProperties"], schema["maxProperties"] = self.count
        return schema


class Tagged(Struct, frozen=True, eq=False):
    """An object whose field `tag` says which record it is; `default` where it may be missing.

    Where the tag is wrong, the fields that all records have in common are checked all the same. With `others`
    a text that names no record is no fault: then that is the record.
    """

    tag: str
    cases: Mapping[str, Record]
    default: str = ""
    others: Record | None = None

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        """Faults of the record that the tag names."""
        if not isinstance(value, dict):
            yield Fault(pointer, "must be an object", show(value), ("an object",))
            return
        name = value.get(self.tag, self.default)
        record = self.cases.get(name, self.others) if isinstance(name, str) else None
        if record is not None:
            yield from record.check(value, pointer)
            return
        at = pointer_to(pointer, self.tag)
        if self.tag in value:
            yield Choice(tuple(self.cases)).fault(name, at)
        else:
            yield Fault(at, "is missing", None, tuple(self.cases))
        yield from self._common().check(value, pointer)

    def _common(self) -> Record:
        first, *others = self.cases.values()
        shared = {n: s for n, s in first.required.items() if all(o.required.get(n) is s for o in others)}
        return Record(shared, open=True)

    def json_schema(self) -> dict[str, Any]:
        known = [record.json_schema() for record in self.cases.values()]
        return {"oneOf": known} if self.others is None else {"anyOf": [*known, self.others.json_schema()]}


class ByKind(Struct, frozen=True, eq=False):
    """A text, a true or false, an array or an object, each with a shape of its own; `what` names them."""

    kinds: Mapping[type, Shape]
    what: str

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        shape = self.kinds.get(type(value))
        if shape is None:
            yield Fault(pointer, f"must be {self.what}", show(value), (self.what,))
        else:
            yield from shape.check(value, pointer)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [shape.json_schema() for shape in self.kinds.values()]}


class Anything(Struct, frozen=True, eq=False):
    """Any JSON value: carried, not read."""

    def check(self, value: Any, pointer: str) -> Iterator[Fault]:
        return iter(())

    def json_schema(self) -> dict[str, Any]:
        return {}


Shape = (
    Text
    | Flag
    | Whole
    | Number
    | Choice
    | Nullable
    | Either
    | ListOf
    | FirstOf
    | MapOf
    | Record
    | Tagged
    | ByKind
    | Anything
)


def pointer_to(pointer: str, name: Any) -> str:
    """`pointer` with one more step, escaped as RFC 6901 says. In YAML a name may be anything."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def show(value: Any) -> str:
    """A value as at most 80 characters of text that are fit for a terminal: one of JSON, or what TOML and
    YAML have besides (a date, a decimal)."""
    import json

    if isinstance(value, (dict, list)):
        kind = "object" if isinstance(value, dict) else "array"
        return f"an {kind} of {len(value)}" if value else f"an empty {kind}"
    if isinstance(value, str):
        return f'"{shown(value, _SHOWN_VALUE)}"'
    return shown(json.dumps(value, default=str), _SHOWN_VALUE)


def nearest(value: Any, members: Iterable[str]) -> str:
    """The member that is closest to `value`, or an empty string where none is close."""
    import difflib

    if not isinstance(value, str) or len(value) > _SHOWN_VALUE:
        return ""
    compared = sorted(islice(members, 4 * _MOST_LISTED))
    return next(iter(difflib.get_close_matches(value, compared, n=1, cutoff=0.6)), "")


def reserved(pointer: str, name: str) -> Fault:
    """The fault of a name that a JavaScript engine would take for something else."""
    return Fault(pointer, "must not be a reserved name", show(name), ("any other name",))


def _allowed(shape: Shape) -> tuple[str, ...]:
    if isinstance(shape, Choice):
        return tuple(m if isinstance(m, str) else show(m) for m in shape.members)
    return (shape.what,) if isinstance(shape, Text) else ()


def _matcher(pattern: str) -> Any:
    return re.compile(pattern).fullmatch  # `re` keeps the compiled form
