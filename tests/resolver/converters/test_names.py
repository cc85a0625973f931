"""Text names the host's own directory, and no path of this machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gsdlock.resolver.converters import ConvertContext, names

HOME, TILDE, PATH = "{{gsdlock:home:config}}", "{{gsdlock:tilde:config}}", "{{gsdlock:path:config}}"


@pytest.mark.parametrize(
    ("runtime", "scope", "tilde", "home"),
    [
        ("claude", "global", HOME, HOME),
        ("codex", "global", HOME, HOME),
        ("opencode", "global", PATH, PATH),  # the host expands no $HOME
        ("copilot", "global", TILDE, HOME),  # what is ~ stays ~
        ("claude", "local", ".claude", ".claude"),
        ("copilot", "local", ".github", ".github"),
        ("cline", "local", ".", "."),  # the project itself
    ],
)
def test_how_a_host_has_its_directory_spelled(
    context: Callable[..., ConvertContext], runtime: str, scope: str, tilde: str, home: str
) -> None:
    to = context(runtime, scope).directory
    assert (to.tilde, to.home) == (tilde, home)


def test_in_a_list_of_hosts_a_directory_is_the_one_in_the_home(
    context: Callable[..., ConvertContext],
) -> None:
    source = "(e.g. `~/.claude`, `~/.hermes`), not `~/.claude`"
    for runtime, scope, first, own in (
        ("kilo", "local", "~/.config/kilo", ".kilo"),
        ("claude", "local", "~/.claude", ".claude"),
        ("codex", "global", TILDE, HOME),
    ):
        to = context(runtime, scope).directory
        told = names.name_directory(source, to, listed=True)
        assert told == f"(e.g. `{first}`, `~/.hermes`), not `{own}`"


@pytest.mark.parametrize(
    ("source", "on_codex", "in_a_project", "in_a_cline_project"),
    [
        ("@~/.claude/a.md", f"@{HOME}/a.md", "@.codex/a.md", "@a.md"),
        ('"$HOME/.claude/b"', f'"{HOME}/b"', '".codex/b"', '"b"'),
        ("./.claude/c", "./.codex/c", "./.codex/c", "./.cline/c"),
        ("${D:-$HOME/.claude}/d", "${D:-" + HOME + "}/d", "${D:-.codex}/d", "${D:-.}/d"),
        ("in `~/.claude`.", f"in `{HOME}`.", "in `.codex`.", "in `.`."),
        ("~/.claude-work", "~/.claude-work", "~/.claude-work", "~/.claude-work"),
        ("/x/.claude/y", "/x/.claude/y", "/x/.claude/y", "/x/.claude/y"),
    ],
)
def test_paths_of_the_source_become_paths_of_the_target(
    context: Callable[..., ConvertContext],
    source: str,
    on_codex: str,
    in_a_project: str,
    in_a_cline_project: str,
) -> None:
    for runtime, scope, wanted in (
        ("codex", "global", on_codex),
        ("codex", "local", in_a_project),
        ("cline", "local", in_a_cline_project),
    ):
        to = context(runtime, scope).directory
        assert names.name_directory(names.name_paths(source, to), to) == wanted


def test_references_are_shortened_to_the_form_that_is_expanded(
    context: Callable[..., ConvertContext],
) -> None:
    to = context("claude", "global").directory
    assert names.shorten_references(f"@{HOME}/x and {HOME}/y", to) == f"@{TILDE}/x and {HOME}/y"
