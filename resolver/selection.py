"""What a target takes of one pack: the input of layout and surfaces."""

from __future__ import annotations

from msgspec import Struct

from ..capabilities.model import Feature
from .pack import Artifact


class Selection(Struct, frozen=True):
    """The active features of a pack, its selected artifacts, and the options of the target.

    `hooks` false leaves out everything that a host would run by itself. `portable_hooks` names interpreters
    and the home instead of their paths on this machine. `profile` is what the pack is told that it was
    installed as.
    """

    features: tuple[Feature, ...]
    artifacts: tuple[Artifact, ...]
    hooks: bool = True
    portable_hooks: bool = False
    profile: str = "full"
