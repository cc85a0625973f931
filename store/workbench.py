"""One transaction at work: staging, each operation forward and backward, and cleaning up.

In a staging folder `<n>.new` is what operation n puts in place, and after an exchange what it took out;
`<n>.old` is what was taken out otherwise. Where an operation stands is read off these names and the bytes
behind them, so forward and backward may be begun again after a crash at any point, and after a loss of power
that kept any of the steps without the others. The exchange of two names in one atomic step
(`FileSystem.exchange`) both puts the new file in place and takes the old one out, whichever that is at that
very moment; only then it is looked at, and if it is not what was found before, it goes back. Where the system
has no such step, the old file gets a second name first and the new one is renamed over it.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Sequence

from ..capabilities.canonical import sha256_digest
from ..capabilities.errors import refused, shown
from .faults import io_at
from .filesystem import FLUSH_ONE_BY_ONE, is_regular, kind_of, permissions
from .journal import Journal, Operation, Place
from .records import Kept
from .roots import Ground, split
from .store import Store
from .subtrees import Subtrees

_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EMLINK})
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY})

_MOST_EXCHANGES = 50  # a program that writes more often than this in a few milliseconds is out of order


class RaceError(Exception):
    """Somebody changed a file between our look and our step; it stands as they left it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Workbench:
    """The operations of one journal on disk; `ground` has the journal's anchors by the same numbers.

    `recovering`: the process that wrote the journal is gone, nobody can be asked and nothing refused any
    more: what somebody put in our way meanwhile is kept in the store, and noted in `displaced` by full path.
    """

    def __init__(self, store: Store, journal: Journal, ground: Ground, *, recovering: bool) -> None:
        self.store = store
        self.fs = store.fs
        self.journal = journal
        self.ground = ground
        self.recovering = recovering
        self.displaced: dict[str, Kept] = {}
        name = journal.staging
        self._benches = [(p.anchor, f"{p.path}/{name}" if p.path else name) for p in journal.stages]
        self.subtrees = Subtrees(self.fs, journal, ground, self._benches)

    def path(self, place: Place) -> str:
        """The full path of a place."""
        return self.ground.path(place.anchor, place.path)

    # -- before ------------------------------------------------------------------------------------------

    def make_folders(self) -> None:
        """Make the missing folders, and the staging folders. Raises E-IO-…, E-CONFINE-…."""
        self.ground.unsettle()
        for place in self.journal.made:
            if place in self.subtrees:
                continue
            folder, name = split(place.path)
            with io_at("cannot make", self.path(place)), contextlib.suppress(FileExistsError):
                self.fs.make_dir(self.ground.folder(place.anchor, folder), name, 0o777)
        for place in self.journal.stages:
            with io_at("cannot write in", self.path(place)):
                self.fs.make_dir(self.ground.folder(place.anchor, place.path), self.journal.staging, 0o700)
        self.subtrees.make()

    def stage(self, number: int, data: bytes, *, alike: bool) -> None:
        """Write what operation `number` puts in place; with `alike`, with the group and attributes of the
        file that it replaces. Raises E-IO-…."""
        operation = self.journal.operations[number]
        assert operation.new is not None, "an operation without new bytes is not staged"
        with io_at("cannot write", lambda: self.path(operation.place)):
            model = self.target(operation) if alike else None
            folder, name = self._staged(number)
            self.fs.create(folder, name, data, operation.new.mode, model)

    def flush_staged(self) -> set[int]:
        """What is staged, and the folders made, are on the medium when this returns. The devices of the file
        systems that were flushed as a whole for it. Raises E-IO-…."""
        numbers: dict[int, list[int]] = {}
        for number, operation in enumerate(self.journal.operations):
            if operation.new is not None:
                numbers.setdefault(operation.stage, []).append(number)
        done: set[int] = set()
        for stage, place in enumerate(self.journal.stages):
            with io_at("cannot write in", self.path(place)):
                self._flush_stage(stage, numbers.get(stage, []), done)
        made = {Place(p.anchor, split(p.path)[0]) for p in self.journal.made if p not in self.subtrees}
        self._flush({*made, *self.journal.stages}, done)
        return done

    def _flush_stage(self, stage: int, numbers: Sequence[int], done: set[int]) -> None:
        """Flush what a staging folder holds: one by one, or its file system as a whole (noted in `done`)."""
        bench = self.ground.folder(*self._benches[stage])
        device = self.fs.stat_dir(bench).st_dev
        if device in done:
            return
        folders = [*self.subtrees.folders(stage), self._benches[stage]]
        if len(numbers) + len(folders) > FLUSH_ONE_BY_ONE and self.fs.flush_all(bench):
            done.add(device)
            return
        for number in numbers:
            self.fs.flush_file(*self._staged(number))
        for folder in folders:
            self.fs.flush_dir(self.ground.folder(*folder))

    # -- forward -----------------------------------------------------------------------------------------

    def forward(self, number: int) -> None:
        """A whole file put in place, or taken away; nothing where that is done.

        Raises `RaceError`, E-IO-…, E-CONFINE-….
        """
        if number in self.subtrees.done:
            return
        operation = self.journal.operations[number]
        with io_at("cannot write", lambda: self.path(operation.place)):
            if self.deserted(operation):
                return
            if operation.new is None:
                self.take(number, operation, strict=not self.recovering)
            else:
                self.put(f"{number}.new", number, operation, strict=not self.recovering)

    def deserted(self, operation: Operation) -> bool:
        """Whether the folder of a file was taken away since a crash: with all that was in it, and would have
        come into it. Raises E-CONFINE-MOVED, and `OSError`."""
        place = operation.place
        return self.recovering and self.ground.is_gone(place.anchor, split(place.path)[0])

    def put(self, new: str, number: int, operation: Operation, *, strict: bool) -> None:
        """Put the staged file `new` in place. `strict`: raise `RaceError` where something else than the old
        file is there, and leave that; else it is kept in the store. Raises `OSError` too."""
        bench = self.bench(operation)
        parent, name = self.target(operation)
        if operation.old is None:
            try:
                if self._put_new(bench, new, parent, name):
                    return
            except FileNotFoundError:
                if self.fs.lstat(bench, new) is None:
                    return  # done
                raise
        elif self.fs.lstat(bench, new) is None:
            return  # done
        if operation.old is None and strict:
            raise RaceError(self.path(operation.place))
        old = f"{number}.old"
        if self.fs.lstat(bench, old) is not None:  # it has its second name, and the last step is missing
            self.fs.rename(bench, new, parent, name)
            return
        if not self._is_exchanged(bench, new, operation):
            try:
                if not self.fs.exchange(bench, new, parent, name):
                    self._put_over(bench, new, old, operation, strict)
                    return
            except FileNotFoundError:
                if strict:
                    raise RaceError(self.path(operation.place)) from None
                self.fs.rename_new(bench, new, parent, name)
                return
        # The old file keeps the new one's name: a second step could survive a power loss without the first.
        if not self.as_found(bench, new, operation) and not self._set_aside(bench, new, operation, strict):
            raise RaceError(self.path(operation.place))

    def take(self, number: int, operation: Operation, *, strict: bool) -> None:
        """Take a file away. `strict`: raise `RaceError` where it is not the old file; else that stays."""
        bench, old = self.bench(operation), f"{number}.old"
        parent, name = self.target(operation)
        if self.fs.lstat(bench, old) is not None or self.fs.lstat(parent, name) is None:
            return  # done, or somebody else did it
        if self.as_found(parent, name, operation):
            self.fs.rename_new(parent, name, bench, old)
            if self.as_found(bench, old, operation):
                return
            with contextlib.suppress(FileExistsError):  # who put another file there has the last word
                self.fs.rename_new(bench, old, parent, name)
        if strict:
            raise RaceError(self.path(operation.place))

    def _put_new(self, bench: int, new: str, parent: int, name: str) -> bool:
        """Put a file where nothing stands; False where something does."""
        try:
            self.fs.rename_new(bench, new, parent, name)
        except FileExistsError:
            ours, there = self.fs.lstat(bench, new), self.fs.lstat(parent, name)
            if ours is None:
                return True  # done: such a disk looks at the new name before the old one
            if there is None or (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino):
                return False
            self.fs.unlink(bench, new)  # it was moved by a second name, and only the first was left over
        return True

    def _put_over(self, bench: int, new: str, old: str, operation: Operation, strict: bool) -> None:
        """Without an exchange: the old file gets a second name (or is copied), then the new one replaces it.

        What another program puts there between our look and the rename is lost; such systems offer no more.
        """
        parent, name = self.target(operation)
        if not self.as_found(parent, name, operation):
            if strict:
                raise RaceError(self.path(operation.place))
            self._keep(parent, name, operation)
        try:
            self.fs.link(parent, name, bench, old)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            mode = operation.old.mode if operation.old is not None else 0o600
            self.fs.create(bench, old, self.fs.read(parent, name), mode)
            self.fs.flush_file(bench, old)
        self.fs.flush_dir(bench)  # else the power could take the second name and leave the new file
        self.fs.rename(bench, new, parent, name)

    def _is_exchanged(self, bench: int, new: str, operation: Operation) -> bool:
        """Whether a crash came right after the exchange: then the staged file is not ours."""
        return self.recovering and not self._is_ours(bench, new, operation)

    def _is_ours(self, bench: int, name: str, operation: Operation) -> bool:
        """Whether a file is the staged one: by its bytes, and by its mode where only that changes."""
        status = self.fs.lstat(bench, name)
        if operation.new is None or status is None or self.digest(bench, name) != operation.new.digest:
            return False
        same = operation.old is not None and operation.old.digest == operation.new.digest
        return not same or permissions(status) == operation.new.mode

    def as_found(self, parent: int, name: str, operation: Operation) -> bool:
        """Whether a file is the one that the preflight found: by inode, size and time, else by its bytes."""
        status = self.fs.lstat(parent, name)
        if not is_regular(status) or status is None or operation.old is None:
            return False
        if (status.st_ino, status.st_size, status.st_mtime_ns) == operation.signature:
            return True
        return self.digest(parent, name) == operation.old.digest

    def _set_aside(self, bench: int, new: str, operation: Operation, strict: bool) -> bool:
        """What came out is not what was found. Keep it and go on, or put it back and say False."""
        status = self.fs.lstat(bench, new)
        if not strict and is_regular(status):
            self._keep(bench, new, operation)
            return True
        self.exchange_back(bench, new, operation)
        if not strict:
            kind = kind_of(status) if status is not None else "nothing"
            raise refused(
                "E-CONFINE-KIND",
                f"{shown(self.path(operation.place), 400)} should be a file, and a {kind} stands there",
                "Move it away, and run it again: what was broken off is then completed.",
            )
        return False

    def exchange_back(self, bench: int, new: str, operation: Operation) -> None:
        """Undo an exchange. Whoever writes meanwhile has the last word: if not what we put there comes out,
        it is newer than what went in, and goes back."""
        parent, name = self.target(operation)
        assert operation.new is not None, "only what is put in place is exchanged"
        put_last = operation.new.digest
        for _ in range(_MOST_EXCHANGES):
            going_in = self.digest(bench, new)
            self.fs.exchange(bench, new, parent, name)
            if self.digest(bench, new) == put_last:
                break
            put_last = going_in
        if self.digest(bench, new) != operation.new.digest:
            self._keep(bench, new, operation)
            self.fs.unlink(bench, new)

    def _keep(self, parent: int, name: str, operation: Operation) -> None:
        """Put somebody's version into the store before it makes way."""
        status = self.fs.lstat(parent, name)
        if status is None:
            return
        digest = self.store.blobs.put(self.fs.read(parent, name))
        self.store.blobs.flush()
        self.displaced[self.path(operation.place)] = Kept(digest, permissions(status))

    # -- backward ----------------------------------------------------------------------------------------

    def backward(self, number: int) -> None:
        """The state before operation `number`, as far as nobody else changed the file since.

        Raises E-IO-…, E-CONFINE-….
        """
        operation = self.journal.operations[number]
        with io_at("cannot put back", self.path(operation.place)):
            self.put_back(f"{number}.new", number, operation)

    def put_back(self, new: str, number: int, operation: Operation) -> bool:
        """See `backward`; False where somebody changed the file since, which is left so. Raises `OSError`."""
        if self.subtrees.holds(number):
            return True  # nothing was put in place
        bench, old = self.bench(operation), f"{number}.old"
        try:
            parent, name = self.target(operation)
        except FileNotFoundError:
            return True  # the folder is gone, and with it whatever we did there
        staged, taken = self.fs.lstat(bench, new), self.fs.lstat(bench, old)
        there = self.fs.lstat(parent, name)
        if operation.new is None:
            if taken is not None:
                with contextlib.suppress(FileExistsError):
                    self.fs.rename_new(bench, old, parent, name)
            return True
        if staged is not None:
            return self._put_back_begun(bench, new, old, operation)
        if there is None:
            if taken is not None:
                self.fs.rename_new(bench, old, parent, name)
            return True
        if taken is None and operation.old is not None:
            return True  # back already
        if not is_regular(there) or self.digest(parent, name) != operation.new.digest:
            return False
        if taken is None:
            self.fs.rename_new(parent, name, bench, new)
        elif self.fs.exchange(bench, old, parent, name):
            self.fs.rename(bench, old, bench, new)
        else:
            self.fs.rename(bench, old, parent, name)
        return True

    def _put_back_begun(self, bench: int, new: str, old: str, operation: Operation) -> bool:
        """There is something in the place of the staged file: it itself, if nothing was put in place yet, or
        what was exchanged for it. False where somebody changed the file since."""
        parent, name = self.target(operation)
        there = self.fs.lstat(parent, name)
        if self.fs.lstat(bench, old) is not None:
            self.fs.unlink(bench, old)
        elif operation.old is None:
            ours = self.fs.lstat(bench, new)
            if ours and there and (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino):
                self.fs.unlink(parent, name)
        elif self._is_ours(bench, new, operation):
            pass
        elif there is None:
            self.fs.rename_new(bench, new, parent, name)
        elif not self._is_ours(parent, name, operation):
            return False
        else:
            self.fs.exchange(bench, new, parent, name)
        return True

    # -- after -------------------------------------------------------------------------------------------

    def flush_done(self) -> None:
        """Every name that was changed is on the medium when this returns. Raises E-IO-…."""
        places = {
            Place(o.place.anchor, split(o.place.path)[0])
            for number, o in enumerate(self.journal.operations)
            if number not in self.subtrees.done
        }
        self._flush(places | self.subtrees.changed())

    def missing(self) -> str | None:
        """The path of a file that was put in place and cannot be reached now: its folder was moved away."""
        looked: set[int | tuple[int, str]] = set()
        for number, operation in enumerate(self.journal.operations):
            place = operation.place
            # A folder that was moved away took all of its files along, and a subtree came to one place.
            came = self.subtrees.came_in(number)
            folder = (place.anchor, split(place.path)[0]) if came is None else came
            if operation.new is None or folder in looked:
                continue
            looked.add(folder)
            if self.ground.look(place.anchor, place.path) is None:
                return self.path(place)
        return None

    def clean(self) -> None:
        """Remove the staging folders with all that is in them. Raises E-IO-…."""
        for place in self.journal.stages:
            with io_at("cannot clean up in", self.path(place)):
                try:
                    bench = self.fs.open_dir(
                        self.ground.folder(place.anchor, place.path), self.journal.staging
                    )
                except FileNotFoundError:
                    continue
                try:
                    for name in self.fs.list_dir(bench):
                        if not self.subtrees.clear(name):
                            self.fs.unlink(bench, name)
                finally:
                    self.fs.close(bench)
                # Its handle anew: there may have been many folders to walk through.
                self.fs.remove_dir(self.ground.folder(place.anchor, place.path), self.journal.staging)

    def remove_folders(self, places: tuple[Place, ...]) -> None:
        """Remove folders, innermost first, that are empty; others stay. Raises E-IO-…."""
        self.ground.forget()
        for place in places:
            folder, name = split(place.path)
            with io_at("cannot remove", self.path(place)):
                try:
                    parent = self.ground.reached(place.anchor, folder)
                    if parent is not None:
                        self.fs.remove_dir(parent, name)
                except OSError as error:
                    if error.errno not in _NOT_EMPTY:
                        raise

    def flush_cleaned(self, places: tuple[Place, ...]) -> None:
        """That the staging folders and the folders `places` are gone is on the medium when this returns: only
        then may the journal go, which alone knows of them. Raises E-IO-…."""
        self._flush({*self.journal.stages, *(Place(p.anchor, split(p.path)[0]) for p in places)})

    # -- small -------------------------------------------------------------------------------------------

    def bench(self, operation: Operation) -> int:
        """A handle of the staging folder of an operation."""
        return self.ground.folder(*self._benches[operation.stage])

    def _staged(self, number: int) -> tuple[int, str]:
        """A handle of the folder that the new file of an operation is staged in, and its name there."""
        return self.subtrees.staged(number) or (self.bench(self.journal.operations[number]), f"{number}.new")

    def target(self, operation: Operation) -> tuple[int, str]:
        """A handle of the folder of an operation's file, and the file's name."""
        folder, name = split(operation.place.path)
        return self.ground.folder(operation.place.anchor, folder), name

    def digest(self, parent: int, name: str) -> str:
        """The digest of a file's bytes; empty where it is no file."""
        if not is_regular(self.fs.lstat(parent, name)):
            return ""
        return sha256_digest(self.fs.read(parent, name))

    def _flush(self, places: set[Place], done: set[int] | None = None) -> None:
        """Flush folders: one by one, or each file system as a whole where they are many. `done` are devices
        that were flushed already."""
        done = set() if done is None else done
        for place in sorted(places, key=lambda p: (p.anchor, p.path)):
            with io_at("cannot write in", self.path(place)):
                handle = self.ground.reached(place.anchor, place.path)
                if handle is None:
                    continue
                device = self.fs.stat_dir(handle).st_dev
                if device in done:
                    continue
                if len(places) > FLUSH_ONE_BY_ONE and self.fs.flush_all(handle):
                    done.add(device)
                else:
                    self.fs.flush_dir(handle)
