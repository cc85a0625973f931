"""What capabilities must be to one another: the rules over a whole set, first party and overlays together.

Every rule yields all its faults; the order does not depend on the order of the capabilities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from .errors import shown
from .model import Capability, Feature, Runtime
from .shapes import nearest
from .vocabulary import TIER_RANK
from .word_sets import LOOP_ARTIFACTS, LOOP_POINTS

_AFTER = {point: rank for rank, point in enumerate(LOOP_POINTS)}


class CrossFault(Struct, frozen=True):
    """A rule that a set of capabilities breaks. `capabilities` are the ids that have a part in it, sorted."""

    capabilities: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        return self.message


def cross_faults(
    capabilities: Iterable[Capability], central_keys: Collection[str] = frozenset()
) -> tuple[CrossFault, ...]:
    """All faults of a set of capabilities with distinct ids.

    `central_keys` are config keys that the core itself owns. Engine ranges are not looked at: see
    `engine_faults`.
    """
    members = sorted(capabilities, key=lambda c: c.id)
    features = [c for c in members if isinstance(c, Feature)]
    rules: tuple[Iterator[CrossFault], ...] = (
        _requirements(members),
        _owners(members, central_keys),
        _compat(members),
        _production(features),
        _consumption(features),
        _order(features),
    )
    return tuple(fault for rule in rules for fault in rule)


def engine_faults(capabilities: Iterable[Capability], gsd_version: str) -> tuple[CrossFault, ...]:
    """Capabilities whose `engines.gsd` range does not hold for this version of GSD."""
    from .npm_range import max_satisfying, parse_version, satisfies

    parse_version(gsd_version)
    faults = []
    for capability in sorted(capabilities, key=lambda c: c.id):
        range_ = capability.engines_gsd
        if not range_ or satisfies(gsd_version, range_):
            continue
        fitting = [v for v, r in capability.compat_versions.items() if satisfies(gsd_version, r)]
        older = max_satisfying(fitting, "*")
        hint = f"; its version {older} would" if older else ""
        message = f"{capability.id} {capability.version} wants GSD {shown(range_)}, not {gsd_version}{hint}"
        faults.append(CrossFault((capability.id,), message))
    return tuple(faults)


# --- requires


def _requirements(members: Sequence[Capability]) -> Iterator[CrossFault]:
    known = {c.id: c for c in members}
    for capability in members:
        for wanted in capability.requires:
            other = known.get(wanted)
            if other is None:
                close = nearest(wanted, known)
                hint = f" (did you mean {close}?)" if close else ""
                message = f"{capability.id} requires {shown(wanted)}, which does not exist{hint}"
                yield CrossFault((capability.id,), message)
            elif TIER_RANK[other.tier] > TIER_RANK[capability.tier]:
                message = f"{capability.id} ({capability.tier}) requires {wanted} of higher tier {other.tier}"
                yield CrossFault(tuple(sorted((capability.id, wanted))), message)
    cycle = find_cycle({c.id: sorted(r for r in set(c.requires) if r in known) for c in members})
    if cycle:
        message = f"capabilities require one another in a circle: {' → '.join(cycle)}"
        yield CrossFault(tuple(sorted(set(cycle))), message)


def find_cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """One circle in the graph `node -> what it needs`, its first node again at the end; empty where none."""
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # graphlib names each node before the one that needs it, the first one again at the end.
        ring: list[str] = error.args[1][-1:0:-1]
        start = ring.index(min(ring))
        return [*ring[start:], *ring[:start], ring[start]]
    return []


# --- one owner


def _owners(members: Sequence[Capability], central_keys: Collection[str]) -> Iterator[CrossFault]:
    kinds: tuple[tuple[str, Callable[[Capability], Iterable[str]]], ...] = (
        ("skill", lambda c: c.skills if isinstance(c, Feature) else ()),
        ("agent", lambda c: c.agents if isinstance(c, Feature) else ()),
        ("command family", lambda c: (m.family for m in c.commands) if isinstance(c, Feature) else ()),
        ("MCP server", lambda c: (s.name for s in c.mcp_servers) if isinstance(c, Feature) else ()),
        ("config key", lambda c: c.config),
        ("review lane", lambda c: (c.reviewer["slug"],) if c.reviewer else ()),
        ("review flag", lambda c: c.reviewer["flags"] if c.reviewer else ()),
        ("review section", lambda c: (c.reviewer["reviewsSection"],) if c.reviewer else ()),
    )
    for kind, names_of in kinds:
        owners: defaultdict[str, list[str]] = defaultdict(list)
        spelled: dict[str, str] = {}
        for capability in members:
            for name in names_of(capability):
                # Case twins are one name: they become one file on some systems, and look alike on all.
                owners[name.casefold()].append(capability.id)
                spelled.setdefault(name.casefold(), name)
        for key, ids in sorted(owners.items()):
            name = spelled[key]
            if len(ids) > 1:
                yield CrossFault(tuple(sorted(set(ids))), f"{kind} {shown(name)} is owned by {_and(ids)}")
            if kind == "config key" and name in central_keys:
                yield CrossFault(tuple(ids), f"config key {shown(name)} of {_and(ids)} belongs to the core")


def _and(ids: Sequence[str]) -> str:
    unique = sorted(set(ids))
    return f"{unique[0]} twice" if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"


# --- runtimes that a feature is meant for


def _compat(members: Sequence[Capability]) -> Iterator[CrossFault]:
    runtimes = {c.id for c in members if isinstance(c, Runtime)}
    for feature in members:
        if not isinstance(feature, Feature):
            continue
        compat = feature.runtime_compat
        named = {*compat.supported, *compat.unsupported, *compat.notes} - {"*"}
        for name in sorted(named - runtimes):
            close = nearest(name, runtimes)
            hint = f" (did you mean {close}?)" if close else ""
            message = f"{feature.id} names the runtime {shown(name)}, which does not exist{hint}"
            yield CrossFault((feature.id,), message)


# --- artifacts of the loop


class _Step(Struct, frozen=True):
    """A step or a contribution: who has it, its place there, and what it makes and takes."""

    owner: str
    index: int
    point: str
    produces: tuple[str, ...]
    consumes: tuple[str, ...]


def _steps(feature: Feature, section: str) -> Iterator[_Step]:
    found: Sequence[Mapping[str, Any]] = feature.steps if section == "steps" else feature.contributions
    for index, item in enumerate(found):
        yield _Step(feature.id, index, item["point"], item["produces"], item["consumes"])


def _production(features: Sequence[Feature]) -> Iterator[CrossFault]:
    """At one point an artifact comes from one step."""
    makers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for feature in features:
        for step in _steps(feature, "steps"):
            for artifact in sorted(set(step.produces)):
                makers[step.point, artifact].append(feature.id)
    for (point, artifact), ids in sorted(makers.items()):
        if len(ids) > 1:
            message = f"{shown(artifact)} is produced at {point} by {_and(ids)}"
            yield CrossFault(tuple(sorted(set(ids))), message)


def _consumption(features: Sequence[Feature]) -> Iterator[CrossFault]:
    """What a step takes is there: from the loop, or from another step, at its point or before."""
    steps = [step for feature in features for step in _steps(feature, "steps")]
    makers: defaultdict[str, list[_Step]] = defaultdict(list)
    for step in steps:
        for artifact in set(step.produces):
            makers[artifact].append(step)
    for step in steps:
        for artifact in sorted(set(step.consumes)):
            from_loop = LOOP_ARTIFACTS.get(artifact)
            points = [from_loop] if from_loop else []
            points += [m.point for m in makers[artifact] if m is not step]
            if not any(_AFTER[p] <= _AFTER[step.point] for p in points):
                when = (
                    f"is produced only at {min(points, key=_AFTER.__getitem__)}"
                    if points
                    else "nothing else produces"
                )
                message = f"{step.owner} consumes {shown(artifact)} at {step.point}, which {when}"
                yield CrossFault((step.owner,), message)


def _order(features: Sequence[Feature]) -> Iterator[CrossFault]:
    """At one point, steps (and contributions) can be put in an order in which each finds what it takes."""
    for section in ("steps", "contributions"):
        for point in LOOP_POINTS:
            here = {
                f"{s.owner}/{section}/{s.index}": s
                for feature in features
                for s in _steps(feature, section)
                if s.point == point
            }
            needs = {
                name: [n for n, o in here.items() if n != name and set(o.produces) & set(step.consumes)]
                for name, step in here.items()
            }
            cycle = find_cycle(needs)
            if cycle:
                message = f"{section} at {point} wait for one another in a circle: {' → '.join(cycle)}"
                yield CrossFault(tuple(sorted({here[n].owner for n in cycle})), message)
