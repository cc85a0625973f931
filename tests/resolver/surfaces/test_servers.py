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

PLACES = [
    ("claude", "local", "project:.mcp.json", "jsonc", "/mcpServers/notes", {"type": "stdio", **PLAIN}),
    ("codex", "global", "config:config.toml", "toml", "/mcp_servers/notes", PLAIN),
    ("codex", "local", "config:config.toml", "toml", "/mcp_servers/notes", PLAIN),
    (
        "opencode",
        "global",
        "config:opencode.json",
        "jsonc",
        "/mcp/notes",
        {
            "type": "local",
            "command": ["notes-server", "--all"],
            "enabled": True,
            "environment": {"MODE": "quiet"},
        },
    ),
    ("gemini", "global", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("qwen", "local", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("augment", "global", "config:settings.json", "jsonc", "/mcpServers/notes", PLAIN),
    ("cursor", "global", "config:mcp.json", "jsonc", "/mcpServers/notes", PLAIN),
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
    from dataclasses import replace

    place = replace(host("cursor").mcp["global"], shape=shape)
    pack = pack_of({"greet/SKILL.md": "---\nname: greet\ndescription: Hi\n---\n"})
    selection = Selection((feature_of("greet", (), (server,)),), pack.artifacts)
    (edit,) = server_drafts(host("cursor", mcp={"global": place}), "global", pack, selection).edits
    assert edit.value == value


@pytest.mark.parametrize("shape", list(McpShape))
def test_a_server_without_environment_and_headers_has_neither(
    shape: McpShape, host: Make, pack_of: Make, feature_of: Make
) -> None:
    from dataclasses import replace

    place = replace(host("cursor").mcp["global"], shape=shape)
    pack = pack_of({"greet/SKILL.md": "---\nname: greet\ndescription: Hi\n---\n"})
    bare = (McpServer("a", "stdio", "run"), McpServer("b", "http", url="https://b.example/"))
    selection = Selection((feature_of("greet", (), bare),), pack.artifacts)
    edits = server_drafts(host("cursor", mcp={"global": place}), "global", pack, selection).edits
    assert len(edits) == 2
    for edit in edits:
        assert not {"env", "environment", "headers", "http_headers"} & set(edit.value)


@pytest.mark.parametrize(
    ("runtime", "scope"),
    [("claude", "global"), ("codebuddy", "global"), ("pi", "global"), ("hermes", "local")],
)
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
