"""The journal of one transaction: all that recovery needs to know, and nothing that it has to guess.

`<state>/transactions/<id>/<phase>.json`, sealed, written once. What changes is its name, by an atomic rename
that needs no new space on the disk, so that a full disk cannot stop a transaction from going back:

    prepare.json   staging; recovery goes back: staging, made folders and unfinished generations are removed
    commit.json    the point of no return was passed; recovery goes forward
    undo.json      an error came after that point; recovery goes back, step by step, and is then where
                   prepare.json is
    done.json      all targets hold their new generation; recovery only cleans up
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct

from ..capabilities.canonical import canonical_json, plain_json
from ..capabilities.errors import missing, shown
from ..capabilities.words import Words
from ..lockfiles.model import EditFormat, EditOp
from .edits.types import Change
from .faults import io_at
from .filesystem import FileSystem, open_private
from .records import EntryRecord, Kept, entry_data, read_entry
from .statefiles import DamagedError, list_folder, read_whole, remove_file, seal, unseal, write_whole
from .wanted import WantedChange

JOURNAL_VERSION = 1
STAGING_PREFIX = ".gsdlock-"
"""What the names of staging folders begin with; the id of their transaction follows."""


class Phase(Words):
    """How far a transaction got."""

    PREPARE = "prepare"
    COMMIT = "commit"
    UNDO = "undo"
    DONE = "done"


class Step(Words):
    """put: a whole file takes its place. edit: a shared file is replaced by its merged form, if nobody
    changed it since. take: a file goes."""

    PUT = "put"
    EDIT = "edit"
    TAKE = "take"


class Place(Struct, frozen=True):
    """A path below an anchor, by the anchor's number in the journal; an empty path is the anchor itself."""

    anchor: int
    path: str


class Operation(Struct, frozen=True):
    """One step on one file. `stage` is the number of the staging folder.

    `new` and `old` are digest and mode of what shall stand there and of what was found (None: nothing).
    `signature` is inode, size and mtime (ns) of what was found. `recipe` says how an edit is merged again.
    """

    step: Step
    place: Place
    stage: int
    new: Kept | None
    old: Kept | None
    signature: tuple[int, int, int] | None = None
    recipe: Recipe | None = None


class Recipe(Struct, frozen=True):
    """How a shared file is merged: see `merge.merge`. `known` are the digests (without, after) of the state
    that was known when it was planned. `records` are the targets (slugs) whose generation tells of this file,
    and `real` its full path there. `whole` are pointers of entries that go as a whole."""

    format: EditFormat
    real: str
    owned: Mapping[str, tuple[EntryRecord, ...]]
    asked: Mapping[str, tuple[WantedChange, ...]]
    known: tuple[str | None, str | None] | None
    over: tuple[str, ...]
    records: tuple[str, ...]
    whole: tuple[str, ...] = ()


class Subtree(Struct, frozen=True):
    """A folder that is new with all that is in it, and is put in place as one: see `subtrees`. `stage` is the
    number of the staging folder."""

    place: Place
    stage: int


class Anchor(Struct, frozen=True):
    """An existing directory under which everything else lies: full resolved path, device, inode."""

    real: str
    device: int
    inode: int


class Journal(Struct, frozen=True):
    """One transaction. `made` are folders to be made, outermost first; `stages` the folders that get a
    staging folder; `subtrees` those of `made` that are put in place whole, with what is below; `pruned`
    the folders that go when all is done, innermost first. `generations` maps slug to `(old number, new
    number)`."""

    id: str
    created: str
    command: str
    anchors: tuple[Anchor, ...]
    made: tuple[Place, ...]
    stages: tuple[Place, ...]
    operations: tuple[Operation, ...]
    pruned: tuple[Place, ...]
    generations: Mapping[str, tuple[int, int]]
    subtrees: tuple[Subtree, ...] = ()

    @property
    def staging(self) -> str:
        """The name of the staging folders."""
        return f"{STAGING_PREFIX}{self.id}"


