"""Programs of the user's: found on PATH, and started or written down only where nobody else can replace them.

The rule of admission, in order: the first hit on PATH decides and none after it is looked at; it must be
absolute; what it leads to must be a regular file that can be executed; neither that file, nor its folder, nor
the folder of the hit may be writable by group or others (macOS: group `admin`, gid 80, may write, as Homebrew
has it); none of them, no link on the way, and no interpreter that a script names, lies in a project. Source:
the rules of admission for programs, design section 6.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from ..capabilities.environment import Environment
from ..capabilities.errors import GsdlockError, refused, shown
from .confinement import within

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_MACOS_ADMIN = 80
_MOST_LINKS = 40
_MOST_SCRIPTS = 4  # as Linux has it: an interpreter may itself be a script
# Folders that version managers make for one shell session: a path into them is gone tomorrow.
_OF_A_SESSION = re.compile(r"^(/run/|/tmp/|/private/tmp/|/var/run/)|_multishells/")


class Program(Struct, frozen=True):
    """A name, looked up. `hit` is the full path where PATH has it (empty: nowhere), `real` the file that this
    leads to; `reason` says why it is not admitted, and is empty where it is."""

    name: str
    hit: str = ""
    real: str = ""
    reason: str = ""


def look_up(name: str, environment: Environment, guards: Sequence[str]) -> Program:
    """What PATH has by that name. `guards` are folders that must not hold it: see `checkouts`. Nothing is
    started."""
    hit = _on_path(name, environment)
    if hit is None:
        return Program(name, reason=f"{shown(name)} is not on PATH")
    if not os.path.isabs(hit):
        where = os.path.dirname(hit) or "."
        return Program(name, reason=f"{shown(name)} is not on PATH but by the relative folder {shown(where)}")
    real = os.path.realpath(hit)
    try:
        why = _unfit(hit, real, environment.platform, guards) or _led_inside(real, environment, guards)
    except OSError as fault:
        why = f"it cannot be looked at: {fault.strerror}"
    return Program(name, hit, real, f"{shown(hit, 300)}: {why}" if why else "")


def find_tools(names: Sequence[str], environment: Environment, guards: Sequence[str]) -> dict[str, str]:
    """The path of each interpreter that hooks are run by; `guards` are folders that must not hold it.

    A path that lasts for one shell session only is replaced by what it leads to. Raises `GsdlockError` with
    every fault: E-TOOL-ABSENT, E-TOOL-REFUSED (both status 4).
    """
    programs = [look_up(name, environment, guards) for name in names]
    absent = [p.reason for p in programs if p.reason and not p.hit]
    bad = [p.reason for p in programs if p.reason and p.hit]
    if absent or bad:
        raise _refusal(absent, bad)
    return {p.name: p.real if _OF_A_SESSION.search(p.hit) else p.hit for p in programs}


def path_outside(environment: Environment, guards: Sequence[str]) -> str:
    """PATH for a program that is started: without relative folders, and without those that lie in `guards` or
    lead there, since what it starts in turn is looked up by it."""
    folders = environment.variables.get("PATH", "").split(os.pathsep)
    fold = _ignores_case(environment.platform)

    def is_outside(folder: str) -> bool:
        return os.path.isabs(folder) and not _inside(
            (os.path.normpath(folder), os.path.realpath(folder)), guards, fold=fold
        )

    return os.pathsep.join(filter(is_outside, folders))


def _refusal(absent: list[str], bad: list[str]) -> GsdlockError:
    code, what = ("E-TOOL-ABSENT", "is not there") if absent else ("E-TOOL-REFUSED", "is not trusted")
    return refused(
        code,
        f"an interpreter that hooks need {what}",
        "Install it or mend its permissions; or set hooks = false, or portable-hooks = true, on the target.",
        details=[*absent, *bad],
    )


def _on_path(name: str, environment: Environment) -> str | None:
    """The first hit; relative where the folder of PATH is (an empty one is the working directory)."""
    if not _NAME.fullmatch(name):
        return None
    for folder in environment.variables.get("PATH", "").split(os.pathsep):
        candidate = f"{folder.rstrip('/')}/{name}" if folder.startswith("/") else os.path.join(folder, name)
        place = os.path.join(environment.cwd, candidate)
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return candidate
    return None


def who_can_write(mode: int, gid: int | None, platform: str) -> str:
    """Who besides the owner can write what has this `mode` and this group: `others`, `the group`, or nobody
    (empty). None for a group that cannot be told."""
    if mode & stat.S_IWOTH:
        return "others"
    admin = platform == "darwin" and gid == _MACOS_ADMIN
    return "the group" if mode & stat.S_IWGRP and not admin else ""


def _unfit(hit: str, real: str, platform: str, guards: Sequence[str]) -> str:
    """Why the program is not admitted; empty when it is."""
    if platform != "win32":
        for path in (real, os.path.dirname(real), os.path.dirname(hit)):
            status = os.stat(path)
            who = who_can_write(status.st_mode, status.st_gid, platform)
            if who:
                return f"{who} can write to {shown(path, 300)}"
    if _inside((os.path.normpath(hit), *_way(hit), real), guards, fold=_ignores_case(platform)):
        return "it lies in the project"
    return ""


def _led_inside(real: str, environment: Environment, guards: Sequence[str]) -> str:
    """Why a script is not admitted: the interpreter that its first line names lies in the project."""
    fold = _ignores_case(environment.platform)
    script = real
    for _ in range(_MOST_SCRIPTS):
        words = _first_line(script)
        if not words:
            break
        script = words[0]
        if os.path.basename(script) == "env":
            name = next((w for w in words[1:] if not w.startswith("-") and "=" not in w), "")
            if "/" not in name:
                outside = structs.replace(environment, variables={"PATH": path_outside(environment, guards)})
                name = _on_path(name, outside) or script
            script = name
        if not os.path.isabs(script):
            return f"its interpreter {shown(script, 300)} is not an absolute path"
        if _inside((os.path.normpath(script), *_way(script)), guards, fold=fold):
            return f"its interpreter {shown(script, 300)} lies in the project"
    return ""


def _first_line(path: str) -> list[str]:
    """The words behind `#!`; none where the file is no script, or cannot be read and so is none."""
    try:
        with open(path, "rb") as file:
            head = file.read(256)
    except OSError:
        return []
    return os.fsdecode(head[2:].split(b"\n")[0]).split() if head.startswith(b"#!") else []


def _way(path: str) -> Iterator[str]:
    """Where a path leads, link by link, each with the links of its folder resolved."""
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        path = os.path.join(os.path.realpath(folder), name)
        yield path
        if not os.path.islink(path):
            return
        path = os.path.join(os.path.dirname(path), os.readlink(path))


def _inside(paths: Sequence[str], guards: Sequence[str], *, fold: bool) -> bool:
    resolved = {place for guard in guards for place in (guard, os.path.realpath(guard))}
    return any(within(path, place, fold=fold) for path in paths for place in resolved)


def _ignores_case(platform: str) -> bool:
    return platform in ("darwin", "win32")
