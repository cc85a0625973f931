"""The body of a review lane: how a reviewer is asked. It stands on a runtime or on its own capability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import word_sets as sets
from .patterns import CONFIG_KEY, LINE, URL, VARIABLE
from .shapes import (
    ANY_TEXT,
    TEXT,
    Choice,
    Fault,
    ListOf,
    MapOf,
    Nullable,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    choice,
    pointer_to,
    show,
)
from .validate_common import record

_SLUG = Text(
    "lower-case letters, digits, underscore and hyphen",
    r"(?!(?:constructor|prototype)$)[a-z0-9][a-z0-9_-]*",
    64,
)
_REVIEWER_FLAG = Text("-- and lower-case letters, digits and hyphens", r"--[a-z0-9][a-z0-9-]*", 64)
_PATH = Text("a path that starts with /", r"/[^\s\x00-\x1f\x7f-\x9f]*")

_PROBE = Tagged(
    "kind",
    {
        "command-exists": Record({"kind": Choice(("command-exists",)), "binary": TEXT}),
        "command-capability": Record(
            {"kind": Choice(("command-capability",)), "binary": TEXT, "needle": TEXT, "timeoutMs": Whole(1)}
        ),
        "http-reachable": Record(
            {
                "kind": Choice(("http-reachable",)),
                "hostConfigKey": CONFIG_KEY,
                "path": _PATH,
                "timeoutMs": Whole(1),
            }
        ),
    },
)
_SPAWN = Record(
    {
        "binary": TEXT,
        "args": ListOf(ANY_TEXT),
        "promptChannel": choice(sets.PROMPT_CHANNELS),
        "outputChannel": choice(sets.OUTPUT_CHANNELS),
        "modelArg": Nullable(TEXT),
        "effortChannel": choice(sets.EFFORT_CHANNELS),
    },
    {"outputArg": TEXT, "env": MapOf(VARIABLE, ANY_TEXT)},
)
_HTTP = Record(
    {
        "hostConfigKey": CONFIG_KEY,
        "path": _PATH,
        "modelDiscovery": choice(sets.MODEL_DISCOVERIES),
        "effortChannel": Choice(("none",)),
    },
    {"defaultHost": URL, "fallbackModel": TEXT},
)
_COMMON: dict[str, Shape] = {
    "slug": _SLUG,
    "flags": ListOf(_REVIEWER_FLAG, least=1, unique=True),
    "probe": _PROBE,
    "timeoutFloorMs": Whole(1),
    "emptyOutput": choice(sets.EMPTY_OUTPUTS),
    "reviewsSection": LINE,
    "evidenceClass": choice(sets.EVIDENCE_CLASSES),
    "requiresBinaries": ListOf(TEXT),
    "promptBudgetKey": Nullable(CONFIG_KEY),
    "handler": choice(sets.REVIEWER_HANDLERS, None),
}
_OPTIONAL: dict[str, Shape] = {
    "modelConfigKey": Nullable(CONFIG_KEY),
    "timeoutConfigKey": Nullable(CONFIG_KEY),
    "effortConfigKey": Nullable(CONFIG_KEY),
    "defaultEffort": choice(sets.EFFORTS),
}
# Unknown fields are warnings here, as they are for host behaviours: see `warnings`.
REVIEWER = Tagged(
    "transport",
    {
        "spawn": Record({"transport": Choice(("spawn",)), **_COMMON, "invoke": _SPAWN}, _OPTIONAL, open=True),
        "openai-http": Record(
            {"transport": Choice(("openai-http",)), **_COMMON, "invoke": _HTTP}, _OPTIONAL, open=True
        ),
    },
)
REVIEWER_FIELDS = frozenset({"transport", "invoke", *_COMMON, *_OPTIONAL})


def reviewer_faults(body: Mapping[str, Any]) -> Iterator[Fault]:
    """The relations between the fields of a lane; parts of a wrong shape are passed over."""
    invoke = record(body.get("invoke"))
    if body.get("transport") == "spawn":
        to_file, has_arg = invoke.get("outputChannel") == "file-arg", "outputArg" in invoke
        if to_file and not has_arg:
            yield Fault(
                "/reviewer/invoke/outputArg", "is missing with outputChannel file-arg", None, (TEXT.what,)
            )
        elif has_arg and not to_file:
            message = "goes with outputChannel file-arg only"
            yield Fault("/reviewer/invoke/outputArg", message, show(invoke["outputArg"]), ("no such field",))
        for name in record(invoke.get("env")):
            if name.upper() in sets.DENIED_LANE_VARIABLES:
                at = pointer_to("/reviewer/invoke/env", name)
                yield Fault(at, "must not be set by a lane", show(name), ("any other variable",))
    if "defaultEffort" in body and not isinstance(body.get("effortConfigKey"), str):
        message = "needs an effortConfigKey"
        yield Fault("/reviewer/defaultEffort", message, show(body["defaultEffort"]), ("no such field",))
