"""Dev-overrides: a folder in place of a pack, for this user and this machine only."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .conftest import Machine, PackMaker


@pytest.fixture
def developed(machine: Machine, make_pack: PackMaker) -> Path:
    """A target made from a locked archive of 1.0.0, and the folder where 2.0.0 is worked on."""
    pack = make_pack("1.0.0")
    archive = shutil.make_archive(str(machine.root / "greet"), "gztar", pack.parent, pack.name)
    machine.manifest(f'[packs.greet]\narchive = "{archive}"\n[targets.claude]\nscope = "local"\n')
    machine.ok("apply", "--allow", "high")
    return make_pack("2.0.0")


def override(machine: Machine, folder: Path | str) -> None:
    machine.own(f'[dev-overrides]\ngreet = "{folder}"\nelsewhere = "/nowhere"\n')


def skill(machine: Machine) -> str:
    return (machine.project / ".claude/skills/greet/SKILL.md").read_text()


def test_18_the_folder_is_applied_and_the_lock_stays(machine: Machine, developed: Path) -> None:
    lock = (machine.project / "gsdlock.lock").read_bytes()
    override(machine, developed)
    ran = machine.ok("apply", "--allow", "high")
    assert f"dev-override: pack greet is the folder {developed}" in ran.out
    assert "Hello from 2.0.0." in skill(machine)
    (developed / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: x\n---\nnow\n")
    machine.ok("apply", "--allow", "high")
    assert skill(machine).endswith("now\n")
    assert (machine.project / "gsdlock.lock").read_bytes() == lock


def test_every_report_of_a_plan_says_so(machine: Machine, developed: Path) -> None:
    override(machine, developed)
    for words in (["resolve"], ["status"], ["apply", "--dry-run"], ["apply", "--allow", "high"], ["apply"]):
        ran = machine.ok(*words)
        assert f"dev-override: pack greet is the folder {developed}" in ran.out, words
        assert machine.ok("--json", *words).data["dev-overrides"] == {"greet": str(developed)}
    assert "since dev-overrides are in force" in machine.ok("status").out


def test_what_a_host_would_see_twice_is_told(machine: Machine, developed: Path) -> None:
    """As where the plan is locked: the other host reads both folders."""
    text = (machine.project / "gsdlock.toml").read_text().split("[targets.claude]")[0]
    machine.manifest(text + '[targets.claude]\nscope = "global"\n[targets.codex]\nscope = "global"\n')
    (machine.home / ".config/opencode").mkdir(parents=True)
    override(machine, developed)
    ran = machine.ok("apply", "--allow", "high")
    assert f"dev-override: pack greet is the folder {developed}" in ran.out
    assert "warning W-TRIGGER-TWICE: opencode finds 1 skill more than once" in ran.out


def test_18_every_step_that_comes_of_it_is_flagged(machine: Machine, developed: Path) -> None:
    override(machine, developed)
    ran = machine.run("apply")
    assert ran.status == 4 and "(dev-override of pack greet)" in ran.err
    rows = machine.ok("apply", "--dry-run", "--json").data["items"]
    assert {r["op"] for r in rows} >= {"replace"}
    assert all("(dev-override of pack greet)" in r["description"] for r in rows)
    machine.ok("apply", "--allow", "high")
    events = machine.ok("log", "--json", "--kind", "plan").data["events"]
    said = [i["description"] for i in events[-1]["payload"]["items"]]
    assert said and all("(dev-override of pack greet)" in text for text in said)


def test_what_is_not_of_that_pack_is_not_flagged(machine: Machine, make_pack: PackMaker) -> None:
    one, two = make_pack(name="greet"), make_pack(name="other")
    machine.manifest(
        f'[packs.greet]\npath = "{one}"\n[packs.other]\npath = "{two}"\n[targets.claude]\nscope = "local"\n'
    )
    override(machine, one)
    rows = machine.ok("apply", "--dry-run", "--json").data["items"]
    flagged = {r["key"]: "(dev-override of pack greet)" in r["description"] for r in rows}
    assert len(flagged) == 6
    assert all(
        is_flagged is ("greet" in key or "Stop" in key)
        for key, is_flagged in flagged.items()
        if "#" not in key
    )
    assert sorted(is_flagged for key, is_flagged in flagged.items() if "#" in key) == [False, True]


def test_without_a_lock_none_is_written(machine: Machine, developed: Path) -> None:
    (machine.project / "gsdlock.lock").unlink()
    override(machine, developed)
    machine.ok("apply", "--allow", "high")
    assert "Hello from 2.0.0." in skill(machine)
    assert not (machine.project / "gsdlock.lock").exists()


def test_resolve_locks_what_the_manifest_says(machine: Machine, developed: Path) -> None:
    lock = (machine.project / "gsdlock.lock").read_bytes()
    override(machine, developed)
    assert "it is not locked" in machine.ok("resolve").out
    assert (machine.project / "gsdlock.lock").read_bytes() == lock


def test_20_locked_refuses(machine: Machine, developed: Path) -> None:
    override(machine, developed)
    before = machine.tree(machine.project)
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert ran.status == 4 and "E-DEV-OVERRIDE-LOCKED" in ran.err and str(developed) in ran.err
    assert machine.tree(machine.project) == before


def test_18_a_missing_folder_is_missing_content(machine: Machine, developed: Path) -> None:
    override(machine, developed / "gone")
    before = machine.tree(machine.project)
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 5 and "E-PACK-PATH-MISSING" in ran.err
    assert machine.tree(machine.project) == before


def test_a_folder_is_checked_as_any_pack(machine: Machine, developed: Path) -> None:
    (developed / "skills/greet/evil").symlink_to("/etc/passwd")
    override(machine, developed)
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-PACK-LINK" in ran.err


def test_18_an_empty_one_is_none(machine: Machine, developed: Path) -> None:
    override(machine, "")
    ran = machine.ok("apply", "--locked", "--allow", "high")
    assert "dev-override" not in ran.out and "Hello from 1.0.0." in skill(machine)


def test_once_it_is_gone_the_lock_holds_again(machine: Machine, developed: Path) -> None:
    override(machine, developed)
    machine.ok("apply", "--allow", "high")
    machine.own("")
    machine.ok("apply", "--locked", "--allow", "high")
    assert "Hello from 1.0.0." in skill(machine)
    assert "in order" in machine.ok("status", "--exit-code").out


def test_content_of_the_lock_is_not_collected_meanwhile(machine: Machine, developed: Path) -> None:
    override(machine, developed)
    machine.ok("apply", "--allow", "high")
    machine.own("")
    (machine.root / "greet.tar.gz").unlink()
    for blob in (machine.home / ".local/share/gsdlock/blobs/sha256").rglob("*"):
        os.utime(blob, (1, 1))  # what is younger than an hour stays anyway
    machine.ok("gc", "--keep", "1")
    machine.ok("apply", "--locked", "--allow", "high")
    assert "Hello from 1.0.0." in skill(machine)


def test_19_a_project_cannot_say_it(machine: Machine, developed: Path) -> None:
    text = (machine.project / "gsdlock.toml").read_text()
    machine.manifest(f'{text}[dev-overrides]\ngreet = "{developed}"\n')
    ran = machine.run("apply", "--allow", "critical")
    assert ran.status == 4 and "E-LAYER-PROJECT" in ran.err
    assert str(machine.home / ".config/gsdlock/gsdlock.toml") in ran.err
    assert "Hello from 1.0.0." in skill(machine)
