"""Where on a host a pack's things go, as far as it follows from the descriptor alone."""

from __future__ import annotations

import re

from ..capabilities.errors import input_error, shown
from ..capabilities.model import Runtime
from ..capabilities.vocabulary import Root, Scope

# What a placeholder can carry behind its base: see `lockfiles.placeholders`.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._@+-]+(?:/[A-Za-z0-9._@+-]+)*")


def settings_file(runtime: Runtime, scope: str) -> str:
    """The name of the host's shared settings file at that scope."""
    by_scope = runtime.host_behaviors.get("settingsFileByScope", {})
    return str(by_scope.get(scope, "settings.json"))


def hooks_root(runtime: Runtime, scope: str) -> Root:
    """The root that hook scripts and hook registrations lie in."""
    return Root.HOOKS_HOME if scope == Scope.GLOBAL and Root.HOOKS_HOME in runtime.roots else Root.CONFIG


def hooks_folder(runtime: Runtime) -> str:
    """The folder of hook scripts below `hooks_root`."""
    return str(runtime.host_behaviors.get("sharedHooksDirName", "hooks"))


def local_folder(runtime: Runtime) -> str:
    """The config root of a local target, seen from the project: `.claude`, or `.` for the project itself."""
    if runtime.host_behaviors.get("localTargetIsProjectRoot"):
        return "."
    return runtime.local_config_dir or "."


def in_project(runtime: Runtime, root: str, path: str) -> str:
    """A path below a root of a local target, relative to the project."""
    folder = "." if root == Root.PROJECT else local_folder(runtime)
    return path if folder == "." else f"{folder}/{path}"


def plain_path(path: str, what: str) -> str:
    """`path`, where a placeholder can carry it. Raises `GsdlockError` E-PLAN-SCRIPT-NAME (status 3)."""
    if not _PLAIN_PATH.fullmatch(path):
        raise input_error(
            "E-PLAN-SCRIPT-NAME",
            f"{what} {shown(path)} cannot be named in a command",
            "Rename it: letters, digits and the characters . _ @ + - may stand between slashes.",
        )
    return path
