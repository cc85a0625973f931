"""A fresh clone that declares an overlay: without the user's consent it is nothing but files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.write import lock_bytes
from msgspec import structs

from .conftest import Machine, PackMaker

STARTER = '[packs.starter]\nbuiltin = "starter"\n[targets.claude]\nscope = "{scope}"\n'


@pytest.fixture
def clone(machine: Machine, make_pack: PackMaker) -> Path:
    """A clone with an overlay of its own in it; the folder of the overlay."""
    overlay = make_pack(name="evil").rename(machine.project / "overlay")
    machine.manifest(STARTER.format(scope="global") + '[overlays.demo-evil]\npath = "./overlay"\n')
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude/settings.json").write_text('{"model": "opus"}\n')
    return overlay


def consent(machine: Machine) -> None:
    """What a user does who has read it."""
    digest = machine.ok("overlay", "show", "./overlay", "--json").data["overlay"]["digest"]
    machine.ok("overlay", "trust", "demo-evil", "--consent", digest)


def refused(machine: Machine, code: str = "E-OVERLAY-CONSENT") -> str:
    """Nothing of the overlay happens, whatever is allowed on the command line."""
    before = machine.tree()
    said = ""
    for words in (["resolve"], ["apply", "--allow", "critical"], ["apply", "--unsafe-auto-allow"]):
        ran = machine.run(*words)
        assert ran.status in (3, 4) and code in ran.err, ran.err
        said = ran.err
    assert machine.tree() == before
    return said


def test_no_risk_that_is_allowed_is_consent(machine: Machine, clone: Path) -> None:
    assert "gsdlock overlay trust demo-evil" in refused(machine)


@pytest.mark.parametrize("scope", ["local", "global"])
def test_a_lock_that_comes_along_is_no_consent(machine: Machine, clone: Path, scope: str) -> None:
    """The author of the clone consented on another machine, and committed the lock."""
    author = Machine(machine.root / "author")
    author.home.mkdir(parents=True)
    machine.manifest(STARTER.format(scope=scope) + '[overlays.demo-evil]\npath = "./overlay"\n')
    (machine.root / "author/project").symlink_to(machine.project)
    consent(author)
    author.ok("resolve")
    assert (machine.project / "gsdlock.lock").exists()
    before = machine.tree(), machine.tree(machine.project)
    for words in (["apply", "--locked", "--allow", "critical"], ["apply", "--unsafe-auto-allow"]):
        ran = machine.run(*words)
        assert ran.status == 4 and "E-OVERLAY-CONSENT" in ran.err
    assert (machine.tree(), machine.tree(machine.project)) == before


def test_with_consent_what_it_executes_is_critical_and_asked(machine: Machine, clone: Path) -> None:
    consent(machine)
    machine.ok("resolve")
    before = machine.tree()
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err and "(critical, asked by default)" in ran.err
    assert machine.tree() == before
    machine.ok("apply", "--allow", "critical")
    assert "evil.sh" in (machine.home / ".claude/settings.json").read_text()


def origins_in_the_store(machine: Machine) -> tuple[str, bytes]:
    """The digest and the bytes of where the lock says that all comes from."""
    (target,) = read_lock((machine.project / "gsdlock.lock").read_bytes(), "").targets
    path = machine.home / ".local/share/gsdlock/blobs/sha256" / target.origins[7:9] / target.origins[9:]
    return target.origins, path.read_bytes()


@pytest.mark.parametrize("also", ["the features", "nothing else"])
def test_a_lock_that_hides_where_things_come_from_is_not_believed(
    machine: Machine, clone: Path, make_pack: PackMaker, also: str
) -> None:
    """What executes of an overlay is critical. A pack of the clone brings another account of what comes from
    where into the store, as one of its files, and the next version of the lock names that."""
    pack = make_pack(name="greet").rename(machine.project / "pack")
    text = '[targets.claude]\nscope = "local"\n[overlays.demo-evil]\npath = "./overlay"\n'
    machine.manifest(f'{text}[packs.own]\npath = "./pack"\n')
    consent(machine)
    for _ in range(2):  # a file of the pack's has an origin, too
        machine.ok("resolve")
        _, account = origins_in_the_store(machine)
        forged = account.replace(b"overlay:demo-evil", b"own")
        (pack / "skills/greet/account.json").write_bytes(forged)
    machine.ok("resolve")
    path = machine.project / "gsdlock.lock"
    lock = read_lock(path.read_bytes(), "")
    (target,) = lock.targets
    digest = "sha256:" + hashlib.sha256(forged).hexdigest()
    features = target.features if also == "nothing else" else ("demo-greet",)
    target = structs.replace(target, origins=digest, features=features)
    lie = structs.replace(lock, targets=(target,))
    path.write_bytes(lock_bytes(lie))
    before = machine.tree(machine.project)
    assert "E-LOCK-REBUILD" in machine.run("apply", "--locked", "--allow", "high").err
    machine.believe(lie)
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err and "evil.sh (critical" in ran.err, ran.err
    assert machine.tree(machine.project) == before


CHANGES: dict[str, Callable[[Path], object]] = {
    "when its hook runs": lambda folder: _descriptor(
        folder, '"hooks/evil.sh"', '"hooks/evil.sh", "matcher": "Bash"'
    ),
    "what its hook does": lambda folder: (folder / "hooks/evil.sh").write_text("#!/bin/sh\necho other\n"),
    "a word of its description": lambda folder: _descriptor(folder, "Says hello.", "Says hallo."),
    "a line end": lambda folder: (folder / "skills/evil/SKILL.md").open("a").write("\n"),
    "a file more": lambda folder: (folder / "more.md").write_text("more"),
}


def _descriptor(folder: Path, old: str, new: str) -> None:
    path = folder / "capability.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_43_any_changed_byte_asks_again(machine: Machine, clone: Path, change: str) -> None:
    """What a descriptor says of an unchanged program, and a cosmetic change too: consent is to every byte."""
    consent(machine)
    machine.ok("resolve")
    CHANGES[change](clone)
    before = machine.tree()
    ran = machine.run("resolve")
    assert ran.status == 4 and "E-OVERLAY-CONSENT" in ran.err
    assert machine.tree() == before


def test_an_overlay_is_not_declared_through_a_link_of_the_clone(machine: Machine, clone: Path) -> None:
    """The clone's manifest is a link to a file of the user's, which declaring an overlay would change."""
    theirs = machine.home / "theirs.toml"
    (machine.project / "gsdlock.toml").rename(theirs)
    theirs.write_text(STARTER.format(scope="local"))
    (machine.project / "gsdlock.toml").symlink_to(theirs)
    digest = machine.ok("overlay", "show", "./overlay", "--json").data["overlay"]["digest"]
    before = machine.tree()
    ran = machine.run("overlay", "add", "./overlay", "--project", "--consent", digest)
    assert ran.status == 4 and "E-FILE-LINK" in ran.err
    assert machine.tree() == before


@pytest.mark.parametrize("id_", ["claude", "codex", "ui"])
def test_44_first_party_wins_its_ids(machine: Machine, clone: Path, id_: str) -> None:
    """Neither declared nor installed, neither with a consent nor without one."""
    descriptor = json.loads((clone / "capability.json").read_text())
    (clone / "capability.json").write_text(json.dumps({**descriptor, "id": id_}))
    machine.manifest(STARTER.format(scope="global") + f'[overlays.{id_}]\npath = "./overlay"\n')
    before = machine.tree()
    for words, code in (
        (["resolve"], "E-OVERLAY-"),
        (["apply", "--allow", "critical"], "E-OVERLAY-"),
        (["overlay", "add", "./overlay"], "E-OVERLAY-CONFLICT"),
        (["overlay", "trust", id_], "E-OVERLAY-CONFLICT"),
    ):
        ran = machine.run(*words)
        assert ran.status in (3, 4) and code in ran.err and id_ in ran.err, ran.err
    assert machine.tree() == before
