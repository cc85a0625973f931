"""The real package on three hosts and in a project: install, nothing to do, upgrade, back, and leaving.

Reaches the npm registry through the user's own client.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _machine_module() -> ModuleType:
    path = Path(__file__).parent.parent / "cli" / "conftest.py"
    spec = importlib.util.spec_from_file_location("cli_machine", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


Machine = _machine_module().Machine

MANIFEST = """
[packs.gsd]
npm = "@opengsd/gsd-core"
version = "{version}"

[targets.claude]
scope = "global"

[targets.codex]
scope = "global"

[targets.opencode]
scope = "global"

[targets.claude-local]
runtime = "claude"
scope = "local"
"""
SETTINGS = (
    b'{\r\n    // mine\r\n    "model": "opus",\r\n    "permissions": {"deny": ["Read(.env)"]},\r\n}\r\n'
)
CONFIG = b'# mine\nmodel = "gpt-x"\n[agents]\nmax_depth = 3 # deep\n'


Trees = tuple[dict[str, Any], dict[str, Any]]


def differences(one: Trees, other: Trees) -> list[str]:
    """The first paths that differ, of a home and a project folder."""
    found = [
        f"{number}:{path}"
        for number, (left, right) in enumerate(zip(one, other, strict=True))
        for path in sorted(left.keys() | right.keys())
        if left.get(path) != right.get(path)
    ]
    return found[:20]


@pytest.mark.network
def test_the_whole_story(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.home.mkdir()
    machine.project.mkdir()
    for path, data in ((".claude/settings.json", SETTINGS), (".codex/config.toml", CONFIG)):
        file = machine.home / path
        file.parent.mkdir()
        file.write_bytes(data)
    machine.manifest(MANIFEST.format(version="1.11.0"))
    machine.ok("resolve")
    before = machine.tree(), machine.tree(machine.project)

    machine.ok("apply", "--allow", "high")
    installed = machine.tree(), machine.tree(machine.project)
    assert len(installed[0]) > 2000 and len(installed[1]) > 700
    settings = machine.home / ".claude/settings.json"
    assert b"// mine\r\n" in settings.read_bytes()
    assert b"max_depth = 3 # deep" in (machine.home / ".codex/config.toml").read_bytes()
    local = (machine.project / ".claude").rglob("*")
    named = [p for p in local if p.is_file() and str(tmp_path).encode() in p.read_bytes()]
    assert not named, "a local target holds no path of this machine"

    stamps = machine.stamps()
    assert "nothing to do" in machine.ok("apply").out
    assert [p for p, stamp in machine.stamps().items() if stamps.get(p) != stamp] == []

    machine.manifest(MANIFEST.format(version="^1.11"))
    assert "up to date" not in machine.ok("resolve", "--upgrade-pack", "gsd").out
    shown = machine.ok("diff").out
    assert "@opengsd/gsd-core@1.11.0 -> @opengsd/gsd-core@1.1" in shown
    assert "target claude-local (claude local)" in shown and "config:gsd-core/VERSION" in shown
    assert machine.run("diff", "--exit-code").status == 1
    machine.ok("apply", "--allow", "high")
    assert differences((machine.tree(), machine.tree(machine.project)), installed)
    assert "in order" in machine.ok("status").out

    machine.ok("rollback", "--allow", "high")
    lock_and_manifest = ("gsdlock.lock", "gsdlock.toml")
    back = machine.tree(), machine.tree(machine.project)
    for name in lock_and_manifest:
        for tree in (back[1], installed[1], before[1]):
            tree.pop(name, None)
    assert differences(back, installed) == []

    machine.ok("uninstall", "--allow", "high")
    after = machine.tree(), machine.tree(machine.project)
    for name in lock_and_manifest:
        after[1].pop(name, None)
    assert differences(after, before) == []
    kinds = {e["kind"] for e in machine.ok("log", "--json").data["events"]}
    assert kinds == {"plan", "outcomes"}
    assert json.loads(machine.ok("verify", "--json").out)["damaged"] == []
