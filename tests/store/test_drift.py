"""The three-way rule for whole files, as a table: base, what stands there, what is wanted, what was said."""

from __future__ import annotations

import itertools

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.store.drift import Fate, Next, Say, Seen, judge_file, short_diff
from gsdlock.store.records import FileRecord, Kept
from msgspec.structs import replace

OLD, NEW, USER, PRIOR = (sha256_digest(text) for text in (b"old", b"new", b"user", b"prior"))
NONE = Seen("absent")
BASE = FileRecord("config", "x", OLD, False, 0o644, OLD, 0o644)
WITH_PRIOR = replace(BASE, prior=Kept(PRIOR, 0o600))
HELD = replace(BASE, held="changed")
FOREIGN = replace(BASE, held="foreign")
NEXT = Next(NEW, 0o644)
SAME = Next(OLD, 0o644)


def file(digest: str, mode: int = 0o644) -> Seen:
    return Seen("file", digest, mode)


OURS, THEIRS, ADOPT = Say(ours=True), Say(theirs=True), Say(adopt=True)

TABLE = [
    # nothing of ours there, something wanted
    ("new", None, NONE, NEXT, Say(), Fate.CREATE),
    ("equal was there", None, file(NEW), NEXT, Say(), Fate.KEEP),
    ("theirs was there", None, file(USER), NEXT, Say(), Fate.COLLISION),
    ("theirs was there, adopt", None, file(USER), NEXT, ADOPT, Fate.ADOPT),
    ("theirs was there, ours", None, file(USER), NEXT, OURS, Fate.ADOPT),
    ("theirs was there, theirs", None, file(USER), NEXT, THEIRS, Fate.HOLD),
    ("equal but not executable", None, file(NEW, 0o644), Next(NEW, 0o755), Say(), Fate.COLLISION),
    ("a folder is there", None, Seen("directory"), NEXT, Say(), Fate.OBSTRUCTED),
    ("a folder is there, adopt", None, Seen("directory"), NEXT, ADOPT, Fate.OBSTRUCTED),
    ("a FIFO is there, theirs", None, Seen("FIFO"), NEXT, THEIRS, Fate.HOLD),
    # ours there, something wanted
    ("as it should", BASE, file(OLD), SAME, Say(), Fate.KEEP),
    ("next version", BASE, file(OLD), NEXT, Say(), Fate.REPLACE),
    ("next version, theirs says nothing of it", BASE, file(OLD), NEXT, THEIRS, Fate.REPLACE),
    ("user was quicker", BASE, file(NEW), NEXT, Say(), Fate.KEEP),
    ("edited", BASE, file(USER), NEXT, Say(), Fate.CHANGED),
    ("edited, nothing new", BASE, file(USER), SAME, Say(), Fate.CHANGED),
    ("edited, ours", BASE, file(USER), NEXT, OURS, Fate.REPLACE),
    ("edited, theirs", BASE, file(USER), NEXT, THEIRS, Fate.HOLD),
    ("edited, adopt is about other files", BASE, file(USER), NEXT, ADOPT, Fate.CHANGED),
    ("deleted", BASE, NONE, SAME, Say(), Fate.DELETED),
    ("deleted, ours", BASE, NONE, SAME, OURS, Fate.CREATE),
    ("deleted, theirs", BASE, NONE, SAME, THEIRS, Fate.HOLD),
    ("made executable", BASE, file(OLD, 0o755), SAME, Say(), Fate.MODE),
    ("only closed to others", BASE, file(OLD, 0o600), SAME, Say(), Fate.KEEP),
    ("closed to others, next", BASE, file(OLD, 0o600), NEXT, Say(), Fate.REPLACE),
    ("a link now", BASE, Seen("link"), SAME, Say(), Fate.OBSTRUCTED),
    ("a link now, theirs", BASE, Seen("link"), SAME, THEIRS, Fate.HOLD),
    # held
    ("held", HELD, file(USER), NEXT, Say(), Fate.HOLD),
    ("held and deleted", HELD, NONE, NEXT, Say(), Fate.HOLD),
    ("held, now equal", HELD, file(NEW), NEXT, Say(), Fate.KEEP),
    ("held, ours", HELD, file(USER), NEXT, OURS, Fate.REPLACE),
    ("held and deleted, ours", HELD, NONE, NEXT, OURS, Fate.CREATE),
    ("held, back at ours", HELD, file(OLD), NEXT, Say(), Fate.REPLACE),
    # nothing wanted any more
    ("goes", BASE, file(OLD), None, Say(), Fate.REMOVE),
    ("goes, is gone", BASE, NONE, None, Say(), Fate.RELEASE),
    ("goes, edited", BASE, file(USER), None, Say(), Fate.RELEASE),
    ("goes, edited, ours", BASE, file(USER), None, OURS, Fate.REMOVE),
    ("goes, is a link", BASE, Seen("link"), None, Say(), Fate.RELEASE),
    ("goes, is a link, ours", BASE, Seen("link"), None, OURS, Fate.RELEASE),
    ("goes, theirs says nothing of it", BASE, file(OLD), None, THEIRS, Fate.REMOVE),
    ("goes, executable now", BASE, file(OLD, 0o755), None, Say(), Fate.REMOVE),
    ("goes, something was there", WITH_PRIOR, file(OLD), None, Say(), Fate.RESTORE),
    ("goes, equal was there", WITH_PRIOR, file(PRIOR, 0o600), None, Say(), Fate.RELEASE),
    ("goes, held", HELD, file(USER), None, Say(), Fate.RELEASE),
    ("goes, held, ours", FOREIGN, file(USER), None, OURS, Fate.RELEASE),
    ("nothing at all", None, file(USER), None, OURS, Fate.KEEP),
]


