"""A user's files on every host at once, through an install, five upgrades and leaving: byte for byte."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.homes import resolve_roots
from gsdlock.capabilities.registry import load_builtin
from gsdlock.lockfiles.read import read_lock

from .conftest import Machine

VERSIONS = range(1, 7)
# There is no such place: vscode keeps no files of ours, and these read none in a project.
NOWHERE = {"vscode-global", "vscode-local", "kimi-local", "kimi-code-local"}

USERS_TEXTS = {
    "jsonc": [
        b'{\n    // mine\n    "zeta": 1,\n    "model": "opus", /* keep */\n    "nested": {"a": [1]}\n}\n',
        b'{\r\n\t"model": "m",\r\n\t"url": "https:\\/\\/x\\u00e9"\r\n}\r\n',
        b'\xef\xbb\xbf{\n  "n": 12345678901234567890,\n  "list": [\n    "a",\n  ],\n}',
    ],
    "toml": [
        b'# mine\nmodel = "x"   # why\nlist = [ 1,\n  2 ]\n\n[profiles.fast]\nwhen = 1979-05-27\n',
        b"model = \"x\"\r\n\r\n[tui]\r\ntheme = 'dark'\r\n",
    ],
    "yaml": [
        b"# mine\nmodel: &m gpt\nother: {a: 1, b: [x, y]}  # flow\n\nnotes: |\n  long\n\n  text\nagain: *m\n",
    ],
    "markdown": [b"# My rules\n\nNever `rm`.\n\n```\n<!-- BEGIN x -->\n```\n", b"One line, no end"],
}
# What the user writes into each file between two upgrades: after the first line that ends so.
EDITS = {
    "jsonc": ("{", '  "added{n}": {n},'),
    "toml": ("", "added{n} = {n} # later"),
    "yaml": ("", "added{n}: {n} # later"),
    "markdown": ("", "A line of mine, {n}."),
}


def pack(machine: Machine, version: int) -> None:
    """Two packs in their nth version: each brings, changes and drops hooks, servers, agents and blocks."""
    own, gsd = machine.root / "own", machine.root / "gsd"
    write(own / "skills/greet/SKILL.md", f"---\nname: greet\ndescription: Hi.\n---\nHello {version}.\n")
    if version != 3:
        write(
            own / "agents/helper.md",
            f"---\nname: helper\ndescription: Helps.\n---\nHelp {version}, always.\n",
        )
    elif (own / "agents/helper.md").exists():
        (own / "agents/helper.md").unlink()
    for name in ("start", "stop", f"only-{version}"):
        write(own / f"hooks/{name}.sh", f"#!/bin/sh\necho {name} {version}\n")
    servers = {"docs": {"type": "stdio", "command": "npx", "args": ["-y", f"docs@{version // 2}"]}}
    if version % 2:
        servers[f"odd-{version}"] = {"type": "http", "url": f"https://example.org/{version}"}
    hooks = [
        {"event": "SessionStart", "script": "hooks/start.sh"},
        {"event": "PreToolUse", "script": f"hooks/only-{version}.sh", "matcher": "Write|Edit"},
    ]
    write(
        own / "capability.json",
        json.dumps(
            {
                "id": "greet",
                "role": "feature",
                "version": f"{version}.0.0",
                "title": "Greet",
                "description": "Says hello.",
                "tier": "standard",
                "requires": [],
                "runtimeCompat": {"supported": ["*"], "unsupported": []},
                "skills": ["greet"],
                "agents": [] if version == 3 else ["helper"],
                "hooks": hooks if version != 5 else hooks[:1],
                "mcpServers": servers,
                "config": {},
                "steps": [],
                "contributions": [],
                "gates": [],
            }
        ),
    )
    write(gsd / "package.json", json.dumps({"name": "gsd", "version": f"1.{10 + version // 3}.0"}))
    command = f"---\nname: gsd:help\ndescription: Helps.\n---\nSee ~/.claude/gsd-core/x.md, {version}.\n"
    write(gsd / "commands/gsd/help.md", command)
    write(
        gsd / "agents/gsd-checker.md",
        f"---\nname: gsd-checker\ndescription: Checks.\n---\nCheck {version} things.\n",
    )
    write(gsd / "gsd-core/templates/copilot-instructions.md", f"# GSD\n\nRules of {version}.\n")
    write(gsd / "gsd-core/bin/gsd-mcp-server.cjs", "// serves\n")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def targets() -> dict[str, tuple[str, str]]:
    """Every host at both scopes, by the name of its target."""
    return {f"{i}-{s}": (i, s) for i in load_builtin().runtimes for s in ("global", "local")}


def manifest(names: dict[str, tuple[str, str]]) -> str:
    lines = ['[packs.own]\npath = "../own"\n[packs.gsd]\npath = "../gsd"\n']
    for name, (runtime, scope) in names.items():
        lines.append(f'[targets.{name}]\nruntime = "{runtime}"\nscope = "{scope}"\n')
    return "".join(lines)


def shared_files(machine: Machine, names: dict[str, tuple[str, str]]) -> dict[Path, str]:
    """Every file of the hosts that any version has entries in, with its format."""
    environment = Environment(
        variables={},
        home=str(machine.home),
        cwd=str(machine.project),
        platform="linux",
        user_id=os.geteuid(),
        now=lambda: "",
        folders=Folders(*(str(machine.root / n) for n in ("c", "d", "s", "k"))),
    )
    lock = read_lock((machine.project / "gsdlock.lock").read_bytes(), "gsdlock.lock")
    found: dict[Path, str] = {}
    for target in lock.targets:
        runtime = load_builtin().runtime(names[target.name][0])
        roots = resolve_roots(runtime, target.scope, environment, str(machine.project), os.path.exists)
        for edit in target.edits:
            if not Path(edit.path).name.startswith(("greet", "gsd")):  # a file of the pack's own
                found[Path(roots.paths[edit.root]) / edit.path] = edit.format.value
    return found


def lay(machine: Machine, files: dict[Path, str]) -> None:
    for number, (path, format_) in enumerate(sorted(files.items())):
        texts = USERS_TEXTS[format_]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(texts[number % len(texts)])
        path.chmod(0o600 if number % 2 else 0o644)


def edited(data: bytes, format_: str, number: int) -> bytes:
    """`data` with a line of the user's more, near its beginning, with the end of line of the file."""
    after, line = EDITS[format_]
    eol = b"\r\n" if b"\r\n" in data else b"\n"
    text = line.replace("{n}", str(number)).encode() + eol
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    at = len(bom) if not after else data.index(after.encode() + eol) + len(after) + len(eol)
    return data[:at] + text + data[at:]


