"""A context for every host, as the resolver makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from gsdlock.capabilities.registry import load_builtin
from gsdlock.resolver.converters import AgentProfile, ConvertContext

STEMS = frozenset({"help", "phase", "plan-phase", "update", "ns-review", "code-review"})
CATALOG: Mapping[str, AgentProfile] = {
    "gsd-planner": AgentProfile("heavy", "planning"),
    "gsd-checker": AgentProfile("light", "verification"),
}
RUNTIMES = load_builtin().runtimes

MakeContext = Callable[..., ConvertContext]

# One small command and one small agent, with each thing in them that a host may want otherwise.
COMMAND = """\
---
name: gsd:help
description: Ask Claude Code for /gsd:phase
argument-hint: "[topic]"
allowed-tools:
  - Read
  - AskUserQuestion
---
<objective>
Run /gsd:phase on $ARGUMENTS as ./CLAUDE.md of Claude says.
Then Agent(subagent_type="general-purpose").
</objective>

@~/.claude/gsd-core/workflows/help.md
"""
AGENT = """\
---
name: gsd-checker
description: Checks plans for /gsd:phase
tools: Read, Bash, Write, mcp__context7__*
color: cyan
# hooks: none
---

<role>
<!-- gsd:section id="a" when="flag:--auto" -->
Call Bash(x) as CLAUDE.md of Claude says; ask with AskUserQuestion.
See @~/.claude/gsd-core/a.md and .claude/b.
<!-- /gsd:section -->
</role>
"""


def make_context(
    runtime: str = "claude", scope: str = "global", stem: str = "help", **more: Any
) -> ConvertContext:
    """A context for an artifact of `runtime` at `scope`; its name is `gsd-<stem>` unless it is given."""
    values: dict[str, Any] = {
        "name": f"gsd-{stem}",
        "stems": STEMS,
        "agents": frozenset(CATALOG),
        "version": "1.11.0",
        "release": "1.11.0",
        "catalog": CATALOG,
        **more,
    }
    return ConvertContext(runtime=RUNTIMES[runtime], scope=scope, stem=stem, **values)


@pytest.fixture(scope="session")
def context() -> MakeContext:
    return make_context
