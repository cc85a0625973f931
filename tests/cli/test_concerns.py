"""Targets that meet in one host or one folder: told by resolve and status, with a way out, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Machine, PackMaker, Ran


def targets(*names: str, more: str = "") -> str:
    """Targets of global scope; `name-local` is one of local scope."""
    text = ""
    for name in names:
        runtime, local, _ = name.partition("-local")
        scope = "local" if local else "global"
        text += f'[targets.{name}]\nruntime = "{runtime}"\nscope = "{scope}"\n{more}'
    return text


def warnings(ran: Ran) -> list[tuple[str, str, list[str]]]:
    """Code, host and names of each warning."""
    return [(w["code"], w["host"], w["names"]) for w in ran.data["warnings"]]


@pytest.fixture
def with_pack(machine: Machine, make_pack: PackMaker) -> Machine:
    """A machine whose manifest has the small pack; the test adds targets to it."""
    machine.manifest(f'[packs.own]\npath = "{make_pack(hook=False)}"\n')
    return machine


def add(machine: Machine, text: str) -> None:
    path = machine.project / "gsdlock.toml"
    path.write_text(path.read_text() + text)


def test_a_shared_folder_shows_a_host_the_same_skill_twice(with_pack: Machine) -> None:
    add(with_pack, targets("codex", "gemini"))
    expected = [("W-TRIGGER-TWICE", "gemini", ["/greet"])]
    assert warnings(with_pack.ok("resolve", "--json")) == expected
    out = with_pack.ok("resolve").out
    home = with_pack.home
    both = f"{home}/.agents/skills (target codex) and {home}/.gemini/skills (target gemini)"
    assert f"{both}, and takes the first" in out
    assert 'skills = "own" for codex or skills = "none" for gemini' in out
    assert warnings(with_pack.ok("status", "--json")) == expected, "of what the lock is going to bring"
    with_pack.ok("apply", "--allow", "high")
    assert warnings(with_pack.ok("status", "--json")) == expected, "of what is installed"
    assert with_pack.run("status", "--exit-code").status == 0, "a warning is no difference"


def test_a_target_that_was_taken_out_is_not_advised_about(with_pack: Machine) -> None:
    """It goes with the next apply, and the manifest has no place for an option of it."""
    add(with_pack, targets("gemini"))
    text = (with_pack.project / "gsdlock.toml").read_text()
    add(with_pack, targets("codex"))
    with_pack.ok("apply", "--allow", "high")
    with_pack.manifest(text)
    assert warnings(with_pack.ok("resolve", "--json")) == []


WAYS_OUT = [
    (
        "own",
        [("codex", 'skills = "own"\n'), ("gemini", "")],
        {".codex/skills/greet/SKILL.md", ".gemini/skills/greet/SKILL.md"},
    ),
    (
        "none",
        [("codex", ""), ("gemini", 'skills = "none"\n')],
        {".agents/skills/greet/SKILL.md"},
    ),
]


@pytest.mark.parametrize(("rows", "files"), [w[1:] for w in WAYS_OUT], ids=[w[0] for w in WAYS_OUT])
def test_the_ways_out_that_are_told_lead_out(
    with_pack: Machine, rows: list[tuple[str, str]], files: set[str]
) -> None:
    add(with_pack, targets("codex", "gemini"))
    with_pack.ok("apply", "--allow", "high")
    path = with_pack.project / "gsdlock.toml"
    path.write_text(path.read_text().split("[targets.codex]")[0])
    add(with_pack, "".join(targets(name, more=more) for name, more in rows))
    with_pack.ok("apply", "--allow", "high")
    found = {str(p.relative_to(with_pack.home)) for p in with_pack.home.rglob("SKILL.md")}
    assert found == files, "and what was there before is moved"
    for verb in ("resolve", "status"):
        assert warnings(with_pack.ok(verb, "--json")) == []


def test_a_host_without_a_target_counts_where_it_is_in_use(with_pack: Machine) -> None:
    add(with_pack, targets("claude", "codex"))
    assert warnings(with_pack.ok("resolve", "--json")) == []
    (with_pack.home / ".config/opencode").mkdir(parents=True)
    assert warnings(with_pack.ok("resolve", "--json")) == [("W-TRIGGER-TWICE", "opencode", ["/greet"])]


def test_a_folder_behind_a_link_is_one_folder(with_pack: Machine) -> None:
    """Dotfiles: both roots lead to one place, where both targets have the same file."""
    (with_pack.root / "dots").mkdir()
    (with_pack.home / ".gemini").symlink_to(with_pack.root / "dots")
    (with_pack.home / ".agents").symlink_to(with_pack.root / "dots")
    add(with_pack, targets("codex", "gemini"))
    path = str(with_pack.root / "dots/skills/greet/SKILL.md")
    assert warnings(with_pack.ok("resolve", "--json")) == [("W-FILE-SHARED", "", [path])]
    with_pack.ok("apply", "--allow", "high")
    with_pack.ok("uninstall", "--target", "codex", "--allow", "high")
    assert Path(path).exists(), "the other target has it still"
    with_pack.ok("uninstall", "--allow", "high")
    assert not Path(path).exists()


def test_what_another_manifest_installed_counts(machine: Machine, make_pack: PackMaker) -> None:
    """The user's own skills hide the commands of a project."""
    own = machine.home / ".config/gsdlock/gsdlock.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'name = "mine"\n[packs.own]\npath = "{make_pack(hook=False)}"\n{targets("claude")}')
    machine.ok("apply", "--manifest", str(own), "--allow", "high")
    plugin = machine.root / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "team", "version": "1.0.0"}')
    (plugin / "commands").mkdir()
    (plugin / "commands/greet.md").write_text("---\ndescription: Greets.\n---\nHello.\n")
    machine.manifest(f'name = "web"\n[packs.team]\npath = "{plugin}"\n{targets("claude-local")}')
    for verbs in (["resolve"], ["apply", "--allow", "high"], ["status"]):
        out = machine.ok(*verbs).out
        if verbs[0] != "apply":
            assert "W-TRIGGER-SHADOWED: claude prefers skills to commands" in out
            assert f"{machine.home}/.claude/skills (target claude of mine)" in out


