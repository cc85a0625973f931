"""Damage in our own files: found, named, and put right from what is known; else told, with what to do.

Nothing is guessed. A blob comes back from an installed file with the very same bytes; a pointer from the
generations beside it; a record that cannot be read is set aside under another name, never deleted, and only
where nothing depends on it; a staging folder goes where the store has all that is in it. What alone knows
something (a journal, the current generation) is left as it is.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ..capabilities.errors import GsdlockError, shown
from .collect import register, registered, registration_name
from .exclusive import DEFAULT_WAIT, exclusive
from .faults import io_at
from .filesystem import FileSystem, is_folder
from .journal import STAGING_PREFIX, Journals
from .recovery import recover_locked
from .statefiles import DamagedError, list_folder, read_whole, remove_file, unseal
from .store import Store
from .subtrees import TREE

if TYPE_CHECKING:
    from .records import Generation

SET_ASIDE = ".damaged"
"""What the name of a record that was set aside ends in."""
_DEEPEST = 64
"""Levels of folders in a staging folder that are looked through."""
_OLD = 3600
"""Seconds after which a temporary file is one that was left over."""


class Finding(Struct, frozen=True):
    """One damage. `kind` is `blob`, `generation`, `pointer`, `journal`, `transaction`, `staging`,
    `registration`, `ledger`, `note` or `temporary`; `path` a full path; `name` what the kind of file goes by
    there (a digest, `slug`, `slug number`, an id); `fix` what to do where it cannot be put right here
    (`mendable`)."""

    kind: str
    path: str
    name: str
    what: str
    fix: str
    mendable: bool


def examine(store: Store) -> tuple[Finding, ...]:
    """All damage in the files of a store. Reads everything, changes nothing. Raises E-IO-…."""
    journals = list(_journals(store))
    targets, generations = _targets(store)
    found = [*journals, *targets]
    if not journals:
        found += _staging(store, generations)
    found += _blobs(store, generations)
    found += _registrations(store)
    found += _ledger(store)
    found += _notes(store)
    found += _temporaries(store)
    return tuple(found)


def mend(
    store: Store, locks: Mapping[str, frozenset[str]], *, wait: float = DEFAULT_WAIT
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Put right what can be. `locks` are locks that are at hand: full path, and the blobs that they name.

    Gives a line for each thing that was done, and the damage that is left. Broken-off transactions come
    first, where their journals can be read. Raises E-BUSY, E-IO-….
    """
    done: list[str] = []
    stuck: list[Finding] = []
    with exclusive(store, wait):
        if not list(_journals(store)):
            try:
                done += [f"a broken-off transaction was put right: {r.id}" for r in recover_locked(store)]
            except GsdlockError as error:
                what = f"a broken-off transaction cannot be finished: {error.code}: {error.what}"
                path = f"{store.state}/transactions"
                stuck.append(Finding("transaction", path, error.code, what, error.fix, False))
        for finding in examine(store):
            line = _mended(store, finding, locks) if finding.mendable else None
            if line is not None:
                done.append(line)
        left = examine(store)
    return tuple(done), (*stuck, *left)


# -- looking ---------------------------------------------------------------------------------------------


def _journals(store: Store) -> Iterator[Finding]:
    journals = Journals(store.fs, store.state)
    for id in journals.pending():
        try:
            phase = journals.phase(id)
            if phase is not None:
                journals.read(id, phase)
        except GsdlockError as error:
            yield Finding("journal", f"{store.state}/transactions/{id}", id, error.what, error.fix, False)


