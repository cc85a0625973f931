"""What the descriptors say of the shape of the hosts' files: what is refused, what is taken, and where."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gsdlock.capabilities.hook_dialects import dialect
from gsdlock.capabilities.host_files import file_faults, rules_of
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import FileRule

RUNTIMES = load_builtin().runtimes
COMMAND = {"type": "command", "command": "x"}


def faults(host: str, key: str, meaning: Any, text: bytes = b"{}") -> list[str]:
    runtime = RUNTIMES[host]
    place = next((p for p in runtime.mcp.values() if f"{p.root.value}:{p.file}" == key), None)
    return [f"{f.pointer} {f.message}" for f in file_faults(rules_of(runtime, key), place, text, meaning)]


# host, file, what stands in it, the pointer that is objected to. What each client did with such a file is in
# the comments.
REFUSED = [
    # The whole file is dropped.
    ("claude", "config:settings.json", {"hooks": [COMMAND]}, "/hooks"),
    ("claude", "config:settings.json", {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}, "command"),
    ("claude", "config:settings.json", {"hooks": {"Stop": [{"hooks": [{"type": "agent"}]}]}}, "prompt"),
    ("claude", "config:settings.json", {"hooks": {"Stop": [{"hooks": [COMMAND], "matcher": {}}]}}, "matcher"),
    (
        "claude",
        "config:settings.json",
        {"hooks": {"Stop": [{"hooks": [{**COMMAND, "timeout": "5"}]}]}},
        "timeout",
    ),
    ("claude", "config:settings.local.json", {"permissions": {"allow": "Bash"}}, "/permissions/allow"),
    # The matcher is skipped.
    ("claude", "config:settings.json", {"hooks": {"Stop": [COMMAND]}}, "/hooks/Stop/0/hooks"),
    ("gemini", "config:settings.json", {"hooks": {"BeforeTool": [COMMAND]}}, "/hooks/BeforeTool/0/hooks"),
    # The host does not start.
    ("codex", "config:config.toml", {"hooks": [{"event": "Stop"}]}, "/hooks"),
    ("codex", "config:config.toml", {"agents": [{"name": "x"}]}, "/agents"),
    ("codex", "config:config.toml", {"features": {"hooks": True, "model": "x"}}, "/features/model"),
    (
        "codex",
        "config:config.toml",
        {"mcp_servers": {"x": {"tools": {"y": {"approval_mode": "a"}}}}},
        "/mcp_servers/x",
    ),
    ("opencode", "config:opencode.json", {"permission": "sometimes"}, "/permission"),
    ("opencode", "config:opencode.json", {"mcp": {"x": {"timeout": 9000}}}, "/mcp/x/enabled"),
    ("kilo", "config:kilo.json", {"mcp": {"x": {"environment": {}}}}, "/mcp/x/enabled"),
    ("opencode", "config:opencode.json", {"permission": {"bash": ["ls"]}}, "/permission/bash"),
    ("kilo", "config:kilo.json", {"mcp": {"x": {"type": "local", "command": "npx"}}}, "/mcp/x/command"),
    # The whole file is dropped: nothing but these two may stand there.
    ("codex", "config:hooks.json", {"$schema": "x", "hooks": {}}, "/$schema"),
    ("kimi-code", "config:config.toml", {"hooks": [{"event": "Stop", "command": "x", "name": "y"}]}, "name"),
    ("kimi-code", "config:config.toml", {"hooks": [{"event": "Stop"}]}, "/hooks/0/command"),
    # No hook of the file is loaded.
    ("cursor", "config:hooks.json", {"hooks": {"stop": [{"command": "x"}]}}, "/version"),
    (
        "copilot",
        "config:hooks/gsd.json",
        {"version": 1, "hooks": {"stop": [{"type": "command"}]}},
        "/hooks/stop/0",
    ),
    ("hermes", "config:config.yaml", {"hooks": [{"command": "x"}]}, "/hooks"),
    ("windsurf", "config:mcp_config.json", {"mcpServers": {"x": {"disabled": True}}}, "/mcpServers/x"),
]


@pytest.mark.parametrize(
    ("host", "key", "meaning", "at"), REFUSED, ids=lambda v: v if isinstance(v, str) else ""
)
def test_what_a_host_refuses(host: str, key: str, meaning: Any, at: str) -> None:
    (found,) = faults(host, key, meaning)
    assert at in found


TAKEN = [
    ("claude", "config:settings.json", {"hooks": {"Stop": [{"hooks": [COMMAND, {"type": "new", "x": 1}]}]}}),
    ("claude", "config:settings.json", {"unknown": 1, "permissions": {"defaultMode": "plan", "deny": ["x"]}}),
    ("codex", "config:config.toml", {"agents": {"max_depth": 2, "x": {"config_file": "y"}}, "hooks": {}}),
    ("codex", "config:config.toml", {"features": {"hooks": True, "more": {"a": 1}}, "mcp_servers": {}}),
    ("codex", "config:hooks.json", {"description": "x", "hooks": {"Stop": [{"hooks": [COMMAND]}]}}),
    ("opencode", "config:opencode.json", {"permission": "allow", "mcp": {"x": {"enabled": False}}}),
    ("opencode", "config:opencode.json", {"permission": {"bash": {"ls *": "allow"}, "edit": "ask"}}),
    ("hermes", "config:config.yaml", {"hooks": None, "mcp_servers": None}),
    ("hermes", "config:config.yaml", None),
    ("pi", "config:settings.json", {"hooks": 1}),
]


@pytest.mark.parametrize(("host", "key", "meaning"), TAKEN)
def test_what_a_host_takes(host: str, key: str, meaning: Any) -> None:
    assert faults(host, key, meaning) == []


def test_comments_are_objected_to_where_the_host_reads_plain_json_only() -> None:
    text = b'{"a": 1, // mine\n}'
    assert faults("claude", "config:settings.json", {"a": 1}, text) != []
    assert faults("qwen", "config:settings.json", {"a": 1}, text) == []
    assert faults("claude", "config:settings.json", {"a": 1}, b'\xef\xbb\xbf{"a": 1}\r\n') == []


def test_every_rule_is_one_of_some_host() -> None:
    used = {rule for runtime in RUNTIMES.values() for rules in runtime.file_rules.values() for rule in rules}
    assert used == set(FileRule)


@pytest.mark.parametrize("host", sorted(RUNTIMES))
def test_the_files_that_a_host_is_told_of_servers_in_have_a_rule(host: str) -> None:
    runtime = RUNTIMES[host]
    for place in runtime.mcp.values():
        assert FileRule.SERVERS in rules_of(runtime, f"{place.root.value}:{place.file}")
    hooks = dialect(runtime.hook_dialect)
    if hooks is not None and hooks.file and host != "kimi":  # what kimi asks was not measured
        assert rules_of(runtime, f"config:{hooks.file.replace('{owner}', 'x')}")


def test_a_star_stands_for_no_slash() -> None:
    assert rules_of(RUNTIMES["copilot"], "config:hooks/a/b.json") == ()
    assert (
        json.dumps([str(r) for r in rules_of(RUNTIMES["copilot"], "config:hooks/x.json")])
        == '["hook-entries"]'
    )
