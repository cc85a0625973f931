"""Folders that are new as a whole: they come in one step, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.arrivals import Arrivals
from gsdlock.store.choices import Choices
from gsdlock.store.filesystem_decorators import CHANGING, FLUSHING, Call, Decorated, Faulty
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.journal import Journals, Operation, Place, Step, Subtree
from gsdlock.store.preflight import preflight
from gsdlock.store.records import Kept
from gsdlock.store.recovery import recover
from gsdlock.store.roots import Ground
from gsdlock.store.subtrees import subtrees_of

from ..faults.children import Unflushed

FILES = {f"skills/{name}/{file}": f"{name} {file}" for name in "abc" for file in ("SKILL.md", "more/x.md")}
PLAN = FILES | {"agents/one.md": "one", "top.md": "top"}


class Before(Decorated):
    """Calls `meet` before every change."""

    def __init__(self, inner: Any, meet: Callable[[Call], None]) -> None:
        super().__init__(inner)
        self._meet = meet

    def before(self, call: Call) -> None:
        if call.method in CHANGING:
            self._meet(call)


def moves_subtree(call: Call) -> bool:
    return call.method == "rename_new" and call.path.endswith(".tree")


def once(when: Callable[[Call], bool], do: Callable[[], object]) -> Callable[[Call], None]:
    """Does something right before the first call that is meant."""
    waiting = [do]

    def meet(call: Call) -> None:
        if waiting and when(call):
            waiting.pop()()

    return meet


def there(root: Path) -> set[str]:
    """What is in a root, but for our staging."""
    found = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    return {name for name in found if ".gsdlock-" not in name}


def clean(world: Any) -> None:
    assert Journals(world.fs, str(world.state)).pending() == []
    assert not list(world.home.rglob("*gsdlock-*"))


class TestAnInstall:
    def test_a_new_folder_is_never_seen_half_full(self, world: Any) -> None:
        seen = []

        def meet(call: Call) -> None:
            found = there(world.root) if world.root.exists() else set()
            seen.append({name for name in found if name.startswith("skills/")})

        world.using(Before(RealFileSystem(), meet)).apply(world.wanted(PLAN))
        assert all(found in (set(), set(FILES)) for found in seen)
        assert there(world.root) == set(PLAN)
        clean(world)

    def test_one_step_puts_all_of_it_in_place(self, world: Any) -> None:
        moved: list[str] = []
        fs = Before(RealFileSystem(), lambda call: moved.append(call.to) if call.to else None)
        world.using(fs).apply(world.wanted(PLAN))
        ours = [path.removeprefix(f"{world.root}/") for path in moved if path.startswith(f"{world.root}/")]
        assert sorted(ours) == ["agents", "skills", "top.md"]

    def test_modes_are_those_of_folders_that_are_made_in_their_place(self, world: Any) -> None:
        world.apply(world.wanted({**PLAN, "skills/a/run.sh": ("#!/bin/sh\n", 0o755)}))
        world.apply(world.wanted({**PLAN, "skills/a/run.sh": ("#!/bin/sh\n", 0o755), "skills/d/x.md": "x"}))
        (world.home / "plain").mkdir()
        plain = (world.home / "plain").stat().st_mode
        folders = [p for p in (world.root / "skills").rglob("*") if p.is_dir()]
        assert len(folders) == 7 and all(p.stat().st_mode == plain for p in folders)
        assert (world.root / "skills/a/run.sh").stat().st_mode & 0o777 == 0o755

    def test_leaving_takes_every_folder_along(self, world: Any) -> None:
        before = world.tree()
        world.apply(world.wanted(PLAN))
        world.apply(None)
        assert world.tree() == before

    def test_a_file_system_that_moves_no_folders_gets_its_files_one_by_one(self, world: Any) -> None:
        class NoFolders(RealFileSystem):
            def rename_new(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
                if name.endswith(".tree"):
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
                super().rename_new(parent, name, to_parent, to_name)

        world.using(NoFolders()).apply(world.wanted(PLAN))
        assert there(world.root) == set(PLAN)
        clean(world)
        assert world.apply(world.wanted(PLAN)).generations == {}

    def test_another_error_is_told_and_undone(self, world: Any) -> None:
        before = world.tree()

        def fail(call: Call) -> None:
            if moves_subtree(call) and call.to.endswith("skills"):
                raise OSError(errno.EIO, os.strerror(errno.EIO), call.to)

        with pytest.raises(GsdlockError) as caught:
            world.using(Before(RealFileSystem(), fail)).apply(world.wanted(PLAN))
        assert caught.value.code == "E-IO-OTHER" and caught.value.where == str(world.root / "skills")
        assert world.tree() == before
        clean(world)


class TestManyFolders:
    """More than are held open at a time: whoever keeps a handle over a walk through them has another one."""

    MANY = {f"skills/{n}/SKILL.md": f"{n}" for n in range(90)} | {"agents/one.md": "one", "top.md": "top"}

    def test_they_come_and_go(self, world: Any) -> None:
        before = world.tree()
        world.apply(world.wanted(self.MANY))
        assert there(world.root) == set(self.MANY)
        world.apply(None)
        assert world.tree() == before

    @pytest.mark.parametrize(
        ("method", "end"),
        [("create", "/91.new"), ("rename", "/commit.json"), ("rename_new", "/top.md")],
        ids=["while they are staged", "all staged", "in place"],
    )
    def test_they_are_taken_back_at_once(self, method: str, end: str, world: Any) -> None:
        world.root.mkdir()
        before = world.tree()

        def fail(call: Call) -> None:
            if call.method == method and (call.to or call.path).endswith(end):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), call.path)

        with pytest.raises(GsdlockError) as caught:
            world.using(Before(RealFileSystem(), fail)).apply(world.wanted(self.MANY))
        assert caught.value.code == "E-IO-FULL" and not caught.value.details
        assert world.tree() == before
        clean(world)

    @pytest.mark.parametrize("meddle", [False, True], ids=["alone", "joining"])
    def test_killed_at_some_changes_recovery_ends_at_one_end(
        self, meddle: bool, world: Any, tmp_path: Path
    ) -> None:
        ends = set()
        for at in range(1, 1000, 5):
            place = another(world, tmp_path / f"{at}")
            if not killed(place, at, self.MANY, meddle=meddle):
                break
            recover(place.store)
            clean(place)
            found = (there(place.root) if place.root.exists() else set()) - {"skills/NOTES.md"}
            assert found in (set(), set(self.MANY)), f"killed before change {at}"
            ends.add(bool(found))
        assert ends == {False, True}

    def test_joining_a_folder_that_appeared(self, world: Any) -> None:
        fs = Before(RealFileSystem(), once(moves_subtree, (world.root / "skills").mkdir))
        world.root.mkdir()
        world.using(fs).apply(world.wanted(self.MANY))
        assert there(world.root) == set(self.MANY)
        clean(world)


class TestSomebodyElseMakesTheFolder:
    def test_files_join_what_is_there(self, world: Any) -> None:
        def meddle() -> None:
            (world.root / "skills/a").mkdir(parents=True)
            (world.root / "skills/a/NOTES.md").write_text("mine")

        world.using(Before(RealFileSystem(), once(moves_subtree, meddle))).apply(world.wanted(PLAN))
        assert there(world.root) == {*PLAN, "skills/a/NOTES.md"}
        assert world.apply(world.wanted(PLAN)).generations == {}
        clean(world)
        world.apply(None)
        assert there(world.root) == {"skills/a/NOTES.md"}

    def test_a_file_of_theirs_in_the_place_of_ours_stays_and_all_is_undone(self, world: Any) -> None:
        def meddle() -> None:
            (world.root / "skills/b").mkdir(parents=True)
            (world.root / "skills/b/SKILL.md").write_text("mine")

        with pytest.raises(GsdlockError) as caught:
            world.using(Before(RealFileSystem(), once(moves_subtree, meddle))).apply(world.wanted(PLAN))
        assert caught.value.code == "E-RACE"
        assert there(world.root) == {"skills/b/SKILL.md"}
        assert (world.root / "skills/b/SKILL.md").read_text() == "mine"
        clean(world)

    def test_one_that_is_moved_away_as_soon_as_it_came_is_noticed_and_all_is_undone(self, world: Any) -> None:
        world.root.mkdir()
        last = once(
            lambda call: call.method == "rename_new" and call.to.endswith("/top.md"),
            lambda: (world.root / "skills").rename(world.home / "elsewhere"),
        )
        with pytest.raises(GsdlockError) as caught:
            world.using(Before(RealFileSystem(), last)).apply(world.wanted(PLAN))
        assert caught.value.code == "E-RACE"
        assert str(world.root / "skills") in caught.value.what
        assert there(world.root) == set()
        assert len(there(world.home / "elsewhere")) == len(FILES)  # theirs now, wherever they took it
        clean(world)

    def test_the_very_same_file_of_theirs_stays_when_all_is_undone(self, world: Any) -> None:
        """The subtree waits yet, so what stands there is not ours, whatever its bytes are."""

        def meddle() -> None:
            (world.root / "skills/b").mkdir(parents=True)
            (world.root / "skills/b/SKILL.md").write_text(FILES["skills/b/SKILL.md"])

        def meet(call: Call) -> None:
            if moves_subtree(call) and call.to.endswith("skills"):
                meddle()
                raise OSError(errno.EIO, os.strerror(errno.EIO), call.to)

        with pytest.raises(GsdlockError):
            world.using(Before(RealFileSystem(), meet)).apply(world.wanted(PLAN))
        assert there(world.root) == {"skills/b/SKILL.md"}
        clean(world)

    @pytest.mark.parametrize(
        ("make", "code"),
        [(Path.touch, "E-CONFINE-KIND"), (lambda p: p.symlink_to("/nowhere"), "E-CONFINE-LINK")],
        ids=["file", "link"],
    )
    def test_what_is_no_folder_stays_and_is_named(
        self, make: Callable[[Path], None], code: str, world: Any
    ) -> None:
        fs = Before(RealFileSystem(), once(moves_subtree, lambda: make(world.root / "skills")))
        with pytest.raises(GsdlockError) as caught:
            world.using(fs).apply(world.wanted(PLAN))
        assert caught.value.code == code and not caught.value.details
        assert [p.name for p in world.root.iterdir()] == ["skills"]
        assert not (world.root / "skills").is_dir()
        clean(world)

    def test_killed_at_any_change_meanwhile_recovery_ends_at_one_end(
        self, world: Any, tmp_path: Path
    ) -> None:
        """The folder appears right before the subtree is moved; then the process dies, sooner or later."""
        ends = []
        for at in range(1, 200):
            place = another(world, tmp_path / f"{at}")
            if not killed(place, at, PLAN, meddle=True):
                break
            recover(place.store)
            clean(place)
            found = there(place.root) if place.root.exists() else set()
            notes = {"skills/NOTES.md"} & found
            assert found - notes in (set(), set(PLAN)), f"killed before change {at}"
            assert (place.current() is not None) is (found - notes == set(PLAN))
            place.apply(place.wanted(PLAN))
            assert there(place.root) == set(PLAN) | notes
            ends.append((bool(notes), bool(found - notes)))
        assert {(False, False), (True, True)} <= set(ends)
        assert (True, False) not in ends  # it appears behind the point of no return
        assert len(ends) > 60

    def test_it_appears_before_recovery(self, world: Any) -> None:
        """Killed with all staged and the point of no return passed, and then the user makes the folder."""
        fs = Before(RealFileSystem(), once(moves_subtree, lambda: os.kill(os.getpid(), signal.SIGKILL)))
        in_child(lambda: world.using(fs).apply(world.wanted(PLAN)))
        (world.root / "skills/c").mkdir(parents=True)
        (world.root / "skills/c/SKILL.md").write_text("mine")
        (recovered,) = recover(world.store)
        assert recovered.completed and recovered.kept == (f"{world.root}/skills/c/SKILL.md",)
        assert there(world.root) == set(PLAN)
        assert (world.root / "skills/c/SKILL.md").read_text() == FILES["skills/c/SKILL.md"]
        clean(world)


def in_child(do: Callable[[], object]) -> bool:
    """Whether a child that does it is killed on the way."""
    child = os.fork()
    if child == 0:  # pragma: no cover - the child ends here, one way or another
        try:
            do()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 3
    return os.WIFSIGNALED(status)


def another(world: Any, folder: Path) -> Any:
    """A new world of the same kind in `folder`."""
    made = type(world)(folder / "home", folder / "data", folder / "state", Unflushed())
    for part in (made.home, made.data, made.state):
        part.mkdir(parents=True, mode=0o700)
    return made


def killed(world: Any, at: int, files: Mapping[str, str], *, meddle: bool) -> bool:
    """Whether an install comes as far as change number `at`, before which it is killed; with `meddle`
    somebody makes the folder `skills` right before it is moved."""

    def make_folder() -> None:
        (world.root / "skills").mkdir(parents=True)
        (world.root / "skills/NOTES.md").write_text("mine")

    def do() -> None:
        die = lambda: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
        fs = Faulty(Unflushed(), at, methods=CHANGING | FLUSHING, instead=die, torn=True)
        meet = once(moves_subtree, make_folder) if meddle else lambda call: None
        world.using(Before(fs, meet)).apply(world.wanted(files))

    return in_child(do)


def put(path: str, stage: int = 0, old: Kept | None = None) -> Operation:
    return Operation(Step.PUT, Place(0, path), stage, Kept("sha256:0", 0o644), old)


ROOT_IN_ROOT = [("r/b", 0), ("r/s/a", 1)]


@pytest.mark.parametrize(
    ("made", "stages", "operations", "whole"),
    [
        ([], [""], [put("a.md")], []),
        (["a"], [""], [put("a/x.md")], [("a", 0)]),
        (["a", "a/b", "c"], [""], [put("a/b/x.md"), put("c/x.md")], [("a", 0), ("c", 0)]),
        (["r", "r/a"], ["r"], [put("r/x.md"), put("r/a/x.md")], [("r/a", 0)]),
        (["r", "r/s", "r/s/a", "r/b"], ["r", "r/s"], [put("r/s/a/x", 1), put("r/b/x")], ROOT_IN_ROOT),
        (["a", "a/b", "c"], ["", "z"], [put("a/x"), put("a/b/x", 1), put("c/x")], [("c", 0)]),
        (["ab", "a"], ["", "a"], [put("a/x", 1), put("ab/x")], [("ab", 0)]),
    ],
    ids=["none", "one", "outermost", "root", "root in root", "staged in two", "names alike"],
)  # fmt: skip
def test_what_goes_whole(
    made: list[str],
    stages: list[str],
    operations: list[Operation],
    whole: list[tuple[str, int]],
    tmp_path: Path,
) -> None:
    ground = Ground(RealFileSystem())
    ground.add(str(tmp_path))
    full = lambda path: ground.path(0, path)  # noqa: E731
    found = subtrees_of(
        ground,
        {full(p): Place(0, p) for p in made},
        {full(p): n for n, p in enumerate(stages)},
        operations,
    )
    assert sorted(found, key=lambda t: t.place.path) == [Subtree(Place(0, p), s) for p, s in sorted(whole)]


def to_judge(world: Any) -> dict[str, list[Any]]:
    """Plans that bring files into new folders, each in a world of another kind."""
    more = {**PLAN, "skills/d/x.md": "{{gsdlock:path:config}}", "skills/e/run.sh": ("#!/bin/sh\n", 0o755)}
    hook = {"hooks": [{"type": "command", "command": "greet.sh"}]}
    edits = [("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", hook)]
    one = world.wanted(more, edits, fill=["skills/d/x.md"])
    return {
        "one": [one],
        "outside": [world.wanted(more, outside=True, third_party=frozenset({"config:skills/a/SKILL.md"}))],
        "two alike": [one, world.wanted(more, target="other", fill=["skills/d/x.md"])],
        "two apart": [world.wanted(PLAN), world.wanted({"x/y.md": "y"}, target="other")],
    }


@pytest.mark.parametrize("start", ["nothing", "beside the user", "an older version", "group can write"])
@pytest.mark.parametrize("plan", ["one", "outside", "two alike", "two apart"])
def test_an_arrival_is_judged_as_any_other_file(
    start: str, plan: str, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if start != "nothing":
        world.root.mkdir()
        (world.root / "top.md").write_text("top")
        (world.root / "agents").mkdir()
    if start == "group can write":
        world.root.chmod(0o775)
    if start == "an older version":
        world.apply(world.wanted({"skills/a/SKILL.md": "older", "old/x.md": "x"}))
    changes = [world.change(wanted) for wanted in to_judge(world)[plan]]

    def judged() -> Any:
        found = preflight(world.store, changes, Choices())
        found.close()
        return found.items, found.steps, dict(found.generations), found.prunes

    quick = judged()
    monkeypatch.setattr(Arrivals, "judged", lambda self, claim: None)
    assert quick == judged()
