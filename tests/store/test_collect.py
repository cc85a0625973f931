"""Collection: what a generation or a registered lock names stays, whatever else goes."""

from __future__ import annotations

import os
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.collect import Collected, collect, forget, register, registered
from gsdlock.store.restore import going_back


def old(world: Any) -> None:
    """Make every blob as old as can be."""
    for path in (world.data / "blobs/sha256").rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))


def run(world: Any, **more: Any) -> Collected:
    old(world)
    return collect(world.store, **more)


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", {"command": command})


def test_what_generations_need_stays_and_the_rest_goes(world: Any) -> None:
    world.root.mkdir()
    (world.root / "settings.json").write_text('{"mine": 1}')
    (world.root / "a.md").write_text("the user's")
    world.apply(world.wanted({"a.md": "1"}, [hook("one")]), adopt=["*"])
    world.apply(world.wanted({"a.md": "2"}, [hook("two")]))
    spare = world.store.blobs.put(b"named by nothing")
    found = run(world)
    assert found.blobs >= 1 and not world.store.blobs.has(spare)
    assert run(world).blobs == 0
    world.apply(going_back(world.store, "host@default", 1))
    assert (world.root / "a.md").read_text() == "1"
    world.apply(going_back(world.store, "host@default", 0))
    assert (world.root / "a.md").read_text() == "the user's"
    assert (world.root / "settings.json").read_text() == '{"mine": 1}'


def test_young_blobs_stay_for_a_resolve_that_runs_beside_us(world: Any) -> None:
    young = world.store.blobs.put(b"just put")
    assert collect(world.store).blobs == 0
    assert world.store.blobs.has(young)
    assert collect(world.store, grace=-10).blobs == 1


def test_a_registered_lock_keeps_what_it_names_until_it_is_forgotten(world: Any) -> None:
    digest = world.store.blobs.put(b"of a lock")
    register(world.store, "/proj/gsdlock.lock", [digest])
    register(world.store, "/proj/gsdlock.lock", [digest])
    assert [lock.path for lock in registered(world.store)] == ["/proj/gsdlock.lock"]
    found = run(world)
    assert (found.blobs, found.absent) == (0, ("/proj/gsdlock.lock",))
    forget(world.store, "/proj/gsdlock.lock")
    assert run(world).blobs == 1


def test_old_generations_go_and_the_newest_stay(world: Any) -> None:
    for number in range(4):
        world.apply(world.wanted({"a.md": str(number)}))
    found = run(world, keep=2)
    assert found.generations == (("host@default", 1), ("host@default", 2))
    assert world.store.generations.numbers("host@default") == [3, 4]
    world.apply(going_back(world.store, "host@default", 3))
    assert (world.root / "a.md").read_text() == "2"
    assert run(world, keep=0).generations == (("host@default", 3), ("host@default", 4))
    assert world.current().number == 5
    world.apply(None)


def test_a_dry_run_only_counts(world: Any) -> None:
    for number in range(3):
        world.apply(world.wanted({"a.md": str(number)}))
    old(world)
    before = world.tree(world.state), world.tree(world.data)
    found = collect(world.store, keep=1, dry=True)
    assert found.generations == (("host@default", 1), ("host@default", 2)) and found.blobs > 0
    after = world.tree(world.state), world.tree(world.data)
    assert {k: v for k, v in after[0].items() if not k.startswith("lock")} == {
        k: v for k, v in before[0].items() if not k.startswith("lock")
    }
    assert after[1].keys() == before[1].keys()


@pytest.mark.parametrize("what", ["generation", "registration"])
def test_with_damaged_records_nothing_is_collected(world: Any, what: str) -> None:
    world.apply(world.wanted({"a.md": "1"}))
    register(world.store, "/proj/gsdlock.lock", [])
    spare = world.store.blobs.put(b"spare")
    folder = world.state / ("targets" if what == "generation" else "locks")
    path = next(p for p in folder.rglob("*.json"))
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(GsdlockError) as caught:
        run(world)
    assert caught.value.code == f"E-{what.upper()}-CORRUPT"
    assert world.store.blobs.has(spare)
