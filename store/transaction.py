"""From one generation to the next, for several targets at once: all of them, or none.

The order is that of the design, section 6: recover, preflight, gate, save, stage, journal, commit,
generation. Everything that can be refused is refused before the first write; an error after it is undone; a
crash is put right by the next command. `recovery` holds what both share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.errors import GsdlockError, missing, refused, shown
from .choices import Choices
from .exclusive import DEFAULT_WAIT, exclusive
from .faults import io_at, io_error
from .gate import Settled
from .items import Decision, Item
from .journal import Anchor, Journal, Journals, Operation, Phase, Place
from .partial import without_denied
from .planned import PlannedStep
from .preflight import Preflight, preflight
from .records import Generation
from .recovery import Recovered, carry_on, go_back, recover, recover_locked
from .roots import split
from .store import Store
from .subtrees import subtrees_of
from .survey import TargetChange
from .workbench import RaceError, Workbench

Decide: TypeAlias = Callable[[Sequence[Item]], Settled]
"""Settles every item: see `gate.settle`. Called once a transaction, with the lock held, before any write."""


class Outcome(Struct, frozen=True):
    """What became of one item: `done`, `unchanged` (nothing was to be done), or `denied`."""

    item: Item
    result: str
    decision: Decision


class Result(Struct, frozen=True):
    """What a transaction did.

    `generations` are the new numbers by slug, of the targets that got one, `made` these generations
    themselves; `unchanged` are targets that a denial left as they were; `kept` are full paths whose former
    version is in the store; `recovered` is what earlier transactions needed first.
    """

    outcomes: tuple[Outcome, ...]
    generations: Mapping[str, int]
    unchanged: frozenset[str]
    downgrades: tuple[str, ...]
    kept: tuple[str, ...]
    recovered: tuple[Recovered, ...]
    made: tuple[Generation, ...] = ()


def run(
    store: Store,
    changes: Sequence[TargetChange],
    choices: Choices,
    decide: Decide,
    *,
    wait: float = DEFAULT_WAIT,
    receipt: str = "",
) -> Result:
    """Make the targets so. Where nothing is to be done, nothing is written and no lock is taken.

    `wait` are seconds to wait for another gsdlock; `receipt` is what the transaction is called in the ledger.
    Raises `PreflightError` (all problems at once, nothing
    written), what `decide` raises (nothing written), E-BUSY, E-RACE and E-IO-… (everything undone),
    E-BLOB-…, E-RECOVER-… and E-JOURNAL-….
    """
    recovered = recover(store, wait=wait)
    plan = preflight(store, changes, choices)
    try:
        if plan.idle:
            return _idle(plan, recovered)
        with exclusive(store, wait):
            more = recover_locked(store)
            recovered += more
            if more or _numbers(store) != plan.numbers:
                plan.close()
                plan = preflight(store, changes, choices)
            settled = decide(plan.items)
            if settled.unchanged or settled.partial:
                whole, plan = plan, _reduced(store, plan, changes, choices, settled)
                whole.close()
            if plan.idle:
                return _idle(plan, recovered, settled)
            made, kept = _carry_out(store, plan, settled, receipt)
    finally:
        plan.close()
    numbers = {generation.slug: generation.number for generation in made}
    return replace(_idle(plan, recovered, settled), generations=numbers, kept=kept, made=made)


def preview(store: Store, changes: Sequence[TargetChange], choices: Choices) -> tuple[Item, ...]:
    """The items of a transaction, without doing any. Raises as `preflight`; takes no lock, writes nothing."""
    plan = preflight(store, changes, choices)
    plan.close()
    return plan.items


def _numbers(store: Store) -> dict[str, int]:
    generations = store.generations
    numbers = {slug: generations.current_number(slug) for slug in generations.slugs()}
    return {slug: number for slug, number in numbers.items() if number}


def _idle(plan: Preflight, recovered: tuple[Recovered, ...], settled: Settled | None = None) -> Result:
    if settled is None:
        decisions = [Decision(True, "policy:default") for _ in plan.items]
        return Result(_outcomes(plan.items, decisions, ()), {}, frozenset(), (), (), recovered)
    denied = {(i.target, i.key) for i, d in zip(settled.items, settled.decisions, strict=True) if not d.allow}
    denied |= {(i.target, i.key) for i in settled.items if i.target in settled.unchanged}
    outcomes = _outcomes(settled.items, settled.decisions, denied)
    return Result(outcomes, {}, settled.unchanged, settled.downgrades, (), recovered)


def _outcomes(
    items: Sequence[Item], decisions: Sequence[Decision], denied: Collection[tuple[str, str]]
) -> tuple[Outcome, ...]:
    def result(item: Item) -> str:
        if denied and (item.target, item.key) in denied:
            return "denied"
        return "done" if item.changes else "unchanged"

    return tuple(Outcome(i, result(i), decision) for i, decision in zip(items, decisions, strict=True))


def _reduced(
    store: Store,
    plan: Preflight,
    changes: Sequence[TargetChange],
    choices: Choices,
    settled: Settled,
) -> Preflight:
    """The plan without what was denied: a denial leaves its whole target as it is, or with `--partial` only
    its item. Raises E-PLAN-MOVED where that would do something that nobody decided on."""
    currents = plan.survey.currents
    decided = {(i.target, i.key, i.op): d for i, d in zip(settled.items, settled.decisions, strict=True)}
    left: list[TargetChange] = []
    for change in changes:
        known = change.next or currents.get(change.slug)
        name = known.target if known is not None else ""
        if name in settled.unchanged:
            continue
        denied = [
            i
            for i in settled.items
            if i.target == name and i.changes and not decided[i.target, i.key, i.op].allow
        ]
        reduced = without_denied(change, currents.get(change.slug), denied) if denied else change
        if reduced is not None:
            left.append(reduced)
    again = preflight(store, left, choices, again=True)
    for item in again.items:
        decision = decided.get((item.target, item.key, item.op))
        if item.changes and (decision is None or not decision.allow):
            again.close()
            raise refused(
                "E-PLAN-MOVED",
                f"without what was denied, {shown(item.description, 400)} would be done otherwise than shown",
                "Run it again, and allow or deny both together; nothing was written.",
            )
    return again


def _carry_out(
    store: Store, plan: Preflight, settled: Settled, receipt: str
) -> tuple[tuple[Generation, ...], tuple[str, ...]]:
    """Save, stage, journal, commit. Gives the new generations, and the paths whose former version is kept."""
    generations = _numbered(store, plan, settled, receipt)
    journal = _journal(store, plan, generations)
    journals = Journals(store.fs, store.state)
    bench = Workbench(store, journal, plan.survey.ground, recovering=False)
    committed = False
    with io_at("cannot keep former versions in", f"{store.state}"):
        for data in plan.saves:
            store.blobs.put(data)
        store.blobs.flush()
    try:
        with io_at("cannot write in", f"{store.state}/transactions"):
            journals.write(journal)
        bench.make_folders()
        for number, step in enumerate(plan.steps):
            if step.source is not None:
                bench.stage(number, _bytes(plan, step), alike=step.old is not None)
        for generation in generations.values():
            with io_at("cannot write in", store.generations.folder(generation.slug)):
                store.generations.write(generation, flush=False)
        flushed = bench.flush_staged()
        for slug, generation in generations.items():
            with io_at("cannot write in", store.generations.folder(slug)):
                store.generations.flush(slug, generation.number, flushed)
        with io_at("cannot write in", f"{store.state}/transactions"):
            journals.move(journal.id, Phase.PREPARE, Phase.COMMIT)
        committed = True
        validators = {number: step.validators for number, step in enumerate(plan.steps) if step.validators}
        carry_on(store, journals, bench, validators, generations)
    except BaseException as error:
        if not _came_late(store, journals, bench, error, committed=committed):
            raise _explained(error) from error
    kept = {step.spot.full for step in plan.steps if step.old is not None and _displaces(step)}
    return tuple(generations.values()), tuple(sorted(kept | set(bench.displaced)))


def _displaces(step: PlannedStep) -> bool:
    """Whether a step takes something away that may be wanted back.

    Where entries of ours only come or go the former text is kept as well, but it would bring back entries
    that nobody owns, for scripts that are gone.
    """
    recipe = step.recipe
    return step.keep is not None and (recipe is None or bool(recipe.over or recipe.whole))


def _came_late(
    store: Store, journals: Journals, bench: Workbench, error: BaseException, *, committed: bool
) -> bool:
    """Go back after an error. True where it came after the end, an interruption by the user as well: then all
    is in place, and at most cleaning up is left to a later command. What cannot be undone now, the next
    command will."""
    interrupted = isinstance(error, KeyboardInterrupt)
    try:
        phase = journals.phase(bench.journal.id)
        if phase is Phase.DONE:
            return interrupted or isinstance(error, Exception)
        if phase is None and committed and interrupted:
            return True  # the journal is gone, and of a committed one that is the last thing to be done
        if phase is not None:
            go_back(store, journals, bench, phase)
    except (GsdlockError, OSError) as second:
        why = second.what if isinstance(second, GsdlockError) else str(second)
        if isinstance(error, GsdlockError):
            error.details = (
                *error.details,
                f"It could not be undone at once ({why}); the next command does.",
            )
    return False


def _explained(error: BaseException) -> BaseException:
    if isinstance(error, RaceError):
        return refused(
            "E-RACE",
            f"{shown(error.path, 400)} was changed by another program just now; everything was undone",
            "Run it again: it compares anew.",
            where=error.path,
        )
    if isinstance(error, OSError):
        return io_error(error, "cannot write", str(error.filename or ""))
    return error


def _bytes(plan: Preflight, step: PlannedStep) -> bytes:
    """What is staged, verified against the digest that was planned."""
    source, new = step.source, step.new
    assert source is not None and new is not None, "only what has a source is staged"
    if source.data is not None:
        return source.data
    survey = plan.survey
    fillings = survey.fillings(source.fill) if source.fill is not None else None
    data = survey.content(source.digest, fillings, source.key, source.slug)
    # What is not filled in was verified against its own digest when it was read.
    digest = (
        source.digest if fillings is None else survey.digest(source.digest, fillings, source.key, source.slug)
    )
    if digest != new.digest:
        raise missing(
            "E-FILL-DIGEST",
            f"{shown(step.spot.full, 400)} comes out otherwise than its generation says",
            "Its roots or interpreters are elsewhere now: run `gsdlock apply` instead of going back.",
        )
    return data


def _numbered(store: Store, plan: Preflight, settled: Settled, receipt: str) -> dict[str, Generation]:
    created = store.now()
    decisions: dict[str, list[tuple[str, str, str]]] = {}
    for item, decision in zip(settled.items, settled.decisions, strict=True):
        if item.changes:
            decisions.setdefault(item.target, []).append((item.key, item.op.value, decision.decided_by))
    found: dict[str, Generation] = {}
    for slug, generation in plan.generations.items():
        number = max([generation.parent, *store.generations.numbers(slug)]) + 1
        found[slug] = replace(
            generation,
            number=number,
            created=created,
            decisions=tuple(decisions.get(generation.target, ())),
            receipt=receipt,
        )
    return found


def _journal(store: Store, plan: Preflight, generations: Mapping[str, Generation]) -> Journal:
    ground = plan.survey.ground
    numbers: dict[Place, int] = {}
    stages: dict[str, tuple[int, Place]] = {}
    made: dict[str, Place] = {}
    operations: list[Operation] = []
    for place in {place: None for makes in {step.makes: None for step in plan.steps} for place in makes}:
        made.setdefault(ground.path(place.anchor, place.path), place)
    for step in plan.steps:
        number = numbers.get(step.stage)
        if number is None:
            full = ground.path(step.stage.anchor, step.stage.path)
            number, _ = stages.setdefault(full, (len(stages), step.stage))
            numbers[step.stage] = number
        operations.append(
            Operation(
                step=step.step,
                place=step.spot.place,
                stage=number,
                new=step.new,
                old=step.old,
                signature=step.signature,
                recipe=step.recipe,
            )
        )
    pruned = tuple(_place_of(plan, path) for path in plan.prunes)
    made = {full: made[full] for full in sorted(made, key=lambda path: (path.count("/"), path))}
    return Journal(
        id=os.urandom(8).hex(),
        created=store.now(),
        command=store.command,
        anchors=tuple(Anchor(*anchor) for anchor in ground.anchors()),
        made=tuple(made.values()),
        stages=tuple(place for _, place in stages.values()),
        operations=tuple(operations),
        pruned=pruned,
        generations={slug: (_current(plan, slug), g.number) for slug, g in generations.items()},
        subtrees=subtrees_of(ground, made, {full: n for full, (n, _) in stages.items()}, operations),
    )


def _place_of(plan: Preflight, path: str) -> Place:
    """The place of a folder that goes, below the nearest anchor above it (a new one where there is none)."""
    ground = plan.survey.ground
    parent, name = split(path)
    above = [
        (real, number)
        for number, (real, _, _) in enumerate(ground.anchors())
        if parent == real or parent.startswith(real.rstrip("/") + "/")
    ]
    if not above:
        return Place(ground.add(parent or "/"), name)
    real, number = max(above, key=lambda pair: len(pair[0]))
    return Place(number, path[len(real.rstrip("/")) + 1 :])


def _current(plan: Preflight, slug: str) -> int:
    return plan.numbers.get(slug, 0)
