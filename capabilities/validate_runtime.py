"""The body of a runtime: its shape, and the relations between its axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import vocabulary as words
from . import word_sets as sets
from .patterns import (
    DOT_FOLDER,
    EXTENSION,
    FILE_NAME,
    HOME_PATH,
    POINTER,
    PREFIX,
    READ_PATH,
    READ_RELATIVE,
    RELATIVE,
    RELATIVE_FOLDER,
    ROOT_FILE,
    VARIABLE,
)
from .shapes import (
    ANY_TEXT,
    TEXT,
    Choice,
    Either,
    Fault,
    FirstOf,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Record,
    Shape,
    Tagged,
    Whole,
    choice,
    show,
)
from .validate_common import items, record

_BY_SCOPE = (words.Scope.GLOBAL.value, words.Scope.LOCAL.value)


def _by_scope(global_: Shape, local: Shape) -> Record:
    return Record(dict(zip(_BY_SCOPE, (global_, local), strict=True)))


# --- config home

_ENV = ListOf(VARIABLE)
_PROBES: dict[str, Shape] = {"probe": ListOf(HOME_PATH), "probeExists": RELATIVE}


def _home(required: dict[str, Shape], optional: dict[str, Shape]) -> dict[str, Record]:
    """The records of a config home by its kind."""
    return {
        "dot-home": Record(
            {"kind": Choice(("dot-home",)), "name": RELATIVE, **required}, {**_PROBES, **optional}
        ),
        "dot-home-nested": Record(
            {"kind": Choice(("dot-home-nested",)), "name": RELATIVE, "parent": RELATIVE, **required},
            {**_PROBES, **optional},
        ),
        "xdg": Record({"kind": Choice(("xdg",)), "name": RELATIVE, **required}, optional),
        "generic-agents-root": Record(
            {
                "kind": Choice(("generic-agents-root",)),
                "name": RELATIVE,
                "probe": ListOf(HOME_PATH, least=1),
                "probeExists": RELATIVE,
                **required,
            },
            optional,
        ),
    }


_SIMPLE_HOME = Tagged("kind", _home({"env": _ENV}, {}))
_CONFIG_HOME = Tagged(
    "kind",
    {
        **_home({"env": _ENV}, {"skillsHome": _SIMPLE_HOME}),
        "none": Record({"kind": Choice(("none",)), "env": _ENV}, {"name": TEXT}),
    },
)

# --- where artifacts go

_ENTRY: dict[str, Shape] = {
    "kind": choice(words.LayoutKind),
    "destSubpath": RELATIVE,
    "prefix": PREFIX,
    "nesting": choice(words.Nesting),
    "converter": choice(words.ConverterName, None),
}
# Where a host reads its config home as well as the home that it has for skills.
_PLACED_ROOT = Choice((words.Root.CONFIG.value,))
_LAYOUT = _by_scope(
    ListOf(Record(_ENTRY, {"recursive": Flag(), "home": RELATIVE, "root": _PLACED_ROOT})),
    ListOf(Record(_ENTRY, {"recursive": Flag()})),
)
_NATIVE_SKILLS = _by_scope(
    Nullable(Record({"destSubpath": RELATIVE}, {"home": RELATIVE, "root": _PLACED_ROOT})),
    Nullable(Record({"destSubpath": RELATIVE})),
)
_FOLDERS_READ = _by_scope(
    ListOf(FirstOf(READ_PATH), unique=True), ListOf(FirstOf(READ_RELATIVE), unique=True)
)
_ROOTS = Record({}, dict.fromkeys(sorted(words.DECLARED_ROOTS), _SIMPLE_HOME))

# --- how the host is told of servers and hooks (ours)

_MCP_PLACE = Nullable(
    Record(
        {
            "file": RELATIVE,
            "at": POINTER,
            "format": choice(words.ConfigFileFormat),
            "shape": choice(words.McpShape),
        },
        {"root": choice(words.Root), "instead": ListOf(FILE_NAME, unique=True)},
    )
)
_LOCAL_HOOK_PATH = Tagged(
    "style",
    {
        "variable": Record({"style": Choice(("variable",)), "variable": VARIABLE}),
        **{s: Record({"style": Choice((s,))}) for s in ("relative", "git-root", "absolute")},
    },
)

# --- axes that are carried for the orchestration engine


def _axis(members: frozenset[str]) -> Choice:
    return choice(members, sets.UNDOCUMENTED)


_FLAG = Either(Flag(), (sets.UNDOCUMENTED,))
_HOST_INTEGRATION = Record(
    {
        "embeddingMode": _axis(sets.EMBEDDING_MODES),
        "commandSurface": _axis(sets.COMMAND_SURFACES),
        "modelMode": _axis(sets.MODEL_MODES),
        "hookBus": _axis(sets.HOOK_BUSES),
        "stateIO": _axis(sets.STATE_IO),
        "transport": _axis(sets.TRANSPORTS),
        "runtime": _axis(sets.HOST_RUNTIMES),
        "dispatch": Record(
            {
                "namedDispatch": _FLAG,
                "nested": _FLAG,
                "background": _FLAG,
                "backgroundDispatch": _FLAG,
                "subagentToolkit": _axis(sets.SUBAGENT_TOOLKITS),
                "maxDepth": Either(Whole(-1), (sets.UNDOCUMENTED,)),
            },
            {"isolation": _axis(sets.ISOLATIONS), "builtInSubagents": ListOf(TEXT)},
        ),
    },
    {"effortSurface": _axis(sets.EFFORT_SURFACES)},
)
_ORCHESTRATOR_EXEC = Record(
    {"command": TEXT},
    {"args": ListOf(ANY_TEXT), "cwdFlag": Nullable(TEXT), "promptFlag": Nullable(TEXT)},
)

# --- host behaviours: unknown keys are warnings, a known key with a value of another type is a fault

_VALUES: dict[str, Shape] = {
    "agentFileExtension": EXTENSION,
    "agentFrontmatterExtensions": ListOf(TEXT),
    "agentManifestStyle": Choice(("none", "kimi-nested")),
    "attributionConfigResolver": Choice(("kilo", "opencode")),
    "attributionSource": Choice(("settings-json-commit",)),
    "brandingRewrites": MapOf(TEXT, ANY_TEXT),
    "commandBodyConverter": Choice(("convertClaudeToAugmentMarkdown",)),
    "doneBannerStyle": Choice(("kimi-code", "kimi-agent-file")),
    "flatCommandDir": RELATIVE,
    "frontmatterDialect": Choice(("cline", "codex", "cursor", "kilo", "opencode")),
    "globalDirResolver": Choice(("antigravity",)),
    "hookPathStyle": Choice(("raw",)),
    "legacyCommandsGsdUninstall": Choice((True, False, "global")),
    "localInstallStyle": Choice(("legacy-flat",)),
    "managedHookEvents": ListOf(TEXT, unique=True),
    "mcpCompanion": Choice(("settings-json",)),
    "nativePlugin": Record({"dir": RELATIVE, "file": FILE_NAME, "source": RELATIVE}),
    "permissionsSchema": Choice(("claude",)),
    "projectInstructionFile": RELATIVE,
    "reapplyCommand": TEXT,
    "retiredArtifacts": ListOf(Record({"destSubpath": RELATIVE, "prefix": PREFIX, "suffix": EXTENSION})),
    "settingsFileByScope": _by_scope(FILE_NAME, FILE_NAME),
    "sharedHooksDirName": FILE_NAME,
    "skillsManifestPrefix": RELATIVE_FOLDER,
    "soloStageMetadata": TEXT,
    "sourceMarkerFile": FILE_NAME,
    "verificationStyle": Choice(("kimi", "kimi-code", "windsurf-workflows")),
}
HOST_BEHAVIORS = Record({}, {k: _VALUES.get(k, Flag()) for k in sorted(sets.HOST_BEHAVIORS)}, open=True)

RUNTIME = Record(
    {
        "configHome": _CONFIG_HOME,
        "configFormat": choice(words.ConfigFormat),
        "artifactLayout": _LAYOUT,
        "commandStyle": choice(words.CommandStyle),
        "hooksSurface": choice(words.HooksSurface),
        "sandboxTier": choice(words.SandboxTier),
        "supportTier": Choice((1, 2)),
        "installSurface": choice(words.InstallSurface),
        "writesSharedSettings": Flag(),
        "permissionWriter": choice(words.PermissionWriter, None),
        "extendedHookEvents": ListOf(choice(words.ExtendedHookEvent)),
        "hostIntegration": _HOST_INTEGRATION,
    },
    {
        "localConfigDir": Nullable(DOT_FOLDER),
        "hookEvents": choice(words.HookEvents),
        "extensionEvents": choice(words.ExtensionEvents),
        "orchestratorExec": _ORCHESTRATOR_EXEC,
        "harnessIsolationFlag": TEXT,
        "hostBehaviors": HOST_BEHAVIORS,
        "triggerPrecedence": ListOf(choice(words.Trigger), least=1, unique=True),
        "nativeSkills": _NATIVE_SKILLS,
        "skillsRead": _FOLDERS_READ,
        "commandsRead": _FOLDERS_READ,
        "skillsOrder": ListOf(READ_PATH, unique=True),
        "roots": _ROOTS,
        "payload": ListOf(choice(words.PayloadPart), unique=True),
        "skillNeeds": ListOf(choice(words.SkillNeed), unique=True),
        "mcp": _by_scope(_MCP_PLACE, _MCP_PLACE),
        "localHookPath": _LOCAL_HOOK_PATH,
        "hookDialect": choice(words.HookDialectName),
        "textDialect": choice(words.TextDialect),
        "fileRules": MapOf(ROOT_FILE, ListOf(choice(words.FileRule), least=1, unique=True), most=50),
    },
)


def runtime_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """The relations between axes that hold for every runtime; parts of a wrong shape are passed over."""
    yield from _surface_faults(runtime)
    yield from _event_faults(runtime)
    yield from _local_folder_faults(runtime)
    yield from _converter_faults(runtime)
    yield from _alternate_home_faults(runtime)
    yield from _order_faults(runtime)


def _surface_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """Gates A and C: hook surface and config format follow from the install surface."""
    surface = runtime.get("installSurface")
    if not isinstance(surface, str) or surface not in set(words.InstallSurface):
        return
    hooks = tuple(sorted(words.SURFACE_HOOKS[words.InstallSurface(surface)]))
    if isinstance(runtime.get("hooksSurface"), str) and runtime["hooksSurface"] not in hooks:
        message = f"goes with installSurface {surface} only as {' or '.join(hooks)}"
        yield Fault("/runtime/hooksSurface", message, show(runtime["hooksSurface"]), hooks)
    format_ = words.SURFACE_FORMAT[words.InstallSurface(surface)]
    if isinstance(runtime.get("configFormat"), str) and runtime["configFormat"] != format_:
        message = f"goes with installSurface {surface} only as {format_}"
        yield Fault("/runtime/configFormat", message, show(runtime["configFormat"]), (format_,))


def _event_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """Gate B: each extended event belongs to the dialect that the runtime speaks."""
    dialect = runtime.get("hookEvents")
    known = set(words.ExtendedHookEvent)
    for index, event in enumerate(items(runtime.get("extendedHookEvents"))):
        if isinstance(event, str) and event in known:
            wanted = words.EVENT_DIALECT[words.ExtendedHookEvent(event)]
            if dialect != wanted:
                allowed = tuple(e for e, d in words.EVENT_DIALECT.items() if d == dialect)
                message = f"is an event of hookEvents {wanted} only"
                yield Fault(f"/runtime/extendedHookEvents/{index}", message, show(event), allowed)


def _local_folder_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """Gate D: a runtime has a folder in a project exactly where it has a config home."""
    has_home = record(runtime.get("configHome")).get("kind") != words.HomeKind.NONE
    local = runtime.get("localConfigDir")
    if has_home and local is None:
        yield Fault("/runtime/localConfigDir", "is missing", None, (DOT_FOLDER.what,))
    elif not has_home and local is not None:
        message = "must be null or absent where configHome.kind is none"
        yield Fault("/runtime/localConfigDir", message, show(local), ("null",))


def _converter_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """A skill is never placed unconverted, a kimi agent tree always by the tree itself."""
    for scope, entries in record(runtime.get("artifactLayout")).items():
        for index, entry in enumerate(map(record, items(entries))):
            at = f"/runtime/artifactLayout/{scope}/{index}/converter"
            kind, converter = entry.get("kind"), entry.get("converter", "")
            if kind == words.LayoutKind.SKILLS and converter is None:
                yield Fault(at, "must name a converter for skills", "null", tuple(words.ConverterName))
            elif kind == words.LayoutKind.KIMI_AGENTS and converter is not None:
                yield Fault(at, "must be null for kimi-agents", show(converter), ("null",))


def _order_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """What has an order is read."""
    groups = [g for scope in record(runtime.get("skillsRead")).values() for g in items(scope)]
    read = {f for g in groups for f in (items(g) if isinstance(g, list) else (g,)) if isinstance(f, str)}
    for index, folder in enumerate(items(runtime.get("skillsOrder"))):
        if isinstance(folder, str) and folder not in read:
            message = "must be a folder of skillsRead"
            yield Fault(f"/runtime/skillsOrder/{index}", message, show(folder), tuple(sorted(read)))


def _alternate_home_faults(runtime: Mapping[str, Any]) -> Iterator[Fault]:
    """All entries with a `home` share one, and a declared `agents-home` is that one: it is one root."""
    declared = record(record(runtime.get("roots")).get(words.Root.AGENTS_HOME.value)).get("name")
    places = [
        (f"/runtime/artifactLayout/global/{i}/home", record(e).get("home"))
        for i, e in enumerate(items(record(runtime.get("artifactLayout")).get("global")))
    ]
    native = record(record(runtime.get("nativeSkills")).get("global"))
    places.append(("/runtime/nativeSkills/global/home", native.get("home")))
    named = [(at, home) for at, home in places if isinstance(home, str)]
    wanted = declared if isinstance(declared, str) else (named[0][1] if named else None)
    for at, home in named:
        if home != wanted:
            yield Fault(at, "must be the same for all entries", show(home), (str(wanted),))
