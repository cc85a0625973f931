"""Make the targets match the lock, in one transaction.

Everything is checked before anything is written. What is risky (a hook, a shared file, anything outside the
project that its manifest wants) is shown and asked about; without a terminal, --allow answers beforehand.
A missing or stale lock is resolved first, unless --locked forbids it. Content that the store has lost is
fetched again from the pinned inputs.

example: gsdlock apply --locked --allow high
"""

from __future__ import annotations

import argparse
import os

from .recovering import WAIT
from .render import Outcome

NOTHING_TO_DO = "nothing to do: every target is as the lock says"

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..lockfiles.model import Lock
    from ..store.items import Item
    from ..store.survey import TargetChange
    from .session import Session

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from .carrying import common_arguments

    common_arguments(parser)
    parser.add_argument("--locked", action="store_true", help="refuse to change the lock")
    parser.add_argument(
        "--no-edits", action="store_true", help="place files only; print the entries to put in"
    )
    parser.add_argument("--plan-out", metavar="FILE", help="write down what would be done, and do nothing")
    parser.add_argument("--plan", metavar="FILE", help="do what FILE says, or nothing where that has moved")
    parser.add_argument("--move", action="store_true", help="follow a root that now lies elsewhere")
    parser.add_argument("--take-over", action="store_true", help="bind the installation to this manifest")


def quick(session: Session, options: argparse.Namespace) -> Outcome | None:
    """The answer where nothing was touched since everything was last seen in order; else None.

    Runs before anything heavy is imported: most applies have nothing to do.
    """
    from .unchanged import still_in_order

    if not _plain(options) or not still_in_order(session):
        return None
    data: dict[str, object] = {"generations": {}, "items": [], "denied": [], "kept": [], "messages": []}
    return Outcome(0, {**data, "dev-overrides": {}, "notices": [], "by-hand": []}, [NOTHING_TO_DO])


def _plain(options: argparse.Namespace) -> bool:
    """Whether the options ask for nothing but what the lock says."""
    special = (options.dry_run, options.ours, options.theirs, options.adopt, options.no_edits, options.move)
    return not any((*special, options.take_over, options.plan, options.plan_out))


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Apply the lock. See the module's text."""
    from ..capabilities.errors import GsdlockError
    from ..store.collect import lock_digests, register
    from .carrying import carry_out, policy_of
    from .overlays import overlay_digests
    from .unchanged import note_in_order

    said = _planned(options)
    policy_of(session)  # a faulty rule is told before a lock is made
    _check_any_target(session)
    lock, notices = current_lock(session, options)
    session.adopt(lock)
    inspect = _inspector(options, lock, said)
    flag, nothing = None, NOTHING_TO_DO
    if session.overrides:
        from .overrides import flagging

        flag, nothing = flagging(session, lock), "nothing to do: every target is as the folders say"
    try:
        changes = changes_with_content(session, lock, by_hand=options.no_edits)
        outcome = carry_out(session, options, changes, nothing, inspect, flag)
    except GsdlockError as fault:
        if fault.code not in ("E-BLOB-CORRUPT", "E-BLOB-MISSING"):
            raise
        # Content is verified when it is used, so damage shows only now, with nothing written yet.
        fetch_again(session, lock, "the store's copy is damaged: fetching the pinned inputs again")
        changes = changes_with_content(session, lock, by_hand=options.no_edits)
        outcome = carry_out(session, options, changes, nothing, inspect, flag)
    by_hand = [line for change in changes for line in entries_by_hand(session, change)]
    if not options.dry_run and not session.overrides:  # the lock on disk keeps what it names
        register(session.store, session.lock_path, lock_digests(lock) | overlay_digests(session, lock))
        # Whether a signature is good may change with no file of ours: then there is no quick answer.
        if outcome.status == 0 and _plain(options) and not session.settings["require-signature"].value:
            note_in_order(session)
    if options.plan_out:
        notices = [*notices, f"wrote the plan to {options.plan_out}"]
    data = {**outcome.data, "dev-overrides": dict(session.overrides), "notices": notices, "by-hand": by_hand}
    return Outcome(outcome.status, data, [*notices, *outcome.lines, *by_hand])


def _check_any_target(session: Session) -> None:
    """A manifest that lost its content asks for nothing, and would take everything out: that has a verb of
    its own. Raises `GsdlockError` E-MANIFEST-INVALID."""
    from ..capabilities.errors import input_error
    from .installed import generations_of
    from .render import plural

    installed = [] if session.manifest.targets else generations_of(session)
    if installed:
        path = session.manifest.path
        raise input_error(
            "E-MANIFEST-INVALID",
            f"{path} has no target, and {plural(len(installed), 'target')} would be taken out",
            "Put back what it said; or take everything out with gsdlock uninstall.",
            where=path,
        )


def _planned(options: argparse.Namespace) -> dict[str, Any] | None:
    """What `--plan` says, with the options set as it was made; `--plan-out` never does more than look.

    Raises `GsdlockError`: E-PLAN-FILE, E-FILE-READ, E-USAGE.
    """
    if options.plan_out:
        options.dry_run = True
    if options.plan is None:
        return None
    from .plan_file import adopt_choices, read_plan_file

    said = read_plan_file(options.plan)
    adopt_choices(options, said)
    return said


def _inspector(
    options: argparse.Namespace, lock: Lock, said: dict[str, Any] | None
) -> Callable[[Sequence[Item]], None] | None:
    """What `--plan` or `--plan-out` do with the items, before anything is decided."""
    if said is not None:
        from .plan_file import same_plan

        return same_plan(options.plan, said, lock)
    if options.plan_out is None:
        return None

    def write(items: Sequence[Item]) -> None:
        from .plan_file import plan_file_bytes
        from .session import write_file

        write_file(options.plan_out, plan_file_bytes(lock, options, items))

    return write


