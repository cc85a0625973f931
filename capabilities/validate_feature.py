"""The body of a feature: its shape, and what its parts say of one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import word_sets as sets
from .patterns import CONFIG_KEY, EVENT, ID, LINE, NAME, RELATIVE, SCRIPT, STEM, URL, VARIABLE
from .shapes import (
    ANY_TEXT,
    TEXT,
    Anything,
    Choice,
    Either,
    Fault,
    Flag,
    ListOf,
    MapOf,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    choice,
    show,
)
from .validate_common import items, record, strings

_MODULE = Text("a file name that ends in .cjs", r"[A-Za-z0-9_][A-Za-z0-9._-]*\.cjs", 128)
_MCP_NAME = Text(
    "letters, digits, underscore and hyphen", r"(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9_-]*", 64
)
_POINT = Choice(sets.LOOP_POINTS)
_ON_ERROR = choice(sets.ON_ERROR)
_NAMES = ListOf(NAME)
_FRAGMENT = Record({}, {"path": RELATIVE, "inline": TEXT}, count=(1, 2))
_FLOW: dict[str, Shape] = {"point": _POINT, "produces": _NAMES, "consumes": _NAMES}


def _mcp_remote(type_: str) -> Record:
    return Record({"type": Choice((type_,)), "url": URL}, {"headers": MapOf(LINE, ANY_TEXT)})


_MCP_SERVER = Tagged(
    "type",
    {
        "stdio": Record(
            {"command": LINE},
            {"type": Choice(("stdio",)), "args": ListOf(ANY_TEXT), "env": MapOf(VARIABLE, ANY_TEXT)},
        ),
        "http": _mcp_remote("http"),
        "sse": _mcp_remote("sse"),
    },
    default="stdio",
)

FEATURE_REQUIRED: dict[str, Shape] = {
    "runtimeCompat": Record(
        {"supported": ListOf(Either(ID, ("*",)), least=1), "unsupported": ListOf(ID)},
        {"notes": MapOf(Text("a runtime id or *", rf"\*|{ID.pattern}", 128), TEXT)},
    ),
    "skills": ListOf(STEM),
    "agents": ListOf(STEM),
}
FEATURE_OPTIONAL: dict[str, Shape] = {
    "hooks": ListOf(Record({"event": EVENT, "script": SCRIPT}, {"matcher": LINE, "timeout": Whole(1)})),
    "commands": ListOf(
        Record({"family": STEM, "module": _MODULE, "router": NAME}, {"subcommands": ListOf(NAME)})
    ),
    "mcpServers": MapOf(_MCP_NAME, _MCP_SERVER),
    "activationKey": CONFIG_KEY,
    "steps": ListOf(
        Record(
            {
                **_FLOW,
                "ref": Record({}, {"skill": STEM, "agent": STEM, "command": TEXT}, count=(1, 1)),
                "onError": _ON_ERROR,
            },
            {"when": CONFIG_KEY, "fragment": _FRAGMENT},
        )
    ),
    "contributions": ListOf(
        Record(
            {**_FLOW, "into": NAME, "fragment": _FRAGMENT},
            {"when": CONFIG_KEY, "onError": _ON_ERROR, "configValues": MapOf(NAME, CONFIG_KEY)},
        )
    ),
    "gates": ListOf(
        Record(
            {
                "point": _POINT,
                "check": Record(
                    {},
                    {
                        "query": TEXT,
                        "predicate": MapOf(NAME, Anything()),
                        "agentVerdict": MapOf(NAME, Anything()),
                    },
                    count=(1, 1),
                ),
                "blocking": Flag(),
                "onError": _ON_ERROR,
            },
            {"when": CONFIG_KEY},
        )
    ),
}


def feature_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """The relations between the parts of a feature; parts of a wrong shape are passed over."""
    yield from _compat_faults(record(data.get("runtimeCompat")))
    yield from _ref_faults(data)
    yield from _role_faults(data)
    yield from _key_faults(data)
    for index, gate in enumerate(map(record, items(data.get("gates")))):
        if "agentVerdict" in record(gate.get("check")) and gate.get("blocking") is True:
            message = "must be false for an agentVerdict: the word of a model does not block"
            yield Fault(f"/gates/{index}/blocking", message, "true", ("false",))


def _compat_faults(compat: Mapping[str, Any]) -> Iterator[Fault]:
    supported = strings(compat.get("supported"))
    if "*" in supported and len(supported) > 1:
        message = "must stand alone where it stands"
        yield Fault(f"/runtimeCompat/supported/{supported.index('*')}", message, '"*"', ('["*"]', "ids"))


def _ref_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """A step refers to a skill or an agent that the feature owns."""
    owned = {"skill": strings(data.get("skills")), "agent": strings(data.get("agents"))}
    for index, step in enumerate(map(record, items(data.get("steps")))):
        for kind, stem in record(step.get("ref")).items():
            at = f"/steps/{index}/ref/{kind}"
            if kind == "skill" and isinstance(stem, str) and stem.startswith("gsd-"):
                yield Fault(at, "must be a stem without gsd-", show(stem), tuple(owned["skill"]))
            elif kind in owned and isinstance(stem, str) and stem not in owned[kind]:
                yield Choice(tuple(owned[kind])).fault(stem, at)


def _role_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """A contribution goes into an agent role of the step that its point belongs to."""
    for index, contribution in enumerate(map(record, items(data.get("contributions")))):
        point, into = contribution.get("point"), contribution.get("into")
        roles = sets.LOOP_ROLES.get(point.split(":")[0]) if isinstance(point, str) else None
        if roles is not None and isinstance(into, str) and into not in roles:
            yield choice(roles).fault(into, f"/contributions/{index}/into")


def _key_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """`activationKey` and each `when` is a config key of the feature itself."""
    own = Choice(tuple(record(data.get("config"))))
    places = {"/activationKey": data.get("activationKey")}
    for section in ("steps", "contributions", "gates"):
        for index, item in enumerate(map(record, items(data.get(section)))):
            places[f"/{section}/{index}/when"] = item.get("when")
    for pointer, key in places.items():
        if isinstance(key, str) and key not in own.members:
            yield own.fault(key, pointer)
