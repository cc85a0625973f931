"""resolve: what is locked stays locked, the same inputs give the same bytes, nothing else is touched."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from gsdlock.resolver.sources.downloads import integrity_of

from .conftest import Machine, PackMaker


def path_manifest(pack: Path, more: str = "") -> str:
    return f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n{more}'


def lock(machine: Machine) -> bytes:
    return (machine.project / "gsdlock.lock").read_bytes()


def test_the_lock_does_not_depend_on_machine_locale_hash_seed_or_folder(
    machine: Machine, make_pack: PackMaker, tmp_path: Path
) -> None:
    pack = make_pack()
    machine.manifest(path_manifest(pack))
    machine.ok("resolve")
    first = lock(machine)
    assert str(tmp_path).encode() not in first
    other = Machine(tmp_path / "other place")
    other.home.mkdir(parents=True)
    other.project.mkdir()
    other.manifest(path_manifest(pack))
    other.variables |= {"PYTHONHASHSEED": "7", "LC_ALL": "tr_TR.UTF-8", "CLAUDE_CONFIG_DIR": "/srv/elsewhere"}
    other.ok("resolve", "--manifest", str(other.project / "gsdlock.toml"), cwd=tmp_path)
    assert lock(other) == first


def test_the_order_of_packs_and_targets_in_the_manifest_is_no_matter(
    machine: Machine, make_pack: PackMaker
) -> None:
    one, two = make_pack(), make_pack(name="wave")
    packs = [f'[packs.one]\npath = "{one}"\n', f'[packs.two]\npath = "{two}"\n']
    targets = ['[targets.claude]\nscope = "global"\n', '[targets.codex]\nscope = "global"\n']
    machine.manifest("".join([*packs, *targets]))
    machine.ok("resolve")
    first = lock(machine)
    machine.manifest("".join([*reversed(packs), *reversed(targets)]))
    assert "up to date" in machine.ok("resolve").out
    assert lock(machine) == first


def test_line_ends_of_a_checkout_are_no_matter(machine: Machine, make_pack: PackMaker) -> None:
    pack = make_pack()
    machine.manifest(path_manifest(pack))
    machine.ok("resolve")
    first = lock(machine)
    for path in pack.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    machine.ok("resolve")
    assert lock(machine) == first


def test_line_ends_of_the_locks_own_checkout_are_no_matter(starter: Machine) -> None:
    starter.ok("resolve")
    turned = lock(starter).replace(b"\n", b"\r\n")
    (starter.project / "gsdlock.lock").write_bytes(turned)
    starter.ok("resolve", "--check")
    assert "up to date" in starter.ok("resolve").out
    assert lock(starter) == turned


def test_a_second_resolve_writes_nothing(starter: Machine) -> None:
    starter.ok("resolve")
    before = (starter.project / "gsdlock.lock").stat().st_mtime_ns
    assert "up to date" in starter.ok("resolve").out
    assert (starter.project / "gsdlock.lock").stat().st_mtime_ns == before


def test_check_says_when_the_lock_is_stale_and_writes_nothing(machine: Machine, make_pack: PackMaker) -> None:
    machine.manifest(path_manifest(make_pack()))
    assert machine.run("resolve", "--check").status == 1
    assert not (machine.project / "gsdlock.lock").exists()
    machine.ok("resolve")
    machine.ok("resolve", "--check")
    make_pack("2.0.0")
    before = lock(machine)
    ran = machine.run("resolve", "--check")
    assert ran.status == 1 and "SKILL.md" not in ran.err and "stale" in ran.out
    assert lock(machine) == before


def test_resolve_touches_no_host_folder(starter: Machine) -> None:
    starter.ok("resolve")
    assert starter.tree() == {}


@pytest.mark.parametrize("pack", ["project", "above", "over a link"])
def test_a_pack_does_not_grow_by_what_is_installed_from_it(
    pack: str, machine: Machine, make_pack: PackMaker, tmp_path: Path
) -> None:
    folder = machine.project if pack == "project" else machine.root / "pack"
    if pack != "project":
        machine.project.rmdir()
    shutil.copytree(make_pack(), folder, dirs_exist_ok=True)
    if pack == "above":
        machine.project.symlink_to(folder / "examples", target_is_directory=True)
        (folder / "examples").mkdir()
    elif pack == "over a link":
        machine.project.symlink_to(folder, target_is_directory=True)
    targets = "".join(f'[targets.{host}]\nscope = "local"\n' for host in ("claude", "codex", "cline"))
    machine.manifest(f'[packs.own]\npath = "{folder}"\n{targets}')
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    assert (machine.project / ".claude/skills/greet/SKILL.md").is_file()
    (machine.project / "gsdlock.lock.sig").write_text("signed")
    (machine.project / ".gsdlock-write-1-a").write_text("broken off")
    machine.manifest(f"# a word\n{(machine.project / 'gsdlock.toml').read_text()}")
    machine.ok("resolve", "--check")
    named = ("--lock", str(folder / "other.lock"))
    machine.ok(*named, "resolve")
    machine.ok(*named, "resolve", "--check")
    machine.ok("apply", "--locked")


def test_an_integrity_that_was_changed_in_the_manifest_asks_for_other_bytes(
    machine: Machine, make_pack: PackMaker
) -> None:
    def archive(version: str) -> str:
        made = shutil.make_archive(str(machine.root / "pack"), "tar", make_pack(version))
        return integrity_of(Path(made).read_bytes())

    def ask(integrity: str) -> None:
        machine.manifest(
            f'[packs.own]\narchive = "{machine.root}/pack.tar"\nintegrity = "{integrity}"\n'
            '[targets.claude]\nscope = "global"\n'
        )

    ask(archive("1.0.0"))
    machine.ok("resolve")
    ask(integrity_of(b"other"))
    assert "E-LOCK-STALE" in machine.run("apply", "--locked").err
    assert "another integrity" in machine.run("apply", "--locked").err
    before = lock(machine)
    ran = machine.run("resolve")
    assert ran.status == 5 and "E-PACK-INTEGRITY" in ran.err and lock(machine) == before
    second = archive("2.0.0")
    ask(second)
    machine.ok("resolve")
    assert second.encode() in lock(machine)


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *words], capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout.strip()


def test_a_git_pack_stays_at_its_commit_until_it_is_named(machine: Machine, make_pack: PackMaker) -> None:
    repo = make_pack("1.0.0")
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "one")
    first = git(repo, "rev-parse", "HEAD")
    machine.manifest(f'[packs.own]\ngit = "{repo}"\nref = "main"\n[targets.claude]\nscope = "global"\n')
    machine.ok("resolve")
    assert first.encode() in lock(machine)
    make_pack("2.0.0")
    git(repo, "commit", "-q", "-a", "-m", "two")
    machine.ok("resolve")
    assert first.encode() in lock(machine), "a branch that moved does not move the lock"
    out = machine.ok("resolve", "--upgrade-pack", "own").out
    assert git(repo, "rev-parse", "HEAD").encode() in lock(machine)
    assert "own" in out
    assert "E-PACK-UNKNOWN" in machine.run("resolve", "--upgrade-pack", "nope").err


def test_a_commit_that_is_gone_is_locked_anew_by_the_command_that_the_error_names(
    machine: Machine, make_pack: PackMaker
) -> None:
    repo = make_pack("1.0.0")
    machine.manifest('[packs.own]\ngit = "../packs/greet"\n[targets.claude]\nscope = "local"\n')
    for text in ("one", "two"):
        git(repo, "init", "-q", "-b", "main")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", text)
        if text == "one":
            machine.ok("resolve")
            shutil.rmtree(repo / ".git")
    for place in (".local/share/gsdlock", ".cache/gsdlock"):
        shutil.rmtree(machine.home / place)
    ran = machine.run("resolve")
    assert ran.status == 5 and "E-GIT-COMMIT" in ran.err
    (command,) = re.findall(r"gsdlock (resolve.*)\.", ran.err)
    machine.ok(*command.split())
    assert git(repo, "rev-parse", "HEAD").encode() in lock(machine)


def test_a_lock_with_merge_markers_is_made_again(starter: Machine) -> None:
    starter.ok("resolve")
    whole = lock(starter)
    (starter.project / "gsdlock.lock").write_bytes(b"<<<<<<< ours\n" + whole + b"=======\n>>>>>>> theirs\n")
    for verb in (["apply", "--allow", "high"], ["resolve", "--check"], ["diff"]):
        ran = starter.run(*verb)
        assert ran.status == 3 and "gsdlock.lock:1" in ran.err, verb
    out = starter.ok("resolve").out
    assert "merge conflict markers" in out
    assert lock(starter) == whole


def test_a_merge_moves_no_pack_that_both_sides_pin_alike(machine: Machine, make_pack: PackMaker) -> None:
    """One side added a target, the other another one; meanwhile the branch of the pack moved."""
    repo = make_pack("1.0.0")
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "one")
    first = git(repo, "rev-parse", "HEAD")
    base = f'[packs.own]\ngit = "{repo}"\nref = "main"\n[targets.claude]\nscope = "global"\n'
    git(machine.project, "init", "-q", "-b", "main")

    def commit(manifest: str) -> None:
        machine.manifest(manifest)
        machine.ok("resolve")
        git(machine.project, "add", "-A")
        git(machine.project, "commit", "-q", "-m", "next")

    commit(base)
    git(machine.project, "checkout", "-q", "-b", "theirs")
    commit(base + '[targets.codex]\nscope = "global"\n')
    git(machine.project, "checkout", "-q", "main")
    commit(base + '[targets.gemini]\nscope = "global"\n')
    with pytest.raises(subprocess.CalledProcessError):
        git(machine.project, "merge", "-q", "theirs")
    assert b"<<<<<<<" in lock(machine)
    make_pack("2.0.0")
    git(repo, "commit", "-q", "-a", "-m", "two")
    machine.manifest(base + '[targets.codex]\nscope = "global"\n[targets.gemini]\nscope = "global"\n')
    assert "what both sides pin alike stays pinned" in machine.ok("resolve").out
    assert first.encode() in lock(machine)
    machine.ok("apply", "--locked", "--allow", "high")


FAULTY = [
    ('[packs.own]\npath = "nowhere"\n[targets.claude]\nscope = "global"\n', 5, "nowhere"),
    ('[packs.s]\nbuiltin = "startr"\n[targets.claude]\nscope = "global"\n', 3, "startr"),
    ('[packs.s]\nbuiltin = "starter"\n[targets.cloude]\nscope = "global"\n', 3, "claude"),
    ('[packs.s]\nbuiltin = "starter"\n[targets.claude]\nscope = "global"\nenable = ["nope"]\n', 3, "nope"),
    ('[packs.s]\nbuiltin = "starter"\n[targets.kimi]\nscope = "local"\n', 4, "E-HOME-LOCAL"),
]


@pytest.mark.parametrize(("text", "status", "says"), FAULTY, ids=[f[2] for f in FAULTY])
def test_faulty_input_is_named_and_leaves_nothing_behind(
    machine: Machine, text: str, status: int, says: str
) -> None:
    machine.manifest(text)
    ran = machine.run("resolve")
    assert ran.status == status, ran.err
    assert says in ran.err
    assert not (machine.project / "gsdlock.lock").exists()


def test_all_packs_that_fail_are_told_in_one_run(machine: Machine) -> None:
    machine.manifest('[packs.a]\npath = "no1"\n[packs.b]\npath = "no2"\n[targets.claude]\nscope = "global"\n')
    err = machine.run("resolve").err
    assert "no1" in err and "no2" in err


def test_a_skill_name_that_climbs_is_refused(machine: Machine, make_pack: PackMaker) -> None:
    pack = make_pack()
    text = (pack / "capability.json").read_text().replace('["greet"]', '["../../escape", ".."]')
    (pack / "capability.json").write_text(text)
    machine.manifest(path_manifest(pack))
    ran = machine.run("resolve")
    assert ran.status == 3 and ".." in ran.err


def test_two_packs_that_want_one_file_are_both_named(machine: Machine, make_pack: PackMaker) -> None:
    one = make_pack()
    two = make_pack(name="wave")
    (two / "skills/greet").mkdir()
    (two / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: Other.\n---\nother\n")
    text = (two / "capability.json").read_text().replace('["wave"]', '["wave", "greet"]')
    (two / "capability.json").write_text(text)
    machine.manifest(
        f'[packs.one]\npath = "{one}"\n[packs.two]\npath = "{two}"\n[targets.claude]\nscope = "global"\n'
    )
    ran = machine.run("resolve")
    assert ran.status == 3
    assert "demo-greet" in ran.err and "demo-wave" in ran.err


def test_offline_uses_what_the_store_has(machine: Machine) -> None:
    machine.manifest('[packs.a]\nnpm = "no-such-pack-anywhere"\n[targets.claude]\nscope = "global"\n')
    ran = machine.run("resolve", "--offline")
    assert ran.status == 5 and "E-OFFLINE" in ran.err


def test_a_pack_cannot_smuggle_in_a_placeholder(machine: Machine, make_pack: PackMaker) -> None:
    machine.manifest(path_manifest(make_pack(extra="see {{gsdlock:path:config}}\n")))
    ran = machine.run("resolve")
    assert ran.status == 3 and "E-PACK-PLACEHOLDER" in ran.err and "SKILL.md" in ran.err


def test_where_a_repository_lies_is_not_locked(machine: Machine, make_pack: PackMaker) -> None:
    repo = make_pack()
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "one")
    machine.manifest(f'[packs.own]\ngit = "{repo}"\n[targets.claude]\nscope = "global"\n')
    machine.ok("resolve")
    assert str(machine.root).encode() not in lock(machine)


@pytest.mark.parametrize("absolute", [False, True])
def test_another_archive_of_the_same_name_is_another_wish(
    machine: Machine, make_pack: PackMaker, absolute: bool
) -> None:
    for version in ("1", "2"):
        pack = make_pack(f"{version}.0.0")
        place = machine.project / version
        place.mkdir()
        subprocess.run(["tar", "czf", str(place / "pk.tgz"), "-C", str(pack), "."], check=True)
    base = f"{machine.project}/" if absolute else "./"
    text = '[packs.own]\narchive = "{}{}/pk.tgz"\n[targets.claude]\nscope = "local"\n'
    machine.manifest(text.format(base, 1))
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    assert str(machine.root).encode() not in lock(machine)
    machine.manifest(text.format(base, 2))
    assert machine.run("resolve", "--check").status == 1
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert ran.status != 0 and "E-LOCK-STALE" in ran.err
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    assert "Hello from 2.0.0" in (machine.project / ".claude/skills/greet/SKILL.md").read_text()


def test_two_scripts_of_one_name_in_folders_of_their_own_are_told_and_neither_is_dropped(
    machine: Machine, make_pack: PackMaker
) -> None:
    pack = make_pack()
    descriptor = json.loads((pack / "capability.json").read_text())
    descriptor["hooks"] = [
        {"event": "PreToolUse", "script": "pre/guard.sh"},
        {"event": "PostToolUse", "script": "post/guard.sh"},
    ]
    (pack / "capability.json").write_text(json.dumps(descriptor))
    for folder, text in (("pre", "exit 2\n"), ("post", "exit 0\n")):
        (pack / folder).mkdir()
        (pack / folder / "guard.sh").write_text(text)
    machine.manifest(path_manifest(pack))
    ran = machine.run("resolve")
    assert ran.status == 3 and "E-PLAN-CLASH" in ran.err and "guard.sh" in ran.err
    (pack / "post/guard.sh").write_text("exit 2\n")
    machine.ok("resolve")
