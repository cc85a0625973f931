"""Descriptor axis -> edits: hooks, settings, permissions, servers, instruction files. One family a module."""

from __future__ import annotations

from ...capabilities.model import Runtime
from ..drafts import SurfaceDrafts
from ..layout import artifact_omissions
from ..pack import Pack, PackLayout
from ..selection import Selection
from .feature_hooks import feature_hook_drafts
from .instructions import instruction_drafts
from .pack_hooks import pack_hook_drafts
from .servers import server_drafts
from .settings import settings_drafts


def surface_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> SurfaceDrafts:
    """What a pack puts into files that a user or a host shares, the scripts that these entries run, and what
    the host has no place for.

    Raises `GsdlockError` (status 3) E-PLAN-SCRIPT-NAME, E-PACK-SCRIPT.
    """
    drafts = SurfaceDrafts(omissions=artifact_omissions(runtime, scope, pack, selection))
    if pack.layout is PackLayout.GSD:
        drafts += pack_hook_drafts(runtime, scope, pack, selection)
        drafts += settings_drafts(runtime, scope, pack)
        drafts += instruction_drafts(runtime, scope, pack, selection)
    drafts += feature_hook_drafts(runtime, scope, pack, selection)
    return drafts + server_drafts(runtime, scope, pack, selection)
