"""The laws of the editor for YAML, on documents in many hands."""

from __future__ import annotations

import json
import random
from functools import cache, lru_cache
from typing import Any

import yaml
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault
from hypothesis import example, given, settings
from hypothesis import strategies as st

MANY = settings.get_profile("edits")
YAML = editor(EditFormat.YAML)
ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT

OURS = [
    Change(APPEND, "/hooks/pre_tool_call", {"matcher": "*", "command": "greet: 'it'", "timeout": 5}),
    Change(APPEND, "/hooks/pre_tool_call", {"command": "greet"}),
    Change(APPEND, "/hooks/post", {"nested": [{"on": ["yes", 1, None, True]}, {"off": {}}]}),
    Change(ENSURE, "/mcp_servers/greet", {"command": "npx", "args": ["-y", "@x/y"], "env": {"A": "1\n2 é"}}),
    Change(ENSURE, "/mcp_servers/null", {"url": "http://localhost:1/#x"}),
    Change(APPEND, "/skills/external_dirs", "~/.agents/skills"),
    Change(SET, "/model", "m"),
    Change(ENSURE, "/new/mapping/of/ours", -1),
]
changes = st.lists(st.sampled_from(OURS), min_size=1, max_size=5, unique_by=str)
SCALARS = [
    "1",
    "yes",
    "null",
    "~",
    "1.5",
    "0o17",
    "2020-01-01",
    "plain text",
    "'it''s'",
    '"a \\" # b"',
]


