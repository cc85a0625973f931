"""Each step changes what it is for, and leaves what only looks like it."""

from __future__ import annotations

import pytest
from gsdlock.resolver.converters import steps

STEMS = frozenset({"help", "phase", "plan-phase"})


NOTE = "<runtime_note>\n**Copilot (VS Code):** Ask so.\nAnd so.\n\n**Text:** Ask in text.\n</runtime_note>\n"


def test_a_note_loses_what_is_for_other_hosts() -> None:
    others = frozenset({"Copilot (VS Code)"})
    assert steps.without_notes(NOTE, others) == "<runtime_note>\n**Text:** Ask in text.\n</runtime_note>\n"
    assert steps.without_notes(NOTE, frozenset()) == NOTE
    alone = "a\n<runtime_note>\n**Copilot (VS Code):** Ask so.\n</runtime_note>\nb"
    assert steps.without_notes(alone, others) == "a\n\nb"


def test_section_markers_go_and_their_content_stays() -> None:
    text = 'a\n<!-- gsd:section id="x" when="flag:--auto" -->\nb\n  <!-- /gsd:section -->\nc\n'
    assert steps.drop_sections(text) == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("source", "hyphen"),
    [
        ("Run /gsd:plan-phase.", "Run /gsd-plan-phase."),
        ("gsd:help", "gsd-help"),
        ("`/gsd:phase --insert`", "`/gsd-phase --insert`"),
        ("gsd:planet", "gsd:planet"),
        ("gsd:plan-phase-2", "gsd:plan-phase-2"),
        ("xgsd:help", "xgsd:help"),
        ("/gsd:*", "/gsd:*"),
    ],
)
def test_known_commands_are_spelled_with_a_hyphen(source: str, hyphen: str) -> None:
    assert steps.known_hyphen(source, STEMS) == hyphen


@pytest.mark.parametrize(
    ("source", "skill"),
    [
        ("/gsd:help", "/skill:gsd-help"),
        ("/gsd-help", "/skill:gsd-help"),
        ("say gsd:help", "say /skill:gsd-help"),
        ("skills/gsd-help/SKILL.md", "skills/gsd-help/SKILL.md"),
        ("/gsd:unknown", "/gsd:unknown"),
    ],
)
def test_known_commands_are_spelled_as_skills(source: str, skill: str) -> None:
    assert steps.known_skill(source, STEMS) == skill


@pytest.mark.parametrize(
    ("source", "typed"),
    [
        ("/gsd:help and (/gsd-phase)", "$gsd-help and ($gsd-phase)"),
        ("/gsd:X", "$gsd-x"),
        ("/usr/gsd-help", "/usr/gsd-help"),
        ("./gsd-help", "./gsd-help"),
        ('"$(dir "$X")/gsd-patches"', '"$(dir "$X")/gsd-patches"'),
        ("/gsd-core/bin", "/gsd-core/bin"),
    ],
)
def test_commands_are_spelled_with_a_dollar_but_no_path_is(source: str, typed: str) -> None:
    assert steps.dollar(source) == typed


def test_other_spellings() -> None:
    assert steps.known_colon("/gsd-help x/gsd-help", STEMS) == "/gsd:help x/gsd-help"
    assert steps.typed_hyphen("/gsd:any /gsd:*") == "/gsd-any /gsd:*"
    assert steps.slash_hyphen("/gsd:any /gsd:* gsd:x") == "/gsd-any /gsd-* gsd:x"
    assert steps.every_hyphen("gsd:any GSD: said") == "gsd-any GSD: said"
    assert steps.every_hyphen_but_markers("gsd:any GSD: said") == "gsd-any gsd- said"
    marks = "<!-- GSD:project-start --> <!-- gsd:section -->"
    assert steps.every_hyphen_but_markers(marks) == "<!-- GSD:project-start --> <!-- gsd-section -->"


def test_words_and_calls_are_whole() -> None:
    table = {"Bash": "Shell", "Edit": "StrReplace"}
    assert (
        steps.calls("Bash(x) Bash MultiEdit(y) Edit(z)", table) == "Shell(x) Bash MultiEdit(y) StrReplace(z)"
    )
    assert steps.words("Bash Bashful reBash", table) == "Shell Bashful reBash"


def test_arguments_are_named() -> None:
    assert steps.arguments('"$ARGUMENTS" $ARGUMENTSX', "{{ARGS}}") == '"{{ARGS}}" $ARGUMENTSX'


def test_a_brand_is_not_swapped_where_hosts_are_told_apart() -> None:
    text = "Claude Code\n<runtime_compatibility>\nClaude Code: yes\n</runtime_compatibility>\nClaude Code's"
    assert steps.brand(text, "X") == text.replace("Claude Code\n<", "X\n<").replace("Claude Code's", "X's")


def test_rewrites_of_a_descriptor_spare_longer_words() -> None:
    rewrites = (("Claude Code", "Qwen Code"), (".claude/", ".qwen/"))
    assert steps.branded("Claude Code a.claude/b nClaude Code", rewrites) == "Qwen Code a.qwen/b nClaude Code"


@pytest.mark.parametrize(
    ("source", "neutral"),
    [
        ("Claude decides", "the agent decides"),
        ("Claude's choice", "the agent's choice"),
        ("Claude Code, Claude Opus", "Claude Code, Claude Opus"),
        ("Claude-based MyClaude", "Claude-based MyClaude"),
        ("see ./CLAUDE.md", "see ./AGENTS.md"),
        ("4. Do NOT load full `AGENTS.md` files (100KB)\n5. x", "4. \n5. x"),
    ],
)
def test_the_reader_is_the_agent(source: str, neutral: str) -> None:
    assert steps.neutral(source, "AGENTS.md") == neutral


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("`/clear` then: `/x`", "`/x`"),
        ("/clear then:\n\n/x", "/x"),
        ("Run `/clear`, then paste", "Run paste"),
        ("emit `/clear then:` here", "emit `` here"),
        ("  /clear\nx", "\nx"),
        ("/clear first", "/clear first"),
    ],
)
def test_a_host_that_cannot_clear_is_not_told_to(source: str, left: str) -> None:
    assert steps.without_clear(source) == left


def test_a_known_fault_of_another_host_is_no_matter() -> None:
    text = "1. x\n\n**Known bug (classifyHandoffIfNeeded):** treat as done.\n\n2. y\n"
    assert steps.without_known_fault(text) == "1. x\n\n\n2. y\n"


def test_workflows_fall_back_to_the_host_that_they_are_on() -> None:
    text = (
        'R=$(config-get runtime --default claude --raw 2>/dev/null || echo "claude")\n'
        'W=$(config-get workflow.use_worktrees --raw 2>/dev/null || echo "true")\n'
    )
    stamped = steps.stamp_runtime(text, "kilo", worktrees=False)
    assert '--default kilo --raw 2>/dev/null || echo "kilo"' in stamped
    assert 'use_worktrees --default false --raw 2>/dev/null || echo "false"' in stamped
    assert steps.stamp_runtime(text, "codex", worktrees=True).endswith(text.splitlines(keepends=True)[1])


def test_asides_without_tags() -> None:
    assert steps.emphasised("<sub>`/clear` first</sub>") == "*(`/clear` first)*"
