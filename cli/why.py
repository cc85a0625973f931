"""Say where a file or an entry comes from: pack, feature, artifact, converter, descriptor axis.

The place is a path on disk, the name that the lock uses (config:skills/x/SKILL.md), or either with # and a
JSON pointer for an entry in a shared file.

example: gsdlock why ~/.claude/settings.json#/hooks/SessionStart
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from .recovering import UNLESS_BUSY
from .render import Outcome

if TYPE_CHECKING:
    from ..lockfiles.model import Origin, Target
    from ..lockfiles.placeholders import Fillings
    from ..store.records import Generation
    from .session import Session

RECOVERY = UNLESS_BUSY


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("place", metavar="PATH-or-ENTRY", help="a file, or a file and # and a pointer")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Explain one place. See the module's text.

    Raises `GsdlockError` E-WHY-UNKNOWN where nothing of ours is there.
    """
    from ..capabilities.errors import input_error, shown

    rows: list[dict[str, Any]] = []
    for name, pointer in _readings(options.place):
        rows = rows or _explained(session, name, pointer)
    if not rows:
        raise input_error(
            "E-WHY-UNKNOWN",
            f"nothing that gsdlock installed is called {shown(options.place, 200)}",
            "It belongs to you or to the host. An entry is named by its file, # and its pointer.",
        )
    lines = []
    for row in rows:
        host = row["runtime"]
        known = host in session.first_party
        row["host"] = "" if known else f"{host}, a third-party host (overlay:{host})"
        lines.append(f"{row['place']} (target {row['target']}, {row['from']})")
        lines += [f"  {key}: {row[key]}" for key in _SHOWN if row[key]]
    return Outcome(0, {"origins": rows}, lines)


def _readings(place: str) -> list[tuple[str, str]]:
    """File and pointer that a name may stand for: a `#` may also be part of a file's name."""
    splits = [i for i, c in enumerate(place) if c == "#" and place[i + 1 : i + 2] in ("", "/")]
    return [(place, ""), *((place[:i], place[i + 1 :]) for i in splits)]


def _explained(session: Session, name: str, pointer: str) -> list[dict[str, Any]]:
    from ..lockfiles.placeholders import Fillings
    from .installed import generations_of, held_target, origins_of

    rows: list[dict[str, Any]] = []
    for generation in generations_of(session):
        target = held_target(session.blobs, generation)
        rows += _matches(
            target,
            origins_of(session.blobs, target)[0],
            _keys(session, generation, name),
            pointer,
            f"generation {generation.number}",
            Fillings({name: root.given for name, root in generation.roots.items()}, session.environment.home),
        )
    if not rows and (session.manifest_path or session.options.lock):
        lock = session.lock()
        for target in lock.targets if lock else ():
            if session.wanted(target.name):
                rows += _matches(
                    target, origins_of(session.blobs, target)[0], {name}, pointer, "the lock", None
                )
    return rows


_SHOWN = ("host", "pack", "feature", "artifact", "converter", "axis", "digest", "op", "value")


def _keys(session: Session, generation: Generation, name: str) -> set[str]:
    """The `root:path` names that a given name may stand for in a generation."""
    keys = {name}
    path = os.path.expanduser(name) if name.startswith("~") else os.path.join(session.environment.cwd, name)
    for candidate in {os.path.normpath(path), os.path.realpath(path)}:
        for root, record in generation.roots.items():
            for base in {record.given, record.real}:
                if candidate.startswith(base.rstrip("/") + "/"):
                    keys.add(f"{root}:{candidate[len(base.rstrip('/')) + 1 :]}")
        keys |= {edited.key for edited in generation.edited if edited.real == candidate}
    return keys


def _matches(
    target: Target,
    origins: dict[str, Origin],
    keys: set[str],
    pointer: str,
    source: str,
    fillings: Fillings | None,
) -> list[dict[str, Any]]:
    """The files and entries of a target that are meant. With `fillings` the pointer of an entry may be given
    as it stands on the disk, too: in the lock it may hold placeholders."""
    from ..lockfiles.model import Origin, edit_origin_key

    rows = []
    for placement in target.placements:
        if placement.key in keys and not pointer:
            origin = origins.get(placement.key, Origin("", "", "", "", ""))
            rows.append(_row(target, placement.key, source, origin, digest=placement.digest))
    for edit in target.edits:
        meant = any(
            f"{at}/".startswith(f"{pointer}/") or f"{pointer}/".startswith(f"{at}/")
            for at in {edit.at, _on_disk(edit.at, fillings)}
        )
        if edit.key in keys and (not pointer or meant):
            origin = origins.get(edit_origin_key(edit), Origin("", "", "", "", ""))
            place = f"{edit.key}#{edit.at}"
            rows.append(_row(target, place, source, origin, op=edit.op.value, value=edit.value))
    return rows


def _on_disk(pointer: str, fillings: Fillings | None) -> str:
    from ..lockfiles.placeholders import PlaceholderError, fill_pointer

    try:
        return pointer if fillings is None else fill_pointer(pointer, fillings)
    except PlaceholderError:  # of an interpreter: no pointer holds one
        return pointer


def _row(
    target: Target,
    place: str,
    source: str,
    origin: Origin,
    *,
    digest: str = "",
    op: str = "",
    value: str = "",
) -> dict[str, Any]:
    return {
        "place": place,
        "target": target.name,
        "runtime": target.runtime,
        "from": source,
        "pack": origin.pack,
        "feature": origin.feature,
        "artifact": origin.artifact,
        "converter": origin.converter,
        "axis": origin.axis,
        "digest": digest,
        "op": op,
        "value": value,
    }
