"""The laws of the editor for TOML, on documents in every style that people and hosts write."""

from __future__ import annotations

import random
import tomllib
from functools import cache, lru_cache
from typing import Any

import tomli_w
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault
from hypothesis import given, settings
from hypothesis import strategies as st

MANY = settings.get_profile("edits")
TOML = editor(EditFormat.TOML)
ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT

SERVER = {"command": "npx", "args": ["-y", "greet"], "env": {"A": 'one\ntwo\x00\x7f"\\é', "b.c": ""}}
OURS = [
    Change(ENSURE, "/features/hooks", True),
    Change(SET, "/agents/max_depth", 1),
    Change(ENSURE, "/mcp_servers/greet", SERVER),
    Change(ENSURE, "/mcp_servers/o.d d", {"url": "http://localhost"}),
    Change(SET, "/model", "m"),
    Change(APPEND, "/notify", "greet"),
    Change(ENSURE, "/new/table/of/ours", -1),
]
FLAT = [
    Change(APPEND, "/hooks", {"event": "Stop", "command": "greet"}),
    Change(APPEND, "/hooks", {"event": "SessionStart", "command": "greet", "timeout": 5}),
]
GROUPED = [
    Change(APPEND, "/hooks/Stop", {"matcher": "x", "hooks": [{"command": "a"}, {"command": "b"}]}),
    Change(APPEND, "/hooks/SessionStart", {"hooks": [{"command": "greet"}]}),
]
SCALARS = [
    "1",
    "0x1F",
    "1_000.5",
    "nan",
    "-inf",
    "true",
    "'lit # no comment'",
    '"a \\" ] b"',
    "1979-05-27 07:32:00",
    "1979-05-27",
    "[1, 2]",
    "[\n  1, # one\n  2,\n]",
    '"""\nlong ""\\" [x]\n"""',
    "'''\n# [not.a.table]\n''''",
    "{ a = 1 }",
]


