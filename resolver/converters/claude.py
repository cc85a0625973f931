"""Claude Code, and the hosts that read its front matter and know its tools by the same names.

What differs between these hosts are axes: `brandingRewrites`, `skillFrontmatterVersion`,
`skillPriorityFrontmatter`, `agentFrontmatterExtensions`, `hyphenNameAgentBody`, `ownsClaudePaths`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from . import dialects, frontmatter, names, steps
from .context import ConvertContext
from .dialects import Dialect
from .phrases import Phrase
from .speech import say, speak

# The commands of the loop in the order in which a user meets them; the first gets the highest number.
_BY_PRIORITY: Final = (
    "new-project",
    "discuss-phase",
    "plan-phase",
    "execute-phase",
    "progress",
    "verify-work",
    "phase",
    "review",
    "ship",
    "config",
    "surface",
    "resume-work",
    "pause-work",
    "help",
    "update",
)
_SPECIFICATION = re.compile(r"^@(?:~|\$HOME)/\.claude/gsd-core/workflows/([\w./-]+)\.md[ \t]*$", re.MULTILINE)
_EDITORS: Final = ("Write", "Edit", "MultiEdit")


def skill(text: str, context: ConvertContext) -> str:
    """A command as a skill that keeps Claude's front matter and tool names."""
    document = frontmatter.split(text)
    lines = _skill_lines(frontmatter.fields(document.front), context)
    return frontmatter.block(lines) + say(_with_paths(document.body, context), dialects.CLAUDE, context)


def command(text: str, context: ConvertContext) -> str:
    """A command as a command file: its own front matter, its own words."""
    document = frontmatter.split(speak(text, _own_dialect(context), context, tilde=True))
    return document.body if document.front is None else _kept(document.front, document.body)


def agent(text: str, context: ConvertContext) -> str:
    """An agent with its own front matter, and the keys that `agentFrontmatterExtensions` names."""
    front, body = _agent(text, context)
    given = frontmatter.fields(front)
    made = {"effort": context.profile.effort, "disallowedTools": _disallowed(given, context)}
    extensions = context.runtime.host_behaviors.get("agentFrontmatterExtensions") or ()
    return _kept(front, body, [f"{k}: {made[k]}" for k in extensions if made.get(k) and k not in given])


def zcode_agent(text: str, context: ConvertContext) -> str:
    """An agent with its own front matter, without the tools of MCP servers: the host gives it none."""
    front, body = _agent(text, context)
    kept = [_without_mcp(e) for e in frontmatter.entries(front)]
    return _kept("\n".join(kept), body)


def qwen_agent(text: str, context: ConvertContext) -> str:
    """An agent with a YAML list of tools and a colour, in the host's brand."""
    front, body = _agent(text, context)
    given = frontmatter.fields(front)
    name = context.called(given)
    lines = [
        f"name: {frontmatter.plain(name)}",
        f"description: {frontmatter.quoted(frontmatter.description(given, name))}",
    ]
    if tools := frontmatter.list_of(given.get("tools")):
        lines += ["tools:", *(f"  - {frontmatter.plain(t)}" for t in tools)]
    if color := frontmatter.text_of(given.get("color")):
        lines.append(f"color: {frontmatter.plain(color)}")
    return frontmatter.block(lines) + body


def _own_dialect(context: ConvertContext) -> Dialect:
    return dialects.CLAUDE if context.runtime.host_behaviors.get("hyphenNameAgentBody") else dialects.PLAIN


def _agent(text: str, context: ConvertContext) -> tuple[str, str]:
    """Front matter and body of an agent in the host's words; without front matter it gets what hosts need."""
    text = speak(steps.drop_sections(text), _own_dialect(context), context)
    if context.runtime.host_behaviors.get("ownsClaudePaths") and context.since("1.12.0"):
        text = names.shorten_references(text, context.directory)
    document = frontmatter.split(text)
    if document.front is not None:
        return document.front, document.body
    said = frontmatter.quoted(frontmatter.description({}, context.name))
    return f"name: {frontmatter.plain(context.name)}\ndescription: {said}", f"\n\n{document.body}"


def _kept(front: str, body: str, more: Sequence[str] = ()) -> str:
    """A file with the front matter of its source, as legal YAML, and `more` lines at its end."""
    return "---\n" + "\n".join((frontmatter.legal(front), *more)) + "\n---" + body


def _without_mcp(entry: frontmatter.Entry) -> str:
    """The tools of an agent without those of MCP servers; every other entry as it is."""
    tools = frontmatter.fields(entry.source).get(entry.key)
    if entry.key != "tools" or not isinstance(tools, str):
        return entry.source
    return "tools: " + ", ".join(t for t in frontmatter.list_of(tools) if not t.startswith("mcp__"))


def _with_paths(body: str, context: ConvertContext) -> str:
    """The body of a skill with paths of the target.

    On the host that they are written for (`ownsClaudePaths`), `@` references and the directory itself stay
    under `~`, and a lone reference to a workflow, which that host does not follow in a skill, becomes an
    instruction to read the file.
    """
    to = context.directory
    if not context.runtime.host_behaviors.get("ownsClaudePaths"):
        return names.name_directory(names.name_paths(body, to), to)
    home = names.below(to.short)

    def follow(match: re.Match[str]) -> str:
        file = f"gsd-core/workflows/{match[1]}.md"
        here, there = f".claude/{file}", f"~/.claude/{file}"
        otherwise = (
            f"Read `{here}` in the working directory or, where it is not there, `{there}`, and do "
            "what it says. If neither can be read, say so and stop: this command does nothing without it."
        )
        said = context.said(Phrase.READ_WORKFLOW, otherwise, stem=match[1])
        return said.replace(there, home + file).replace(f"`{here}", f"`{names.below(to.local)}{file}")

    body = names.name_paths(_SPECIFICATION.sub(follow, body), to)
    return names.name_directory(names.shorten_references(body, to), replace(to, tilde=to.short))


def _skill_lines(given: Mapping[str, Any], context: ConvertContext) -> list[str]:
    behaviours = context.runtime.host_behaviors
    said = names.name_paths(frontmatter.description(given, context.name), context.directory)
    said = steps.branded(said, context.branding)
    lines = [f"name: {frontmatter.plain(context.name)}", f"description: {frontmatter.quoted(said)}"]
    if behaviours.get("skillFrontmatterVersion") and context.version:
        lines.append(f"version: {frontmatter.quoted(context.version)}")
    if behaviours.get("skillPriorityFrontmatter") and context.stem in _BY_PRIORITY:
        lines.append(f"priority: {100 - 5 * _BY_PRIORITY.index(context.stem)}")
    if hint := frontmatter.text_of(given.get("argument-hint")):
        lines.append(f"argument-hint: {frontmatter.quoted(hint)}")
    lines += [
        f"{key}: {frontmatter.plain(value)}"
        for key in ("agent", "context")
        if (value := frontmatter.text_of(given.get(key)))
    ]
    if tools := frontmatter.list_of(given.get("allowed-tools")):
        lines += ["allowed-tools:", *(f"  - {frontmatter.item(name)}" for name in tools)]
    return lines


def _disallowed(given: Mapping[str, Any], context: ConvertContext) -> str:
    """The editing tools that an agent which only judges does not list, so that no default gives it them: by
    the pack's own table, and where it has none, by the phase that the agent works in."""
    if context.rights.judges is not None:
        return context.rights.judges.get(context.name.partition(".")[0], "")
    tools = frontmatter.list_of(given.get("tools"))
    if not context.profile.verifies or not tools or "Edit" in tools:
        return ""
    return ", ".join(t for t in _EDITORS if t not in tools)
