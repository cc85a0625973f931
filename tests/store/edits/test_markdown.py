"""The marked block in a Markdown file, in examples and for any text."""

from __future__ import annotations

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault
from hypothesis import assume, given, settings
from hypothesis import strategies as st

MANY = settings.get_profile("edits")
MARKDOWN = editor(EditFormat.MARKDOWN)
NAME = "gsdlock:default/codex"
BEGIN, END = f"<!-- BEGIN {NAME} -->", f"<!-- END {NAME} -->"


def block(text: str, name: str = NAME) -> Change:
    return Change(EditOp.BLOCK, name, text)


GREET = block("Greet.\n")
OURS = f"{BEGIN}\nGreet.\n{END}"

PLACES = [
    pytest.param(None, f"{OURS}\n", id="no file: the block only"),
    pytest.param("", f"{OURS}\n", id="an empty file"),
    pytest.param("# Mine\n", f"# Mine\n\n{OURS}\n", id="one blank line between"),
    pytest.param("# Mine", f"# Mine\n\n{OURS}\n", id="no final newline"),
    pytest.param("# Mine\n\n", f"# Mine\n\n{OURS}\n", id="a blank line at the end already"),
    pytest.param("# Mine\n \t\n", f"# Mine\n \t\n{OURS}\n", id="a line of blanks at the end"),
    pytest.param("\n\n", f"\n\n{OURS}\n", id="blank lines only"),
    pytest.param("  ", f"  \n{OURS}\n", id="blanks only"),
    pytest.param("a\r\n\r\nb\r\n", "a\r\n\r\nb\r\n\r\n" + OURS.replace("\n", "\r\n") + "\r\n", id="CRLF"),
    pytest.param("\ufeffa\n", f"\ufeffa\n\n{OURS}\n", id="byte order mark"),
    pytest.param("a  \n\ttail \t", f"a  \n\ttail \t\n\n{OURS}\n", id="space at the ends of lines"),
    pytest.param(
        f"```\n{BEGIN}\n```\n", f"```\n{BEGIN}\n```\n\n{OURS}\n", id="a marker in a code fence is none"
    ),
    pytest.param(
        f"~~~~ md\n~~~\n{END}\n~~~~\n", f"~~~~ md\n~~~\n{END}\n~~~~\n\n{OURS}\n", id="a longer fence"
    ),
    pytest.param(
        f"see `{BEGIN}`\n  {BEGIN}\n", f"see `{BEGIN}`\n  {BEGIN}\n\n{OURS}\n", id="in a line it is none"
    ),
    pytest.param(f"``` `x`\n{BEGIN} \nGreet.\n{END}\t\n", None, id="our block is there already"),
    pytest.param(
        "<!-- BEGIN other -->\n", f"<!-- BEGIN other -->\n\n{OURS}\n", id="a marker of somebody else's"
    ),
]


@pytest.mark.parametrize(("before", "after"), PLACES)
def test_where_a_block_goes_and_that_it_goes_without_a_trace(before: str | None, after: str | None) -> None:
    data = None if before is None else before.encode()
    edited = MARKDOWN.put(data, [GREET])
    assert edited.data.decode() == (before if after is None else after)
    assert MARKDOWN.holds(edited.data, GREET)
    assert MARKDOWN.take(edited.data, edited.entries) == data


def test_a_block_of_ours_is_replaced_where_it_stands() -> None:
    before = f"above\r\n\r\n{BEGIN}\r\nold\r\nlines\n{END}\r\n\r\nbelow"
    edited = MARKDOWN.put(before.encode(), [block("new\n\nlines")])
    assert edited.data.decode() == f"above\r\n\r\n{BEGIN}\r\nnew\r\n\r\nlines\r\n{END}\r\n\r\nbelow"
    assert MARKDOWN.take(edited.data, edited.entries) == b"above\r\n\r\nbelow"


