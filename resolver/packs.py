"""Reads a tree as a pack: which layout it has, its artifacts, and the features that own them.

The layouts are tried in a fixed order, the most telling first: a GSD pack also carries a plugin manifest, and
a plugin also holds skill folders.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..capabilities.errors import GsdlockError, input_error, shown
from ..capabilities.model import Feature
from .pack import Pack, Tree


def read_pack(name: str, version: str, tree: Tree, known_features: Mapping[str, Feature]) -> Pack:
    """The pack `name` in `tree`.

    `version` is the version that its source is known by; empty: the pack's own files are asked.
    `known_features` are the first-party features by id: they own the artifacts of a GSD pack that brings no
    descriptors, and no synthesized feature takes one of their ids.

    Raises `GsdlockError` (status 3): E-PACK-LAYOUT (nothing recognised), E-PACK-STEM,
    E-PACK-ARTIFACT-MISSING, E-PACK-ROLE, E-PACK-PLUGIN, E-DESCRIPTOR-…; each with all that is wrong in its
    details.
    """
    from . import pack_capability, pack_gsd, pack_plugin, pack_skills

    if pack_gsd.matches(tree):
        return pack_gsd.read(name, version, tree, known_features)
    if pack_capability.matches_one(tree):
        return pack_capability.read(name, version, tree)
    if pack_plugin.matches(tree):
        return _of_marketplace(pack_plugin.read(name, version, tree, known_features))
    if pack_capability.folders(tree):
        return pack_capability.read(name, version, tree)
    if pack_skills.matches(tree):
        return _of_marketplace(pack_skills.read(name, version, tree, known_features))
    raise _unknown_layout(name, tree)


_MARKETPLACE = ".claude-plugin/marketplace.json"


def _of_marketplace(pack: Pack) -> Pack:
    """With a notice where the tree lists plugins that lie elsewhere in it, or not in it at all."""
    from msgspec.structs import replace

    from .pack_common import read_json

    if _MARKETPLACE not in pack.tree.files:
        return pack
    data = read_json(pack.tree, _MARKETPLACE)
    listed = data.get("plugins") if isinstance(data, dict) else None
    plugins = listed if isinstance(listed, list) else []
    sources = [p.get("source") if isinstance(p, dict) else None for p in plugins]
    if plugins and all(s in ("./", ".") for s in sources):
        return pack
    notice = (
        f"{_MARKETPLACE}: a marketplace is not taken as a whole, only what lies at the top as one pack; "
        "another plugin of it is a pack of its own, with its folder as `subdirectory`"
    )
    return replace(pack, notices=(*pack.notices, notice))


_LOOKED_FOR = (
    "a GSD pack: commands/gsd/*.md beside gsd-core/ or get-shit-done/",
    "a capability: capability.json at the top, or in each of several folders",
    "a plugin: .claude-plugin/plugin.json",
    "skills: folders with a SKILL.md",
)


def _unknown_layout(name: str, tree: Tree) -> GsdlockError:
    tops = sorted({path.partition("/")[0] + ("/" if "/" in path else "") for path in tree.files})
    found = ", ".join(shown(t, 40) for t in tops[:12]) + (", …" if len(tops) > 12 else "")
    fix = "Name the folder of the pack as `subdirectory`, or use another source."
    if _MARKETPLACE in tree.files:
        fix = "It is a marketplace of plugins: name the folder of one plugin as `subdirectory`."
    return input_error(
        "E-PACK-LAYOUT",
        f"pack {shown(name)} has no layout that gsdlock knows",
        fix,
        details=[*(f"looked for {line}" for line in _LOOKED_FOR), f"found at the top: {found}"],
    )
