"""Edits at work: a shared file is replaced only by what was merged from the very bytes that it replaces.

If the host or the user wrote the file since it was read, it is read and merged again, a bounded number of
times. What such a merge came to is noted in the staging folder before it is put in place, so that recovery
and the generation know of it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.canonical import sha256_digest
from ..capabilities.errors import GsdlockError, refused, shown
from .edits.types import EditFault
from .faults import io_at
from .filesystem import is_regular, kind_of, masked, permissions
from .journal import Operation, Recipe
from .merge import LOST, Known, Merged, merge
from .objections import host_refusal, objections
from .records import EditedRecord, EntryRecord, Generation, Kept, entry_data, read_entry
from .statefiles import seal, unseal
from .wanted import Validator, WantedChange
from .workbench import RaceError, Workbench

MOST_TRIES = 5
_PAUSE = 0.01
"""Seconds between two tries, so that a program that writes a file in place can finish."""


class Noted(Struct, frozen=True):
    """What a file was merged to after it had changed: the try it was, the operation as it is now, and the
    entries by owner with the digests of the file without and with them."""

    attempt: int
    operation: Operation
    without: str | None
    after: str | None
    entries: Mapping[str, tuple[EntryRecord, ...]]


class UnusableError(Exception):
    """What stands in the place of a shared file cannot be merged with: `refusal` says why, `signature` how it
    looked (inode, size, time)."""

    def __init__(self, signature: tuple[int, int, int] | None, refusal: GsdlockError) -> None:
        super().__init__(refusal.what)
        self.signature = signature
        self.refusal = refusal


class Rewriting:
    """The edits of one workbench. `validators` judge a newly merged file, by operation; in a recovery there
    are none."""

    def __init__(self, bench: Workbench, validators: Mapping[int, Sequence[Validator]]) -> None:
        self.bench = bench
        self.fs = bench.fs
        self.store = bench.store
        self._validators = validators

    def forward(self, number: int) -> None:
        """Edit number `number`, forward; nothing where it is done.

        Raises E-EDIT-RACE (the file changes faster than it can be merged), E-EDIT-… (it no longer parses, or
        no host would take it), E-IO-….
        """
        path = self.bench.path(self.bench.journal.operations[number].place)
        with io_at("cannot write", path):
            if self.bench.deserted(self.bench.journal.operations[number]):
                return
            noted = self.noted(number)
            unusable: list[UnusableError] = []  # the last looks, where all of them found it so
            for turn in range(MOST_TRIES):
                operation = noted.operation if noted else self.bench.journal.operations[number]
                attempt = noted.attempt if noted else 0
                with contextlib.suppress(RaceError):
                    self._write(number, attempt, operation)
                    return
                time.sleep(_PAUSE * turn)
                try:
                    noted = self._merge_again(number, attempt + 1) or noted
                    unusable.clear()
                except UnusableError as found:
                    unusable.append(found)
                    continue
                if noted is not None and noted.operation.new == noted.operation.old:
                    return  # somebody put everything there already
        # A file that somebody is writing cannot be used either; one that stays as it is, is to be mended.
        if len(unusable) > 1 and unusable[-1].signature == unusable[-2].signature:
            raise unusable[-1].refusal
        raise refused(
            "E-EDIT-RACE",
            f"{shown(path, 400)} is being rewritten by another program all the time",
            "Close the program that uses it, and run it again.",
            where=path,
        )

    def backward(self, number: int) -> None:
        """The file as it was before edit `number`; where somebody wrote it since, without our entries.

        Raises E-IO-….
        """
        planned = self.bench.journal.operations[number]
        with io_at("cannot put back", self.bench.path(planned.place)):
            noted = self.noted(number)
            operation = noted.operation if noted else planned
            attempt = noted.attempt if noted else 0
            if not self.bench.put_back(_name(number, attempt), number, operation):
                with contextlib.suppress(EditFault):  # what does not parse is left to its owner
                    self._unmerge(number, operation, noted)

    def noted(self, number: int) -> Noted | None:
        """What a later merge of edit `number` came to; None where it went as planned. Raises `OSError`."""
        operation = self.bench.journal.operations[number]
        try:
            data = unseal(self.fs.read(self.bench.bench(operation), f"{number}.merged"))
        except FileNotFoundError:
            return None
        new, old, signature = data["new"], data["old"], data["signature"]
        return Noted(
            attempt=data["attempt"],
            operation=replace(
                operation,
                new=None if new is None else Kept(*new),
                old=None if old is None else Kept(*old),
                signature=None if signature is None else (signature[0], signature[1], signature[2]),
            ),
            without=data["without"],
            after=data["after"],
            entries={o: tuple(read_entry(row) for row in rows) for o, rows in data["entries"].items()},
        )

    def rewritten(self, generation: Generation) -> Generation:
        """The generation with what later merges came to. Raises `OSError`."""
        edited = {record.real: record for record in generation.edited}
        for number, operation in enumerate(self.bench.journal.operations):
            recipe = operation.recipe
            if recipe is None or generation.slug not in recipe.records:
                continue
            noted = self.noted(number)
            record = edited.get(recipe.real)
            if noted is not None and record is not None:
                edited[recipe.real] = _updated(record, noted, generation.slug)
        displaced = {p: k for p, k in self.bench.displaced.items() if _touches(generation, p)}
        return replace(
            generation,
            edited=tuple(edited.values()),
            displaced={**generation.displaced, **displaced},
        )

    # -- one try -----------------------------------------------------------------------------------------

    def _write(self, number: int, attempt: int, operation: Operation) -> None:
        """Put the merged file in place of the one that it was merged from. Raises `RaceError`, `OSError`."""
        if operation.new is None:
            self.bench.take(number, operation, strict=True)
            return
        bench = self.bench.bench(operation)
        parent, name = self.bench.target(operation)
        waiting = self.fs.lstat(bench, _name(number, attempt)) is not None
        begun = self.bench.recovering or self.fs.lstat(bench, f"{number}.old") is not None
        fresh = waiting and not begun and operation.old is not None
        # A look before the exchange: a version that came meanwhile is then never out of its place.
        if fresh and not self.bench.as_found(parent, name, operation):
            raise RaceError(self.bench.path(operation.place))
        self.bench.put(_name(number, attempt), number, operation, strict=True)

    def _merge_again(self, number: int, attempt: int) -> Noted | None:
        """Merge from what stands there now, stage the result and note it; None where it just went.

        Raises `UnusableError` where it is no file or does not parse, E-HOST-SHAPE, `RaceError`, `OSError`.
        """
        operation = self.bench.journal.operations[number]
        recipe = operation.recipe
        assert recipe is not None, "only edits are merged"
        parent, name = self.bench.target(operation)
        status = self.fs.lstat(parent, name)
        signature = (status.st_ino, status.st_size, status.st_mtime_ns) if status is not None else None
        path = shown(self.bench.path(operation.place), 400)
        if status is not None and not is_regular(status):
            what = f"{path} should be a file, and a {kind_of(status)} stands there"
            raise UnusableError(
                signature, refused("E-EDIT-KIND", what, self._then("Move it away"), where=path)
            )
        try:
            current = self.fs.read(parent, name) if status is not None else None
            merged = self._merge(recipe, current)
        except FileNotFoundError:
            return None
        except EditFault as fault:
            at = f", line {fault.line}, column {fault.column}" if fault.line else ""
            what, fix = f"{path}{at}: {shown(fault.message, 200)}", self._then("Mend the file there")
            raise UnusableError(
                signature, refused(f"E-EDIT-{fault.kind.upper()}", what, fix, where=path)
            ) from None
        if against := objections(self._validators.get(number, ()), current, merged.data):
            raise host_refusal(recipe.real, against)
        for data in (current, merged.without):
            if data is not None:
                self.store.blobs.put(data)
        self.store.blobs.flush()
        old = None
        if current is not None and status is not None:
            old = Kept(sha256_digest(current), permissions(status))
            self.bench.displaced[self.bench.path(operation.place)] = old
        new = None
        if merged.data is not None:
            mode = old.mode if old is not None else masked(0o644, self.fs.umask)
            new = Kept(sha256_digest(merged.data), mode)
        noted = Noted(
            attempt=attempt,
            operation=replace(operation, new=new, old=old, signature=signature),
            without=None if merged.without is None else sha256_digest(merged.without),
            after=None if new is None else new.digest,
            entries=merged.entries,
        )
        self._note(number, noted, merged.data, (parent, name) if status is not None else None)
        return noted

    def _then(self, first: str) -> str:
        """What to do, and what becomes of the transaction: one that runs is undone."""
        end = "what was broken off is then completed" if self.bench.recovering else "nothing was changed"
        return f"{first}, and run it again: {end}."

    def _merge(self, recipe: Recipe, current: bytes | None) -> Merged:
        known = None
        if recipe.known is not None and current is not None and sha256_digest(current) == recipe.known[1]:
            without = recipe.known[0]
            try:
                known = Known(None if without is None else self.store.blobs.get(without), current)
            except GsdlockError as error:
                if error.code not in LOST:
                    raise
        editor = self.store.editors(recipe.format)
        return merge(editor, current, recipe.owned, recipe.asked, known, recipe.over, recipe.whole)

    def _note(self, number: int, noted: Noted, data: bytes | None, like: tuple[int, str] | None) -> None:
        """Stage a new result, then say so: the note is complete before anything is put in place."""
        bench = self.bench.bench(noted.operation)
        name, note = _name(number, noted.attempt), f"{number}.merged"
        for leftover in (name, f"{note}.tmp"):
            with contextlib.suppress(FileNotFoundError):
                self.fs.unlink(bench, leftover)
        new, old, signature = noted.operation.new, noted.operation.old, noted.operation.signature
        if data is not None and new is not None:
            self.fs.create(bench, name, data, new.mode, like)
            self.fs.flush_file(bench, name)
        record: dict[str, Any] = {
            "attempt": noted.attempt,
            "new": None if new is None else [new.digest, new.mode],
            "old": None if old is None else [old.digest, old.mode],
            "signature": None if signature is None else list(signature),
            "without": noted.without,
            "after": noted.after,
            "entries": {o: [entry_data(r) for r in records] for o, records in noted.entries.items()},
        }
        self.fs.create(bench, f"{note}.tmp", seal(record), 0o600)
        self.fs.flush_file(bench, f"{note}.tmp")
        self.fs.rename(bench, f"{note}.tmp", bench, note)
        self.fs.flush_dir(bench)

    def _unmerge(self, number: int, operation: Operation, noted: Noted | None) -> None:
        """Take our entries out of, and the former ones into, a file that somebody wrote after us."""
        recipe = operation.recipe
        parent, name = self.bench.target(operation)
        status = self.fs.lstat(parent, name)
        if recipe is None or status is None or not is_regular(status):
            return
        owned = noted.entries if noted is not None else self._planned_entries(recipe)
        before = {
            owner: tuple(WantedChange(r.change, r.source, r.executes) for r in records if not r.held)
            for owner, records in recipe.owned.items()
        }
        asked = {owner: before.get(owner, ()) for owner in {**owned, **before}}
        current = self.fs.read(parent, name)
        merged = merge(self.store.editors(recipe.format), current, owned, asked)
        bench = self.bench.bench(operation)
        with contextlib.suppress(FileNotFoundError):
            self.fs.unlink(bench, f"{number}.undo")
        if merged.data is None:
            self.fs.rename(parent, name, bench, f"{number}.undo")
        elif merged.data != current:
            self.fs.create(bench, f"{number}.undo", merged.data, permissions(status), (parent, name))
            self.fs.flush_file(bench, f"{number}.undo")
            self.fs.rename(bench, f"{number}.undo", parent, name)

    def _planned_entries(self, recipe: Recipe) -> dict[str, tuple[EntryRecord, ...]]:
        """The entries that the unfinished generations say were put in."""
        found: dict[str, tuple[EntryRecord, ...]] = {}
        for slug in recipe.records:
            numbers = self.bench.journal.generations.get(slug)
            with contextlib.suppress(GsdlockError):
                edited = self.store.generations.read(slug, numbers[1]).edited if numbers else ()
                for record in edited:
                    if record.real == recipe.real:
                        found[slug] = record.entries
        return found


def _updated(record: EditedRecord, noted: Noted, slug: str) -> EditedRecord:
    held = tuple(entry for entry in record.entries if entry.held)
    return replace(
        record, without=noted.without, after=noted.after, entries=(*noted.entries.get(slug, ()), *held)
    )


def _touches(generation: Generation, path: str) -> bool:
    """Whether a full path is one of a generation's."""
    return (
        path in generation.displaced
        or any(path == record.real for record in generation.edited)
        or any(path == generation.real_path(file.root, file.path) for file in generation.files)
    )


def _name(number: int, attempt: int) -> str:
    return f"{number}.{attempt}.new" if attempt else f"{number}.new"
