"""What a broken-off transaction left is put right: back or forward, by the name of its journal alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..capabilities.errors import GsdlockError, missing, shown
from .exclusive import DEFAULT_WAIT, exclusive
from .faults import io_at, io_error
from .journal import Journal, Journals, Phase
from .receipts import close_receipts
from .records import Generation
from .rewriting import Rewriting
from .roots import Ground
from .store import Store
from .wanted import Validator
from .workbench import RaceError, Workbench


class Recovered(Struct, frozen=True):
    """What was done about one transaction: `completed` (its targets hold the new generations) or not (they
    hold the old ones). `kept` are paths where somebody else's version made way and is in the store."""

    id: str
    command: str
    completed: bool
    targets: tuple[str, ...]
    kept: tuple[str, ...] = ()


def recover(store: Store, *, wait: float = DEFAULT_WAIT) -> tuple[Recovered, ...]:
    """Put right what broken-off transactions left; cheap where there are none (one listing of one folder).

    Every verb calls this first. If another process is at work its journal is there too, so the lock is waited
    for. Raises E-BUSY (status 6), E-JOURNAL-CORRUPT, E-RECOVER-STAGING (5), E-IO-…, E-CONFINE-….
    """
    if not Journals(store.fs, store.state).pending():
        return ()
    with exclusive(store, wait):
        return recover_locked(store)


def recover_unless_busy(store: Store) -> tuple[Recovered, ...]:
    """`recover` for verbs that only read: while another process is at work nothing is done and nobody waits.

    What they then read is each file and each pointer as it is at that moment. Raises as `recover`, but for
    E-BUSY.
    """
    try:
        return recover(store, wait=0)
    except GsdlockError as error:
        if error.code != "E-BUSY":
            raise
        return ()


def recover_locked(store: Store) -> tuple[Recovered, ...]:
    """`recover` for one who holds the lock."""
    journals = Journals(store.fs, store.state)
    done: list[Recovered] = []
    pending = journals.pending()
    for id in pending:
        phase = journals.phase(id)
        if phase is None:
            with io_at("cannot remove", f"{store.state}/transactions/{id}"):
                journals.remove(id)
            continue
        done.append(_recover_one(store, journals, journals.read(id, phase), phase))
    if pending:
        close_receipts(store)
    return tuple(done)


def _recover_one(store: Store, journals: Journals, journal: Journal, phase: Phase) -> Recovered:
    with Ground(store.fs) as ground:
        _ground_for(store, journal, ground, phase)
        bench = Workbench(store, journal, ground, recovering=True)
        if phase is Phase.COMMIT:
            _whole(store, bench)
            carry_on(store, journals, bench, {})
        elif phase is Phase.DONE:
            tidy(journals, bench)
        else:
            if phase is Phase.UNDO:
                _whole(store, bench)
            go_back(store, journals, bench, phase)
    return Recovered(
        id=journal.id,
        command=journal.command,
        completed=phase in (Phase.COMMIT, Phase.DONE),
        targets=tuple(journal.generations),
        kept=tuple(sorted(bench.displaced)),
    )


def carry_on(
    store: Store,
    journals: Journals,
    bench: Workbench,
    validators: Mapping[int, Sequence[Validator]],
    written: Mapping[str, Generation] | None = None,
) -> None:
    """From the point of no return to the end. `written` are the new generations, where they are at hand.

    Raises `RaceError`, and what `forward` and `flush` raise.
    """
    journal = bench.journal
    rewriting = Rewriting(bench, validators)
    bench.ground.forget()  # walk again from the anchors: folders may have been moved meanwhile
    bench.subtrees.forward(first=not bench.recovering)
    for number, operation in enumerate(journal.operations):
        if operation.recipe is not None:
            rewriting.forward(number)
        else:
            bench.forward(number)
    bench.flush_done()
    bench.ground.forget()
    moved = None if bench.recovering else bench.missing()
    if moved is not None:
        raise RaceError(moved)
    for slug, (_, number) in journal.generations.items():
        planned = written[slug] if written else store.generations.read(slug, number)
        with io_at("cannot write", store.generations.folder(slug)):
            final = rewriting.rewritten(planned)
            if final != planned:
                store.generations.write(final)
            store.generations.point(slug, number)
    with io_at("cannot write in", f"{store.state}/transactions"):
        journals.move(journal.id, Phase.COMMIT, Phase.DONE)
    tidy(journals, bench)


