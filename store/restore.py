"""Going back: what a transaction needs to be told to return to a generation, or to bring one version back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..capabilities.errors import GsdlockError, input_error, missing, shown
from .edits.types import EditFault
from .generations import Generations
from .records import EditedRecord, Generation, Kept
from .store import Store
from .survey import TargetChange
from .wanted import wanted_from_generation


def going_back(store: Store, slug: str, number: int) -> TargetChange:
    """The change of a target that returns it to generation `number`, or with 0 to before the first.

    What the transactions since then displaced comes back as it was, wherever nobody changed it since, nor
    between two of them. Raises E-GENERATION-… .
    """
    generations = store.generations
    current = generations.current_number(slug)
    old = generations.read(slug, number) if number else None
    since = [generations.read(slug, n) for n in generations.numbers(slug) if number < n <= current]
    displaced: dict[str, Kept] = {}
    settled: set[str] = set()
    before = _held_paths(old)
    for generation in since:
        for path, kept in generation.displaced.items():
            if path not in settled:
                displaced[path] = kept
        held = _held_paths(generation)
        found = {path: k for path, k in _found(generation).items() if path in held - before - settled}
        displaced = {**found, **displaced}
        # The first generation that takes a path up tells what stood there. Where it displaced nothing,
        # nothing did: what a later one displaces is its predecessor's work.
        settled |= set(generation.displaced) | (held - before - found.keys())
        before = held
    for path in {*_outdated(store, slug, displaced), *_edited_between(since)} & displaced.keys():
        del displaced[path]
    reinstated: dict[str, EditedRecord] = {}
    if old is not None and not old.left:
        reinstated = {e.real: e for e in old.edited if e.entries and not e.by_hand}
    wanted = wanted_from_generation(old) if old is not None and not old.left else None
    return TargetChange(slug, wanted, displaced, reinstated, returns=number)


def _held_paths(generation: Generation | None) -> set[str]:
    """The full paths of files and shared files that a generation has something in."""
    if generation is None or generation.left:
        return set()
    return {generation.real_path(f.root, f.path) for f in generation.files} | {
        e.real for e in generation.edited if e.entries and not e.by_hand
    }


def _found(generation: Generation) -> dict[str, Kept]:
    """The shared files that a generation found as it wanted them and left so, as an import may: going back
    over it they stay, unless a later one displaced them. Whatever is written was decided on."""
    decided = [key for key, _, _ in generation.decisions]
    return {
        record.real: Kept(record.after, 0o644)
        for record in generation.edited
        if record.entries and not record.by_hand and record.after is not None
        if not any(key == record.key or key.startswith(f"{record.key}#") for key in decided)
    }


def _edited_between(generations: Sequence[Generation]) -> set[str]:
    """The shared files that one of these generations met in a version that those before it did not know.

    The first displaced version lacks what was written in between, so such a file is merged instead.
    """
    found: set[str] = set()
    for path in {record.real for generation in generations for record in generation.edited}:
        known: set[str | None] = set()  # every version that was met, or left so far
        for generation in generations:
            kept = generation.displaced.get(path)
            record = next((r for r in generation.edited if r.real == path and not r.by_hand), None)
            met = kept.digest if kept is not None else record.after if record is not None else None
            if known and met is not None and met not in known:
                found.add(path)
            if met is not None or record is not None:
                known |= {met, record.after, record.without} if record is not None else {met}
    return found


def _outdated(store: Store, slug: str, displaced: Mapping[str, Kept]) -> list[str]:
    """The shared files whose displaced version holds an entry of another target: it may have left since, so
    such a file is merged instead of being put back whole. Raises E-GENERATION-…."""
    generations = store.generations
    found: set[str] = set()
    for other in generations.slugs() if displaced else ():
        for number in generations.numbers(other) if other != slug else ():
            for record in generations.read(other, number).edited:
                kept = displaced.get(record.real) if record.real not in found else None
                if kept is not None and _holds_any(store, record, kept):
                    found.add(record.real)
    return sorted(found)


def _holds_any(store: Store, record: EditedRecord, kept: Kept) -> bool:
    """Whether a version of a file holds any entry of a record; also where that cannot be told."""
    try:
        data = store.blobs.get(kept.digest)
        editor = store.editors(record.format)
        return any(e.entry.added and editor.holds(data, e.change) for e in record.entries)
    except (GsdlockError, EditFault):
        return True


def unknown_generation(generations: Generations, currents: Sequence[Generation], number: int) -> GsdlockError:
    """No target of `currents` has a generation `number`, or none has it any more (E-GENERATION-UNKNOWN)."""
    gone = [g.target for g in currents if generations.forgot(g.slug, number)]
    what = f"no target has a generation {number}"
    if gone:
        what = (
            f"generation {number} of {', '.join(map(shown, gone))} is not kept any more: gsdlock gc forgot it"
        )
    kept = {g.target: [n for n in generations.numbers(g.slug) if n != g.number] for g in currents}
    return input_error(
        "E-GENERATION-UNKNOWN",
        what,
        "Name one that is kept: gsdlock rollback N. gsdlock history lists them, and 0 is before the first.",
        details=[
            f"{shown(t)}: kept are {', '.join(map(str, numbers)) or 'none'}" for t, numbers in kept.items()
        ],
    )


def former_number(generations: Generations, current: Generation) -> int:
    """The generation before the state that a target is in: what a rollback without a number goes to.

    A generation that a rollback made stands for the one that it went back to, so going back twice goes back
    two steps. 0 is before the first. Raises E-ROLLBACK-NOTHING (status 3) where nothing is before,
    E-GENERATION-UNKNOWN (3) where it is not kept any more, and E-GENERATION-….
    """
    position = current
    # Numbers only fall on the way, unless records are damaged: then the walk ends all the same.
    for _ in range(current.number):
        if position.returns is None:
            break
        if position.returns == 0:
            raise input_error(
                "E-ROLLBACK-NOTHING",
                f"target {shown(current.target)} is back to before its first generation",
                "Name the generation to go to: gsdlock rollback N; gsdlock history lists them.",
            )
        if generations.forgot(current.slug, position.returns):
            raise unknown_generation(generations, [current], position.returns)
        position = generations.read(current.slug, position.returns)
    if generations.forgot(current.slug, position.parent):
        raise unknown_generation(generations, [current], position.parent)
    return position.parent


class Displaced(Struct, frozen=True):
    """A version that a transaction put aside: where it stood, and the generation that displaced it."""

    slug: str
    target: str
    number: int
    path: str
    kept: Kept


def displaced_versions(store: Store, path: str, number: int | None = None) -> list[Displaced]:
    """Every kept version of a path, the newest first; `number` picks those that one generation displaced.

    `path` is a full path (resolved, or as a root is given), or a key such as `config:settings.json`.
    """
    generations = store.generations
    found: list[tuple[str, Displaced]] = []
    for slug in generations.slugs():
        for one in generations.numbers(slug):
            if number is None or one == number:
                generation = generations.read(slug, one)
                found += [
                    (generation.created, Displaced(slug, generation.target, one, full, kept))
                    for full, kept in generation.displaced.items()
                    if path == full or path in _names(generation, full)
                ]
    return [version for _, version in sorted(found, key=lambda pair: pair[0], reverse=True)]


def bringing_back(store: Store, path: str, number: int | None = None) -> TargetChange:
    """The change that brings a displaced version of a path back: the newest, or the one that generation
    `number` displaced. From then on it is held as the user's.

    Raises E-RESTORE-UNKNOWN (status 5), E-GENERATION-….
    """
    versions = displaced_versions(store, path, number)
    if not versions:
        where = f" by generation {number}" if number is not None else ""
        raise missing(
            "E-RESTORE-UNKNOWN",
            f"no version of {shown(path, 400)} was displaced{where}",
            "`gsdlock restore --list PATH` lists the versions of a file that are kept.",
            where=path,
        )
    version = versions[0]
    current = store.generations.current(version.slug)
    wanted = wanted_from_generation(current) if current is not None and not current.left else None
    return TargetChange(version.slug, wanted, {version.path: version.kept}, force=True)


def _names(generation: Generation, full: str) -> set[str]:
    """The keys, and the paths below a root as given, by which a full path may be named."""
    names: set[str] = set()
    for edited in generation.edited:
        if edited.real == full:
            names |= {edited.key, f"{generation.roots[edited.root].given}/{edited.path}"}
    for name, root in generation.roots.items():
        below = root.real.rstrip("/") + "/"
        if full.startswith(below):
            names |= {f"{name}:{full[len(below) :]}", f"{root.given}/{full[len(below) :]}"}
    return names
