"""Payload files: Markdown in the host's words, code only where that is safe, hooks with the host's folder."""

from __future__ import annotations

from typing import Any

import pytest
from gsdlock.resolver.converters import payload_text
from msgspec.structs import replace

QUERY = 'gsd_run query config-get runtime --default claude --raw 2>/dev/null || echo "claude"'


@pytest.mark.parametrize(
    ("runtime", "scope", "wanted"),
    [
        ("claude", "global", "@{{gsdlock:tilde:config}}/a.md runs /gsd-help for Claude"),
        ("claude", "local", "@.claude/a.md runs /gsd-help for Claude"),
        ("codex", "global", "@{{gsdlock:home:config}}/a.md runs $gsd-help for the agent"),
        ("opencode", "global", "@{{gsdlock:path:config}}/a.md runs /gsd-help for the agent"),
        ("copilot", "local", "@.github/a.md runs /gsd-help for the agent"),
        ("pi", "global", "@{{gsdlock:home:config}}/a.md runs /gsd:help for Claude"),
        ("cline", "local", "@a.md runs /gsd:help for Claude"),
    ],
)
def test_markdown_is_in_the_words_of_the_host(context: Any, runtime: str, scope: str, wanted: str) -> None:
    source = "@~/.claude/a.md runs /gsd:help for Claude"
    assert payload_text(context(runtime, scope), "gsd-core/references/x.md", source) == wanted


def test_section_markers_go_from_workflows_only(context: Any) -> None:
    text = '<!-- gsd:section id="a" when="flag:--auto" -->\nx\n<!-- /gsd:section -->\n'
    assert payload_text(context(), "gsd-core/workflows/a/b.md", text) == "x\n"
    assert payload_text(context(), "gsd-core/references/a.md", text) == text


@pytest.mark.parametrize(
    ("runtime", "wanted"), [("claude", "claude"), ("codex", "codex"), ("zcode", "zcode")]
)
def test_a_workflow_falls_back_to_its_host(context: Any, runtime: str, wanted: str) -> None:
    assert f"--default {wanted} --raw" in payload_text(context(runtime), "gsd-core/workflows/x.md", QUERY)


@pytest.mark.parametrize(
    ("runtime", "wanted"),
    [
        ("claude", "run('/gsd:help', 'CLAUDE.md', '.claude/x', 'Claude Code')"),
        ("codex", "run('/gsd:help', 'CLAUDE.md', '.claude/x', 'Claude Code')"),
        # The rules of these are a folder: code would open it as a file.
        ("cursor", "run('/gsd-help', 'CLAUDE.md', '.claude/x', 'Cursor')"),
        ("windsurf", "run('/gsd-help', 'CLAUDE.md', '.claude/x', 'Windsurf')"),
        ("trae", "run('/gsd-help', '.trae/rules/rules.md', '.claude/x', 'Trae')"),
        ("copilot", "run('/gsd-help', 'copilot-instructions.md', '.github/x', 'Claude Code')"),
        ("qwen", "run('/gsd:help', 'QWEN.md', '.qwen/x', 'Qwen Code')"),
    ],
)
def test_code_names_what_a_user_types_and_opens(context: Any, runtime: str, wanted: str) -> None:
    source = "run('/gsd:help', 'CLAUDE.md', '.claude/x', 'Claude Code')"
    assert payload_text(context(runtime), "gsd-core/bin/lib/x.cjs", source) == wanted


def test_a_comment_in_code_may_name_the_folder_of_rules(context: Any) -> None:
    source = "// See CLAUDE.md.\n/* CLAUDE.md */\n * CLAUDE.md\nopen('CLAUDE.md') // CLAUDE.md\n"
    told = payload_text(context("cursor"), "gsd-core/bin/lib/x.cjs", source)
    rules = ".cursor/rules/"
    assert told == f"// See {rules}.\n/* {rules} */\n * {rules}\nopen('CLAUDE.md') // CLAUDE.md\n"


def test_a_hook_script_as_shipped_has_only_its_commands_spelled(context: Any) -> None:
    source = "// {{GSD_VERSION}}\nlook('.claude/x') || say('GSD: /gsd:help')"
    told = payload_text(context("cursor"), "hooks/x.js", source, shipped=True)
    assert told == "// {{GSD_VERSION}}\nlook('.claude/x') || say('gsd- /gsd-help')"


@pytest.mark.parametrize(
    "path", ["gsd-core/bin/x.json", "gsd-core/bin/x.sh", "scripts/lib/x.cjs", "scripts/x.md"]
)
def test_other_files_stay_as_they_are(context: Any, path: str) -> None:
    source = "/gsd:help ~/.claude/x CLAUDE.md {{GSD_VERSION}}"
    assert payload_text(context("copilot"), path, source) == source


@pytest.mark.parametrize(
    ("runtime", "scope", "wanted"),
    [
        ("claude", "global", "join(home, '.claude') + '/.claude/x' /gsd-help"),
        ("opencode", "global", "join(home, '.config', 'opencode') + '/.opencode/x' /gsd:help"),
        ("opencode", "local", "join(home, '.opencode') + '/.opencode/x' /gsd:help"),
        ("antigravity", "global", "join(home, '.gemini', 'antigravity') + '/.agents/x' /gsd:help"),
        ("kimi", "global", "join(home, '.config', 'agents') + '/.kimi-code/x' /gsd:help"),
        ("qwen", "global", "join(home, '.qwen') + '/.qwen/x' /gsd-help"),
    ],
)
def test_a_hook_script_knows_the_folder_of_its_host(
    context: Any, runtime: str, scope: str, wanted: str
) -> None:
    source = "// {{GSD_VERSION}}\njoin(home, '.claude') + '/.claude/x' /gsd:help"
    for path in ("hooks/x.js", "hooks/dist/x.js"):
        assert payload_text(context(runtime, scope), path, source) == f"// 1.11.0\n{wanted}"


def test_a_shell_hook_and_a_library_get_the_version_only(context: Any) -> None:
    source = "# {{GSD_VERSION}} '.claude' gsd:help"
    for path in ("hooks/x.sh", "hooks/lib/x.js"):
        assert payload_text(context("qwen"), path, source) == "# 1.11.0 '.claude' gsd:help"


@pytest.mark.parametrize(
    ("runtime", "release", "left"),
    [
        ("codex", "1.14.0", False),
        ("codex", "", False),  # a pack that does not say is taken as the newest
        ("codex", "1.11.0", True),  # its own installer left them to all hosts
        ("copilot", "1.14.0", True),
    ],
)
def test_a_note_to_another_host_goes(context: Any, runtime: str, release: str, left: bool) -> None:
    source = "<runtime_note>\n**Copilot (VS Code):** Ask so.\n</runtime_note>\n"
    told = payload_text(replace(context(runtime), release=release), "gsd-core/workflows/x.md", source)
    assert ("Ask so" in told) is left