def entries_by_hand(session: Session, change: TargetChange) -> list[str]:
    """The entries that the user puts in, in the form of the file that they go into; none that is there."""
    if change.next is None or not change.next.by_hand:
        return []
    from ..store.edits.types import EditFault
    from ..store.states import disk_bytes

    lines = []
    for edit in change.next.edits:
        folder = change.next.roots[edit.root]
        names = [*(f"{edit.path.rpartition('/')[0]}/{n}".lstrip("/") for n in edit.instead), edit.path]
        paths = [f"{folder}/{name}" for name in names]
        path = next(
            (p for p in paths if disk_bytes(session.store, os.path.realpath(p)) is not None), paths[-1]
        )
        data = disk_bytes(session.store, os.path.realpath(path))
        editor = session.store.editors(edit.format)
        try:
            missing = [c.change for c in edit.changes if not editor.holds(data, c.change)]
        except EditFault:
            missing = [c.change for c in edit.changes]
        if missing:
            text = editor.put(None, missing).data.decode("utf-8")
            lines += [f"put into {path} ({', '.join(dict.fromkeys(c.at for c in missing))}):"]
            lines += [f"    {line}" for line in text.splitlines()]
    return lines


def current_lock(session: Session, options: argparse.Namespace) -> tuple[Lock, list[str]]:
    """The lock to apply, made or renewed first where the manifest asks for another one. Where dev-overrides
    are in force it is made for this apply only.

    Raises `GsdlockError`: E-LOCK-STALE or E-DEV-OVERRIDE-LOCKED under `--locked` and where policy requires a
    signature, E-SIGNATURE-….
    """
    from ..capabilities.errors import input_error
    from ..resolver.staleness import stale

    lock = session.lock()
    if session.overrides:
        from .overrides import overridden_lock

        return overridden_lock(session, lock, strict=_strictness(session, options))
    reasons = ["there is no lock yet"] if lock is None else stale(session.manifest, lock)
    if lock is not None and not reasons:
        if session.settings["require-signature"].value:
            from ..lockfiles.read import read_lock
            from .signatures import check_signature, signed_thing

            thing = signed_thing(session, None)
            check_signature(session, thing)
            lock = read_lock(thing.message, session.lock_path)  # these bytes, whatever stands there now
        return lock, []
    if strict := _strictness(session, options):
        raise input_error(
            "E-LOCK-STALE",
            f"{session.lock_path} is not a lock of {session.manifest.path}, and {strict} forbids to renew it",
            "Run gsdlock resolve, look at it with gsdlock diff, and commit it.",
            details=reasons,
        )
    from ..lockfiles.write import lock_bytes
    from ..resolver.resolve import Upgrade, resolve
    from .concerns import plan_concerns
    from .overlays import given
    from .session import write_file

    session.progress("resolving, because " + "; ".join(reasons))
    sources = session.sources_for(lock)
    made = resolve(session.manifest, session.first_party, sources, lock, Upgrade(), given(session))
    session.adopt(made.lock)
    session.note_proved(made.lock)
    warnings = [line for concern in plan_concerns(session, made.lock) for line in concern.lines()]
    if not options.dry_run:
        write_file(session.lock_path, lock_bytes(made.lock), inside=session.fence)
    return made.lock, [*made.notices, *warnings, f"wrote {session.lock_path}"]


def _strictness(session: Session, options: argparse.Namespace) -> str:
    """What forbids to apply anything but the lock as it stands; empty where nothing does."""
    if options.locked:
        return "--locked"
    return "require-signature" if session.settings["require-signature"].value else ""


def changes_with_content(session: Session, lock: Lock, *, by_hand: bool) -> list[TargetChange]:
    """The changes of an apply, with all content in the store: fetched again where it was lost.

    A lock that was not made here is made again from its pinned inputs, and refused where that gives another
    plan: else who writes it could put anything anywhere. Raises `GsdlockError`: those of `rebuild` and of
    `changes_of`.
    """
    from ..lockfiles.model import target_bytes
    from .targets import changes_of

    # The rest is missed, and fetched, when it is used; the origins are only read later, by why and diff.
    if any(session.wanted(t.name) and not session.blobs.has(t.origins) for t in lock.targets):
        fetch_again(session, lock, "the store lacks content of the lock: fetching the pinned inputs again")
    elif not session.overrides and not session.proved(lock):
        fetch_again(
            session, lock, "comparing the lock with its manifest and pinned inputs: it was not made here"
        )
    for target in lock.targets:
        session.blobs.put(target_bytes(target))
    return changes_of(session, lock, by_hand=by_hand)


def fetch_again(session: Session, lock: Lock, why: str) -> None:
    """Bring the content of the lock back into the store from its pinned inputs; `why` is told.

    Damaged blobs go first: a pack that is whole in the store would not be fetched.
    """
    from ..resolver.resolve import rebuild
    from .overlays import given

    forget_damaged(session, lock)
    session.progress(why)
    rebuild(session.applied_manifest, session.first_party, session.sources_for(lock), lock, given(session))
    session.note_proved(lock)


def forget_damaged(session: Session, lock: Lock) -> None:
    """Remove from the store what the lock names and is damaged, so that it is missed, and fetched again."""
    from ..resolver.sources.tree import stored_listing
    from ..store.collect import lock_digests

    blobs = session.blobs
    digests = lock_digests(lock) | {pack.tree for pack in lock.packs}
    for pack in lock.packs:
        if blobs.sound(pack.tree):
            digests |= {file.digest for file in (stored_listing(pack.tree, blobs) or {}).values()}
    for digest in sorted(digests):
        if blobs.has(digest) and not blobs.sound(digest):
            blobs.remove(digest)
