"""One shared file with several owners: whatever the order of coming and going, what is left is the user's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from gsdlock.capabilities.canonical import canonical_json, sha256_digest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.drift import Say
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change
from gsdlock.store.entry_drift import held_back, judge_entries
from gsdlock.store.merge import Known, Merged, merge
from gsdlock.store.records import EntryRecord
from gsdlock.store.wanted import WantedChange
from hypothesis import given, settings
from hypothesis import strategies as st

JSONC = editor(EditFormat.JSONC)


def ask(op: EditOp, at: str, value: Any) -> WantedChange:
    return WantedChange(Change(op, at, value), sha256_digest(canonical_json(value)), at.startswith("/hooks"))


CHANGES = [
    ask(EditOp.APPEND_UNIQUE, "/hooks/Stop", {"command": "one"}),
    ask(EditOp.APPEND_UNIQUE, "/hooks/Stop", {"command": "two"}),
    ask(EditOp.APPEND_UNIQUE, "/hooks/Start", {"command": "one"}),
    ask(EditOp.ENSURE, "/servers/docs", {"command": "docs"}),
    ask(EditOp.ENSURE, "/servers/web", {"command": "web"}),
    ask(EditOp.SET_IF_ABSENT, "/statusLine", {"command": "line"}),
]
USERS = [
    None,
    b"{}",
    b"{}\n",
    b'{"mine": 1}',
    b'{\n  "mine": 1, // why\n  "hooks": {"Stop": [{"command": "chime"}]},\n}\n',
    b'\xef\xbb\xbf{\r\n\t"servers": {\r\n\t\t"mine": {}\r\n\t}\r\n}\r\n',
    b'{"hooks": {"Stop": [{"command": "one"}]}, "statusLine": "mine"}\n',
]

Plan = Mapping[str, tuple[WantedChange, ...]]
plans = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.sampled_from(CHANGES), unique_by=lambda w: w.identity, max_size=4).map(tuple),
    max_size=3,
)


def step(
    current: bytes | None, owned: Mapping[str, Sequence[EntryRecord]], plan: Plan, known: Known | None
) -> Merged:
    owners = {**owned, **plan}
    return merge(JSONC, current, owned, {owner: plan.get(owner, ()) for owner in owners}, known)


def value(data: bytes | None) -> Any:
    if data is None:
        return None
    text = data.decode("utf-8-sig").replace(" // why", "").replace(",\n}", "\n}").replace("},\n}", "}\n}")
    return json.loads(text)


@pytest.mark.parametrize("user", USERS)
def test_before_our_first_entry_the_file_without_us_is_the_one_that_stands_there(user: bytes | None) -> None:
    """Byte for byte, also where a value of the user's makes way."""
    line = ask(EditOp.ENSURE, "/statusLine", "ours")
    merged = merge(JSONC, user, {}, {"a": (*CHANGES[:-1], line)}, over=["/statusLine"])
    assert merged.data != user
    assert merged.without == user


@settings.get_profile("edits")
@given(st.sampled_from(USERS), st.lists(plans, min_size=1, max_size=5), st.booleans())
def test_any_coming_and_going_leaves_the_users_bytes(
    start: bytes | None, steps: list[Plan], remembered: bool
) -> None:
    current, owned, known = start, {}, None
    for plan in [*steps, {}]:
        merged = step(current, owned, plan, known if remembered else None)
        for changes in plan.values():
            assert all(JSONC.holds(merged.data, change.change) for change in changes)
        assert merged.without == start or not remembered
        again = step(merged.data, merged.entries, plan, None)
        assert again.data == merged.data
        current, owned = merged.data, merged.entries
        known = Known(merged.without, merged.data)
    if remembered:
        assert current == start
    else:
        assert value(current) == value(start)


