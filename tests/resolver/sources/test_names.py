"""Which names a pack may hold."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.resolver.sources.names import NameSet, folded, name_fault
from hypothesis import given
from hypothesis import strategies as st

BAD = {
    "": "empty",
    "/etc/passwd": "absolute",
    "//host/share": "absolute",
    "a//b": "empty component",
    "a/": "empty component",
    "..": "`..`",
    "../x": "`..`",
    "a/../../x": "`..`",
    "a/./b": "`.`",
    "./a": "`.`",
    "a\\b": "backslash",
    "..\\x": "backslash",
    "C:/x": "drive",
    "c:x": "drive",
    "a/C:x": "drive",
    "a\0b": "NUL",
    "a\nb": "U+000A",
    "a\x1b[31m": "U+001B",
    "a\x7f": "U+007F",
    "a\x85b": "U+0085",
    "a\u2028b": "U+2028",
    "a\u202egpj.md": "U+202E",
    "a\udcffb": "not UTF-8",
    "con": "Windows",
    "a/NUL.md": "Windows",
    "Aux .txt": "Windows",
    "lpt1.tar.gz": "Windows",
    "COM¹": "Windows",
    "CONIN$": "Windows",
    "a.": "dot or a space",
    "a /b": "dot or a space",
    "x" * 256: "255",
    "é" * 128: "255",
    "/".join(["x" * 200] * 21): "4096",
    "a/" * 100 + "b": "100",
}
GOOD = [
    "SKILL.md",
    ".claude-plugin/plugin.json",
    "..a",
    "a..b",
    "...x",
    "console.md",
    "com10",
    "nulls/auxiliary.md",
    "prompt: one.md",
    "日本語/ファイル.md",
    "x" * 255,
    "a b/c.md",
    "a/" * 99 + "b",
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_could_mean_something_else_is_refused(name: str) -> None:
    assert BAD[name] in (name_fault(name) or "")


@pytest.mark.parametrize("name", GOOD)
def test_an_ordinary_name_is_taken(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("README.md", "readme.md"),
        ("straße", "STRASSE"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("Docs/a.md", "docs/b.md"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("A", "a/b"),
        ("skills/X/SKILL.md", "skills/x/other.md"),
    ],
)
def test_two_names_that_are_one_elsewhere_are_refused(
    first: str, second: str, refused: Callable[..., Any]
) -> None:
    names = NameSet("pack demo")
    names.add_file(first)
    with refused("E-UNPACK-COLLISION", "pack demo"):
        names.add_file(second)


def test_a_file_may_stand_once_and_a_folder_often(refused: Callable[..., Any]) -> None:
    names = NameSet("pack demo")
    names.add_folder("a/b")
    names.add_file("a/b/c")
    names.add_folder("a/b")
    with refused("E-UNPACK-DUPLICATE", "a/b/c"):
        names.add_file("a/b/c")
    with refused("E-UNPACK-COLLISION"):
        names.add_folder("a/b/c")


@given(st.text(max_size=30))
def test_an_accepted_name_stays_below_its_root(name: str) -> None:
    if name_fault(name) is None:
        assert not name.startswith("/")
        assert all(part not in ("", ".", "..") for part in name.split("/"))
        assert name.encode("utf-8").decode("utf-8") == name


@given(st.lists(st.text(alphabet="aAbBéÉe\u0301/", min_size=1, max_size=5), max_size=8))
def test_the_names_of_a_set_stay_apart_under_case_folding_and_nfc(candidates: list[str]) -> None:
    names, taken = NameSet("pack demo"), []
    for name in candidates:
        try:
            names.add_file(name)
        except GsdlockError:
            continue
        taken.append(name)
    keys = [folded(n) for n in taken]
    assert len(set(keys)) == len(keys)
    assert all(unicodedata.is_normalized("NFC", k) for k in keys)
    assert not any(b.startswith(a + "/") for a in keys for b in keys)
