"""Many at work at the same time, many times over: no byte outside a root, no lost update, no deadlock."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.collect import collect
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.journal import Journals
from gsdlock.store.survey import TargetChange

from .children import warm_up
from .machine import Machine
from .points import FULL, Report
from .scenes import LOCKED, to_upgrade
from .test_power import Place

SWAPS = 10_000 if FULL else 1000
APPLIES = 200 if FULL else 20
"""At least so many swaps of a folder for a link, during at least so many applies."""
PAIRS = 250 if FULL else 6
"""Of each of the four kinds."""
LAST = 20
"""How often a host rewrites its settings during one apply."""
READERS = 50 if FULL else 8
REFUSED = 33
"""How a child ends that was refused with one of the codes that it may be refused with."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("home", "state", "data"):
        (tmp_path / name).mkdir(mode=0o700)
    return Place(RealFileSystem(), str(tmp_path / "state"), str(tmp_path / "home"), str(tmp_path / "data"))


def together(*doings: Callable[[], object], may: Sequence[str] = ()) -> list[int]:
    """Do each in a process of its own, begun at one moment; the exit statuses: 0, REFUSED with a code that
    begins as one of `may` does, else 1."""
    gate, opener = os.pipe()
    children = []
    for do in doings:
        child = os.fork()
        if child == 0:  # pragma: no cover - in the child
            try:
                os.close(opener)
                os.read(gate, 1)
                do()
                os._exit(0)
            except GsdlockError as error:
                if error.code.startswith(tuple(may)):
                    os._exit(REFUSED)
                traceback.print_exc()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        children.append(child)
    os.close(gate)
    os.close(opener)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def test_a_folder_swapped_for_a_link_never_lets_a_byte_out(place: Place, report: Report) -> None:
    outside = Path(place.home).parent / "outside"
    outside.mkdir()
    root = Path(place.home) / ".host"
    (root / "host").mkdir(parents=True)
    versions = [place.version(1), place.version(2)]

    stop = Path(place.home).parent / "stop"

    def swap() -> None:
        swaps = 0
        while swaps < SWAPS or not stop.exists():
            swaps += 1
            try:
                os.rename(root / "host", root / "aside")
                os.symlink(outside, root / "host")
                os.unlink(root / "host")
                os.rename(root / "aside", root / "host")
            except OSError:
                pass

    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        try:
            swap()
        finally:
            os._exit(0)
    applied = refused = 0
    try:
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            try:
                place.apply(versions[(applied + refused) % 2], ours=True)
                applied += 1
            except GsdlockError as error:
                assert error.code.startswith(("E-CONFINE", "E-IO", "E-RACE", "E-DRIFT", "E-RECOVER")), error
                refused += 1
            assert os.listdir(outside) == []
            if applied + refused == APPLIES:
                stop.touch()
        child = 0
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    report("a folder swapped for a link", f"{applied} applied, {refused} refused", SWAPS, 0)
    assert os.listdir(outside) == []


def settings(place: Place) -> Path:
    path = Path(place.home) / ".host/settings.json"
    path.parent.mkdir(exist_ok=True)
    return path


def hooks(path: Path) -> str:
    return json.dumps(json.loads(path.read_text()).get("hooks", {}))


def settled(place: Place) -> None:
    """Nothing is left of any transaction, and the store holds all that the generations need."""
    store = place.store
    assert Journals(store.fs, store.state).pending() == []
    assert not list(Path(place.home).rglob(".gsdlock-*"))
    for generation in store.generations.currents().values():
        assert all(store.blobs.sound(digest) for digest in generation.digests())


def test_two_applies_of_one_target(place: Place, report: Report) -> None:
    path = settings(place)
    path.write_text("{}\n")
    versions = [place.version(1), place.version(2)]
    for _ in range(PAIRS):
        ended = together(lambda: place.apply(versions[0]), lambda: place.apply(versions[1]))
        assert ended == [0, 0]
        text = (path.parent / "host/changes.md").read_text()
        number = int(text.split()[1])
        assert hooks(path).count("host1.sh") + hooks(path).count("host2.sh") == 1
        assert f"host{number}.sh" in hooks(path), "files of one version, entry of the other"
        assert (path.parent / f"host/only{number}/x.md").exists()
        assert not (path.parent / f"host/only{3 - number}").exists()
    settled(place)
    report("racing pairs", "two applies of one target", PAIRS, 0)


def test_two_targets_that_share_a_file(place: Place, report: Report) -> None:
    path = settings(place)
    path.write_text('{"mine": 1}\n')
    for turn in range(PAIRS):
        number = 1 + turn % 2
        changes = [place.version(number, "one"), place.version(number, "two")]
        ended = together(*(partial(place.apply, change) for change in changes))
        assert ended == [0, 0]
        assert all(f"{name}{number}.sh" in hooks(path) for name in ("one", "two")), "an update was lost"
        assert all(f"{name}{3 - number}.sh" not in hooks(path) for name in ("one", "two"))
    place.apply(TargetChange("one@default", None), TargetChange("two@default", None))
    assert path.read_text() == '{"mine": 1}\n'
    settled(place)
    report("racing pairs", "two targets that share a file", PAIRS, 0)


def test_an_apply_and_a_collection(place: Place, report: Report) -> None:
    settings(place).write_text("{}\n")
    place.apply(place.version(1))
    for turn in range(PAIRS):
        change = place.version(1 + (turn + 1) % 2)
        ended = together(partial(place.apply, change), lambda: collect(place.store, keep=1))
        assert ended == [0, 0]
        settled(place)
    report("racing pairs", "an apply and a collection", PAIRS, 0)


def test_an_apply_and_a_host_that_rewrites_its_settings(place: Place, report: Report) -> None:
    path = settings(place)
    refused = 0
    for turn in range(PAIRS):
        path.write_text('{"n": 0}\n')

        def host() -> None:
            for number in range(1, LAST + 1):
                temporary = path.parent / "host.tmp"
                temporary.write_text(json.dumps({"n": number}))
                temporary.rename(path)

        change = place.version(1 + turn % 2)
        ended = together(partial(place.apply, change), host, may=["E-EDIT-RACE", "E-RACE"])
        assert ended[0] in (0, REFUSED) and ended[1] == 0
        assert json.loads(path.read_text())["n"] == LAST, "an update of the host was lost"
        place.apply(change, ours=True)  # a host that does not know our entry has written it away
        assert json.loads(path.read_text())["n"] == LAST and "host" in hooks(path)
        refused += ended[0] == REFUSED
        place.apply(TargetChange("host@default", None))
    settled(place)
    report("racing pairs", f"an apply and a host ({refused} refused)", PAIRS, 0)


def test_many_readers_beside_an_apply(tmp_path: Path, report: Report) -> None:
    warm_up()
    machine = Machine(tmp_path, to_upgrade)

    def run(*words: str) -> Callable[[], object]:
        def do() -> None:
            ended = machine.here(*words)
            assert ended.status == 0, ended

        return do

    ended = together(run(*LOCKED), *(run("status") for _ in range(READERS)))
    assert ended == [0] * (READERS + 1)
    assert machine.here("status").text.count("in order") == 1
    assert machine.here("doctor").status == 0
    report("parallel status", "beside an apply", READERS, 0)