def test_an_upgrade_keeps_the_place_and_the_way_back() -> None:
    first = MARKDOWN.put(b"# Mine", [GREET, block("two", "gsdlock:default/copilot")])
    later = first.data + b"\nadded later"
    second = MARKDOWN.put(later, [block("Hello.")], first.entries)
    assert second.data.decode() == f"# Mine\n\n{BEGIN}\nHello.\n{END}\n\nadded later"
    assert MARKDOWN.take(second.data, second.entries) == b"# Mine\n\nadded later"
    kept = MARKDOWN.put(second.data, [block("Hello.")], second.entries)
    assert kept == second


def test_applying_thrice_leaves_one_block() -> None:
    data = b"# Mine\n"
    for _ in range(3):
        data = MARKDOWN.put(data, [GREET]).data
    assert data.decode().count(BEGIN) == 1


def test_text_around_the_block_stays() -> None:
    edited = MARKDOWN.put(b"above\n", [GREET])
    moved = f"new top\n\n{OURS}\n\nabove\nbelow\n".encode()
    assert MARKDOWN.take(moved, edited.entries) == b"new top\n\nabove\nbelow\n"


@pytest.mark.parametrize("before", [None, "", "# Mine", "# Mine\n", "# Mine\r\n\r\n", "\ufeffa", "  "])
@pytest.mark.parametrize("stripped", [False, True], ids=["as we left it", "without its last end of line"])
def test_a_line_that_is_appended_to_the_file_is_the_users(before: str | None, stripped: bool) -> None:
    """`echo text >> AGENTS.md`, also after an editor that ends no last line."""
    edited = MARKDOWN.put(None if before is None else before.encode(), [GREET])
    left = edited.data.rstrip(b"\r\n") if stripped else edited.data
    appended = left + b"  be kind\n"
    assert MARKDOWN.holds(appended, GREET)
    assert MARKDOWN.put(appended, [GREET], edited.entries).data == appended
    assert b"  be kind\n" in MARKDOWN.put(appended, [block("Hello.")], edited.entries).data
    taken = MARKDOWN.take(appended, edited.entries)
    text = before or ""
    ended = text if not text or text.endswith("\n") else text + "\n"
    assert taken is not None
    assert taken.decode() == f"{ended}  be kind\n"


def test_a_block_that_the_user_changed_stays() -> None:
    edited = MARKDOWN.put(b"above\n", [GREET])
    theirs = edited.data.replace(b"Greet.", b"Greet me.")
    assert not MARKDOWN.holds(theirs, GREET)
    assert MARKDOWN.take(theirs, edited.entries) == theirs


def test_a_file_that_we_made_stays_for_what_was_added() -> None:
    edited = MARKDOWN.put(None, [GREET])
    assert MARKDOWN.take(edited.data, edited.entries) is None
    assert MARKDOWN.take(edited.data + b"\nmine\n", edited.entries) == b"\nmine\n"
    assert MARKDOWN.take(None, edited.entries) is None
    assert not MARKDOWN.holds(None, GREET)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\n{BEGIN}\nuser text\n", 2),
        (f"a\n{BEGIN}\n{BEGIN}\nuser text\n{END}\n", 3),
        (f"{OURS}\nuser text\n{OURS}\n", 5),
        (f"user text\n{END}\n", 2),
        (f"<!-- BEGIN gsdlock:other/x -->\n{OURS}\n", 1),
        ("a\n\n```sh\nno end\n", 3),
    ],
)
def test_markers_that_do_not_pair_up_are_refused_with_their_line(text: str, line: int) -> None:
    with pytest.raises(EditFault) as fault:
        MARKDOWN.put(text.encode(), [GREET])
    assert (fault.value.kind, fault.value.line) == ("block", line)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (block(f"a\n{END}\nb"), "block"),
        (block(f"a\n{END} b"), "block"),
        (block("a", "two words"), "shape"),
        (block("a", "a-->"), "shape"),
        (block("a", ""), "shape"),
        (Change(EditOp.BLOCK, NAME, {"a": 1}), "shape"),
        (Change(EditOp.ENSURE, "/a", "x"), "shape"),
        (block("\ud800"), "encoding"),
    ],
)
def test_what_is_no_block_is_refused(change: Change, kind: str) -> None:
    with pytest.raises(EditFault) as fault:
        MARKDOWN.put(b"a\n", [change])
    assert fault.value.kind == kind


