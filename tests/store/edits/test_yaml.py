"""What the editor for YAML does to a file, in examples: config.yaml of hermes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, Edited, EditFault, Entry
from gsdlock.store.edits.yaml_tree import with_merged

YAML = editor(EditFormat.YAML)
ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT

HOOK = Change(APPEND, "/hooks/pre_tool_call", {"matcher": "x", "command": "greet it"})
BLOCK = '    - matcher: x\n      command: "greet it"\n'
SERVER = Change(ENSURE, "/mcp_servers/greet", {"command": "npx", "args": ["-y"], "env": {}})

# In each: the text, the change, the text with it. Taking it out gives the first text again.
PLACES = [
    pytest.param("", HOOK, f"hooks:\n  pre_tool_call:\n{BLOCK}", id="an empty file"),
    pytest.param(
        "# mine", HOOK, f"# mine\nhooks:\n  pre_tool_call:\n{BLOCK[:-1]}", id="a comment without a newline"
    ),
    pytest.param("---\na: 1\n...\n", Change(SET, "/b", 2), "---\na: 1\nb: 2\n...\n", id="document markers"),
    pytest.param("a: 1", Change(SET, "/b", 2), "a: 1\nb: 2", id="no final newline"),
    pytest.param(
        "\ufeffa: 1\r\n", Change(SET, "/b", 2), "\ufeffa: 1\r\nb: 2\r\n", id="byte order mark and CRLF"
    ),
    pytest.param(
        "a:\n    b: 1 # one\n\n# next\nc: 2\n",
        Change(ENSURE, "/a/d/e", 1),
        "a:\n    b: 1 # one\n    d:\n        e: 1\n\n# next\nc: 2\n",
        id="behind the last member, indented like it",
    ),
    pytest.param(
        "a:\n- 1 # one\n", Change(APPEND, "/a", "two"), "a:\n- 1 # one\n- two\n", id="dashes at the margin"
    ),
    pytest.param(
        "a:\n    - 1\n",
        Change(APPEND, "/b", {"c": [2]}),
        "a:\n    - 1\nb:\n    - c:\n          - 2\n",
        id="the indentation of dashes elsewhere",
    ),
    pytest.param(
        "hooks: {outbound: [1]} # o\n",
        HOOK,
        'hooks: {outbound: [1], pre_tool_call: [{matcher: x, command: "greet it"}]} # o\n',
        id="brackets",
    ),
    pytest.param(
        "hooks: {}\n",
        HOOK,
        'hooks: {pre_tool_call: [{matcher: x, command: "greet it"}]}\n',
        id="empty brackets",
    ),
    pytest.param(
        "hooks: # none\na: 1\n",
        HOOK,
        f"hooks: # none\n  pre_tool_call:\n{BLOCK}a: 1\n",
        id="a key with nothing",
    ),
    pytest.param("hooks:  null # none\n", HOOK, f"hooks: # none\n  pre_tool_call:\n{BLOCK}", id="a null"),
    pytest.param(
        "hooks:\n  pre_tool_call: ~\n", HOOK, f"hooks:\n  pre_tool_call:\n{BLOCK}", id="a null for a list"
    ),
    pytest.param(
        "{a: 1,\n b: 2,\n}\n", Change(SET, "/c", "3"), '{a: 1,\n b: 2,\n c: "3",\n}\n', id="brackets on lines"
    ),
    pytest.param(
        "p: |\n  text\n\n\nq: &q {a: 1}\nr: *q\n",
        Change(SET, "/c", 3),
        "p: |\n  text\n\n\nq: &q {a: 1}\nr: *q\nc: 3\n",
        id="block scalars, anchors and aliases stay",
    ),
    pytest.param(
        "p: |\n  text\n\n# end\n",
        Change(SET, "/c", 3),
        "p: |\n  text\nc: 3\n\n# end\n",
        id="behind a block scalar",
    ),
    pytest.param(
        "p: |+\n  text\n\n",
        Change(SET, "/c", 3),
        "p: |+\n  text\n\nc: 3\n",
        id="behind one that keeps blank lines",
    ),
    pytest.param(
        "a: 1\n",
        Change(ENSURE, "/b", {"yes": "no", "n": "1", "t": "\x85\x00 é\u2028", "z": "a: b #c"}),
        'a: 1\nb:\n  "yes": "no"\n  n: "1"\n  t: "\\u0085\\u0000 é\\u2028"\n  z: "a: b #c"\n',
        id="what has to be quoted",
    ),
]


@pytest.mark.parametrize(("before", "change", "after"), PLACES)
def test_where_an_entry_goes_and_that_it_goes_without_a_trace(
    before: str, change: Change, after: str
) -> None:
    edited = YAML.put(before.encode(), [change])
    assert edited.data.decode() == after
    assert YAML.take(edited.data, edited.entries) == before.encode()


USER = """\
# hermes, by hand

