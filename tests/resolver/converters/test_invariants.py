"""What holds for every host and every text."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from gsdlock.resolver.converters import (
    agent_companions,
    agent_roots,
    convert,
    dialects,
    frontmatter,
    payload_text,
)
from gsdlock.resolver.converters.speech import speak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

spec = importlib.util.spec_from_file_location("converter_fixtures", Path(__file__).parent / "conftest.py")
assert spec is not None and spec.loader is not None
host: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(host)

# Words that some step looks for, and what may stand around them.
WORDS = st.sampled_from(
    [
        *("/gsd:help", "gsd:phase", "/gsd-help", "GSD:", "gsd-tools query x", "`gsd-tools y`", "$ARGUMENTS"),
        *(
            "~/.claude/x",
            "$HOME/.claude/y",
            "./.claude/z",
            ".claude/w",
            "~/.claude",
            "`.claude`",
            ".claudeignore",
        ),
        *(
            "CLAUDE.md",
            "./CLAUDE.md",
            "~/.claude/CLAUDE.md",
            "Claude",
            "Claude Code",
            "Claude's",
            "CLAUDE_CONFIG_DIR",
        ),
        *("AskUserQuestion", "Bash(x)", "Edit(", "Read(y)", "TodoWrite", "SlashCommand", "/clear then: "),
        *('Agent(subagent_type="gsd-x", ', 'subagent_type="general-purpose"', 'model="{m}",', "<sub>a</sub>"),
        *(
            "<runtime_compatibility>",
            "</runtime_compatibility>",
            "---",
            ": ",
            "#",
            "\n",
            " ",
            "\t",
            "- ",
            '"',
            "'",
            "[",
            "é",
        ),
    ]
)
TEXT = st.lists(
    WORDS | st.text(max_size=4).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t)), max_size=12
).map("".join)
LINE = TEXT.map(lambda t: " ".join(t.split()))
TOOLS = LINE.filter(lambda t: ".claude" not in t)
PAIR = st.tuples(st.sampled_from(["name", "description", "color", "model", "x"]), LINE) | st.tuples(
    st.sampled_from(["tools", "allowed-tools"]), TOOLS
)
FILE = st.builds(
    lambda front, body: "---\n" + "".join(f"{k}: {v}\n" for k, v in front) + f"---\n{body}",
    st.lists(PAIR, max_size=6),
    TEXT,
)
ENTRIES = [
    (runtime.id, scope, entry)
    for runtime in host.RUNTIMES.values()
    for scope, layout in runtime.artifact_layout.items()
    for entry in layout
]
KINDS: dict[str, Any] = {"skills": "skill", "commands": "command", "agents": "agent"}
SLOW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def parsed(name: str, text: str) -> Any:
    """The data of a file that a host parses: TOML, YAML, or front matter."""
    if name.endswith(".toml"):
        return tomllib.loads(text)
    if name.endswith(".yaml"):
        return yaml.safe_load(text)
    front = frontmatter.split(text).front
    return yaml.load(front, Loader=yaml.BaseLoader) if front else {}


@pytest.mark.parametrize(("runtime", "scope", "entry"), ENTRIES, ids=lambda v: getattr(v, "kind", v))
@SLOW
@given(text=FILE | TEXT)
def test_what_a_host_gets_is_well_formed_and_free_of_the_sources_paths(
    runtime: str, scope: str, entry: Any, text: str
) -> None:
    agent = entry.kind.value.endswith("agents")
    context = host.make_context(runtime, scope, "planner" if agent else "help")
    files = {}
    if entry.kind.value in KINDS:
        ending = "toml" if str(entry.converter).endswith("Toml") else "md"
        files[f"main.{ending}"] = convert(entry.converter, KINDS[entry.kind.value], text, context)
    if agent:
        files.update(agent_companions(context, text))
        files.update(agent_roots(context, [("gsd-planner", text)]))
    assert files
    for name, made in files.items():
        assert isinstance(parsed(name, made), dict), name
        if not context.runtime.host_behaviors.get("ownsClaudePaths"):
            assert "~/.claude/" not in made and "$HOME/.claude/" not in made
        if scope == "local":
            assert "{{gsdlock:" not in made


@pytest.mark.parametrize(
    "converter", sorted({(str(e.converter), r) for r, s, e in ENTRIES if e.kind.value == "skills"})
)
@SLOW
@given(text=FILE | TEXT)
def test_every_skill_has_the_name_of_its_folder_and_a_description(
    converter: tuple[str, str], text: str
) -> None:
    made = convert(converter[0], "skill", text, host.make_context(converter[1]))
    front = yaml.load(frontmatter.split(made).front or "", Loader=yaml.BaseLoader)
    assert front["name"] == "gsd-help"
    assert front["description"].strip()


@pytest.mark.parametrize("dialect", dialects.DIALECTS, ids=str)
@SLOW
@given(text=st.lists(WORDS).map(" ".join))
def test_speaking_twice_says_nothing_new(dialect: Any, text: str) -> None:
    row = dialects.DIALECTS[dialect]
    context = host.make_context("codex")
    once = speak(text, row, context)
    assert speak(once, row, context) == once


@pytest.mark.parametrize("runtime", host.RUNTIMES)
@SLOW
@given(text=TEXT)
def test_payload_holds_no_home_of_the_source(runtime: str, text: str) -> None:
    context = host.make_context(runtime)
    if not context.runtime.host_behaviors.get("ownsClaudePaths"):
        made = payload_text(context, "gsd-core/workflows/x.md", text)
        assert "~/.claude/" not in made and "$HOME/.claude/" not in made