def tidy(journals: Journals, bench: Workbench) -> None:
    """All targets hold their new generation: remove the staging, emptied folders, and the journal."""
    bench.clean()
    bench.remove_folders(bench.journal.pruned)
    bench.flush_cleaned(bench.journal.pruned)
    with io_at("cannot remove", f"{bench.store.state}/transactions/{bench.journal.id}"):
        journals.remove(bench.journal.id)


def go_back(store: Store, journals: Journals, bench: Workbench, phase: Phase) -> None:
    """All targets as they were. From `commit` on, step by step; before, nothing was put in place yet."""
    journal = bench.journal
    bench.ground.forget()
    if phase is Phase.COMMIT:
        with io_at("cannot write in", f"{store.state}/transactions"):
            journals.move(journal.id, Phase.COMMIT, Phase.UNDO)
    if phase in (Phase.COMMIT, Phase.UNDO):
        rewriting = Rewriting(bench, {})
        for number in reversed(range(len(journal.operations))):
            if journal.operations[number].recipe is not None:
                rewriting.backward(number)
            else:
                bench.backward(number)
        bench.flush_done()
        for slug, (before, _) in journal.generations.items():
            with io_at("cannot write", store.generations.folder(slug)):
                _point_back(store, slug, before)
        with io_at("cannot write in", f"{store.state}/transactions"):
            journals.move(journal.id, Phase.UNDO, Phase.PREPARE)  # from here on there is only staging
    bench.clean()
    bench.remove_folders(tuple(reversed(journal.made)))
    bench.flush_cleaned(journal.made)
    for slug, (_, number) in journal.generations.items():
        with io_at("cannot remove", store.generations.folder(slug)):
            store.generations.remove(slug, number)
    with io_at("cannot remove", f"{store.state}/transactions/{journal.id}"):
        journals.remove(journal.id)


def _point_back(store: Store, slug: str, before: int) -> None:
    """The pointer as it was; several targets point one after the other, so some may be ahead."""
    if store.generations.current_number(slug) == before:
        return
    if before:
        store.generations.point(slug, before)
    else:
        store.generations.unpoint(slug)


def _ground_for(store: Store, journal: Journal, ground: Ground, phase: Phase) -> None:
    """The journal's anchors by the same numbers. They are known by their paths, not by device and inode: a
    device has another number after a restart. That it is the right folder is seen by our staging in it."""
    places = (*journal.made, *journal.stages, *journal.pruned, *(o.place for o in journal.operations))
    needed = {place.anchor for place in places}
    for number, anchor in enumerate(journal.anchors):
        if number not in needed:  # only looked at
            ground.add(anchor.real, (anchor.device, anchor.inode))
            continue
        try:
            if store.fs.real_path(anchor.real) != anchor.real:
                raise _astray(journal, anchor.real)
            ground.add(anchor.real)
        except FileNotFoundError:
            if phase in (Phase.COMMIT, Phase.UNDO):
                raise _astray(journal, anchor.real) from None
            ground.add(anchor.real, (anchor.device, anchor.inode))
        except OSError as error:
            raise io_error(error, "cannot open", anchor.real) from error


def _whole(store: Store, bench: Workbench) -> None:
    """Every staging folder is where the journal says: without them nobody can know what was done."""
    for place in bench.journal.stages:
        staging = f"{place.path}/{bench.journal.staging}" if place.path else bench.journal.staging
        try:
            bench.ground.folder(place.anchor, staging)
        except FileNotFoundError:
            raise _astray(bench.journal, bench.path(place)) from None
        except OSError as error:
            raise io_error(error, "cannot open", bench.path(place)) from error


def _astray(journal: Journal, path: str) -> GsdlockError:
    return missing(
        "E-RECOVER-STAGING",
        f"a transaction ({shown(journal.command, 100)}) was broken off, and its staging folder "
        f"{journal.staging} is no longer in {shown(path, 400)}",
        "Put the folder back where it was (a disk not mounted?), then run this again.",
        where=path,
    )
