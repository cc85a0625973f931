"""A diff tells where things really go on this machine, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCOPES = ("global", "local")


def own(machine: Any, pack: Path, target: str = "claude", scope: str = "global") -> None:
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.{target}]\nscope = "{scope}"\n')
    machine.ok("resolve")


def lead(machine: Any) -> list[str]:
    found: list[str] = machine.ok("diff", "--json").data["leads"]
    text = machine.ok("diff").out
    assert all(f"  {line}\n" in text for line in found)
    return found


@pytest.mark.parametrize("scope", SCOPES)
def test_links_on_the_way_are_named_with_where_they_lead(machine: Any, make_pack: Any, scope: str) -> None:
    own(machine, make_pack(), scope=scope)
    base = machine.home if scope == "global" else machine.project
    work = machine.home / "work"
    (work / "team-skills").mkdir(parents=True)
    assert lead(machine) == []
    (base / ".claude").mkdir()
    (base / ".claude/skills").symlink_to(work / "team-skills")
    (work / "s.json").write_text("{}\n")
    name = "settings.json" if scope == "global" else "settings.local.json"
    (base / ".claude" / name).symlink_to(work / "s.json")
    assert lead(machine) == [
        f"claude: {base}/.claude/{name} is a link to {work}/s.json",
        f"claude: {base}/.claude/skills is a link to {work}/team-skills, and an apply writes through none",
    ]
    assert "E-CONFINE-LINK" in machine.run("apply", "--allow", "high").err


def test_a_home_that_is_a_link_and_followed(machine: Any, make_pack: Any) -> None:
    own(machine, make_pack())
    (machine.home / "dotfiles/claude").mkdir(parents=True)
    (machine.home / ".claude").symlink_to("dotfiles/claude")
    assert lead(machine) == [f"claude: {machine.home}/.claude is a link to {machine.home}/dotfiles/claude"]
    machine.ok("apply", "--allow", "high")
    assert lead(machine) == [], "nothing changes any more"


def test_a_shared_file_that_bears_another_name(machine: Any, make_pack: Any) -> None:
    pack = make_pack()
    text = (pack / "capability.json").read_text()
    servers = '"mcpServers": {"docs": {"command": "docs-server"}}, "config": {}'
    (pack / "capability.json").write_text(text.replace('"config": {}', servers))
    own(machine, pack, "opencode")
    folder = machine.home / ".config/opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{\n  // mine\n}\n")
    assert f"opencode: {folder}/opencode.json is opencode.jsonc here" in lead(machine)