def _targets(store: Store) -> tuple[list[Finding], list[Generation]]:
    """Damaged pointers and generations; and all generations that can be read, the current ones last."""
    found: list[Finding] = []
    former: list[Generation] = []
    current: list[Generation] = []
    for slug in store.generations.slugs():
        folder = f"{store.state}/targets/{slug}"
        numbers = store.generations.numbers(slug)
        sound = {}
        broken: dict[int, GsdlockError] = {}
        for number in numbers:
            try:
                sound[number] = store.generations.read(slug, number)
            except GsdlockError as error:
                broken[number] = error
        pointed = 0
        try:
            pointed = store.generations.current_number(slug)
        except GsdlockError as error:
            known = bool(numbers) and numbers[-1] in sound and _is_damage(error)
            found.append(
                Finding("pointer", f"{folder}/current", slug, error.what, _fix(error, folder), known)
            )
            pointed = numbers[-1] if numbers else 0
        if pointed and pointed not in numbers:
            path = f"{folder}/generations/{pointed}.json"
            what = f"generation {pointed}, the current one of {shown(slug)}, is not there"
            found.append(Finding("generation", path, f"{slug} {pointed}", what, _start_over(folder), False))
        for number, fault in broken.items():
            path = f"{folder}/generations/{number}.json"
            spare = number != pointed and fault.code == "E-GENERATION-CORRUPT"
            found.append(
                Finding("generation", path, f"{slug} {number}", fault.what, _fix(fault, folder), spare)
            )
        current += [g for n, g in sound.items() if n == pointed]
        former += [g for n, g in sound.items() if n != pointed]
    return found, [*former, *current]


def _is_damage(fault: GsdlockError) -> bool:
    """Whether a record is not what was written: one that may not be read, or is newer, may be whole."""
    return fault.code in ("E-GENERATION-CORRUPT", "E-GENERATION-MISSING")


def _fix(fault: GsdlockError, folder: str) -> str:
    return _start_over(folder) if _is_damage(fault) else fault.fix


def _start_over(folder: str) -> str:
    return (
        "Take it from a backup of the state folder. Without one: move "
        f"{shown(folder, 400)} away and run `gsdlock apply --adopt`: what stands as the lock says is taken "
        "over as it is, and what differs is kept in the store before it makes way."
    )


def _staging(store: Store, generations: list[Generation]) -> Iterator[Finding]:
    """Staging folders in the roots that no journal knows of."""
    pending = {f"{STAGING_PREFIX}{id}" for id in Journals(store.fs, store.state).pending()}
    roots = {root.real for generation in generations for root in generation.roots.values()}
    for root in sorted(roots):
        with contextlib.suppress(OSError):  # a root that is not there holds nothing
            for name in list_folder(store.fs, root):
                if name.startswith(STAGING_PREFIX) and name not in pending:
                    what = f"the transaction that made {shown(f'{root}/{name}', 400)} is not known any more"
                    fix = (
                        "See `gsdlock status`, and put right with `gsdlock repair` what it names. The folder "
                        "may hold files that were taken out; when you need none of them, remove it."
                    )
                    spare = _is_spare(store, f"{root}/{name}", generations)
                    yield Finding("staging", f"{root}/{name}", name, what, fix, spare)


def _is_spare(store: Store, folder: str, generations: list[Generation]) -> bool:
    """Whether a staging folder holds nothing but files whose very bytes the store keeps for somebody."""
    from ..capabilities.canonical import sha256_digest

    named = {digest for generation in generations for digest in generation.digests()}
    above, _, name = folder.rpartition("/")
    with contextlib.ExitStack() as handles:
        try:
            named |= {digest for lock in registered(store) for digest in lock.digests}
            root = store.fs.open_root(above)
            handles.callback(store.fs.close, root)
            inside = store.fs.open_dir(root, name)
            handles.callback(store.fs.close, inside)
            digests = {sha256_digest(store.fs.read(*file)) for file in _staged(store.fs, inside)}
        except (OSError, GsdlockError):  # what cannot be read is not spare
            return False
    return digests <= named and all(store.blobs.sound(digest) for digest in digests)


