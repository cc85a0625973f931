"""A folder that is played in from the same start again and again: what stands in it, and what became other.

Two looks at a folder are compared by mode, size and time of change. That is enough here: everything of ours
is replaced as a whole, and SQLite writes with another time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Look = dict[str, tuple[int, ...]]
"""Relative path -> mode of a folder, or mode, size and time of change (ns) of anything else."""


def put(path: Path, text: str) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tree(base: Path) -> dict[str, Any]:
    """Everything below a folder: path -> (kind and mode, content)."""
    found: dict[str, Any] = {}
    for path, entry in entries(str(base)):
        mode = oct(entry.stat(follow_symlinks=False).st_mode)
        content: bytes | str = b""
        if entry.is_symlink():
            content = os.readlink(entry.path)
        elif entry.is_file():
            with open(entry.path, "rb") as file:
                content = file.read()
        found[path] = (mode, content)
    return found


def entries(base: str, below: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All that lies below a folder, each folder before what is in it; no link is followed."""
    with os.scandir(f"{base}/{below}") as found:
        for entry in list(found):
            path = below + entry.name
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                yield from entries(base, path + "/")


def look(base: str) -> Look:
    """How everything below a folder looks."""
    found: Look = {}
    for path, entry in entries(base):
        status = entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            found[path] = (status.st_mode,)
        else:
            found[path] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def differing(first: Look, second: Look) -> set[str]:
    """The paths that look otherwise, or are in one of them only."""
    return {path for path in first.keys() | second.keys() if first.get(path) != second.get(path)}


def bring_back(start: str, now: str, at_start: Look, paths: set[str]) -> None:
    """Make `paths` below the folder `now` what they are below `start`; `at_start` is how that looks."""
    gone = sorted(paths, reverse=True)  # what lies in a folder before the folder
    for path in gone:
        full = f"{now}/{path}"
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full)
        else:
            _unlink(full)
    back = paths | _below(at_start, {path for path in paths if len(at_start.get(path, "no folder")) == 1})
    for path in sorted(back & at_start.keys()):
        if len(at_start[path]) == 1:
            os.mkdir(f"{now}/{path}")
            os.chmod(f"{now}/{path}", at_start[path][0] & 0o7777)
        else:
            shutil.copy2(f"{start}/{path}", f"{now}/{path}", follow_symlinks=False)


def _below(at_start: Mapping[str, object], folders: set[str]) -> set[str]:
    """All paths that lie in one of the folders."""
    heads = tuple(f"{folder}/" for folder in folders)
    return {path for path in at_start if path.startswith(heads)} if heads else set()


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


_IMMATERIAL = frozenset(
    {"lock", "lock.holder", "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite.lock"}
)
_EMPTY = frozenset({"transactions", "tmp", "generations", "targets"})


def immaterial(path: str, at_start: Look, now: Look) -> bool:
    """Whether a difference at `path` changes nothing of what holds: it is the ledger or the lock, content
    that nothing names, or a folder of ours that had not been made and is empty. What is ours is in `own`."""
    if not path.startswith("own/"):
        return path == "own"
    name = path.rpartition("/")[2]
    if name in _IMMATERIAL:
        return True
    if path in at_start or path not in now:
        return False
    if "/blobs/" in path or name == "blobs":
        return True
    above = path.split("/")[-2]
    return len(now[path]) == 1 and (name in _EMPTY or above == "targets" or path in ("own/state", "own/data"))
