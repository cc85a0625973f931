"""The laws of the editor for JSON with comments, on documents in every style that people write."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import Any

from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change
from hypothesis import example, given, settings
from hypothesis import strategies as st

MANY = settings.get_profile("edits")
JSONC = editor(EditFormat.JSONC)
ENSURE, APPEND, SET = EditOp.ENSURE, EditOp.APPEND_UNIQUE, EditOp.SET_IF_ABSENT


def handler(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": f"node '/opt/greet {name}.js'", **more}


OURS = [
    Change(APPEND, "/hooks/SessionStart", {"hooks": [handler("start")]}),
    Change(APPEND, "/hooks/SessionStart", {"matcher": "compact", "hooks": [handler("again", timeout=5)]}),
    Change(APPEND, "/hooks/Stop", {"matcher": "", "hooks": [handler("stop"), handler("bye")]}),
    Change(APPEND, "/permissions/allow", "Read(~/greet/**)"),
    Change(ENSURE, "/mcpServers/greet", {"command": "npx", "args": ["-y", "greet"], "env": {}}),
    Change(ENSURE, "/mcpServers/a~1b~0c", {"url": 'http://localhost:1/é\n"\u2028'}),
    Change(SET, "/statusLine", {"type": "command", "command": "greet"}),
    Change(SET, "/experimental/enable/agents", True),
    Change(ENSURE, "/version", 1),
]
THEIRS = [
    handler("mine"),
    {"matcher": "Bash", "hooks": [handler("mine")]},
    "Write(docs/*)",
    'a string with // no comment, ] and \\" /* such',
    -0.5,
    12345678901234567890,
    None,
    {},
    [],
    {"deep": [[{"er": [1, 2, []]}]]},
]
# A seed, not `st.randoms`: a document asks for hundreds of numbers.
hands = st.integers(0, 2**20).map(random.Random)
changes = st.lists(st.sampled_from(OURS), min_size=1, max_size=6, unique_by=str)


some = st.lists(st.sampled_from(THEIRS), max_size=3)
MEMBERS = {
    "hooks": st.dictionaries(st.sampled_from(["SessionStart", "Stop", "Other"]), some, max_size=3),
    "permissions": st.fixed_dictionaries({}, optional={"allow": some, "deny": some}),
    "mcpServers": st.dictionaries(st.sampled_from(["docs", "x y"]), st.sampled_from(THEIRS[:2])),
    "statusLine": st.sampled_from(THEIRS),
    "experimental": st.fixed_dictionaries({}, optional={"enable": st.just({})}),
    "über": st.sampled_from(THEIRS),
}
members = st.lists(st.sampled_from(sorted(MEMBERS)), unique=True)
blank = st.sampled_from([None, b"", b"\n", b"  \r\n\r\n", b"// mine\n", b"/* mine */", b"\xef\xbb\xbf"])
one_in_ten, one_in_twenty = (st.integers(0, n - 1).map(lambda k: k == 0) for n in (10, 20))


class Writer:
    """Writes a value as JSON with comments, in one of many hands."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.eols = chance.choice([["\n"], ["\r\n"], ["\n", "\r\n"], ["\n"]])
        self.unit = chance.choice(["  ", "    ", "\t", " ", ""])
        self.colon = chance.choice([": ", ":", " : ", ":  "])
        self.gap = chance.choice([" ", "", "  "])
        self.lines = chance.choice([True, True, False, None])  # None: each container as it comes
        self.comments = chance.choice([0.0, 0.0, 0.2])
        self.trailing = chance.choice([0.0, 0.0, 0.5, 1.0])

    def eol(self) -> str:
        return self.chance.choice(self.eols)

    def space(self, *, line: bool = True) -> str:
        """Nothing, as a rule; else a comment or blanks."""
        if self.chance.random() >= self.comments:
            return ""
        kinds = [" ", "/* c */", ' /* , } " */ ', *(["// it's // \"", " //"] if line else [])]
        text = self.chance.choice(kinds)
        return text + self.eol() if "//" in text else text

    def document(self, value: Any) -> str:
        after = self.chance.choice(["", self.eol(), self.eol() * 2, " ", f"{self.eol()}// end"])
        return self.space() + self.value(value, "") + after

    def value(self, value: Any, indent: str) -> str:
        if isinstance(value, dict):
            parts = [
                f"{self.key(key)}{self.colon}{self.value(v, indent + self.unit)}" for key, v in value.items()
            ]
            return self.container("{", parts, "}", indent)
        if isinstance(value, list):
            return self.container("[", [self.value(v, indent + self.unit) for v in value], "]", indent)
        return json.dumps(value, ensure_ascii=self.chance.random() < 0.5)

    def key(self, key: str) -> str:
        return json.dumps(key, ensure_ascii=self.chance.random() < 0.5) + self.space(line=False)

    def container(self, opener: str, parts: list[str], closer: str, indent: str) -> str:
        lines = self.chance.random() < 0.7 if self.lines is None else self.lines
        if not parts:
            inner = self.chance.choice(
                ["", "", " ", self.eol() + indent, f"{self.eol()}{indent}// none{self.eol()}"]
            )
            return opener + (inner if lines else " " * (len(inner) % 2)) + closer
        start = (self.eol() + indent + self.unit) if lines else self.chance.choice(["", " "])
        end = (self.eol() + indent) if lines else self.chance.choice(["", " "])
        text = opener
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            comma = "" if last and self.chance.random() >= self.trailing else ","
            blank = self.eol() if lines and self.chance.random() < 0.1 else ""
            lead = start if lines or not number else self.gap
            text += blank + lead + self.space() + part + self.space() + comma
            text += self.space() if lines else ""
        return text + end + closer


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, bytes | None]:
    """A value and a text that means it, or no file, or one without a value."""
    if draw(one_in_twenty):
        return {}, draw(blank)
    value = {key: draw(MEMBERS[key]) for key in draw(members)}
    text = Writer(draw(hands)).document(value)
    return value, (b"\xef\xbb\xbf" if draw(one_in_ten) else b"") + text.encode()


