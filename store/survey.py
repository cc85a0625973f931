"""What a preflight finds out as it goes: pinned roots, folders, filled contents, and every problem met.

One `Survey` serves one preflight and the transaction that follows it; it only reads.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ..capabilities.canonical import sha256_digest
from ..capabilities.errors import Exit, GsdlockError, shown
from ..lockfiles.placeholders import Fillings
from .choices import Choices, Named, Problem
from .drift import Say, Seen
from .faults import io_error
from .filesystem import is_regular, kind_of, permissions
from .journal import Place
from .records import EditedRecord, Generation, Kept
from .roots import Ground, Pinned, link_refusal, pin, split, writable
from .store import Store
from .wanted import Validator, Wanted, filled

T = TypeVar("T")

_NOTHING_SAID = Say()
_MOST_CACHED = 64 << 20  # bytes of contents that are kept from the preflight for staging


class TargetChange(Struct, frozen=True):
    """One target to be changed: `next` is what it shall hold, None to leave it.

    `restores` maps full paths to what shall stand there again: on a rollback where the path is as we left it;
    with `force` (the verb restore) in any case, as the user's version from then on, and nothing else of the
    target is looked at. `reinstated` are, on a rollback, the records of shared files (by full path) that hold
    again with the bytes restored there. `validators` judge merged files by `root:path`, those of a target
    that leaves too. `assumes` is what another tool installed, as a generation: it is gone on from where there
    is none, or one that left, and what takes the place of its files is kept in the store.
    """

    slug: str
    next: Wanted | None
    restores: Mapping[str, Kept] = field(default_factory=dict)
    reinstated: Mapping[str, EditedRecord] = field(default_factory=dict)
    force: bool = False
    returns: int | None = None
    validators: Mapping[str, Validator] = field(default_factory=dict)
    assumes: Generation | None = None


class Spot(Struct, frozen=True):
    """One path on disk: its full path, where that is below a pinned directory, the root it belongs to with
    its device, and whether a group can write in that root."""

    full: str
    place: Place
    root: Place
    device: int
    group_writable: bool


class FolderFacts(Struct, frozen=True):
    """A folder, or where it is missing the nearest one above it that exists. `missing` are the folders to be
    made, outermost first; `device` is that of the existing one, `nearest` its place."""

    missing: tuple[Place, ...]
    nearest: Place
    device: int


class Survey:
    """See the module. `currents` are the current generations of all targets of the state folder; `restoring`
    and `assuming` say whether any change restores something, or goes on from another tool's install."""

    def __init__(self, store: Store, changes: Sequence[TargetChange], choices: Choices) -> None:
        self.store = store
        self.changes = changes
        self.choices = choices
        self.restoring = any(change.restores for change in changes)
        self.assuming = any(change.assumes is not None for change in changes)
        self.currents: dict[str, Generation] = store.generations.currents()
        for change in changes:
            known = self.currents.get(change.slug)
            if change.assumes is not None and (known is None or known.left):
                number = known.number if known is not None else 0
                self.currents[change.slug] = replace(change.assumes, number=number)
        self.ground = Ground(store.fs, settled=True)
        self.problems: list[Problem] = []
        self.named: list[Named] = []
        self._pins: dict[str, Pinned | None] = {}
        self._folders: dict[tuple[int, str], FolderFacts | None] = {}
        self._bases: dict[str, tuple[Pinned, Place, str, str]] = {}
        self._fillings: dict[str, tuple[Wanted, Fillings]] = {}
        self._contents: dict[tuple[str, str], bytes] = {}
        self._cached = 0
        self._digests: dict[tuple[str, str], str] = {}

    def name_of(self, change: TargetChange) -> str:
        """The name of the target that a change is about, as the manifest has it."""
        known = change.next or self.currents.get(change.slug)
        return known.target if known is not None else change.slug

    def close(self) -> None:
        """Give all handles back."""
        self.ground.close()

    # -- problems ----------------------------------------------------------------------------------------

    def refuse(
        self,
        code: str,
        target: str,
        key: str,
        path: str,
        text: str,
        fix: str,
        lines: Sequence[str] = (),
        status: int = Exit.REFUSED,
    ) -> None:
        """Note a problem; the survey goes on, so that all are found in one go."""
        self.problems.append(Problem(code, target, key, path, text, fix, status, tuple(lines)))

    def collect(self, target: str, key: str, path: str, look: Callable[[], T]) -> T | None:
        """What `look` gives; None where it was refused, which is noted as a problem."""
        try:
            return look()
        except GsdlockError as error:
            self.refuse(error.code, target, key, path, error.what, error.fix, error.details, error.status)
        except OSError as error:
            fault = io_error(error, "cannot read", path)
            self.refuse(fault.code, target, key, path, fault.what, fault.fix)
        return None

    def say(self, key: str, *paths: str, at: str | None = None) -> Say:
        """What the user said about a path or entry; remembers that it exists."""
        if not self.choices:
            return _NOTHING_SAID
        named = Named(key, tuple(dict.fromkeys(paths)), at)
        self.named.append(named)
        return self.choices.say(named)

    # -- places ------------------------------------------------------------------------------------------

    def pinned(self, target: str, path: str) -> Pinned | None:
        """The root at `path`, judged once; None where it is refused."""
        if path not in self._pins:
            self._pins[path] = self.collect(
                target, "", path, lambda: pin(self.store.fs, path, self.store.user_id, self.store.home)
            )
        return self._pins[path]

    def spot(self, root: Pinned, path: str) -> Spot:
        """Where `path` below a root is."""
        known = self._bases.get(root.given)
        if known is None or known[0] is not root:
            anchor = self.ground.add(root.anchor, (root.device, root.inode))
            below = f"{root.below}/" if root.below else ""
            known = root, Place(anchor, root.below), f"{root.real.rstrip('/')}/", below
            self._bases[root.given] = known
        _, place, above, below = known
        return Spot(
            full=above + path,
            place=Place(place.anchor, below + path),
            root=place,
            device=root.device,
            group_writable=root.group_writable,
        )

    def roots_of(self, generation: Generation) -> dict[str, Pinned | None]:
        """Where the roots of a generation are now. A root that was put behind a link since (dotfiles) is
        followed there; else it is where the generation says."""
        return {
            name: self.pinned(generation.target, root.real if self._stands(root.real) else root.given)
            for name, root in generation.roots.items()
        }

    def _stands(self, real: str) -> bool:
        try:
            return self.store.fs.real_path(real) == real
        except OSError:
            return False

    def spot_of(self, full: str) -> Spot:
        """Where a full resolved path is whose folder is no root, such as what a link leads to.

        Good for looking; `judge_folder` says whether it may be written. Raises E-CONFINE-LINK, `OSError`.
        """
        folder, name = os.path.split(full)
        real = self.store.fs.real_path(folder)
        if real != folder:
            raise link_refusal(folder, real)
        handle = self.store.fs.open_root(folder)
        try:
            status = self.store.fs.stat_dir(handle)
        finally:
            self.store.fs.close(handle)
        anchor = self.ground.add(folder, (status.st_dev, status.st_ino))
        return Spot(
            full=full,
            place=Place(anchor, name),
            root=Place(anchor, ""),
            device=status.st_dev,
            group_writable=bool(status.st_mode & stat.S_IWGRP),
        )

    def judge_folder(self, full: str) -> None:
        """Whether the folder of a path that is in no root may be written in. Raises as `roots.pin` does."""
        pin(self.store.fs, os.path.dirname(full), self.store.user_id, self.store.home)

    def look(self, spot: Spot) -> tuple[Seen, os.stat_result | None, bytes]:
        """What stands there: in short, its status, and its bytes where it is a file.

        Raises E-CONFINE-LINK, E-CONFINE-KIND (for a folder on the way), `OSError`.
        """
        status = self.ground.look(spot.place.anchor, spot.place.path)
        if status is None:
            return Seen("absent"), None, b""
        if not is_regular(status):
            return Seen(kind_of(status)), status, b""
        data = self.ground.read(spot.place.anchor, spot.place.path)
        return Seen("file", sha256_digest(data), permissions(status)), status, data

    def folder(self, target: str, spot: Spot) -> FolderFacts | None:
        """The folder that `spot` is in; None where it is refused. Looked at once."""
        key = spot.place.anchor, split(spot.place.path)[0]
        if key not in self._folders:
            place = Place(*key)
            full = self.ground.path(place.anchor, place.path)
            self._folders[key] = self.collect(target, "", full, lambda: self._facts(place))
        return self._folders[key]

    def new_folder(self, spot: Spot) -> FolderFacts | None:
        """The folder that `spot` is in, where it does not exist yet; None where it does, or where anything is
        to be said against it, which is left to `folder` and `look`."""
        key = spot.place.anchor, split(spot.place.path)[0]
        facts = self._folders.get(key)
        if facts is None:
            try:
                facts = self._folders[key] = self._facts(Place(*key))
            except (GsdlockError, OSError):
                return None
        return facts if facts.missing else None

    def _facts(self, place: Place) -> FolderFacts:
        missing: list[Place] = []
        while True:
            known = self._folders.get((place.anchor, place.path))
            if known is not None:
                return FolderFacts((*known.missing, *missing), known.nearest, known.device)
            try:
                handle = self.ground.folder(place.anchor, place.path)
                break
            except FileNotFoundError:
                if not place.path:
                    raise
                missing.insert(0, place)
                place = Place(place.anchor, split(place.path)[0])
        status = self.store.fs.stat_dir(handle)
        full = self.ground.path(place.anchor, place.path)
        if not writable(status, self.store.user_id):
            raise _read_only(full, permissions(status))
        return FolderFacts(tuple(missing), place, status.st_dev)

    # -- contents ----------------------------------------------------------------------------------------

    def fillings(self, wanted: Wanted) -> Fillings:
        """What placeholders stand for in `wanted`; put together once."""
        known = self._fillings.get(wanted.target)
        if known is None or known[0] is not wanted:
            known = self._fillings[wanted.target] = wanted, wanted.fillings
        return known[1]

    def content(self, source: str, fillings: Fillings | None = None, key: str = "", slug: str = "") -> bytes:
        """The bytes of a blob, filled in for the target `slug` where `fillings` is given. Some are kept for
        the next call. Raises E-BLOB-…, E-FILL-….
        """
        mark = (source, slug if fillings is not None else "")
        data = self._contents.get(mark)
        if data is None:
            data = self.store.blobs.get(source)
            if fillings is not None:
                data = filled(data, fillings, key)
            if self._cached + len(data) <= _MOST_CACHED:
                self._contents[mark] = data
                self._cached += len(data)
        return data

    def holds(self, source: str, slug: str) -> bool:
        """Whether the bytes of a blob (filled in for the target `slug`; empty: not) were seen already."""
        return (source, slug) in self._contents

    def digest(self, source: str, fillings: Fillings, key: str, slug: str) -> str:
        """The digest of what `content` gives with these fillings; worked out once. Raises as that does."""
        mark = (source, slug)
        if mark not in self._digests:
            self._digests[mark] = sha256_digest(self.content(source, fillings, key, slug))
        return self._digests[mark]


def _read_only(path: str, mode: int) -> GsdlockError:
    return GsdlockError(
        "E-ROOT-READONLY",
        f"{shown(path, 400)} is read-only (mode {mode:04o})",
        "If another tool manages this folder, let it place the files; else make it writable.",
        status=Exit.REFUSED,
        where=shown(path, 4096),
    )