def _blobs(store: Store, generations: list[Generation]) -> Iterator[Finding]:
    needed = {digest for generation in generations for digest in generation.digests()}
    there = set(store.blobs.digests())
    copies = _installed(generations)
    for digest in sorted(there | needed):
        path = store.blobs.path(digest)
        try:
            store.blobs.get(digest)
            continue
        except GsdlockError as fault:
            if isinstance(fault.__cause__, PermissionError):
                yield Finding("blob", path, digest, fault.what, fault.fix, False)
                continue
        lost = digest not in there
        known = digest in copies and any(_holds(store, p, digest) for p in copies[digest])
        what = f"stored content {digest} is {'missing' if lost else 'damaged'}"
        fix = (
            "Run `gsdlock resolve` and `gsdlock apply`: what the lock names is fetched again. If it was a "
            "file of yours, take it from a backup of the data folder."
        )
        yield Finding("blob", path, digest, what, fix, known or not lost)


def _installed(generations: list[Generation]) -> dict[str, list[str]]:
    """Where content should stand on this machine, by digest: full paths of installed files."""
    found: dict[str, list[str]] = {}
    for generation in generations:
        for file in generation.files:
            if not file.fill and not file.held:
                found.setdefault(file.digest, []).append(generation.real_path(file.root, file.path))
    return found


def _holds(store: Store, path: str, digest: str) -> bool:
    from ..capabilities.canonical import sha256_digest

    try:
        return sha256_digest(store.fs.read_path(path)) == digest
    except OSError:
        return False


def _registrations(store: Store) -> Iterator[Finding]:
    folder = f"{store.state}/locks"
    with io_at("cannot read", folder):
        names = [name for name in list_folder(store.fs, folder) if not name.endswith(SET_ASIDE)]
    for name in names:
        try:
            with io_at("cannot read", f"{folder}/{name}"):
                record = unseal(read_whole(store.fs, folder, name) or b"")
            if not isinstance(record["path"], str) or not isinstance(record["digests"], list):
                raise DamagedError("not a registration")
        except (ValueError, KeyError):
            what = (
                f"the note {shown(f'{folder}/{name}', 400)} of a lock in use is damaged; gc removes nothing"
            )
            fix = (
                "Run `gsdlock doctor --repair` in the project of that lock; if that is gone, remove the note."
            )
            yield Finding("registration", f"{folder}/{name}", name, what, fix, True)


def _ledger(store: Store) -> Iterator[Finding]:
    from .ledger import read_events
    from .ledger_file import ledger_path

    path = ledger_path(store.state)
    try:
        events = read_events(store.fs, store.state)
    except GsdlockError as error:
        yield Finding("ledger", path, "", error.what, error.fix, error.code == "E-LEDGER-DAMAGED")
        return
    for event in events:
        if not event.intact:
            what = f"receipt {event.sequence} is not as it was written"
            fix = (
                "It is shown as damaged, and nothing depends on it. A backup of the state folder may have it."
            )
            yield Finding("ledger", path, str(event.sequence), what, fix, False)


def _notes(store: Store) -> Iterator[Finding]:
    folder = f"{store.state}/unchanged"
    with io_at("cannot read", folder):
        names = [name for name in list_folder(store.fs, folder) if name.endswith(".json")]
    for name in names:
        try:
            with io_at("cannot read", f"{folder}/{name}"):
                note = json.loads(read_whole(store.fs, folder, name) or b"")
            whole = isinstance(note, dict) and isinstance(note.get("files"), list)
        except (ValueError, RecursionError):
            whole = False
        if not whole:
            what = f"the note {shown(f'{folder}/{name}', 400)} is damaged; it only saves time"
            yield Finding("note", f"{folder}/{name}", name, what, "Remove it.", True)


def _temporaries(store: Store) -> Iterator[Finding]:
    folders = [store.state, *(f"{store.state}/{name}" for name in ("locks", "unchanged", "transactions"))]
    for slug in store.generations.slugs():
        folders += [f"{store.state}/targets/{slug}", store.generations.folder(slug)]
    for folder in folders:
        with io_at("cannot look into", folder), contextlib.suppress(FileNotFoundError):
            handle = store.fs.open_root(folder)
            try:
                names = [name for name in store.fs.list_dir(handle) if name.startswith(".tmp-")]
                limit = store.blobs.clock() - _OLD if names else 0.0
                for name in names:
                    status = store.fs.lstat(handle, name)
                    if status is not None and status.st_mtime <= limit:
                        what = f"{shown(f'{folder}/{name}', 400)} was left over by a write that broke off"
                        yield Finding("temporary", f"{folder}/{name}", name, what, "Remove it.", True)
            finally:
                store.fs.close(handle)


