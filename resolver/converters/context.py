"""What a conversion knows besides the text: the target, the artifact, and the pack that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from ...capabilities.gsd_layout import released
from ...capabilities.model import Runtime
from .catalog import UNKNOWN, AgentProfile
from .names import Directory, directory
from .phrases import NONE, Phrase, Phrases, fill
from .rights import Rights

_EMPTY: Mapping[str, AgentProfile] = MappingProxyType({})


class ConvertContext(Struct, frozen=True, dict=True):  # dict: for what is worked out once
    """One artifact on one target.

    `stem` names the artifact in its pack, `name` is its final name with the prefix (`gsd-help`); both are
    empty for a payload file. `stems` are all command stems of the pack, `agents` its agent names, `version`
    the pack's version, `release` the one that rules for releases of a GSD pack go by, `catalog` what it says
    of its agents (`catalog.read_catalog`), `phrases` what it says to hosts (`phrases.read_phrases`), `rights`
    what its makers let them do (`rights.read_rights`). `children` are the stems that a nested layout puts
    below this router skill, empty elsewhere.
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
    phrases: Phrases = field(default_factory=lambda: NONE)
    rights: Rights = field(default_factory=Rights)
    release: str = ""

    def said(self, phrase: Phrase, otherwise: str = "", **values: str) -> str:
        """A phrase of the pack with its holes filled, or `otherwise` where the pack has it not."""
        return fill(self.phrases[phrase], **values) if phrase in self.phrases else otherwise

    def since(self, release: str) -> bool:
        """Whether the pack is of that release of GSD or a later one, or does not say."""
        return released(self.release, f">={release}")

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
