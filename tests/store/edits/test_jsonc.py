"""What the editor for JSON with comments does to a file, in examples."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import ABSENT, Change, Edited, EditFault, Entry

JSONC = editor(EditFormat.JSONC)
ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT

GREET = {"type": "command", "command": "greet.sh"}
MINE = {"type": "command", "command": "mine.sh"}
GROUP = {"matcher": "Bash", "hooks": [GREET]}
HOOK = Change(APPEND, "/hooks/Stop", GROUP)
SERVER = Change(ENSURE, "/mcpServers/greet", {"command": "npx", "args": ["-y", "greet"]})


def put(text: str | None, *changes: Change) -> Edited:
    return JSONC.put(None if text is None else text.encode(), changes)


def dumped(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


# In each: the text, the change, the text with it. Taking it out gives the first text again.
STYLES = [
    pytest.param(
        '{\n    "z": 1,\n    "a": 2\n}\n',
        Change(ENSURE, "/m", {"k": True}),
        '{\n    "z": 1,\n    "a": 2,\n    "m": {\n        "k": true\n    }\n}\n',
        id="four spaces, keys in no order, final newline",
    ),
    pytest.param(
        '{\n\t"a": {\n\t\t"b": 1\n\t}\n}',
        Change(ENSURE, "/a/c", [1, {}]),
        '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": [\n\t\t\t1,\n\t\t\t{}\n\t\t]\n\t}\n}',
        id="tabs, no final newline",
    ),
    pytest.param(
        '{"a":1,"b":[1,2]}',
        Change(ENSURE, "/c", {"d": [1, "e"]}),
        '{"a":1,"b":[1,2],"c":{"d":[1,"e"]}}',
        id="compact, on one line",
    ),
    pytest.param(
        '{ "a": 1 }\n',
        Change(ENSURE, "/c", {"d": []}),
        '{ "a": 1, "c": {"d": []} }\n',
        id="spaced, on one line",
    ),
    pytest.param(
        '{\n  "allow": ["x", "y"]\n}',
        Change(APPEND, "/allow", "z"),
        '{\n  "allow": ["x", "y", "z"]\n}',
        id="a list on one line stays on one line",
    ),
    pytest.param(
        '{\n  "a": 1, // one\n  "b": 2, // two\n}\n',
        Change(ENSURE, "/c", 3),
        '{\n  "a": 1, // one\n  "b": 2, // two\n  "c": 3,\n}\n',
        id="a trailing comma, and comments at the ends of lines",
    ),
    pytest.param(
        '{\n  "a": 1 // one\n  /* the end */\n}\n',
        Change(ENSURE, "/c", 3),
        '{\n  "a": 1, // one\n  "c": 3\n  /* the end */\n}\n',
        id="no trailing comma is added where there was none",
    ),
    pytest.param(
        '{"a": 1 // one\n}',
        Change(ENSURE, "/c", 3),
        '{"a": 1, // one\n  "c": 3\n}',
        id="a comment needs its line",
    ),
    pytest.param(
        '\ufeff{\r\n  "a": 1\r\n}\r\n',
        Change(ENSURE, "/c", {"d": 1}),
        '\ufeff{\r\n  "a": 1,\r\n  "c": {\r\n    "d": 1\r\n  }\r\n}\r\n',
        id="byte order mark and CRLF",
    ),
    pytest.param(
        '{\r\n  "a": 1,\n  "b": 2\n}',
        Change(ENSURE, "/c", 3),
        '{\r\n  "a": 1,\n  "b": 2,\n  "c": 3\n}',
        id="mixed ends of line: as the neighbour",
    ),
    pytest.param(
        '{\n  "a" : 1\n}',
        Change(ENSURE, "/b", 2),
        '{\n  "a" : 1,\n  "b" : 2\n}',
        id="the space around colons",
    ),
    pytest.param(
        '{\n  "hooks": {}\n}',
        Change(ENSURE, "/hooks/a", 1),
        '{\n  "hooks": {\n    "a": 1\n  }\n}',
        id="an empty object of the user's",
    ),
    pytest.param(
        '{\n  "hooks": {\n  }\n}',
        Change(ENSURE, "/hooks/a", 1),
        '{\n  "hooks": {\n    "a": 1\n  }\n}',
        id="an empty object on two lines: told apart by the trace",
    ),
    pytest.param(
        '{\n  "hooks": { /* none yet */ }\n}',
        Change(ENSURE, "/hooks/a", 1),
        '{\n  "hooks": { /* none yet */\n    "a": 1\n  }\n}',
        id="an empty object with a comment",
    ),
    pytest.param(
        '{\n  "n": 12345678901234567890,\n  "u": "\\u00e9\\/ café",\n  "s": "//, ] }"\n}',
        Change(ENSURE, "/x", "é\u2028"),
        '{\n  "n": 12345678901234567890,\n  "u": "\\u00e9\\/ café",\n  "s": "//, ] }",\n  "x": "é\u2028"\n}',
        id="the spelling of numbers and strings",
    ),
    pytest.param(
        '{"a/b": {"m~n": {}}}',
        Change(ENSURE, "/a~1b/m~0n/x", 1),
        '{"a/b": {"m~n": {"x": 1}}}',
        id="pointer escapes",
    ),
    pytest.param(
        '{\n  "a": 1\n  , "b": 2\n}',
        Change(ENSURE, "/c", 3),
        '{\n  "a": 1\n  , "b": 2,\n  "c": 3\n}',
        id="commas first",
    ),
    pytest.param(
        '{\n  "a": 1, "b": 2\n}',
        Change(ENSURE, "/c", 3),
        '{\n  "a": 1, "b": 2,\n  "c": 3\n}',
        id="two on a line: that line stays",
    ),
]


@pytest.mark.parametrize(("before", "change", "after"), STYLES)
def test_new_text_follows_the_file_and_goes_without_a_trace(before: str, change: Change, after: str) -> None:
    edited = put(before, change)
    assert edited.data.decode() == after
    assert JSONC.take(edited.data, edited.entries) == before.encode()


@pytest.mark.parametrize(
    ("before", "kept"),
    [(None, ""), (b"", ""), (b" \n\n", ""), (b"// mine\n", "// mine\n"), (b"/* mine */", "/* mine */\n")],
)
def test_a_document_without_a_value_gets_an_object(before: bytes | None, kept: str) -> None:
    edited = JSONC.put(before, [Change(ENSURE, "/a", {"b": [1]})])
    assert edited.data.decode() == kept + '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}\n'
    assert edited.entries[0].made == ("",)
    assert JSONC.take(edited.data, edited.entries) == before


def test_a_file_that_we_made_goes_when_a_host_has_written_it_anew() -> None:
    edited = put(None, HOOK, SERVER)
    rewritten = json.dumps(json.loads(edited.data), indent="\t").encode()
    assert JSONC.take(rewritten, edited.entries) is None


def test_a_file_that_we_made_stays_for_what_somebody_added() -> None:
    edited = put(None, HOOK)
    assert JSONC.take(edited.data.replace(b"{\n", b'{\n  "theme": "dark",\n', 1), edited.entries) == (
        b'{\n  "theme": "dark"\n}\n'
    )
    assert JSONC.take(b"// mine\n" + edited.data, edited.entries) == b"// mine\n{}\n"


@pytest.mark.parametrize(
    "before", ["", " ", "\n", "\r\n\r\n", "// mine\n", "/* mine */", "\ufeff", "\ufeff\n"]
)
def test_comments_around_an_object_that_we_put_into_a_blank_file_stay_alone(before: str) -> None:
    edited = JSONC.put(before.encode(), [HOOK])
    mark, text = edited.data[:3] * before.startswith("\ufeff"), before.removeprefix("\ufeff")
    bare = edited.data.removeprefix(mark)
    above = JSONC.take(mark + b"// note\n" + bare, edited.entries)
    assert above == mark + f"// note\n{text}".encode()
    end = "" if not text or text.endswith("\n") else "\n"
    below = JSONC.take(mark + bare + b"// note\n", edited.entries)
    assert below == mark + f"{text}{end}// note\n".encode()


def test_a_comment_inside_an_object_that_we_put_into_a_blank_file_keeps_it() -> None:
    edited = JSONC.put(b"\n", [HOOK])
    commented = edited.data.replace(b"{", b"{ // note", 1)
    assert JSONC.take(commented, edited.entries) == b"{ // note\n}\n"


@pytest.mark.parametrize(
    ("text", "kind", "line", "column"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "syntax", 3, 3),
        ('{"a": [1, 2}', "syntax", 1, 12),
        ('{"a": 1}}', "syntax", 1, 9),
        ("{'a': 1}", "syntax", 1, 2),
        ('{"a": 1 /* open }', "syntax", 1, 9),
        ('{\n// "c\n"a": "open}', "syntax", 3, 6),
        ("[1,,2]", "syntax", 1, 4),
        ("{,}", "syntax", 1, 2),
        ('{"a": NaN}', "syntax", 1, 7),
        ('{"a": "tab\there"}', "syntax", 1, 11),
        ('\ufeff{"a" 1}', "syntax", 1, 6),
        ('{"hooks": {},\n "hooks": {}}', "duplicate", 2, 2),
        ('{"hooks": {"Stop": [],\n "\\u0053top": []}}', "duplicate", 2, 2),
        ("[1, 2]", "shape", 1, 1),
        ('{"hooks": [1]}', "shape", 1, 2),
        ('{\n"hooks": {"Stop": {}}}', "shape", 2, 11),
        ('{"hooks": null}', "shape", 1, 2),
        ('{"mcpServers": {\n"greet": {"command": "mine"}}}', "collision", 2, 1),
    ],
)
def test_what_cannot_be_edited_is_refused_with_its_place(
    text: str, kind: str, line: int, column: int
) -> None:
    with pytest.raises(EditFault) as fault:
        put(text, HOOK, SERVER)
    assert (fault.value.kind, fault.value.line, fault.value.column) == (kind, line, column)


@pytest.mark.parametrize("data", [b'{"a": "\xe9"}', '{"a": 1}'.encode("utf-16")])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(EditFault) as fault:
        JSONC.check(data)
    assert fault.value.kind == "encoding"


def test_a_key_that_stands_twice_off_our_way_is_left_alone() -> None:
    before = '{"a": 1, "a": 2}'
    edited = put(before, HOOK)
    assert edited.data.startswith(b'{"a": 1, "a": 2')
    assert JSONC.take(edited.data, edited.entries) == before.encode()


def test_deep_nesting_off_our_way_is_no_obstacle() -> None:
    before = '{"deep": ' + "[" * 400 + "]" * 400 + "}"
    edited = put(before, HOOK)
    assert JSONC.take(edited.data, edited.entries) == before.encode()


@pytest.mark.parametrize(
    ("op", "theirs", "ours"),
    [
        (ENSURE, '{"b": [1.0, "\\u0041"], "a": 1e0}', {"a": 1, "b": [1, "A"]}),
        (APPEND, '[{"x": 1}, {"b": true, "a": null, "more": 1}]', {"a": None, "b": True}),
        (APPEND, "[100000000000000000001]", 100000000000000000001),
        (SET, "false", True),
        (ENSURE, '{"a": 1, "their": {"own": 2}}', {"a": 1}),
    ],
)
def test_what_holds_by_meaning_is_not_written_again_and_not_ours(op: EditOp, theirs: str, ours: Any) -> None:
    change = Change(op, "/k", ours)
    before = f'{{"k": {theirs}}}'.encode()
    edited = JSONC.put(before, [change])
    assert edited == Edited(before, (Entry(op, "/k", ours, added=False),))
    assert JSONC.holds(before, change)
    assert JSONC.take(before, edited.entries) == before


@pytest.mark.parametrize(
    ("op", "theirs", "ours"),
    [
        (ENSURE, "1", True),
        (ENSURE, '["b", "a"]', ["a", "b"]),
        (ENSURE, '["a", "b", "c"]', ["a", "b"]),
        (APPEND, "[0]", False),
    ],
)
def test_what_does_not_hold(op: EditOp, theirs: str, ours: Any) -> None:
    assert not JSONC.holds(f'{{"k": {theirs}}}'.encode(), Change(op, "/k", ours))


def test_nothing_holds_in_a_file_that_is_not_there() -> None:
    assert not JSONC.holds(None, Change(SET, "/a", 1))
    assert not JSONC.holds(b" ", Change(SET, "/a", 1))
    assert JSONC.take(None, put(None, HOOK).entries) is None


def test_our_groups_come_behind_those_of_the_user_and_run_once() -> None:
    mine = [{"matcher": "compact", "hooks": [MINE]}, {"matcher": "Bash", "hooks": [MINE]}]
    before = dumped({"hooks": {"Stop": mine}, "futureThing": [1]})
    once = JSONC.put(before, [HOOK])
    again = JSONC.put(once.data, [HOOK])
    assert json.loads(again.data) == {"hooks": {"Stop": [*mine, GROUP]}, "futureThing": [1]}
    assert again.data == once.data


def test_a_secret_stays_a_reference_and_a_commented_server_stays() -> None:
    before = '{\n  "mcpServers": {\n    // "old": {},\n    "a": {"headers": {"K": "$DEMO_KEY"}}\n  }\n}\n'
    edited = put(before, SERVER)
    assert edited.data.decode().startswith(before[: before.index("}}") + 2])
    assert JSONC.take(edited.data, edited.entries) == before.encode()


# What somebody made of our group, and what has to be left of it when we leave.
EXTENDED = [
    pytest.param([GROUP], None, id="nothing: the array goes too, as we made it"),
    pytest.param(
        [{"matcher": "Bash", "hooks": [GREET, MINE]}], [{"matcher": "Bash", "hooks": [MINE]}], id="a handler"
    ),
    pytest.param(
        [{"hooks": [MINE, GREET], "matcher": "Bash"}],
        [{"hooks": [MINE], "matcher": "Bash"}],
        id="a handler first",
    ),
    pytest.param([{**GROUP, "note": "mine"}], [{"matcher": "Bash", "note": "mine"}], id="a key of the group"),
    pytest.param(
        [{"matcher": "Bash", "hooks": [{**GREET, "timeout": 5}]}], None, id="a time limit on our handler"
    ),
    pytest.param(
        [{"matcher": "", "hooks": [GREET]}], [{"matcher": "", "hooks": [GREET]}], id="another matcher"
    ),
    pytest.param([{"hooks": [GREET]}], [{"hooks": [GREET]}], id="no matcher"),
    pytest.param([GROUP, {"hooks": [MINE]}], [{"hooks": [MINE]}], id="a group beside it"),
    pytest.param([], None, id="it was removed"),
    pytest.param(
        [{"matcher": "Bash", "hooks": [{**GREET, "timeout": 5}, GREET]}],
        [{"matcher": "Bash", "hooks": [{**GREET, "timeout": 5}]}],
        id="another handler that is like ours and more",
    ),
]


@pytest.mark.parametrize(("now", "left"), EXTENDED)
def test_only_our_part_of_a_group_goes(now: list[Any], left: list[Any] | None) -> None:
    edited = put('{"theme": "dark"}', HOOK)
    after = JSONC.take(dumped({"theme": "dark", "hooks": {"Stop": now}}), edited.entries)
    assert after is not None
    assert json.loads(after) == {"theme": "dark"} | ({} if left is None else {"hooks": {"Stop": left}})


@pytest.mark.parametrize(
    ("now", "left"),
    [
        ({"command": "npx", "args": ["-y", "greet"], "tools": {"y": 1}}, {"tools": {"y": 1}}),
        ({"args": ["-y", "greet"], "command": "npx", "disabled": True}, {"disabled": True}),
        ({"command": "npx", "args": ["-y", "greet", "-v"]}, {"args": ["-v"]}),
        ({"command": "bun", "args": ["-y", "greet"]}, {"command": "bun", "args": ["-y", "greet"]}),
        ({"command": "npx"}, {"command": "npx"}),
        ("off", "off"),
    ],
)
def test_only_our_keys_of_an_extended_value_go_and_a_changed_one_stays(now: Any, left: Any) -> None:
    edited = put("{}", SERVER)
    after = JSONC.take(dumped({"mcpServers": {"greet": now}}), edited.entries)
    assert after is not None
    assert json.loads(after) == {"mcpServers": {"greet": left}}


def test_comments_next_to_our_entry_stay() -> None:
    edited = put('{\n  "a": 1\n}\n', Change(ENSURE, "/b", 2))
    commented = (
        edited.data.decode().replace('"b": 2', '// about b\n  "b": 2 /* two */').replace("1,", "1, // one")
    )
    assert JSONC.take(commented.encode(), edited.entries) == (
        b'{\n  "a": 1 // one\n  // about b\n  /* two */\n}\n'
    )


def test_comments_inside_our_entry_stay_where_it_stood() -> None:
    edited = put('{\n  "hooks": {"Stop": [\n    1\n  ]}\n}\n', HOOK)
    text = edited.data.decode().replace('"matcher"', '// slow here\n      "matcher"')
    text = text.replace('"hooks": [\n', '"hooks": [ /* its own */\n')
    left = JSONC.take(text.encode(), edited.entries)
    assert left == b'{\n  "hooks": {"Stop": [\n    1\n    // slow here\n    /* its own */\n  ]}\n}\n'


def test_a_container_of_ours_stays_for_a_comment_in_it() -> None:
    edited = put('{\n  "a": 1\n}\n', HOOK)
    commented = edited.data.decode().replace('"hooks": {', '"hooks": { // mine', 1)
    assert JSONC.take(commented.encode(), edited.entries) == b'{\n  "a": 1,\n  "hooks": { // mine\n  }\n}\n'


def test_an_empty_container_of_the_user_stays() -> None:
    edited = put('{"hooks": {"Stop": []}}', HOOK)
    assert JSONC.take(dumped(json.loads(edited.data)), edited.entries) is not None
    assert json.loads(JSONC.take(dumped(json.loads(edited.data)), edited.entries) or b"") == {
        "hooks": {"Stop": []}
    }


def test_a_longer_list_that_only_looks_like_ours_stays() -> None:
    edited = put(
        '{"permissions": {"allow": ["Write(docs/*)"]}}', Change(APPEND, "/permissions/allow", "Read(x)")
    )
    assert json.loads(
        JSONC.take(
            dumped({"permissions": {"allow": ["Read(x)", "Read(xy)", "Write(docs/*)"]}}), edited.entries
        )
        or b""
    ) == {"permissions": {"allow": ["Read(xy)", "Write(docs/*)"]}}


def test_a_value_that_gives_way_comes_back_as_it_was_spelled() -> None:
    before = '{\n  "statusLine": { "type":"command", "padding": 1.50 }, // mine\n  "b": 1\n}'
    change = Change(ENSURE, "/statusLine", {"type": "command", "command": "greet"})
    edited = JSONC.put(before.encode(), [change], over=["/statusLine"])
    assert edited.entries[0].prior == {"type": "command", "padding": 1.5}
    assert JSONC.holds(edited.data, change)
    assert JSONC.take(edited.data, edited.entries) == before.encode()
    theirs = edited.data.replace(b'"greet"', b'"other"')
    assert JSONC.take(theirs, edited.entries) == theirs


def test_what_gave_way_comes_back_although_somebody_extended_ours() -> None:
    edited = JSONC.put(b'{"a": {"x": 1, "y": 2}}', [Change(ENSURE, "/a", {"y": 3, "z": 4})], over=["/a"])
    assert (
        JSONC.take(b'{"a": {"y": 3, "z": 4, "more": 5}}', edited.entries)
        == b'{"a": {"more": 5, "x": 1, "y": 2}}'
    )


def test_groups_may_lie_deeper_in_an_entry() -> None:
    edited = put("{}", Change(APPEND, "/rules", {"when": {"hooks": [GREET]}, "name": "n"}))
    now = dumped({"rules": [{"when": {"hooks": [GREET, MINE]}, "name": "n"}]})
    left = JSONC.take(now, edited.entries)
    assert json.loads(left or b"") == {"rules": [{"when": {"hooks": [MINE]}, "name": "n"}]}


def test_what_says_when_a_group_applies_stays_with_it() -> None:
    edited = put("{}", Change(APPEND, "/rules", {"events": ["a", "b"], "hooks": [GREET]}))
    now = dumped({"rules": [{"events": ["a", "b"], "hooks": [GREET, MINE]}]})
    left = JSONC.take(now, edited.entries)
    assert json.loads(left or b"") == {"rules": [{"events": ["a", "b"], "hooks": [MINE]}]}


def test_of_equal_items_the_last_one_goes() -> None:
    edited = put('{"a": ["x"]}', Change(APPEND, "/a", "y"))
    assert JSONC.take(b'{"a": ["\\u0079", "x", "y"]}', edited.entries) == b'{"a": ["\\u0079", "x"]}'


def test_an_entry_inside_another_one_goes_first() -> None:
    edited = put("{}", Change(ENSURE, "/a", {"x": 1}), Change(ENSURE, "/a/y", 2))
    assert JSONC.take(edited.data, edited.entries) == b"{}"


def test_blank_lines_of_the_user_stay() -> None:
    edited = put('{\n  "a": 1\n}\n', Change(ENSURE, "/b", 2))
    spaced = edited.data.replace(b'  "b"', b'\n\n  "b"')
    assert JSONC.take(spaced, edited.entries) == b'{\n  "a": 1\n\n\n}\n'


def test_a_comment_in_a_container_that_was_empty_stays() -> None:
    edited = put('{\n  "a": {}\n}\n', Change(ENSURE, "/a/b", 2))
    commented = edited.data.replace(b'"b": 2', b'"b": 2 // mine')
    assert JSONC.take(commented, edited.entries) == b'{\n  "a": {\n    // mine\n  }\n}\n'


def test_an_array_that_became_something_else_stays() -> None:
    edited = put("{}", HOOK)
    assert JSONC.take(b'{"hooks": {"Stop": "off"}}', edited.entries) == b'{"hooks": {"Stop": "off"}}'
    assert JSONC.take(b'{"hooks": []}', edited.entries) == b"{}"


@pytest.mark.parametrize("number", ["1e99999999999999999999", "9" * 5000, "-0.0", "1E+2"])
def test_any_number_stays_as_it_is(number: str) -> None:
    before = f'{{"n": {number}}}'
    edited = put(before, HOOK, Change(ENSURE, "/s", "\ud800"))
    assert edited.data.decode().startswith(before[:-1])
    assert b'"\\ud800"' in edited.data
    assert JSONC.take(edited.data, edited.entries) == before.encode()


def test_entries_that_were_not_added_stay() -> None:
    entry = Entry(APPEND, "/hooks/Stop", GROUP, added=False)
    data = dumped({"hooks": {"Stop": [GROUP]}})
    assert JSONC.take(data, [entry]) == data
    assert entry.prior is ABSENT


@pytest.mark.parametrize(
    ("op", "at", "value", "kind"),
    [
        (APPEND, "", 1, "shape"),
        (ENSURE, "", 1, "shape"),
        (ENSURE, "hooks", 1, "shape"),
        (EditOp.BLOCK, "/a", "x", "shape"),
    ],
)
def test_a_change_that_no_document_can_take(op: EditOp, at: str, value: Any, kind: str) -> None:
    for data in (None, b'{"a": "x"}'):
        with pytest.raises(EditFault) as fault:
            JSONC.put(data, [Change(op, at, value)])
        assert fault.value.kind in (kind, "collision")


def test_a_whole_document_can_be_wanted() -> None:
    change = Change(ENSURE, "", {"version": 1, "hooks": {}})
    new = put(None, change)
    assert json.loads(new.data) == {"version": 1, "hooks": {}}
    assert JSONC.take(new.data, new.entries) is None
    assert not put('{"version": 1, "hooks": {"a": []}}', change).entries[0].added
