"""What the editor for TOML does to a file, in examples: config.toml of codex and kimi."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, Edited, EditFault, Entry

TOML = editor(EditFormat.TOML)
ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT

FEATURE = Change(ENSURE, "/features/hooks", True)
DEPTH = Change(SET, "/agents/max_depth", 1)
SERVER = Change(ENSURE, "/mcp_servers/greet", {"command": "npx", "env": {"A": "b"}})
SERVER_TABLE = '[mcp_servers.greet]\ncommand = "npx"\n\n[mcp_servers.greet.env]\nA = "b"\n'
SERVER_INLINE = '{ command = "npx", env = { A = "b" } }'
FLAT = Change(APPEND, "/hooks", {"event": "Stop", "command": "greet"})
GROUP = Change(APPEND, "/hooks/Stop", {"hooks": [{"command": "greet"}]})
GROUP_TABLES = '[[hooks.Stop]]\n\n[[hooks.Stop.hooks]]\ncommand = "greet"\n'


# In each: the text, the change, the text with it. Taking it out gives the first text again.
PLACES = [
    pytest.param("", FEATURE, "[features]\nhooks = true\n", id="an empty file"),
    pytest.param("# mine\n", FEATURE, "# mine\n\n[features]\nhooks = true\n", id="a comment only"),
    pytest.param("a = 1", FEATURE, "a = 1\n\n[features]\nhooks = true", id="no final newline"),
    pytest.param("a = 1\r\n", FEATURE, "a = 1\r\n\r\n[features]\r\nhooks = true\r\n", id="CRLF"),
    pytest.param("\ufeffa = 1\n", FEATURE, "\ufeffa = 1\n\n[features]\nhooks = true\n", id="byte order mark"),
    pytest.param(
        "[features] # f\n  a = 1 # a\n\n# about other\n[other]\nb = 2\n",
        FEATURE,
        "[features] # f\n  a = 1 # a\n  hooks = true\n\n# about other\n[other]\nb = 2\n",
        id="behind the last key of its table, indented like it",
    ),
    pytest.param(
        "[features]\n# hooks = false\n\n[other]\n",
        FEATURE,
        "[features]\nhooks = true\n# hooks = false\n\n[other]\n",
        id="a table without keys",
    ),
    pytest.param("[features]", FEATURE, "[features]\nhooks = true", id="a header at the very end"),
    pytest.param(
        "features = {a = true}\n", FEATURE, "features = {a = true, hooks = true}\n", id="an inline table"
    ),
    pytest.param("features = { }\n", FEATURE, "features = { hooks = true }\n", id="an empty inline table"),
    pytest.param(
        "agents.max_threads = 3\nmodel = 'm'\n\n[t]\n",
        DEPTH,
        "agents.max_threads = 3\nagents.max_depth = 1\nmodel = 'm'\n\n[t]\n",
        id="dotted keys: never a second header",
    ),
    pytest.param(
        "[x]\nagents.a = 1\n",
        Change(ENSURE, "/x/agents/b", 2),
        "[x]\nagents.a = 1\nagents.b = 2\n",
        id="dotted keys in a table",
    ),
    pytest.param(
        "x = { agents.a = 1 }\n",
        Change(ENSURE, "/x/agents/b", 2),
        "x = { agents.a = 1, agents.b = 2 }\n",
        id="dotted keys in an inline table",
    ),
    pytest.param(
        "[features.demo]\na = 1\n",
        FEATURE,
        "[features.demo]\na = 1\n\n[features]\nhooks = true\n",
        id="a table that is only implied",
    ),
    pytest.param(
        "[features]\n[features.demo]\n",
        FEATURE,
        "[features]\nhooks = true\n[features.demo]\n",
        id="a table with a table below it",
    ),
    pytest.param(
        "model = 'm'\n\n[[hooks.Stop]]\nx = 1\n",
        SERVER,
        "model = 'm'\n\n[[hooks.Stop]]\nx = 1\n\n" + SERVER_TABLE,
        id="a table goes to the end",
    ),
    pytest.param(
        'mcp_servers = { mine = { command = "x" } } # inline\n',
        SERVER,
        'mcp_servers = { mine = { command = "x" }, greet = ' + SERVER_INLINE + " } # inline\n",
        id="a table beside an inline one",
    ),
    pytest.param(
        "mcp_servers.mine.command = 'x'\n",
        SERVER,
        "mcp_servers.mine.command = 'x'\nmcp_servers.greet = " + SERVER_INLINE + "\n",
        id="a table beside dotted keys",
    ),
    pytest.param(
        "[mcp_servers.\"my server\"]\ncommand = 'x'\n",
        Change(ENSURE, "/mcp_servers/my server/z.z", 1),
        '[mcp_servers."my server"]\ncommand = \'x\'\n"z.z" = 1\n',
        id="quoted keys",
    ),
    pytest.param(
        "[[hooks]]\na = 1\n\n[x]\n",
        FLAT,
        '[[hooks]]\na = 1\n\n[x]\n\n[[hooks]]\nevent = "Stop"\ncommand = "greet"\n',
        id="an array of tables",
    ),
    pytest.param(
        "hooks = [{a = 1}] # h\n",
        FLAT,
        'hooks = [{a = 1}, { event = "Stop", command = "greet" }] # h\n',
        id="an inline array of tables",
    ),
    pytest.param(
        "hooks = [\n    {a = 1}, # one\n]\n",
        FLAT,
        'hooks = [\n    {a = 1}, # one\n    { event = "Stop", command = "greet" },\n]\n',
        id="an array on lines",
    ),
    pytest.param(
        "hooks = [ ]\n", FLAT, 'hooks = [ { event = "Stop", command = "greet" } ]\n', id="an empty array"
    ),
    pytest.param("a = 1\n", GROUP, "a = 1\n\n" + GROUP_TABLES, id="arrays of tables in arrays of tables"),
    pytest.param(
        "hooks = { Start = [] }\n",
        GROUP,
        'hooks = { Start = [], Stop = [{ hooks = [{ command = "greet" }] }] }\n',
        id="event groups inline",
    ),
    pytest.param(
        "model = 'm'\napproval = 1\n\n[t]\na = 1\n",
        Change(SET, "/new", "x"),
        "model = 'm'\napproval = 1\nnew = \"x\"\n\n[t]\na = 1\n",
        id="a root key stays above the tables",
    ),
    pytest.param(
        "[profiles.fast]\na = 1\n",
        Change(SET, "/new", "x"),
        'new = "x"\n\n[profiles.fast]\na = 1\n',
        id="the first root key",
    ),
    pytest.param(
        "# file\n\n# about t\n[t]\n",
        Change(SET, "/new", "x"),
        '# file\n\nnew = "x"\n\n# about t\n[t]\n',
        id="the first root key goes above the comment of the first table",
    ),
    pytest.param(
        "#:schema s.json\n[t]\n",
        Change(SET, "/new", "x"),
        '#:schema s.json\nnew = "x"\n\n[t]\n',
        id="a directive stays first",
    ),
    pytest.param(
        "a = 1\n",
        Change(ENSURE, "/s", 'one\n"two"\\\t\x00\x7fé'),
        'a = 1\ns = "one\\n\\"two\\"\\\\\\t\\u0000\\u007fé"\n',
        id="what has to be escaped",
    ),
]


@pytest.mark.parametrize(("before", "change", "after"), PLACES)
def test_where_an_entry_goes_and_that_it_goes_without_a_trace(
    before: str, change: Change, after: str
) -> None:
    edited = TOML.put(before.encode(), [change])
    assert edited.data.decode() == after
    assert TOML.take(edited.data, edited.entries) == before.encode()


# In each: the text, and the text with a comment where our first root key stood.
COMMENTED = [
    ("", "# note\n"),
    ("[t]\n", "# note\n[t]\n"),
    ("\n\n[t]\n", "\n\n# note\n[t]\n"),
    ("# top\n", "# top\n# note\n"),
    ("# top\n\n[t]\n", "# top\n\n# note\n[t]\n"),
    ("# about t\n[t]\n", "# note\n# about t\n[t]\n"),
    ("#:schema s.json\n[t]\n", "#:schema s.json\n# note\n[t]\n"),
]


@pytest.mark.parametrize(("before", "left"), COMMENTED)
def test_a_comment_right_above_our_first_root_key_leaves_no_line_of_ours(before: str, left: str) -> None:
    edited = TOML.put(before.encode(), [Change(SET, "/new", "x")])
    commented = edited.data.replace(b"new", b"# note\nnew", 1)
    assert TOML.take(commented, edited.entries) == left.encode()


USER = """\
# codex, by hand
model = "m"          # the good one
approval_policy = "never"
started = 1979-05-27T07:32:00-08:00
ratio = 1_000.50
notify = [
  "a", # one
  "b",
]

