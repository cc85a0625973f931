"""The part of a preflight that is about whole files: which target has a claim on which path.

Paths are compared by where they really are, so two targets (or two roots of one) that meet at one file are
seen; `sites` judges each path with all who have a claim on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import Struct

from ..capabilities.errors import GsdlockError
from .arrivals import Arrivals
from .confinement import check_relative, relative_fault
from .drift import Next
from .items import Item
from .planned import PlannedStep
from .records import FileRecord, Generation, Kept
from .roots import Pinned
from .sites import Claim, Site, claim_of
from .survey import Spot, Survey, TargetChange
from .wanted import WantedFile


class FilesPlan(Struct, frozen=True):
    """What is to be done about whole files: steps, and by slug the records that the next generation has, and
    the items."""

    steps: tuple[PlannedStep, ...]
    records: Mapping[str, tuple[FileRecord, ...]]
    items: Mapping[str, tuple[Item, ...]]
    paths: Mapping[str, str]  # full path -> key, of all files that shall stand
    left: frozenset[str]  # full paths that nobody wants any more
    found: Mapping[str, tuple[Kept, bytes]]  # full path -> what another tool put there, of files that stay


def plan_files(
    survey: Survey,
    wanted_roots: Mapping[str, Mapping[str, Pinned]],
    base_roots: Mapping[str, Mapping[str, Pinned | None]],
) -> FilesPlan:
    """Judge every whole file of the targets to be changed; the roots are by slug and name. What stands in the
    way goes into the survey."""
    sites: dict[str, list[Claim]] = {}
    for change in survey.changes:
        for claim in _claims(survey, change, wanted_roots[change.slug], base_roots[change.slug]):
            sites.setdefault(claim.spot.full, []).append(claim)
    others = _bystanders(survey)
    steps: list[PlannedStep] = []
    found: dict[str, tuple[Kept, bytes]] = {}
    records: dict[str, dict[str, FileRecord]] = {change.slug: {} for change in survey.changes}
    items: dict[str, list[Item]] = {change.slug: [] for change in survey.changes}
    paths: dict[str, str] = {}
    left: set[str] = set()
    arrivals = Arrivals(survey)
    for full, claims in sites.items():
        arrival = arrivals.judged(claims[0]) if len(claims) == 1 and full not in others else None
        if arrival is not None:
            slug, key = claims[0].change.slug, claims[0].key
            steps.append(arrival.step)
            records[slug][key] = arrival.record
            items[slug].append(arrival.item)
            paths[full] = key
            continue
        site = Site(survey, claims, others.get(full, ())).judged()
        if site.step is not None:
            steps.append(site.step)
        if site.found is not None:
            found[full] = site.found
        for slug, record in site.records:
            records[slug][record.key] = record
        for slug, item in site.items:
            items[slug].append(item)
        if site.wanting:
            paths[full] = claims[0].key
        else:
            left.add(full)
    for change in survey.changes:
        current = survey.currents.get(change.slug)
        for record in current.files if change.force and current is not None else ():
            if current is not None and current.real_path(record.root, record.path) not in change.restores:
                records[change.slug][record.key] = record
    return FilesPlan(
        steps=tuple(steps),
        records={slug: tuple(by_key.values()) for slug, by_key in records.items()},
        items={slug: tuple(of_slug) for slug, of_slug in items.items()},
        paths=paths,
        left=frozenset(left),
        found=found,
    )


def _claims(
    survey: Survey,
    change: TargetChange,
    wanted_roots: Mapping[str, Pinned],
    base_roots: Mapping[str, Pinned | None],
) -> list[Claim]:
    current = survey.currents.get(change.slug)
    bases: dict[str, tuple[Spot, FileRecord]] = {}
    for record in current.files if current is not None else ():
        root = base_roots.get(record.root)
        if root is not None:
            spot = survey.spot(root, record.path)
            bases[spot.full] = spot, record
    by_key = {record.key: record for _, record in bases.values()}
    target = survey.name_of(change)
    claims: list[Claim] = []
    for file in change.next.files if change.next is not None else ():
        pinned = wanted_roots.get(file.root)
        if pinned is None or not _safe(survey, target, file):
            continue
        spot = survey.spot(pinned, file.path)
        _, base = bases.pop(spot.full, (spot, None))
        known = by_key.get(file.key)
        after: Next | None
        if file.fill and not file.expected:
            look = partial(_filled_next, survey, change, current, file, known)
            after = survey.collect(target, file.key, spot.full, look)
        else:
            after = Next(file.expected or file.source, file.mode)
        if after is not None:
            claims.append(claim_of(change, current, spot, base or _moved(survey, spot, known), file, after))
    claims += [claim_of(change, current, spot, record) for spot, record in bases.values()]
    if change.returns == 0:  # what our first transaction took away and did not put anything in place of
        claimed = {claim.spot.full for claim in claims}
        return claims + _restored_only(survey, change, claimed, base_roots)
    if not change.force:
        return claims
    claims = [claim for claim in claims if claim.spot.full in change.restores]
    return claims + _restored_only(survey, change, {claim.spot.full for claim in claims}, base_roots)


def _judged_spot(survey: Survey, full: str, base_roots: Mapping[str, Pinned | None]) -> Spot:
    """Where a path is: in a root, whose folders may be gone by now, or elsewhere in a folder that is."""
    for root in base_roots.values():
        if root is not None and full.startswith(root.real.rstrip("/") + "/"):
            return survey.spot(root, full[len(root.real.rstrip("/")) + 1 :])
    survey.judge_folder(full)
    return survey.spot_of(full)


def _moved(survey: Survey, spot: Spot, known: FileRecord | None) -> FileRecord | None:
    """Our record of the file under another root, if the same bytes already stand at the new place: whoever
    moved the root took the file along."""
    if known is None or known.held:
        return None
    try:
        seen, _, _ = survey.look(spot)
    except (GsdlockError, OSError):
        return None  # judged again, and reported, with the site
    return known if seen.same(known.digest, known.mode) else None


def _safe(survey: Survey, target: str, file: WantedFile) -> bool:
    if relative_fault(file.path) is None:
        return True
    survey.collect(target, file.key, "", partial(check_relative, file.path))
    return False


def _restored_only(
    survey: Survey, change: TargetChange, taken: set[str], base_roots: Mapping[str, Pinned | None]
) -> list[Claim]:
    """Claims for paths that nobody owns any more and that shall be brought back all the same."""
    current = survey.currents.get(change.slug)
    edited = {e.real for e in current.edited if e.entries} if current is not None else set()
    claims: list[Claim] = []
    for full in change.restores:
        if full not in taken and full not in edited:
            spot = survey.collect(
                survey.name_of(change), full, full, partial(_judged_spot, survey, full, base_roots)
            )
            if spot is not None:
                claims.append(claim_of(change, current, spot))
    return claims


def _filled_next(
    survey: Survey,
    change: TargetChange,
    current: Generation | None,
    file: WantedFile,
    known: FileRecord | None,
) -> Next:
    """What shall stand there, filled in. The bytes are not made again where the last generation made the
    same."""
    wanted = change.next
    assert wanted is not None
    if known is not None and known.source == file.source and current is not None and current.files:
        given = {name: root.given for name, root in current.roots.items()}
        if (given, dict(current.tools), current.home) == (
            dict(wanted.roots),
            dict(wanted.tools),
            wanted.home,
        ):
            return Next(known.digest, file.mode)
    return Next(survey.digest(file.source, survey.fillings(wanted), file.key, change.slug), file.mode)


def _bystanders(survey: Survey) -> dict[str, list[tuple[Generation, FileRecord]]]:
    """The files of targets that this transaction does not change, by full path."""
    changing = {change.slug for change in survey.changes}
    found: dict[str, list[tuple[Generation, FileRecord]]] = {}
    for slug, generation in survey.currents.items():
        if slug in changing:
            continue
        for record in generation.files:
            if not record.held:
                found.setdefault(generation.real_path(record.root, record.path), []).append(
                    (generation, record)
                )
    return found
