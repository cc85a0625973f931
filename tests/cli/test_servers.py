"""MCP servers of a feature on all hosts with a place for them: beside the user's own, and taken out again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import Machine

SERVER = {"command": "notes-server", "args": ["--all"], "env": {"MODE": "quiet"}}
OPENCODE = {
    "type": "local",
    "command": ["notes-server", "--all"],
    "enabled": True,
    "environment": {"MODE": "quiet"},
}
TYPED = {"type": "stdio", **SERVER}
JSON = '{\n  // mine\n  "%s": { "own": { "command": "own" } },\n}\n'
PLAIN_JSON = '{\n  "%s": { "own": { "command": "own" } }\n}\n'
TOML = '# mine\n[%s.own]\ncommand = "own"\n'
YAML = "# mine\n%s:\n  own:\n    command: own\n"

# host: file below the home or the project, table of servers, what stands there, the server
GLOBAL: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "antigravity": (".gemini/antigravity/mcp_config.json", "mcpServers", JSON, SERVER),
    "augment": (".augment/settings.json", "mcpServers", JSON, SERVER),
    "codex": (".codex/config.toml", "mcp_servers", TOML, SERVER),
    "copilot": (".copilot/mcp-config.json", "mcpServers", JSON, {"type": "local", **SERVER, "tools": ["*"]}),
    "cursor": (".cursor/mcp.json", "mcpServers", PLAIN_JSON, SERVER),
    "gemini": (".gemini/settings.json", "mcpServers", JSON, SERVER),
    "hermes": (".hermes/config.yaml", "mcp_servers", YAML, SERVER),
    "kilo": (".config/kilo/kilo.jsonc", "mcp", JSON, OPENCODE),
    "kimi": (".kimi/mcp.json", "mcpServers", PLAIN_JSON, SERVER),
    "kimi-code": (".kimi-code/mcp.json", "mcpServers", PLAIN_JSON, SERVER),
    "opencode": (".config/opencode/opencode.json", "mcp", JSON, OPENCODE),
    "qwen": (".qwen/settings.json", "mcpServers", JSON, SERVER),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers", JSON, SERVER),
}
LOCAL: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "antigravity": (".agents/mcp_config.json", "mcpServers", JSON, SERVER),
    "augment": (".augment/settings.json", "mcpServers", JSON, SERVER),
    "claude": (".mcp.json", "mcpServers", PLAIN_JSON, TYPED),
    "codex": (".codex/config.toml", "mcp_servers", TOML, SERVER),
    "cursor": (".cursor/mcp.json", "mcpServers", PLAIN_JSON, SERVER),
    "gemini": (".gemini/settings.json", "mcpServers", JSON, SERVER),
    "kilo": (".kilo/kilo.json", "mcp", JSON, OPENCODE),
    "opencode": (".opencode/opencode.jsonc", "mcp", JSON, OPENCODE),
    "qwen": (".qwen/settings.json", "mcpServers", JSON, SERVER),
}


def read(path: Path) -> Any:
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)
    if path.suffix == ".yaml":
        return yaml.safe_load(text)
    # The user's comment and last comma are what JSON with comments allows; nothing else of it is used here.
    lines = [line for line in text.splitlines() if line.strip() != "// mine"]
    return yaml.safe_load("\n".join(lines))


def pack(folder: Path) -> Path:
    (folder / "skills/greet").mkdir(parents=True)
    (folder / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: Says hello.\n---\nHi\n")
    descriptor = {
        "id": "notes",
        "role": "feature",
        "version": "1.0.0",
        "title": "Notes",
        "description": "Keeps notes.",
        "tier": "full",
        "requires": [],
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": ["greet"],
        "agents": [],
        "config": {},
        "steps": [],
        "contributions": [],
        "gates": [],
        "mcpServers": {"notes": SERVER},
    }
    (folder / "capability.json").write_text(json.dumps(descriptor))
    return folder


@pytest.mark.parametrize(("scope", "places"), [("global", GLOBAL), ("local", LOCAL)], ids=["global", "local"])
def test_a_server_stands_beside_the_users_own_and_goes(
    machine: Machine, scope: str, places: dict[str, tuple[str, str, str, dict[str, Any]]]
) -> None:
    base = machine.home if scope == "global" else machine.project
    text = f'[packs.notes]\npath = "{pack(machine.root / "pack")}"\n'
    mine: dict[str, str] = {}
    for host, (file, table, form, _) in places.items():
        text += f'[targets.{host}]\nscope = "{scope}"\nskills = "none"\n'
        mine[file] = form % table
        (base / file).parent.mkdir(parents=True, exist_ok=True)
        (base / file).write_text(mine[file])
    machine.manifest(text)
    machine.ok("apply", "--allow", "high")
    for host, (file, table, _, server) in places.items():
        assert read(base / file)[table] == {"own": {"command": "own"}, "notes": server}, host
    machine.ok("uninstall", "--allow", "high")
    assert {file: (base / file).read_text() for file in mine} == mine


def test_a_server_of_a_feature_that_is_off_is_nowhere(machine: Machine) -> None:
    folder = pack(machine.root / "pack")
    head = f'[packs.notes]\npath = "{folder}"\n[targets.cursor]\nscope = "global"\n'
    machine.manifest(head)
    machine.ok("apply", "--allow", "high")
    assert "notes-server" in (machine.home / ".cursor/mcp.json").read_text()
    machine.manifest(head + 'disable = ["notes"]\n')
    machine.ok("apply", "--allow", "high")
    assert not (machine.home / ".cursor/mcp.json").exists()


def test_targets_that_want_different_servers_of_one_name_are_refused(machine: Machine) -> None:
    text = ""
    for name in ("one", "two"):
        folder = pack(machine.root / name)
        data = json.loads((folder / "capability.json").read_text())
        data["mcpServers"]["notes"]["args"] = [name]
        (folder / "capability.json").write_text(json.dumps(data))
        text += f'[packs.{name}]\npath = "{folder}"\n'
        text += f'[targets.{name}]\nruntime = "cursor"\nscope = "global"\npacks = ["{name}"]\n'
    machine.manifest(text)
    ran = machine.run("resolve", "--json")
    assert (ran.status, ran.data["error"]["code"]) == (4, "E-TARGET-CLASH")
    (line,) = ran.data["error"]["details"]
    assert line == f"one and two: {machine.home}/.cursor/mcp.json /mcpServers/notes"


WRONG = [
    ({"command": "run", "shell": True}, "shell"),
    ({"args": ["x"]}, "command"),
    ({"type": "http", "command": "run"}, "url"),
    ({"url": "https://a.example/", "type": "carrier-pigeon"}, "type"),
    ({"command": "run", "env": {"PORT": 8080}}, "PORT"),
]


@pytest.mark.parametrize(("server", "says"), WRONG, ids=[w[1] for w in WRONG])
def test_the_axis_is_closed(machine: Machine, server: dict[str, Any], says: str) -> None:
    folder = pack(machine.root / "pack")
    data = json.loads((folder / "capability.json").read_text())
    data["mcpServers"] = {"notes": server}
    (folder / "capability.json").write_text(json.dumps(data))
    machine.manifest(f'[packs.notes]\npath = "{folder}"\n[targets.cursor]\nscope = "global"\n')
    ran = machine.run("resolve", "--json")
    assert (ran.status, ran.data["error"]["code"]) == (3, "E-DESCRIPTOR-INVALID")
    assert any("/mcpServers/notes" in line and says in line for line in ran.data["error"]["details"])


def switched_off(machine: Machine) -> Path:
    """An install with a server, which the user then turns off."""
    machine.manifest(
        f'[packs.own]\npath = "{pack(machine.project / "pack")}"\n[targets.opencode]\nscope = "global"\n'
    )
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    file = machine.home / ".config/opencode/opencode.json"
    file.write_text(file.read_text().replace('"enabled": true', '"enabled": false'))
    return file


def test_leaving_names_the_server_that_the_user_changed(machine: Machine) -> None:
    file = switched_off(machine)
    before = file.read_text()
    ran = machine.ok("uninstall", "--allow", "high")
    assert "config:opencode.json#/mcp/notes stays as it is now: you changed it, so it is yours" in ran.out
    assert "unedit" not in ran.out and file.read_text() == before
