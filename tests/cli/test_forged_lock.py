"""A lock that somebody wrote by hand, its digests right: what it says is not what its inputs give."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import Lock, Target
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.write import lock_bytes
from msgspec.structs import replace

from .conftest import Machine, PackMaker


def placed_elsewhere(target: Target) -> Target:
    (placement,) = [p for p in target.placements if p.path.endswith("SKILL.md")]
    others = [p for p in target.placements if p is not placement]
    moved = replace(placement, path=".claude/CLAUDE.md" if placement.root == "project" else "CLAUDE.md")
    return replace(target, placements=tuple(sorted([*others, moved], key=lambda p: (p.root, p.path))))


def hook_as_a_text(target: Target) -> Target:
    """No rule about hooks speaks for it."""
    return replace(target, edits=tuple(replace(edit, executes=False) for edit in target.edits))


def script_that_runs(target: Target) -> Target:
    return replace(target, placements=tuple(replace(p, mode=0o755) for p in target.placements))


LIES: list[Callable[[Target], Target]] = [placed_elsewhere, hook_as_a_text, script_that_runs]


def forge(machine: Machine, lie: Callable[[Target], Target]) -> Lock:
    path = machine.project / "gsdlock.lock"
    lock = read_lock(path.read_bytes(), "")
    forged = replace(lock, targets=tuple(map(lie, lock.targets)))
    assert forged != lock
    path.write_bytes(lock_bytes(forged))
    return forged


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("scope", ["global", "local"])
def test_it_is_refused_every_time_and_with_a_warm_store_too(
    machine: Machine, make_pack: PackMaker, scope: str, lie: Callable[[Target], Target]
) -> None:
    machine.manifest(f'[packs.own]\npath = "{make_pack()}"\n[targets.claude]\nscope = "{scope}"\n')
    machine.ok("resolve")
    forge(machine, lie)
    before = machine.tree(), machine.tree(machine.project)
    for words in (["apply", "--locked"], ["apply", "--locked"], ["apply"], ["apply", "--dry-run"]):
        ran = machine.run(*words, "--allow", "critical")
        assert ran.status == 5 and "E-LOCK-REBUILD" in ran.err and "somebody changed it" in ran.err
    assert (machine.tree(), machine.tree(machine.project)) == before
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")


def test_one_that_somebody_else_made_is_compared_once_and_then_believed(
    machine: Machine, make_pack: PackMaker, tmp_path: Path
) -> None:
    pack = make_pack()
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    other = Machine(tmp_path / "other")
    for folder in (other.home, other.project):
        folder.mkdir(parents=True)
    other.manifest((machine.project / "gsdlock.toml").read_text())
    other.ok("resolve")
    (machine.project / "gsdlock.lock").write_bytes((other.project / "gsdlock.lock").read_bytes())
    machine.ok("apply", "--locked", "--allow", "high")
    make_pack("2.0.0")  # from now on the inputs are not asked again
    machine.ok("uninstall", "--allow", "high")
    machine.ok("apply", "--locked", "--allow", "high")
    assert "Hello from 1.0.0" in (machine.home / ".claude/skills/greet/SKILL.md").read_text()


def test_nothing_goes_into_the_folder_from_which_git_runs_things(
    machine: Machine, make_pack: PackMaker
) -> None:
    def lie(target: Target) -> Target:
        first, *rest = target.placements
        return replace(target, placements=(replace(first, root="project", path=".git/commondir"), *rest))

    machine.manifest(f'[packs.own]\npath = "{make_pack(hook=False)}"\n[targets.claude]\nscope = "local"\n')
    machine.ok("resolve")
    machine.believe(forge(machine, lie))
    ran = machine.run("apply", "--locked", "--allow", "critical")
    assert ran.status == 4 and "E-CONFINE-PATH" in ran.err and ".git" in ran.err


@pytest.mark.parametrize("first", ["resolve", "apply"])
def test_the_tree_of_one_pack_under_the_pin_of_another_is_found_out(
    machine: Machine, make_pack: PackMaker, tmp_path: Path, first: str
) -> None:
    """The store holds the other tree, as a pack of the same manifest brought it there."""
    trusted = make_pack("1.0.0", name="greet")
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=trusted, check=True)
    evil = machine.project / "evil"
    shutil.copytree(trusted, evil, ignore=shutil.ignore_patterns(".git"))
    (evil / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: d\n---\nEVIL\n")
    machine.manifest(
        f'[packs.a-notes]\npath = "./evil"\n[packs.official]\ngit = "{trusted}"\n'
        '[targets.claude]\nscope = "local"\npacks = ["official"]\n'
    )
    machine.ok("resolve")
    path = machine.project / "gsdlock.lock"
    lock = read_lock(path.read_bytes(), "")
    notes, official = lock.packs
    forged = replace(lock, packs=(notes, replace(official, tree=notes.tree)))
    path.write_bytes(lock_bytes(forged))
    ran = machine.run(*([first] if first == "resolve" else ["apply", "--locked", "--allow", "critical"]))
    assert ran.status == 5 and "E-PACK-TREE" in ran.err, ran.err


def test_a_change_of_the_manifest_asks_no_origin_again_of_what_was_read_here(
    machine: Machine, make_pack: PackMaker
) -> None:
    """The plan is made anew and compared, from what the store has: an origin may be gone by then."""
    archive = machine.project / "pk.tgz"
    subprocess.run(["tar", "czf", str(archive), "-C", str(make_pack()), "."], check=True)
    machine.manifest('[packs.own]\narchive = "./pk.tgz"\n[targets.claude]\nscope = "local"\n')
    machine.ok("resolve")
    archive.unlink()
    shutil.rmtree(machine.home / ".cache")
    machine.manifest("# a word\n" + (machine.project / "gsdlock.toml").read_text())
    assert "up to date" in machine.ok("resolve", "--offline").out
    machine.manifest("# another\n" + (machine.project / "gsdlock.toml").read_text())
    machine.ok("apply", "--locked", "--offline", "--allow", "high")


def test_what_was_made_of_a_folder_in_place_of_a_pack_proves_nothing(
    machine: Machine, make_pack: PackMaker
) -> None:
    mine = make_pack("9.9.9", name="greet").rename(machine.root / "mine")
    machine.manifest(f'[packs.own]\npath = "{make_pack()}"\n[targets.claude]\nscope = "global"\n')
    machine.ok("resolve")
    before = sorted((machine.home / ".local/share/gsdlock/proofs").iterdir())
    machine.own(f'[dev-overrides]\nown = "{mine}"\n')
    machine.ok("apply", "--allow", "high")
    assert "9.9.9" in (machine.home / ".claude/skills/greet/SKILL.md").read_text()
    assert sorted((machine.home / ".local/share/gsdlock/proofs").iterdir()) == before


def first(rows: tuple[Any, ...], **how: str) -> tuple[Any, ...]:
    return (replace(rows[0], **how), *rows[1:])


def in_targets(**how: Callable[[Target], Any]) -> Callable[[Lock], Lock]:
    return lambda lock: replace(
        lock, targets=tuple(replace(t, **{k: make(t) for k, make in how.items()}) for t in lock.targets)
    )


DIGESTS: dict[str, Callable[[Lock, str], Lock]] = {
    "the tree of a pack": lambda lock, other: replace(lock, packs=first(lock.packs, tree=other)),
    "a file": lambda lock, other: in_targets(placements=lambda t: first(t.placements, digest=other))(lock),
    "a value": lambda lock, other: in_targets(edits=lambda t: first(t.edits, value=other))(lock),
    "origins": lambda lock, other: in_targets(origins=lambda _: other)(lock),
}
BLOBS = ["text", "number.json", "list.json", "rows.json", "a tree", "a plan"]


@pytest.mark.parametrize("field", DIGESTS)
@pytest.mark.parametrize("blob", BLOBS)
def test_a_digest_of_another_kind_is_no_fault_of_ours(
    machine: Machine, make_pack: PackMaker, field: str, blob: str
) -> None:
    """Everything that it may name is in the store, some of it brought there by a pack for that."""
    pack = make_pack()
    texts = {
        "text": "[",
        "number.json": '{"files":1.5}',
        "list.json": "[1]",
        "rows.json": '{"files":{"x":[]},"origins":{"x":[1,2,3,4,5]},"packs":[]}',
    }
    for name, text in texts.items():
        (pack / "skills/greet" / name).write_text(text)
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    path = machine.project / "gsdlock.lock"
    lock = read_lock(path.read_bytes(), "")
    (target,) = lock.targets
    others = {p.path.rpartition("/")[2]: p.digest for p in target.placements}
    others |= {"a tree": lock.packs[0].tree, "a plan": target.digest}
    forged = DIGESTS[field](lock, others[blob])
    path.write_bytes(lock_bytes(forged))
    before = machine.tree()
    for believed in (False, True):
        if believed:
            machine.believe(forged)
        for words in (["apply", "--locked", "--dry-run"], ["diff", "--patch"], ["why", "config:none"]):
            ran = machine.run(*words)
            assert ran.status != 70 and "E-FAULT" not in ran.err, (words, ran.err)
    assert machine.tree() == before
