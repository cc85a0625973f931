"""What was seen of a lock here, and nothing else, is believed."""

from __future__ import annotations

from typing import Any

from gsdlock.lockfiles.model import LockedPack, PackKind
from gsdlock.store import proofs
from gsdlock.store.proofs import is_kept, keep, of_pin, of_plan
from msgspec.structs import replace

PLAN = "sha256:" + "a" * 64
PIN = LockedPack("own", PackKind.GIT, "up#main", "up#c0ffee", "sha256:" + "b" * 64, revision="c0ffee")


def test_a_proof_is_of_one_plan_and_one_text_or_of_one_pin_whatever_its_name() -> None:
    assert of_plan(PLAN, b"a") != of_plan(PLAN, b"b") != of_plan("sha256:" + "c" * 64, b"b")
    assert of_pin(PIN) == of_pin(replace(PIN, name="other"))
    for changes in (
        {"tree": PLAN},
        {"revision": "beef"},
        {"resolved": "x"},
        {"integrity": "x"},
        {"requested": "x"},
    ):
        assert of_pin(replace(PIN, **changes)) != of_pin(PIN)


def test_what_is_kept_is_known_and_what_cannot_be_read_or_written_is_no_fault(world: Any) -> None:
    one, other = of_pin(PIN), of_plan(PLAN, b"")
    assert not is_kept(world.store, one)
    keep(world.store, [one])
    assert is_kept(world.store, one) and not is_kept(world.store, other)
    folder = world.data / "proofs"
    (folder / one).unlink()
    folder.rmdir()
    folder.write_text("in the way")
    keep(world.store, [one])
    assert not is_kept(world.store, one)


def test_they_never_grow_without_end(world: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(proofs, "MOST", 8)
    for number in range(30):
        keep(world.store, [of_plan(PLAN, str(number).encode())])
        assert is_kept(world.store, of_plan(PLAN, str(number).encode()))
    assert len(list((world.data / "proofs").iterdir())) <= 8
