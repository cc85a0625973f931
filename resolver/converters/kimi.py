"""Kimi's two clients: skills that are called `/skill:name`, and the agent tree of the older one."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from . import dialects, frontmatter, names, steps
from .context import ConvertContext
from .phrases import Phrase
from .speech import speak

ROOT_AGENT: Final = "gsd"
SUBAGENTS: Final = "subagents"
_TOOLS: Final = MappingProxyType(
    {
        "Read": "kimi_cli.tools.file:ReadFile",
        "Write": "kimi_cli.tools.file:WriteFile",
        "Edit": "kimi_cli.tools.file:StrReplaceFile",
        "MultiEdit": "kimi_cli.tools.file:StrReplaceFile",
        "Bash": "kimi_cli.tools.shell:Shell",
        "Grep": "kimi_cli.tools.file:Grep",
        "Glob": "kimi_cli.tools.file:Glob",
        "WebSearch": "kimi_cli.tools.web:SearchWeb",
        "WebFetch": "kimi_cli.tools.web:FetchURL",
        "Task": "kimi_cli.tools.agent:Agent",
        "Agent": "kimi_cli.tools.agent:Agent",
        "AskUserQuestion": "kimi_cli.tools.ask_user:AskUserQuestion",
    }
)
_ROOT_PROMPT: Final = """\
# GSD

Run the workflows of GSD, which are installed as skills (`/skill:gsd-…`). Where a workflow hands work to an
agent, give it to the sub-agent of that name.
"""


def skill(text: str, context: ConvertContext) -> str:
    """A command as a skill, with a line that says how it is called."""
    document = frontmatter.split(text)
    description = frontmatter.description(frontmatter.fields(document.front), context.name)
    description = names.name_paths(description, context.directory)
    head = frontmatter.block(
        [f"name: {frontmatter.plain(context.name)}", f"description: {frontmatter.quoted(description)}"]
    )
    body = speak(document.body, dialects.KIMI, context)
    otherwise = f"Call this skill with `/skill:{context.name}`.\n"
    return head + context.said(Phrase.KIMI_CALL, otherwise, name=context.name) + body


def agent_files(text: str, context: ConvertContext) -> list[tuple[str, str]]:
    """The files of one sub-agent below the agents folder: its YAML, and its prompt as Markdown."""
    document = frontmatter.split(speak(steps.drop_sections(text), dialects.KIMI_AGENT, context))
    given = frontmatter.fields(document.front)
    tools = dict.fromkeys(_TOOLS[t] for t in frontmatter.list_of(given.get("tools")) if t in _TOOLS)
    manifest = _manifest(context.name, frontmatter.description(given, context.name), tools)
    return [
        (f"{SUBAGENTS}/{context.name}.yaml", manifest),
        (f"{SUBAGENTS}/{context.name}.md", document.body.lstrip()),
    ]


def root_files(agents: Iterable[tuple[str, str]], context: ConvertContext) -> list[tuple[str, str]]:
    """The files of the root agent, which knows all sub-agents: name and source text of each, in order."""
    manifest = _manifest(
        ROOT_AGENT, "Run GSD workflows in Kimi CLI.", ("kimi_cli.tools.agent:Agent",), extend="default"
    )
    lines = ["  subagents:"]
    for name, text in agents:
        given = frontmatter.fields(frontmatter.split(text).front)
        description = speak(frontmatter.description(given, name), dialects.KIMI_AGENT, context)
        lines += [
            f"    {frontmatter.item(name)}:",
            f"      path: ./{SUBAGENTS}/{name}.yaml",
            f"      description: {frontmatter.quoted(description)}",
        ]
    return [
        (f"{ROOT_AGENT}.yaml", manifest + ("\n".join((*lines, "")) if len(lines) > 1 else "")),
        (f"{ROOT_AGENT}.md", context.said(Phrase.KIMI_ROOT, _ROOT_PROMPT)),
    ]


def _manifest(name: str, description: str, tools: Iterable[str], extend: str = "") -> str:
    lines = ["version: 1", "agent:", f"  name: {frontmatter.item(name)}"]
    lines.append(f"  description: {frontmatter.quoted(description)}")
    if extend:
        lines.append(f"  extend: {extend}")
    lines.append(f"  system_prompt_path: ./{name}.md")
    if listed := [f"    - {frontmatter.quoted(t)}" for t in tools]:
        lines += ["  tools:", *listed]
    return "\n".join((*lines, ""))
