"""`dev-overrides`: a folder in place of a pack, while somebody works on it. Pure.

The user's file says them, for every manifest that has a pack of that name. What comes of it never enters a
lock: it is not what others would get.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ..lockfiles.model import PackKind
from .manifest import Manifest, PackEntry


def active(manifest: Manifest, overrides: Mapping[str, str]) -> dict[str, str]:
    """The overrides that this manifest has packs for: full path by the name of the pack."""
    return {pack.name: overrides[pack.name] for pack in manifest.packs if pack.name in overrides}


def overridden(manifest: Manifest, overrides: Mapping[str, str]) -> Manifest:
    """The manifest with the folders in place of its packs, everything else as it is."""
    folders = active(manifest, overrides)
    packs = tuple(
        PackEntry(pack.name, PackKind.PATH, folders[pack.name]) if pack.name in folders else pack
        for pack in manifest.packs
    )
    return replace(manifest, packs=packs)
