"""What a pack says of its own agents: how hard each should think, and what it is for.

A GSD pack carries this in `gsd-core/bin/shared/model-catalog.json`, under `agents`: a `routingTier` (heavy,
standard, light) and a `phaseType` (planning, discuss, research, execution, verification, completion). Hosts
that know an effort, a service tier or forbidden tools per agent get them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

CATALOG_PATH: Final = "gsd-core/bin/shared/model-catalog.json"
# How hard an agent thinks, by its routing tier. Source: what the reference writes for claude.
EFFORT_BY_TIER: Final = MappingProxyType({"heavy": "xhigh", "standard": "high", "light": "low"})
_VERIFICATION: Final = "verification"


class AgentProfile(Struct, frozen=True):
    """One agent: its routing tier and the type of phase that it works in; empty where the pack is silent."""

    tier: str = ""
    phase: str = ""

    @property
    def light(self) -> bool:
        """Whether the agent's work is light: a cheap model, a slow lane and short answers will do."""
        return self.tier == "light"

    @property
    def effort(self) -> str:
        """The effort that the agent should think with, or empty."""
        return EFFORT_BY_TIER.get(self.tier, "")

    @property
    def verifies(self) -> bool:
        """Whether the agent judges the work of others, and so must not mend it."""
        return self.phase == _VERIFICATION


UNKNOWN: Final = AgentProfile()


def read_catalog(data: bytes) -> Mapping[str, AgentProfile]:
    """Agent name to profile. Anything that is not a catalog of that shape gives an empty one: the file is
    advice, and a pack without it is complete."""
    import json

    try:
        catalog = json.loads(data)
    except ValueError:
        return {}
    agents = catalog.get("agents") if isinstance(catalog, dict) else None
    if not isinstance(agents, dict):
        return {}
    return {
        name: AgentProfile(_word(entry.get("routingTier")), _word(entry.get("phaseType")))
        for name, entry in agents.items()
        if isinstance(entry, dict)
    }


def _word(value: object) -> str:
    return value if isinstance(value, str) and value.isidentifier() else ""
