"""What values mean, whatever their spelling: equality, containment, and pointers.

Values are JSON data as Python has it (dict, list, str, int, bool, None) plus what a parser gives for the
user's own values: `Decimal` or `float` for other numbers, dates in TOML and YAML.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from .types import ABSENT, EditFault

Path = tuple[str | int, ...]
MOST_DIGITS = 4000
"""Python writes no whole number of more than 4,300 digits, so nothing could be said about a longer one."""


def decimal_of(digits: str) -> Decimal:
    """A number as it is spelled; one with an exponent of more than 18 digits is infinite."""
    try:
        return Decimal(digits)
    except InvalidOperation:
        return Decimal("-Infinity" if digits.startswith("-") else "Infinity")


def is_endless(value: Any) -> bool:
    """Whether a value is a whole number of more than about `MOST_DIGITS` digits."""
    return isinstance(value, int) and value.bit_length() > MOST_DIGITS * 10 // 3


def pointer_path(pointer: str) -> tuple[str, ...]:
    """The keys of a JSON pointer (RFC 6901). Raises `EditFault` (shape) for what is no pointer.

    Every part is a key: an edit never goes through an array by index, as others may reorder it.
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise EditFault("shape", f"{pointer!r} is not a JSON pointer: it does not begin with '/'")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))


def path_pointer(path: Path) -> str:
    """The JSON pointer of a path: the inverse of `pointer_path`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def value_at(meaning: Any, pointer: str) -> Any:
    """The value at a JSON pointer in plain data, or ABSENT."""
    for part in pointer_path(pointer):
        if not isinstance(meaning, dict) or part not in meaning:
            return ABSENT
        meaning = meaning[part]
    return meaning


def copied(value: Any) -> Any:
    """`value` with lists and objects of its own, to be changed in place."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, (list, tuple)) else value


def same(left: Any, right: Any) -> bool:
    """Whether two values mean the same.

    Numbers compare by value (1, 1.0 and 1e0 are one number, a boolean is none), objects without regard to
    key order, arrays in order.
    """
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(map(same, left.values(), map(right.__getitem__, left)))
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if _is_number(left) and _is_number(right):
        left, right = _exact(left), _exact(right)
        return bool(left == right or (left != left and right != right))  # two NaN are one value here
    return type(left) is type(right) and bool(left == right)


def contains(theirs: Any, ours: Any, *, strict: bool) -> bool:
    """Whether `theirs` is `ours`, or `ours` extended by somebody.

    An object may have more keys, an array of objects more items. An array of plain values is one value (an
    argument list, say): with `strict` it has to be equal, else it may have more items but keeps the order
    of ours.
    """
    if isinstance(ours, dict):
        return isinstance(theirs, dict) and all(
            key in theirs and contains(theirs[key], value, strict=strict) for key, value in ours.items()
        )
    if isinstance(ours, list):
        return isinstance(theirs, list) and matched(theirs, ours, strict=strict) is not None
    return same(theirs, ours)


def matched(theirs: list[Any], ours: list[Any], *, strict: bool) -> list[int] | None:
    """For each item of `ours` the index of its own counterpart in `theirs`, or None where one has none."""
    if not any(isinstance(item, (dict, list)) for item in ours):
        if strict and len(theirs) != len(ours):
            return None
        return _in_order(theirs, ours)
    found: dict[int, int] = {}
    for equal in (True, False):  # equal items first, so that an extended one is not taken for a whole one
        for number, item in enumerate(ours):
            if number in found:
                continue
            for index, other in enumerate(theirs):
                if index not in found.values() and (
                    same(other, item) if equal else contains(other, item, strict=strict)
                ):
                    found[number] = index
                    break
    return [found[number] for number in range(len(ours))] if len(found) == len(ours) else None


def is_whole(ours: Any) -> bool:
    """Whether `ours` is one thing that means nothing in part: no array of objects anywhere in it.

    A hook handler is one; a group that holds handlers is not.
    """
    if isinstance(ours, dict):
        return all(is_whole(value) for value in ours.values())
    return not (isinstance(ours, list) and any(isinstance(item, (dict, list)) for item in ours))


def holds_more(theirs: Any, ours: Any) -> bool:
    """Whether `theirs`, which contains `ours`, also holds something that was put there by somebody else.

    What was added to a whole (see `is_whole`) does not count: a time limit that a user put on our handler
    means nothing without the handler, and hosts refuse a whole file for a handler without its command. Nor
    does an addition to a plain member of a group.
    """
    if is_whole(ours):
        return False
    if isinstance(ours, dict):
        return any(key not in ours or holds_more(value, ours[key]) for key, value in theirs.items())
    pairs = matched(theirs, ours, strict=False) or []
    return len(theirs) > len(ours) or any(
        holds_more(theirs[index], item) for index, item in zip(pairs, ours, strict=True)
    )


def _in_order(theirs: list[Any], ours: list[Any]) -> list[int] | None:
    indexes: list[int] = []
    start = 0
    for item in ours:
        index = next((i for i in range(start, len(theirs)) if same(theirs[i], item)), None)
        if index is None:
            return None
        indexes.append(index)
        start = index + 1
    return indexes


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _exact(value: int | float | Decimal) -> int | Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else value
