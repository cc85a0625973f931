"""One version's entries in place of another's: `put` with the old entries in `replacing`."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault

JSONC, TOML = editor(EditFormat.JSONC), editor(EditFormat.TOML)
ENSURE, APPEND = EditOp.ENSURE, EditOp.APPEND_UNIQUE


def hook(name: str) -> Change:
    return Change(APPEND, "/hooks/Stop", {"hooks": [{"command": name}]})


def server(**members: Any) -> Change:
    return Change(ENSURE, "/mcp_servers/greet", members)


BEFORE = b'{\n  // mine\n  "a": 1, "b": [ ],\n  "hooks": {"Start": []}\n}'


def test_what_is_wanted_again_stays_where_it_is_and_the_rest_is_exchanged() -> None:
    first = JSONC.put(BEFORE, [hook("one"), hook("two"), server(command="x")])
    later = first.data.replace(b'"b": [ ]', b'"b": [ ], "new": true')
    second = JSONC.put(later, [hook("two"), hook("three"), server(command="x")], first.entries)
    assert json.loads(second.data.replace(b"// mine", b""))["hooks"]["Stop"] == [
        hook("two").value,
        hook("three").value,
    ]
    assert second.entries[2] is first.entries[2]
    assert JSONC.take(second.data, second.entries) == BEFORE.replace(b'"b": [ ]', b'"b": [ ], "new": true')


def test_containers_that_we_made_stay_ours_through_upgrades() -> None:
    first = JSONC.put(b'{"a": 1}', [hook("one"), hook("two")])
    second = JSONC.put(first.data, [hook("two"), hook("three")], first.entries)
    third = JSONC.put(second.data, [hook("four")], second.entries)
    assert JSONC.take(third.data, third.entries) == b'{"a": 1}'


def test_taking_the_old_and_putting_the_new_keeps_the_bytes_around() -> None:
    first = JSONC.put(BEFORE, [hook("one"), server(command="x")])
    second = JSONC.put(JSONC.take(first.data, first.entries), [hook("two"), server(command="y")])
    assert JSONC.take(second.data, second.entries) == BEFORE


def test_what_a_host_put_below_our_table_outlives_an_upgrade() -> None:
    first = TOML.put(b'model = "m"\n', [server(command="old", args=["1"])])
    theirs = first.data + b'\n[mcp_servers.greet.tools.say]\napproval_mode = "never"\n'
    second = TOML.put(theirs, [server(command="new")], first.entries)
    assert tomllib.loads(second.data.decode())["mcp_servers"]["greet"] == {
        "command": "new",
        "tools": {"say": {"approval_mode": "never"}},
    }
    assert TOML.take(second.data, second.entries) == (
        b'model = "m"\n\n[mcp_servers.greet.tools.say]\napproval_mode = "never"\n'
    )


@pytest.mark.parametrize("extra", [{"enabled": False}, {"env": {"A": "b"}}, {"tools": {"x": {"y": 1}}}])
def test_what_a_user_added_to_our_value_outlives_an_upgrade(extra: dict[str, Any]) -> None:
    first = JSONC.put(b"{}", [server(command="old")])
    value = {"mcp_servers": {"greet": {"command": "old", **extra}}}
    second = JSONC.put(json.dumps(value).encode(), [server(command="new")], first.entries)
    assert json.loads(second.data) == {"mcp_servers": {"greet": {**extra, "command": "new"}}}
    left = JSONC.take(second.data, second.entries)
    assert json.loads(left or b"") == {"mcp_servers": {"greet": extra}}


def test_only_where_something_of_ours_stood_may_ours_go_beside_values_of_the_user() -> None:
    theirs = b'{"mcp_servers": {"greet": {"url": "http://localhost"}}}'
    with pytest.raises(EditFault, match="another value stands at /mcp_servers/greet"):
        JSONC.put(theirs, [server(command="new")])


def test_an_object_of_nothing_but_objects_has_no_value_to_collide_with() -> None:
    before = b'{"mcp_servers": {"greet": {"tools": {}}}}'
    edited = JSONC.put(before, [server(command="new", args=[])])
    assert json.loads(edited.data) == {"mcp_servers": {"greet": {"tools": {}, "command": "new", "args": []}}}
    assert JSONC.take(edited.data, edited.entries) == before


def test_an_object_with_a_member_of_the_same_name_collides() -> None:
    with pytest.raises(EditFault, match="another value"):
        JSONC.put(b'{"mcp_servers": {"greet": {"env": {}}}}', [server(command="new", env={"A": "b"})])


def test_what_a_user_added_inside_our_value_is_joined_by_the_next_version() -> None:
    first = JSONC.put(b"{}", [server(command="old", env={"A": "1"})])
    theirs = first.data.replace(b'"A": "1"', b'"A": "1", "MINE": "2"')
    second = JSONC.put(theirs, [server(command="new", env={"A": "3"})], first.entries)
    value = json.loads(second.data)["mcp_servers"]["greet"]
    assert value == {"command": "new", "env": {"A": "3", "MINE": "2"}}
    left = JSONC.take(second.data, second.entries)
    assert json.loads(left or b"") == {"mcp_servers": {"greet": {"env": {"MINE": "2"}}}}


def test_what_the_user_made_of_our_value_is_a_collision_for_the_next_version() -> None:
    first = JSONC.put(b"{}", [server(command="old")])
    theirs = first.data.replace(b"old", b"mine")
    with pytest.raises(EditFault, match="another value"):
        JSONC.put(theirs, [server(command="new")], first.entries)
    forced = JSONC.put(theirs, [server(command="new")], first.entries, over=["/mcp_servers/greet"])
    assert forced.entries[0].prior == {"command": "mine"}
    assert json.loads(JSONC.take(forced.data, forced.entries) or b"")["mcp_servers"] == {
        "greet": {"command": "mine"}
    }
