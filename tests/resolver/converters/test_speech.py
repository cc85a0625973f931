"""A dialect changes words, not facts: tables of one line in, one line out."""

from __future__ import annotations

from typing import Any

import pytest
from gsdlock.capabilities.vocabulary import TextDialect
from gsdlock.resolver.converters import dialects
from gsdlock.resolver.converters.speech import speak


def test_every_dialect_of_the_axis_has_its_row() -> None:
    assert set(dialects.DIALECTS) == set(TextDialect)


@pytest.mark.parametrize(
    ("dialect", "runtime", "source", "wanted"),
    [
        (
            "codex",
            "codex",
            ".claude/x .claudeignore `.claude` /a/.claude/b",
            ".codex/x .codexignore `.claude` /a/.claude/b",
        ),
        (
            "codex",
            "codex",
            "X=$(gsd-tools a) && gsd-tools b; use gsd-tools",
            'X=$(node "T" a) && node "T" b; use gsd-tools',
        ),
        ("codex", "codex", "`gsd-tools x` and `npx gsd-tools y`", '`node "T" x` and `npx gsd-tools y`'),
        ("opencode", "opencode", "AskUserQuestion, TodoWrite, SlashCommand(", "question, todowrite, skill("),
        ("kilo", "kilo", ".claude/skills/ or .agents/skills/", ".kilo/skills/ or .agents/skills/"),
        (
            "cursor",
            "cursor",
            "Bash(x) in `./CLAUDE.md` of Claude Code",
            "Shell(x) in `.cursor/rules/` of Cursor",
        ),
        ("cursor", "cursor", "~/.claude/CLAUDE.md", "{{gsdlock:home:config}}/rules/"),
        ("trae", "trae", ".claude/CLAUDE.md", ".trae/rules/rules.md"),
        ("augment", "augment", "Read(a) Write(b) TodoWrite(c)", "view(a) save-file(b) add_tasks(c)"),
        ("windsurf", "windsurf", "${CLAUDE_CONFIG_DIR} .claude/x", "${WINDSURF_CONFIG_DIR} .windsurf/x"),
        ("gemini", "gemini", "/gsd-help <sub>first</sub>", "/gsd:help *(first)*"),
        ("kimi", "kimi", "/gsd:help of CLAUDE.md", "/skill:gsd-help of CLAUDE.md"),
        ("claude", "hermes", "Claude Code .claude/x", "Hermes Agent .hermes/x"),
    ],
)
def test_a_line_in_the_words_of_a_host(
    context: Any, dialect: str, runtime: str, source: str, wanted: str
) -> None:
    row = dialects.DIALECTS[TextDialect(dialect)]
    tool = "{{gsdlock:home:config}}/gsd-core/bin/gsd-tools.cjs"
    assert speak(source, row, context(runtime)) == wanted.replace("T", tool) if row.tool else wanted


def test_the_directory_itself_may_keep_its_tilde(context: Any) -> None:
    text = "~/.claude and ~/.claude/x"
    spoken = speak(text, dialects.CODEX, context("codex"), tilde=True)
    assert spoken == "{{gsdlock:tilde:config}} and {{gsdlock:home:config}}/x"
