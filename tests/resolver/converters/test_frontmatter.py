"""Front matter is read leniently and written so that strict hosts read it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from gsdlock.resolver.converters import frontmatter
from hypothesis import given
from hypothesis import strategies as st

LINE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
)


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\nname: x\n---\nbody", "name: x", "\nbody"),
        ("---\nname: x\nabout: a --- b\n---\nbody", "name: x\nabout: a --- b", "\nbody"),
        ("---\nname: x\n----\nbody", "name: x", "-\nbody"),
        ("---\n---\nbody", "", "\nbody"),
        ("\ufeff---\nname: x\n---\nbody", "name: x", "\nbody"),
        ("body", None, "body"),
        ("---\nname: x", None, "---\nname: x"),
        ("---\n\nA quotation between rules.\n\n---\n", None, "---\n\nA quotation between rules.\n\n---\n"),
        ("", None, ""),
    ],
)
def test_a_file_comes_apart_where_a_block_starts_it(text: str, front: str | None, body: str) -> None:
    assert frontmatter.split(text) == frontmatter.Document(front, body)


@pytest.mark.parametrize(
    ("front", "said"),
    [
        ("description: Plans.", {"description": "Plans."}),
        ("description: >\n  Plans\n  work.", {"description": "Plans work."}),
        ("description: Use when: x", {"description": "Use when: x"}),
        ("description: 'it''s'", {"description": "it's"}),
        ("tools: [Read, Bash]", {"tools": ["Read", "Bash"]}),
        ("version: 1.10", {"version": "1.10"}),
        ("on: yes", {"on": "yes"}),
        ("# nothing", {}),
        ("", {}),
    ],
)
def test_what_a_block_says_are_strings_and_lists(front: str, said: dict[str, Any]) -> None:
    assert frontmatter.fields(front) == said


def test_entries_keep_the_source_and_comments_stand_alone() -> None:
    front = "# first\nname: x\ntools:\n  - Read\n# hooks:\n#   y\ncolor: red"
    found = frontmatter.entries(front)
    assert [e.key for e in found] == ["", "name", "tools", "", "color"]
    assert "\n".join(e.source for e in found) == front


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("Read, Bash ,Read,", ["Read", "Bash"]),
        (["Read", "Bash", "Read"], ["Read", "Bash"]),
        (None, []),
        ({"Read": "true"}, []),
    ],
)
def test_a_list_of_names_is_read_in_both_forms(value: Any, names: list[str]) -> None:
    assert frontmatter.list_of(value) == names


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [("abc", 3, "abc"), ("abcdef", 5, "ab..."), ("äöüäöü", 5, "äö...")],
)
def test_a_description_is_cut_within_its_limit(text: str, limit: int, short: str) -> None:
    assert frontmatter.clipped(text, limit) == short
    assert len(short) <= limit


@pytest.mark.parametrize("text", ["plan-phase", "gsd-2", "x"])
def test_a_plain_name_needs_no_quotes(text: str) -> None:
    assert frontmatter.plain(text) == text


@pytest.mark.parametrize(
    "text", ["yes", "NULL", "12", "0x1f", "1e5", "2024-01-01", "gsd:help", "", "-x", "a b"]
)
def test_what_yaml_might_misread_is_quoted(text: str) -> None:
    assert frontmatter.plain(text) == frontmatter.quoted(text) != text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_string_survives_quoting(text: str) -> None:
    assert yaml.safe_load(f"key: {frontmatter.quoted(text)}") == {"key": text}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_plain_names_and_items_are_read_back_as_strings(text: str) -> None:
    for write in (frontmatter.plain, frontmatter.item):
        assert yaml.safe_load(f"key: {write(text)}") == {"key": text}


@pytest.mark.parametrize(
    ("front", "legal"),
    [
        ("name: x\ntools: Read", "name: x\ntools: Read"),
        ("name: x\nabout: Use when: y", 'name: x\nabout: "Use when: y"'),
        ("name: x\nabout: [beta] y", 'name: x\nabout: "[beta] y"'),
        ("about: *star\n# kept\ntools:\n  - Read", 'about: "*star"\n# kept\ntools:\n  - Read'),
        ("{name: x}", 'name: "x"'),
    ],
)
def test_only_what_offends_is_quoted(front: str, legal: str) -> None:
    assert frontmatter.legal(front) == legal


@given(
    st.lists(
        st.tuples(st.sampled_from(["name", "description", "tools", "x-y"]), LINE), min_size=1, max_size=4
    )
)
def test_a_legal_block_takes_more_lines_and_parses(pairs: list[tuple[str, str]]) -> None:
    front = frontmatter.legal("\n".join(f"{k}: {v}" for k, v in pairs))
    loaded = yaml.load(f"{front}\nours: value", Loader=yaml.BaseLoader)
    assert loaded["ours"] == "value"
    assert {k for k, _ in pairs} <= loaded.keys()
