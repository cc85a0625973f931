"""The words of each host, as rows of data; `speech` speaks them.

A dialect says how a text that was written for Claude Code reads on another host: how commands, tools, the
config directory and the project's instruction file are called there. Which dialect a text gets follows from
the converter of its layout entry, for payload files from the `textDialect` axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ...capabilities.vocabulary import TextDialect

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_ARGUMENTS = "{{GSD_ARGS}}"


class Spelling(Enum):
    """How a command of the pack is referred to in text. The source spells `/gsd:help`."""

    KEEP = "as in the source"
    KNOWN = "gsd-help, where the command is known"
    TYPED = "/gsd-help, where it is typed"
    SLASH = "every /gsd- "
    EVERY = "every gsd-"
    ANY_CASE = "every gsd-, also GSD: at the start of a message"
    DOLLAR = "$gsd-help"
    SKILL = "/skill:gsd-help"
    COLON = "/gsd:help, also where the source has /gsd-help"


class BareDirectory(Enum):
    """What becomes of `.claude/` without anything before it."""

    KEEP = "left alone: the host reads it too"
    START = "at the start of a path"
    EVERYWHERE = "everywhere"


class CodeWords(Enum):
    """How much of a dialect program code carries; code prints names that a user types or opens."""

    NOTHING = "as in the source"
    NAMES = "commands, the brand, and the instruction file where that is a file"
    ALL = "all of it, paths too"


class Dialect(Struct, frozen=True):
    """One host's words. Empty fields change nothing.

    commands: how a command of the pack is spelled. arguments: what takes the place of `$ARGUMENTS`.
    words, calls: whole words, and names before a `(`, by the host's own. general: the general purpose
    sub-agent. brand: what takes the place of `Claude Code`. neutral: `Claude` is "the agent". file: the
    project's instruction file. bare: what becomes of `.claude/`. config_env: the variable that moves the
    config directory. folders: folders of a project by the host's own, relative_folders: only where a path
    starts with them. subscript: whether `<sub>` is shown. clear: whether the context can be cleared. tool:
    whether the pack's own tool must be run by its path.
    delegates: whether a sub-agent has no name, so that its role is handed over as text. here: whether text of
    a project that names the host's own folder in the user's home means the one of the project. code: how much
    of all this goes for program code. note: the heading under which a pack speaks to this host alone.
    """

    commands: Spelling = Spelling.KEEP
    arguments: str = ""
    words: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    calls: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    general: str = ""
    brand: str = ""
    neutral: bool = False
    file: str = ""
    bare: BareDirectory = BareDirectory.KEEP
    config_env: str = ""
    folders: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    relative_folders: bool = False
    subscript: bool = True
    clear: bool = True
    tool: bool = False
    delegates: bool = False
    here: bool = True
    code: CodeWords = CodeWords.NOTHING
    note: str = ""


_ASK = {"AskUserQuestion": "conversational prompting"}
_SHELL = {"Bash": "Shell", "Edit": "StrReplace"}
OPENCODE = Dialect(
    commands=Spelling.SLASH,
    words={"AskUserQuestion": "question", "SlashCommand": "skill", "TodoWrite": "todowrite"},
    general="general",
    neutral=True,
    file="AGENTS.md",
)
_KILO = {
    ".claude/skills/": ".kilo/skills/",
    ".agents/skills/": ".kilo/skills/",
    ".claude/agents/": ".kilo/agents/",
}
KILO = replace(OPENCODE, folders=_KILO, relative_folders=True)

PLAIN = Dialect()
CLAUDE = Dialect(commands=Spelling.KNOWN)
CODEX = Dialect(
    commands=Spelling.DOLLAR,
    arguments=_ARGUMENTS,
    neutral=True,
    file="AGENTS.md",
    bare=BareDirectory.START,
    clear=False,
    tool=True,
    here=False,
)
GEMINI = Dialect(commands=Spelling.COLON, words=_ASK, subscript=False)
# The host fills in the arguments of a command; its agents are told of their host in neutral words.
GEMINI_COMMAND = replace(GEMINI, arguments="{{args}}")
GEMINI_AGENT = replace(GEMINI, neutral=True, file="GEMINI.md")
CURSOR = Dialect(
    commands=Spelling.ANY_CASE,
    arguments=_ARGUMENTS,
    words=_ASK,
    calls=_SHELL,
    general="generalPurpose",
    brand="Cursor",
    file=".cursor/rules/",
    folders={".claude/skills/": ".cursor/skills/"},
    here=False,
    code=CodeWords.NAMES,
)
WINDSURF = Dialect(
    commands=Spelling.ANY_CASE,
    arguments=_ARGUMENTS,
    words=_ASK,
    calls=_SHELL,
    general="generalPurpose",
    brand="Windsurf",
    file=".windsurf/rules",
    bare=BareDirectory.EVERYWHERE,
    config_env="WINDSURF_CONFIG_DIR",
    code=CodeWords.NAMES,
)
AUGMENT = Dialect(
    commands=Spelling.EVERY,
    arguments=_ARGUMENTS,
    words=_ASK,
    calls={
        "Bash": "launch-process",
        "Edit": "str-replace-editor",
        "Read": "view",
        "Write": "save-file",
        "TodoWrite": "add_tasks",
    },
    general="generalPurpose",
    brand="Augment",
    file=".augment/rules/",
    folders={".claude/skills/": ".augment/skills/"},
)
TRAE = Dialect(
    commands=Spelling.TYPED,
    arguments=_ARGUMENTS,
    calls=_SHELL,
    general="general_purpose_task",
    brand="Trae",
    file=".trae/rules/rules.md",
    bare=BareDirectory.EVERYWHERE,
    config_env="TRAE_CONFIG_DIR",
    code=CodeWords.NAMES,
)
CODEBUDDY = Dialect(
    commands=Spelling.TYPED,
    arguments=_ARGUMENTS,
    brand="CodeBuddy",
    file="CODEBUDDY.md",
    bare=BareDirectory.EVERYWHERE,
)
CLINE = Dialect(
    brand="Cline",
    file=".clinerules",
    bare=BareDirectory.EVERYWHERE,
    config_env="CLINE_CONFIG_DIR",
    code=CodeWords.NAMES,
)
# In a skill of Cline commands are spelled as its users type them.
CLINE_SKILL = replace(CLINE, commands=Spelling.KNOWN)
COPILOT = Dialect(
    commands=Spelling.EVERY,
    neutral=True,
    file="copilot-instructions.md",
    bare=BareDirectory.EVERYWHERE,
    note="Copilot (VS Code)",
    code=CodeWords.ALL,
)
ANTIGRAVITY = Dialect(
    commands=Spelling.EVERY,
    neutral=True,
    file="GEMINI.md",
    bare=BareDirectory.EVERYWHERE,
    code=CodeWords.ALL,
)
KIMI = Dialect(commands=Spelling.SKILL)
HERMES = Dialect(commands=Spelling.KNOWN, delegates=True)
# Agents of Kimi's older client read neutral words; its skills keep Claude's.
KIMI_AGENT = Dialect(commands=Spelling.SKILL, neutral=True, file="AGENTS.md")

# The dialect of the `textDialect` axis.
DIALECTS: Final[Mapping[TextDialect, Dialect]] = MappingProxyType(
    {
        TextDialect.PLAIN: PLAIN,
        TextDialect.CLAUDE: CLAUDE,
        TextDialect.CODEX: CODEX,
        TextDialect.OPENCODE: OPENCODE,
        TextDialect.KILO: KILO,
        TextDialect.GEMINI: GEMINI,
        TextDialect.CURSOR: CURSOR,
        TextDialect.WINDSURF: WINDSURF,
        TextDialect.AUGMENT: AUGMENT,
        TextDialect.TRAE: TRAE,
        TextDialect.CODEBUDDY: CODEBUDDY,
        TextDialect.CLINE: CLINE,
        TextDialect.COPILOT: COPILOT,
        TextDialect.ANTIGRAVITY: ANTIGRAVITY,
        TextDialect.KIMI: KIMI,
        TextDialect.HERMES: HERMES,
    }
)
# The headings under which a pack speaks to one host alone.
NOTES: Final = frozenset(d.note for d in DIALECTS.values() if d.note)
