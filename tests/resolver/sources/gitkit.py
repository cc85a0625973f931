"""Real repositories in temporary folders."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gsdlock.lockfiles.model import LockedPack, PackKind
from gsdlock.resolver.sources.base import Fetched, SourceContext
from msgspec.structs import replace

Write = Callable[..., None]

GIT = shutil.which("git") or "git"


class Repository:
    def __init__(self, folder: Path, context: SourceContext, write: Write) -> None:
        self.folder = folder
        self._variables = dict(context.environment.variables)
        self._write = write
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        command = [GIT, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self._variables, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, **files: str | bytes) -> str:
        """Commit files (`a__b` stands for `a/b`); gives the commit."""
        self._write(self.folder, {name.replace("__", "/") + ".md": data for name, data in files.items()})
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")
        return self.git("rev-parse", "HEAD")


def locked(fetched: Fetched, **changes: Any) -> LockedPack:
    pin = LockedPack(
        "demo", PackKind.GIT, "", fetched.resolved, fetched.tree.digest, revision=fetched.revision
    )
    return replace(pin, **changes)


class NoProcesses:
    """Nothing may be run."""

    def find(self, name: str, path: str) -> str | None:
        return "/usr/bin/false"

    def run(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a program was run")
