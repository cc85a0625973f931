"""The hooks and MCP servers of a plugin, in the words of a descriptor. What has no words gives a notice."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ..capabilities.errors import shown

PLUGIN_ROOT = "${CLAUDE_PLUGIN_ROOT}"
_ROOT_SPELLINGS = (PLUGIN_ROOT + "/", "$CLAUDE_PLUGIN_ROOT/")
_SCRIPT = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*(?:/[A-Za-z0-9._][A-Za-z0-9._-]*)*")
# Programs that only start the script: the host's target names its own interpreter by the script's suffix.
_STARTERS = {
    "node": (".js", ".cjs", ".mjs"),
    "python3": (".py",),
    "python": (".py",),
    "bash": (".sh", ".bash"),
    "sh": (".sh",),
}
_MOST_SECONDS = 86_400
_SERVER_KEYS = ("type", "command", "args", "env", "url", "headers")


def hooks_of(value: Any, where: str, notices: list[str]) -> list[dict[str, Any]]:
    """`hooks` entries of a descriptor from the contents of `hooks.json`; `where` names the file."""
    events = value.get("hooks", value) if isinstance(value, dict) else None
    if not isinstance(events, dict):
        notices.append(f"{where}: its hooks are left out, because they are not keyed by event")
        return []
    hooks = []
    for event, matcher, handler in _handlers(events):
        script = _script(handler)
        if script is None:
            what = handler.get("command") or handler.get("type") or "?"
            notices.append(
                f"{where}: the {shown(event, 40)} hook `{shown(str(what))}` is left out, because it is more "
                "than one script of the plugin"
            )
            continue
        hook: dict[str, Any] = {"event": event, "script": script} | ({"matcher": matcher} if matcher else {})
        said = handler.get("timeout")
        # A descriptor has whole seconds, and no script must get less than it asked for.
        if isinstance(said, (int, float)) and not isinstance(said, bool) and 0 < said <= _MOST_SECONDS:
            hook["timeout"] = math.ceil(said)
        unsaid = sorted(k for k in handler if k not in ("type", "command", "timeout"))
        unsaid += ["timeout"] if "timeout" in handler and "timeout" not in hook else []
        if unsaid:
            notices.append(
                f"{where}: the {shown(event, 40)} hook `{shown(script)}` is installed without its "
                f"{', '.join(shown(k, 40) for k in unsaid)}"
            )
        hooks.append(hook)
    return hooks


def _handlers(events: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for event, groups in events.items():
        for group in groups if isinstance(groups, list) else [groups]:
            inner = group.get("hooks") if isinstance(group, dict) else None
            matcher = group.get("matcher") if isinstance(group, dict) else None
            for handler in inner if isinstance(inner, list) else [group]:
                found = handler if isinstance(handler, dict) else {}
                yield event, matcher if isinstance(matcher, str) else "", found


def _script(handler: Mapping[str, Any]) -> str | None:
    """The script of the plugin that a handler runs, where it runs that and nothing else."""
    command = handler.get("command")
    if handler.get("type", "command") != "command" or not isinstance(command, str):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) not in (1, 2):
        return None
    root = next((r for r in _ROOT_SPELLINGS if words[-1].startswith(r)), None)
    if root is None:
        return None
    script = words[-1].removeprefix(root)
    if not _SCRIPT.fullmatch(script) or any(part in (".", "..") for part in script.split("/")):
        return None
    suffixes = _STARTERS.get(words[0]) if len(words) == 2 else None
    if len(words) == 2 and (suffixes is None or not script.endswith(suffixes)):
        return None
    return script


def servers_of(value: Any, where: str, notices: list[str]) -> dict[str, dict[str, Any]]:
    """`mcpServers` of a descriptor from the contents of `.mcp.json`; `where` names the file."""
    servers = value.get("mcpServers", value) if isinstance(value, dict) else None
    if not isinstance(servers, dict):
        notices.append(f"{where}: its MCP servers are left out, because they are not keyed by name")
        return {}
    result = {}
    for name, server in servers.items():
        what = f"{where}: the MCP server {shown(name, 40)}"
        if not isinstance(server, dict):
            notices.append(f"{what} is left out, because it is not an object")
        elif "CLAUDE_PLUGIN_ROOT" in str(server):
            notices.append(f"{what} is left out, because it runs out of the plugin's own folder")
        else:
            unsaid = sorted(k for k in server if k not in _SERVER_KEYS)
            if unsaid:
                notices.append(f"{what} is installed without its {', '.join(shown(k, 40) for k in unsaid)}")
            result[name] = {k: server[k] for k in _SERVER_KEYS if k in server}
    return result
