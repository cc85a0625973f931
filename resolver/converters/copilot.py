"""Copilot and Antigravity: skills and agents with the tools of the host, in neutral words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from . import dialects, frontmatter, steps
from .context import ConvertContext
from .speech import speak
from .tools import gemini_tools

_TOOLS: Final = MappingProxyType(
    {
        "Read": "read",
        "Write": "edit",
        "Edit": "edit",
        "MultiEdit": "edit",
        "Bash": "execute",
        "Grep": "search",
        "Glob": "search",
        "Task": "agent",
        "Agent": "agent",
        "WebSearch": "web",
        "WebFetch": "web",
        "TodoWrite": "todo",
        "AskUserQuestion": "ask_user",
        "SlashCommand": "skill",
    }
)
# Copilot refuses a skill with a longer description (hosts.md).
_LONGEST: Final = 1024
_DOCUMENTATION_SERVER: Final = "mcp__context7__"


def copilot_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Copilot: tools as one line, by Claude's names."""
    document = frontmatter.split(speak(text, dialects.COPILOT, context))
    given = frontmatter.fields(document.front)
    lines = _head(context.name, given)
    if hint := frontmatter.text_of(given.get("argument-hint")):
        lines.append(f"argument-hint: {frontmatter.quoted(hint)}")
    if agent := frontmatter.text_of(given.get("agent")):
        lines.append(f"agent: {frontmatter.plain(agent)}")
    if tools := frontmatter.list_of(given.get("allowed-tools")):
        lines.append(f"allowed-tools: {frontmatter.scalar(', '.join(tools))}")
    return frontmatter.block(lines) + document.body


def copilot_agent(text: str, context: ConvertContext) -> str:
    """An agent of Copilot: its tools by the host's names, as a list."""
    document = frontmatter.split(speak(steps.drop_sections(text), dialects.COPILOT, context))
    given = frontmatter.fields(document.front)
    lines = _head(context.called(given), given)
    tools = dict.fromkeys(_tool(t) for t in frontmatter.list_of(given.get("tools")))
    if tools:
        lines.append(f"tools: [{', '.join(_single(t) for t in tools)}]")
    return frontmatter.block([*lines, *_color(given)]) + document.body


def antigravity_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Antigravity: name and description."""
    document = frontmatter.split(speak(text, dialects.ANTIGRAVITY, context))
    return frontmatter.block(_head(context.name, frontmatter.fields(document.front))) + document.body


def antigravity_agent(text: str, context: ConvertContext) -> str:
    """An agent of Antigravity: its tools by Gemini's names, as one line; those it lacks are left out."""
    document = frontmatter.split(speak(steps.drop_sections(text), dialects.ANTIGRAVITY, context))
    given = frontmatter.fields(document.front)
    lines = _head(context.called(given), given)
    if tools := gemini_tools(frontmatter.list_of(given.get("tools"))):
        lines.append(f"tools: {', '.join(tools)}")
    return frontmatter.block([*lines, *_color(given)]) + document.body


def _head(name: str, given: Mapping[str, Any]) -> list[str]:
    description = frontmatter.clipped(frontmatter.description(given, name), _LONGEST)
    return [f"name: {frontmatter.plain(name)}", f"description: {frontmatter.quoted(description)}"]


def _color(given: Mapping[str, Any]) -> list[str]:
    color = frontmatter.text_of(given.get("color"))
    return [f"color: {frontmatter.plain(color)}"] if color else []


def _tool(name: str) -> str:
    if name.startswith(_DOCUMENTATION_SERVER):
        return "io.github.upstash/context7/" + name.removeprefix(_DOCUMENTATION_SERVER)
    return _TOOLS.get(name) or (name if name.startswith("mcp__") else name.lower())


def _single(text: str) -> str:
    """`text` between single quotes, where such a scalar can hold it."""
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else frontmatter.quoted(text)
