"""List the hosts that can be installed into.

With --detect, only those whose config home exists on this machine. The folders shown are where a target of
global scope would write; a variable in parentheses is the one that decided.

example: gsdlock runtimes --detect
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from .render import Outcome

if TYPE_CHECKING:
    from ..capabilities.model import Runtime
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--detect", action="store_true", help="only hosts whose config home exists here")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """List the runtimes. See the module's text."""
    rows = [describe(session, runtime) for runtime in session.registry.runtimes.values()]
    if options.detect:
        rows = [row for row in rows if row["present"]]
    width = max((len(row["id"]) for row in rows), default=0)
    lines = []
    for row in rows:
        lines += [f"{row['id']:<{width}}  {_title(row)}", *_where(row, width)]
    if not rows:
        lines = ["no host was found here; gsdlock runtimes lists all that can be installed into"]
    return Outcome(0, {"runtimes": rows}, lines)


def describe(session: Session, runtime: Runtime) -> dict[str, Any]:
    """One runtime as plain data; `roots` is empty where it has no global scope here, and `reason` says why;
    `local` is its folder in a project, empty where it takes no local install."""
    from ..capabilities.errors import GsdlockError
    from ..capabilities.homes import resolve_roots
    from ..capabilities.reading import is_present

    row: dict[str, Any] = {
        "id": runtime.id,
        "title": runtime.title,
        "origin": session.registry.origin(runtime.id),
        "roots": {},
        "decided-by": {},
        "local": runtime.local_config_dir if _takes_local(runtime) else "",
        "present": False,
        "reason": "",
    }
    try:
        environment = session.environment
        roots = resolve_roots(runtime, "global", environment, environment.cwd, os.path.exists)
    except GsdlockError as fault:
        row["reason"] = fault.what
        return row
    row["roots"] = dict(roots.paths)
    row["decided-by"] = dict(roots.decided_by)
    row["present"] = is_present(runtime, environment, os.path.isdir)
    return row


def _takes_local(runtime: Runtime) -> bool:
    from ..capabilities.errors import GsdlockError
    from ..capabilities.homes import check_scope

    try:
        check_scope(runtime, "local")
    except GsdlockError:
        return False
    return True


def _title(row: dict[str, Any]) -> str:
    """The title, and for a third-party host where its description comes from."""
    from ..capabilities.registry import BUILTIN

    return str(row["title"]) if row["origin"] == BUILTIN else f"{row['title']} ({row['origin']})"


def _where(row: dict[str, Any], width: int) -> list[str]:
    indent = " " * (width + 2)
    if not row["roots"]:
        return [f"{indent}{row['reason']}"]
    lines = []
    for name, path in row["roots"].items():
        variable = row["decided-by"].get(name)
        lines.append(f"{indent}{name}: {path}" + (f" ({variable})" if variable else ""))
    return lines
