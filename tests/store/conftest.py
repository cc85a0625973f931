"""A small world for the store: a home, state and data folders, and plans made from a few lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.canonical import canonical_json
from gsdlock.lockfiles.model import Edit, EditFormat, EditOp, Placement, Target
from gsdlock.store.blobs import Blobs
from gsdlock.store.choices import Choices, PreflightError
from gsdlock.store.filesystem import FileSystem
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.gate import Settled
from gsdlock.store.generations import slug_of
from gsdlock.store.items import Decision, Item
from gsdlock.store.records import Generation
from gsdlock.store.store import Store
from gsdlock.store.survey import TargetChange
from gsdlock.store.transaction import Result, run
from gsdlock.store.wanted import Wanted, wanted_from_lock

HOOK = {"hooks": [{"type": "command", "command": "greet.sh"}]}


def allow_all(items: Sequence[Item]) -> Settled:
    """A gate that allows everything."""
    decisions = tuple(Decision(True, "flag:--allow critical") for _ in items)
    return Settled(tuple(items), decisions, frozenset(), frozenset(), ())


def hook(command: str, event: str = "Stop") -> tuple[str, EditOp, str, Any]:
    """An edit of settings.json that registers a hook."""
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, f"/hooks/{event}", value)


@dataclass
class World:
    """`home` with a host's folder `.host` (which may not exist yet), and our own folders beside the home."""

    home: Path
    data: Path
    state: Path
    fs: FileSystem = field(default_factory=RealFileSystem)
    clock: int = 0

    @property
    def root(self) -> Path:
        return self.home / ".host"

    @property
    def store(self) -> Store:
        return Store(
            fs=self.fs,
            blobs=Blobs(self.fs, str(self.data)),
            state=str(self.state),
            home=str(self.home),
            user_id=os.geteuid(),
            now=self.now,
            command="gsdlock apply",
        )

    def now(self) -> str:
        self.clock += 1
        return f"2026-01-01T00:00:{self.clock:02d}.000Z"

    def using(self, fs: FileSystem) -> World:
        """The same folders through another file system."""
        return replace(self, fs=fs)

    def wanted(
        self,
        files: Mapping[str, str | tuple[str, int]] = {},
        edits: Sequence[tuple[str, EditOp, str, Any]] = (),
        *,
        target: str = "host",
        installation: str = "default",
        root: Path | None = None,
        fill: Sequence[str] = (),
        instead: tuple[str, ...] = (),
        format: EditFormat = EditFormat.JSONC,
        **more: Any,
    ) -> Wanted:
        """A plan: `files` maps paths to text (or text and mode), `edits` are (path, op, at, value)."""
        blobs = Blobs(RealFileSystem(), str(self.data))
        placements = []
        for path, content in files.items():
            text, mode = content if isinstance(content, tuple) else (content, 0o644)
            data = text.encode()
            placements.append(Placement("config", path, blobs.put(data), mode, len(data), path in fill))
        entries = []
        for path, op, at, value in edits:
            digest = blobs.put(canonical_json(value))
            executes = at.startswith("/hooks")
            entries.append(Edit("config", path, format, op, at, digest, False, executes, instead))
        plan = Target(target, "host", "global", "full", (), tuple(placements), tuple(entries), "")
        scope: dict[str, Any] = {
            "roots": {"config": str(root or self.root)},
            "tools": {},
            "home": str(self.home),
            "installation": installation,
            "manifest": str(self.home / "gsdlock.toml"),
        }
        return wanted_from_lock(plan, blobs, **{**scope, **more})

    def change(
        self, wanted: Wanted | None, *, target: str = "host", installation: str = "default", **more: Any
    ) -> TargetChange:
        """The change of one target to what is wanted (None: it leaves)."""
        if wanted is not None:
            target, installation = wanted.target, wanted.installation
        return TargetChange(slug_of(installation, target), wanted, **more)

    def apply(
        self,
        *wanted: Wanted | TargetChange | None,
        decide: Callable[[Sequence[Item]], Settled] = allow_all,
        wait: float = 5,
        **choices: Any,
    ) -> Result:
        """One transaction. Choices are given as lists of names."""
        said = {name: frozenset(v) if isinstance(v, (list, set)) else v for name, v in choices.items()}
        changes = [w if isinstance(w, TargetChange) else self.change(w) for w in wanted]
        return run(self.store, changes, Choices(**said), decide, wait=wait)

    def problems(self, *wanted: Wanted | TargetChange | None, **choices: Any) -> list[str]:
        """The codes of all that stands in the way of an apply, which changes nothing at all then."""
        before = self.tree()
        with pytest.raises(PreflightError) as caught:
            self.apply(*wanted, **choices)
        assert self.tree() == before
        return [problem.code for problem in caught.value.problems]

    def current(self, target: str = "host", installation: str = "default") -> Generation | None:
        return self.store.generations.current(slug_of(installation, target))

    def tree(self, folder: Path | None = None) -> dict[str, Any]:
        """Everything below the home (or `folder`): path -> (kind, mode, content)."""
        base = folder or self.home
        found: dict[str, Any] = {}
        for path in sorted(base.rglob("*")):
            name, status = str(path.relative_to(base)), path.lstat()
            if path.is_symlink():
                found[name] = ("link", os.readlink(path))
            elif path.is_dir():
                found[name] = ("folder", oct(status.st_mode & 0o7777))
            elif path.is_file():
                found[name] = ("file", oct(status.st_mode & 0o7777), path.read_bytes())
            else:
                found[name] = ("other",)
        return found

    def settings(self, name: str = "settings.json") -> Any:
        """The host's settings, parsed."""
        return json.loads((self.root / name).read_text())


@pytest.fixture
def world(tmp_path: Path) -> World:
    for name in ("home", "data", "state"):
        (tmp_path / name).mkdir(mode=0o700)
    return World(tmp_path / "home", tmp_path / "data", tmp_path / "state")
