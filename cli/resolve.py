"""Resolve the manifest into gsdlock.lock.

What the lock pins stays pinned: a pack moves to another version only when the manifest asks for another one,
or when it is named by --upgrade-pack, or by --upgrade for all. Packs of kind path are read again each time.
No host's folder is touched.

example: gsdlock resolve --upgrade-pack gsd
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .render import Outcome, plural

if TYPE_CHECKING:
    from ..lockfiles.diff import Difference
    from ..lockfiles.model import Lock
    from ..resolver.resolve import Resolution
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--upgrade", action="store_true", help="let every pack move to its newest version")
    parser.add_argument("--upgrade-pack", metavar="NAME", action="append", default=[], help="let one move")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when the lock is stale")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Make the lock, or check it. See the module's text."""
    from ..capabilities.errors import GsdlockError
    from ..lockfiles.write import lock_bytes
    from ..resolver.resolve import Upgrade, resolve
    from .apply import forget_damaged
    from .carrying import policy_of
    from .concerns import plan_concerns, with_concerns
    from .overlays import given
    from .session import read_file, write_file

    policy_of(session)
    previous, repaired = former_lock(session, check=options.check)
    session.progress("reading packs")
    upgrade = Upgrade(options.upgrade, frozenset(options.upgrade_pack))

    def make() -> Resolution:
        sources = session.sources_for(previous)
        return resolve(session.manifest, session.first_party, sources, previous, upgrade, given(session))

    try:
        made = make()
    except GsdlockError as fault:
        if fault.code not in ("E-BLOB-CORRUPT", "E-BLOB-MISSING") or previous is None:
            raise
        forget_damaged(session, previous)
        session.progress("the store's copy is damaged: reading the packs again")
        made = make()
    session.adopt(made.lock)
    session.note_proved(made.lock)
    concerns = plan_concerns(session, made.lock)
    data = lock_bytes(made.lock)
    # A checkout may have turned the line ends, and every reader takes those.
    same = (read_file(session.lock_path) or b"").replace(b"\r\n", b"\n") == data
    if not same and not options.check:
        write_file(session.lock_path, data, inside=session.fence)
    outcome = _report(session, options, made.lock, made.notices, _moved(previous, made.lock), same, repaired)
    return with_concerns(outcome, concerns)


def former_lock(session: Session, *, check: bool) -> tuple[Lock | None, bool]:
    """The lock on disk, and whether it is in need of repair.

    A lock with merge conflict markers is no reason to stop: `resolve` makes it again from the manifest, and
    of it there is what both sides pin alike. Under `check` it is.
    """
    from ..capabilities.errors import GsdlockError
    from .session import read_file

    try:
        return session.lock(), False
    except GsdlockError as fault:
        if fault.code != "E-LOCK-CONFLICT" or check:
            raise
        from ..lockfiles.conflict import agreed

        return agreed(read_file(session.lock_path) or b""), True


def _moved(previous: Lock | None, lock: Lock) -> Difference:
    from ..lockfiles.diff import compare

    before = {t.name: t for t in previous.targets} if previous else {}
    inputs = previous.inputs if previous else ()
    return compare(before, {t.name: t for t in lock.targets}, inputs, lock.inputs)


def _report(
    session: Session,
    options: argparse.Namespace,
    lock: Lock,
    notices: tuple[str, ...],
    moved: Difference,
    same: bool,
    repaired: bool,
) -> Outcome:
    from .difference import summary_lines
    from .overrides import override_lines

    lines = [f"{line}; it is not locked" for line in override_lines(session.overrides)]
    lines += notices
    if repaired:
        lines.append(
            f"{session.lock_path} held merge conflict markers: made again from the manifest; "
            "what both sides pin alike stays pinned"
        )
    lines += [f"pack {p.name}: {p.resolved}" for p in lock.packs]
    lines += [f"overlay {o.name}: {o.resolved} ({o.tree})" for o in lock.overlays]
    for target in lock.targets:
        lines.append(
            f"target {target.name}: {target.runtime} {target.scope}, "
            f"{plural(len(target.placements), 'file')}, {plural(len(target.edits), 'entry', 'entries')}, "
            f"features: {', '.join(target.features) or 'none'}"
        )
    if same:
        lines.append(f"{session.lock_path} is up to date")
    elif options.check:
        lines += summary_lines(moved)
        lines.append(f"{session.lock_path} is stale: run gsdlock resolve")
    else:
        lines += summary_lines(moved)
        lines.append(f"wrote {session.lock_path}; look at it with gsdlock diff, then gsdlock apply")
    data = {
        "lock": session.lock_path,
        "plan": lock.plan,
        "changed": not same,
        "repaired": repaired,
        "notices": list(notices),
        "dev-overrides": dict(session.overrides),
        "packs": [{"name": p.name, "kind": p.kind.value, "resolved": p.resolved} for p in lock.packs],
        "overlays": [{"id": o.name, "resolved": o.resolved, "digest": o.tree} for o in lock.overlays],
        "targets": [
            {"name": t.name, "files": len(t.placements), "edits": len(t.edits), "features": list(t.features)}
            for t in lock.targets
        ],
    }
    return Outcome(1 if options.check and not same else 0, data, lines)
