"""What the makers of a GSD pack let each of its agents do, on hosts that ask for it.

An agent lists its tools, but the makers of the pack hold some agents to less: which sandbox an agent gets
on Codex, and which editing tools are kept from one that only judges, stands in tables of the pack's program
code. They are read as data. A host must never give an agent more than its makers do, so a table goes before
what follows from the agent's own tools. The tables, by release: `CODEX_AGENT_SANDBOX` (to 1.11: who is not in
it is held to reading), `CODEX_SANDBOX_HOLDS` (later: who is in it is held to reading, the others follow from
their tools), `READONLY_AGENT_DISALLOWED_TOOLS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

READ_ONLY: Final = "read-only"
WORKSPACE: Final = "workspace-write"
_INSTALLER: Final = "bin/install.js"
_LIBRARY: Final = "gsd-core/bin/lib/"
_ROW: Final = re.compile(r"^\s*'([\w-]+)':\s*'([^'\\\n]*)'", re.MULTILINE)
_EMPTY: Final[Mapping[str, str]] = MappingProxyType({})


class Rights(Struct, frozen=True):
    """Agent name to sandbox and to the tools that are kept from it (names with commas).

    `sandbox_otherwise` is the sandbox of an agent that is in no table: empty where that follows from its own
    tools. `judges` is None in a pack that has no table of its judges.
    """

    sandbox: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    sandbox_otherwise: str = ""
    judges: Mapping[str, str] | None = None

    def sandbox_of(self, agent: str, *, writes: bool) -> str:
        """The sandbox of an agent; `writes`: whether it lists a tool that writes files."""
        by_tools = WORKSPACE if writes else READ_ONLY
        return self.sandbox.get(agent) or self.sandbox_otherwise or by_tools


def read_rights(read: Callable[[str], str | None]) -> Rights:
    """The tables of a pack. `read` gives the text of a file of the pack by its path, None where there is
    none of it."""

    def table(name: str, *paths: str) -> Mapping[str, str] | None:
        for path in paths:
            match = re.search(
                rf"\b{name} = (?:Object\.freeze\()?\{{\n(.*?)\n\}}", read(path) or "", re.DOTALL
            )
            if match is not None:
                return dict(_ROW.findall(match[1]))
        return None

    given = table("CODEX_AGENT_SANDBOX", _INSTALLER)
    held = table("CODEX_SANDBOX_HOLDS", f"{_LIBRARY}codex-agent-toml.cjs")
    sandbox = {agent: mode for agent, mode in (given or {}).items() if mode in (READ_ONLY, WORKSPACE)}
    sandbox |= dict.fromkeys(held or (), READ_ONLY)
    judges = table(
        "READONLY_AGENT_DISALLOWED_TOOLS", f"{_LIBRARY}runtime-artifact-conversion.cjs", _INSTALLER
    )
    return Rights(sandbox, READ_ONLY if given is not None else "", judges)
