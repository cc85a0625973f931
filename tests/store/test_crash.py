"""Killed before any change of the disk, at every one of them: after recovery all is old, or all is new.

The real command is killed in `tests/faults`; here the transaction is, in more scenes. A full run
(GSDLOCK_FULL=1) tries each change, else GSDLOCK_SEED says which.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.doctor import mend
from gsdlock.store.filesystem_decorators import CHANGING, FLUSHING, Faulty
from gsdlock.store.journal import Journals
from gsdlock.store.recovery import recover
from gsdlock.store.restore import going_back

from ..faults.children import Unflushed


class OnlyRename(Unflushed):
    """A disk without hard links and without any flag of a rename, as FAT and some network ones are."""

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        return False

    def link(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), to_name)

    def rename_new(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        if self.lstat(to_parent, to_name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to_name)
        self.rename(parent, name, to_parent, to_name)


MINE = '{\n  "model": "opus" // mine\n}\n'


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", value)


def version(world: Any, number: int, target: str = "host") -> Any:
    """Two versions of a plan: files that stay, change, come and go, a script, and an entry."""
    files = {"stays.md": "stays", f"{target}/changes.md": f"v{number}", f"only{number}/x.md": "x"}
    files = {f"{target}/{path}": text for path, text in files.items()}
    files[f"{target}/run.sh"] = (f"#!/bin/sh\n{number}\n", 0o755)
    return world.wanted(files, [hook(f"{target}{number}.sh")], target=target)


def nothing(world: Any) -> None:
    world.root.mkdir()
    (world.root / "settings.json").write_text(MINE)


def fresh(world: Any) -> None:
    pass


def installed(world: Any) -> None:
    nothing(world)
    world.apply(version(world, 1))


def installed_with_notes(world: Any) -> None:
    installed(world)
    (world.root / "host/only1/NOTES.md").write_text("mine")
    (world.root / "host/run.sh").write_text("edited")


def upgraded(world: Any) -> None:
    installed(world)
    world.apply(version(world, 2))


def linked(world: Any) -> None:
    world.root.mkdir()
    (world.home / "dotfiles").mkdir()
    (world.home / "dotfiles/settings.json").write_text(MINE)
    (world.root / "settings.json").symlink_to("../dotfiles/settings.json")


def two_installed(world: Any) -> None:
    nothing(world)
    world.apply(version(world, 1, "one"), version(world, 1, "two"))


def with_mode(world: Any, mode: int) -> Any:
    """A plan of a script, and of a file that stays: of two of them nothing but a mode differs."""
    return world.wanted({"run.sh": ("#!/bin/sh\n", mode), "stays.md": "stays"})


def not_to_be_run(world: Any) -> None:
    world.apply(with_mode(world, 0o644))


def to_be_run(world: Any) -> Any:
    return world.apply(with_mode(world, 0o755))


def to_one(world: Any) -> Any:
    return world.apply(version(world, 1))


def to_two(world: Any) -> Any:
    return world.apply(version(world, 2))


def to_two_with_ours(world: Any) -> Any:
    return world.apply(version(world, 2), ours=["*"])


def leave(world: Any) -> Any:
    return world.apply(None)


def back(world: Any) -> Any:
    return world.apply(going_back(world.store, "host@default", 1))


def both(world: Any) -> Any:
    return world.apply(version(world, 2, "one"), version(world, 2, "two"))


def one_leaves(world: Any) -> Any:
    return world.apply(world.change(None, target="one"), version(world, 2, "two"))


SCENARIOS: dict[str, tuple[Callable[[Any], None], Callable[[Any], Any]]] = {
    "install into a new root": (fresh, to_one),
    "install beside the user's settings": (nothing, to_one),
    "install through a link": (linked, to_one),
    "upgrade": (installed, to_two),
    "upgrade over edits": (installed_with_notes, to_two_with_ours),
    "leave": (installed, leave),
    "leave a linked file": (lambda w: (linked(w), w.apply(version(w, 1)))[0], leave),
    "go back": (upgraded, back),
    "two targets": (two_installed, both),
    "one leaves, one upgrades": (two_installed, one_leaves),
    "only a mode changes": (not_to_be_run, to_be_run),
}


def numbers(world: Any) -> dict[str, int]:
    return {slug: g.number for slug, g in world.store.generations.currents().items()}


def finished(world: Any) -> tuple[Any, dict[str, int]]:
    """What stands, after it was seen that nothing of a transaction is left."""
    assert Journals(world.fs, str(world.state)).pending() == []
    assert not [p for p in world.home.rglob("*") if ".gsdlock-" in p.name]
    for slug, number in numbers(world).items():
        assert world.store.generations.numbers(slug)[-1] == number
    return world.tree(), numbers(world)


class Scene:
    """A world as `prepare` left it, to be played in again and again from the same start."""

    def __init__(self, kind: Any, folder: Path, prepare: Callable[[Any], Any]) -> None:
        self.world = kind(folder / "now/home", folder / "now/data", folder / "now/state", Unflushed())
        self._now, self._start = folder / "now", folder / "start"
        for part in ("home", "data", "state"):
            (self._now / part).mkdir(parents=True, mode=0o700)
        prepare(self.world)
        shutil.copytree(self._now, self._start, symlinks=True)

    def again(self) -> Any:
        """The world from the start."""
        shutil.rmtree(self._now)
        shutil.copytree(self._start, self._now, symlinks=True)
        return self.world


@pytest.fixture
def scene(tmp_path: Path, world: Any) -> Callable[[str], tuple[Scene, Callable[[Any], Any]]]:
    def make(name: str) -> tuple[Scene, Callable[[Any], Any]]:
        prepare, do = SCENARIOS[name]
        return Scene(type(world), tmp_path / "scene", prepare), do

    return make


def counted(world: Any, do: Callable[[Any], Any], methods: Collection[str]) -> int:
    fs = Faulty(world.fs, at=0, methods=methods)
    do(world.using(fs))
    return fs.calls


FULL = os.environ.get("GSDLOCK_FULL") == "1"


def some(last: int, each: int) -> list[int]:
    """Numbers up to `last`: in a full run each so many, else a fourth of these; the seed says which."""
    each = each if FULL else 4 * each
    return list(range(1 + random.Random(os.environ.get("GSDLOCK_SEED")).randrange(each), last + 1, each))


def killed(world: Any, do: Callable[[Any], Any], at: int) -> bool:
    """Run in a child that is killed at change number `at`; whether it came that far."""
    child = os.fork()
    if child == 0:  # pragma: no cover - the child ends here, one way or another
        try:
            die = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
            fs = Faulty(world.fs, at, methods=CHANGING | FLUSHING, instead=die, torn=True)
            do(world.using(fs))
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 3
    return os.WIFSIGNALED(status)


def both_ends(scene: Scene, do: Callable[[Any], Any], methods: frozenset[str]) -> tuple[Any, Any, int]:
    """Old and new (what stands, and the numbers), and how many calls lie between."""
    world = scene.again()
    old = world.tree(), numbers(world)
    calls = counted(world, do, methods)
    new = world.tree(), numbers(world)
    assert old != new
    return old, new, calls


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_change_all_is_old_or_all_is_new(name: str, scene: Any) -> None:
    stage, do = scene(name)
    old, new, changes = both_ends(stage, do, CHANGING | FLUSHING)
    ended = set()
    for at in some(changes, 1):
        world = stage.again()
        assert killed(world, do, at), f"change {at} of {changes} did not come"
        recovered = recover(world.store)
        found = finished(world)
        assert found in (old, new), f"killed before change {at}: neither old nor new"
        ended.add(found == new)
        if recovered:
            assert recovered[0].completed is (found == new)
        do(world)
        assert finished(world)[0] == new[0], f"killed before {at}: the next run does not get there"
    assert ended == {True, False} or not FULL


@pytest.mark.parametrize("name", ["upgrade", "install through a link", "one leaves, one upgrades"])
def test_killed_while_recovering_the_next_one_gets_there(name: str, scene: Any) -> None:
    stage, do = scene(name)
    old, new, changes = both_ends(stage, do, CHANGING | FLUSHING)
    for at in some(changes, 5):
        for again in some(500, 3):
            world = stage.again()
            killed(world, do, at)
            died = killed(world, lambda w: recover(w.store), again)
            recover(world.store)
            assert finished(world) in (old, new), f"killed before {at}, and again before {again}"
            if not died:
                break


@pytest.mark.parametrize("name", ["install beside the user's settings", "upgrade", "leave", "go back"])
def test_killed_on_a_disk_that_can_only_rename(name: str, scene: Any) -> None:
    stage, do = scene(name)
    stage.world = stage.world.using(OnlyRename())
    old, new, changes = both_ends(stage, do, CHANGING | FLUSHING)
    for at in range(1, changes + 1):
        world = stage.again()
        assert killed(world, do, at), f"change {at} of {changes} did not come"
        recover(world.store)
        assert finished(world) in (old, new), f"killed before change {at}: neither old nor new"


ERRORS = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EMFILE]


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("name", ["install beside the user's settings", "upgrade", "leave", "two targets"])
def test_an_error_at_any_call_is_told_and_undone(name: str, number: int, scene: Any) -> None:
    stage, do = scene(name)
    old, new, calls = both_ends(stage, do, frozenset())
    told = tried = 0
    turns = range(1 + ERRORS.index(number), calls + 1, 5)  # each kind takes another fifth of the calls
    for at in turns if FULL else turns[::4]:
        world, tried = stage.again(), tried + 1
        fs = Faulty(Unflushed(), at, number)
        try:
            do(world.using(fs))
        except GsdlockError as error:
            told += 1
            assert error.code.startswith(("E-IO-", "E-BLOB-", "E-CONFINE-", "E-RACE")), error.code
            assert error.fix
        recover(world.store)
        assert finished(world) in (old, new), f"call {at} ({fs.failed}) failed: neither old nor new"
        do(world)
        assert finished(world)[0] == new[0]
    assert told > tried // 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_lasting_error_is_told_and_recovery_gets_there_when_it_is_over(number: int, scene: Any) -> None:
    stage, do = scene("upgrade")
    old, new, changes = both_ends(stage, do, CHANGING)
    for at in some(changes, 1):
        world = stage.again()
        fs = Faulty(Unflushed(), at, number, methods=CHANGING, lasting=True)
        try:
            do(world.using(fs))
        except GsdlockError as error:
            assert error.code in ("E-IO-FULL", "E-IO-OTHER")
        recover(world.store)
        assert finished(world) in (old, new)


@pytest.mark.parametrize("name", ["install beside the user's settings", "upgrade", "leave", "go back"])
def test_a_folder_that_is_taken_away_after_a_kill_holds_nothing_up(name: str, scene: Any) -> None:
    """To remove what a broken-off command left is the first thing that one thinks of."""
    stage, do = scene(name)
    _, _, changes = both_ends(stage, do, CHANGING | FLUSHING)
    for at in some(changes, 1):
        world = stage.again()
        assert killed(world, do, at)
        shutil.rmtree(world.root / "host", ignore_errors=True)
        recover(world.store)
        left = [path for path in finished(world)[0] if path.startswith("host/")]
        assert left == [], f"killed before change {at}"
        assert "// mine" in (world.root / "settings.json").read_text()


BROKEN = {"E-EDIT-SYNTAX": '{"model": "mine",,\n', "E-EDIT-DUPLICATE": '{"hooks": {}, "hooks": {}}\n'}


@pytest.mark.parametrize("code", [*BROKEN, "E-EDIT-KIND"])
def test_a_shared_file_that_cannot_be_used_after_a_kill_is_named_until_it_is_mended(
    code: str, scene: Any
) -> None:
    stage, do = scene("upgrade")
    _, _, changes = both_ends(stage, do, CHANGING | FLUSHING)
    seen = 0
    for at in range(1, changes + 1):
        world = stage.again()
        assert killed(world, do, at)
        file = world.root / "settings.json"
        file.unlink()
        file.write_text(BROKEN[code]) if code in BROKEN else file.mkdir()
        try:
            recover(world.store)
        except GsdlockError as error:
            seen += 1
            assert error.code == code and str(file) in error.what and "then completed" in error.fix
            damage = [f for f in mend(world.store, {})[1] if f.kind == "transaction"]
            assert [f.name for f in damage] == [code]
        if code in BROKEN:
            assert file.read_text() == BROKEN[code]
            file.unlink()
        else:
            file.rmdir()
        file.write_text(MINE)
        recover(world.store)
        finished(world)
        assert "// mine" in file.read_text()
    assert seen