model: &main {name: m, temperature: 0.5}   # the good one
fallback: *main
hooks:
    outbound:
        - url: http://localhost   # mine

mcp_servers:
    docs: {command: "d"}
    # commented: {command: "c"}
    mine:
        command: m
        since: 2020-01-01
platform_toolsets:
    cli: [hermes-cli]
"""


def test_all_lines_of_the_user_stay_in_order() -> None:
    edited = YAML.put(USER.encode(), [HOOK, SERVER])
    lines = iter(edited.data.decode().splitlines())
    assert all(line in lines for line in USER.splitlines())
    assert yaml.safe_load(edited.data)["mcp_servers"]["greet"] == SERVER.value
    assert YAML.take(edited.data, edited.entries) == USER.encode()


def test_what_came_later_stays_when_ours_goes() -> None:
    edited = YAML.put(b"a: 1\n", [HOOK, SERVER])
    later = edited.data.replace(b"    - matcher", b"    - command: mine\n    - matcher") + b"z: 2\n"
    assert YAML.take(later, edited.entries) == b"a: 1\nhooks:\n  pre_tool_call:\n    - command: mine\nz: 2\n"


def test_keys_that_a_host_added_below_our_value_stay() -> None:
    edited = YAML.put(b"", [SERVER])
    theirs = edited.data + b"    enabled: false\n"
    assert YAML.take(theirs, edited.entries) == b"mcp_servers:\n  greet:\n    enabled: false\n"


def test_a_remark_on_our_line_stays() -> None:
    edited = YAML.put(b"a: 1\n", [Change(SET, "/b", 2)])
    assert YAML.take(b"a: 1\nb: 2   # why?\n", edited.entries) == b"a: 1\n# why?\n"


def test_a_comment_in_brackets_that_were_empty_stays() -> None:
    edited = YAML.put(b"hooks: {}\n", [Change(ENSURE, "/hooks/a", 1)])
    assert YAML.take(b"hooks: {a: 1 # mine\n  }\n", edited.entries) == b"hooks: { # mine\n  }\n"


def test_a_file_that_we_made_goes_and_an_empty_one_stays() -> None:
    for before in (None, b"", b"\n", b"---\n"):
        edited = YAML.put(before, [HOOK, SERVER])
        assert YAML.take(edited.data, edited.entries) == before


@pytest.mark.parametrize(
    "theirs",
    [
        "hooks: {pre_tool_call: [{command: 'greet it', matcher: \"x\"}]}\n",
        "hooks:\n  pre_tool_call:\n  - command: >-\n      greet\n      it\n    matcher: x\n    timeout: 5\n",
    ],
)
def test_an_equal_hook_in_any_spelling_is_not_registered_again(theirs: str) -> None:
    assert YAML.put(theirs.encode(), [HOOK]) == Edited(
        theirs.encode(), (Entry(APPEND, HOOK.at, HOOK.value, added=False),)
    )


def test_a_value_that_gives_way_comes_back_as_it_was_spelled() -> None:
    before = b"model: 'old' # mine\nz: {a:   1}\n"
    changes = [Change(ENSURE, "/model", "new"), Change(ENSURE, "/z", [1])]
    edited = YAML.put(before, changes, over=["/model", "/z"])
    assert edited.data == b"model: new # mine\nz: [1]\n"
    assert YAML.take(edited.data, edited.entries) == before


def test_a_mapping_on_lines_that_gives_way_comes_back_by_meaning() -> None:
    before = b"mcp_servers:\n  greet:\n    command: mine\nz: 1\n"
    edited = YAML.put(before, [SERVER], over=["/mcp_servers/greet"])
    assert yaml.safe_load(edited.data)["mcp_servers"] == {"greet": SERVER.value}
    assert yaml.safe_load(YAML.take(edited.data, edited.entries) or b"") == yaml.safe_load(before)


@pytest.mark.parametrize(
    ("text", "kind", "line", "column"),
    [
        ("a: [1\nb: 2\n", "syntax", 2, 2),
        ("a: 1\n b: 2\n", "syntax", 2, 3),
        ("a: \x01\n", "syntax", 1, 4),
        ("hooks: {}\nhooks: {}\n", "duplicate", 2, 1),
        ("hooks: &h\n  a: 1\nz: *h\n", "shape", 1, 8),
        ("z: &h {a: 1}\nhooks: *h\n", "shape", 2, 8),
        ("z: &h {a: 1}\nhooks:\n  <<: *h\n", "shape", 3, 3),
        ("hooks: &a [*a]\n", "shape", 0, 0),
        ("hooks: !mine {a: 1}\n", "shape", 1, 8),
        ("hooks: 1\n", "shape", 1, 8),
        ("- a\n", "shape", 1, 1),
        ("hooks: &h {a: 1}\n", "shape", 1, 8),
        ("hooks:\n  pre_tool_call: &h\n  - 1\n", "shape", 2, 18),
        ("{hooks: }\n", "shape", 1, 9),
        ("? a\n: 1\n", "shape", 1, 3),
        ("a: 1\n---\nb: 2\n", "shape", 2, 1),
        ("a: 1\rb: 2\r", "shape", 1, 5),
        ("null\n", "shape", 1, 1),
        ("p: |\n  text", "shape", 0, 0),
        ("mcp_servers:\n  greet: off\n", "collision", 2, 10),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text: str, kind: str, line: int, column: int) -> None:
    with pytest.raises(EditFault) as fault:
        YAML.put(text.encode(), [HOOK, SERVER])
    assert (fault.value.kind, fault.value.line, fault.value.column) == (kind, line, column)


@pytest.mark.parametrize("written", ["other", "["])
def test_a_result_that_would_mean_something_else_is_never_given(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    from gsdlock.store.edits import yaml_tree

    monkeypatch.setattr(yaml_tree, "flow_text", lambda value: written)
    with pytest.raises(EditFault) as fault:
        YAML.put(b"a: 1\n", [Change(ENSURE, "/b", "mine")])
    assert fault.value.kind == "shape"


def test_a_null_holds_no_list_and_is_some_value() -> None:
    assert not YAML.holds(b"hooks:\n", HOOK)
    assert not YAML.holds(b"hooks:\n  pre_tool_call:\n", HOOK)
    assert YAML.holds(b"a:\n", Change(SET, "/a", 1))


def test_our_items_go_from_the_first_line_of_a_group() -> None:
    group = Change(APPEND, "/hooks", {"hooks": [{"command": "greet"}], "matcher": "x"})
    edited = YAML.put(b"", [group])
    assert edited.data == b"hooks:\n  - hooks:\n      - command: greet\n    matcher: x\n"
    theirs = edited.data + b"    note: mine\n"
    assert YAML.take(theirs, edited.entries) == b"hooks:\n  - matcher: x\n    note: mine\n"


def test_what_a_file_shares_off_our_way_is_no_obstacle() -> None:
    before = b"x: &x {a: &y [1]}\ny: *x\n? [1, *y]\n: !!set {a, b}\n"
    edited = YAML.put(before, [HOOK])
    assert YAML.take(edited.data, edited.entries) == before


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        -1,
        None,
        True,
        "",
        [],
        {},
        [[1], ["a"]],
        [{"a": {"b": [{}]}}, 2],
        "0o1",
        "2020-01-01",
        "~",
        "=",
        "<<",
    ],
)
def test_every_value_says_itself(value: Any) -> None:
    edited = YAML.put(b"t:\n  x: {}\n", [Change(ENSURE, "/t/v", value), Change(ENSURE, "/t/x/w", value)])
    assert yaml.safe_load(edited.data) == {"t": {"x": {"w": value}, "v": value}}
    assert YAML.take(edited.data, edited.entries) == b"t:\n  x: {}\n"


def test_comments_inside_our_entry_stay_where_it_stood() -> None:
    before = b"hooks:\n  pre:\n    - command: mine\nx: 1\n"
    edited = YAML.put(before, [Change(APPEND, "/hooks/pre", {"matcher": "*", "command": "greet"})])
    text = edited.data.decode().replace("  command: greet", "  # slow here\n      command: greet # really")
    left = YAML.take(text.encode(), edited.entries)
    assert left == b"hooks:\n  pre:\n    - command: mine\n    # slow here\n    # really\nx: 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n",
        "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]\n  w: 4\n",
        "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: [{<<: *b, x: 5}, *b]\n",
        "<<: {a: {b: 1}}\nc: []\n",
        'a: {"<<": {x: 1}}\n',
    ],
)
def test_merge_keys_are_read_as_other_readers_do(text: str) -> None:
    assert with_merged(YAML.read(text.encode())) == yaml.safe_load(text)


def test_what_is_merged_again_and_again_is_gone_through_once() -> None:
    lines = [
        "a0: &a0 {x: 1}",
        *(f"a{n}: &a{n} {{<<: *a{n - 1}, l: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 60)),
    ]
    assert with_merged(YAML.read("\n".join(lines).encode()))["a59"]["x"] == 1