class Journals:
    """The transactions of one state folder."""

    def __init__(self, fs: FileSystem, state: str) -> None:
        self._fs = fs
        self._folder = f"{state}/transactions"

    def pending(self) -> list[str]:
        """The ids of transactions that are under way or did not finish; one listing of one folder."""
        with io_at("cannot list", self._folder):
            return list_folder(self._fs, self._folder)

    def announce(self, id: str) -> None:
        """Make it known that something is under way, so that the next command looks after what this one could
        not finish. Raises `OSError`."""
        handle = open_private(self._fs, self._folder)
        try:
            self._fs.make_dir(handle, id, 0o700)
        finally:
            self._fs.close(handle)

    def withdraw(self, id: str) -> None:
        """What was announced is finished; nothing where somebody else saw to that. Raises `OSError`."""
        handle = open_private(self._fs, self._folder)
        try:
            with contextlib.suppress(FileNotFoundError):
                self._fs.remove_dir(handle, id)
        finally:
            self._fs.close(handle)

    def write(self, journal: Journal) -> None:
        """Write the journal in phase prepare, lasting when this returns. Raises `OSError`."""
        folder = f"{self._folder}/{journal.id}"
        write_whole(self._fs, folder, f"{Phase.PREPARE}.json", seal(_journal_data(journal)))

    def move(self, id: str, before: Phase, after: Phase) -> None:
        """Go from one phase to the next, lasting when this returns. Raises `OSError`."""
        handle = self._fs.open_root(f"{self._folder}/{id}")
        try:
            self._fs.rename(handle, f"{before}.json", handle, f"{after}.json")
            self._fs.flush_dir(handle)
        finally:
            self._fs.close(handle)

    def phase(self, id: str) -> Phase | None:
        """The phase of a transaction; None where its journal was never written, or is removed already."""
        with io_at("cannot list", f"{self._folder}/{id}"):
            names = list_folder(self._fs, f"{self._folder}/{id}")
        found = [phase for phase in Phase if f"{phase}.json" in names]
        return found[-1] if found else None

    def read(self, id: str, phase: Phase) -> Journal:
        """A journal. Raises E-JOURNAL-CORRUPT (status 5), E-IO-…."""
        path = f"{self._folder}/{id}/{phase}.json"
        with io_at("cannot read", path):
            data = read_whole(self._fs, f"{self._folder}/{id}", f"{phase}.json")
        try:
            if data is None:
                raise DamagedError("gone")
            journal = _read_journal(unseal(data))
            if journal.id != id:
                raise DamagedError("the journal of another transaction")
        except (DamagedError, KeyError, TypeError, ValueError, AttributeError):
            raise missing(
                "E-JOURNAL-CORRUPT",
                f"{shown(path, 400)} is damaged, so what a broken-off transaction left cannot be put right "
                "by itself",
                "Take it from a backup of the state folder; nothing more is changed until then.",
                where=path,
            ) from None
        return journal

    def remove(self, id: str) -> None:
        """Forget a transaction. Raises `OSError`."""
        folder = f"{self._folder}/{id}"
        for name in list_folder(self._fs, folder):
            remove_file(self._fs, folder, name)
        handle = open_private(self._fs, self._folder)
        try:
            inner = self._fs.open_dir(handle, id)
            try:
                for name in self._fs.list_dir(inner):  # temporary names of a write that broke off
                    self._fs.unlink(inner, name)
            finally:
                self._fs.close(inner)
            self._fs.remove_dir(handle, id)
            self._fs.flush_dir(handle)
        finally:
            self._fs.close(handle)


def _journal_data(j: Journal) -> dict[str, Any]:
    return {
        "journal-version": JOURNAL_VERSION,
        "id": j.id,
        "created": j.created,
        "command": j.command,
        "anchors": [[a.real, a.device, a.inode] for a in j.anchors],
        "made": [[p.anchor, p.path] for p in j.made],
        "stages": [[p.anchor, p.path] for p in j.stages],
        "operations": _operations_data(j.operations),
        "pruned": [[p.anchor, p.path] for p in j.pruned],
        "generations": {slug: list(numbers) for slug, numbers in j.generations.items()},
        "subtrees": [[t.place.anchor, t.place.path, t.stage] for t in j.subtrees],
    }


