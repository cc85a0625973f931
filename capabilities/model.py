"""Typed descriptors: what `capability.json` says once it has been found free of faults.

Field names are the snake_case of the JSON fields; the meaning of each is in `vocabulary` and, for the user,
in the JSON Schema that is generated from the same shapes. All values are frozen: sequences are tuples,
mappings are read-only views.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from .vocabulary import (
    DEFAULT_PAYLOAD,
    DEFAULT_TRIGGER_PRECEDENCE,
    CommandStyle,
    ConfigFileFormat,
    ConfigFormat,
    ConverterName,
    ExtendedHookEvent,
    ExtensionEvents,
    FileRule,
    HomeKind,
    HookDialectName,
    HookEvents,
    HooksSurface,
    InstallSurface,
    LayoutKind,
    LocalHookPath,
    McpShape,
    Nesting,
    PayloadPart,
    PermissionWriter,
    Role,
    Root,
    SandboxTier,
    SkillNeed,
    TextDialect,
    Tier,
    Trigger,
)

EMPTY: Mapping[str, Any] = MappingProxyType({})


def _empty() -> Mapping[str, Any]:
    return EMPTY


class ConfigHome(Struct, frozen=True):
    """How a directory of the host is found: see `homes`.

    `name` carries its own dot for `dot-home`. `env` are variables in order (positional for `xdg`). `probe`
    are candidates, `probe_exists` a path that marks the right one. `skills_home` is a second home for skills.
    """

    kind: HomeKind
    name: str = ""
    parent: str = ""
    env: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    probe_exists: str | None = None
    skills_home: ConfigHome | None = None


class LayoutEntry(Struct, frozen=True):
    """Where one kind of artifact goes: `dest_subpath` is relative to the root of the entry.

    `home`, where set, is a directory below the user's home that takes the place of the config home (global
    scope only): the placement's root is then `agents-home`. `root` (ours), where set, is the root all the
    same: skills of a host that has a home for them and reads its config home too.
    """

    kind: LayoutKind
    dest_subpath: str
    prefix: str
    nesting: Nesting
    converter: ConverterName | None
    recursive: bool = False
    home: str | None = None
    root: Root | None = None


class SkillPlace(Struct, frozen=True):
    """Where a skill folder of a pack goes as it is (ours); `home` and `root` as in `LayoutEntry`."""

    dest_subpath: str
    home: str | None = None
    root: Root | None = None


class McpPlace(Struct, frozen=True):
    """Where and how a host is told of MCP servers (ours).

    `root:file` is the file, `instead` names in the same folder that take its place where they exist; `at` is
    the JSON pointer of the table of servers.
    """

    file: str
    at: str
    format: ConfigFileFormat = ConfigFileFormat.JSONC
    shape: McpShape = McpShape.PLAIN
    root: Root = Root.CONFIG
    instead: tuple[str, ...] = ()


class HookPath(Struct, frozen=True):
    """How a hook command in a project names its script (ours); `variable` only with that style."""

    style: LocalHookPath = LocalHookPath.ABSOLUTE
    variable: str = ""


class OrchestratorExec(Struct, frozen=True):
    """How the host is started for one piece of work."""

    command: str
    args: tuple[str, ...] = ()
    cwd_flag: str | None = None
    prompt_flag: str | None = None


class ConfigSlice(Struct, frozen=True):
    """One config key of a capability. `type` is boolean, string, number or enum (then with `values`)."""

    type: str
    default: Any
    description: str
    values: tuple[str, ...] = ()


class Capability(Struct, frozen=True, kw_only=True):
    """What every capability says of itself.

    `engines_gsd` is an npm version range or empty. `reviewer` is the body of a review lane as plain data, or
    None. `data` is the whole descriptor as it was read; `digest` is `sha256:…` of its canonical JSON, and
    both stand for what was validated.
    """

    id: str
    role: Role
    title: str
    description: str
    tier: Tier
    version: str
    requires: tuple[str, ...] = ()
    engines_gsd: str = ""
    compat_versions: Mapping[str, str] = field(default_factory=_empty)
    config: Mapping[str, ConfigSlice] = field(default_factory=_empty)
    reviewer: Mapping[str, Any] | None = None
    integrity: str = ""
    provenance: Mapping[str, str] = field(default_factory=_empty)
    data: Mapping[str, Any] = field(default_factory=_empty)
    digest: str = ""


class Runtime(Capability, frozen=True, kw_only=True):
    """A host CLI.

    `artifact_layout`, `native_skills`, `skills_read`, `commands_read` and `mcp` are keyed by scope (`global`,
    `local`). The folders that a host reads are groups: of each group the first folder that exists is read.
    `skills_order` are folders of `skills_read`: of skills of one name the host takes that of the first. Empty
    where nobody knows.
    `roots` maps a declared root name to its home. `local_config_dir` is None where the host has no config
    home. `hook_dialect` is the one that the descriptor names, else it follows from the hook surface.
    `file_rules` are keyed by `root:path`, in which `*` stands for any text without a slash.
    """

    config_home: ConfigHome
    config_format: ConfigFormat
    artifact_layout: Mapping[str, tuple[LayoutEntry, ...]]
    command_style: CommandStyle
    hooks_surface: HooksSurface
    sandbox_tier: SandboxTier
    support_tier: int
    install_surface: InstallSurface
    writes_shared_settings: bool
    permission_writer: PermissionWriter | None
    host_integration: Mapping[str, Any]
    local_config_dir: str | None = None
    hook_events: HookEvents | None = None
    extension_events: ExtensionEvents | None = None
    extended_hook_events: tuple[ExtendedHookEvent, ...] = ()
    orchestrator_exec: OrchestratorExec | None = None
    harness_isolation_flag: str | None = None
    host_behaviors: Mapping[str, Any] = field(default_factory=_empty)
    trigger_precedence: tuple[Trigger, ...] = DEFAULT_TRIGGER_PRECEDENCE
    native_skills: Mapping[str, SkillPlace] = field(default_factory=_empty)
    skills_read: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=_empty)
    commands_read: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=_empty)
    skills_order: tuple[str, ...] = ()
    roots: Mapping[str, ConfigHome] = field(default_factory=_empty)
    payload: tuple[PayloadPart, ...] = DEFAULT_PAYLOAD
    skill_needs: tuple[SkillNeed, ...] = ()
    mcp: Mapping[str, McpPlace] = field(default_factory=_empty)
    local_hook_path: HookPath = HookPath()
    hook_dialect: HookDialectName = HookDialectName.NONE
    text_dialect: TextDialect = TextDialect.PLAIN
    file_rules: Mapping[str, tuple[FileRule, ...]] = field(default_factory=_empty)


class RuntimeCompat(Struct, frozen=True):
    """For which runtimes a feature is meant: ids, or `*` alone in `supported`."""

    supported: tuple[str, ...]
    unsupported: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=_empty)

    def admits(self, runtime_id: str) -> bool:
        """Whether the feature is meant for that runtime."""
        if runtime_id in self.unsupported:
            return False
        return "*" in self.supported or runtime_id in self.supported


class FeatureHook(Struct, frozen=True):
    """A script of the feature (path relative to it) that a host runs on an event. `timeout` is in seconds, 0
    where none is given."""

    event: str
    script: str
    matcher: str | None = None
    timeout: int = 0

    @property
    def folder(self) -> str:
        """The folder, with a final slash, that comes along with the script; empty where it stands alone."""
        head, slash, _ = self.script.partition("/")
        return head + slash if slash else ""


class FeatureCommand(Struct, frozen=True):
    """A family of commands of the GSD tool that the feature implements; `module` is a `.cjs` base name."""

    family: str
    module: str
    router: str
    subcommands: tuple[str, ...] = ()


class McpServer(Struct, frozen=True):
    """An MCP server (ours): a `command` with `args` and `env`, or a remote `url` with `headers`.

    `type` is `stdio`, `http` or `sse`.
    """

    name: str
    type: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=_empty)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=_empty)


class Feature(Capability, frozen=True, kw_only=True):
    """A capability that owns skills, agents, commands, hooks and config keys.

    `skills` and `agents` are stems. `steps`, `contributions` and `gates` are carried as plain data: they act
    in the GSD loop, not at install.
    """

    runtime_compat: RuntimeCompat
    skills: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    hooks: tuple[FeatureHook, ...] = ()
    commands: tuple[FeatureCommand, ...] = ()
    mcp_servers: tuple[McpServer, ...] = ()
    activation_key: str | None = None
    steps: tuple[Mapping[str, Any], ...] = ()
    contributions: tuple[Mapping[str, Any], ...] = ()
    gates: tuple[Mapping[str, Any], ...] = ()


class Reviewer(Capability, frozen=True, kw_only=True):
    """A review lane without a runtime: its body is `reviewer`, never None."""
