"""Take over what the reference installer (npx) put on the targets of the manifest.

Its files are recognised by the digests in its own manifest, its hooks by the files that they run. What is
equal to the lock is adopted as it stands, what differs is replaced, what the lock does not have goes; files
that you changed since are asked about as in apply. From then on apply, rollback and uninstall are exact, and
a rollback brings the former install back. Without a gsdlock.toml it only says what it finds.

example: gsdlock import --dry-run
"""

from __future__ import annotations

import argparse
import json
import os
import stat
from typing import TYPE_CHECKING, Any

from .recovering import WAIT
from .render import Outcome, plural

if TYPE_CHECKING:
    from ..store.former_install import FormerInstall, Found, TakenOver
    from ..store.survey import TargetChange
    from .session import Session

_PACKAGES = {True: "@opengsd/gsd-core", False: "get-shit-done-cc"}  # whether the manifest says its runtime
_MOST_TOLD = 12

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from .carrying import common_arguments

    common_arguments(parser)
    parser.add_argument("--locked", action="store_true", help="refuse to change the lock")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Take over. See the module's text.

    Raises `GsdlockError`: E-IMPORT-NOTHING, and whatever an apply raises.
    """
    from ..capabilities.errors import input_error
    from ..store.collect import lock_digests, register
    from .apply import changes_with_content, current_lock
    from .carrying import carry_out, policy_of
    from .overlays import overlay_digests

    if session.manifest_path is None:
        return _detected(session)
    policy_of(session)
    lock, notices = current_lock(session, options)
    session.adopt(lock)
    changes, lines, rows = _taken(session, changes_with_content(session, lock, by_hand=False))
    if not changes:
        raise input_error(
            "E-IMPORT-NOTHING",
            "no target of the manifest holds an install of the reference installer that is not ours yet",
            "gsdlock apply installs; gsdlock import in a folder without a manifest says what is found.",
        )
    outcome = carry_out(session, options, changes, "nothing to do")
    if not options.dry_run:
        register(session.store, session.lock_path, lock_digests(lock) | overlay_digests(session, lock))
    data = {**outcome.data, "notices": notices, "found": rows}
    return Outcome(outcome.status, data, [*notices, *lines, *outcome.lines])


def _taken(
    session: Session, changes: list[TargetChange]
) -> tuple[list[TargetChange], list[str], list[dict[str, Any]]]:
    """The changes of the targets that hold a former install, with what is said of each."""
    from msgspec.structs import replace

    from ..store.former_install import taken_over

    found, lines, rows = [], [], []
    for change in changes:
        wanted, current = change.next, session.store.generations.current(change.slug)
        former = _former(wanted.roots["config"]) if wanted is not None and "config" in wanted.roots else None
        if wanted is None or former is None or (current is not None and not current.left):
            continue
        taken = taken_over(session.store, change.slug, wanted, former, _look)
        found.append(replace(change, assumes=taken.assumed))
        lines += _told(wanted.target, former, taken)
        rows.append(
            {
                "target": wanted.target,
                "version": former.version,
                "profile": former.mode,
                "files": len(taken.assumed.files),
                "entries": sum(len(e.entries) for e in taken.assumed.edited),
                "yours": list(taken.yours),
                "blocks": list(taken.blocks),
                "edited": list(taken.edited),
                "unlisted": list(taken.unlisted),
            }
        )
    return found, lines, rows


def _told(target: str, former: FormerInstall, taken: TakenOver) -> list[str]:
    entries = sum(len(e.entries) for e in taken.assumed.edited)
    held = f"{plural(len(taken.assumed.files), 'file')}, {plural(entries, 'entry', 'entries')}"
    lines = [f"{target}: found GSD {former.version}, profile {former.mode}: {held}"]
    for keys, what in (
        (tuple(dict.fromkeys(taken.yours)), "stands already, counts as yours and stays when we leave"),
        (taken.blocks, "also holds the former block <!-- GSD Configuration -->: take that out by hand"),
        (taken.edited, "was changed since"),
        (taken.unlisted, "is in no manifest and differs from the lock"),
    ):
        lines += [f"  {target}: {key} {what}" for key in keys[:_MOST_TOLD]]
        if len(keys) > _MOST_TOLD:
            lines.append(f"  and {len(keys) - _MOST_TOLD} more")
    return lines


def _detected(session: Session) -> Outcome:
    """Where the reference installer left something, and the manifest that would take it over."""
    from ..capabilities.errors import GsdlockError
    from ..capabilities.homes import resolve_roots

    environment = session.environment
    rows: list[dict[str, str]] = []
    for runtime in session.registry.runtimes.values():
        for scope in ("global", "local"):
            try:
                roots = resolve_roots(runtime, scope, environment, environment.cwd, os.path.exists)
            except GsdlockError:
                continue
            home = roots.paths.get("config", "")
            former = _former(home) if home else None
            if former is not None and _of(home, runtime.id):
                row = {"runtime": runtime.id, "scope": scope, "folder": home}
                rows.append({**row, "version": former.version, "profile": former.mode})
    lines = [
        f"{r['runtime']} {r['scope']}: GSD {r['version']}, profile {r['profile']}, in {r['folder']}"
        for r in rows
    ]
    text = _manifest_text(rows)
    if not rows:
        return Outcome(0, {"found": [], "manifest": ""}, ["the reference installer has left nothing here"])
    lines += [
        "",
        "a gsdlock.toml that takes it over with gsdlock import:",
        *(f"    {t}" for t in text.splitlines()),
    ]
    return Outcome(0, {"found": rows, "manifest": text}, lines)


def _of(home: str, runtime: str) -> bool:
    """Whether a manifest is that of a runtime: two hosts may share a folder. Older ones do not say."""
    found = _look(f"{home}/gsd-file-manifest.json")
    said = json.loads(found.data).get("runtime") if found is not None else None
    return said in (None, runtime)


def _manifest_text(rows: list[dict[str, str]]) -> str:
    lines = []
    for version in sorted({r["version"] for r in rows}):
        newest = version == max(r["version"] for r in rows)
        name = "gsd" if newest else f"gsd-{version}"
        lines += [f"[packs.{json.dumps(name) if '.' in name else name}]"]
        lines += [
            f"npm = {json.dumps(_PACKAGES[not version.startswith('1.4')])}",
            f"version = {json.dumps(version)}",
            "",
        ]
    for row in rows:
        name = row["runtime"] if row["scope"] == "global" else f"{row['runtime']}-local"
        lines += [
            f"[targets.{name}]",
            f"runtime = {json.dumps(row['runtime'])}",
            f"scope = {json.dumps(row['scope'])}",
        ]
        lines += [f"profile = {json.dumps(row['profile'])}", ""]
    return "\n".join(lines).rstrip() + "\n" if rows else ""


def _former(home: str) -> FormerInstall | None:
    from ..store.former_install import MANIFEST, read_former

    found = _look(f"{home.rstrip('/')}/{MANIFEST}")
    return read_former(found.data) if found is not None else None


def _look(path: str) -> Found | None:
    """A regular file; a link, or anything else, is nothing here: what is written is looked at again."""
    from ..store.former_install import Found

    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return Found(file.read(), stat.S_IMODE(status.st_mode))
