"""Gemini CLI: commands as TOML with one prompt, agents with a YAML list of Gemini's tools.

The host reads an agent's front matter strictly: a colour, an unknown tool or tools in one line make it refuse
the agent (hosts.md). It fills in `{{args}}` where Claude has `$ARGUMENTS`.
"""

from __future__ import annotations

import re

from . import dialects, frontmatter, steps
from .context import ConvertContext
from .speech import speak
from .toml_text import basic_string
from .tools import gemini_tools

# `${name}` in the text of an agent is a field of the host's own template, and one that it lacks is an error.
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def command(text: str, context: ConvertContext) -> str:
    """A command as a TOML file: `description` and `prompt`."""
    document = frontmatter.split(speak(text, dialects.GEMINI_COMMAND, context))
    description = frontmatter.description(frontmatter.fields(document.front), context.name)
    return f"description = {basic_string(description)}\nprompt = {basic_string(document.body.strip())}\n"


def agent(text: str, context: ConvertContext) -> str:
    """An agent: name, description, tools."""
    document = frontmatter.split(speak(steps.drop_sections(text), dialects.GEMINI_AGENT, context))
    given = frontmatter.fields(document.front)
    name = context.called(given)
    description = frontmatter.scalar(frontmatter.description(given, name))
    lines = [f"name: {frontmatter.plain(name)}", f"description: {description}"]
    if tools := gemini_tools(frontmatter.list_of(given.get("tools"))):
        lines += ["tools:", *(f"  - {tool}" for tool in tools)]
    return frontmatter.block(lines) + _VARIABLE.sub(r"$\1", document.body.removeprefix("\n"))
