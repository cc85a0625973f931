"""A scratch machine: a home, a project folder, and the real command run as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gsdlock.lockfiles.model import Lock
from gsdlock.store.proofs import keep, of_pin, of_plan
from gsdlock.store.store import open_store

COMMAND = str(Path(sys.executable).parent / "gsdlock")


@dataclass
class Ran:
    """What one command did."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass
class Machine:
    """One scratch machine below `root`."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def state(self) -> Path:
        return self.home / ".local/state/gsdlock"

    def env(self) -> dict[str, str]:
        path = os.environ["PATH"]
        return {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", **self.variables}

    def run(self, *words: str, cwd: Path | None = None, stdin: str | None = None) -> Ran:
        """Run gsdlock without a terminal."""
        done = subprocess.run(
            [COMMAND, "--no-progress", *words],
            cwd=cwd or self.project,
            env=self.env(),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: str, cwd: Path | None = None) -> Ran:
        """Run gsdlock and expect success."""
        ran = self.run(*words, cwd=cwd)
        assert ran.status == 0, f"{words}: {ran.status}\n{ran.out}{ran.err}"
        return ran

    def own(self, text: str) -> Path:
        """Write the user's own file, which nobody else may be able to write; its path."""
        path = self.home / ".config/gsdlock/gsdlock.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        return path

    def believe(self, lock: Lock) -> None:
        """Have the machine think that it made this lock of its manifest: for what lies behind that check."""
        environment = SimpleNamespace(
            folders=SimpleNamespace(data=str(self.home / ".local/share/gsdlock"), state=str(self.state)),
            home=str(self.home),
            user_id=os.getuid(),
            now=lambda: "",
        )
        text = (self.project / "gsdlock.toml").read_bytes()
        store = open_store(environment, "test")  # type: ignore[arg-type]  # what it needs of one
        keep(store, [of_plan(lock.plan, text), *map(of_pin, lock.inputs)])

    def manifest(self, text: str) -> None:
        (self.project / "gsdlock.toml").write_text(text)

    def tree(self, folder: Path | None = None) -> dict[str, tuple[int, bytes | str]]:
        """Every path below the home (or `folder`) but for our own state: mode and bytes, or a link's text."""
        base = folder or self.home
        found: dict[str, tuple[int, bytes | str]] = {}
        for path in sorted(base.rglob("*")):
            rel = path.relative_to(base).as_posix()
            if rel.startswith((".local", ".cache", ".npm")):
                continue
            if path.is_symlink():
                found[rel] = (0, os.readlink(path))
            elif path.is_file():
                found[rel] = (path.stat().st_mode & 0o7777, path.read_bytes())
            else:
                found[rel] = (path.stat().st_mode & 0o7777, b"")
        return found

    def stamps(self) -> Mapping[str, tuple[int, int]]:
        """Inode and mtime of everything below the home but our own state."""
        return {
            rel: ((self.home / rel).lstat().st_ino, (self.home / rel).lstat().st_mtime_ns)
            for rel in self.tree()
        }


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.home.mkdir()
    made.project.mkdir()
    return made


@pytest.fixture
def starter(machine: Machine) -> Machine:
    """A machine with a manifest that puts the starter pack on claude."""
    machine.manifest('[packs.starter]\nbuiltin = "starter"\n[targets.claude]\nscope = "global"\n')
    return machine


PackMaker = Callable[..., Path]


@pytest.fixture
def make_pack(tmp_path: Path) -> PackMaker:
    """Writes a small capability pack: a skill `greet` and a hook on Stop."""

    def make(version: str = "1.0.0", *, name: str = "greet", hook: bool = True, extra: str = "") -> Path:
        folder = tmp_path / "packs" / name
        (folder / f"skills/{name}").mkdir(parents=True, exist_ok=True)
        (folder / "hooks").mkdir(exist_ok=True)
        (folder / f"skills/{name}/SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Says hello.\n---\nHello from {version}.\n{extra}"
        )
        (folder / f"hooks/{name}.sh").write_text(f"#!/bin/sh\necho {name} {version}\n")
        descriptor = {
            "id": f"demo-{name}",
            "role": "feature",
            "version": version,
            "title": "Demo",
            "description": "Says hello.",
            "tier": "standard",
            "requires": [],
            "runtimeCompat": {"supported": ["*"], "unsupported": []},
            "skills": [name],
            "agents": [],
            "hooks": [{"event": "Stop", "script": f"hooks/{name}.sh"}] if hook else [],
            "config": {},
            "steps": [],
            "contributions": [],
            "gates": [],
        }
        (folder / "capability.json").write_text(json.dumps(descriptor))
        return folder

    return make
