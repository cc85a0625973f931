"""Placeholders: machine paths leave the locked bytes and come back at apply."""

from __future__ import annotations

import subprocess

import pytest
from gsdlock.lockfiles.placeholders import (
    Fillings,
    PlaceholderError,
    bases_used,
    fill_bytes,
    fill_pointer,
    fill_text,
    fill_value,
    has_placeholder,
    placeholder,
)
from hypothesis import given
from hypothesis import strategies as st

AT_HOME = Fillings({"config": "/home/ada/.claude", "tool.node": "/usr/bin/node"}, "/home/ada")

FORMS = [
    ("path", "config", "", "/home/ada/.claude"),
    ("path", "config", "hooks/x.js", "/home/ada/.claude/hooks/x.js"),
    ("home", "config", "", "$HOME/.claude"),
    ("tilde", "config", "gsd-core", "~/.claude/gsd-core"),
    ("sh", "config", "hooks/x.js", '"/home/ada/.claude/hooks/x.js"'),
    ("sh", "tool.node", "", '"/usr/bin/node"'),
    ("home", "tool.node", "", "/usr/bin/node"),
    ("sh-home", "config", "hooks/x.js", '"$HOME/.claude/hooks/x.js"'),
    ("sh-home", "tool.node", "", '"/usr/bin/node"'),
]


@pytest.mark.parametrize(("form", "base", "rest", "filled"), FORMS)
def test_each_form(form: str, base: str, rest: str, filled: str) -> None:
    text = placeholder(form, base, rest)
    assert has_placeholder(text.encode())
    assert fill_text(f"a {text} b", AT_HOME) == f"a {filled} b"


def test_text_around_and_after_a_placeholder_stays() -> None:
    assert fill_text("@{{gsdlock:home:config}}/a.md", AT_HOME) == "@$HOME/.claude/a.md"
    assert fill_text("no placeholder {{x}}", AT_HOME) == "no placeholder {{x}}"


def test_a_folder_beside_the_home_is_not_below_it() -> None:
    beside = Fillings({"config": "/home/adam/.claude"}, "/home/ada")
    assert fill_text(placeholder("tilde", "config"), beside) == "/home/adam/.claude"


def test_without_a_home_every_path_is_absolute() -> None:
    homeless = Fillings({"config": "/srv/claude"}, None)
    assert fill_text(placeholder("home", "config", "x"), homeless) == "/srv/claude/x"


def test_an_unknown_base_is_named() -> None:
    with pytest.raises(PlaceholderError, match=r"tool\.bash"):
        fill_text(placeholder("sh", "tool.bash"), AT_HOME)


def test_values_are_filled_in_depth() -> None:
    value = {"a": [placeholder("path", "config"), 1, None, True], placeholder("tilde", "config"): "k"}
    assert fill_value(value, AT_HOME) == {"a": ["/home/ada/.claude", 1, None, True], "~/.claude": "k"}


def test_a_pointer_is_filled_step_by_step() -> None:
    pointer = "/permission/read/{{gsdlock:tilde:config~1gsd-core}}~1*"
    assert fill_pointer(pointer, AT_HOME) == "/permission/read/~0~1.claude~1gsd-core~1*"
    assert fill_pointer("/a~1b/c", AT_HOME) == "/a~1b/c"
    assert fill_pointer("", AT_HOME) == ""


def test_the_bases_that_are_needed_can_be_asked_for() -> None:
    data = (placeholder("sh", "tool.node") + placeholder("path", "config", "a/b")).encode()
    assert bases_used(data) == {"tool.node", "config"}


ODD_NAMES = [
    "a b",
    "a$b",
    "a`id`",
    'a"b',
    "a\\b",
    "a'b",
    "$(id)",
    "a\nb",
    "*",
    "~",
    "é",
    "a\\$b",
    "{a,b}",
    "!x",
]


def test_a_real_shell_reads_back_any_path() -> None:
    words = [
        fill_bytes(placeholder("sh", "config").encode(), Fillings({"config": f"/{n}"}, None)).decode()
        for n in ODD_NAMES
    ]
    script = f"printf '%s\\0' {' '.join(words)}"
    out = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True).stdout
    assert out.decode().split("\0")[:-1] == [f"/{n}" for n in ODD_NAMES]


def test_a_real_shell_reads_back_any_path_below_its_home() -> None:
    home = "/the $(home) of `ada`"
    words = [
        fill_text(placeholder("sh-home", "config"), Fillings({"config": f"{home}/{n}"}, home))
        for n in ODD_NAMES
    ]
    assert all(w.startswith('"$HOME/') for w in words)
    script = f"printf '%s\\0' {' '.join(words)}"
    done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, check=True, env={"HOME": home})
    assert done.stdout.decode().split("\0")[:-1] == [f"{home}/{n}" for n in ODD_NAMES]


PIECES = ["{{gsdlock:", "path:config", "sh:config", "/a", "/", "}}", "}", "{", "x", "\n", "→", "é"]


@given(st.lists(st.sampled_from([*PIECES, "{{gsdlock:path:config/a}}", "{{gsdlock:home:config}}"])))
def test_bytes_are_filled_as_text_is(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert fill_bytes(text.encode(), AT_HOME) == fill_text(text, AT_HOME).encode()


def test_a_placeholder_is_what_its_grammar_says_and_nothing_longer() -> None:
    assert fill_text("{{gsdlock:{{gsdlock:path:config}}}}", AT_HOME) == "{{gsdlock:/home/ada/.claude}}"