def test_what_is_not_utf8_is_refused() -> None:
    with pytest.raises(EditFault) as fault:
        MARKDOWN.check(b"caf\xe9")
    assert fault.value.kind == "encoding"


lines = st.sampled_from(
    [
        "",
        " ",
        "# Mine",
        "text",
        "\ttail ",
        "```",
        "~~~",
        "````md",
        "    ```",
        BEGIN,
        END,
        f"{END} x",
        "é\u2028\x0b",
        "\r",
    ]
)
texts = st.builds(
    lambda parts, eol, end: eol.join(parts) + end,
    st.lists(lines, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n", "\n\n"]),
)


@MANY
@given(st.none() | texts, st.lists(texts, min_size=1, max_size=3), texts)
def test_the_laws(before: str | None, bodies: list[str], other: str) -> None:
    data = None if before is None else before.encode()
    wanted = [block(body, f"gsdlock:default/{number}") for number, body in enumerate(bodies)]
    new = [block(other, "gsdlock:default/0"), block(other, "gsdlock:default/9")]
    try:
        edited = MARKDOWN.put(data, wanted)
    except EditFault as fault:
        assert fault.kind == "block"
        assume(False)
        raise
    again = MARKDOWN.put(edited.data, wanted)
    assert again.data == edited.data
    assert not any(entry.added for entry in again.entries)
    assert all(MARKDOWN.holds(edited.data, change) for change in wanted)
    assert edited.data.startswith(data or b"")
    assert MARKDOWN.take(edited.data, edited.entries) == data
    taken = MARKDOWN.take(edited.data, edited.entries)
    second = MARKDOWN.put(taken, new)
    assert MARKDOWN.take(second.data, second.entries) == data
    in_place = MARKDOWN.put(edited.data, new, edited.entries)
    assert MARKDOWN.take(in_place.data, in_place.entries) == data


def test_a_block_of_that_name_that_is_not_ours_is_replaced_only_when_asked_and_comes_back() -> None:
    theirs = b"# Mine\r\n<!-- BEGIN gsd -->\r\nmy own\r\n<!-- END gsd -->\r\nend\r\n"
    change = Change(EditOp.BLOCK, "gsd", "ours")
    with pytest.raises(EditFault) as caught:
        MARKDOWN.put(theirs, [change])
    assert (caught.value.kind, caught.value.line) == ("collision", 2)
    edited = MARKDOWN.put(theirs, [change], over=["gsd"])
    assert edited.data == theirs.replace(b"my own", b"ours")
    newer = MARKDOWN.put(b"top\r\n" + edited.data, [Change(EditOp.BLOCK, "gsd", "newer")], edited.entries)
    assert b"newer" in newer.data
    assert MARKDOWN.take(newer.data, newer.entries) == b"top\r\n" + theirs


@pytest.mark.parametrize("text", ["# Mine\nx\n", "# Mine\nx", "", "x\n\n"])
def test_line_ends_that_the_user_turned_are_never_halved(text: str) -> None:
    edited = MARKDOWN.put(text.encode(), [Change(EditOp.BLOCK, "gsd", "ours\n")])
    turned = edited.data.replace(b"\n", b"\r\n")
    left = MARKDOWN.take(turned, edited.entries) or b""
    assert left.replace(b"\r\n", b"").count(b"\r") == 0
    assert left.replace(b"\r\n", b"\n").rstrip(b"\n") == text.encode().rstrip(b"\n")
