"""The journal: it comes back as it was written, its phases are names, and damage is told."""

from __future__ import annotations

import os
from typing import Any

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits.types import Change, Entry
from gsdlock.store.filesystem_decorators import Call, Decorated, Faulty, Recording
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.journal import Anchor, Journal, Journals, Operation, Phase, Place, Recipe, Step, Subtree
from gsdlock.store.records import EntryRecord, Kept
from gsdlock.store.recovery import recover
from gsdlock.store.statefiles import seal, unseal
from gsdlock.store.wanted import WantedChange
from msgspec.structs import replace

D = [sha256_digest(bytes([n])) for n in range(4)]
RECIPE = Recipe(
    format=EditFormat.JSONC,
    real="/home/ada/.host/settings.json",
    owned={
        "one@default": (EntryRecord(Entry(EditOp.ENSURE, "/a", {"b": 1}, True), D[0], False),),
        "two@default": (),
    },
    asked={"one@default": (WantedChange(Change(EditOp.ENSURE, "/a", {"b": 2}), D[1], True),)},
    known=(None, D[2]),
    over=("/a",),
    records=("one@default",),
)
JOURNAL = Journal(
    id="0123456789abcdef",
    created="2026-01-01T00:00:00.000Z",
    command="gsdlock apply",
    anchors=(Anchor("/home/ada", 1, 2),),
    made=(Place(0, ".host"), Place(0, ".host/skills")),
    stages=(Place(0, ".host"), Place(0, "")),
    operations=(
        Operation(Step.PUT, Place(0, ".host/a.md"), 0, Kept(D[0], 0o644), None),
        Operation(
            Step.EDIT,
            Place(0, ".host/settings.json"),
            0,
            Kept(D[1], 0o600),
            Kept(D[2], 0o600),
            (1, 2, 3),
            RECIPE,
        ),
        Operation(Step.TAKE, Place(0, ".host/b.md"), 1, None, Kept(D[3], 0o644), (4, 5, 6)),
    ),
    pruned=(Place(0, ".host/old"),),
    generations={"one@default": (0, 1)},
    subtrees=(Subtree(Place(0, ".host/skills"), 0),),
)


@pytest.fixture
def journals(world: Any) -> Journals:
    return Journals(world.fs, str(world.state))


def test_a_journal_comes_back_as_it_was_written(journals: Journals) -> None:
    journals.write(JOURNAL)
    assert journals.pending() == [JOURNAL.id]
    assert journals.phase(JOURNAL.id) is Phase.PREPARE
    assert journals.read(JOURNAL.id, Phase.PREPARE) == JOURNAL


def test_a_journal_of_a_version_before_subtrees_has_none(journals: Journals) -> None:
    """Such a version made every folder in its place; what it broke off is put right as it would have."""
    journals.write(JOURNAL)
    handle = journals._fs.open_root(f"{journals._folder}/{JOURNAL.id}")
    data = unseal(journals._fs.read(handle, "prepare.json"))
    assert data.pop("subtrees") == [[0, ".host/skills", 0]]
    journals._fs.unlink(handle, "prepare.json")
    journals._fs.create(handle, "prepare.json", seal(data), 0o600)
    assert journals.read(JOURNAL.id, Phase.PREPARE) == replace(JOURNAL, subtrees=())


def test_a_phase_is_a_name_and_moving_on_writes_nothing_new(journals: Journals, world: Any) -> None:
    journals.write(JOURNAL)
    path = world.state / "transactions" / JOURNAL.id
    inode = (path / "prepare.json").stat().st_ino
    for before, after in (
        (Phase.PREPARE, Phase.COMMIT),
        (Phase.COMMIT, Phase.UNDO),
        (Phase.UNDO, Phase.DONE),
    ):
        journals.move(JOURNAL.id, before, after)
        assert journals.phase(JOURNAL.id) is after
        assert [p.stat().st_ino for p in path.iterdir()] == [inode]
    journals.remove(JOURNAL.id)
    assert journals.pending() == []


