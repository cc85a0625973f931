"""What a conversion knows besides the text: the target, the artifact, and the pack that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ...capabilities.model import Runtime
from .catalog import UNKNOWN, AgentProfile
from .names import Directory, directory

_EMPTY: Mapping[str, AgentProfile] = MappingProxyType({})


@dataclass(frozen=True)
class ConvertContext:
    """One artifact on one target.

    `stem` names the artifact in its pack, `name` is its final name with the prefix (`gsd-help`); both are
    empty for a payload file. `stems` are all command stems of the pack, `agents` its agent names, `version`
    the pack's version, `catalog` what it says of its agents (`catalog.read_catalog`). `children` are the
    stems that a nested layout puts below this router skill, empty elsewhere.
    """

    runtime: Runtime
    scope: str
    stem: str
    name: str
    stems: frozenset[str]
    agents: frozenset[str]
    version: str
    catalog: Mapping[str, AgentProfile] = field(default_factory=lambda: _EMPTY)
    children: frozenset[str] = frozenset()

    @cached_property
    def directory(self) -> Directory:
        """How text names the config directory of the target."""
        return directory(self.runtime, self.scope)

    @property
    def instruction_file(self) -> str:
        """The project's instruction file, where the descriptor names it."""
        return str(self.runtime.host_behaviors.get("projectInstructionFile") or "")

    @cached_property
    def branding(self) -> tuple[tuple[str, str], ...]:
        """Literal rewrites of the descriptor, in its order."""
        rewrites = self.runtime.host_behaviors.get("brandingRewrites") or {}
        return tuple((str(old), str(new)) for old, new in rewrites.items())

    @property
    def profile(self) -> AgentProfile:
        """What the pack says of this agent; a variant (`gsd-planner.compact`) is as its agent."""
        return self.catalog.get(self.name.partition(".")[0], UNKNOWN)

    def called(self, given: Mapping[str, Any]) -> str:
        """The name of this agent on its host: `name`, but a variant goes by the name in its front matter."""
        said = given.get("name")
        return said if isinstance(said, str) and self.name.startswith(f"{said}.") else self.name
