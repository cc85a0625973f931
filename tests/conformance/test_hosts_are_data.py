"""A host is one JSON file: taking one away takes that host and nothing else, adding one adds a host.

The whole program runs from a copy of the package, with its real command line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import gsdlock
import pytest
from gsdlock.capabilities.cross import cross_faults
from gsdlock.capabilities.registry import load_builtin, load_folder

from .ours import manifest
from .reference import Homes

PACKAGE = Path(gsdlock.__file__).parent
ROOMS = ("cli", "resolver", "store", "lockfiles", "capabilities")
ALL = load_builtin()
# The one feature that names a host: without that host it has none.
FOR_ONE_HOST = [("claude-orchestration",)]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, without its tests and pages."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    for room in ROOMS:
        shutil.copytree(PACKAGE / room, folder / "gsdlock" / room, ignore=ignored)
    for module in PACKAGE.glob("*.py"):
        shutil.copy(module, folder / "gsdlock")
    return folder


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    return Homes.below(tmp_path)


def run(package: Path, homes: Homes, *words: str) -> str:
    """gsdlock out of `package`, as its own process; what it printed."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gsdlock", "--no-progress", *words],
        cwd=homes.project,
        env={"HOME": str(homes.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(package)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def without(package: Path, to: Path, id_: str) -> Path:
    """The copy of the package with one descriptor folder taken away."""
    shutil.copytree(package, to)
    shutil.rmtree(to / "gsdlock/capabilities" / id_)
    return to


@pytest.mark.parametrize("id_", sorted(ALL.ids))
def test_without_a_descriptor_all_others_are_as_they_were(id_: str, copied: Path, tmp_path: Path) -> None:
    left = tmp_path / "capabilities"
    shutil.copytree(copied / "gsdlock/capabilities", left)
    shutil.rmtree(left / id_)
    registry = load_folder(str(left))
    assert set(registry.ids) == set(ALL.ids) - {id_}
    assert all(registry.get(other) == ALL.get(other) for other in registry.ids)
    faults = cross_faults(registry.get(other) for other in registry.ids)
    if ALL.get(id_).role == "runtime":
        assert [f.capabilities for f in faults] == (FOR_ONE_HOST if id_ == "claude" else [])


@pytest.mark.parametrize("id_", ["claude", "codex", "gemini"])
def test_without_a_host_the_others_install(id_: str, copied: Path, homes: Homes, tmp_path: Path) -> None:
    package = without(copied, tmp_path / "package", id_)
    assert id_ in names_of_runtimes(run(copied, homes, "runtimes", "--json"))
    names = names_of_runtimes(run(package, homes, "runtimes", "--json"))
    assert set(names) == set(ALL.runtimes) - {id_}
    other = "qwen"
    (homes.project / "gsdlock.toml").write_text(manifest('builtin = "starter"', [(other, "global")]))
    run(package, homes, "resolve")
    run(package, homes, "apply", "--allow", "high")
    assert (homes.home / ".qwen/skills/gsdlock/SKILL.md").is_file()
    (homes.project / "gsdlock.toml").write_text(manifest('builtin = "starter"', [(id_, "global")]))
    with pytest.raises(AssertionError, match="E-RUNTIME-UNKNOWN"):
        run(package, homes, "resolve")


def names_of_runtimes(printed: str) -> list[str]:
    return [row["id"] for row in json.loads(printed)["runtimes"]]


def test_a_made_up_host_is_one_file(copied: Path, homes: Homes, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(copied, package)
    folder = package / "gsdlock/capabilities/made-up"
    folder.mkdir()
    (folder / "capability.json").write_text(json.dumps(made_up()))
    assert "made-up" in names_of_runtimes(run(package, homes, "runtimes", "--json"))
    targets = [("made-up", "global"), ("made-up", "local")]
    (homes.project / "gsdlock.toml").write_text(manifest('builtin = "starter"', targets))
    run(package, homes, "resolve")
    run(package, homes, "apply", "--allow", "high")
    for config in (homes.home / ".made-up", homes.project / ".made-up"):
        assert (config / "skills/gsdlock/SKILL.md").is_file()
        assert (config / "commands/gsdlock-status.md").is_file()
        assert (config / "agents/gsdlock-reviewer.md").is_file()
        settings = json.loads((config / "settings.json").read_text())
        (line,) = [h["command"] for e in settings["hooks"]["SessionStart"] for h in e["hooks"]]
        assert "gsdlock-drift.sh" in line
    run(package, homes, "uninstall", "--allow", "high")
    assert not [p for p in homes.home.rglob("*") if ".made-up" in p.parts and p.is_file()]


def made_up() -> dict[str, Any]:
    """A descriptor that no shipped host has: commands, skills and agents, and hooks in a settings.json."""
    layout = [
        {
            "kind": "commands",
            "destSubpath": "commands",
            "prefix": "gsd-",
            "nesting": "flat",
            "converter": None,
        },
        {"kind": "agents", "destSubpath": "agents", "prefix": "gsd-", "nesting": "flat", "converter": None},
    ]
    shipped: dict[str, Any] = json.loads((PACKAGE / "capabilities/codebuddy/capability.json").read_text())
    runtime = shipped["runtime"] | {
        "configHome": {"kind": "dot-home", "name": ".made-up", "env": ["MADE_UP_DIR"]},
        "localConfigDir": ".made-up",
        "artifactLayout": {"global": layout, "local": layout},
        "skillsRead": {"global": ["~/.made-up/skills"], "local": [".made-up/skills"]},
    }
    for axis in ("reads", "commandsRead", "agentsRead"):
        runtime.pop(axis, None)
    kept = ("role", "tier", "version", "requires", "engines")
    return {
        "id": "made-up",
        "title": "Made up",
        "description": "A host that there is not.",
        **{key: shipped[key] for key in kept},
        "runtime": runtime,
    }