@settings.get_profile("edits")
@given(st.sampled_from(USERS[3:]), plans, plans)
def test_what_the_user_adds_in_between_is_theirs_when_we_have_left(
    start: bytes, first: Plan, second: Plan
) -> None:
    merged = step(start, {}, first, None)
    assert merged.data is not None
    edited = JSONC.put(merged.data, [Change(EditOp.ENSURE, "/added/by/user", [1, 2])]).data
    known = Known(merged.without, merged.data)
    upgraded = step(edited, merged.entries, second, known)
    left = step(upgraded.data, upgraded.entries, {}, Known(upgraded.without, upgraded.data))
    expected = value(start)
    expected["added"] = {"by": {"user": [1, 2]}}
    assert value(left.data) == expected


def test_an_entry_that_two_want_is_written_once_and_goes_with_the_last() -> None:
    plan = {"a": (CHANGES[0],), "b": (CHANGES[0], CHANGES[3])}
    both = step(b"{}", {}, plan, None)
    assert both.data is not None and both.data.count(b"one") == 1
    one = step(both.data, both.entries, {"b": plan["b"]}, Known(both.without, both.data))
    assert one.data == both.data
    assert step(one.data, one.entries, {}, Known(one.without, one.data)).data == b"{}"


def test_nothing_to_do_does_not_touch_a_byte_even_of_a_file_that_was_rewritten() -> None:
    merged = step(USERS[4], {}, {"a": (CHANGES[0], CHANGES[3])}, None)
    rewritten = json.dumps(value(merged.data), indent=7).encode()
    again = step(
        rewritten, merged.entries, {"a": (CHANGES[0], CHANGES[3])}, Known(merged.without, merged.data)
    )
    assert again.data == rewritten
    assert again.entries == merged.entries


# -- drift of entries ------------------------------------------------------------------------------------

SAYS = {"nothing": Say(), "ours": Say(ours=True), "theirs": Say(theirs=True)}
BEFORE, AFTER = CHANGES[0], CHANGES[1]


def owned_by_us(change: WantedChange, *, added: bool = True, held: bool = False) -> EntryRecord:
    if held:
        return held_back(change)
    entries = JSONC.put(
        b"{}" if added else b'{"hooks":{"Stop":[{"command":"one"}]}}', [change.change]
    ).entries
    return EntryRecord(entries[0], change.source, change.executes)


THERE, GONE = b'{"hooks":{"Stop":[{"command":"one"}]}}', b"{}"


@pytest.mark.parametrize(
    ("current", "records", "wanted", "said", "fate"),
    [
        (GONE, [], BEFORE, "nothing", "asked"),
        (THERE, [owned_by_us(BEFORE)], BEFORE, "nothing", "asked"),
        (GONE, [owned_by_us(BEFORE)], BEFORE, "nothing", "drifted"),
        (GONE, [owned_by_us(BEFORE)], BEFORE, "ours", "asked"),
        (GONE, [owned_by_us(BEFORE)], BEFORE, "theirs", "held"),
        (GONE, [owned_by_us(BEFORE)], AFTER, "nothing", "drifted"),
        (GONE, [owned_by_us(BEFORE)], AFTER, "ours", "asked"),
        (GONE, [owned_by_us(BEFORE)], AFTER, "theirs", "held"),
        (THERE, [owned_by_us(BEFORE)], AFTER, "theirs", "asked"),
        (GONE, [owned_by_us(BEFORE)], CHANGES[3], "nothing", "asked"),
        (GONE, [owned_by_us(BEFORE, held=True)], BEFORE, "nothing", "held"),
        (GONE, [owned_by_us(BEFORE, held=True)], AFTER, "nothing", "held"),
        (GONE, [owned_by_us(BEFORE, held=True)], AFTER, "ours", "asked"),
        (THERE, [owned_by_us(BEFORE, held=True)], BEFORE, "nothing", "asked"),
        (GONE, [owned_by_us(BEFORE, added=False)], BEFORE, "nothing", "asked"),
    ],
)
def test_the_table_of_entries(
    current: bytes, records: list[EntryRecord], wanted: WantedChange, said: str, fate: str
) -> None:
    found = judge_entries(JSONC, current, records, [wanted], lambda _: SAYS[said])
    fates = {"asked": found.asked, "held": found.held, "drifted": found.drifted}
    assert {name for name, changes in fates.items() if changes} == {fate}
