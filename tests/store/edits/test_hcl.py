"""HCL: whole labelled blocks go in and come out, and no other byte changes."""

from __future__ import annotations

from typing import Any

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault
from hypothesis import example, given, settings
from hypothesis import strategies as st

MANY = settings.get_profile("edits")
HCL = editor(EditFormat.HCL)
SERVER: dict[str, Any] = {"command": "tided", "args": ["--port", "1"], "env": {"A": '${x} %{y} " \\ \n\x00é'}}
OURS = [
    Change(EditOp.ENSURE, "/mcp_server/tides", SERVER),
    Change(EditOp.ENSURE, "/mcp_server/o d", {"url": "x"}),
]

PARTS = [
    '# a comment with { and "\n',
    "// another }\n",
    "/* many\n { lines */\n",
    'model = "opus"\n',
    'greeting = "hi ${upper("a}b")} there"\n',
    "count = 1 + 2 # three\n",
    'tools = [\n  "a", # one\n  "b",\n]\n',
    "note = <<EOT\n } not the end {\nEOT\n",
    "note2 = <<-EOT\n   x\n   EOT\n",
    'provider "anthropic" {\n  key = env("KEY")\n  nested {\n    deep = { a = "}" }\n  }\n}\n',
    'mcp_server "mine" {\n  command = "x"\n}\n',
    'policy deny { match = "*" }\n',
    "\n",
]
documents = st.builds(
    lambda parts, ends, last: ends.join("".join(dict.fromkeys(parts)).split("\n")).rstrip("\r\n") + last,
    st.lists(st.sampled_from(PARTS), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)


@MANY
@given(documents, st.booleans(), st.booleans())
def test_put_then_take_gives_the_very_bytes_back(text: str, bom: bool, reverse: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    put = HCL.put(data, OURS)
    assert all(HCL.holds(put.data, change) for change in OURS)
    assert HCL.put(put.data, OURS).data == put.data, "once more changes nothing"
    entries = list(put.entries)[::-1] if reverse else list(put.entries)
    assert HCL.take(put.data, entries) == data
    one, other = entries
    assert HCL.take(HCL.take(put.data, [one]), [other]) == data


@MANY
@given(documents)
def test_what_was_there_stays_byte_for_byte(text: str) -> None:
    put = HCL.put(text.encode(), OURS).data.decode()
    assert put.startswith(text)
    HCL.check(put.encode())


values = st.recursive(
    st.text(max_size=20) | st.booleans() | st.none() | st.integers(-(10**9), 10**9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@MANY
@given(values, st.text(max_size=8))
@example([], "%{")
@example({"${a}": "${a}"}, "${a}")
def test_every_value_is_read_back_as_it_was_written(value: Any, label: str) -> None:
    """Nothing that a pack brings becomes a template, another value or another block."""
    at = "/s/" + label.replace("~", "~0").replace("/", "~1")
    change = Change(EditOp.ENSURE, at, {"v": value})
    data = HCL.put(None, [change]).data
    assert HCL.holds(data, change)
    assert HCL.read(data) == {"s": {label: {"v": value}}}


@pytest.mark.parametrize(
    ("at", "value", "kind"),
    [
        ("/s/x", {"a b": 1}, "shape"),
        ("/s s/x", {"a": 1}, "shape"),
        ("/s/x", {"a = 1\nb": 1}, "shape"),
        ("/s/x", {"a": float("nan")}, "shape"),
        ("/s/x", {"a": "\ud800"}, "encoding"),
    ],
)
def test_what_hcl_cannot_say_is_refused(at: str, value: Any, kind: str) -> None:
    with pytest.raises(EditFault) as fault:
        HCL.put(b"a = 1\n", [Change(EditOp.ENSURE, at, value)])
    assert fault.value.kind == kind


def test_a_file_of_ours_goes_when_it_is_empty() -> None:
    put = HCL.put(None, OURS)
    assert HCL.take(put.data, put.entries) is None
    extended = b'model = "x"\n' + put.data
    assert HCL.take(extended, put.entries) == b'model = "x"\n'
    assert HCL.take(HCL.put(b"", OURS).data, HCL.put(b"", OURS).entries) == b""


def test_an_upgrade_replaces_ours_and_leaves_the_equal_one() -> None:
    put = HCL.put(b"a = 1\n", OURS)
    newer = [OURS[0], Change(EditOp.ENSURE, "/mcp_server/o d", {"url": "y"})]
    moved = HCL.put(put.data, newer, replacing=put.entries)
    assert moved.entries[0] == put.entries[0]
    assert HCL.read(moved.data)["mcp_server"]["o d"] == {"url": "y"}
    assert HCL.take(moved.data, moved.entries) == b"a = 1\n"


def test_a_block_of_the_users_is_never_replaced_unless_told() -> None:
    mine = b'mcp_server "tides" {\n  command = "mine" # yes\n}\n'
    with pytest.raises(EditFault) as fault:
        HCL.put(mine, OURS)
    assert fault.value.kind == "collision" and fault.value.line == 1
    put = HCL.put(mine, OURS, over=["/mcp_server/tides"])
    assert HCL.take(put.data, put.entries) == mine
    kept = HCL.put(mine, [Change(EditOp.SET_IF_ABSENT, "/mcp_server/tides", SERVER)])
    assert kept.data == mine and not kept.entries[0].added


def test_a_block_that_somebody_changed_stays() -> None:
    put = HCL.put(b"", OURS[:1])
    theirs = put.data.replace(b"tided", b"other")
    assert HCL.take(theirs, put.entries) == theirs


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a = {", "syntax"),
        ('a = "x', "syntax"),
        ("a {", "syntax"),
        ("= 1", "syntax"),
        ("a = <<E\nx\n", "syntax"),
        ('a "b" c', "syntax"),
        ("a = " + "[" * 5000, "syntax"),
        ("a {" * 5000, "syntax"),
        ("a = " + '"${' * 5000, "syntax"),
        ("a = " + "(" * 5000, "syntax"),
        ("a = " + "{a=" * 5000, "syntax"),
    ],
)
def test_what_does_not_parse_is_refused_with_its_place(text: str, kind: str) -> None:
    with pytest.raises(EditFault) as fault:
        HCL.put(text.encode(), OURS)
    assert fault.value.kind == kind and fault.value.line >= 1 and fault.value.column >= 1


def test_two_blocks_of_one_name_and_other_places_are_refused() -> None:
    twice = b'mcp_server "tides" {}\nmcp_server "tides" {}\n'
    with pytest.raises(EditFault, match="twice"):
        HCL.put(twice, OURS)
    with pytest.raises(EditFault, match="value"):
        HCL.put(b"mcp_server = 1\n", OURS)
    for change in (Change(EditOp.APPEND_UNIQUE, "/a/b", {}), Change(EditOp.ENSURE, "/a", {})):
        with pytest.raises(EditFault):
            HCL.put(b"", [change])
    with pytest.raises(EditFault) as fault:
        HCL.check(b"\xff")
    assert fault.value.kind == "encoding"
