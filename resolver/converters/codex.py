"""Codex: skills with a header that maps Claude's tools to its own, agents as Markdown and as TOML.

Axes: `agentTomlFiles` (a TOML file beside each agent's Markdown), `sandboxTier`.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ...capabilities.vocabulary import SandboxTier
from . import dialects, frontmatter, headers, names, steps
from .context import ConvertContext
from .phrases import Phrase
from .speech import say, speak
from .toml_text import basic_string, text_block

_SHORT: Final = 180
_WRITERS: Final = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})


def skill(text: str, context: ConvertContext) -> str:
    """A command as a skill that is called `$name`."""
    document = frontmatter.split(speak(text, dialects.CODEX, context, tilde=True))
    description = frontmatter.description(frontmatter.fields(document.front), context.name)
    head = frontmatter.block(
        [
            f"name: {frontmatter.quoted(context.name)}",
            f"description: {frontmatter.quoted(description)}",
            "metadata:",
            f"  short-description: {frontmatter.quoted(frontmatter.clipped(description, _SHORT))}",
        ]
    )
    header = headers.skill_header(Phrase.CODEX_HEADER, context)
    return f"{head}\n{header}\n\n{document.body.lstrip()}"


def agent(text: str, context: ConvertContext) -> str:
    """An agent as Markdown: name, description, and its role as a header."""
    document = frontmatter.split(speak(steps.drop_sections(text), dialects.CODEX, context))
    given = frontmatter.fields(document.front)
    name = context.called(given)
    description = frontmatter.description(given, name)
    head = frontmatter.block(
        [f"name: {frontmatter.quoted(name)}", f"description: {frontmatter.quoted(description)}"]
    )
    tools = ", ".join(frontmatter.list_of(given.get("tools")))
    return f"{head}\n{headers.codex_role(name, tools, description)}\n{document.body}"


def agent_toml(text: str, context: ConvertContext) -> str:
    """An agent as the TOML file that the host reads.

    `name`, `description` and `developer_instructions` are required, and a key that the host does not know
    makes it ignore the file (hosts.md). The host expands no `~` in it, so paths to the payload are absolute.
    The sandbox is the one that the pack's makers give (`rights`); where they are silent it follows from the
    agent's own tools.
    """
    to = replace(context.directory, tilde=context.directory.short)
    text = names.name_directory(names.name_paths(steps.drop_sections(text), to), to)
    document = frontmatter.split(say(text, dialects.CODEX, context))
    given = frontmatter.fields(document.front)
    name = context.called(given)
    body = document.body.strip().replace(
        f"{names.below(to.tilde)}gsd-core/", f"{names.below(to.path)}gsd-core/"
    )
    lines = [
        f"name = {basic_string(name)}",
        f"description = {basic_string(frontmatter.description(given, name))}",
    ]
    if context.runtime.sandbox_tier is not SandboxTier.NONE:
        writes = not _WRITERS.isdisjoint(frontmatter.list_of(given.get("tools")))
        sandbox = context.rights.sandbox_of(name, writes=writes)
        lines.append(f"sandbox_mode = {basic_string(sandbox)}")
    if context.profile.light:
        lines += ['service_tier = "flex"', 'model_verbosity = "low"']
    return "\n".join((*lines, f"developer_instructions = {text_block(body)}", ""))
