"""The closed sets of the capability vocabulary that the house acts upon, in one place.

A value outside its set is an error when a descriptor is validated; nothing else in the house spells these
sets again. Words that are only checked, and carried for others, are in `word_sets`. Members are spelled as
they stand in `capability.json`. Sources: the GSD capability vocabulary (ADR-1016 with the closure of
`hostBehaviors` and `triggerPrecedence`) plus our own axes, marked "ours".
"""

from __future__ import annotations

from .words import Words


class Role(Words):
    """What a capability is."""

    RUNTIME = "runtime"
    FEATURE = "feature"
    REVIEWER = "reviewer"


class Tier(Words):
    """How much of GSD one must want to get a capability; see `TIER_RANK` for the order."""

    CORE = "core"
    STANDARD = "standard"
    FULL = "full"


TIER_RANK = {Tier.CORE: 0, Tier.STANDARD: 1, Tier.FULL: 2}


class Scope(Words):
    """For all projects of a user, or for one project."""

    GLOBAL = "global"
    LOCAL = "local"


class Root(Words):
    """The names of the directories that a target may write in (ours)."""

    CONFIG = "config"
    SKILLS = "skills"
    AGENTS_HOME = "agents-home"
    HOOKS_HOME = "hooks-home"
    PROJECT = "project"


# The roots that the `roots` axis of a runtime may declare; the others follow from other axes.
DECLARED_ROOTS = frozenset({Root.AGENTS_HOME, Root.HOOKS_HOME})


class HomeKind(Words):
    """How a config home is found: see `homes`."""

    DOT_HOME = "dot-home"
    DOT_HOME_NESTED = "dot-home-nested"
    XDG = "xdg"
    GENERIC_AGENTS_ROOT = "generic-agents-root"
    NONE = "none"


class ConfigFormat(Words):
    """The format of the host's own configuration; follows from the install surface."""

    SETTINGS_JSON = "settings-json"
    TOML = "toml"
    MARKDOWN = "markdown"
    MARKDOWN_DIR = "markdown-dir"
    NONE = "none"


class LayoutKind(Words):
    """What one entry of an artifact layout places."""

    COMMANDS = "commands"
    AGENTS = "agents"
    SKILLS = "skills"
    KIMI_AGENTS = "kimi-agents"


class Nesting(Words):
    """Whether skills lie side by side or below their router skill."""

    FLAT = "flat"
    NESTED = "nested"


class CommandStyle(Words):
    """How a user types a command: `/gsd-help` or `$gsd-help`."""

    SLASH_HYPHEN = "slash-hyphen"
    SHELL_VAR = "shell-var"


class HooksSurface(Words):
    """Where and in which shape a host is told of hooks."""

    SETTINGS_JSON = "settings-json"
    CODEX_HOOKS_JSON = "codex-hooks-json"
    CURSOR_HOOKS_JSON = "cursor-hooks-json"
    COPILOT_INLINE = "copilot-inline"
    CLINE_RULES = "cline-rules"
    KIMI_HOOKS_TOML = "kimi-hooks-toml"
    WINDSURF_HOOKS_JSON = "windsurf-hooks-json"
    NONE = "none"


class HookEvents(Words):
    """The dialect of event names in a hook surface."""

    CLAUDE = "claude"
    GEMINI = "gemini"


class ExtensionEvents(Words):
    """The dialect of events that a native plugin of the host gets."""

    OPENCODE = "opencode"
    PI = "pi"
    HERMES = "hermes"
    KILO = "kilo"
    NONE = "none"


class ExtendedHookEvent(Words):
    """Hook events beyond the common ones; each belongs to one dialect (`EVENT_DIALECT`)."""

    SUBAGENT_STOP = "SubagentStop"
    STOP = "Stop"
    PRE_COMPACT = "PreCompact"
    FILE_CHANGED = "FileChanged"
    BEFORE_AGENT = "BeforeAgent"
    AFTER_AGENT = "AfterAgent"
    BEFORE_MODEL = "BeforeModel"
    SUBAGENT_START = "SubagentStart"


