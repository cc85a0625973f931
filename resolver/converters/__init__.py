"""The closed set of converters: one host family a module, each a composition of small named steps.

`convert` turns the main file of an artifact into what its host gets, `agent_companions` and `agent_roots`
give the further files of hosts that want more than one, `payload_text` turns the text files of the payload.
"""

from __future__ import annotations

from .base import Kind, agent_companions, agent_roots, convert
from .catalog import CATALOG_PATH, AgentProfile, read_catalog
from .context import ConvertContext
from .payload import payload_text
from .phrases import Phrase, read_phrases
from .rights import read_rights

__all__ = [
    "CATALOG_PATH",
    "AgentProfile",
    "ConvertContext",
    "Kind",
    "Phrase",
    "agent_companions",
    "agent_roots",
    "convert",
    "payload_text",
    "read_catalog",
    "read_phrases",
    "read_rights",
]
