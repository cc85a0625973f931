"""Folders that are new as a whole: filled while they are staged, and put in place by one rename each.

A host never finds such a folder half full, and one step takes the place of one for every file. In the staging
folder `<n>.tree` is what subtree n puts in place; its files have their final names there. Where somebody made
the folder meanwhile, the files are taken out of the subtree, under the names that all others are staged by
(see `workbench`), and put in place one by one.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Mapping, Sequence

from .faults import io_at
from .filesystem import FileSystem
from .journal import Journal, Operation, Place, Step, Subtree
from .roots import Ground, split

TREE = ".tree"
"""What the name of a staged subtree ends in."""
_OCCUPIED = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR})
_NOT_AS_ONE = _OCCUPIED | {errno.EXDEV}  # some file systems move a file to another folder, but no folder


def goes_whole(operation: Operation) -> bool:
    """Whether an operation may be one of a subtree: a file that is put where nothing stands."""
    return operation.step is Step.PUT and operation.old is None and operation.new is not None


def subtrees_of(
    ground: Ground,
    made: Mapping[str, Place],
    stages: Mapping[str, int],
    operations: Iterable[Operation],
) -> tuple[Subtree, ...]:
    """The outermost of the folders `made` that can be staged whole.

    `made` and `stages` are by full path, `made` outermost first. A folder that a staging folder is to be in,
    or one above that, has to be there first; what is in a subtree has to be staged in one place.
    """
    needed = {full for full in made if any(f"{stage}/".startswith(f"{full}/") for stage in stages)}
    top_of: dict[str, str] = {}
    for full in made:
        if full not in needed:
            top_of[full] = top_of.get(full.rpartition("/")[0], full)
    if not top_of:
        return ()
    stage_of: dict[str, set[int]] = {}
    for key, stages_there in _stages_by_folder(operations).items():
        top = top_of.get(ground.path(*key))
        if top is not None:
            stage_of.setdefault(top, set()).update(stages_there)
    return tuple(
        Subtree(made[top], min(found))
        for top in dict.fromkeys(top_of.values())
        if len(found := stage_of.get(top, ())) == 1
    )


def _stages_by_folder(operations: Iterable[Operation]) -> dict[tuple[int, str], set[int]]:
    found: dict[tuple[int, str], set[int]] = {}
    for operation in operations:
        key = operation.place.anchor, split(operation.place.path)[0]
        found.setdefault(key, set()).add(operation.stage)
    return found


class Subtrees:
    """The subtrees of one journal on disk. `benches` are the staging folders, as anchor and path."""

    def __init__(
        self, fs: FileSystem, journal: Journal, ground: Ground, benches: Sequence[tuple[int, str]]
    ) -> None:
        self._fs = fs
        self._journal = journal
        self._ground = ground
        self._benches = benches
        # Full path of a folder that is made in a subtree -> number of that, and path in the staging folder.
        self._folders: dict[str, tuple[int, str]] = {}
        self.done: frozenset[int] = frozenset()
        """Operations that need nothing more, since their subtree was put in place as one."""
        self._in_place: set[int] = set()
        tops = {ground.path(t.place.anchor, t.place.path): n for n, t in enumerate(journal.subtrees)}
        for place in journal.made if tops else ():
            full = ground.path(place.anchor, place.path)
            above, _, name = full.rpartition("/")
            if full in tops:
                self._folders[full] = tops[full], f"{tops[full]}{TREE}"
            elif above in self._folders:
                number, path = self._folders[above]
                self._folders[full] = number, f"{path}/{name}"
        self._staged = self._staged_places()

    def _staged_places(self) -> dict[int, tuple[int, tuple[int, str], str]]:
        """Number of an operation -> its subtree, the folder that it is staged in, and its name there."""
        found: dict[int, tuple[int, tuple[int, str], str]] = {}
        folders: dict[tuple[int, str], tuple[int, tuple[int, str]] | None] = {}
        for number, operation in enumerate(self._journal.operations if self._folders else ()):
            if not goes_whole(operation):
                continue
            folder, name = split(operation.place.path)
            key = operation.place.anchor, folder
            if key not in folders:
                inside = self._folders.get(self._ground.path(*key))
                folders[key] = None if inside is None else (inside[0], self._below(*inside))
            known = folders[key]
            if known is not None:
                found[number] = (*known, name)
        return found

    def __contains__(self, place: Place) -> bool:
        """Whether the folder `place` is made in a subtree."""
        return bool(self._folders) and self._ground.path(place.anchor, place.path) in self._folders

    def staged(self, number: int) -> tuple[int, str] | None:
        """A handle of the folder that operation `number` is staged in, and the file's name there; None where
        it is in no subtree. Raises `FileNotFoundError` where its folder is not staged (any more)."""
        known = self._staged.get(number)
        return None if known is None else (self._ground.folder(*known[1]), known[2])

    def holds(self, number: int) -> bool:
        """Whether operation `number` is still staged in its subtree."""
        try:
            staged = self.staged(number)
        except FileNotFoundError:
            return False
        return staged is not None and self._fs.lstat(*staged) is not None

    def came_in(self, number: int) -> int | None:
        """The subtree that put the file of operation `number` in place; None where none did."""
        return self._staged[number][0] if number in self.done else None

    def folders(self, stage: int) -> list[tuple[int, str]]:
        """The folders of all subtrees in a staging folder, as anchor and path, outermost first."""
        return [
            self._below(subtree, path)
            for subtree, path in self._folders.values()
            if self._journal.subtrees[subtree].stage == stage
        ]

    def changed(self) -> set[Place]:
        """The folders whose names were changed by putting subtrees in place."""
        places = {t.place for t in self._journal.subtrees}
        if len(self._in_place) < len(self._journal.subtrees):
            places |= {p for p in self._journal.made if p in self}
        return {Place(p.anchor, split(p.path)[0]) for p in places}

    # -- steps -------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Make the folders of all subtrees where they are staged. Raises E-IO-…."""
        for full, (subtree, path) in self._folders.items():
            above, name = split(path)
            with io_at("cannot make", full):
                self._fs.make_dir(self._folder(subtree, above), name, 0o777)

    def forward(self, *, first: bool) -> None:
        """Put every subtree in place, before any operation is done by itself. Where this is not the `first`
        try, files may have been taken out before, so each operation is looked at all the same.

        Raises E-IO-…, E-CONFINE-….
        """
        for number, subtree in enumerate(self._journal.subtrees):
            with io_at("cannot write", lambda s=subtree: self._path(s.place)):  # type: ignore[misc]  # called at once
                above, _ = split(subtree.place.path)
                if not first and self._ground.is_gone(subtree.place.anchor, above):
                    continue  # since the crash: see `Workbench.deserted`
                if self._move(number, subtree):
                    self._in_place.add(number)
                else:
                    self._disband(number)
        if first:
            self.done = frozenset(n for n, (tree, *_) in self._staged.items() if tree in self._in_place)

    def _move(self, number: int, subtree: Subtree) -> bool:
        """Put one in place; False where it cannot be as one, or was by an earlier try."""
        above, name = split(subtree.place.path)
        bench, staged = self._bench(number), f"{number}{TREE}"
        try:
            self._fs.rename_new(bench, staged, self._ground.folder(subtree.place.anchor, above), name)
        except FileNotFoundError:
            if self._fs.lstat(bench, staged) is not None:
                raise
            return False
        except OSError as error:
            if error.errno not in _NOT_AS_ONE:
                raise
            return False
        return True

    def _disband(self, number: int) -> None:
        """Take the files out of a subtree that is staged yet, and see to it that their folders are there."""
        bench = self._bench(number)
        if self._fs.lstat(bench, f"{number}{TREE}") is None:
            return
        for place in self._journal.made:
            if self._folders.get(self._path(place), (-1, ""))[0] == number:
                above, name = split(place.path)
                with contextlib.suppress(FileExistsError):
                    self._fs.make_dir(self._ground.folder(place.anchor, above), name, 0o777)
                self._ground.folder(place.anchor, place.path)  # what is no folder is told before a file moves
        for operation, (subtree, *_) in self._staged.items():
            if subtree == number:
                self._take_out(operation)

    def _take_out(self, number: int) -> None:
        try:
            staged = self.staged(number)
            if staged is None or self._fs.lstat(*staged) is None:
                return  # by an earlier try
        except FileNotFoundError:
            return
        bench = self._ground.folder(*self._benches[self._journal.operations[number].stage])
        try:
            self._fs.rename_new(*staged, bench, f"{number}.new")
        except FileExistsError:  # a second name of the same file, left where a move is two steps
            self._fs.unlink(*staged)

    def clear(self, name: str) -> bool:
        """Remove the subtree that is staged as `name`, with all that is in it; False where it is none.

        Raises `OSError`.
        """
        number = name.removesuffix(TREE)
        if number == name:
            return False
        inner = [path for subtree, path in self._folders.values() if str(subtree) == number]
        for path in reversed(inner):
            above, last = split(path)
            try:
                handle = self._folder(int(number), path)
            except FileNotFoundError:
                continue
            for file in self._fs.list_dir(handle):
                self._fs.unlink(handle, file)
            self._fs.remove_dir(self._folder(int(number), above), last)
        return bool(inner)

    # -- small -------------------------------------------------------------------------------------------

    def _path(self, place: Place) -> str:
        return self._ground.path(place.anchor, place.path)

    def _bench(self, number: int) -> int:
        return self._ground.folder(*self._benches[self._journal.subtrees[number].stage])

    def _below(self, subtree: int, path: str) -> tuple[int, str]:
        anchor, staging = self._benches[self._journal.subtrees[subtree].stage]
        return anchor, f"{staging}/{path}" if path else staging

    def _folder(self, subtree: int, path: str) -> int:
        return self._ground.folder(*self._below(subtree, path))
