"""Interpreters that installed hooks are run by: found on PATH, and only where nobody else can replace them.

The rule of admission, in order: the first hit on PATH decides and none after it is looked at; it must be
absolute; what it leads to must be a regular file that can be executed; neither that file, nor its folder, nor
the folder of the hit may be writable by group or others (macOS: group `admin`, gid 80, may write, as Homebrew
has it); none of them lies in the project. Source: the rules of admission for programs, design section 6.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence

from ..capabilities.environment import Environment
from ..capabilities.errors import GsdlockError, refused, shown
from .confinement import within

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_MACOS_ADMIN = 80
# Folders that version managers make for one shell session: a path into them is gone tomorrow.
_OF_A_SESSION = re.compile(r"^(/run/|/tmp/|/private/tmp/|/var/run/)|_multishells/")


def find_tools(names: Sequence[str], environment: Environment, project: str) -> dict[str, str]:
    """The path of each tool; `project` is a folder that must not hold it, or empty.

    A path that lasts for one shell session only is replaced by what it leads to. Raises `GsdlockError` with
    every fault: E-TOOL-ABSENT, E-TOOL-REFUSED (both status 4).
    """
    found: dict[str, str] = {}
    absent: list[str] = []
    bad: list[str] = []
    for name in names:
        hit = _on_path(name, environment.variables.get("PATH", ""))
        if hit is None:
            absent.append(f"{shown(name)} is not on PATH")
            continue
        real = os.path.realpath(hit)
        reason = _unfit(hit, real, environment.platform, project)
        if reason:
            bad.append(f"{shown(hit, 300)}: {reason}")
        else:
            found[name] = real if _OF_A_SESSION.search(hit) else hit
    if absent or bad:
        raise _refusal(absent, bad)
    return found


def _refusal(absent: list[str], bad: list[str]) -> GsdlockError:
    code, what = ("E-TOOL-ABSENT", "is not there") if absent else ("E-TOOL-REFUSED", "is not trusted")
    return refused(
        code,
        f"an interpreter that hooks need {what}",
        "Install it or mend its permissions; or set hooks = false, or portable-hooks = true, on the target.",
        details=[*absent, *bad],
    )


def _on_path(name: str, path: str) -> str | None:
    if not _NAME.fullmatch(name):
        return None
    for folder in path.split(os.pathsep):
        candidate = f"{folder.rstrip('/')}/{name}"
        if os.path.isabs(candidate) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _unfit(hit: str, real: str, platform: str, project: str) -> str:
    """Why the program is not admitted; empty when it is."""
    if platform != "win32":
        for path in (real, os.path.dirname(real), os.path.dirname(hit)):
            status = os.stat(path)
            if status.st_mode & stat.S_IWOTH:
                return f"others can write to {shown(path, 300)}"
            admin = platform == "darwin" and status.st_gid == _MACOS_ADMIN
            if status.st_mode & stat.S_IWGRP and not admin:
                return f"the group of {shown(path, 300)} can write to it"
    for path in (hit, real):
        for inside in {project, os.path.realpath(project)} if project else ():
            if within(path, inside, fold=platform in ("darwin", "win32")):
                return "it lies in the project"
    return ""
