"""Confinement as data: which relative paths are safe, which cannot stand together, where no root may be."""

from __future__ import annotations

import posixpath
import unicodedata

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.confinement import check_relative, check_root_place, check_twins, relative_fault, twins
from hypothesis import given
from hypothesis import strategies as st

SAFE = [
    "a",
    "skills/gsd-help/SKILL.md",
    ".claude/settings.json",
    "a b/c'd/e\"f",
    "日本語/é.md",
    "..a/b..c",
    "console/auxiliary.md",
    "a" * 255,
    "/".join(["a"] * 2048),
    "com10.txt",
    "👩‍💻.md",
]
UNSAFE = [
    ("", "empty"),
    ("/etc/passwd", "absolute"),
    ("a//b", "empty name"),
    ("a/", "empty name"),
    (".", '"."'),
    ("..", '".."'),
    ("a/../../b", '".."'),
    ("a/./b", '"."'),
    ("a\\b", "backslash"),
    ("..\\b", "backslash"),
    ("a\0b", "NUL"),
    ("a\nb", "control"),
    ("a\x1bb", "control"),
    ("a\x7fb", "control"),
    ("a\u0085b", "control"),
    ("a\u2028b", "control"),
    ("a\ud800b", "control"),
    ("c:", "drive"),
    ("C:evil", "drive"),
    ("0:", "drive"),
    ("é:x", "drive"),
    ("a/c:/b", "drive"),
    ("nul", "device"),
    ("a/NUL.txt", "device"),
    ("Aux", "device"),
    ("con.tar.gz", "device"),
    ("com1", "device"),
    ("LPT9.md", "device"),
    ("com¹", "device"),
    ("conin$", "device"),
    ("nul .txt", "device"),
    ("a.", "dot or a space"),
    ("a /b", "dot or a space"),
    ("...", "dot or a space"),
    ("a" * 256, "255 bytes"),
    ("é" * 128, "255 bytes"),
    ("/".join(["ab"] * 2000), "4096 bytes"),
    (".gsdlock-0123/x", "staging"),
]


@pytest.mark.parametrize("path", SAFE)
def test_a_safe_path_passes(path: str) -> None:
    assert relative_fault(path) is None
    check_relative(path)


@pytest.mark.parametrize(("path", "why"), UNSAFE)
def test_an_unsafe_path_is_refused_with_the_reason(path: str, why: str) -> None:
    fault = relative_fault(path)
    assert fault is not None
    assert why in fault
    with pytest.raises(GsdlockError) as caught:
        check_relative(path)
    assert (caught.value.code, caught.value.status) == ("E-CONFINE-PATH", 4)
    assert "\x1b" not in caught.value.what


names = st.text(min_size=1, max_size=12)
paths = st.lists(
    st.one_of(names, st.sampled_from(["..", ".", "", "nul", "a:", "c:", "A", "a"])), max_size=6
).map("/".join)


@given(paths)
def test_whatever_passes_stays_below_any_root_on_any_system(path: str) -> None:
    if relative_fault(path) is not None:
        return
    assert posixpath.normpath(posixpath.join("/root/folder", path)) == f"/root/folder/{path}"
    import ntpath

    joined = ntpath.normpath(ntpath.join("C:\\root", path))
    assert joined.lower().startswith("c:\\root\\")
    assert path.encode("utf-8")
    assert not any(unicodedata.category(c) == "Cc" for c in path)


@given(paths, paths)
def test_two_safe_paths_joined_are_safe_or_too_long(first: str, second: str) -> None:
    if relative_fault(first) is None and relative_fault(second) is None:
        assert relative_fault(f"{first}/{second}") is None


@pytest.mark.parametrize(
    "pair",
    [
        ("a/Skill.md", "a/SKILL.md"),
        ("Skills/a.md", "skills/b.md"),
        ("café.md", "cafe\u0301.md"),
        ("straße", "STRASSE"),
        ("a", "a/b"),
        ("A", "a/b"),
        ("a/b", "a/b/c/d"),
    ],
)
def test_twins_are_refused_and_both_are_named(pair: tuple[str, str]) -> None:
    found = twins([*pair, "other/file"])
    assert [{t.first, t.second} & set(pair) for t in found]
    with pytest.raises(GsdlockError) as caught:
        check_twins([*pair, "other/file"])
    assert caught.value.code == "E-CONFINE-TWINS"


@pytest.mark.parametrize(
    "paths", [[], ["a"], ["a", "a"], ["a/b", "a/c", "ab"], ["a/b/c", "a/b.d"], ["a-b", "a/b"]]
)
def test_ordinary_paths_are_no_twins(paths: list[str]) -> None:
    assert twins(paths) == []


@given(
    st.sets(st.text("abAB/é", min_size=1, max_size=6).filter(lambda p: relative_fault(p) is None), max_size=8)
)
def test_paths_without_twins_make_one_file_each_where_case_is_ignored(found: set[str]) -> None:
    if twins(found):
        return
    folded = {unicodedata.normalize("NFC", path.casefold()) for path in found}
    assert len(folded) == len(found)
    assert not any(other.startswith(path + "/") for path in folded for other in folded)


@given(st.sets(st.lists(st.sampled_from("aAbé"), min_size=1, max_size=4).map("/".join), max_size=5))
def test_twins_are_what_one_tree_that_ignores_case_could_not_hold(found: set[str]) -> None:
    """Told by making that tree: of each folded name its spelling, and whether it is a folder."""
    tree: dict[str, tuple[str, bool]] = {}
    fits = True
    for path in found:
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            spelled, folder = "/".join(parts[:length]), length < len(parts)
            fits &= tree.setdefault(spelled.casefold(), (spelled, folder)) == (spelled, folder)
    assert (twins(found) == []) is fits


HOME = "/home/ada"
OTHERS = {"the root of claude": "/home/ada/.claude", "gsdlock's own state": "/home/ada/.local/state/gsdlock"}


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/etc", "/etc/x", "/usr/local/x", "/var/x", "/opt/x", "C:/Windows/x"),
        *("/home", "/home/ada", "/home/ada/", "/home/ada/./"),
        *(
            "/home/ada/.ssh",
            "/home/ada/.SSH/x",
            "/home/ada/.gnupg/x",
            "/home/ada/.bashrc",
            "/home/ada/.zshenv.d",
        ),
        *("/home/ada/.config", "/home/ada/.local", "/home/ada/.local/share", "/home/ada/.local/bin/x"),
        *("/home/ada/.config/autostart", "/home/ada/.config/systemd/user", "/home/ada/Library"),
        *("/home/ada/.claude", "/home/ada/.claude/skills", "/home/ada/.CLAUDE/x"),
        *("/home/ada/.local/state/gsdlock/x", "/home/ada/.local/state"),
    ],
)
def test_a_third_party_root_may_not_be_there(path: str) -> None:
    with pytest.raises(GsdlockError) as caught:
        check_root_place(path, HOME, OTHERS)
    assert (caught.value.code, caught.value.status) == ("E-CONFINE-PLACE", 4)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ada/.newhost",
        "/home/ada/.config/newhost",
        "/home/ada/work/proj/.newhost",
        "/srv/newhost",
        "/home/ada/.claude-other",
        "/home/adam/.newhost",
    ],
)
def test_a_third_party_root_may_be_a_folder_of_its_own(path: str) -> None:
    check_root_place(path, HOME, OTHERS)
