"""opencode and kilo: commands with a map of tools, agents with a mode, skills with name and description.

Both hosts read front matter strictly: a list of tools or a colour name that is not theirs makes opencode
refuse to start (hosts.md), so those are always put into their form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from . import dialects, frontmatter, steps
from .context import ConvertContext
from .dialects import Dialect
from .speech import speak

_DESCRIPTION: Final = 1024
_TOOLS: Final = MappingProxyType(
    {"AskUserQuestion": "question", "SlashCommand": "skill", "TodoWrite": "todowrite"}
)
# Colour names that the hosts do not know, as the hex values that they do.
_COLORS: Final = MappingProxyType(
    {
        "cyan": "#00FFFF",
        "red": "#FF0000",
        "green": "#00FF00",
        "blue": "#0000FF",
        "yellow": "#FFFF00",
        "magenta": "#FF00FF",
        "orange": "#FFA500",
        "purple": "#800080",
        "pink": "#FFC0CB",
        "white": "#FFFFFF",
        "black": "#000000",
        "gray": "#808080",
        "grey": "#808080",
    }
)
_HEX = re.compile(r"#[0-9a-f]{6}")
_THEME: Final = frozenset({"primary", "secondary", "accent", "success", "warning", "error", "info"})
# Keys of Claude's agents that mean nothing here or have other values here.
_NOT_IN_AGENTS: Final = frozenset(
    {
        "tools",
        "allowed-tools",
        "skills",
        "color",
        "memory",
        "maxTurns",
        "permissionMode",
        "disallowedTools",
        "model",
        "mode",
        "permission",
    }
)
_NOT_IN_COMMANDS: Final = frozenset({"name", "tools", "allowed-tools", "model"})
# kilo: permission -> the tools of Claude that need it.
_PERMISSIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "read": frozenset({"Read"}),
        "edit": frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"}),
        "bash": frozenset({"Bash"}),
        "grep": frozenset({"Grep"}),
        "glob": frozenset({"Glob"}),
        "task": frozenset({"Task"}),
        "webfetch": frozenset({"WebFetch"}),
        "websearch": frozenset({"WebSearch"}),
        "skill": frozenset({"SlashCommand"}),
        "question": frozenset({"AskUserQuestion"}),
        "todowrite": frozenset({"TodoWrite"}),
        "list": frozenset({"LS"}),
        "codesearch": frozenset(),
        "lsp": frozenset(),
    }
)


def skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of opencode: name, description, body."""
    return _skill(text, dialects.OPENCODE, context)


def kilo_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of kilo."""
    return _skill(text, dialects.KILO, context)


def command(text: str, context: ConvertContext) -> str:
    """A command as a command file of opencode: its own front matter but for the name, tools as a map."""
    return _command(text, dialects.OPENCODE, context)


def kilo_command(text: str, context: ConvertContext) -> str:
    """A command as a command file of kilo."""
    return _command(text, dialects.KILO, context)


def agent(text: str, context: ConvertContext) -> str:
    """An agent as opencode's sub-agent."""
    return _agent(text, dialects.OPENCODE, context, [])


def kilo_agent(text: str, context: ConvertContext) -> str:
    """An agent as kilo's sub-agent: it may do what its list of tools says."""
    given = frontmatter.fields(frontmatter.split(text).front)
    tools = set(frontmatter.list_of(given.get("tools")))
    if not tools:
        return _agent(text, dialects.KILO, context, [])
    allowed = (f"  {p}: {'allow' if tools & needs else 'deny'}" for p, needs in _PERMISSIONS.items())
    return _agent(text, dialects.KILO, context, ["permission:", *allowed])


def _skill(text: str, dialect: Dialect, context: ConvertContext) -> str:
    document = frontmatter.split(speak(text, dialect, context, tilde=True))
    description = frontmatter.description(frontmatter.fields(document.front), context.name)
    lines = [
        f"name: {frontmatter.plain(context.name)}",
        f"description: {frontmatter.quoted(frontmatter.clipped(description, _DESCRIPTION))}",
    ]
    return frontmatter.block(lines) + "\n" + document.body.lstrip()


def _command(text: str, dialect: Dialect, context: ConvertContext) -> str:
    source = frontmatter.split(text)
    body = speak(source.body, dialect, context, tilde=True)
    if source.front is None:
        return body
    given = frontmatter.fields(source.front)
    tools = [*frontmatter.list_of(given.get("tools")), *frontmatter.list_of(given.get("allowed-tools"))]
    names = dict.fromkeys(_tool(t) for t in tools)
    more = ["tools:", *(f"  {frontmatter.item(n)}: true" for n in names)] if names else []
    return _joined(_entries(source.front, _NOT_IN_COMMANDS, dialect, context), more, body)


def _agent(text: str, dialect: Dialect, context: ConvertContext, more: list[str]) -> str:
    source = frontmatter.split(steps.drop_sections(text))
    body = speak(source.body, dialect, context)
    if source.front is None:
        return body
    kept = _entries(source.front, _NOT_IN_AGENTS, dialect, context, comments=False)
    return _joined(kept, ["mode: subagent", *more], body)


def _joined(kept: list[str], more: list[str], body: str) -> str:
    """Entries of the source, made legal, and lines of ours."""
    lines = [frontmatter.legal("\n".join(kept))] if kept else []
    return "\n".join(("---", *lines, *more, "---")) + body


def _entries(
    front: str, without: frozenset[str], dialect: Dialect, context: ConvertContext, *, comments: bool = True
) -> list[str]:
    """The entries of the source but for the keys of `without`, in the host's words."""
    kept: list[str] = []
    for entry in frontmatter.entries(front):
        if entry.key in without or (not entry.key and not comments):
            continue
        if entry.key == "color":
            kept += _color(entry.source)
        else:
            kept.append(speak(entry.source, dialect, context))
    return kept


def _color(source: str) -> list[str]:
    """A colour as the hosts know it: a hex value or a colour of their theme; another one is left out."""
    value: Any = frontmatter.fields(source).get("color")
    name = value.lower() if isinstance(value, str) else ""
    if name in _COLORS:
        return [f'color: "{_COLORS[name]}"']
    return [f'color: "{name}"'] if _HEX.fullmatch(name) or name in _THEME else []


def _tool(name: str) -> str:
    return _TOOLS.get(name) or (name if name.startswith("mcp__") else name.lower())
