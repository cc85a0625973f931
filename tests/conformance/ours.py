"""gsdlock, run as a user runs it: resolve and apply, in a scratch home, with the same content."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .reference import Homes

_COMMAND = str(Path(sys.executable).parent / "gsdlock")
OWN_FILES = ("gsdlock.toml", "gsdlock.lock")


def manifest(pack: str, targets: Sequence[tuple[str, str]]) -> str:
    """A manifest with one pack (the lines of its table) and targets (runtime, scope)."""
    lines = ["[packs.pack]", pack]
    for runtime, scope in targets:
        lines += [f"[targets.{runtime}-{scope}]", f'runtime = "{runtime}"', f'scope = "{scope}"']
    return "\n".join((*lines, ""))


def run(homes: Homes, path: str, *words: str) -> str:
    """One command of gsdlock with nothing of this machine's environment but `path`; what it printed."""
    state = homes.home.parent / "gsdlock"
    done = subprocess.run(
        [_COMMAND, "--no-progress", *words],
        cwd=homes.project,
        env={"HOME": str(homes.home), "GSDLOCK_HOME": str(state), "PATH": path, "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"gsdlock {' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def install(homes: Homes, path: str, pack: str, targets: Sequence[tuple[str, str]]) -> None:
    """Resolve and apply a manifest; hooks and what else executes is answered with yes."""
    (homes.project / "gsdlock.toml").write_text(manifest(pack, targets), "utf-8")
    run(homes, path, "resolve")
    run(homes, path, "apply", "--allow", "high")


def files(folder: Path) -> dict[str, Path]:
    """Every file below a folder by its path relative to it, without what is gsdlock's own in a project."""
    found: dict[str, Path] = {}
    for top, _, names in os.walk(folder):
        for name in names:
            path = Path(top, name)
            relative = path.relative_to(folder).as_posix()
            if relative not in OWN_FILES:
                found[relative] = path
    return found
