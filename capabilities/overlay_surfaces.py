"""What a capability would make a host execute, and what it may be granted: one `Surface` each. Pure.

This is what a user reads before consenting, so nothing is left out and nothing is abbreviated: every argument
of every command line stands there, quoted as a shell would want it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from .model import Capability, Feature, Runtime


class Surface(Struct, frozen=True):
    """One thing that will run, or a right that is asked for.

    `kind` is one of: hook, MCP server, command module, gate, review lane, native plugin, permissions, host
    command.
    `name` tells it from others of its kind, `text` says in full what is run or asked. Neither is cleaned for
    a screen: pass both through `errors.shown`.
    """

    kind: str
    name: str
    text: str


def surfaces_of(capability: Capability) -> tuple[Surface, ...]:
    """All surfaces of a capability, in the order of its descriptor."""
    found: list[Surface] = []
    if isinstance(capability, Feature):
        found += _feature(capability)
    elif isinstance(capability, Runtime):
        found += _runtime(capability)
    if capability.reviewer is not None:
        found.append(_lane(capability.reviewer))
    return tuple(found)


def _feature(feature: Feature) -> Iterator[Surface]:
    for hook in feature.hooks:
        when = f"on {hook.event}" + (f" of {hook.matcher}" if hook.matcher else "")
        yield Surface("hook", f"{hook.event} {hook.script}", f"{when}: run {hook.script}")
    for server in feature.mcp_servers:
        if server.url:
            parts = [f"connect to {server.url} ({server.type})", *_pairs("header", server.headers)]
        else:
            line = shlex.join([server.command, *server.args])
            parts = [f"run {line}", *_pairs("environment", server.env)]
        yield Surface("MCP server", server.name, ", ".join(parts))
    for command in feature.commands:
        words = f" ({', '.join(command.subcommands)})" if command.subcommands else ""
        yield Surface(
            "command module", command.family, f"load {command.module}, call {command.router}{words}"
        )
    for gate in feature.gates:
        yield Surface("gate", gate["point"], f"check {_written(gate['check'])}")


def _runtime(runtime: Runtime) -> Iterator[Surface]:
    engine = runtime.orchestrator_exec
    if engine is not None:
        flags = [f for f in (engine.cwd_flag, engine.prompt_flag) if f]
        yield Surface(
            "host command", engine.command, f"run {shlex.join([engine.command, *engine.args, *flags])}"
        )
    plugin = runtime.host_behaviors.get("nativePlugin")
    if isinstance(plugin, Mapping):
        place = f"{plugin['dir']}/{plugin['file']}"
        yield Surface("native plugin", place, f"the host loads {place}, made from {plugin['source']}")
    if runtime.permission_writer is not None:
        yield Surface(
            "permissions",
            runtime.permission_writer.value,
            f"write permissions in the dialect of {runtime.permission_writer.value}: "
            "the host may read what is installed without asking",
        )


def _lane(lane: Mapping[str, Any]) -> Surface:
    invoke, probe = lane["invoke"], lane["probe"]
    if lane["transport"] == "spawn":
        extra = [str(invoke[key]) for key in ("modelArg", "outputArg") if invoke.get(key)]
        parts = [
            f"run {shlex.join([invoke['binary'], *invoke['args'], *extra])}",
            *_pairs("environment", invoke.get("env", {})),
        ]
    else:
        host = invoke.get("defaultHost") or f"the host in {invoke['hostConfigKey']}"
        parts = [f"send what is reviewed to {host} at {invoke['path']}"]
    if "binary" in probe:
        parts.append(f"probed by {shlex.quote(probe['binary'])} ({probe['kind']})")
    if lane["requiresBinaries"]:
        parts.append(f"needs {shlex.join(lane['requiresBinaries'])}")
    return Surface("review lane", lane["slug"], ", ".join(parts))


def _written(value: Any) -> str:
    """Frozen data as JSON on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_written(k)}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _pairs(what: str, values: Mapping[str, str]) -> list[str]:
    return [f"{what} {name}={shlex.quote(value)}" for name, value in values.items()]
