"""Which skills and commands each host sees, and what of it hides or doubles what.

A trigger is a name by which a user calls something (`/gsd-help`). A host may find it in several places: as a
skill and as a command, for all projects and for one, in its own folder and in one that hosts share. Where
the kinds differ, `triggerPrecedence` says which one it takes; the other is shadowed. Of two skills it takes
the one that comes first by `skillsOrder`; where a descriptor does not know, the host may list both, or take
either.

A skill goes by the name of its folder, as the rules for SKILL.md want it; a command by its file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.reading import HostView, ReadFolder
from ..capabilities.vocabulary import Trigger
from .concerns import Concern, ConcernCode, Place, listing
from .located import Located

_SKILL_FILE = "SKILL.md"
_COMMAND_ENDINGS = (".md", ".toml")


class Carrier(Struct, frozen=True):
    """One placement that carries a trigger for a host: `path` is the file, `place` the folder that the host
    looks in and the target that the file is of, `rank` that of the folder."""

    trigger: str
    kind: Trigger
    path: str
    place: Place
    rank: int | None


def shadowing(views: Sequence[HostView], targets: Sequence[Located]) -> tuple[Concern, ...]:
    """The triggers that a host does not use, or sees twice, one concern for each reason.

    The paths of the `targets` and of the folders in the `views` are resolved. Of local targets those of one
    project belong here. In the order of the views.
    """
    paths = [(target, sorted(target.files)) for target in targets]
    by_label = {target.label: target for target in targets}
    return tuple(c for view in views for c in _of_host(view, _carriers(view, paths), by_label))


def carriers(view: HostView, targets: Sequence[Located]) -> tuple[Carrier, ...]:
    """Everything of the targets that a host would list under a trigger, each file once."""
    return _carriers(view, [(target, sorted(target.files)) for target in targets])


def _carriers(view: HostView, targets: Sequence[tuple[Located, list[str]]]) -> tuple[Carrier, ...]:
    found: dict[str, Carrier] = {}
    for folder in view.folders:
        for target, paths in targets:
            place = Place(target.label, folder.scope.value, folder.kind.value, folder.path)
            for path, below in _below(folder.path, paths):
                name = _NAMES[folder.kind](below, folder)
                if name and path not in found:
                    found[path] = Carrier(view.sign + name, folder.kind, path, place, folder.rank)
    return tuple(found.values())


def _below(folder: str, paths: list[str]) -> Iterator[tuple[str, str]]:
    """The paths below a folder, each also relative to it; `paths` are sorted."""
    start = folder.rstrip("/") + "/"
    for path in paths[bisect_left(paths, start) :]:
        if not path.startswith(start):
            return
        yield path, path[len(start) :]


def _skill_name(path: str, folder: ReadFolder) -> str:
    """The skill whose main file is `path` (below the folder); empty where it is none that the host sees."""
    parts = path.split("/")
    if parts[-1] != _SKILL_FILE or len(parts) < 2 or (len(parts) > 2 and not folder.below):
        return ""
    return parts[-2]


def _command_name(path: str, folder: ReadFolder) -> str:
    """The command in the file `path`: those of a folder are typed with its name in front (`gsd:help`)."""
    stem = next((path.removesuffix(e) for e in _COMMAND_ENDINGS if path.endswith(e)), "")
    return stem.replace("/", ":") if folder.below or "/" not in stem else ""


_NAMES = {Trigger.SKILLS: _skill_name, Trigger.COMMANDS: _command_name}


def _of_host(view: HostView, found: Sequence[Carrier], targets: Mapping[str, Located]) -> Iterator[Concern]:
    by_trigger: dict[str, list[Carrier]] = defaultdict(list)
    for carrier in found:
        by_trigger[carrier.trigger].append(carrier)
    hidden: dict[tuple[tuple[Place, ...], tuple[Place, ...]], list[str]] = defaultdict(list)
    doubled: dict[tuple[tuple[Place, ...], bool], list[str]] = defaultdict(list)
    order = dict.fromkeys((*view.precedence, *Trigger))
    for trigger, several in sorted(by_trigger.items()):
        first = next(kind for kind in order if any(c.kind is kind for c in several))
        ranks = {c.place: c.rank for c in several if c.kind is first}
        known = [(rank, place) for place, rank in ranks.items() if rank is not None]
        decided = len(known) == len(ranks)
        used = tuple(place for _, place in sorted(known, key=lambda k: k[0])) if decided else tuple(ranks)
        unused = tuple(dict.fromkeys(c.place for c in several if c.kind is not first))
        if unused:
            hidden[used, unused].append(trigger)
        if len(used) > 1:
            doubled[used, decided].append(trigger)
    for (used, unused), triggers in hidden.items():
        yield _shadowed(view, used, unused, triggers, targets)
    for (used, decided), triggers in doubled.items():
        yield _twice(view, used, decided, triggers, targets)


def _shadowed(
    view: HostView,
    used: tuple[Place, ...],
    unused: tuple[Place, ...],
    triggers: list[str],
    targets: Mapping[str, Located],
) -> Concern:
    loses, wins = unused[0].kind, used[0].kind
    names = sorted({p.target for p in (*used, *unused)})
    own = _to_themselves(view, used, targets)
    if len(names) == 1:
        fix = "Where the two do the same nothing is lost; else disable or rename one of them."
    else:
        fix = _ways([f'skills = "own" for {name}' for name in own]) or _keep_off(names)
    return Concern(
        ConcernCode.SHADOWED,
        view.host,
        f"{view.host} prefers {wins} to {loses}, so it will not use {_count(triggers, loses)} in "
        f"{listing([str(p) for p in unused])}: {wins} of the same name are in "
        f"{listing([str(p) for p in used])}",
        fix,
        tuple(triggers),
        (*(replace(p, used=True) for p in used), *(replace(p, used=False) for p in unused)),
    )


def _twice(
    view: HostView,
    places: tuple[Place, ...],
    decided: bool,
    triggers: list[str],
    targets: Mapping[str, Located],
) -> Concern:
    """`decided`: the host takes what is in the first of the places."""
    names = sorted({p.target for p in places})
    ways = [f'skills = "own" for {name}' for name in _to_themselves(view, places, targets)]
    if places[0].kind == Trigger.SKILLS and len(names) > 1:
        ways += [f'skills = "none" for {n}' for n in names if targets[n].runtime == view.host]
    return Concern(
        ConcernCode.TWICE,
        view.host,
        f"{view.host} finds {_count(triggers, places[0].kind)} more than once, in "
        f"{listing([str(p) for p in places])}, and "
        + ("takes the first" if decided else "lists all or takes one by a rule of its own"),
        _ways(ways) or _keep_off(names),
        tuple(triggers),
        tuple(replace(p, used=p is places[0]) for p in places) if decided else places,
    )


def _to_themselves(view: HostView, places: Sequence[Place], targets: Mapping[str, Located]) -> list[str]:
    """The targets of other hosts that put their skills where this one looks too, and not in a folder of their
    own."""
    return [
        p.target
        for p in places
        if p.kind == Trigger.SKILLS
        and targets[p.target].runtime != view.host
        and not f"{p.folder}/".startswith(f"{targets[p.target].own or p.folder}/")
    ]


def _ways(ways: Sequence[str]) -> str:
    return f"In the manifest: {' or '.join(ways)}." if ways else ""


def _keep_off(names: Sequence[str]) -> str:
    if len(names) == 1:
        return "Rename one of them in the pack."
    return f"Keep the pack off one of the targets {listing(names)} (packs = [...]), or take one of them out."


def _count(triggers: Sequence[str], kind: str) -> str:
    return f"{len(triggers)} {kind if len(triggers) != 1 else kind.removesuffix('s')}"
