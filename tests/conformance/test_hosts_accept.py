"""Every file of every host parses by the rules of that host; see hosts.py and hosts.json.

The targets are those of the parity tests: the GSD pack, and for each the starter pack as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.capabilities.registry import load_builtin

from .hosts import RULES, faults_of, held_against
from .measured import Measured, targets
from .parity import Target
from .reference import Homes

RUNTIMES = load_builtin().runtimes


@pytest.mark.network
@pytest.mark.parametrize("target", targets(), ids=lambda t: t.name)
def test_the_host_takes_every_file(measure: Callable[[Target], Measured], target: Target) -> None:
    assert measure(target).faults == ()


def test_the_rules_are_about_hosts_that_there_are() -> None:
    for part in ("agents", "commands", "hooks"):
        assert set(RULES[part]) - {"default"} <= set(RUNTIMES)


def faults(runtime: str, tmp_path: Path, **written: str) -> list[str]:
    """What is found when a global target of a runtime holds some files, by path below the home."""
    homes = Homes.below(tmp_path)
    for path, text in written.items():
        file = homes.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [f.partition(": ")[2] for f in faults_of(Target(RUNTIMES[runtime], "global"), homes)]


@pytest.mark.parametrize(
    ("runtime", "path", "text", "found"),
    [
        ("claude", ".claude/skills/a/SKILL.md", "# No front matter\n", "there is no front matter on line 1"),
        (
            "claude",
            ".claude/skills/a/SKILL.md",
            "---\nname: a\ndescription: x: y\n---\nb\n",
            "mapping values",
        ),
        ("claude", ".claude/skills/a/SKILL.md", "---\nname: b\ndescription: x\n---\nb\n", "not that of the"),
        ("claude", ".claude/skills/a/SKILL.md", "---\nname: a\ndescription: 1\n---\nb\n", "no description"),
        (
            "claude",
            ".claude/agents/a.md",
            "---\nname: ab\n---\nA long enough body.\n",
            "description is missing",
        ),
        ("claude", ".claude/settings.json", '{"hooks": {"Stop": [{"type": "command"}]}}', "without hooks"),
        ("claude", ".claude/settings.json", '{"hooks": {"Nope": []}}', "no event Nope"),
        ("codex", ".codex/hooks.json", '{"$schema": "x", "hooks": {}}', "does not know $schema"),
        (
            "codex",
            ".codex/agents/a.toml",
            'name = "a"\ndescription = "b"\n',
            "developer_instructions is missing",
        ),
        (
            "opencode",
            ".config/opencode/agents/a.md",
            "---\ndescription: x\ntools: Read\n---\nA body here\n",
            "map",
        ),
        (
            "gemini",
            ".gemini/agents/a.md",
            "---\nname: a\ndescription: x\ncolor: red\n---\nA body here\n",
            "color",
        ),
        ("gemini", ".gemini/commands/a.toml", 'prompt = "a\n', ""),
        (
            "kimi",
            ".config/agents/agents/gsd.yaml",
            "agent:\n  system_prompt_path: ./x.md\n",
            "x.md is not there",
        ),
        ("claude", ".claude/settings.json", '{"a": "node $HOME/.claude/hooks/x.js"}', "x.js, which is not"),
    ],
)
def test_a_file_that_the_host_would_not_take_is_found(
    runtime: str, path: str, text: str, found: str, tmp_path: Path
) -> None:
    assert any(found in fault for fault in faults(runtime, tmp_path, **{path: text}))


def test_values_are_held_against_the_rules() -> None:
    rules = {"only": ["tools"], "kinds": {"tools": "list"}, "values": {"tools": ["read"]}}
    assert list(held_against(rules, {"tools": ["read"]})) == []
    assert list(held_against(rules, {"tools": ["write"]})) == ["tools does not take 'write'"]
    assert list(held_against(rules, {"tools": "read", "x": 1})) == [
        "the host does not know the key x",
        "tools is no list",
    ]
