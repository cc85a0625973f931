"""What both sides of a lock with merge conflict markers agree on."""

from __future__ import annotations

import pytest
from gsdlock.lockfiles.conflict import agreed, sides
from gsdlock.lockfiles.model import Lock, LockedPack, PackKind
from gsdlock.lockfiles.write import lock_bytes

TREE = "sha256:" + "1" * 64


def pin(name: str, resolved: str = "1.0.0") -> LockedPack:
    return LockedPack(
        name, PackKind.NPM, f"{name}@^1", f"{name}@{resolved}", TREE, "sha512-" + "A" * 86 + "=="
    )


def text(*packs: LockedPack) -> str:
    return lock_bytes(Lock(packs, (), ())).decode()


def conflict(ours: str, theirs: str, base: str | None = None) -> bytes:
    middle = "" if base is None else f"||||||| base\n{base}"
    return f"<<<<<<< HEAD\n{ours}{middle}=======\n{theirs}>>>>>>> theirs\n".encode()


def test_the_sides_are_told_apart_and_the_ancestor_is_passed_over() -> None:
    whole = "a\n<<<<<<< HEAD\nb\n||||||| base\nc\n=======\nd\n>>>>>>> theirs\ne\n"
    assert sides(whole) == ("a\nb\ne\n", "a\nd\ne\n")
    assert sides("<<<<<<<x\n=======x\n") == ("<<<<<<<x\n=======x\n", "<<<<<<<x\n=======x\n")


AGREED = [
    ("alike on both sides", [pin("a"), pin("b")], [pin("a"), pin("b")], ["a", "b"]),
    ("another version on one", [pin("a"), pin("b")], [pin("a"), pin("b", "1.1.0")], ["a"]),
    ("on one side only", [pin("a"), pin("b")], [pin("a")], ["a"]),
    ("nothing in common", [pin("a")], [pin("b")], []),
]


@pytest.mark.parametrize(("ours", "theirs", "names"), [a[1:] for a in AGREED], ids=[a[0] for a in AGREED])
@pytest.mark.parametrize("base", [None, text(pin("a", "0.9.0"))], ids=["merge", "diff3"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_what_is_agreed_on(
    ours: list[LockedPack], theirs: list[LockedPack], names: list[str], base: str | None, end: str
) -> None:
    data = conflict(text(*ours), text(*theirs), base).replace(b"\n", end.encode())
    found = agreed(data)
    assert found.packs == tuple(pin(name) for name in names)
    assert found.targets == () and found.overlays == ()


BROKEN = [
    b"",
    b"<<<<<<< HEAD\n",
    b"\xff\xfe<<<<<<< HEAD\n",
    conflict("[[pack]]\nname = ", text(pin("a"))),
    conflict("pack = 3\n", text(pin("a"))),
    conflict('[[pack]]\nname = "a"\n', '[[pack]]\nname = "a"\n'),
    conflict("pack = [1]\n", "pack = [1]\n"),
]


@pytest.mark.parametrize("data", BROKEN)
def test_nothing_is_agreed_on_where_a_side_is_no_lock(data: bytes) -> None:
    assert agreed(data).packs == ()
