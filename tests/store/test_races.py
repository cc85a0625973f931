"""Others at work at the same time: other gsdlocks, and hosts that rewrite their files. No update is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.exclusive import exclusive
from gsdlock.store.filesystem_decorators import Call, Decorated
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.journal import Journals
from gsdlock.store.recovery import recover, recover_unless_busy
from gsdlock.store.wanted import Objection


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", value)


class Meddling(Decorated):
    """Does something else right before chosen calls: before each `method` on a path that ends in `name`."""

    def __init__(self, method: str, name: str, meddle: Callable[[int], None], times: int = 1) -> None:
        super().__init__(RealFileSystem())
        self.met = 0
        self._method, self._name, self._meddle, self._times = method, name, meddle, times

    def before(self, call: Call) -> None:
        chosen = call.path.endswith(self._name) or call.to.endswith(self._name)
        if call.method == self._method and chosen and self.met < self._times:
            self.met += 1
            self._meddle(self.met)


class NoExchange(RealFileSystem):
    """A file system without an atomic exchange of two names."""

    def exchange(self, parent: int, name: str, other_parent: int, other_name: str) -> bool:
        return False


class Bare(NoExchange):
    """Not even hard links."""

    def link(self, parent: int, name: str, to_parent: int, to_name: str) -> None:
        raise OSError(errno.EPERM, "no links here")


def replace(path: Path, text: str) -> None:
    """As a careful host writes: another file, renamed."""
    (path.parent / "host.tmp").write_text(text)
    (path.parent / "host.tmp").rename(path)


def settings(world: Any, text: str = '{"n": 0}\n') -> Path:
    world.root.mkdir(exist_ok=True)
    path: Path = world.root / "settings.json"
    path.write_text(text)
    return path


@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("method", ["exchange", "lstat"])
def test_an_update_of_the_host_in_the_last_moment_is_merged_again(
    world: Any, careful: bool, method: str
) -> None:
    path = settings(world)
    write = replace if careful else Path.write_text
    fs = Meddling(method, "settings.json", lambda n: write(path, json.dumps({"n": n, "host": True})), times=9)
    if method == "lstat":  # the last look before the exchange: only from the commit on
        fs = Meddling("rename", "commit.json", lambda n: write(path, json.dumps({"n": n, "host": True})))
    else:
        fs._times = 2
    world.using(fs).apply(world.wanted({"a.md": "A"}, [hook("greet.sh")]))
    data = json.loads(path.read_text())
    assert data["host"] is True and data["n"] == fs.met
    assert "greet.sh" in json.dumps(data["hooks"])
    assert world.apply(world.wanted({"a.md": "A"}, [hook("greet.sh")])).generations == {}
    world.apply(None)
    assert json.loads(path.read_text()) == {"n": fs.met, "host": True}


def test_a_host_that_never_stops_is_refused_and_everything_is_undone(world: Any) -> None:
    path = settings(world)
    wrote = []

    def before_each_try(number: int) -> None:
        if number % 2:  # every other exchange is ours going back
            wrote.append(number)
            replace(path, json.dumps({"n": number}))

    fs = Meddling("exchange", "settings.json", before_each_try, times=30)
    with pytest.raises(GsdlockError) as caught:
        world.using(fs).apply(world.wanted({"a.md": "A"}, [hook("greet.sh")]))
    assert (caught.value.code, caught.value.status) == ("E-EDIT-RACE", 4)
    assert json.loads(path.read_text()) == {"n": wrote[-1]}
    assert len(wrote) == 5
    assert [p.name for p in world.root.iterdir()] == ["settings.json"]
    assert world.current() is None
    assert Journals(world.fs, str(world.state)).pending() == []


def test_a_host_that_writes_faster_than_we_can_put_back_has_the_last_word(world: Any) -> None:
    path = settings(world)
    fs = Meddling("exchange", "settings.json", lambda n: replace(path, json.dumps({"n": n})), times=30)
    world.using(fs).apply(world.wanted({}, [hook("greet.sh")]))
    assert json.loads(path.read_text())["n"] == 30
    assert "greet.sh" in path.read_text()


def test_a_file_that_appears_where_ours_should_come_is_left_alone(world: Any) -> None:
    world.root.mkdir()
    path = world.root / "a.md"
    fs = Meddling("rename_new", "a.md", lambda _: path.write_text("theirs"))
    with pytest.raises(GsdlockError) as caught:
        world.using(fs).apply(world.wanted({"a.md": "A", "b.md": "B"}))
    assert caught.value.code == "E-RACE"
    assert path.read_text() == "theirs"
    assert [p.name for p in world.root.iterdir()] == ["a.md"]


@pytest.mark.parametrize("method", ["exchange", "rename_new"])
def test_a_file_of_ours_that_the_user_edits_in_the_last_moment_is_left_alone(world: Any, method: str) -> None:
    world.apply(world.wanted({"a.md": "1", "b.md": "1"}))
    path = world.root / "a.md"
    fs = Meddling(method, "a.md", lambda _: path.write_text("theirs"))
    wanted = world.wanted({"a.md": "2", "b.md": "2"} if method == "exchange" else {"b.md": "2"})
    with pytest.raises(GsdlockError) as caught:
        world.using(fs).apply(wanted)
    assert caught.value.code == "E-RACE"
    assert (path.read_text(), (world.root / "b.md").read_text()) == ("theirs", "1")
    assert world.current().number == 1


def test_a_settings_file_that_appears_is_merged_into(world: Any) -> None:
    world.root.mkdir()
    path = world.root / "settings.json"
    fs = Meddling("rename_new", "settings.json", lambda _: path.write_text('{"host": true}'))
    world.using(fs).apply(world.wanted({}, [hook("greet.sh")]))
    assert json.loads(path.read_text())["host"] is True
    world.apply(None)
    assert json.loads(path.read_text()) == {"host": True}


def test_a_settings_file_that_changes_while_we_leave_keeps_the_change(world: Any) -> None:
    world.apply(world.wanted({}, [hook("greet.sh")]))
    path = world.root / "settings.json"

    def meddle(_: int) -> None:
        data = json.loads(path.read_text())
        replace(path, json.dumps({**data, "host": True}))

    world.using(Meddling("rename_new", "settings.json", meddle)).apply(None)
    assert json.loads(path.read_text()) == {"host": True}


def test_the_validators_see_what_was_merged_again(world: Any) -> None:
    path = settings(world)
    fs = Meddling("exchange", "settings.json", lambda n: replace(path, '{"bad": true}'))

    def validate(before: bytes | None, after: bytes) -> list[Objection]:
        return [Objection("/bad", "is not taken")] if b"bad" in after else []

    plan = world.wanted({}, [hook("x")])
    wanted = world.change(plan, validators={"config:settings.json": validate})
    with pytest.raises(GsdlockError) as caught:
        world.using(fs).apply(wanted)
    assert caught.value.code == "E-HOST-SHAPE"
    assert path.read_text() == '{"bad": true}'


def test_an_edit_that_a_crash_interrupted_is_merged_with_what_came_since(world: Any) -> None:
    path = settings(world)

    def crash(_: int) -> None:
        os._exit(3)

    for method, name in (("exchange", "settings.json"), ("rename", "done.json"), ("rename", "/current")):
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                world.using(Meddling(method, name, crash)).apply(
                    world.wanted({"a.md": "A"}, [hook("greet.sh")])
                )
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        if method == "exchange":
            path.write_text('{"n": 1, "since": true}\n')
        recover(world.store)
        data = json.loads(path.read_text())
        assert data["since"] is True and "greet.sh" in json.dumps(data)
        assert world.current() is not None and not world.current().left
        world.apply(None)
        assert json.loads(path.read_text()) == {"n": 1, "since": True}


def test_a_file_that_the_user_wrote_between_crash_and_recovery_is_kept_in_the_store(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1"}))
    child = os.fork()
    if child == 0:  # pragma: no cover
        fs = Meddling("exchange", "a.md", lambda _: os._exit(3))
        try:
            world.using(fs).apply(world.wanted({"a.md": "2"}))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    (world.root / "a.md").write_text("theirs")
    (recovered,) = recover(world.store)
    assert recovered.completed and recovered.kept == (str(world.root / "a.md"),)
    assert (world.root / "a.md").read_text() == "2"
    kept = world.current().displaced[str(world.root / "a.md")]
    assert world.store.blobs.get(kept.digest) == b"theirs"


@pytest.mark.parametrize("kind", [NoExchange, Bare])
def test_systems_without_exchange_or_links_do_the_same(world: Any, kind: type[RealFileSystem]) -> None:
    path = settings(world)
    start = world.tree()
    other = world.using(kind())
    other.apply(world.wanted({"a.md": "1", "b.md": "1"}, [hook("one.sh")]))
    other.apply(world.wanted({"a.md": "2"}, [hook("two.sh")]))
    assert (world.root / "a.md").read_text() == "2" and "two.sh" in path.read_text()
    fs = Meddling("rename", "commit.json", lambda _: path.write_text("{ broken"))
    fs.inner = kind()
    with pytest.raises(GsdlockError) as caught:
        world.using(fs).apply(world.wanted({"a.md": "3"}, [hook("three.sh")]))
    assert caught.value.code == "E-EDIT-SYNTAX" and "then completed" not in caught.value.fix
    assert (world.root / "a.md").read_text() == "2"
    assert path.read_text() == "{ broken"
    path.write_bytes(start[".host/settings.json"][2])
    other.apply(None)
    assert world.tree() == start


class Writing(Decorated):
    """A host that is in the middle of writing `file` when a call of `method` for `name` first comes, and is
    done when the file is looked at for the second time after that."""

    def __init__(self, file: Path, method: str, name: str) -> None:
        super().__init__(RealFileSystem())
        self.looks = -1  # it has not begun
        self._file, self._method, self._name = file, method, name

    def before(self, call: Call) -> None:
        if self.looks < 0 and call.method == self._method and (call.to or call.path).endswith(self._name):
            self._file.write_text('{"whole": ')
            self.looks = 0
        if 0 <= self.looks < 2 and call.method == "read" and call.path == str(self._file):
            self.looks += 1
            if self.looks == 2:
                self._file.write_text('{"whole": true}')


@pytest.mark.parametrize("method", ["read", "rename"], ids=["at the first look", "at the commit"])
def test_a_torn_write_of_the_host_is_waited_for(world: Any, method: str) -> None:
    path = settings(world)
    fs = Writing(path, method, str(path) if method == "read" else "commit.json")
    world.using(fs).apply(world.wanted({}, [hook("greet.sh")]))
    assert fs.looks == 2
    data = json.loads(path.read_text())
    assert data["whole"] is True and "greet.sh" in json.dumps(data)


# -- several gsdlocks ------------------------------------------------------------------------------------


def test_who_waits_too_long_is_told_who_holds_the_lock(world: Any) -> None:
    with exclusive(world.store, wait=0), pytest.raises(GsdlockError) as caught:
        world.apply(world.wanted({"a.md": "A"}), wait=0.05)
    assert (caught.value.code, caught.value.status) == ("E-BUSY", 6)
    assert f"process {os.getpid()}" in caught.value.what
    assert "gsdlock apply" in caught.value.what
    assert list(world.tree()) == []


def test_a_dead_holder_blocks_nobody(world: Any) -> None:
    child = os.fork()
    if child == 0:  # pragma: no cover
        with exclusive(world.store, wait=0):
            os._exit(3)
    os.waitpid(child, 0)
    assert (world.state / "lock.holder").exists()
    world.apply(world.wanted({"a.md": "A"}), wait=0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', "\\xff"])
def test_a_damaged_note_about_the_holder_is_only_a_shorter_message(world: Any, text: str) -> None:
    with exclusive(world.store, wait=0):
        (world.state / "lock.holder").write_text(text)
        with pytest.raises(GsdlockError) as caught, exclusive(world.store, wait=0):
            pass
    assert caught.value.code == "E-BUSY"


def test_who_only_reads_does_not_wait(world: Any) -> None:
    (world.state / "transactions" / "0123456789abcdef").mkdir(parents=True)
    with exclusive(world.store, wait=0):
        assert recover_unless_busy(world.store) == ()
    recover_unless_busy(world.store)
    assert Journals(world.fs, str(world.state)).pending() == []


def test_applies_at_the_same_moment_all_arrive_and_none_is_lost(world: Any) -> None:
    path = settings(world)
    names = ["one", "two", "three", "four"]
    plans = [world.wanted({f"{n}.md": n}, [hook(f"{n}.sh")], target=n) for n in names]
    children = []
    for plan in plans:
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                world.apply(plan, wait=60)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children] == [0] * 4
    text = path.read_text()
    assert all(f"{n}.sh" in text and (world.root / f"{n}.md").exists() for n in names)
    for name in names:
        world.apply(world.change(None, target=name))
    assert path.read_text() == '{"n": 0}\n'


def test_the_same_apply_twice_at_the_same_moment_makes_one_generation(world: Any) -> None:
    plan = world.wanted({"a.md": "A"}, [hook("greet.sh")])
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                world.apply(plan, wait=60)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children] == [0, 0]
    assert world.store.generations.numbers("host@default") == [1]


# -- a folder that is swapped for a link -----------------------------------------------------------------


def test_a_folder_swapped_for_a_link_again_and_again_never_lets_a_byte_out(world: Any) -> None:
    outside = world.home / "outside"
    outside.mkdir()
    (world.root / "skills").mkdir(parents=True)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            try:
                os.rename(world.root / "skills", world.root / "aside")
                os.symlink(outside, world.root / "skills")
                os.unlink(world.root / "skills")
                os.rename(world.root / "aside", world.root / "skills")
            except OSError:  # an apply made the folder while it was away: begin again with that one
                shutil.rmtree(world.root / "aside", ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    ended = {"applied": 0, "refused": 0}
    try:
        for number in range(4000):
            if number >= 40 and ended["refused"]:
                break
            try:
                world.apply(
                    world.wanted({"skills/x.md": str(number), "skills/deep/y.md": str(number)}), ours=["*"]
                )
                ended["applied"] += 1
            except GsdlockError as error:
                assert error.code.startswith(("E-CONFINE", "E-IO", "E-RACE", "E-DRIFT")), error.code
                ended["refused"] += 1
            assert list(outside.iterdir()) == []
    finally:
        stop.set()
        thread.join()
    assert ended["refused"]
    assert list(outside.iterdir()) == []
