"""What a pack says to hosts, and what it lets its agents do, read out of its program code as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gsdlock.resolver.converters.phrases import Phrase, fill, read_phrases
from gsdlock.resolver.converters.rights import READ_ONLY, WORKSPACE, read_rights

LIBRARY = "gsd-core/bin/lib/"
CONVERSION = f"{LIBRARY}runtime-artifact-conversion.cjs"


def reader(**files: str) -> Callable[[str], str | None]:
    return files.get


def header(text: str, before: str = "") -> Callable[[str], str | None]:
    code = f"function getCursorSkillAdapterHeader(skillName) {{\n{before}    return {text};\n}}\n"
    return reader(**{CONVERSION: code})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"`Say \`${skillName}\`.`", "Say `gsd-x`."),
        ("'one ' +\n        'two'", "one two"),
        (r"`a\n\tb \\ \u00e9 \${x}`", "a\n\tb \\ é ${x}"),
        ('"it\'s" + `: ${skillName}`', "it's: gsd-x"),
    ],
)
def test_strings_say_what_they_say_in_javascript(text: str, said: str) -> None:
    phrases = read_phrases(header(text))
    if "${" in said:
        # A dollar that is escaped is no hole, but nothing here tells them apart once they are read.
        assert Phrase.CURSOR_HEADER not in phrases
    else:
        assert fill(phrases[Phrase.CURSOR_HEADER], name="gsd-x") == said


@pytest.mark.parametrize("text", ["`${process.env.HOME}`", "`${other}`", "name + 'x'", "`unfinished"])
def test_a_string_that_would_have_to_be_computed_is_none(text: str) -> None:
    assert read_phrases(header(text)) == {}


def test_a_phrase_is_looked_for_in_its_own_function_only() -> None:
    code = "function getCursorSkillAdapterHeader(skillName) {}\nfunction other() { return `not it`; }\n"
    assert read_phrases(reader(**{CONVERSION: code})) == {}
    assert read_phrases(reader()) == {}


SURFACE = f"{LIBRARY}runtime-hooks-surface.cjs"


def test_the_lines_of_a_list_are_a_phrase() -> None:
    lines = r"""'# Rules',
    '',
    'It\'s so.',"""
    code = "function buildClineRulesBody() {\n  return [\n    " + lines + "\n  ].join('\\n');\n}"
    assert read_phrases(reader(**{SURFACE: code})) == {Phrase.CLINE_RULES: "# Rules\n\nIt's so."}
    computed = code.replace("'',", "more,")
    assert read_phrases(reader(**{SURFACE: computed})) == {}


@pytest.mark.parametrize(
    ("message", "taken"),
    [
        ("GSD: look at .planning/STATE.md (the plan) - then act.", True),
        ("it's", False),
        ('say "so"', False),
        ("$(rm -rf x)", False),
        ("`x`", False),
        ("a\\nb", False),
        ("50 %", False),
    ],
)
def test_what_goes_between_quotes_of_a_shell_needs_none_itself(message: str, taken: bool) -> None:
    quote = '"' if "'" in message else "'"
    code = f"const GSD_COPILOT_PRE_TOOL_MSG = {quote}{message}{quote};"
    found = read_phrases(reader(**{SURFACE: code}))
    assert found == ({Phrase.COPILOT_BEFORE_TOOL: message} if taken else {})


def test_an_agent_gets_the_sandbox_that_its_makers_give_it() -> None:
    code = "const CODEX_AGENT_SANDBOX = {\n  'gsd-a': 'workspace-write',\n  'gsd-b': 'read-only',\n};\n"
    rights = read_rights(reader(**{"bin/install.js": code}))
    assert rights.sandbox_of("gsd-a", writes=False) == WORKSPACE
    assert rights.sandbox_of("gsd-b", writes=True) == READ_ONLY
    assert rights.sandbox_of("gsd-in-no-row", writes=True) == READ_ONLY


def test_an_agent_that_is_held_reads_only_and_the_others_go_by_their_tools() -> None:
    code = "exports.CODEX_SANDBOX_HOLDS = Object.freeze({\n    'gsd-a': 'pending',\n});\n"
    rights = read_rights(reader(**{f"{LIBRARY}codex-agent-toml.cjs": code}))
    assert rights.sandbox_of("gsd-a", writes=True) == READ_ONLY
    assert rights.sandbox_of("gsd-b", writes=True) == WORKSPACE
    assert rights.sandbox_of("gsd-b", writes=False) == READ_ONLY


def test_a_row_never_gives_more_than_the_sandboxes_that_are_known() -> None:
    code = "const CODEX_AGENT_SANDBOX = {\n  'gsd-a': 'danger-full-access',\n};\n"
    assert read_rights(reader(**{"bin/install.js": code})).sandbox_of("gsd-a", writes=True) == READ_ONLY


def test_judges_are_named_by_the_pack_or_by_nobody() -> None:
    code = "const READONLY_AGENT_DISALLOWED_TOOLS = {\n    'gsd-a': 'Edit, MultiEdit',\n};\n"
    assert read_rights(reader(**{CONVERSION: code})).judges == {"gsd-a": "Edit, MultiEdit"}
    assert read_rights(reader()).judges is None