class Writer:
    """Writes parts of a codex or kimi configuration, each table in one of the ways that TOML has."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.root: list[str] = []
        self.tables: list[str] = []
        self.sign = chance.choice([" = ", "=", "  =  "])
        self.indent = chance.choice(["", "", "  "])

    def some(self) -> str:
        return self.chance.choice(SCALARS)

    def remark(self) -> str:
        return self.chance.choice(["", "", "", " # mine", "  #"])

    def between(self) -> str:
        return self.chance.choice(["", "", "\n", "\n\n", "\n# about it\n", "# x = 1\n"])

    def line(self, key: str, value: str) -> str:
        return f"{self.indent}{key}{self.sign}{value}{self.remark()}\n"

    def table(self, name: str, members: dict[str, str]) -> None:
        """One table of plain members: by a header, inline, or by dotted keys; or only implied."""
        lines = "".join(self.line(k, v) + self.between() for k, v in members.items())
        inline = {k: "'x'" if "\n" in v else v for k, v in members.items()}
        style = self.chance.choice(["header", "header", "inline", "dotted", "implied"])
        if style == "inline":
            gap = self.chance.choice(["", " "])
            body = ", ".join(f"{k} = {v}" for k, v in inline.items())
            self.root.append(self.line(name, "{" + gap + body + gap + "}"))
        elif style == "dotted" and members:
            self.root.append("".join(self.line(f"{name}.{k}", v) for k, v in members.items()))
        elif style == "implied":
            self.tables.append(f"[{name}.sub]{self.remark()}\n{lines}")
        else:
            self.tables.append(f"[{name}]{self.remark()}\n{lines}")

    def table_items(self, name: str, count: int) -> None:
        style = self.chance.choice(["headers", "headers", "inline", "lines"])
        items = [f"{{event = 'mine', n = {i}}}" for i in range(count)]
        if style == "headers":
            self.tables += [f"[[{name}]]\nevent = 'mine'{self.remark()}\nn = {i}\n" for i in range(count)]
        elif style == "inline":
            self.root.append(self.line(name, f"[{', '.join(items)}]"))
        else:
            comma = self.chance.choice(["", ","]) if items else ""
            body = ",\n  ".join(items) + comma + self.chance.choice(["", " # c", "\n  # c"])
            self.root.append(self.line(name, f"[\n  {body}\n]"))

    def text(self) -> str:
        self.chance.shuffle(self.root)
        self.chance.shuffle(self.tables)
        text = "".join(part + self.between() for part in [self.between(), *self.root, *self.tables])
        if self.chance.random() < 0.3:
            text = text.removesuffix("\n")
        eols = self.chance.choice([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"]])
        return "".join(c if c != "\n" else self.chance.choice(eols) for c in text)


def some(of: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(of), unique=True)


flat, grouped = (
    st.lists(st.sampled_from(OURS + more), min_size=1, max_size=6, unique_by=str) for more in (FLAT, GROUPED)
)
yes_or_no, one_in_ten, one_in_twenty = (st.integers(0, n - 1).map(lambda k: k == 0) for n in (2, 10, 20))
blank = st.sampled_from([None, b"", b"\n", b"# c", b"# c\r\n\r\n", b" ", b"\xef\xbb\xbf"])
hands = st.integers(0, 2**20).map(random.Random)
tables, keys = some(["features", "agents", "other"]), some(["a", '"b c"', "'d'", "e_-9"])
servers, root_keys = some(["docs", '"my server"']), some(["x", "y", "z.z"])
counts = st.integers(0, 3)


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes | None, list[Change], list[Change]]:
    """A document, changes for it, and other changes that follow them."""
    in_groups = draw(yes_or_no)
    ours = grouped if in_groups else flat
    if draw(one_in_twenty):
        return draw(blank), draw(ours), draw(ours)
    writer = Writer(draw(hands))
    for name in draw(tables):
        writer.table(name, {key: writer.some() for key in draw(keys)})
    for name in draw(servers):
        writer.tables.append(f"[mcp_servers.{name}]\ncommand = 'x'\n")
    if draw(yes_or_no):
        writer.table_items("hooks.Stop" if in_groups else "hooks", draw(counts))
    for key in draw(root_keys):
        writer.root.append(writer.line(key, writer.some()))
    if draw(yes_or_no):
        writer.root.append(writer.line("notify", "['a']"))
    bom = b"\xef\xbb\xbf" if draw(one_in_ten) else b""
    return bom + writer.text().encode(), draw(ours), draw(ours)


@lru_cache(maxsize=16)
def meaning(data: bytes) -> Any:
    return tomllib.loads(data.decode("utf-8-sig"), parse_float=lambda digits: ("float", digits))


@MANY
@given(cases())
def test_the_laws(laws: Any, case: tuple[bytes | None, list[Change], list[Change]]) -> None:
    data, wanted, other = case
    meaning(data or b"")  # or the test writes no TOML
    laws(TOML, meaning).hold(data, wanted, other)


@cache
def steps(history: Any) -> Any:
    return history.steps([*OURS, *FLAT], ["# note", "# [a] = 'note'"])


@MANY
@given(cases(), st.data())
def test_any_history(
    history: Any, case: tuple[bytes | None, list[Change], list[Change]], draw: st.DataObject
) -> None:
    history(TOML, plain_meaning).play(
        case[0],
        draw.draw(steps(history)),
        lambda d: tomli_w.dumps(tomllib.loads(d.decode("utf-8-sig"))).encode(),
    )


def plain_meaning(data: bytes) -> Any:
    return plainly(meaning(data))


@MANY
@given(cases(), st.integers(0, 2**16))
def test_a_comment_on_any_line_outlives_us(
    laws: Any, case: tuple[bytes | None, list[Change], list[Change]], where: int
) -> None:
    data, wanted, _ = case
    laws(TOML, plain_meaning).keep_a_comment(data or b"", wanted, b"# note!", where)


@MANY
@given(cases())
def test_what_a_host_wrote_anew_loses_our_entries_and_nothing_else(
    laws: Any, case: tuple[bytes | None, list[Change], list[Change]]
) -> None:
    data, wanted, _ = case
    edited = laws(TOML, meaning).put(data, wanted)
    rewritten = tomli_w.dumps(tomllib.loads(edited.data.decode("utf-8-sig"))).encode()
    left = TOML.take(rewritten, edited.entries)
    if left is None:
        assert data is None
    else:
        assert plainly(tomllib.loads(left.decode())) == plainly(meaning(data or b""))


@MANY
@given(st.text(max_size=40) | st.text(alphabet="[]{}=.,'\"#\\ \n\rab1", max_size=60))
def test_any_text_is_edited_or_refused_with_a_place(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    try:
        edited = TOML.put(data, [*OURS, *FLAT])
    except EditFault as fault:
        assert fault.kind in ("syntax", "duplicate", "shape", "collision", "encoding")
        assert fault.line >= 0
    else:
        assert TOML.take(edited.data, edited.entries) == data


def plainly(value: Any) -> Any:
    """`value` with floats as text, without empty containers: an array of tables cannot be written empty."""
    if isinstance(value, dict):
        members = {key: plainly(item) for key, item in value.items()}
        return {key: item for key, item in members.items() if item not in ({}, [])}
    if isinstance(value, tuple):
        return repr(float(value[1].replace("_", "")))
    if isinstance(value, float):
        return repr(value)
    return [plainly(item) for item in value] if isinstance(value, list) else value