_COMMENT = r"//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/"
_PARTS = re.compile(rf'("(?:[^"\\]|\\.)*")|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[\]}}])')


def meaning(data: bytes) -> Any:
    """The standard library's opinion, once comments and trailing commas are out of the way."""
    text = _PARTS.sub(lambda m: m[1] or " ", data.decode("utf-8-sig"))
    return json.loads(text) if text.strip() else {}


@MANY
@given(documents(), changes, changes)
def test_the_laws(
    laws: Any, document: tuple[Any, bytes | None], wanted: list[Change], other: list[Change]
) -> None:
    value, data = document
    assert meaning(data or b"") == value
    laws(JSONC, meaning).hold(data, wanted, other)


@cache
def steps(history: Any) -> Any:
    return history.steps(OURS, ["// note", '/* a "note" */'])


@MANY
@given(documents(), st.data())
def test_any_history(history: Any, document: tuple[Any, bytes | None], draw: st.DataObject) -> None:
    history(JSONC, meaning).play(
        document[1], draw.draw(steps(history)), lambda d: json.dumps(meaning(d), indent=2).encode()
    )


@MANY
@given(documents(), changes, st.integers(0, 2**16))
@example(({"a": {}}, b'{ // x\r\n"a": { },} '), OURS[:1], 2)
def test_a_comment_on_any_line_outlives_us(
    laws: Any, document: tuple[Any, bytes | None], wanted: list[Change], where: int
) -> None:
    _, data = document
    laws(JSONC, meaning).keep_a_comment(data or b"", wanted, b"// note!", where)


@MANY
@given(documents(), changes, st.sampled_from([None, 2, "\t"]), hands)
def test_what_a_host_wrote_anew_loses_our_entries_and_nothing_else(
    laws: Any, document: tuple[Any, bytes | None], wanted: list[Change], indent: Any, chance: random.Random
) -> None:
    value, data = document
    edited = laws(JSONC, meaning).put(data, wanted)
    rewritten = json.dumps(shuffled(meaning(edited.data), chance), indent=indent).encode()
    left = JSONC.take(rewritten, edited.entries)
    if left is None:
        assert data is None
    else:
        assert meaning(left) == value


@MANY
@given(documents(), changes, st.sampled_from(OURS))
def test_another_entry_beside_ours_stays(
    laws: Any, document: tuple[Any, bytes | None], wanted: list[Change], theirs: Change
) -> None:
    _, data = document
    rule = laws(JSONC, meaning)
    ours = rule.put(data, [change for change in wanted if change.at != theirs.at])
    both = rule.put(ours.data, [theirs])
    if both.entries[0].added and both.entries[0].prior != {}:
        left = JSONC.take(both.data, ours.entries)
        assert left is not None
        assert JSONC.holds(left, theirs)
        assert meaning(left) == meaning(rule.put(data, [theirs]).data)


@MANY
@given(st.text(max_size=40) | st.text(alphabet='{}[]",:/*\\ \n1a', max_size=40), changes)
@example('{"a": 1', OURS)
@example("[" * 100_000, OURS)
@example('{"a":' * 100_000, OURS)
def test_any_text_is_edited_or_refused_with_a_place(text: str, wanted: list[Change]) -> None:
    from gsdlock.store.edits.types import EditFault

    data = text.encode("utf-8", "surrogatepass")
    try:
        edited = JSONC.put(data, wanted)
    except EditFault as fault:
        assert fault.kind in ("syntax", "duplicate", "shape", "collision", "encoding")
        assert fault.line >= 0
    else:
        assert JSONC.take(edited.data, edited.entries) == data


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same value with the keys of its objects in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value