def two_runtimes_in_one_folder(machine: Machine) -> None:
    """kimi goes to `~/.agents` where that has skills already, and Codex is there."""
    (machine.home / ".agents/skills").mkdir(parents=True)
    pack = machine.root / "plain"
    (pack / "skills/greet").mkdir(parents=True)
    # kimi reads no front matter that a strict reader would refuse, so it gets another text than Codex.
    (pack / "skills/greet/SKILL.md").write_text("---\ndescription: Says hello.\n---\nHello.\n")
    machine.manifest(f'[packs.own]\npath = "{pack}"\n{targets("codex", "kimi")}')


def test_targets_that_would_overwrite_each_other_are_refused(machine: Machine) -> None:
    two_runtimes_in_one_folder(machine)
    for verbs in (["resolve"], ["resolve", "--check"], ["apply", "--allow", "high"]):
        ran = machine.run(*verbs)
        assert ran.status == 4 and "E-TARGET-CLASH" in ran.err, verbs
        assert f"codex and kimi: {machine.home}/.agents/skills/greet/SKILL.md" in ran.err
        assert "Make the folder ~/.config/agents/skills" in ran.err
    assert not (machine.project / "gsdlock.lock").exists()
    (machine.home / ".config/agents/skills").mkdir(parents=True)
    machine.ok("apply", "--allow", "high")
    assert (machine.home / ".config/agents/skills/greet/SKILL.md").exists()
    assert warnings(machine.ok("status", "--json")) == [], "that folder hides the other one from kimi"


def test_a_lock_from_elsewhere_is_refused_where_it_would_happen(machine: Machine) -> None:
    two_runtimes_in_one_folder(machine)
    (machine.home / ".config/agents/skills").mkdir(parents=True)
    machine.ok("resolve")
    (machine.home / ".config/agents/skills").rmdir()
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert ran.status == 4 and "E-TARGET-CLASH" in ran.err
    assert list((machine.home / ".agents/skills").iterdir()) == []


def test_two_targets_of_one_runtime_have_their_files_in_common(with_pack: Machine) -> None:
    add(with_pack, targets("claude"))
    add(with_pack, '[targets.again]\nruntime = "claude"\nscope = "global"\n')
    (concern,) = with_pack.ok("resolve", "--json").data["warnings"]
    assert concern["code"] == "W-FILE-SHARED"
    assert concern["names"] == [f"{with_pack.home}/.claude/skills/greet/SKILL.md"]
    assert {p["target"] for p in concern["places"]} == {"claude", "again"}


