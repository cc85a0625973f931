"""Many at work at the same time, many times over. Each race raises `AssertionError` where a promise breaks.

They run in a process apart, since all who take part are forked from it.
"""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.collect import collect
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.journal import Journals
from gsdlock.store.survey import TargetChange

from .children import warm_up
from .machine import Machine
from .places import Place
from .points import FULL
from .scenes import LOCKED, to_upgrade

SWAPS = 10_000 if FULL else 1000
APPLIES = 200 if FULL else 20
"""At least so many swaps of a folder for a link, during at least so many applies."""
PAIRS = 250 if FULL else 6
"""Of each of the four kinds."""
LAST = 20
"""How often a host rewrites its settings during one apply."""
READERS = 50 if FULL else 8
Ran = tuple[str, int]
"""What is to be said of a race, and how many times it was run."""
REFUSED = 33
"""How a child ends that was refused with one of the codes that it may be refused with."""


def place_in(folder: Path) -> Place:
    """An empty store and home on the real disk."""
    for name in ("home", "state", "data"):
        (folder / name).mkdir(mode=0o700)
    return Place(RealFileSystem(), str(folder / "state"), str(folder / "home"), str(folder / "data"))


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


def folder_swapped_for_a_link(folder: Path) -> Ran:
    """A folder in the root is swapped for a link again and again: no byte gets out."""
    place = place_in(folder)
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
    assert os.listdir(outside) == []
    return f"a folder swapped for a link ({applied} applied, {refused} refused)", SWAPS


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


def two_applies_of_one_target(folder: Path) -> Ran:
    """One comes after the other: files and entry of one version."""
    place = place_in(folder)
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
    return "two applies of one target", PAIRS


def two_targets_that_share_a_file(folder: Path) -> Ran:
    """No update of the shared file is lost, and leaving gives it back."""
    place = place_in(folder)
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
    return "two targets that share a file", PAIRS


def apply_and_collection(folder: Path) -> Ran:
    """Nothing that is needed is collected."""
    place = place_in(folder)
    settings(place).write_text("{}\n")
    place.apply(place.version(1))
    for turn in range(PAIRS):
        change = place.version(1 + (turn + 1) % 2)
        ended = together(partial(place.apply, change), lambda: collect(place.store, keep=1))
        assert ended == [0, 0]
        settled(place)
    return "an apply and a collection", PAIRS


def apply_and_host(folder: Path) -> Ran:
    """A host rewrites its settings meanwhile: no update of it is lost."""
    place = place_in(folder)
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
    return f"an apply and a host ({refused} refused)", PAIRS


def many_readers(folder: Path) -> Ran:
    """Fifty look while one applies."""
    warm_up()
    machine = Machine(folder, to_upgrade)

    def run(*words: str) -> Callable[[], object]:
        def do() -> None:
            ended = machine.here(*words)
            assert ended.status == 0, ended

        return do

    ended = together(run(*LOCKED), *(run("status") for _ in range(READERS)))
    assert ended == [0] * (READERS + 1)
    assert machine.here("status").text.count("in order") == 1
    assert machine.here("doctor").status == 0
    return "status beside an apply", READERS
