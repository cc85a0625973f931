"""Where a value ends: the same by the pattern for long texts as bracket by bracket."""

from __future__ import annotations

import pytest
from gsdlock.store.edits import jsonc_tree, toml_tree
from gsdlock.store.edits.flow import LONG, Syntax, value_end
from hypothesis import given
from hypothesis import strategies as st

SCALARS = st.sampled_from(['""', '"]"', r'"\"}"', "1", "true", '"//"', '"/*"', '"#"'])


def containers(comments: list[str]) -> st.SearchStrategy[str]:
    """Texts of containers, up to seven deep, with comments that hold brackets and quotes."""
    spaces = st.sampled_from(["", " ", "\n", *comments])

    def listed(held: tuple[list[str], str]) -> str:
        return f"[{','.join(held[0])}{held[1]}]"

    def mapped(held: tuple[list[str], str]) -> str:
        members = [f'"k":{item}' for item in held[0]]
        return f"{{{','.join(members)}{held[1]}}}"

    def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        held = st.tuples(st.lists(st.tuples(spaces, inner, spaces).map("".join), max_size=3), spaces)
        return st.one_of(held.map(listed), held.map(mapped))

    deep = around(SCALARS)
    for _ in range(6):
        deep = st.one_of(around(SCALARS), around(st.one_of(SCALARS, deep)))
    return deep


@pytest.mark.parametrize(
    ("syntax", "comments"),
    [
        (jsonc_tree.SYNTAX, ['// ]}"\n', '/* [{" ]*/']),
        (toml_tree.SYNTAX, ["# ]}\"'\n"]),
    ],
    ids=["jsonc", "toml"],
)
@given(data=st.data())
def test_a_value_ends_where_its_bracket_closes(
    syntax: Syntax, comments: list[str], data: st.DataObject
) -> None:
    text = data.draw(containers(comments))
    rest = data.draw(st.sampled_from(["", "]", ", 1]", "}\n"]))
    assert value_end(text + rest, 0, syntax) == len(text)
    assert value_end(text + rest + " " * LONG, 0, syntax) == len(text)