def _operations_data(operations: Sequence[Operation]) -> Any:
    """All rows. Only what a recipe holds of the user's values needs the look of `canonical_json`."""
    recipes = [None if o.recipe is None else _recipe_data(o.recipe) for o in operations]
    try:
        checked = [None if recipe is None else Raw(canonical_json(recipe)) for recipe in recipes]
    except (TypeError, ValueError):  # left to the slow way of `seal`
        return list(map(_operation_data, operations, recipes))
    return plain_json(list(map(_operation_data, operations, checked)))


def _operation_data(o: Operation, recipe: Raw | dict[str, Any] | None) -> list[Any]:
    return [
        o.step.value,
        o.place.anchor,
        o.place.path,
        o.stage,
        None if o.new is None else [o.new.digest, o.new.mode],
        None if o.old is None else [o.old.digest, o.old.mode],
        None if o.signature is None else list(o.signature),
        recipe,
    ]


def _recipe_data(r: Recipe) -> dict[str, Any]:
    return {
        "format": r.format.value,
        "real": r.real,
        "owned": [[owner, [entry_data(e) for e in entries]] for owner, entries in r.owned.items()],
        "asked": [
            [owner, [[w.change.op.value, w.change.at, w.change.value, w.source, w.executes] for w in changes]]
            for owner, changes in r.asked.items()
        ],
        "known": None if r.known is None else list(r.known),
        "over": list(r.over),
        "records": list(r.records),
        "whole": list(r.whole),
    }


def _read_journal(data: Mapping[str, Any]) -> Journal:
    if data["journal-version"] != JOURNAL_VERSION:
        raise DamagedError("another version")
    return Journal(
        id=data["id"],
        created=data["created"],
        command=data["command"],
        anchors=tuple(Anchor(*row) for row in data["anchors"]),
        made=tuple(_read_place(*row) for row in data["made"]),
        stages=tuple(_read_place(*row) for row in data["stages"]),
        operations=tuple(_read_operation(row) for row in data["operations"]),
        pruned=tuple(_read_place(*row) for row in data["pruned"]),
        generations={slug: (old, new) for slug, (old, new) in data["generations"].items()},
        # A version before them made every folder in its place.
        subtrees=tuple(Subtree(_read_place(a, path), stage) for a, path, stage in data.get("subtrees", ())),
    )


def _read_place(anchor: int, path: str) -> Place:
    """A place below its anchor: a journal never leads up or out, whoever wrote it."""
    names = path.split("/") if path else []
    if "" in names or "." in names or ".." in names or "\0" in path or not isinstance(anchor, int):
        raise DamagedError("not a path below its anchor")
    return Place(anchor, path)


def _read_operation(row: list[Any]) -> Operation:
    step, anchor, path, stage, new, old, signature, recipe = row
    return Operation(
        step=Step(step),
        place=_read_place(anchor, path),
        stage=stage,
        new=None if new is None else Kept(*new),
        old=None if old is None else Kept(*old),
        signature=None if signature is None else (signature[0], signature[1], signature[2]),
        recipe=None if recipe is None else _read_recipe(recipe),
    )


def _read_recipe(data: Mapping[str, Any]) -> Recipe:
    return Recipe(
        format=EditFormat(data["format"]),
        real=data["real"],
        owned={owner: tuple(read_entry(row) for row in rows) for owner, rows in data["owned"]},
        asked={
            owner: tuple(
                WantedChange(Change(EditOp(op), at, value), source, executes)
                for op, at, value, source, executes in rows
            )
            for owner, rows in data["asked"]
        },
        known=None if data["known"] is None else (data["known"][0], data["known"][1]),
        over=tuple(data["over"]),
        records=tuple(data["records"]),
        whole=tuple(data["whole"]),
    )
