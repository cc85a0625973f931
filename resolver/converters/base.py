"""Text of a pack into the text that a host gets: one function a kind of artifact.

Which conversion an artifact gets follows from the `converter` of its layout entry; where that names none,
from the axes `frontmatterDialect` and `commandBodyConverter`. Payload files follow `textDialect`. All
functions are pure; what they write holds placeholders and no path of this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal

from ...capabilities.errors import input_error, shown
from ...capabilities.vocabulary import ConverterName
from . import claude, codex, copilot, cursor, dialects, gemini, kimi, opencode
from .context import ConvertContext
from .names import name_here
from .phrases import Phrase
from .routers import point_below
from .speech import own_notes

Kind = Literal["skill", "command", "agent"]
Conversion = Callable[[str, ConvertContext], str]

CONVERSIONS: Final[Mapping[ConverterName, Conversion]] = MappingProxyType(
    {
        ConverterName.COMMAND_TO_CLAUDE_SKILL: claude.skill,
        ConverterName.COMMAND_TO_ANTIGRAVITY_SKILL: copilot.antigravity_skill,
        ConverterName.COMMAND_TO_AUGMENT_SKILL: cursor.augment_skill,
        ConverterName.COMMAND_TO_CLINE_SKILL: cursor.cline_skill,
        ConverterName.COMMAND_TO_CODEBUDDY_SKILL: cursor.codebuddy_skill,
        ConverterName.COMMAND_TO_CODEBUDDY_COMMAND: cursor.codebuddy_command,
        ConverterName.COMMAND_TO_CODEX_SKILL: codex.skill,
        ConverterName.COMMAND_TO_COPILOT_SKILL: copilot.copilot_skill,
        ConverterName.COMMAND_TO_CURSOR_SKILL: cursor.cursor_skill,
        ConverterName.COMMAND_TO_KILO_SKILL: opencode.kilo_skill,
        ConverterName.COMMAND_TO_KIMI_SKILL: kimi.skill,
        ConverterName.COMMAND_TO_KIMI_CODE_SKILL: kimi.skill,
        ConverterName.COMMAND_TO_OPENCODE_SKILL: opencode.skill,
        ConverterName.COMMAND_TO_TRAE_SKILL: cursor.trae_skill,
        ConverterName.COMMAND_TO_WINDSURF_SKILL: cursor.windsurf_skill,
        ConverterName.COMMAND_TO_WINDSURF_WORKFLOW: cursor.windsurf_workflow,
        ConverterName.AGENT_TO_ANTIGRAVITY_AGENT: copilot.antigravity_agent,
        ConverterName.AGENT_TO_AUGMENT_AGENT: cursor.augment_agent,
        ConverterName.AGENT_TO_CLINE_AGENT: cursor.cline_agent,
        ConverterName.AGENT_TO_CODEBUDDY_AGENT: cursor.codebuddy_agent,
        ConverterName.AGENT_TO_CODEX_AGENT: codex.agent,
        ConverterName.AGENT_TO_COPILOT_AGENT: copilot.copilot_agent,
        ConverterName.AGENT_TO_CURSOR_AGENT: cursor.cursor_agent,
        ConverterName.AGENT_TO_QWEN_AGENT: claude.qwen_agent,
        ConverterName.AGENT_TO_TRAE_AGENT: cursor.trae_agent,
        ConverterName.AGENT_TO_WINDSURF_AGENT: cursor.windsurf_agent,
        ConverterName.AGENT_TO_HERMES_AGENT: claude.agent,
        ConverterName.AGENT_TO_ZCODE_AGENT: claude.zcode_agent,
        ConverterName.TO_KILO_FRONTMATTER: opencode.kilo_agent,
        ConverterName.TO_OPENCODE_FRONTMATTER: opencode.agent,
        ConverterName.TO_GEMINI_TOML: gemini.command,
        ConverterName.TO_GEMINI_AGENT: gemini.agent,
    }
)
# A layout entry without a converter: by `frontmatterDialect` and the kind of the artifact, else as on Claude.
_BY_DIALECT: Final[Mapping[tuple[str, str], Conversion]] = MappingProxyType(
    {
        ("opencode", "command"): opencode.command,
        ("opencode", "agent"): opencode.agent,
        ("kilo", "command"): opencode.kilo_command,
        ("kilo", "agent"): opencode.kilo_agent,
        ("codex", "agent"): codex.agent,
        ("cursor", "agent"): cursor.cursor_agent,
        ("cline", "agent"): cursor.cline_agent,
    }
)
_BY_BODY: Final[Mapping[str, Conversion]] = MappingProxyType(
    {"convertClaudeToAugmentMarkdown": cursor.augment_command}
)
_BY_KIND: Final[Mapping[str, Conversion]] = MappingProxyType(
    {"command": claude.command, "agent": claude.agent}
)


def convert(converter: str | None, kind: Kind, text: str, context: ConvertContext) -> str:
    """The main file of one artifact as its host gets it.

    Raises E-CONVERT-NONE where there is no conversion for that converter and kind, E-CONVERT-NAME where the
    host cannot take the artifact's name.
    """
    text = own_notes(text, context)
    if kind == "skill" and context.children:
        text = point_below(text, context.children, context.said(Phrase.READ_BELOW))
    if kind != "agent" and dialects.DIALECTS[context.runtime.text_dialect].here:
        text = name_here(text, context.runtime, context.scope, context.directory)
    return _conversion(converter, kind, context)(text, context)


def _conversion(converter: str | None, kind: Kind, context: ConvertContext) -> Conversion:
    behaviours = context.runtime.host_behaviors
    found: Conversion | None
    if converter is not None:
        found = CONVERSIONS.get(ConverterName(converter)) if converter in set(ConverterName) else None
    else:
        found = _BY_DIALECT.get((str(behaviours.get("frontmatterDialect")), kind))
        if found is None and kind == "command":
            found = _BY_BODY.get(str(behaviours.get("commandBodyConverter")))
        found = found or _BY_KIND.get(kind)
    if found is None:
        raise input_error(
            "E-CONVERT-NONE",
            f"The layout of {shown(context.runtime.id)} names the converter {shown(str(converter))} for a "
            f"{kind}, and there is none of that name.",
            "Name a converter of the vocabulary in the layout entry of the runtime's capability.json.",
        )
    return found


def agent_companions(context: ConvertContext, text: str) -> list[tuple[str, str]]:
    """Further files of one agent, for hosts that want more than one: path below the agents folder, text.

    `text` is the agent as it is in the pack. Axes: `agentTomlFiles` gives `<name>.toml`;
    `agentManifestStyle: kimi-nested` gives the two files that stand in place of the agent's own (then there
    is nothing to convert).
    """
    behaviours = context.runtime.host_behaviors
    text = own_notes(text, context)
    files: list[tuple[str, str]] = []
    if behaviours.get("agentTomlFiles"):
        files.append((f"{context.name}.toml", codex.agent_toml(text, context)))
    if behaviours.get("agentManifestStyle") == "kimi-nested":
        files += kimi.agent_files(text, context)
    return files


def agent_roots(context: ConvertContext, agents: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Files about all agents together: path below the agents folder, text.

    `agents` are name and text of each agent of the pack, sorted by name. Axis: `agentManifestStyle`.
    """
    if context.runtime.host_behaviors.get("agentManifestStyle") == "kimi-nested":
        return kimi.root_files(agents, context)
    return []
