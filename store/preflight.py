"""Before anything is written: all targets compared with the disk, every problem in one error.

`preflight` reads and nothing else. What it gives is complete: the transaction only carries it out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.errors import Exit, shown
from .choices import Choices, PreflightError, Problem
from .confinement import twins
from .items import Item
from .plan_edits import EditsPlan, plan_edits
from .plan_files import FilesPlan, plan_files
from .planned import PlannedStep
from .records import Generation, RootRecord
from .roots import Pinned, split
from .store import Store
from .survey import Survey, TargetChange


class Preflight(Struct, frozen=True):
    """What is to be done. `items` are all steps as the gate sees them, in the order of the targets.

    `generations` are the next ones, by slug, of the targets whose record changes at all (number, time and
    decisions are filled in by the transaction); `numbers` are the current numbers of all targets of the state
    folder, by which a later look sees whether another process was at work in between. `prunes` are full paths
    of folders of ours that will be empty, innermost first. `moved` are targets with a root elsewhere now.
    """

    items: tuple[Item, ...]
    steps: tuple[PlannedStep, ...]
    prunes: tuple[str, ...]
    generations: Mapping[str, Generation]
    saves: tuple[bytes, ...]
    numbers: Mapping[str, int]
    survey: Survey

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do: nothing on disk and nothing in the records."""
        return not self.steps and not self.generations

    def close(self) -> None:
        """Give all handles back."""
        self.survey.close()


def preflight(
    store: Store, changes: Sequence[TargetChange], choices: Choices, *, again: bool = False
) -> Preflight:
    """Compare the targets with the disk. Raises `PreflightError` with everything that stands in the way.

    `again`: some targets of a first look were left out, so a choice may name nothing now.
    """
    survey = Survey(store, changes, choices)
    try:
        wanted_roots = {change.slug: _wanted_roots(survey, change) for change in changes}
        base_roots = {
            slug: survey.roots_of(survey.currents[slug]) if slug in survey.currents else {}
            for slug in (change.slug for change in changes)
        }
        for change in changes:
            _bound(survey, change)
            _moved(survey, change, wanted_roots[change.slug], base_roots[change.slug])
        files = plan_files(survey, wanted_roots, base_roots)
        edits = plan_edits(survey, wanted_roots, base_roots)
        _clashes(survey, files, edits)
        if not again:
            _typing_errors(survey)
        steps = (*files.steps, *edits.steps)
        made = _made(survey, base_roots)
        prunes = _prunes(survey, steps, files.left, made)
        if survey.problems:
            raise PreflightError(_ordered(survey))
        return Preflight(
            items=tuple(
                item for change in changes for item in (*files.items[change.slug], *edits.items[change.slug])
            ),
            steps=steps,
            prunes=prunes,
            generations=_generations(survey, wanted_roots, files, edits, steps, made, prunes),
            saves=(
                *(step.keep for step in steps if step.keep is not None),
                *(change.next.plan_bytes for change in changes if change.next and change.next.plan_bytes),
                *edits.saves,
                *(data for _, data in files.found.values()),
            ),
            numbers={slug: g.number for slug, g in survey.currents.items() if g.number},
            survey=survey,
        )
    except BaseException:
        survey.close()
        raise


def _wanted_roots(survey: Survey, change: TargetChange) -> dict[str, Pinned]:
    """The roots that the plan uses, judged."""
    wanted = change.next
    if wanted is None:
        return {}
    found: dict[str, Pinned] = {}
    named = [file.root for file in wanted.files] + [edit.root for edit in wanted.edits]
    for name in dict.fromkeys(named):
        path = wanted.roots.get(name)
        if path is None:
            survey.refuse(
                "E-PLAN-ROOT",
                wanted.target,
                name,
                "",
                f"target {wanted.target} has no root {shown(name)}, which its plan writes in",
                "Run `gsdlock resolve`: the lock and the descriptors do not fit each other.",
                status=Exit.INPUT,
            )
            continue
        pinned = survey.pinned(wanted.target, path)
        if pinned is not None:
            found[name] = pinned
    return found


