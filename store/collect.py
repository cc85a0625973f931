"""Collection: what nothing names any more is removed from the store.

Roots are every generation that is kept and every lock that an apply registered; nothing that one of them
names is ever removed. A blob that was written a short while ago stays too: a resolve that runs beside us may
just have put it there, and its lock is not registered yet.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable

from msgspec import Struct

from ..capabilities.canonical import is_digest
from ..capabilities.errors import missing, shown
from ..lockfiles.model import Lock
from .exclusive import DEFAULT_WAIT, exclusive
from .faults import io_at
from .generations import target_of_slug
from .recovery import recover_locked
from .statefiles import DamagedError, list_folder, read_whole, remove_file, seal, unseal, write_whole
from .store import Store

_LOCKS = "locks"
GRACE = 3600
"""Seconds for which a blob stays though nothing names it."""


class Registered(Struct, frozen=True):
    """A lock that an apply used: its full path, and the blobs that it names."""

    path: str
    digests: frozenset[str]


class Collected(Struct, frozen=True):
    """What a collection removed: blobs and their bytes, old generations `(slug, number)`, left-over temporary
    files. `absent` are registered locks whose file is gone; they still count as roots."""

    blobs: int
    size: int
    generations: tuple[tuple[str, int], ...]
    temporaries: int
    absent: tuple[str, ...]


def lock_digests(lock: Lock) -> set[str]:
    """The blobs that a lock names itself: files, values of edits, origins. (Packs' trees are not among them:
    their files are fetched again where they are needed.)"""
    found: set[str] = set()
    for target in lock.targets:
        found |= {placement.digest for placement in target.placements}
        found |= {edit.value for edit in target.edits}
        found |= {target.origins} if target.origins else set()
    return found


def registration_name(path: str) -> str:
    """The file name of the registration of the lock at `path` (full)."""
    return f"{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def registration_path(state: str, path: str) -> str:
    """The full path of the registration of the lock at `path` in a state folder."""
    return f"{state}/{_LOCKS}/{registration_name(path)}"


def register(store: Store, path: str, digests: Iterable[str]) -> None:
    """Remember that the lock at `path` (full) is in use and names `digests`. Nothing is written where that is
    known already. It is not flushed: what the power takes of it the next apply writes again, and what the
    generations need they name themselves. Raises E-IO-…."""
    record = {"path": path, "digests": sorted(set(digests))}
    data, name = seal(record), registration_name(path)
    with io_at("cannot note the lock in", _folder(store)):
        if read_whole(store.fs, _folder(store), name) != data:
            write_whole(store.fs, _folder(store), name, data, flush=False)


def forget(store: Store, path: str) -> None:
    """The lock at `path` is no root any more. Raises E-IO-…."""
    with io_at("cannot forget the lock in", _folder(store)):
        remove_file(store.fs, _folder(store), registration_name(path))


def registered(store: Store) -> list[Registered]:
    """All registered locks. Raises E-REGISTRATION-CORRUPT (status 5): a root that cannot be read may name
    anything, so nothing is collected."""
    found: list[Registered] = []
    with io_at("cannot read", _folder(store)):
        names = [n for n in list_folder(store.fs, _folder(store)) if n.endswith(".json")]
    for name in names:
        with io_at("cannot read", f"{_folder(store)}/{name}"):
            data = read_whole(store.fs, _folder(store), name)
        try:
            record = unseal(data or b"")
            digests = frozenset(record["digests"])
            if not all(isinstance(d, str) and is_digest(d) for d in digests):
                raise DamagedError("not a digest")
            found.append(Registered(str(record["path"]), digests))
        except (DamagedError, KeyError, TypeError, ValueError):
            raise missing(
                "E-REGISTRATION-CORRUPT",
                f"{shown(f'{_folder(store)}/{name}', 400)} is damaged, so it is not known what must stay",
                "Remove it and run `gsdlock apply` in the project that it was for; nothing was collected.",
                where=f"{_folder(store)}/{name}",
            ) from None
    return found


def collect(
    store: Store,
    *,
    keep: int | None = None,
    of: Collection[str] | None = None,
    also: Collection[str] = (),
    grace: int = GRACE,
    dry: bool = False,
    wait: float = DEFAULT_WAIT,
) -> Collected:
    """Remove what nothing names. `keep` leaves so many generations of each target (at least the current one;
    None: all), of the targets `of` where any are named; `also` are further digests to stay; `grace` in
    seconds; `dry` only counts.

    Raises E-BUSY, E-GENERATION-… and E-REGISTRATION-… (nothing removed), E-IO-….
    """
    with exclusive(store, wait):
        recover_locked(store)
        outdated = _outdated(store, keep, of or ())
        roots = set(also)
        for lock in (locks := registered(store)):
            roots |= lock.digests
        for slug in store.generations.slugs():
            for number in store.generations.numbers(slug):
                if (slug, number) not in outdated:
                    roots |= store.generations.read(slug, number).digests()
        with io_at("cannot look into", store.state):
            spare = _spare(store, roots, grace)
        size = temporaries = 0
        for slug, number in () if dry else outdated:  # before what they name: none may be left without it
            with io_at("cannot remove", store.generations.folder(slug)):
                store.generations.remove(slug, number)
        for digest, length in spare:
            size += length
            if not dry:
                with io_at("cannot remove", digest):
                    store.blobs.remove(digest)
        if not dry:
            with io_at("cannot tidy", store.state):
                temporaries = store.blobs.remove_temporaries(grace)
        absent = tuple(sorted(lock.path for lock in locks if not os.path.lexists(lock.path)))
    return Collected(len(spare), size, tuple(outdated), temporaries, absent)


def _outdated(store: Store, keep: int | None, of: Collection[str]) -> list[tuple[str, int]]:
    """The generations that go, oldest first."""
    found: list[tuple[str, int]] = []
    for slug in store.generations.slugs() if keep is not None else ():
        if of and target_of_slug(slug) not in of:
            continue
        current = store.generations.current_number(slug)
        numbers = [n for n in store.generations.numbers(slug) if n <= current]
        found += [(slug, number) for number in numbers[: -max(keep or 1, 1)]]
    return found


def _spare(store: Store, roots: Collection[str], grace: int) -> list[tuple[str, int]]:
    """Blobs that nothing names, with their size. Their age is told by the clock of their own file system."""
    found: list[tuple[str, int]] = []
    now = store.blobs.clock()
    for digest in store.blobs.digests():
        status = store.blobs.status(digest) if digest not in roots else None
        if status is not None and status.st_mtime <= now - grace:
            found.append((digest, status.st_size))
    return found


def _folder(store: Store) -> str:
    return f"{store.state}/{_LOCKS}"