def broken_off(world: Any, method: str, at: int) -> None:
    """An upgrade that was killed at a call."""
    world.apply(world.wanted({"a.md": "1", "b.md": "1"}))
    child = os.fork()
    if child == 0:  # pragma: no cover
        fs = Faulty(RealFileSystem(), at, methods={method}, instead=lambda: os._exit(3))
        world.using(fs).apply(world.wanted({"a.md": "2", "b.md": "2"}))
    os.waitpid(child, 0)
    assert Journals(world.fs, str(world.state)).pending()


def journal_file(world: Any) -> Any:
    return next((world.state / "transactions").glob("*/*.json"))


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_damaged_journal_is_told_and_nothing_is_touched(world: Any, cut: int) -> None:
    broken_off(world, "exchange", 2)
    path = journal_file(world)
    sound = path.read_bytes()
    path.write_bytes(sound[:cut])
    before = world.tree()
    for act in (lambda: recover(world.store), lambda: world.apply(None)):
        with pytest.raises(GsdlockError) as caught:
            act()
        assert (caught.value.code, caught.value.status) == ("E-JOURNAL-CORRUPT", 5)
        assert world.tree() == before
    path.write_bytes(sound)
    assert recover(world.store)[0].completed
    assert (world.root / "b.md").read_text() == "2"


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//x", ".", "a\0b"])
def test_a_journal_that_leads_out_is_not_believed(journals: Journals, path: str) -> None:
    operation = Operation(Step.TAKE, Place(0, path), 0, None, Kept(D[0], 0o644))
    for forged in (replace(JOURNAL, operations=(operation,)), replace(JOURNAL, pruned=(Place(0, path),))):
        journals.write(forged)
        with pytest.raises(GsdlockError) as caught:
            journals.read(JOURNAL.id, Phase.PREPARE)
        assert caught.value.code == "E-JOURNAL-CORRUPT"


def test_a_staging_folder_that_is_gone_is_told_and_nothing_is_guessed(world: Any) -> None:
    broken_off(world, "exchange", 2)
    (staging,) = world.root.glob(".gsdlock-*")
    staging.rename(world.home / "away")
    before = world.tree()
    with pytest.raises(GsdlockError) as caught:
        recover(world.store)
    assert (caught.value.code, caught.value.status) == ("E-RECOVER-STAGING", 5)
    assert str(world.root) in caught.value.what
    assert world.tree() == before
    (world.home / "away").rename(staging)
    assert recover(world.store)[0].completed


def test_a_transaction_whose_journal_was_never_written_is_forgotten(world: Any) -> None:
    (world.state / "transactions/00").mkdir(parents=True)
    (world.state / "transactions/00/.tmp-1-ab").write_text("half")
    assert recover(world.store) == ()
    assert list((world.state / "transactions").iterdir()) == []


def test_recovery_with_nothing_to_do_is_one_listing(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1"}))
    fs = Recording(RealFileSystem())
    assert recover(world.using(fs).store) == ()
    assert [call.method for call in fs.calls] == ["open_root", "list_dir"]


class DiesBeforeCommit(Decorated):
    """Ends the process right before the point of no return."""

    def before(self, call: Call) -> None:
        if call.to.endswith("/commit.json"):
            os._exit(3)


def test_a_root_that_went_away_before_anything_was_put_there_is_no_obstacle(world: Any) -> None:
    world.root.mkdir()
    child = os.fork()
    if child == 0:  # pragma: no cover
        world.using(DiesBeforeCommit(RealFileSystem())).apply(world.wanted({"a.md": "2"}))
    os.waitpid(child, 0)
    journals = Journals(world.fs, str(world.state))
    assert [journals.phase(id) for id in journals.pending()] == [Phase.PREPARE]
    world.root.rename(world.home / "elsewhere")
    assert not recover(world.store)[0].completed
    world.apply(world.wanted({"a.md": "2"}))