def test_a_manifest_with_nothing_to_tell_has_no_warnings(starter: Machine) -> None:
    assert warnings(starter.ok("resolve", "--json")) == []
    assert warnings(starter.ok("status", "--json")) == []


OPTIONS = [
    ("hooks = false\n", "no-hooks"),
    ('skills = "none"\n', "no-skills"),
    ("portable-hooks = true\n", "portable-hooks"),
    ('disable = ["demo-greet"]\n', "disable demo-greet"),
    ('profile = "core"\nenable = ["demo-greet"]\n', "enable demo-greet"),
]


@pytest.mark.parametrize(("line", "word"), OPTIONS, ids=[o[1] for o in OPTIONS])
def test_an_option_of_a_target_makes_another_lock(
    machine: Machine, make_pack: PackMaker, line: str, word: str
) -> None:
    """What is locked without an option is not what the option asks for, and the other way round."""
    head = f'[packs.own]\npath = "{make_pack()}"\n[targets.claude]\nscope = "global"\n'
    profile = 'profile = "core"\n' if "profile" in line else ""
    machine.manifest(head + profile)
    machine.ok("apply", "--allow", "high")
    before = machine.tree()
    machine.manifest(head + line)
    assert f"claude was locked without: {word}" in machine.ok("status").out
    assert machine.run("apply", "--locked").status == 3
    machine.ok("apply", "--allow", "high")
    assert machine.tree() != before
    assert word in (machine.project / "gsdlock.lock").read_text()
    machine.ok("apply", "--locked")
    machine.manifest(head + profile)
    assert f"claude was locked with: {word}" in machine.ok("status").out
    machine.ok("apply", "--allow", "high")
    assert machine.tree() == before


def test_own_skills_are_refused_where_the_host_reads_none(machine: Machine, tmp_path: Path) -> None:
    """No shipped host is like that; a descriptor that says so is refused by name."""
    from gsdlock.capabilities.errors import GsdlockError
    from gsdlock.capabilities.registry import load_builtin
    from gsdlock.resolver.manifest import SkillsOption, TargetEntry
    from gsdlock.resolver.skill_places import with_skills
    from msgspec.structs import replace

    codex = load_builtin().runtime("codex")
    entry = TargetEntry("t", "codex", "global", "full", skills=SkillsOption.OWN)
    moved = with_skills(codex, entry)
    assert moved.native_skills["global"].home is None
    assert moved.artifact_layout["local"] == codex.artifact_layout["local"]
    with pytest.raises(GsdlockError) as caught:
        with_skills(replace(codex, skills_read={"global": (("~/.agents/skills",),)}), entry)
    assert caught.value.code == "E-SKILLS-OWN"


EDIT = 'match = { op = "edit" }\naction = '
FAULTY_POLICIES: list[tuple[str, str, int]] = [
    ('[policy.p]\nmatch = { risk = "hihg" }\naction = "ask"\n', "E-POLICY-INVALID", 3),
    (f"[policy.p]\n{EDIT}'ask'\n[policy.q]\n{EDIT}'deny'\n", "E-POLICY-CONFLICT", 3),
    ('[policy.p]\nmatch = { risk = "low" }\naction = "allow"\n', "E-POLICY-PROJECT-ALLOW", 4),
]


@pytest.mark.parametrize(("policy", "code", "status"), FAULTY_POLICIES, ids=[f[1] for f in FAULTY_POLICIES])
@pytest.mark.parametrize("verb", ["resolve", "status", "apply"])
def test_faults_of_the_policy_are_told_before_anything_is_done(
    starter: Machine, verb: str, policy: str, code: str, status: int
) -> None:
    add(starter, policy)
    ran = starter.run(verb, "--json")
    assert (ran.status, ran.data["error"]["code"]) == (status, code)
    assert not (starter.project / "gsdlock.lock").exists()


def test_a_fault_in_the_users_own_policy_is_told_too(starter: Machine) -> None:
    own = starter.home / ".config/gsdlock/gsdlock.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[policy.p]\naction = "perhaps"\n')
    data: dict[str, Any] = json.loads(starter.run("resolve", "--json").out)
    assert data["error"]["code"] == "E-POLICY-INVALID" and data["error"]["where"] == str(own)