@pytest.mark.parametrize(
    ("base", "seen", "wanted", "say", "fate"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_the_table(base: FileRecord | None, seen: Seen, wanted: Next | None, say: Say, fate: Fate) -> None:
    assert judge_file(base, seen, wanted, say).fate is fate


def test_what_stood_there_before_us_is_remembered_for_as_long_as_we_stay() -> None:
    adopted = judge_file(None, file(USER, 0o600), NEXT, ADOPT)
    assert adopted.prior == Kept(USER, 0o600)
    assert judge_file(None, file(NEW), NEXT, Say()).prior == Kept(NEW, 0o644)
    for seen, wanted, say in ((file(OLD), NEXT, Say()), (file(USER), NEXT, OURS), (NONE, NEXT, OURS)):
        assert judge_file(WITH_PRIOR, seen, wanted, say).prior == WITH_PRIOR.prior


def test_a_held_foreign_file_becomes_the_prior_one_when_ours_takes_its_place() -> None:
    assert judge_file(FOREIGN, file(USER), NEXT, OURS).prior == Kept(USER, 0o644)
    assert judge_file(HELD, file(USER), NEXT, OURS).prior is None


def every_case() -> list[tuple[FileRecord | None, Seen, Next | None, Say]]:
    bases = [None, BASE, WITH_PRIOR, HELD, FOREIGN]
    seens = [
        NONE,
        file(OLD),
        file(NEW),
        file(USER),
        file(PRIOR),
        file(OLD, 0o755),
        Seen("link"),
        Seen("directory"),
    ]
    says = [Say(*flags) for flags in itertools.product([False, True], repeat=3)]
    return list(itertools.product(bases, seens, [None, NEXT, SAME], says))


@pytest.mark.parametrize(("base", "seen", "wanted", "say"), every_case())
def test_nothing_of_the_users_ever_goes_unasked_or_unkept(
    base: FileRecord | None, seen: Seen, wanted: Next | None, say: Say
) -> None:
    ruling = judge_file(base, seen, wanted, say)
    writes = ruling.fate in (Fate.CREATE, Fate.REPLACE, Fate.REMOVE, Fate.ADOPT, Fate.RESTORE)
    known = {base.digest} if base is not None else set()
    if writes and seen.kind == "file" and seen.digest not in known:
        assert ruling.drifted, "the user's version is put aside, so it must be kept"
        assert say.ours or say.adopt, "and only because they said so"
    if seen.kind not in ("file", "absent"):
        assert not writes, "a link, a folder, a FIFO is never written over"
    if say == Say(theirs=True) and base is None:
        assert not writes or seen.absent


def test_a_short_diff_shows_what_the_user_changed_and_no_more() -> None:
    before = b"".join(b"line %d\n" % number for number in range(100))
    lines = short_diff(before, before.replace(b"line 50\n", b"line fifty\n"))
    assert "-line 50" in lines
    assert "+line fifty" in lines
    assert len(lines) <= 13
    assert len(short_diff(before, b"")) == 13
    assert short_diff(b"\0\1", b"\0") == ["2 bytes became 1"]