EVENT_DIALECT = {
    ExtendedHookEvent.SUBAGENT_STOP: HookEvents.CLAUDE,
    ExtendedHookEvent.STOP: HookEvents.CLAUDE,
    ExtendedHookEvent.PRE_COMPACT: HookEvents.CLAUDE,
    ExtendedHookEvent.FILE_CHANGED: HookEvents.CLAUDE,
    ExtendedHookEvent.SUBAGENT_START: HookEvents.CLAUDE,
    ExtendedHookEvent.BEFORE_AGENT: HookEvents.GEMINI,
    ExtendedHookEvent.AFTER_AGENT: HookEvents.GEMINI,
    ExtendedHookEvent.BEFORE_MODEL: HookEvents.GEMINI,
}


class SandboxTier(Words):
    """Whether agents carry a sandbox mode of the host."""

    NONE = "none"
    CODEX_AGENT_SANDBOX = "codex-agent-sandbox"


class InstallSurface(Words):
    """Which shared files of the host an install edits."""

    SETTINGS_JSON = "settings-json"
    CODEX_TOML = "codex-toml"
    COPILOT_INSTRUCTIONS = "copilot-instructions"
    CLINE_RULES = "cline-rules"
    CURSOR_HOOKS_JSON = "cursor-hooks-json"
    PROFILE_MARKER_ONLY = "profile-marker-only"
    NONE = "none"


# Gate A: which hook surfaces go with an install surface.
SURFACE_HOOKS = {
    InstallSurface.SETTINGS_JSON: frozenset({HooksSurface.SETTINGS_JSON, HooksSurface.NONE}),
    InstallSurface.CODEX_TOML: frozenset({HooksSurface.CODEX_HOOKS_JSON}),
    InstallSurface.COPILOT_INSTRUCTIONS: frozenset({HooksSurface.COPILOT_INLINE}),
    InstallSurface.CLINE_RULES: frozenset({HooksSurface.CLINE_RULES}),
    InstallSurface.CURSOR_HOOKS_JSON: frozenset({HooksSurface.CURSOR_HOOKS_JSON}),
    InstallSurface.PROFILE_MARKER_ONLY: frozenset(
        {HooksSurface.NONE, HooksSurface.KIMI_HOOKS_TOML, HooksSurface.WINDSURF_HOOKS_JSON}
    ),
    InstallSurface.NONE: frozenset({HooksSurface.NONE}),
}

# Gate C: the one config format that goes with an install surface.
SURFACE_FORMAT = {
    InstallSurface.SETTINGS_JSON: ConfigFormat.SETTINGS_JSON,
    InstallSurface.CODEX_TOML: ConfigFormat.TOML,
    InstallSurface.COPILOT_INSTRUCTIONS: ConfigFormat.MARKDOWN,
    InstallSurface.CLINE_RULES: ConfigFormat.MARKDOWN_DIR,
    InstallSurface.CURSOR_HOOKS_JSON: ConfigFormat.NONE,
    InstallSurface.PROFILE_MARKER_ONLY: ConfigFormat.NONE,
    InstallSurface.NONE: ConfigFormat.NONE,
}


class PermissionWriter(Words):
    """Whose dialect of permissions is written beside the artifacts."""

    OPENCODE = "opencode"
    KILO = "kilo"
    ANTIGRAVITY = "antigravity"


class Trigger(Words):
    """Layout kinds that a user can call by name; agents are not among them."""

    COMMANDS = "commands"
    SKILLS = "skills"


DEFAULT_TRIGGER_PRECEDENCE = (Trigger.SKILLS, Trigger.COMMANDS)


class PayloadPart(Words):
    """What a host gets of the payload of a GSD pack (ours): see `gsd_layout`.

    core: the `gsd-core/` tree with its marker files. scripts: the helper scripts. hooks: the hook scripts,
    their registration and the native plugin that calls them. mcp-server: the pack's MCP server, in the host's
    MCP configuration. status-line: the status line, in the host's settings (global scope only).
    """

    CORE = "core"
    SCRIPTS = "scripts"
    HOOKS = "hooks"
    MCP_SERVER = "mcp-server"
    STATUS_LINE = "status-line"


DEFAULT_PAYLOAD = (PayloadPart.CORE, PayloadPart.SCRIPTS, PayloadPart.HOOKS)