# -- putting right ---------------------------------------------------------------------------------------


def _mended(store: Store, finding: Finding, locks: Mapping[str, frozenset[str]]) -> str | None:
    """Put one thing right; what was done, or None where it could not be."""
    folder, _, name = finding.path.rpartition("/")
    with io_at("cannot put right", finding.path):
        match finding.kind:
            case "blob":
                return _mend_blob(store, finding)
            case "pointer":
                numbers = store.generations.numbers(finding.name)
                store.generations.point(finding.name, numbers[-1])
                return f"{finding.path} names generation {numbers[-1]} again, the newest one that is there"
            case "generation":
                _set_aside(store, folder, name)
                return f"{finding.path} was set aside; no target holds it any more"
            case "staging":
                return _unstage(store, finding)
            case "registration":
                path = next((p for p in locks if registration_name(p) == name), None)
                if path is None:
                    return None
                register(store, path, locks[path])
                return f"{finding.path} was written anew from {path}"
            case "ledger":
                from .ledger import open_ledger

                with open_ledger(store.fs, store.state, store.now) as ledger:
                    return " ".join(ledger.messages) or None
            case _:
                remove_file(store.fs, folder, name)
                return f"{finding.path} was removed"


def _mend_blob(store: Store, finding: Finding) -> str:
    _, generations = _targets(store)
    for path in _installed(generations).get(finding.name, ()):
        if _holds(store, path, finding.name):
            store.blobs.put(store.fs.read_path(path))
            store.blobs.flush()
            return f"{finding.name} was taken from {path}, which has the very same bytes"
    folder, _, name = finding.path.rpartition("/")
    _set_aside(store, folder, name)
    return f"the damaged {finding.path} was set aside"


def _unstage(store: Store, finding: Finding) -> str | None:
    folder, _, name = finding.path.rpartition("/")
    if not _is_spare(store, finding.path, _targets(store)[1]):
        return None
    handle = store.fs.open_root(folder)
    try:
        inside = store.fs.open_dir(handle, name)
        try:
            _empty(store.fs, inside)
        finally:
            store.fs.close(inside)
        store.fs.remove_dir(handle, name)
        store.fs.flush_dir(handle)
    finally:
        store.fs.close(handle)
    return f"{finding.path} was removed; the store has all that was in it"


def _staged(fs: FileSystem, folder: int, level: int = 0) -> Iterator[tuple[int, str]]:
    """The files of a staging folder, those of its subtrees too; handles are good until the next one is asked
    for. Raises `OSError`."""
    for name in fs.list_dir(folder):
        if not (level or name.endswith(TREE)) or not is_folder(fs.lstat(folder, name)):
            yield folder, name
        elif level == _DEEPEST:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        else:
            inner = fs.open_dir(folder, name)
            try:
                yield from _staged(fs, inner, level + 1)
            finally:
                fs.close(inner)


def _empty(fs: FileSystem, folder: int) -> None:
    """Remove all that is in a staging folder. Raises `OSError`."""
    for name in fs.list_dir(folder):
        if not is_folder(fs.lstat(folder, name)):
            fs.unlink(folder, name)
            continue
        inner = fs.open_dir(folder, name)
        try:
            _empty(fs, inner)
        finally:
            fs.close(inner)
        fs.remove_dir(folder, name)


def _set_aside(store: Store, folder: str, name: str) -> None:
    handle = store.fs.open_root(folder)
    try:
        with contextlib.suppress(FileNotFoundError):
            store.fs.unlink(handle, f"{name}{SET_ASIDE}")
        store.fs.rename(handle, name, handle, f"{name}{SET_ASIDE}")
        store.fs.flush_dir(handle)
    finally:
        store.fs.close(handle)
