"""Files whose names look like something else to the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Machine, PackMaker


@pytest.fixture
def installed(machine: Machine, make_pack: PackMaker) -> Path:
    """An install with a file that has a `#` in its name, and one that looks like a version."""
    pack = make_pack(hook=False)
    for name in ("c#.md", "c#/x.md", "v@1"):
        file = pack / "skills/greet" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("ours\n")
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "local"\n')
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    return machine.project / ".claude/skills/greet"


@pytest.mark.parametrize("name", ["c#.md", "c#/x.md", "v@1"])
def test_why_knows_them(machine: Machine, installed: Path, name: str) -> None:
    (row,) = machine.ok("why", str(installed / name), "--json").data["origins"]
    assert row["place"].endswith(f"greet/{name}")
    assert "E-WHY-UNKNOWN" in machine.run("why", str(installed / f"{name}#/x")).err


def test_restore_takes_the_name_that_was_printed(machine: Machine, installed: Path) -> None:
    (installed / "v@1").write_text("mine\n")
    ran = machine.ok("apply", "--ours", "--allow", "high")
    (command,) = [line.split("gsdlock ")[1] for line in ran.out.splitlines() if "is kept" in line]
    machine.ok(*command.split(), "--allow", "high")
    assert (installed / "v@1").read_text() == "mine\n"


def test_why_takes_an_entry_as_it_stands_on_the_disk_and_as_it_is_locked(machine: Machine) -> None:
    machine.manifest('[packs.gsd]\npath = "./gsd"\n[targets.opencode]\nscope = "global"\n')
    gsd = machine.project / "gsd"
    for name, text in {
        "commands/gsd/help.md": "---\nname: gsd:help\ndescription: Helps.\n---\nSee {}.\n",
        "gsd-core/VERSION": "1.11.0\n",
        "package.json": '{"name": "@opengsd/gsd-core", "version": "1.11.0"}',
    }.items():
        (gsd / name).parent.mkdir(parents=True, exist_ok=True)
        (gsd / name).write_text(text)
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    file = machine.home / ".config/opencode/opencode.json"
    permissions = machine.ok("why", str(file), "--json").data["origins"]
    locked = [row["place"] for row in permissions if "permission" in row["place"]]
    assert locked and all("{{gsdlock:" in place for place in locked)
    there = [
        f"/permission/{kind}/{key.replace('~', '~0').replace('/', '~1')}"
        for kind, rules in json.loads(file.read_text())["permission"].items()
        for key in rules
    ]
    for at in there:
        assert len(machine.ok("why", f"{file}#{at}", "--json").data["origins"]) == 1