class Writer:
    """Writes a value as YAML; what is empty or plain may be written in several ways."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.unit = chance.choice([2, 2, 4, 3])
        self.dash = chance.choice([0, 2, 4])
        self.comments = chance.choice([0.0, 0.2])
        self.brackets = chance.choice([0.0, 0.0, 0.3, 1.0])

    def remark(self) -> str:
        return self.chance.choice(["  # mine", " #"]) if self.chance.random() < self.comments else ""

    def between(self, indent: int) -> list[str]:
        if self.chance.random() >= self.comments:
            return []
        return [self.chance.choice(["", "# about it", " " * indent + "# deep: {"])]

    def mapping(self, value: dict[str, Any], indent: int) -> list[str]:
        lines: list[str] = []
        for key, member in value.items():
            lines += self.between(indent)
            head = " " * indent + self.chance.choice([key, json.dumps(key)]) + ":"
            inner = indent + (self.dash if isinstance(member, list) else self.unit)
            lines += self.member(head, member, inner)
        return lines

    def member(self, head: str, value: Any, indent: int) -> list[str]:
        if isinstance(value, (dict, list)) and value and self.chance.random() >= self.brackets:
            body = self.mapping(value, indent) if isinstance(value, dict) else self.items(value, indent)
            return [head + self.remark(), *body]
        if value == "block":
            return [head + self.chance.choice([" |", " >-", " |+", " |-"]), " " * indent + "some: text", ""]
        return [f"{head} {self.flow(value)}{self.remark()}"]

    def items(self, value: list[Any], indent: int) -> list[str]:
        lines: list[str] = []
        for item in value:
            lines += self.between(indent)
            if isinstance(item, dict) and item and self.chance.random() >= self.brackets:
                body = self.mapping(item, indent + 2)
                while body and (not body[0].strip() or body[0].lstrip().startswith("#")):
                    body.pop(0)
                lines += [" " * indent + "- " + body[0].lstrip(), *body[1:]]
            else:
                lines.append(" " * indent + "- " + self.flow(item) + self.remark())
        return lines

    def flow(self, value: Any) -> str:
        gap = self.chance.choice(["", " "])
        comma = self.chance.choice(["", "", ", "]) if value else ""
        if isinstance(value, dict):
            return "{" + gap + ", ".join(f"{k}: {self.flow(v)}" for k, v in value.items()) + comma + gap + "}"
        if isinstance(value, list):
            return "[" + gap + ", ".join(map(self.flow, value)) + comma + gap + "]"
        return "text" if value == "block" else str(value)

    def text(self, value: dict[str, Any]) -> str:
        lines = self.mapping(value, 0) if value else [self.chance.choice(["", "# c", "---", "{}", "{ }"])]
        lines = [*self.chance.choice([[], [], ["---"], ["# top", ""]]), *lines] if value else lines
        lines += self.chance.choice([[], [], [""], ["# end"], ["..."]]) if value else []
        eol = self.chance.choice(["\n", "\n", "\r\n"])
        return eol.join(lines) + self.chance.choice(["", eol, eol])


scalars = st.sampled_from([*SCALARS, "block"])
handlers = st.lists(st.fixed_dictionaries({"command": scalars}, optional={"timeout": scalars}), max_size=3)
MEMBERS = {
    "hooks": st.dictionaries(st.sampled_from(["pre_tool_call", "outbound"]), handlers) | st.just(""),
    "mcp_servers": st.dictionaries(st.sampled_from(["docs", "mine"]), st.just({"command": "x"})),
    "skills": st.fixed_dictionaries(
        {}, optional={"external_dirs": st.lists(st.sampled_from(SCALARS), max_size=2)}
    ),
    "prompt": scalars,
    "other": st.dictionaries(st.sampled_from(["a", "b"]), scalars),
}
members = st.lists(st.sampled_from(sorted(MEMBERS)), unique=True)
blank = st.sampled_from([None, b"", b"\n", b"# c", b"---\n", b"{}", b"\xef\xbb\xbf# c\r\n"])
one_in_ten, one_in_twenty = (st.integers(0, n - 1).map(lambda k: k == 0) for n in (10, 20))
hands = st.integers(0, 2**20).map(random.Random)


@st.composite
def documents(draw: st.DrawFn) -> bytes | None:
    """A hermes configuration: some of its containers are on our way, most of it is not."""
    if draw(one_in_twenty):
        return draw(blank)
    value = {key: draw(MEMBERS[key]) for key in draw(members)}
    bom = b"\xef\xbb\xbf" if draw(one_in_ten) else b""
    return bom + Writer(draw(hands)).text(value).encode()


@lru_cache(maxsize=16)
def meaning(data: bytes) -> Any:
    """What PyYAML says; a container with nothing in it is as good as none.

    Its fast loader, but once an example, in `test_what_a_host_wrote_anew…`, where the slow one has to agree.
    """
    return without_nulls(yaml.load(data.decode("utf-8-sig"), Loader=yaml.CSafeLoader)) or {}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        on_our_way = {"hooks"}
        return {k: without_nulls(v) for k, v in value.items() if not (k in on_our_way and v is None)}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@MANY
@given(documents(), changes, changes)
def test_the_laws(laws: Any, data: bytes | None, wanted: list[Change], other: list[Change]) -> None:
    meaning(data or b"")  # or the test writes no YAML
    laws(YAML, meaning).hold(data, wanted, other)


@cache
def steps(history: Any) -> Any:
    return history.steps(OURS, ["# note", "# - a: note"])


@MANY
@given(documents(), st.data())
def test_any_history(history: Any, data: bytes | None, draw: st.DataObject) -> None:
    def anew(text: bytes) -> bytes:
        value = yaml.load(text.decode("utf-8-sig"), Loader=yaml.CSafeLoader)
        return bytes(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, encoding="utf-8"))

    history(YAML, meaning).play(data, draw.draw(steps(history)), anew)


# A comment that was indented below what went is no part of a text above it.
@MANY
@example(b'"prompt": |-\n   some: text\n\n# end\n', OURS[2:3], 7)
@given(documents(), changes, st.integers(0, 2**16))
def test_a_comment_on_any_line_outlives_us(
    laws: Any, data: bytes | None, wanted: list[Change], where: int
) -> None:
    laws(YAML, meaning).keep_a_comment(data or b"", wanted, b"# note!", where)


@MANY
@given(documents(), changes, st.booleans(), st.booleans())
def test_what_a_host_wrote_anew_loses_our_entries_and_nothing_else(
    laws: Any, data: bytes | None, wanted: list[Change], flow: bool, order: bool
) -> None:
    edited = laws(YAML, meaning).put(data, wanted)
    value = yaml.safe_load(edited.data.decode("utf-8-sig"))
    assert (without_nulls(value) or {}) == meaning(edited.data)
    rewritten = yaml.dump(
        value,
        Dumper=yaml.CSafeDumper,
        sort_keys=order,
        default_flow_style=flow,
        allow_unicode=True,
        encoding="utf-8",
    )
    left = YAML.take(rewritten, edited.entries)
    if left is None:
        assert data is None
    else:
        assert meaning(left) == meaning(data or b"")


@MANY
@given(st.text(max_size=40) | st.text(alphabet="{}[]:,-|>&*#'\"? \nab1~", max_size=60), changes)
def test_any_text_is_edited_or_refused_with_a_place(text: str, wanted: list[Change]) -> None:
    data = text.encode("utf-8", "surrogatepass")
    try:
        edited = YAML.put(data, wanted)
    except EditFault as fault:
        assert fault.kind in ("syntax", "duplicate", "shape", "collision", "encoding")
        assert fault.line >= 0
    else:
        assert YAML.take(edited.data, edited.entries) == data