def _bound(survey: Survey, change: TargetChange) -> None:
    """An installation's global targets belong to one manifest, all of them."""
    wanted = change.next
    if wanted is None or wanted.scope != "global" or survey.choices.take_over:
        return
    others = [
        g.manifest
        for g in survey.currents.values()
        if not g.left and g.scope == "global" and g.installation == wanted.installation
    ]
    other = next((manifest for manifest in others if manifest != wanted.manifest), None)
    if other is not None:
        survey.refuse(
            "E-INSTALLATION-BOUND",
            wanted.target,
            "",
            wanted.manifest,
            f"target {wanted.target} would belong to the installation {shown(wanted.installation)}, which is "
            f"that of {shown(other, 400)}",
            'Give this manifest another name (name = "…"), or take the installation over with --take-over.',
        )


def _moved(
    survey: Survey,
    change: TargetChange,
    wanted_roots: Mapping[str, Pinned],
    base_roots: Mapping[str, Pinned | None],
) -> None:
    """A root that resolves elsewhere than the generation says is followed only when asked to."""
    current = survey.currents.get(change.slug)
    if current is None or current.left or change.next is None or survey.choices.move:
        return
    for name, pinned in wanted_roots.items():
        base = base_roots.get(name)
        if base is not None and base.real != pinned.real:
            survey.refuse(
                "E-ROOT-MOVED",
                change.next.target,
                name,
                pinned.given,
                f"the root {shown(name)} of target {change.next.target} is {shown(pinned.real, 400)} now, "
                f"and what is installed is in {shown(base.real, 400)}",
                "Set the environment as it was, or move the installation with `gsdlock apply --move`.",
            )


def _clashes(survey: Survey, files: FilesPlan, edits: EditsPlan) -> None:
    """Paths of the whole plan that do not go together, wherever their targets put them."""
    target = survey.name_of(survey.changes[0]) if survey.changes else ""
    for full in files.paths.keys() & edits.paths.keys():
        survey.refuse(
            "E-TARGET-CLASH",
            target,
            files.paths[full],
            full,
            f"the plan has {shown(full, 400)} both as a whole file of ours and as a shared file",
            "Disable one of the two, and resolve again.",
        )
    for twin in twins((*files.paths, *edits.paths)):
        survey.refuse(
            "E-CONFINE-TWINS",
            target,
            files.paths.get(twin.first, ""),
            twin.first,
            f"{shown(twin.first, 400)} and {shown(twin.second, 400)} {twin.why}",
            "Rename or disable one of the two.",
        )


def _typing_errors(survey: Survey) -> None:
    for choice in survey.choices.unmatched(survey.named):
        survey.refuse(
            "E-CHOICE-UNKNOWN",
            "",
            choice,
            "",
            f"{shown(choice, 400)} names nothing that these targets have",
            "Give a path as the messages show it, such as config:skills/x/SKILL.md.",
            status=Exit.USAGE,
        )


def _ordered(survey: Survey) -> list[Problem]:
    """In the order of the targets; each target's in the order in which they were met."""
    order = {survey.name_of(change): n for n, change in enumerate(survey.changes)}
    return sorted(survey.problems, key=lambda p: order.get(p.target, -1))


def _made(survey: Survey, base_roots: Mapping[str, Mapping[str, Pinned | None]]) -> dict[str, list[str]]:
    """The folders that we made, by slug, where they are now: a root may have been put behind a link since."""
    found: dict[str, list[str]] = {}
    for slug, generation in survey.currents.items():
        moves = [
            (root.real, pinned.real)
            for name, root in generation.roots.items()
            if (pinned := base_roots.get(slug, {}).get(name)) is not None and pinned.real != root.real
        ]
        paths = list(generation.made)
        for before, now in moves:
            paths = [now + p[len(before) :] if f"{p}/".startswith(f"{before}/") else p for p in paths]
        found[slug] = paths
    return found


