"""A scratch machine: a home, a project and our own folders, brought back to one start again and again."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gsdlock.cli.main import run as command
from gsdlock.store.filesystem import FileSystem

from .children import Ended, Unflushed, as_if_alone, forked, use, wait_for
from .fingerprints import fingerprint
from .folders import Look, bring_back, differing, immaterial, look, put, tree
from .hosts import CLAUDE, Host

PATH = os.environ["PATH"]


class Machine:
    """A home, a project and our own folders below `folder/now`, kept as they are after `prepare`."""

    def __init__(self, folder: Path, prepare: Callable[[Machine], None], host: Host = CLAUDE) -> None:
        self.host = host
        self.now, self.start, self.packs = folder / "now", folder / "start", folder / "packs"
        self._at_start: Look = {}
        self._now: Look | None = None  # the last look, until a command changes something
        for part in ("home", "project"):
            (self.now / part).mkdir(parents=True, mode=0o700)
        prepare(self)
        self.keep()

    @property
    def home(self) -> Path:
        return self.now / "home"

    @property
    def project(self) -> Path:
        return self.now / "project"

    @property
    def state(self) -> Path:
        return self.now / "own/state"

    @property
    def data(self) -> Path:
        return self.now / "own/data"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "GSDLOCK_HOME": str(self.now / "own"),
        }

    def keep(self) -> None:
        """What stands now is the start from now on."""
        shutil.rmtree(self.start, ignore_errors=True)
        shutil.copytree(self.now, self.start, symlinks=True)
        self._at_start = look(str(self.start))

    def again(self) -> None:
        """Everything as at the start; only what differs is copied. Inodes may differ, so nothing may rely on
        them."""
        now = self._seen()
        self.forget()
        bring_back(str(self.start), str(self.now), self._at_start, differing(self._at_start, now))

    def untouched(self) -> bool:
        """Whether everything but the ledger, the lock and content that nothing names stands as at the start,
        so that what was true of the start is still true."""
        now = self._seen()
        return all(immaterial(path, self._at_start, now) for path in differing(self._at_start, now))

    def fingerprint(self) -> str:
        """The same for disks that are alike; empty where that cannot be told."""
        now = self._seen()
        return fingerprint(self.now, self._at_start, now, differing(self._at_start, now))

    def forget(self) -> None:
        """Look anew, since something was changed by other means than a command."""
        self._now = None

    def _seen(self) -> Look:
        if self._now is None:
            self._now = look(str(self.now))
        return self._now

    def run(
        self,
        *words: str,
        fs: FileSystem | None = None,
        first: Callable[[], object] = lambda: None,
        last: Callable[[], object] = lambda: None,
        wait: Callable[[int], int] = wait_for,
    ) -> Ended:
        """One command in a child; on `fs` where given; `first` and `last` are called in the child around it,
        and what `last` gives is kept as text (`told`)."""
        self.forget()

        def do() -> int:
            use(fs if fs is not None else Unflushed())
            sys.argv = ["gsdlock", *words]
            first()
            status = command(["--no-progress", *words])
            (self.now.parent / "told").write_text(str(last()))
            return status

        return forked(do, self.project, self.variables, wait)

    def here(self, *words: str, fs: FileSystem | None = None) -> Ended:
        """One command in this very process, for faults that do not end it: faster, and a handle that it
        leaves open shows."""
        self.forget()
        with as_if_alone(self.project, self.variables, fs or Unflushed()) as out:
            sys.argv = ["gsdlock", *words]
            status = command(["--no-progress", *words])
        return Ended(status, None, out.getvalue())

    @property
    def told(self) -> str:
        """What `last` gave in the last child that came to its end."""
        return (self.now.parent / "told").read_text()

    def ok(self, *words: str) -> Ended:
        """One command that has to succeed."""
        ended = self.run(*words)
        assert ended.status == 0, f"{words}: {ended}"
        return ended

    def tree(self) -> dict[str, Any]:
        """Everything in the home and the project: kind, mode, content."""
        return {**tree(self.home), **{f"project/{k}": v for k, v in tree(self.project).items()}}

    def current(self) -> dict[str, str]:
        """The pointers of the targets, as they stand on the disk."""
        return {p.parent.name: p.read_text() for p in self.state.glob("targets/*/current")}

    def manifest(self, *targets: str, pack: str = "") -> None:
        """A manifest that puts the pack (from the source `pack`, or its folder) on these targets, global."""
        source = pack or f'path = "{self.packs}/own"'
        text = f"[packs.own]\n{source}\n"
        if self.host.bundle:
            text += f'[overlays.{self.host.name}]\npath = "{self.host.bundle}"\n'
        text += "".join(f'[targets.{name}]\nscope = "global"\n' for name in targets)
        (self.project / "gsdlock.toml").write_text(text)
        if self.host.bundle:
            shown = json.loads(self.ok("overlay", "show", self.host.name, "--json").text)
            self.ok("overlay", "trust", self.host.name, "--consent", shown["overlay"]["digest"])

    def pack(self, version: str) -> None:
        """Version `1` or `2` of a pack: skills that stay, change, come and go, and a hook."""
        folder = self.packs / "own"
        shutil.rmtree(folder, ignore_errors=True)
        skills = ["stays", "changes", f"only{version}"]
        for name in skills:
            text = "the same" if name == "stays" else f"version {version}"
            put(
                folder / f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: A skill.\n---\n{text}\n"
            )
        put(folder / "skills/stays/more.txt", f"more of {version}\n")
        put(folder / "hooks/greet.sh", f"#!/bin/sh\necho {version}\n")
        put(folder / "capability.json", json.dumps(descriptor(version, skills) | self.host.servers(version)))


def descriptor(version: str, skills: Sequence[str]) -> dict[str, Any]:
    """The descriptor of the pack."""
    return {
        "id": "own",
        "role": "feature",
        "version": f"{version}.0.0",
        "title": "Own",
        "description": "A pack.",
        "tier": "standard",
        "requires": [],
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": list(skills),
        "agents": [],
        "hooks": [{"event": "Stop", "script": "hooks/greet.sh"}],
        "config": {},
        "steps": [],
        "contributions": [],
        "gates": [],
    }