class SkillNeed(Words):
    """What a host's loader asks of a SKILL.md before it lists the skill (ours; measured on the clients).

    frontmatter: a block of front matter on the first line. name, description: that key, not empty.
    strict-yaml: every value of the front matter parses as YAML. description-1024: at most 1024 characters.
    no-bom: no byte order mark.
    """

    FRONTMATTER = "frontmatter"
    NAME = "name"
    DESCRIPTION = "description"
    STRICT_YAML = "strict-yaml"
    DESCRIPTION_1024 = "description-1024"
    NO_BOM = "no-bom"


class McpShape(Words):
    """How one MCP server is written (ours): command, args, env of a local one, url, headers of a remote one.

    plain: nothing else.
    typed: with `type` (stdio, http, sse).
    remote-typed: with `type` on a remote one only.
    server-url: the url of a remote one as `serverUrl`.
    gemini: the url of an http one as `httpUrl`.
    copilot: with `type` (local, http, sse) and all tools allowed.
    opencode: `{type: local, command: [...], enabled, environment}`, `{type: remote, url, enabled, headers}`.
    codex: headers as `http_headers`.
    """

    PLAIN = "plain"
    TYPED = "typed"
    REMOTE_TYPED = "remote-typed"
    SERVER_URL = "server-url"
    GEMINI = "gemini"
    COPILOT = "copilot"
    OPENCODE = "opencode"
    CODEX = "codex"


class ConfigFileFormat(Words):
    """How a host's configuration file is written (ours)."""

    JSONC = "jsonc"
    TOML = "toml"
    YAML = "yaml"
    HCL = "hcl"


class FileRule(Words):
    """What a host asks of a file of its own before it takes it (ours): see `host_files`.

    strict-json: no comments and no trailing commas.
    hook-groups: `hooks` holds for each event an array of `{matcher?, hooks: [handler]}`.
    hook-entries: `hooks` holds for each event an array of handlers.
    hook-tables: `hooks` is one array of `{event, command, matcher?, timeout?}` and nothing else in them.
    hooks-by-event: `hooks` is an object, whatever its members are.
    hooks-alone: at the top level stand `hooks` and `description` only.
    versioned: at the top level stands a `version` number.
    servers: each MCP server at the place of the `mcp` axis has a command or an address.
    permission-lists: `permissions` holds its rules as arrays of texts.
    permission-modes: `permission` is `ask`, `allow` or `deny`, or an object of those, at most two deep.
    switches: `features` holds true or false, or tables.
    agent-table: `agents` is a table.
    """

    STRICT_JSON = "strict-json"
    HOOK_GROUPS = "hook-groups"
    HOOK_ENTRIES = "hook-entries"
    HOOK_TABLES = "hook-tables"
    HOOKS_BY_EVENT = "hooks-by-event"
    HOOKS_ALONE = "hooks-alone"
    VERSIONED = "versioned"
    SERVERS = "servers"
    PERMISSION_LISTS = "permission-lists"
    PERMISSION_MODES = "permission-modes"
    SWITCHES = "switches"
    AGENT_TABLE = "agent-table"


class LocalHookPath(Words):
    """How the command of a hook in a project names its script (ours).

    variable: through an environment variable that the host sets to the project folder. relative: relative to
    the project folder, where the host starts it. git-root: below the top level of the git work tree.
    absolute: by the path on this machine, where the host offers nothing else.
    """

    VARIABLE = "variable"
    RELATIVE = "relative"
    GIT_ROOT = "git-root"
    ABSOLUTE = "absolute"


class HookDialectName(Words):
    """In whose words and shape a host is told of hooks (ours): see `hook_dialects`."""

    CLAUDE = "claude"
    GEMINI = "gemini"
    CODEX = "codex"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    COPILOT = "copilot"
    KIMI = "kimi"
    HERMES = "hermes"
    ANTIGRAVITY = "antigravity"
    NONE = "none"


# The dialect of a runtime that names none; a `settings-json` surface follows `hookEvents`.
SURFACE_DIALECT = {
    HooksSurface.CODEX_HOOKS_JSON: HookDialectName.CODEX,
    HooksSurface.CURSOR_HOOKS_JSON: HookDialectName.CURSOR,
    HooksSurface.WINDSURF_HOOKS_JSON: HookDialectName.WINDSURF,
    HooksSurface.COPILOT_INLINE: HookDialectName.COPILOT,
    HooksSurface.KIMI_HOOKS_TOML: HookDialectName.KIMI,
    HooksSurface.CLINE_RULES: HookDialectName.NONE,
    HooksSurface.NONE: HookDialectName.NONE,
}


