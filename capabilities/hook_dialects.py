"""How each host is told of a hook: file, shape, event names, tool names in matchers, unit of a timeout.

A pack names events and tools in the words of Claude Code; a dialect says what they are called on the host, or
that the host has nothing of the kind. Sources: the surfaces of the reference installer, what the clients
accepted when they were asked, and the hosts' public documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from .vocabulary import ConfigFileFormat, HookDialectName
from .words import Words


class HookShape(Words):
    """How one hook stands in the host's file.

    group: `{matcher?, hooks: [{type, command, timeout?}]}` in the array of its event.
    typed: `{type, command, matcher?, timeout?}` there.
    command: `{command}` there.
    inline: `{type, bash, timeoutSec?}` there, in a file of the pack's own.
    matched: `{matcher?, command, timeout?}` there.
    table: `{event, matcher?, command, timeout?}` in one array for all events.
    """

    GROUP = "group"
    TYPED = "typed"
    COMMAND = "command"
    INLINE = "inline"
    TABLE = "table"
    MATCHED = "matched"


class HostEvent(Struct, frozen=True):
    """An event of the host; where `tools` is not empty it stands for those tools only (names of the pack)."""

    name: str
    tools: frozenset[str] = frozenset()


class Preparation(Struct, frozen=True):
    """A value that must stand in a file of the host before any of its hooks runs.

    `firm` values are ensured: another value there is a collision. The others give way to the user's.
    """

    file: str
    format: ConfigFileFormat
    at: str
    value: Any
    firm: bool


class HookDialect(Struct, frozen=True):
    """The hooks of one family of hosts.

    `file` is relative to the root of the hooks, empty for the host's settings file; `{owner}` in it stands
    for the feature that brings the hook. `events` maps an event of the pack to those of the host; one that is
    not there has no counterpart, unless `open_ended`: then the host shares the pack's words and an event goes
    through as it is. `tools` maps tool names in matchers; a name that is not there stays. `timeout_unit` is
    how many units of the host make a second. `in_projects` says whether the host reads hooks of a project.
    """

    shape: HookShape
    file: str = ""
    format: ConfigFileFormat = ConfigFileFormat.JSONC
    events: Mapping[str, tuple[HostEvent, ...]] = field(default_factory=lambda: MappingProxyType({}))
    open_ended: bool = False
    tools: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    matchers: bool = True
    in_projects: bool = True
    timeout_unit: int = 1
    preparations: tuple[Preparation, ...] = ()

    def host_events(self, event: str) -> tuple[HostEvent, ...]:
        """What `event` is on the host; empty where it has no such event."""
        return self.events.get(event, (HostEvent(event),) if self.open_ended else ())


def dialect(name: HookDialectName) -> HookDialect | None:
    """The dialect of that name; None for `none`, which has no hooks."""
    return _DIALECTS.get(name)


def _same(*names: str) -> Mapping[str, tuple[HostEvent, ...]]:
    return MappingProxyType({n: (HostEvent(n),) for n in names})


def _named(**names: str) -> Mapping[str, tuple[HostEvent, ...]]:
    return MappingProxyType({n: (HostEvent(h),) for n, h in names.items()})


_WRITING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})


def _cascade(moment: str) -> tuple[HostEvent, ...]:
    """Windsurf has one event a kind of tool instead of matchers."""
    return (
        HostEvent(f"{moment}_write_code", _WRITING),
        HostEvent(f"{moment}_run_command", frozenset({"Bash"})),
        HostEvent(f"{moment}_read_code", frozenset({"Read"})),
    )


_GEMINI = HookDialect(
    HookShape.GROUP,
    events=_named(
        SessionStart="SessionStart",
        SessionEnd="SessionEnd",
        UserPromptSubmit="BeforeAgent",
        BeforeAgent="BeforeAgent",
        Stop="AfterAgent",
        AfterAgent="AfterAgent",
        BeforeModel="BeforeModel",
        AfterModel="AfterModel",
        BeforeToolSelection="BeforeToolSelection",
        PreToolUse="BeforeTool",
        BeforeTool="BeforeTool",
        PostToolUse="AfterTool",
        AfterTool="AfterTool",
        PreCompact="PreCompress",
        PreCompress="PreCompress",
        Notification="Notification",
    ),
    tools=MappingProxyType(
        {
            "Bash": "run_shell_command",
            "Edit": "replace",
            "MultiEdit": "replace",
            "Write": "write_file",
            "Read": "read_file",
            "Glob": "glob",
            "Grep": "search_file_content",
            "WebFetch": "web_fetch",
            "WebSearch": "google_web_search",
            "TodoWrite": "write_todos",
        }
    ),
    timeout_unit=1000,
)

_DIALECTS: Mapping[HookDialectName, HookDialect] = MappingProxyType(
    {
        HookDialectName.CLAUDE: HookDialect(HookShape.GROUP, open_ended=True),
        HookDialectName.GEMINI: _GEMINI,
        # Its unit was not measured; the reference writes seconds.
        HookDialectName.ANTIGRAVITY: replace(_GEMINI, timeout_unit=1),
        HookDialectName.CODEX: HookDialect(
            HookShape.GROUP,
            file="hooks.json",
            events=_same(
                "SessionStart",
                "SubagentStart",
                "SubagentStop",
                "UserPromptSubmit",
                "PreToolUse",
                "PermissionRequest",
                "PostToolUse",
                "PreCompact",
                "PostCompact",
                "Stop",
            ),
            # Hooks are behind a feature flag. hooks.json itself admits no key but `description` and `hooks`.
            preparations=(
                Preparation("config.toml", ConfigFileFormat.TOML, "/features/hooks", True, firm=True),
            ),
        ),
        HookDialectName.CURSOR: HookDialect(
            HookShape.TYPED,
            file="hooks.json",
            events=_named(
                SessionStart="sessionStart",
                SessionEnd="sessionEnd",
                UserPromptSubmit="beforeSubmitPrompt",
                PreToolUse="preToolUse",
                PostToolUse="postToolUse",
                PostToolUseFailure="postToolUseFailure",
                SubagentStart="subagentStart",
                SubagentStop="subagentStop",
                PreCompact="preCompact",
                Stop="stop",
            ),
            tools=MappingProxyType(
                {"Bash": "Shell", "Edit": "Write", "MultiEdit": "Write", "Agent": "Task", "Task": "Task"}
            ),
            preparations=(Preparation("hooks.json", ConfigFileFormat.JSONC, "/version", 1, firm=False),),
        ),
        HookDialectName.WINDSURF: HookDialect(
            HookShape.COMMAND,
            file="hooks.json",
            events=MappingProxyType(
                {
                    "PreToolUse": _cascade("pre"),
                    "PostToolUse": _cascade("post"),
                    "UserPromptSubmit": (HostEvent("pre_user_prompt"),),
                    "Stop": (HostEvent("post_cascade_response"),),
                }
            ),
            matchers=False,
        ),
        HookDialectName.COPILOT: HookDialect(
            HookShape.INLINE,
            file="hooks/{owner}.json",
            events=_named(
                SessionStart="sessionStart",
                SessionEnd="sessionEnd",
                UserPromptSubmit="userPromptSubmitted",
                PreToolUse="preToolUse",
                PostToolUse="postToolUse",
                Stop="agentStop",
                SubagentStop="subagentStop",
            ),
            matchers=False,
            preparations=(
                Preparation("hooks/{owner}.json", ConfigFileFormat.JSONC, "/version", 1, firm=False),
            ),
        ),
        HookDialectName.KIMI: HookDialect(
            HookShape.TABLE,
            file="config.toml",
            format=ConfigFileFormat.TOML,
            events=_same(
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
                "PermissionRequest",
                "UserPromptSubmit",
                "Stop",
                "StopFailure",
                "SessionStart",
                "SessionEnd",
                "SubagentStart",
                "SubagentStop",
                "PreCompact",
                "PostCompact",
                "Notification",
            ),
            tools=MappingProxyType(
                {
                    "Bash": "Shell",
                    "Edit": "StrReplaceFile",
                    "MultiEdit": "StrReplaceFile",
                    "Write": "WriteFile",
                    "Read": "ReadFile",
                }
            ),
        ),
        HookDialectName.HERMES: HookDialect(
            HookShape.MATCHED,
            file="config.yaml",
            format=ConfigFileFormat.YAML,
            events=_named(
                SessionStart="on_session_start",
                SessionEnd="on_session_end",
                UserPromptSubmit="pre_llm_call",
                PreToolUse="pre_tool_call",
                PostToolUse="post_tool_call",
                Stop="post_llm_call",
                SubagentStop="subagent_stop",
            ),
            tools=MappingProxyType(
                {
                    "Bash": "terminal",
                    "Edit": "patch",
                    "MultiEdit": "patch",
                    "Write": "write_file",
                    "Read": "read_file",
                    "Grep": "search_files",
                    "Glob": "search_files",
                }
            ),
            in_projects=False,
        ),
    }
)
