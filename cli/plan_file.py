"""A plan in a file: what an apply would do, and what stood on the disk when that was worked out.

`apply --plan-out FILE` writes it, `apply --plan FILE` does exactly that or refuses. The file is canonical
JSON and a line of its own digest: `plan-file` (1), `plan` (the digest of the lock's plan), `choices` (the
options about changed files), and `items`, each with the digests before and after and its place.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..lockfiles.model import Lock
    from ..store.items import Item

PLAN_FILE_VERSION = 1
_CHOICES = ("ours", "theirs", "adopt")
_SWITCHES = ("move", "take_over", "no_edits")
_FIX = "Work it out again: gsdlock apply --plan-out FILE."


def plan_file_bytes(lock: Lock, options: argparse.Namespace, items: Sequence[Item]) -> bytes:
    """The bytes of a plan file."""
    from ..capabilities.canonical import canonical_json, sha256_digest
    from ..store.items import item_data
    from .carrying import full_name

    body = canonical_json(
        {
            "plan-file": PLAN_FILE_VERSION,
            "plan": lock.plan,
            "targets": sorted(options.target or ()),
            "choices": {name: sorted(map(full_name, getattr(options, name))) for name in _CHOICES},
            "switches": [name for name in _SWITCHES if getattr(options, name)],
            "items": [item_data(item) for item in items],
        }
    )
    return body + b"\n" + sha256_digest(body).encode("ascii") + b"\n"


def read_plan_file(path: str) -> dict[str, Any]:
    """What a plan file says. Raises `GsdlockError`: E-FILE-READ, E-PLAN-FILE (status 3)."""
    import json

    from ..capabilities.canonical import sha256_digest
    from ..capabilities.errors import input_error, shown
    from .session import read_file

    data = read_file(path)
    if data is None:
        raise input_error("E-FILE-READ", f"there is no file {shown(path, 400)}", _FIX, where=path)
    body, _, seal = data.partition(b"\n")
    version = None
    if seal.strip() == sha256_digest(body).encode("ascii"):
        said = json.loads(body)
        version = said.get("plan-file") if isinstance(said, dict) else None
        if version == PLAN_FILE_VERSION:
            return dict(said)
    why = f"is of version {shown(str(version), 20)}" if version is not None else "is no whole plan file"
    raise input_error("E-PLAN-FILE", f"{shown(path, 400)} {why}", _FIX, where=path)


def adopt_choices(options: argparse.Namespace, said: dict[str, Any]) -> None:
    """Let the options be those that the plan was made with; no other lock is made.

    Raises `GsdlockError` E-USAGE where others are given.
    """
    from ..capabilities.errors import usage_error

    given = [name for name in (*_CHOICES, *_SWITCHES) if getattr(options, name)]
    if given or options.target:
        name = f"--{given[0].replace('_', '-')}" if given else "--target"
        raise usage_error(
            "E-USAGE", f"{name} is settled by the plan in the file", "Leave it out, or make another plan."
        )
    for name in _CHOICES:
        setattr(options, name, list(said["choices"][name]))
    for name in _SWITCHES:
        setattr(options, name, name in said["switches"])
    options.target = list(said["targets"]) or None
    options.locked = True


def same_plan(path: str, said: dict[str, Any], lock: Lock) -> Callable[[Sequence[Item]], None]:
    """What looks at the items before anything is decided.

    It raises `GsdlockError` E-PLAN-FILE-MOVED (status 4) where lock or disk are not what they were.
    """
    from ..capabilities.errors import refused
    from ..store.items import item_data
    from .carrying import bounded

    def moved(what: str, lines: Sequence[str] = ()) -> Exception:
        return refused(
            "E-PLAN-FILE-MOVED",
            f"{os.path.basename(path)} is not carried out: {what}; nothing was written",
            "Work it out again, and look at it: gsdlock apply --plan-out FILE.",
            where=path,
            details=bounded(lines),
        )

    if said["plan"] != lock.plan:
        raise moved("the lock is another one than it was made from")

    def inspect(items: Sequence[Item]) -> None:
        if not any(item.changes for item in items):
            return  # all of it is done
        rows = {_row(row) for row in said["items"]}
        now = {_row(item_data(item)) for item in items}
        if rows != now:
            lines = [f"no longer: {_told(row)}" for row in sorted(rows - now)]
            lines += [f"now: {_told(row)}" for row in sorted(now - rows)]
            raise moved("what it is about has changed since", lines)

    return inspect


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    """What an item comes to. Its description names the place on the disk, so a root that lies elsewhere now
    is seen too."""
    return tuple(str(item[key]) for key in ("target", "key", "op", "risk", "before", "after", "description"))


def _told(row: tuple[str, ...]) -> str:
    from ..capabilities.errors import shown

    target, key, op, _, before, _, description = row
    stood = f"{before[:19]}… stands there" if before else "nothing stands there"
    return shown(f"{target}: {op} {key.split('#sha256:')[0]} ({stood}): {description}", 400)