class TextDialect(Words):
    """In whose words the payload's text is written for a host (ours): see `resolver/converters/dialects`.

    plain: as in the pack, but for paths. The others also name commands, tools, the instruction file and the
    config directory as that host does.
    """

    PLAIN = "plain"
    CLAUDE = "claude"
    CODEX = "codex"
    OPENCODE = "opencode"
    KILO = "kilo"
    GEMINI = "gemini"
    CURSOR = "cursor"
    WINDSURF = "windsurf"
    AUGMENT = "augment"
    TRAE = "trae"
    CODEBUDDY = "codebuddy"
    CLINE = "cline"
    COPILOT = "copilot"
    ANTIGRAVITY = "antigravity"
    KIMI = "kimi"
    HERMES = "hermes"


class ConverterName(Words):
    """The closed set of converters that a layout entry may name."""

    # Members of the reference at 1.10.0.
    COMMAND_TO_CLAUDE_SKILL = "convertClaudeCommandToClaudeSkill"
    COMMAND_TO_ANTIGRAVITY_SKILL = "convertClaudeCommandToAntigravitySkill"
    COMMAND_TO_AUGMENT_SKILL = "convertClaudeCommandToAugmentSkill"
    COMMAND_TO_CLINE_SKILL = "convertClaudeCommandToClineSkill"
    COMMAND_TO_CODEBUDDY_SKILL = "convertClaudeCommandToCodebuddySkill"
    COMMAND_TO_CODEBUDDY_COMMAND = "convertClaudeCommandToCodebuddyCommand"
    COMMAND_TO_CODEX_SKILL = "convertClaudeCommandToCodexSkill"
    COMMAND_TO_COPILOT_SKILL = "convertClaudeCommandToCopilotSkill"
    COMMAND_TO_CURSOR_SKILL = "convertClaudeCommandToCursorSkill"
    COMMAND_TO_KILO_SKILL = "convertClaudeCommandToKiloSkill"
    COMMAND_TO_KIMI_SKILL = "convertClaudeCommandToKimiSkill"
    COMMAND_TO_KIMI_CODE_SKILL = "convertClaudeCommandToKimiCodeSkill"
    COMMAND_TO_OPENCODE_SKILL = "convertClaudeCommandToOpencodeSkill"
    COMMAND_TO_TRAE_SKILL = "convertClaudeCommandToTraeSkill"
    COMMAND_TO_WINDSURF_SKILL = "convertClaudeCommandToWindsurfSkill"
    COMMAND_TO_WINDSURF_WORKFLOW = "convertClaudeCommandToWindsurfWorkflow"
    AGENT_TO_ANTIGRAVITY_AGENT = "convertClaudeAgentToAntigravityAgent"
    AGENT_TO_AUGMENT_AGENT = "convertClaudeAgentToAugmentAgent"
    AGENT_TO_CLINE_AGENT = "convertClaudeAgentToClineAgent"
    AGENT_TO_CODEBUDDY_AGENT = "convertClaudeAgentToCodebuddyAgent"
    AGENT_TO_CODEX_AGENT = "convertClaudeAgentToCodexAgent"
    AGENT_TO_COPILOT_AGENT = "convertClaudeAgentToCopilotAgent"
    AGENT_TO_CURSOR_AGENT = "convertClaudeAgentToCursorAgent"
    AGENT_TO_QWEN_AGENT = "convertClaudeAgentToQwenAgent"
    AGENT_TO_TRAE_AGENT = "convertClaudeAgentToTraeAgent"
    AGENT_TO_WINDSURF_AGENT = "convertClaudeAgentToWindsurfAgent"
    # Members that the reference added after 1.10.0.
    AGENT_TO_HERMES_AGENT = "convertClaudeAgentToHermesAgent"
    AGENT_TO_ZCODE_AGENT = "convertClaudeAgentToZcodeAgent"
    TO_KILO_FRONTMATTER = "convertClaudeToKiloFrontmatter"
    TO_OPENCODE_FRONTMATTER = "convertClaudeToOpencodeFrontmatter"
    # Members of the reference while gemini was one of its runtimes.
    TO_GEMINI_TOML = "convertClaudeToGeminiToml"
    TO_GEMINI_AGENT = "convertClaudeToGeminiAgent"