[projects."/home/ada/x y"]
trust_level = "trusted"

[[hooks.SessionStart]]
hooks = [{ command = '''mine
two''' }]

[agents]
max_depth = 2
"""


def test_all_lines_of_the_user_stay_in_order() -> None:
    edited = TOML.put(USER.encode(), [FEATURE, DEPTH, SERVER, GROUP, Change(SET, "/sandbox", "x")])
    lines = iter(edited.data.decode().splitlines())
    assert all(line in lines for line in USER.splitlines())
    meaning = tomllib.loads(edited.data.decode())
    assert meaning["agents"] == {"max_depth": 2}
    assert meaning["sandbox"] == "x"
    assert TOML.take(edited.data, edited.entries) == USER.encode()


def test_tables_that_came_later_stay_when_ours_go() -> None:
    edited = TOML.put(USER.encode(), [SERVER, FEATURE])
    later = '\n[profiles.fast]\nmodel = "f"\n\n[mcp_servers.mine]\ncommand = "c"\n'
    assert TOML.take(edited.data + later.encode(), edited.entries) == (USER + later).encode()


def test_what_a_host_put_below_our_table_stays() -> None:
    edited = TOML.put(b"a = 1\n", [SERVER])
    theirs = '\n[mcp_servers.greet.tools.say]\napproval_mode = "never"\n'
    assert TOML.take(edited.data + theirs.encode(), edited.entries) == ("a = 1\n" + theirs).encode()


def test_a_remark_on_our_line_stays() -> None:
    edited = TOML.put(b"[features]\na = 1\n", [FEATURE, SERVER])
    remarked = edited.data.replace(b"hooks = true", b"hooks = true # why?").replace(
        b"greet]", b"greet] # mine"
    )
    assert TOML.take(remarked, edited.entries) == b"[features]\na = 1\n# why?\n# mine\n"


def test_a_second_handler_in_our_group_stays() -> None:
    edited = TOML.put(b"", [GROUP])
    theirs = b'\n[[hooks.Stop.hooks]]\ncommand = "mine"\n'
    left = TOML.take(edited.data + theirs, edited.entries)
    assert tomllib.loads((left or b"").decode()) == {"hooks": {"Stop": [{"hooks": [{"command": "mine"}]}]}}


def test_a_value_that_the_user_changed_stays() -> None:
    edited = TOML.put(b"", [FEATURE, DEPTH])
    theirs = edited.data.replace(b"hooks = true", b"hooks = false")
    assert TOML.take(theirs, edited.entries) == b"[features]\nhooks = false\n"


@pytest.mark.parametrize(
    "theirs",
    [
        'hooks = { Stop = [ { hooks = [ { command = "greet" } ] } ] }\n',
        "hooks.Stop = [\n  { hooks = [ { \"command\" = 'greet' } ] }, # ours\n]\n",
        "[hooks]\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'greet'\n",
    ],
)
def test_an_equal_hook_in_any_spelling_is_not_registered_again(theirs: str) -> None:
    assert TOML.put(theirs.encode(), [GROUP]) == Edited(
        theirs.encode(), (Entry(APPEND, "/hooks/Stop", GROUP.value, added=False),)
    )


def test_a_file_that_we_made_goes_and_an_empty_one_stays() -> None:
    for before in (None, b"", b"\n"):
        edited = TOML.put(before, [FEATURE, SERVER, FLAT])
        assert TOML.take(edited.data, edited.entries) == before
    made = TOML.put(None, [FEATURE])
    assert TOML.take(made.data + b"# mine\n", made.entries) == b"# mine\n"


def test_a_value_that_gives_way_comes_back_as_it_was_spelled() -> None:
    before = b"model = 'old' # mine\n\n[mcp_servers]\ngreet = {command = 'mine'}\n"
    changes = [Change(ENSURE, "/model", "new"), SERVER]
    edited = TOML.put(before, changes, over=["/model", "/mcp_servers/greet"])
    assert edited.data.decode() == (
        'model = "new" # mine\n\n[mcp_servers]\ngreet = { command = "npx", env = { A = "b" } }\n'
    )
    assert TOML.take(edited.data, edited.entries) == before


def test_a_value_in_an_inline_table_that_gives_way_comes_back() -> None:
    before = b"x = { m.greet = {a=1} , o = [1] }\n"
    changes = [Change(ENSURE, "/x/m/greet", "new"), Change(ENSURE, "/x/o", 2)]
    edited = TOML.put(before, changes, over=["/x/m/greet", "/x/o"])
    assert edited.data == b'x = { m.greet = "new" , o = 2 }\n'
    assert TOML.take(edited.data, edited.entries) == before


def test_a_table_that_gives_way_comes_back_by_meaning() -> None:
    before = b"[mcp_servers.greet]\ncommand = 'mine'\n\n[z]\n"
    edited = TOML.put(before, [SERVER], over=["/mcp_servers/greet"])
    assert tomllib.loads(edited.data.decode())["mcp_servers"]["greet"] == SERVER.value
    left = TOML.take(edited.data, edited.entries)
    assert tomllib.loads((left or b"").decode()) == tomllib.loads(before.decode())


@pytest.mark.parametrize(
    ("text", "change", "kind", "line", "column"),
    [
        ("a = 1\nb = [1, 2\nc = 3\n", FEATURE, "syntax", 3, 1),
        ("a = 1\nb = \n", FEATURE, "syntax", 2, 5),
        ('a = "x', FEATURE, "syntax", 1, 7),
        ("[agents]\na = 1\n[agents]\nb = 2\n", FEATURE, "duplicate", 3, 8),
        ("agents.a = 1\n[agents]\nb = 2\n", FEATURE, "duplicate", 2, 8),
        ("a = 1\na = 2\n", FEATURE, "duplicate", 2, 6),
        ("t = {a = 1, a = 2}\n", FEATURE, "duplicate", 1, 18),
        ("a = 1\nfeatures = 1\n", FEATURE, "shape", 2, 1),
        ("[features]\n[features.hooks]\n", FEATURE, "collision", 2, 1),
        ("[features]\nhooks = 1\n", FEATURE, "collision", 2, 1),
        ("[[agents]]\nname = 'x'\n", DEPTH, "shape", 1, 1),
        ("[hooks]\na = 1\n", FLAT, "shape", 1, 1),
        ("[[hooks]]\na = 1\n", Change(APPEND, "/hooks", "x"), "shape", 1, 1),
        ("a = 1\n", Change(ENSURE, "/b", None), "shape", 0, 0),
        ("a = 1\n", Change(ENSURE, "/b", 2**63), "shape", 0, 0),
        ("a = 1\n", Change(ENSURE, "/b", "\ud800"), "encoding", 0, 0),
    ],
)
def test_what_cannot_be_edited_is_refused(
    text: str, change: Change, kind: str, line: int, column: int
) -> None:
    with pytest.raises(EditFault) as fault:
        TOML.put(text.encode(), [change])
    assert (fault.value.kind, fault.value.line, fault.value.column) == (kind, line, column)


@pytest.mark.parametrize("written", ["'other'", "'"])
def test_a_result_that_would_mean_something_else_is_never_given(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    from gsdlock.store.edits import toml

    monkeypatch.setattr(toml, "value_text", lambda value: written)
    with pytest.raises(EditFault) as fault:
        TOML.put(b"a = 1\n", [Change(ENSURE, "/b", "mine")])
    assert fault.value.kind == "shape"


@pytest.mark.parametrize(
    "value", [float("1.5"), -1, True, [], {}, [[1], ["a"]], [{"a": 1}, 2], {"a": {}, "b": [{}]}]
)
def test_every_value_says_itself(value: Any) -> None:
    edited = TOML.put(b"[t]\nx = 1\n", [Change(ENSURE, "/t/v", value), Change(ENSURE, "/w", value)])
    meaning = tomllib.loads(edited.data.decode())
    assert meaning == {"t": {"x": 1, "v": value}, "w": value}
    assert TOML.take(edited.data, edited.entries) == b"[t]\nx = 1\n"
