"""Sub-agent calls for a host that has no named sub-agents, only a task that is handed on with a role.

The source calls `Agent(subagent_type="x", prompt="…", model="{…}", run_in_background=true)`, or the same as
one object. Such a host gets the role's own text along with the task, and takes no model for one call.
"""

from __future__ import annotations

import re

from .phrases import NONE, Phrase, Phrases, fill

_CALL = re.compile(r"Agent(?:(?=\()| tool\b|(?= available\b)|(?= has no\b))")
# A call with one object, whose first member is the role.
_OBJECT = re.compile(r"(?<=Agent\()\{(?P<start>\n[ \t]+subagent_type): (?P<rest>.*?\n)\}(?=\))", re.DOTALL)
# The role, as a literal or as a field; then a comma and the indentation of the next line, where there is one.
_ROLE = re.compile(
    r"subagent_type(?P<is>=|: )(?P<role>\"gsd-[\w-]+\"|\"\{\w+\}\"|[a-z_]\w*(?:\.\w+)+)"
    r"(?P<rest>,[ \t]*\n(?P<indent>[ \t]*))?"
)
_MODEL_LINE = re.compile(r'^[ \t]*model="\{\w+\}",?[ \t]*\n', re.MULTILINE)
_MODEL = re.compile(r'(?:,[ \t]*)?model=(?:"\{\w+\}"|[a-z_]\w+)(?=\))|model="\{\w+\}"(?:,[ \t]*)?')
_NESTED = "Agent has no "
_OTHER = re.compile(r"subagent_type(?=\s*[=:])")
_BACKGROUND = re.compile(r"run_in_background(?=[=:])")


def delegated(text: str, phrases: Phrases = NONE) -> str:
    """`text` with every call of a sub-agent as `delegate_task`; `phrases` are those of the pack."""
    text = _CALL.sub(_call, _OBJECT.sub(_flat, text))
    text = _ROLE.sub(lambda m: _role(m, phrases), text)
    if "model=" in text:
        text = _MODEL.sub(_quoted_only, _MODEL_LINE.sub("", text))
    return _BACKGROUND.sub("background", _OTHER.sub("gsd_role", text))


def _call(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - len(_NESTED)) : match.start()]
    if before[-1:].isalnum() or before.endswith("_"):
        return match[0]
    return "nested delegate_task" if before == _NESTED else "delegate_task"


def _flat(match: re.Match[str]) -> str:
    """The call without its object: the host's takes arguments by name."""
    return f"{match['start']}={match['rest']}"


def _quoted_only(match: re.Match[str]) -> str:
    """Nothing, but for a mention of the argument in a code span."""
    return match[0] if match.start() and match.string[match.start() - 1] == "`" else ""


def _role(match: re.Match[str], phrases: Phrases) -> str:
    """The role, its text, and that it hands nothing on; on lines of their own where the call has lines.

    A template that shows the call under another name (`Task(…)`) gets the role alone.
    """
    is_, role, rest = match["is"], match["role"], match["rest"]
    text, end = match.string, match.start()
    if text.rfind("Task(", 0, end) > text.rfind("delegate_task", 0, end):
        return f"gsd_role{is_}{role}" + (rest or "")
    named = f"the text of agents/{role[1:-1]}.md" if role[0] == '"' else f"the text of the agent {role}"
    prompt = f"gsd_role_prompt=<{named}; stop with an error where there is none>"
    prompt = fill(phrases.get(Phrase.ROLE_PROMPT, prompt), role=role).replace("=", is_, 1)
    parts = (f"gsd_role{is_}{role}", prompt, f'role{is_}"leaf"')
    if rest is None:
        return ", ".join(parts)
    return f",\n{match['indent']}".join(parts) + rest.replace(",", "," + phrases.get(Phrase.ROLE_NOTE, ""), 1)
