"""What moves from one set of targets to another."""

from __future__ import annotations

from gsdlock.lockfiles.diff import Change, compare
from gsdlock.lockfiles.model import Edit, EditFormat, EditOp, LockedPack, PackKind, Placement, Target
from gsdlock.lockfiles.patch import unified
from msgspec.structs import replace


def digest(letter: str) -> str:
    return "sha256:" + letter * 64


def hook(letter: str, op: EditOp = EditOp.APPEND_UNIQUE) -> Edit:
    return Edit("config", "settings.json", EditFormat.JSONC, op, "/hooks/Stop", digest(letter))


BASE = Target(
    "claude",
    "claude",
    "global",
    "full",
    ("ui",),
    (Placement("config", "a", digest("a"), 0o644, 1), Placement("config", "b", digest("b"), 0o644, 1)),
    (hook("1"),),
    digest("0"),
)


def test_equal_sides_differ_in_nothing() -> None:
    assert not compare({"claude": BASE}, {"claude": BASE})


def test_moved_origins_alone_are_nothing_to_see() -> None:
    assert not compare({"claude": BASE}, {"claude": replace(BASE, origins=digest("9"))})


def test_files_by_place() -> None:
    after = replace(
        BASE,
        placements=(
            Placement("config", "b", digest("c"), 0o644, 2),
            Placement("config", "d", digest("d"), 0o755, 3),
        ),
    )
    (target,) = compare({"claude": BASE}, {"claude": after}).targets
    assert [(f.key, f.change) for f in target.files] == [
        ("config:a", Change.REMOVED),
        ("config:b", Change.CHANGED),
        ("config:d", Change.ADDED),
    ]


def test_a_mode_alone_is_a_change() -> None:
    after = replace(BASE, placements=(replace(BASE.placements[0], mode=0o755), BASE.placements[1]))
    (target,) = compare({"claude": BASE}, {"claude": after}).targets
    assert [f.key for f in target.files] == ["config:a"]


def test_an_array_entry_is_replaced_and_a_value_is_changed() -> None:
    (target,) = compare({"claude": BASE}, {"claude": replace(BASE, edits=(hook("2"),))}).targets
    assert {e.change for e in target.entries} == {Change.ADDED, Change.REMOVED}
    before = replace(BASE, edits=(hook("1", EditOp.ENSURE),))
    (target,) = compare({"x": before}, {"x": replace(BASE, edits=(hook("2", EditOp.ENSURE),))}).targets
    assert [e.change for e in target.entries] == [Change.CHANGED]


def test_a_target_that_comes_or_goes() -> None:
    assert [t.change for t in compare({}, {"claude": BASE}).targets] == [Change.ADDED]
    assert [t.change for t in compare({"claude": BASE}, {}).targets] == [Change.REMOVED]


def test_features_are_told_apart() -> None:
    (target,) = compare({"x": BASE}, {"x": replace(BASE, features=("research",))}).targets
    assert (target.features_added, target.features_removed) == (("research",), ("ui",))


def test_packs_by_identity() -> None:
    one = LockedPack("gsd", PackKind.NPM, "p@^1", "p@1.0.0", digest("a"))
    two = replace(one, resolved="p@1.1.0")
    (pack,) = compare({}, {}, [one], [two]).packs
    assert (pack.before, pack.after, pack.change) == (one, two, Change.CHANGED)


def test_a_patch_of_text() -> None:
    assert unified(b"a\nb\n", b"a\nc\n", "x") == ["--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert unified(None, b"a\n", "x")[:2] == ["--- /dev/null", "+++ b/x"]
    assert unified(b"a\n", b"a\n", "x") == []


def test_a_patch_never_drives_the_terminal() -> None:
    assert "\x1b" not in "".join(unified(b"a\n", b"\x1b[2J\n", "x"))
    assert unified(b"\0", b"a", "x")[-1] == "binary files differ"


def test_a_lost_final_newline_is_shown() -> None:
    assert any("no newline" in line for line in unified(b"a\n", b"a", "x"))
