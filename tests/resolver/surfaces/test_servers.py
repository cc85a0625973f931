"""MCP servers of features, in each host's own configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.capabilities.model import McpServer
from gsdlock.capabilities.vocabulary import McpShape
from gsdlock.resolver.selection import Selection
from gsdlock.resolver.surfaces.servers import server_drafts

Make = Callable[..., Any]

LOCAL = McpServer("notes", "stdio", "notes-server", ("--all",), {"MODE": "quiet"})
REMOTE = McpServer("atlas", "http", url="https://atlas.example/mcp", headers={"X-Key": "${ATLAS_KEY}"})
STREAM = McpServer("river", "sse", url="https://river.example/sse")
PLAIN = {"command": "notes-server", "args": ["--all"], "env": {"MODE": "quiet"}}
HEADERS = {"X-Key": "${ATLAS_KEY}"}
URL = "https://atlas.example/mcp"

OPENCODE = {
    "type": "local",
    "command": ["notes-server", "--all"],
    "enabled": True,
    "environment": {"MODE": "quiet"},
}

PLACES = [
    ("claude", "local", "project:.mcp.json", "jsonc", "/mcpServers/notes", {"type": "stdio", **PLAIN}),
    ("codex", "global", "config:config.toml", "toml", "/mcp_servers/notes", PLAIN),
    ("codex", "local", "config:config.toml", "toml", "/mcp_servers/notes", PLAIN),
    ("opencode", "global", "config:opencode.json", "jsonc", "/mcp/notes", OPENCODE),
    ("opencode", "local", "config:opencode.json", "jsonc", "/mcp/notes", OPENCODE),
    ("kilo", "global", "config:kilo.json", "jsonc", "/mcp/notes", OPENCODE),
    ("kilo", "local", "config:kilo.json", "jsonc", "/mcp/notes", OPENCODE),
    ("gemini", "global", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("gemini", "local", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("qwen", "global", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("qwen", "local", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("augment", "global", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("augment", "local", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("cursor", "global", "config:mcp.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("cursor", "local", "config:mcp.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("hermes", "global", "config:config.yaml", "yaml", "/mcp_servers/notes", PLAIN),
    (
        "copilot",
        "global",
        "config:mcp-config.json",
        "jsonc",
        "/mcpServers/notes",
        {"type": "local", **PLAIN, "tools": ["*"]},
    ),
    ("kimi", "global", "hooks-home:mcp.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("kimi-code", "global", "config:mcp.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("windsurf", "global", "config:mcp_config.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("antigravity", "global", "config:mcp_config.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("antigravity", "local", "config:mcp_config.json", "jsonc", "/mcpServers/notes", PLAIN),
    (
        "codebuddy",
        "local",
        "project:.mcp.json",
        "jsonc",
        "/mcpServers/notes",
        {"type": "stdio", **PLAIN},
    ),
]


@pytest.fixture
def drafted(host: Make, pack_of: Make, feature_of: Make) -> Callable[..., Any]:
    """The drafts of one feature with the given servers on a host."""

    def draft(runtime: str, scope: str, *servers: McpServer) -> Any:
        pack = pack_of({"greet/SKILL.md": "---\nname: greet\ndescription: Hi\n---\n"})
        selection = Selection((feature_of("greet", (), servers),), pack.artifacts)
        return server_drafts(host(runtime), scope, pack, selection)

    return draft


@pytest.mark.parametrize(("runtime", "scope", "file", "format", "at", "value"), PLACES)
def test_a_local_server_on_each_host(
    runtime: str, scope: str, file: str, format: str, at: str, value: Any, drafted: Callable[..., Any]
) -> None:
    (edit,) = drafted(runtime, scope, LOCAL).edits
    assert f"{edit.root}:{edit.path}" == file
    assert (edit.format.value, edit.op.value, edit.at, edit.value) == (format, "ensure", at, value)
    assert edit.executes
    assert (edit.origin.feature, edit.origin.artifact) == ("greet", "server/notes")


REMOTES = [
    (McpShape.PLAIN, REMOTE, {"url": URL, "headers": HEADERS}),
    (McpShape.TYPED, REMOTE, {"type": "http", "url": URL, "headers": HEADERS}),
    (McpShape.REMOTE_TYPED, REMOTE, {"type": "http", "url": URL, "headers": HEADERS}),
    (McpShape.SERVER_URL, REMOTE, {"serverUrl": URL, "headers": HEADERS}),
    (McpShape.GEMINI, REMOTE, {"httpUrl": URL, "headers": HEADERS}),
    (McpShape.GEMINI, STREAM, {"url": "https://river.example/sse"}),
    (McpShape.COPILOT, REMOTE, {"type": "http", "url": URL, "headers": HEADERS, "tools": ["*"]}),
    (McpShape.OPENCODE, REMOTE, {"type": "remote", "url": URL, "enabled": True, "headers": HEADERS}),
    (McpShape.CODEX, REMOTE, {"url": URL, "http_headers": HEADERS}),
]


@pytest.mark.parametrize(("shape", "server", "value"), REMOTES)
def test_a_remote_server_in_each_shape(
    shape: McpShape, server: McpServer, value: Any, host: Make, pack_of: Make, feature_of: Make
) -> None:
    from msgspec.structs import replace

    place = replace(host("cursor").mcp["global"], shape=shape)
    pack = pack_of({"greet/SKILL.md": "---\nname: greet\ndescription: Hi\n---\n"})
    selection = Selection((feature_of("greet", (), (server,)),), pack.artifacts)
    (edit,) = server_drafts(host("cursor", mcp={"global": place}), "global", pack, selection).edits
    assert edit.value == value


@pytest.mark.parametrize("shape", list(McpShape))
def test_a_server_without_environment_and_headers_has_neither(
    shape: McpShape, host: Make, pack_of: Make, feature_of: Make
) -> None:
    from msgspec.structs import replace

    place = replace(host("cursor").mcp["global"], shape=shape)
    pack = pack_of({"greet/SKILL.md": "---\nname: greet\ndescription: Hi\n---\n"})
    bare = (McpServer("a", "stdio", "run"), McpServer("b", "http", url="https://b.example/"))
    selection = Selection((feature_of("greet", (), bare),), pack.artifacts)
    edits = server_drafts(host("cursor", mcp={"global": place}), "global", pack, selection).edits
    assert len(edits) == 2
    for edit in edits:
        assert not {"env", "environment", "headers", "http_headers"} & set(edit.value)


# What a remote server looks like on the hosts that say it in another way than `url` and `headers`.
REMOTE_PLAIN = {"url": URL, "headers": HEADERS}
TYPED = {"type": "http", **REMOTE_PLAIN}
REMOTE_ON = {
    "claude": TYPED,
    "codebuddy": TYPED,
    "augment": TYPED,
    "copilot": {**TYPED, "tools": ["*"]},
    "codex": {"url": URL, "http_headers": HEADERS},
    "gemini": {"httpUrl": URL, "headers": HEADERS},
    "qwen": {"httpUrl": URL, "headers": HEADERS},
    "opencode": {"type": "remote", "url": URL, "enabled": True, "headers": HEADERS},
    "kilo": {"type": "remote", "url": URL, "enabled": True, "headers": HEADERS},
    "windsurf": {"serverUrl": URL, "headers": HEADERS},
    "antigravity": {"serverUrl": URL, "headers": HEADERS},
}


@pytest.mark.parametrize(("runtime", "scope"), [p[:2] for p in PLACES])
def test_a_remote_server_on_each_host(runtime: str, scope: str, drafted: Callable[..., Any]) -> None:
    (edit,) = drafted(runtime, scope, REMOTE).edits
    assert edit.value == REMOTE_ON.get(runtime, REMOTE_PLAIN)


# A host's own file of servers that it rewrites itself (claude, codebuddy), or none that is known.
NOWHERE = [
    *((host, "global") for host in ("claude", "codebuddy", "cline", "pi", "trae", "zcode")),
    *((host, "local") for host in ("cline", "copilot", "hermes", "pi", "trae", "windsurf", "zcode")),
]


def test_every_host_is_in_one_of_the_tables() -> None:
    """kimi and kimi-code take no local install, vscode none at all."""
    from gsdlock.capabilities.registry import load_builtin

    told = [p[:2] for p in PLACES] + NOWHERE
    assert len(told) == len(set(told))
    every = {(host, scope) for host in load_builtin().runtimes for scope in ("global", "local")}
    never = {("kimi", "local"), ("kimi-code", "local"), ("vscode", "global"), ("vscode", "local")}
    assert set(told) == every - never


@pytest.mark.parametrize(("runtime", "scope"), NOWHERE)
def test_where_only_the_host_writes_its_servers_it_is_said(
    runtime: str, scope: str, drafted: Callable[..., Any]
) -> None:
    drafts = drafted(runtime, scope, LOCAL)
    assert drafts.edits == ()
    (omission,) = drafts.omissions
    assert (omission.feature, omission.what) == ("greet", "the MCP server notes")
    assert "the host's own command" in omission.reason


def test_an_odd_name_is_one_step_of_the_pointer(drafted: Callable[..., Any]) -> None:
    (edit,) = drafted("cursor", "global", McpServer("a/b~c", "stdio", "run")).edits
    assert edit.at == "/mcpServers/a~1b~0c"


def test_an_existing_jsonc_is_edited_in_place_of_the_usual_file(drafted: Callable[..., Any]) -> None:
    (edit,) = drafted("opencode", "global", LOCAL).edits
    assert edit.instead == ("opencode.jsonc",)
