"""What a host takes as its own configuration file: the shapes behind the `fileRules` axis.

A host that dislikes one value may drop a whole file, or not start at all. So a file is held against these
rules before it is written. Sources: what the clients did when they were given such files, and for servers the
`mcp` axis. The rules say no more than what makes a host refuse: unknown keys are nobody's fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from .model import McpPlace, Runtime
from .shapes import (
    ANY_TEXT,
    TEXT,
    Anything,
    ByKind,
    Choice,
    Fault,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Record,
    Shape,
    Tagged,
)
from .vocabulary import FileRule, McpShape

_MOST = 1_000_000  # hosts set no bound of their own


def rules_of(runtime: Runtime, key: str) -> tuple[FileRule, ...]:
    """The rules for the file `key` (`root:path`) of a runtime; empty where none are known."""
    return tuple(
        rule for pattern, rules in runtime.file_rules.items() if _matches(pattern, key) for rule in rules
    )


def file_faults(
    rules: tuple[FileRule, ...], place: McpPlace | None, data: bytes, meaning: Any
) -> Iterator[Fault]:
    """Why a host would refuse a file, or leave out a part of it.

    `data` are the bytes and `meaning` what they say as plain data (None for an empty document). `place` is
    where the host is told of MCP servers, for the rule `servers`."""
    if meaning is None:
        return
    for rule in rules:
        if rule is FileRule.STRICT_JSON:
            yield from _strict(data)
        elif rule is FileRule.SERVERS:
            if place is not None:
                yield from _below(place.at, _SERVERS[place.shape]).check(meaning, "")
        else:
            yield from _RULES[rule].check(meaning, "")


def _strict(data: bytes) -> Iterator[Fault]:
    import json

    try:
        json.loads(data.decode("utf-8-sig"))
    except ValueError:
        yield Fault("", "holds comments or trailing commas, which this host does not read")


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile("[^/]*".join(map(re.escape, pattern.split("*"))))


def _matches(pattern: str, key: str) -> bool:
    return pattern == key if "*" not in pattern else _pattern(pattern).fullmatch(key) is not None


def _below(pointer: str, shape: Shape) -> Shape:
    """A shape of what stands at a pointer, as a shape of the whole document."""
    for part in reversed(pointer.split("/")[1:]):
        shape = _open(**{part.replace("~1", "/").replace("~0", "~"): shape})
    return shape


def _open(**optional: Shape) -> Record:
    return Record({}, optional, open=True)


def _map(shape: Shape) -> MapOf:
    return MapOf(ANY_TEXT, shape, _MOST)


def _list(shape: Shape, least: int = 0) -> ListOf:
    return ListOf(shape, least, most=_MOST)


# Hooks. A handler without what its type needs makes claude refuse the whole file; `timeout` is a number.
_TIMES: Mapping[str, Shape] = {"timeout": Number(), "timeoutSec": Number()}
_HANDLER = Tagged(
    "type",
    {
        "command": Record({"type": Choice(("command",)), "command": TEXT}, _TIMES, open=True),
        "prompt": Record({"type": Choice(("prompt",)), "prompt": TEXT}, _TIMES, open=True),
        "agent": Record({"type": Choice(("agent",)), "prompt": TEXT}, _TIMES, open=True),
        "http": Record({"type": Choice(("http",)), "url": TEXT}, _TIMES, open=True),
    },
    others=Record({"type": TEXT}, open=True),
)
_GROUP = Record({"hooks": _list(_HANDLER)}, {"matcher": ANY_TEXT}, open=True)
_RUNS = ("command", "bash", "powershell", "prompt", "url", "hooks")
_ENTRY = Record({}, dict.fromkeys(_RUNS, Anything()), open=True, count=(1, len(_RUNS)))
_KIMI_HOOK = Record({"event": TEXT, "command": TEXT}, {"matcher": ANY_TEXT, "timeout": Number()})

# Permissions
_MODE = Choice(("ask", "allow", "deny"))
_ONE_OR_MORE = "ask, allow, deny or an object"
_MODES = ByKind({str: _MODE, dict: _map(ByKind({str: _MODE, dict: _map(_MODE)}, _ONE_OR_MORE))}, _ONE_OR_MORE)

_RULES: Mapping[FileRule, Shape] = MappingProxyType(
    {
        FileRule.HOOK_GROUPS: _open(hooks=_map(_list(_GROUP))),
        FileRule.HOOK_ENTRIES: _open(hooks=_map(_list(_ENTRY))),
        FileRule.HOOK_TABLES: _open(hooks=_list(_KIMI_HOOK)),
        FileRule.HOOKS_BY_EVENT: _open(hooks=Nullable(_open())),
        FileRule.HOOKS_ALONE: Record({}, {"description": Anything(), "hooks": Anything()}),
        FileRule.VERSIONED: Record({"version": Number()}, open=True),
        FileRule.PERMISSION_LISTS: _open(
            permissions=_open(**dict.fromkeys(("allow", "ask", "deny"), _list(TEXT)))
        ),
        FileRule.PERMISSION_MODES: _open(permission=_MODES),
        FileRule.SWITCHES: _open(
            features=_map(ByKind({bool: Flag(), dict: _open()}, "true, false or a table"))
        ),
        FileRule.AGENT_TABLE: _open(agents=_open()),
    }
)


def _server(*addresses: str) -> Shape:
    """Servers by name, each with a command or one of these addresses."""
    ways = ("command", *addresses)
    return Nullable(_map(Record({}, dict.fromkeys(ways, TEXT), open=True, count=(1, len(ways)))))


_SERVERS: Mapping[McpShape, Shape] = MappingProxyType(
    {
        McpShape.PLAIN: _server("url"),
        McpShape.TYPED: _server("url"),
        McpShape.REMOTE_TYPED: _server("url"),
        McpShape.SERVER_URL: _server("serverUrl", "url"),
        McpShape.GEMINI: _server("url", "httpUrl"),
        McpShape.COPILOT: _server("url"),
        McpShape.CODEX: _server("url"),
        McpShape.OPENCODE: _map(
            Tagged(
                "type",
                {
                    "local": Record({"type": Choice(("local",)), "command": _list(TEXT, 1)}, open=True),
                    "remote": Record({"type": Choice(("remote",)), "url": TEXT}, open=True),
                },
                # Without a type it switches on or off what another file brings, and must say which.
                others=Record({"enabled": Flag()}, open=True),
            )
        ),
    }
)
