"""A pack of skill folders: every folder with a `SKILL.md` is a skill, named like the folder.

A `SKILL.md` below another skill's folder belongs to that skill. Where a pack has skills under `skills/` these
are all of them; else hidden folders (`.claude/skills/…`, which projects keep for their own use) count only
where nothing else does. A `SKILL.md` at the top makes the whole pack one skill, named like the pack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..capabilities.model import Feature
from .pack import Pack, PackLayout, Tree
from .pack_common import SKILL_FILE, Collector, feature_id, own_version, synthesize


def matches(tree: Tree) -> bool:
    """Whether the tree holds a skill."""
    return any(True for _ in _all_folders(tree))


def read(name: str, version: str, tree: Tree, known_features: Mapping[str, Feature]) -> Pack:
    """See `packs.read_pack`. One feature, named after the pack, owns all skills."""
    version = version or own_version(tree)
    id_ = feature_id(name, known_features)
    collector = Collector(name, tree)
    for folder in skill_folders(tree):
        collector.add_skill(folder, id_, stem="" if folder else name)
    artifacts = collector.finish()
    feature = synthesize(
        id_, name, f"The skills of the pack {name}.", version, skills=[a.stem for a in artifacts]
    )
    return Pack(name, version, PackLayout.SKILLS, tree, artifacts, (feature,))


def skill_folders(tree: Tree) -> list[str]:
    """The folders that are skills, without a final slash; empty text for the top."""
    every = list(_all_folders(tree))
    under_skills = [f for f in every if f.startswith("skills/")]
    plain = [f for f in every if not any(part.startswith(".") for part in f.split("/"))]
    return outermost(under_skills or plain or every) if "" not in every else [""]


def outermost(folders: Iterable[str]) -> list[str]:
    """The folders that lie in no other one of them, sorted."""
    kept: list[str] = []
    for folder in sorted(folders, key=lambda f: f.split("/")):
        if not kept or not folder.startswith(kept[-1] + "/"):
            kept.append(folder)
    return kept


def _all_folders(tree: Tree) -> Iterable[str]:
    for path in tree.files:
        if path == SKILL_FILE:
            yield ""
        elif path.endswith(f"/{SKILL_FILE}"):
            yield path.removesuffix(f"/{SKILL_FILE}")
