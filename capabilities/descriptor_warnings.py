"""Warnings: what a descriptor says that is not read, without being wrong.

Unknown keys of `hostBehaviors` and of a review lane are warnings, because descriptors of a newer vocabulary
must stay loadable. A hostile descriptor may hold a great many: at most `MOST` records are made for one place,
and one more that says how many were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from .errors import shown
from .validate_common import record
from .validate_reviewer import REVIEWER_FIELDS
from .word_sets import HOST_BEHAVIORS, REMOVED_HOST_BEHAVIORS, RESERVED_NAMES
from .words import Words

MOST = 10
_LONGEST_KEY = 80


class WarningCode(Words):
    """Stable codes of warnings."""

    REMOVED_HOST_BEHAVIOR = "removed_host_behavior"
    UNKNOWN_HOST_BEHAVIOR = "unknown_host_behavior"
    UNKNOWN_REVIEWER_FIELD = "unknown_reviewer_field"


class DescriptorWarning(Struct, frozen=True):
    """One warning about the capability `capability`.

    `field` is the dotted path of the field, fit to be shown. `replacement` names the field to use instead,
    `known` the fields that are known there. A summary has `omitted` > 0 and names the place only.
    """

    code: WarningCode
    capability: str
    field: str
    replacement: str = ""
    known: tuple[str, ...] = ()
    omitted: int = 0

    def __str__(self) -> str:
        if self.omitted:
            return f"{self.capability}: {self.omitted} more fields of {self.field} are not known and not read"
        if self.replacement:
            return f"{self.capability}: {self.field} is no longer read; use {self.replacement}"
        return f"{self.capability}: {self.field} is not known and not read"


def warnings_of(data: Any) -> tuple[DescriptorWarning, ...]:
    """All warnings of a descriptor, whatever its shape. Never raises."""
    descriptor = record(data)
    id_ = descriptor.get("id")
    return tuple(_warnings(descriptor, shown(id_) if isinstance(id_, str) else "?"))


def _warnings(data: Mapping[str, Any], id_: str) -> Iterator[DescriptorWarning]:
    behaviors = record(record(data.get("runtime")).get("hostBehaviors"))
    place = "runtime.hostBehaviors"
    for name, replacement in REMOVED_HOST_BEHAVIORS.items():
        if name in behaviors:
            code = WarningCode.REMOVED_HOST_BEHAVIOR
            yield DescriptorWarning(code, id_, f"{place}.{name}", replacement=replacement)
    silent = HOST_BEHAVIORS | REMOVED_HOST_BEHAVIORS.keys() | RESERVED_NAMES
    unknown = (k for k in behaviors if k not in silent)
    yield from _capped(WarningCode.UNKNOWN_HOST_BEHAVIOR, id_, place, unknown)
    unknown = (k for k in record(data.get("reviewer")) if k not in REVIEWER_FIELDS | RESERVED_NAMES)
    known = tuple(sorted(REVIEWER_FIELDS))
    yield from _capped(WarningCode.UNKNOWN_REVIEWER_FIELD, id_, "reviewer", unknown, known)


def _capped(
    code: WarningCode, id_: str, place: str, keys: Iterable[str], known: tuple[str, ...] = ()
) -> Iterator[DescriptorWarning]:
    omitted = 0
    for index, key in enumerate(keys):
        if index < MOST:
            yield DescriptorWarning(code, id_, f"{place}.{shown(key, _LONGEST_KEY)}", known=known)
        else:
            omitted += 1
    if omitted:
        yield DescriptorWarning(code, id_, place, known=known, omitted=omitted)
