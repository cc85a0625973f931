"""From the bytes of a `capability.json` to a typed capability: read, validate, parse.

Validation finds all faults at once and never raises, whatever the data. Parsing happens only where there is
no fault. Relations between capabilities are in `cross`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from .descriptor_warnings import DescriptorWarning, warnings_of
from .errors import GsdlockError, input_error, shown
from .model import Capability
from .parse import parse_capability
from .registry import DESCRIPTOR_NAME
from .shapes import Choice, Fault, Record, Tagged
from .validate_common import CONFIG, ENVELOPE, ENVELOPE_OPTIONAL, envelope_faults, record
from .validate_feature import FEATURE_OPTIONAL, FEATURE_REQUIRED, feature_faults
from .validate_reviewer import REVIEWER, reviewer_faults
from .validate_runtime import RUNTIME, runtime_faults

MOST_BYTES = 8 * 1024 * 1024
# A hostile descriptor may hold a great many faults; nobody reads more than these.
MOST_FAULTS = 100

DESCRIPTOR = Tagged(
    "role",
    {
        "runtime": Record(
            {**ENVELOPE, "role": Choice(("runtime",)), "runtime": RUNTIME},
            {**ENVELOPE_OPTIONAL, "config": CONFIG, "reviewer": REVIEWER},
        ),
        "feature": Record(
            {**ENVELOPE, "role": Choice(("feature",)), **FEATURE_REQUIRED, "config": CONFIG},
            {**ENVELOPE_OPTIONAL, **FEATURE_OPTIONAL},
        ),
        "reviewer": Record(
            {**ENVELOPE, "role": Choice(("reviewer",)), "reviewer": REVIEWER},
            {**ENVELOPE_OPTIONAL, "config": CONFIG},
        ),
    },
)


class Verdict(Struct, frozen=True):
    """What validation found: `faults` forbid the use of a descriptor, `warnings` do not."""

    faults: tuple[Fault, ...]
    warnings: tuple[DescriptorWarning, ...]


def validate(data: Any, folder: str | None = None) -> Verdict:
    """All faults (at most `MOST_FAULTS`) and warnings of a descriptor.

    `folder` is the name of its folder, which must be its id; None where that name means nothing (a pack).
    """
    return Verdict(tuple(islice(_faults(data, folder), MOST_FAULTS)), warnings_of(data))


def load_capability(data: Any, folder: str | None = None, where: str = DESCRIPTOR_NAME) -> Capability:
    """The typed capability that `data` describes; `where` names its file in messages.

    Raises `E-DESCRIPTOR-INVALID` with every fault. For warnings see `warnings_of`.
    """
    faults = validate(data, folder).faults
    if faults:
        raise _invalid(where, faults)
    return parse_capability(data)


def _invalid(where: str, faults: tuple[Fault, ...]) -> GsdlockError:
    number = f"{len(faults)} faults" if len(faults) > 1 else "a fault"
    if len(faults) >= MOST_FAULTS:
        number = f"at least {MOST_FAULTS} faults"
    return input_error(
        "E-DESCRIPTOR-INVALID",
        f"The descriptor {shown(where, 200)} has {number}: {faults[0]}.",
        "Correct each of the places named; docs/schema/capability.schema.json is the vocabulary.",
        where=where,
        details=[str(f) for f in faults],
    )


def read_descriptor(content: bytes, where: str) -> Any:
    """JSON data from the bytes of a descriptor: at most 8 MiB of UTF-8, no key twice, no NaN, no half of a
    surrogate pair.

    `where` names the file in messages. Raises `E-DESCRIPTOR-SIZE` or `E-DESCRIPTOR-SYNTAX`.
    """
    import json

    if len(content) > MOST_BYTES:
        raise input_error(
            "E-DESCRIPTOR-SIZE",
            f"The descriptor {shown(where, 200)} is larger than 8 MiB.",
            "A descriptor is a few kilobytes: check that this is the right file.",
            where=where,
        )
    try:
        text = content.decode("utf-8")
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        if "\\u" in text:  # an escape may stand for half a character, which has no UTF-8 form
            json.dumps(data, ensure_ascii=False).encode("utf-8")
        return data
    except (ValueError, RecursionError) as error:  # Unicode and JSON errors are ValueErrors
        line = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else shown(str(error), 200)
        raise input_error(
            "E-DESCRIPTOR-SYNTAX",
            f"The descriptor {shown(where, 200)} is not JSON: {reason}.",
            "Correct the file; comments and trailing commas are not JSON.",
            where=f"{where}{line}",
        ) from error


def _faults(data: Any, folder: str | None) -> Iterator[Fault]:
    of_shape = tuple(islice(DESCRIPTOR.check(data, ""), MOST_FAULTS))
    yield from of_shape
    if isinstance(data, dict):
        # Where the shape is wrong already, a relation adds nothing.
        wrong = {fault.pointer for fault in of_shape}
        yield from (fault for fault in _relations(data, folder) if fault.pointer not in wrong)


def _relations(data: Mapping[str, Any], folder: str | None) -> Iterator[Fault]:
    yield from envelope_faults(data, folder)
    role = data.get("role")
    if role == "runtime" and isinstance(data.get("runtime"), dict):
        yield from runtime_faults(data["runtime"])
    elif role == "feature":
        yield from feature_faults(data)
    if role in ("runtime", "reviewer"):
        yield from reviewer_faults(record(data.get("reviewer")))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f'the key "{shown(key)}" stands twice in one object')
            seen.add(key)
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
