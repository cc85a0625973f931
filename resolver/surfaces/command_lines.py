"""The command line with which a host runs a script of a pack.

At global scope the interpreter and the script are named by placeholders, so that apply writes the paths of
this machine; with portable hooks by their bare name and below `$HOME`. At local scope the interpreter is bare
and the script is named as the host's `localHookPath` axis says, so that the file can be committed.
"""

from __future__ import annotations

import shlex

from ...capabilities.model import Runtime
from ...capabilities.vocabulary import LocalHookPath, Scope
from ...lockfiles.placeholders import placeholder
from ..places import in_project, plain_path

_INTERPRETERS = {
    ".cjs": "node",
    ".js": "node",
    ".mjs": "node",
    ".py": "python3",
    ".bash": "bash",
    ".sh": "bash",
}


def command_line(runtime: Runtime, scope: str, root: str, path: str, *, portable: bool) -> str:
    """The POSIX shell command that runs the script at `root:path`.

    A script with a suffix that names no interpreter is started itself. Raises `GsdlockError`
    E-PLAN-SCRIPT-NAME.
    """
    script = _script(runtime, scope, root, path, portable)
    tool = next((t for suffix, t in _INTERPRETERS.items() if path.endswith(suffix)), None)
    if tool is None:
        return script
    bare = portable or scope == Scope.LOCAL
    return f"{tool if bare else placeholder('sh', f'tool.{tool}')} {script}"


def _script(runtime: Runtime, scope: str, root: str, path: str, portable: bool) -> str:
    """The script as one word of the shell."""
    place = runtime.local_hook_path
    if scope == Scope.GLOBAL or place.style is LocalHookPath.ABSOLUTE:
        return placeholder("sh-home" if portable else "sh", root, plain_path(path, "the script"))
    below = shlex.quote(in_project(runtime, root, path))
    match place.style:
        case LocalHookPath.VARIABLE:
            return f'"${place.variable}"/{below}'
        case LocalHookPath.GIT_ROOT:
            return f'"$(git rev-parse --show-toplevel 2>/dev/null || pwd)"/{below}'
        case _:
            return below
