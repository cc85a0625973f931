"""`gsdlock import` on what the reference installer really leaves, and on what its users did to that since."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .reference import Homes, Reference, install, search_path

COMMAND = Path(sys.executable).parent / "gsdlock"


class Machine:
    """A scratch machine with the reference's install, and a manifest with the same package."""

    def __init__(self, reference: Reference, runtime: str, scope: str, folder: Path) -> None:
        self.homes = Homes.below(folder)
        self.env = {"HOME": str(self.homes.home), "PATH": search_path(reference), "LANG": "C.UTF-8"}
        install(reference, runtime, scope, self.homes)
        (self.homes.project / "gsdlock.toml").write_text(
            f'[packs.gsd]\npath = "{reference.package(runtime)}"\n[targets.{runtime}]\nscope = "{scope}"\n'
        )

    def run(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [COMMAND, "--no-progress", *words],
            cwd=self.homes.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def files(self) -> dict[str, bytes]:
        """Every file and empty folder of the home and the project, but for our own state."""
        found = {}
        for base in (self.homes.home, self.homes.project):
            for path in sorted(base.rglob("*")):
                name = path.relative_to(base.parent).as_posix()
                ours = name.startswith(("home/.local", "home/.cache")) or path.name.startswith("gsdlock.")
                # An empty folder that the reference stages in goes, and a rollback makes no folders.
                ours = ours or ".gsd-staging" in name
                if not ours and (path.is_file() or not any(path.iterdir())):
                    found[name] = path.read_bytes() if path.is_file() else b""
        return found


# What stays after an uninstall of what was taken over, in a home that was empty before the reference came.
# It has no record of these. Plain values (a permission, a switch) may have been the user's before; a block of
# text is only named; its settings for all hosts and what it put beside the host's folder are nobody's.
PLAIN = {
    "permissions": {
        "allow": ["Read(.planning/*)", "Edit(.planning/*)", "Read(STATE.md)", "Edit(STATE.md)"],
        "deny": ["Read(.env)", "Read(.env.*)", "Read(.secrets)"],
    }
}
LEFT: dict[tuple[str, str], dict[str, Any]] = {
    ("claude", "global"): {"home/.claude/settings.json": PLAIN},
    ("codex", "global"): {
        "home/.codex/config.toml": {"features": {"hooks": True}, "agents": {"max_depth": 1}},
    },
    ("codex", "local"): {
        "proj/.codex/config.toml": {"features": {"hooks": True}, "agents": {"max_depth": 1}},
    },
    ("opencode", "global"): {"home/.config/opencode/settings.json": {}},
    ("opencode", "local"): {"proj/.opencode/settings.json": {}},
    ("cursor", "global"): {"home/.cursor/hooks.json": {"version": 1}},
    ("copilot", "local"): {"proj/AGENTS.md": None, "proj/.github/copilot-instructions.md": None},
    ("gemini", "global"): {
        "home/.gemini/package.json": {"type": "commonjs"},
        "home/.gemini/settings.json": {"experimental": {"enableAgents": True}},
    },
}
BESIDE = ("home/.gsd/defaults.json", "home/.local/bin/gsd-sdk", "home/.npm/")


@pytest.mark.parametrize(("runtime", "scope"), LEFT)
def test_what_the_reference_installed_is_taken_over(
    reference: Reference, runtime: str, scope: str, tmp_path: Path
) -> None:
    machine = Machine(reference, runtime, scope, tmp_path)
    before = machine.files()
    assert "would be asked about" in machine.run("import", "--dry-run", "--ours")
    assert machine.files() == before
    machine.run("import", "--ours", status=4)  # nobody answers: nothing is written
    assert machine.files() == before
    found = json.loads(machine.run("import", "--ours", "--allow", "high", "--json"))
    (row,) = found["found"]
    ops = [item["op"] for item in found["items"] if item["result"] == "done"]
    assert row["files"] > 300 and row["edited"] == []
    assert ops.count("replace") < row["files"] / 2 and ops.count("create") < 3 and "adopt" not in ops
    state = json.loads(machine.run("status", "--json"))
    assert (state["targets"][0]["drift"], state["targets"][0]["entry-drift"], state["behind"]) == ([], [], {})
    assert "nothing to do" in machine.run("apply")
    after = machine.files()
    # Back to the reference's install, byte for byte.
    machine.run("rollback", "--allow", "high")
    assert machine.files() == before
    machine.run("import", "--ours", "--allow", "high")
    assert machine.files() == after
    # And out of the house.
    machine.run("uninstall", "--allow", "high")
    left = {n: data for n, data in machine.files().items() if data and not n.startswith(BESIDE)}
    assert {name: meaning(name, data) for name, data in left.items()} == LEFT[runtime, scope]


def meaning(name: str, data: bytes) -> Any:
    """What a file of settings says; of a text only that nothing but the former block is in it."""
    if name.endswith(".md"):
        assert data.startswith(b"<!-- GSD Configuration") and data.rstrip().endswith(b"Configuration -->")
        return None
    return tomllib.loads(data.decode()) if name.endswith(".toml") else json.loads(data)


def test_what_the_user_did_since_is_theirs(reference: Reference, tmp_path: Path) -> None:
    machine = Machine(reference, "claude", "global", tmp_path)
    home = machine.homes.home / ".claude"
    settings: dict[str, Any] = json.loads((home / "settings.json").read_text())
    mine = {"type": "command", "command": "mine.sh"}
    settings["hooks"]["Stop"][0]["hooks"].append(mine)
    settings["model"] = "opus"
    (home / "settings.json").write_text(json.dumps(settings, indent=4))
    skill = home / "skills/gsd-help/SKILL.md"
    skill.write_text(skill.read_text() + "\nmy own line\n")
    (home / "skills/mine").mkdir()
    (home / "skills/mine/SKILL.md").write_text("mine")
    (home / "hooks/gsd-statusline.js").unlink()
    before = machine.files()
    told = machine.run("import", "--allow", "high", status=4)
    assert "E-DRIFT" in told and "skills/gsd-help/SKILL.md" in told and machine.files() == before
    machine.run(
        "import", "--allow", "high", "--theirs", str(skill), "--ours", "config:hooks/gsd-statusline.js"
    )
    assert skill.read_text().endswith("my own line\n")
    machine.run("uninstall", "--allow", "high")
    left = json.loads((home / "settings.json").read_text())
    assert left["model"] == "opus" and mine in left["hooks"]["Stop"][0]["hooks"]
    assert "gsd-" not in json.dumps(left["hooks"])
    assert (
        skill.read_text().endswith("my own line\n") and (home / "skills/mine/SKILL.md").read_text() == "mine"
    )


def test_without_a_manifest_it_says_what_is_found(reference: Reference, tmp_path: Path) -> None:
    machine = Machine(reference, "claude", "local", tmp_path)
    (machine.homes.project / "gsdlock.toml").unlink()
    before = machine.files()
    found = json.loads(machine.run("import", "--json"))
    (row,) = found["found"]
    assert (row["runtime"], row["scope"], row["profile"]) == ("claude", "local", "full")
    assert machine.files() == before
    assert tomllib.loads(found["manifest"]) == {
        "packs": {"gsd": {"npm": "@opengsd/gsd-core", "version": row["version"]}},
        "targets": {"claude-local": {"runtime": "claude", "scope": "local", "profile": "full"}},
    }
