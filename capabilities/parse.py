"""JSON data without faults -> typed capability. Nothing is checked here: `validation` calls it last."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from . import vocabulary as words
from . import word_sets as sets
from .canonical import canonical_json, sha256_digest
from .model import (
    EMPTY,
    Capability,
    ConfigHome,
    ConfigSlice,
    Feature,
    FeatureCommand,
    FeatureHook,
    HookPath,
    LayoutEntry,
    McpPlace,
    McpServer,
    OrchestratorExec,
    Reviewer,
    Runtime,
    RuntimeCompat,
    SkillPlace,
)


def parse_capability(data: Mapping[str, Any]) -> Capability:
    """The typed form of a descriptor that has no fault."""
    role = words.Role(data["role"])
    common = _common(data, role)
    if role is words.Role.RUNTIME:
        return _runtime(data["runtime"], common)
    if role is words.Role.FEATURE:
        return _feature(data, common)
    return Reviewer(**common)


def descriptor_digest(data: Mapping[str, Any]) -> str:
    """`sha256:…` of the canonical JSON of a descriptor. Key order and white space have no part in it.

    Canonical JSON has no fractions: a number with one is written as the object `{"number": "<repr>"}`.
    """
    return sha256_digest(canonical_json(_without_fractions(data)))


def _without_fractions(value: Any) -> Any:
    if isinstance(value, float):
        return {"number": repr(value)}
    if isinstance(value, dict):
        return {k: _without_fractions(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_fractions(v) for v in value]
    return value


def frozen(value: Any) -> Any:
    """JSON data that cannot be changed: objects as read-only views, arrays as tuples."""
    if isinstance(value, dict):
        return MappingProxyType({k: frozen(v) for k, v in value.items()})
    if isinstance(value, list):
        return tuple(frozen(v) for v in value)
    return value


def _common(data: Mapping[str, Any], role: words.Role) -> dict[str, Any]:
    return {
        "id": data["id"],
        "role": role,
        "title": data["title"],
        "description": data["description"],
        "tier": words.Tier(data["tier"]),
        "version": data["version"],
        "requires": tuple(data["requires"]),
        "engines_gsd": data.get("engines", {}).get("gsd", ""),
        "compat_versions": frozen(data.get("compatVersions", {})),
        "config": MappingProxyType({k: _slice(v) for k, v in data.get("config", {}).items()}),
        "reviewer": frozen(data["reviewer"]) if "reviewer" in data else None,
        "integrity": data.get("integrity", ""),
        "provenance": frozen(data.get("provenance", {})),
        "data": frozen(data),
        "digest": descriptor_digest(data),
    }


def _slice(data: Mapping[str, Any]) -> ConfigSlice:
    return ConfigSlice(data["type"], data["default"], data["description"], tuple(data.get("values", ())))


def _home(data: Mapping[str, Any]) -> ConfigHome:
    inner = data.get("skillsHome")
    return ConfigHome(
        kind=words.HomeKind(data["kind"]),
        name=data.get("name", ""),
        parent=data.get("parent", ""),
        env=tuple(data["env"]),
        probe=tuple(data.get("probe", ())),
        probe_exists=data.get("probeExists"),
        skills_home=_home(inner) if inner is not None else None,
    )


def _entry(data: Mapping[str, Any]) -> LayoutEntry:
    converter = data["converter"]
    return LayoutEntry(
        kind=words.LayoutKind(data["kind"]),
        dest_subpath=data["destSubpath"],
        prefix=data["prefix"],
        nesting=words.Nesting(data["nesting"]),
        converter=words.ConverterName(converter) if converter is not None else None,
        recursive=data.get("recursive", False),
        home=data.get("home"),
        root=_root(data),
    )


def _root(data: Mapping[str, Any]) -> words.Root | None:
    return words.Root(data["root"]) if "root" in data else None


def _places(data: Mapping[str, Any]) -> Mapping[str, SkillPlace]:
    return MappingProxyType(
        {s: SkillPlace(p["destSubpath"], p.get("home"), _root(p)) for s, p in data.items() if p is not None}
    )


def _exec(data: Mapping[str, Any]) -> OrchestratorExec:
    return OrchestratorExec(
        data["command"], tuple(data.get("args", ())), data.get("cwdFlag"), data.get("promptFlag")
    )


def _runtime(body: Mapping[str, Any], common: dict[str, Any]) -> Runtime:
    events, extension = body.get("hookEvents"), body.get("extensionEvents")
    writer = body["permissionWriter"]
    behaviors = {k: v for k, v in body.get("hostBehaviors", {}).items() if k in sets.HOST_BEHAVIORS}
    precedence = body.get("triggerPrecedence", words.DEFAULT_TRIGGER_PRECEDENCE)
    return Runtime(
        **common,
        config_home=_home(body["configHome"]),
        config_format=words.ConfigFormat(body["configFormat"]),
        artifact_layout=MappingProxyType(
            {scope: tuple(_entry(e) for e in entries) for scope, entries in body["artifactLayout"].items()}
        ),
        command_style=words.CommandStyle(body["commandStyle"]),
        hooks_surface=words.HooksSurface(body["hooksSurface"]),
        sandbox_tier=words.SandboxTier(body["sandboxTier"]),
        support_tier=body["supportTier"],
        install_surface=words.InstallSurface(body["installSurface"]),
        writes_shared_settings=body["writesSharedSettings"],
        permission_writer=words.PermissionWriter(writer) if writer is not None else None,
        host_integration=frozen(body["hostIntegration"]),
        local_config_dir=body.get("localConfigDir"),
        hook_events=words.HookEvents(events) if events is not None else None,
        extension_events=words.ExtensionEvents(extension) if extension is not None else None,
        extended_hook_events=tuple(words.ExtendedHookEvent(e) for e in body["extendedHookEvents"]),
        orchestrator_exec=_exec(body["orchestratorExec"]) if "orchestratorExec" in body else None,
        harness_isolation_flag=body.get("harnessIsolationFlag"),
        host_behaviors=frozen(behaviors),
        trigger_precedence=tuple(words.Trigger(t) for t in precedence),
        native_skills=_places(body.get("nativeSkills", EMPTY)),
        skills_read=_folders_read(body.get("skillsRead", EMPTY)),
        commands_read=_folders_read(body.get("commandsRead", EMPTY)),
        skills_order=tuple(body.get("skillsOrder", ())),
        roots=MappingProxyType({name: _home(home) for name, home in body.get("roots", {}).items()}),
        payload=tuple(words.PayloadPart(p) for p in body.get("payload", words.DEFAULT_PAYLOAD)),
        skill_needs=tuple(words.SkillNeed(n) for n in body.get("skillNeeds", ())),
        mcp=MappingProxyType({s: _mcp(p) for s, p in body.get("mcp", {}).items() if p is not None}),
        local_hook_path=_hook_path(body.get("localHookPath", {})),
        hook_dialect=_hook_dialect(body),
        text_dialect=words.TextDialect(body.get("textDialect", words.TextDialect.PLAIN)),
        file_rules=MappingProxyType(
            {k: tuple(words.FileRule(r) for r in rules) for k, rules in body.get("fileRules", {}).items()}
        ),
    )


def _folders_read(data: Mapping[str, Any]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    return MappingProxyType(
        {
            scope: tuple((group,) if isinstance(group, str) else tuple(group) for group in groups)
            for scope, groups in data.items()
        }
    )


def _mcp(data: Mapping[str, Any]) -> McpPlace:
    return McpPlace(
        file=data["file"],
        at=data["at"],
        format=words.ConfigFileFormat(data["format"]),
        shape=words.McpShape(data["shape"]),
        root=words.Root(data.get("root", words.Root.CONFIG)),
        instead=tuple(data.get("instead", ())),
    )


def _hook_path(data: Mapping[str, Any]) -> HookPath:
    style = words.LocalHookPath(data.get("style", words.LocalHookPath.ABSOLUTE))
    return HookPath(style, data.get("variable", ""))


def _hook_dialect(body: Mapping[str, Any]) -> words.HookDialectName:
    """The dialect that is named, else the one of the surface; a shared settings file follows `hookEvents`."""
    surface = words.HooksSurface(body["hooksSurface"])
    events = body.get("hookEvents", words.HookEvents.CLAUDE)
    return words.HookDialectName(body.get("hookDialect") or words.SURFACE_DIALECT.get(surface, events))


def _feature(data: Mapping[str, Any], common: dict[str, Any]) -> Feature:
    compat = data["runtimeCompat"]
    return Feature(
        **common,
        runtime_compat=RuntimeCompat(
            tuple(compat["supported"]), tuple(compat["unsupported"]), frozen(compat.get("notes", {}))
        ),
        skills=tuple(data["skills"]),
        agents=tuple(data["agents"]),
        hooks=tuple(
            FeatureHook(h["event"], h["script"], h.get("matcher"), h.get("timeout", 0))
            for h in data.get("hooks", ())
        ),
        commands=tuple(_command(c) for c in data.get("commands", ())),
        mcp_servers=tuple(_server(n, s) for n, s in sorted(data.get("mcpServers", {}).items())),
        activation_key=data.get("activationKey"),
        steps=frozen(data.get("steps", [])),
        contributions=frozen(data.get("contributions", [])),
        gates=frozen(data.get("gates", [])),
    )


def _command(data: Mapping[str, Any]) -> FeatureCommand:
    return FeatureCommand(data["family"], data["module"], data["router"], tuple(data.get("subcommands", ())))


def _server(name: str, data: Mapping[str, Any]) -> McpServer:
    return McpServer(
        name=name,
        type=data.get("type", "stdio"),
        command=data.get("command", ""),
        args=tuple(data.get("args", ())),
        env=frozen(data.get("env", {})),
        url=data.get("url", ""),
        headers=frozen(data.get("headers", {})),
    )
