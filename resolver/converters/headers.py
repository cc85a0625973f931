"""Headers that tell a host's agent how to read a body that was written for Claude Code's tools.

A body calls tools by Claude's names and passes arguments Claude's way. Where a host has other tools for the
same thing, the header of a skill says which; it is text for a model, in plain sentences. A GSD pack brings
its own headers (`phrases`); these stand in for a pack without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from .context import ConvertContext
from .phrases import Phrase

_ARGS: Final = "{{GSD_ARGS}}"
_CODEX: Final = """\
<codex_skill_adapter>
This skill was written for another agent host. Read it with these rules.

## Calling
The user calls it as `$NAME`. The text after that is `ARGS`; it may be empty.

## Questions
Where the skill says `AskUserQuestion`, use `request_user_input`. `header` and `question` keep their names; an
option written `"Label" — text` becomes `{label, description}`; the `id` is the header in lower case with `_`
for spaces. Several questions of one call go into one `questions` list. `multiSelect` does not exist: ask one
by one, or show a numbered list and take several numbers.

If `request_user_input` is missing or refused, add `--text` to `ARGS`, write the questions out as a numbered
list, and stop until the user has answered. Do not choose for the user, and write no planning file before the
answer, unless the call carries `--auto` or `--all`, the user has agreed to that choice, or the skill itself
says that a default may be taken.

## Sub-agents
Where the skill says `Task(...)` or `Agent(...)`, use `spawn_agent`; look for it with `tool_search` if it is
not in sight, and look at its parameters first.
- With an `agent_type` parameter: `subagent_type` becomes `agent_type`, `prompt` becomes `message`. Give each
  a `task_name`. Leave `model` out: each agent's own file sets it. Pass `reasoning_effort` only where the
  skill has worked one out and the tool takes it. Keep `fork_context` false.
- Without `agent_type`: take `developer_instructions` from `agents/<name>.toml` in the Codex config folder
  (`$CODEX_HOME`, else `.codex` in the project, else `~/.codex`), put them before the prompt, and say in the
  result that a general agent stood in. If the skill needs the real agent, stop and say why.
- `isolation="worktree"` is not a parameter here. Isolation is arranged by the workflow itself (`codex exec
  --cd`); never make work trees by hand for it.
- Start agents that do not depend on each other together, then wait for each with `collaboration.wait_agent`,
  not with `functions.wait`. Read their results for the markers that the skill names, and `close_agent` them
  if that tool is there.
- If the user has not asked for sub-agents and the host refuses them, do the work yourself, in order.
</codex_skill_adapter>"""


def skill_header(phrase: Phrase, context: ConvertContext) -> str:
    """The header of a skill: that of the pack, else our own."""
    return context.said(phrase, name=context.name) or _OWN[phrase](context.name)


def codex_skill(name: str) -> str:
    """For Codex: how the skill is called, and what stands for the questions and the sub-agents."""
    return _CODEX.replace("NAME", name).replace("ARGS", _ARGS)


def codex_role(name: str, tools: str, purpose: str) -> str:
    """For a Codex agent: what it is, as data."""
    return f"<codex_agent_role>\nrole: {name}\ntools: {tools}\npurpose: {purpose}\n</codex_agent_role>"


def cursor_skill(name: str) -> str:
    """For Cursor."""
    return _adapter(
        "cursor",
        name,
        ("`Shell` runs commands; `StrReplace` edits files.", "All other tools have the names used here."),
        ('`Task(subagent_type="generalPurpose", …)`; `model` takes one of Cursor\'s own model names.',),
    )


def windsurf_skill(name: str) -> str:
    """For Windsurf."""
    return _adapter(
        "windsurf",
        name,
        ("`Shell` stands for the terminal and `StrReplace` for editing a file: use yours for them.",),
        ("A skill starts no sub-agents here: do that part of the work yourself, in order.",),
    )


def augment_skill(name: str) -> str:
    """For Augment."""
    return _adapter(
        "augment",
        name,
        (
            "`launch-process` runs commands; `view` reads files and folders.",
            "`save-file` makes a file; `str-replace-editor` changes one.",
            "`web-search` and `web-fetch` reach the web.",
            "`add_tasks`, `update_tasks` and `view_tasklist` keep the list of tasks.",
        ),
        ("Use Augment's own sub-agents; their prompts are in `.augment/agents/`.",),
    )


def _adapter(host: str, name: str, tools: Sequence[str], agents: Sequence[str]) -> str:
    """The header of a host whose bodies already carry its tool names."""
    lines = [
        f"<{host}_skill_adapter>",
        "## Calling",
        f"- This skill runs when the user names `{name}` or asks for what it does.",
        f"- What the user wrote after the name is `{_ARGS}`; it may be empty.",
        "",
        "## Questions",
        "- Where the skill prompts in conversation, show numbered choices and wait for the answer; several",
        "  choices at once are answered with several numbers.",
        "",
        "## Tools",
        *(f"- {line}" for line in tools),
        "",
        "## Sub-agents",
        *(f"- {line}" for line in agents),
        f"</{host}_skill_adapter>",
    ]
    return "\n".join(lines)


_OWN: Final[Mapping[Phrase, Callable[[str], str]]] = MappingProxyType(
    {
        Phrase.CODEX_HEADER: codex_skill,
        Phrase.CURSOR_HEADER: cursor_skill,
        Phrase.WINDSURF_HEADER: windsurf_skill,
        Phrase.AUGMENT_HEADER: augment_skill,
    }
)