def everything(machine: Machine) -> dict[str, Any]:
    found = {f"home/{k}": v for k, v in machine.tree().items()}
    found |= {
        f"project/{k}": v for k, v in machine.tree(machine.project).items() if not k.startswith("gsdlock.")
    }
    return found


@pytest.fixture
def everywhere(machine: Machine) -> tuple[Machine, dict[Path, str]]:
    """A machine with all hosts in its manifest, and a user's file wherever any of them has a shared one."""
    names = {name: at for name, at in targets().items() if name not in NOWHERE}
    machine.manifest(manifest(names))
    pack(machine, 1)
    machine.ok("resolve")
    files = shared_files(machine, names)
    lay(machine, files)
    return machine, files


def test_an_untouched_file_of_the_users_survives_byte_for_byte(everywhere: Any) -> None:
    machine, files = everywhere
    assert len(files) > 25
    before = everything(machine)
    for version in VERSIONS:
        pack(machine, version)
        machine.ok("resolve")
        machine.ok("apply", "--allow", "high")
        for path in files:
            old = before[path.relative_to(machine.root).as_posix()][1]
            gone = [
                line
                for line in difflib.ndiff(old.decode().splitlines(), path.read_text().splitlines())
                if line[:1] == "-"
            ]
            assert len(gone) <= 2, path  # a comma, or the end of the last line
    machine.ok("uninstall", "--allow", "high")
    assert everything(machine) == before


def test_with_edits_in_between_only_those_are_left(everywhere: Any) -> None:
    machine, files = everywhere
    mine = {path: path.read_bytes() for path in files}
    for version in VERSIONS:
        pack(machine, version)
        machine.ok("resolve")
        machine.ok("apply", "--allow", "high")
        if version in (2, 4):
            for path, format_ in files.items():
                mine[path] = edited(mine[path], format_, version)
                path.write_bytes(edited(path.read_bytes(), format_, version))
    machine.ok("uninstall", "--allow", "high")
    assert {path: path.read_bytes() for path in files} == mine


def test_runtimes_names_a_folder_in_a_project_only_where_an_install_can_go(machine: Machine) -> None:
    rows = machine.ok("runtimes", "--json").data["runtimes"]
    for row in rows:
        machine.manifest(f'[packs.starter]\nbuiltin = "starter"\n[targets.{row["id"]}]\nscope = "local"\n')
        ran = machine.run("resolve")
        assert (ran.status == 0) == bool(row["local"]), row["id"]
        assert ran.status == 0 or "E-HOME-LOCAL" in ran.err
