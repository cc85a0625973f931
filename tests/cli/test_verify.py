"""verify, and that what it advises helps."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from .conftest import Machine, PackMaker


def damage(machine: Machine, how: str) -> None:
    """Damage everything that is stored."""
    for blob in (machine.home / ".local/share/gsdlock/blobs/sha256").glob("*/*"):
        data = blob.read_bytes()
        blob.unlink()
        if how == "damaged":
            blob.write_bytes(data + b"x")


def settings(machine: Machine) -> Path:
    path = machine.home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text('{"model": "opus"}')
    return path


@pytest.mark.parametrize("how", ["damaged", "gone"])
@pytest.mark.parametrize("source", ["path", "archive", "builtin"])
def test_the_advice_brings_back_all_that_the_lock_names(
    machine: Machine, make_pack: PackMaker, source: str, how: str
) -> None:
    pack = make_pack()
    if source == "archive":
        with tarfile.open(machine.root / "own.tar", "w") as archive:
            archive.add(pack, arcname="own")
        pack = machine.root / "own.tar"
    where = 'builtin = "starter"' if source == "builtin" else f'{source} = "{pack}"'
    machine.manifest(f'[packs.own]\n{where}\n[targets.claude]\nscope = "global"\n')
    settings(machine)
    machine.ok("apply", "--allow", "high")
    lock = (machine.project / "gsdlock.lock").read_bytes()
    machine.ok("verify")
    damage(machine, how)
    ran = machine.run("verify")
    assert ran.status == 5
    assert "gsdlock resolve fetches it again" in ran.out
    machine.ok("resolve")
    left = machine.run("verify")
    assert "fetches it again" not in left.out
    (line,) = [line for line in left.out.splitlines() if "the lock does not name it" in line]
    assert line in ran.out  # the settings file as it was before us: the store alone had it
    assert left.status == 5
    assert (machine.project / "gsdlock.lock").read_bytes() == lock


def test_content_of_a_former_lock_comes_back_from_what_is_installed(
    machine: Machine, make_pack: PackMaker
) -> None:
    machine.manifest(f'[packs.own]\npath = "{make_pack()}"\n[targets.claude]\nscope = "global"\n')
    machine.ok("apply", "--allow", "high")
    make_pack("2.0.0")
    machine.ok("resolve", "--upgrade")
    skill = (machine.home / ".claude/skills/greet/SKILL.md").read_bytes()
    blobs = machine.home / ".local/share/gsdlock/blobs/sha256"
    (blob,) = [path for path in blobs.glob("*/*") if path.read_bytes() == skill]
    blob.unlink()
    ran = machine.run("verify")
    assert ran.status == 5 and "gsdlock doctor --repair takes it" in ran.out
    machine.ok("doctor", "--repair")
    machine.ok("verify")