def _prunes(
    survey: Survey,
    steps: Sequence[PlannedStep],
    left: Collection[str],
    made_by: Mapping[str, Collection[str]],
) -> tuple[str, ...]:
    """Folders that we made, that the plan leaves (`left` are its last paths there), and that hold nothing but
    what goes."""
    made = {path for paths in made_by.values() for path in paths}
    if not made:
        return ()
    going = {step.spot.full for step in steps if step.new is None}
    needed = {parent for step in steps if step.new is not None for parent in _parents(step.spot.full)}
    assumed = {path for change in survey.changes if change.assumes for path in change.assumes.made}
    candidates = ({parent for full in (*going, *left) for parent in _parents(full)} | assumed) & made - needed
    pruned: list[str] = []
    gone = set(going)
    for path in sorted(candidates, key=lambda p: (-p.count("/"), p)):
        names = survey.collect("", "", path, partial(_list, survey, path))
        if names is not None and all(f"{path}/{name}" in gone for name in names):
            pruned.append(path)
            gone.add(path)
    return tuple(pruned)


def _list(survey: Survey, path: str) -> list[str] | None:
    """The names in a folder; None where it is not there any more, or is a link now. Raises `OSError`."""
    fs = survey.store.fs
    try:
        if fs.real_path(path) != path:
            return None
        handle = fs.open_root(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return fs.list_dir(handle)
    finally:
        fs.close(handle)


def _parents(full: str) -> list[str]:
    found: list[str] = []
    while "/" in full:
        full = split(full)[0]
        if full:
            found.append(full)
    return found


def _generations(
    survey: Survey,
    wanted_roots: Mapping[str, Mapping[str, Pinned]],
    files: FilesPlan,
    edits: EditsPlan,
    steps: Sequence[PlannedStep],
    made_by: Mapping[str, Collection[str]],
    prunes: Sequence[str],
) -> dict[str, Generation]:
    """The next generation of every target whose record changes."""
    found: dict[str, Generation] = {}
    for change in survey.changes:
        slug, current = change.slug, survey.currents.get(change.slug)
        mine = [step for step in steps if slug in step.slugs]
        made = set(made_by.get(slug, ()))
        for makes in {step.makes for step in mine}:  # all files of a folder name the same folders to make
            made |= {survey.ground.path(place.anchor, place.path) for place in makes}
        following = _next_generation(change, current, wanted_roots[slug])
        if following is None:
            continue
        following = replace(
            following,
            files=tuple(sorted(files.records[slug], key=lambda record: record.key)),
            edited=tuple(sorted(edits.records[slug], key=lambda record: (record.real, record.by_hand))),
            made=tuple(sorted(made.difference(prunes))),
            displaced={
                **{s.spot.full: s.old for s in mine if s.keep is not None and s.old is not None},
                **({full: kept for full, (kept, _) in files.found.items()} if change.assumes else {}),
            },
        )
        if current is not None:
            # A record that outlives its last entry still names the root that it lies in.
            named = {f.root for f in following.files} | {e.root for e in following.edited}
            kept = {name: root for name, root in current.roots.items() if name in named}
            following = replace(following, roots={**kept, **following.roots})
        if current is None or mine or not _same(current, following):
            found[slug] = following
    return found


def _next_generation(
    change: TargetChange, current: Generation | None, roots: Mapping[str, Pinned]
) -> Generation | None:
    """The next generation but for what is in it; None where a target leaves that is not there."""
    wanted = change.next
    if wanted is None:
        if current is None or (current.left and not change.restores):
            return None
        return replace(
            current,
            parent=current.number,
            displaced={},
            decisions=(),
            partial=(),
            left=True,
            returns=change.returns,
        )
    return Generation(
        slug=change.slug,
        number=0,
        parent=current.number if current is not None else 0,
        created="",
        target=wanted.target,
        runtime=wanted.runtime,
        scope=wanted.scope,
        installation=wanted.installation,
        manifest=wanted.manifest,
        project=wanted.project,
        plan=wanted.plan,
        home=wanted.home,
        roots={name: RootRecord(pinned.given, pinned.real) for name, pinned in roots.items()},
        tools=dict(wanted.tools),
        files=(),
        edited=(),
        partial=wanted.partial,
        returns=change.returns,
    )


def _same(current: Generation, following: Generation) -> bool:
    """Whether nothing but number, time and decisions would differ."""
    return current == replace(
        following,
        number=current.number,
        parent=current.parent,
        created=current.created,
        displaced=current.displaced,
        decisions=current.decisions,
        returns=current.returns,
        receipt=current.receipt,
    )
