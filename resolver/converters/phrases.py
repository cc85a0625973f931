"""What a GSD pack itself says to the hosts: headers and single sentences that it puts around its commands.

A pack carries these words in its own program code (`gsd-core/bin/lib/*.cjs`), as strings. They are content
of the pack like the commands themselves, they change with its releases, and its workflows build on them (the
fallback to `--text` in the header for Codex, for one). So they are read from there, as text: no code of a
pack is ever run. Where a pack has not the string, or one with a hole that is not known here, the converters
use words of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from ...capabilities.gsd_layout import Wording

_CONVERSION: Final = "gsd-core/bin/lib/runtime-artifact-conversion.cjs"
_LAYOUT: Final = "gsd-core/bin/lib/runtime-artifact-layout.cjs"
_PROFILES: Final = "gsd-core/bin/lib/install-profiles.cjs"
_INSTALLER: Final = "bin/install.js"
_SURFACE: Final = "gsd-core/bin/lib/runtime-hooks-surface.cjs"
# A string of JavaScript: a template with `${holes}`, or one between quotes.
_STRING: Final = r"(?:`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\")"
_SUM: Final = rf"({_STRING}(?:\s*\+\s*{_STRING})*)"
_INSIDE: Final = r"((?:\\.|[^`\\])*?)"
_HOLE: Final = re.compile(r"\$\{([\w.]+)\}")
# What can stand between quotes of a shell and of JSON as it is.
_UNQUOTED: Final = re.compile(r"[\w .,:;()/+-]+", re.ASCII)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.)|(\n))", re.DOTALL)
_ESCAPED: Final = MappingProxyType({"n": "\n", "t": "\t"})


class Phrase(Enum):
    """A phrase of the pack, and what stands in its holes: `name` is the artifact's final name, `stem` its
    name in the pack, `role` the role that is handed on, as it is written in the call."""

    CODEX_HEADER = "the header of a skill for Codex"
    CURSOR_HEADER = "the header of a skill for Cursor"
    WINDSURF_HEADER = "the header of a skill for Windsurf"
    AUGMENT_HEADER = "the header of a skill for Augment"
    READ_WORKFLOW = "that a workflow is read from the project or else from the user's folder"
    READ_BELOW = "that a router's skill is read from below it"
    KIMI_CALL = "how a skill of Kimi is called"
    KIMI_ROOT = "the prompt of Kimi's root agent"
    WINDSURF_WORKFLOW = "that a workflow of Windsurf is the command of the pack"
    ROLE_PROMPT = "where the text of a role is to be found that is handed on with a task"
    ROLE_NOTE = "that such a task hands nothing on, as a comment behind it"
    HERMES_CATEGORY = Wording.HERMES_CATEGORY.value
    CLINE_RULES = Wording.CLINE_RULES.value
    COPILOT_PLANNED = Wording.COPILOT_PLANNED.value
    COPILOT_UNPLANNED = Wording.COPILOT_UNPLANNED.value
    COPILOT_BEFORE_TOOL = Wording.COPILOT_BEFORE_TOOL.value
    COPILOT_AFTER_TOOL = Wording.COPILOT_AFTER_TOOL.value
    COPILOT_PROMPT = Wording.COPILOT_PROMPT.value
    COPILOT_END = Wording.COPILOT_END.value


class _Place(Struct, frozen=True):
    """Where a phrase stands: the file, what leads to it (one group: strings, or the inside of one), and the
    holes by the names that they have there. `joint` stands between strings of a list. A phrase that goes
    between quotes (`quoted`) counts only where it needs none of its own."""

    file: str
    lead: str
    holes: Mapping[str, str] = MappingProxyType({})
    joint: str = ""
    quoted: bool = False


def _header(host: str) -> _Place:
    lead = rf"function get{host}SkillAdapterHeader\((?:(?!\nfunction ).)*?return {_SUM};"
    return _Place(_CONVERSION, lead, {"skillName": "{name}", "invocation": "${name}"})


def _list(file: str, function: str, holes: Mapping[str, str] = MappingProxyType({})) -> _Place:
    """The strings of a list in a function, as lines."""
    lead = rf"function {function}\((?:(?!\nfunction ).)*?(?:return|=) \[((?:\s*{_STRING},?)+)\s*\]\.join"
    return _Place(file, lead, holes, joint="\n")


def _message(name: str) -> _Place:
    """A message that a hook of Copilot prints."""
    return _Place(_SURFACE, rf"const GSD_COPILOT_{name} =\s*{_SUM};", quoted=True)


_PLACES: Final[Mapping[Phrase, _Place]] = MappingProxyType(
    {
        Phrase.CODEX_HEADER: _header("Codex"),
        Phrase.CURSOR_HEADER: _header("Cursor"),
        Phrase.WINDSURF_HEADER: _header("Windsurf"),
        Phrase.AUGMENT_HEADER: _header("Augment"),
        Phrase.READ_WORKFLOW: _Place(
            _CONVERSION,
            rf"WORKFLOW_SPEC_ROOT_INCLUDE_RE, \((?:(?!\nfunction ).)*?return \({_SUM} \+\s*cr\)",
            {"stem": "{stem}"},
        ),
        Phrase.READ_BELOW: _Place(
            _PROFILES,
            rf"function transformRouterBodyToNested\((?:(?!\nfunction ).)*?\.replace\(/[^/\n]+/, {_SUM}\)",
            {},
        ),
        Phrase.KIMI_CALL: _Place(
            _CONVERSION,
            rf"\\n---\\n{_INSIDE}\$\{{normalizedBody\}}`",
            {"kimiSkillName": "{name}"},
        ),
        Phrase.KIMI_ROOT: _Place(_LAYOUT, rf"const rootAgent = `---.*?\\n---\\n\\n{_INSIDE}`;", {}),
        Phrase.WINDSURF_WORKFLOW: _Place(
            _CONVERSION,
            rf"\$\{{effectiveDescription\}}\\n\\n{_INSIDE}`",
            {"stem": "{stem}", "commandName": "{name}"},
        ),
        Phrase.ROLE_PROMPT: _Place(
            _INSTALLER,
            rf"const promptContentPhrase =\s*{_SUM};",
            {"promptContentParam": "gsd_role_prompt", "roleValueExpr": "{role}"},
        ),
        Phrase.ROLE_NOTE: _Place(_INSTALLER, rf"const depthNote = canOrchestrate \? '' : {_SUM};", {}),
        Phrase.HERMES_CATEGORY: _list(
            _INSTALLER, "writeHermesCategoryDescription", {"pkg.version": "{version}"}
        ),
        Phrase.CLINE_RULES: _list(_SURFACE, "buildClineRulesBody"),
        Phrase.COPILOT_PLANNED: _message("SESSION_MSG_PRESENT"),
        Phrase.COPILOT_UNPLANNED: _message("SESSION_MSG_ABSENT"),
        Phrase.COPILOT_BEFORE_TOOL: _message("PRE_TOOL_MSG"),
        Phrase.COPILOT_AFTER_TOOL: _message("POST_TOOL_MSG"),
        Phrase.COPILOT_PROMPT: _message("PROMPT_SUBMIT_MSG"),
        Phrase.COPILOT_END: _message("SESSION_END_MSG"),
    }
)

Phrases = Mapping[Phrase, str]
NONE: Final[Phrases] = MappingProxyType({})


def read_phrases(read: Callable[[str], str | None]) -> Phrases:
    """The phrases that a pack has. `read` gives the text of a file of the pack by its path, None where there
    is none of it."""
    texts: dict[str, str] = {}
    found: dict[Phrase, str] = {}
    for phrase, place in _PLACES.items():
        if place.file not in texts:
            texts[place.file] = read(place.file) or ""
        match = re.search(place.lead, texts[place.file], re.DOTALL)
        text = None if match is None else _text(match[1], place)
        if text is not None and not (place.quoted and not _UNQUOTED.fullmatch(text)):
            found[phrase] = text
    return MappingProxyType(found)


def fill(text: str, **values: str) -> str:
    """A phrase with its holes filled."""
    for name, value in values.items():
        text = text.replace(_mark(name), value)
    return text


def _mark(name: str) -> str:
    """A hole, as text that no pack holds: its source had a NUL in a string of program code."""
    return f"\0{name}\0"


def _text(source: str, place: _Place) -> str | None:
    """What strings of JavaScript say; None where one has a hole that is not known."""
    strings = place.joint or source[:1] in "`'\""
    parts: Iterator[str] = (m[0][1:-1] for m in re.finditer(_STRING, source)) if strings else iter((source,))
    text = place.joint.join(_plain(p, place.holes) for p in parts)
    return None if "${" in text else text


def _plain(source: str, holes: Mapping[str, str]) -> str:
    def hole(match: re.Match[str]) -> str:
        known = holes.get(match[1])
        return match[0] if known is None else re.sub(r"\{(\w+)\}", lambda m: _mark(m[1]), known)

    def escape(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return "" if match[3] else _ESCAPED.get(match[2], match[2])

    return _ESCAPE.sub(escape, _HOLE.sub(hole, source))
