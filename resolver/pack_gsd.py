"""A GSD pack: `commands/gsd/*.md`, `agents/*.md`, hooks and payload trees.

Skills are made of the commands, so the `skills/` folder that newer packs carry for use as a plugin is not
read. `agents/<stem>.compact.md` is a shorter variant of the agent `<stem>`: the pack's own tools read it by
path in place of the other; it has the same `name:`, so it must never stand as a second agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..capabilities.errors import GsdlockError, shown
from ..capabilities.model import Feature
from .marks import check_decoded
from .pack import ArtifactKind, Pack, PackLayout, Tree
from .pack_common import SKILL_FILE, Collector, combined, documents, own_version

_COMMANDS = "commands/gsd/"
_AGENTS = "agents/"
_PAYLOADS = ("gsd-core/", "get-shit-done/")
_DESCRIPTORS = "capabilities/"
_COMPACT = ".compact"


def matches(tree: Tree) -> bool:
    """Whether the tree is a GSD pack."""
    return any(True for _ in documents(tree, _COMMANDS)) and any(
        path.startswith(_PAYLOADS) for path in tree.files
    )


def read(name: str, version: str, tree: Tree, known_features: Mapping[str, Feature]) -> Pack:
    """See `packs.read_pack`. Only descriptors of features are read: the hosts are gsdlock's own."""
    commands = dict(documents(tree, _COMMANDS))
    agents = dict(documents(tree, _AGENTS))
    variants = {
        s: p for s, p in agents.items() if s.endswith(_COMPACT) and s.removesuffix(_COMPACT) in agents
    }
    carried = _carried(name, tree)
    features = carried or _known_to(known_features, commands, agents)
    owners = _Owners(features)

    collector = Collector(name, tree)
    for stem, path in commands.items():
        collector.add(ArtifactKind.COMMAND, stem, path, feature=owners.skills.get(stem, ""))
    for stem, path in agents.items():
        if stem not in variants:
            variant = variants.get(stem + _COMPACT)
            more = (variant,) if variant else ()
            collector.add(ArtifactKind.AGENT, stem, path, more, owners.agents.get(stem, ""))
    for feature in carried:
        _add_carried(collector, tree, feature, commands, agents)
    return Pack(
        name=name,
        version=version or own_version(tree),
        layout=PackLayout.GSD,
        tree=tree,
        artifacts=collector.finish(),
        features=features,
    )


@dataclass(slots=True)
class _Owners:
    """Which feature owns a stem; the first one by id where two claim it."""

    features: tuple[Feature, ...]
    skills: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for feature in self.features:
            for stem in feature.skills:
                self.skills.setdefault(stem, feature.id)
            for stem in feature.agents:
                self.agents.setdefault(stem, feature.id)


def _known_to(
    known: Mapping[str, Feature], commands: Mapping[str, str], agents: Mapping[str, str]
) -> tuple[Feature, ...]:
    """The first-party features that a pack without descriptors has: an older pack lacks the newer ones."""
    return tuple(
        feature
        for _, feature in sorted(known.items())
        if not (feature.skills or feature.agents)
        or any(s in commands for s in feature.skills)
        or any(s in agents for s in feature.agents)
    )


def _carried(pack: str, tree: Tree) -> tuple[Feature, ...]:
    from ..capabilities.validation import load_capability, read_descriptor

    features: list[Feature] = []
    errors: list[GsdlockError] = []
    for path in sorted(tree.files):
        parts = path.split("/")
        if len(parts) != 3 or parts[0] + "/" != _DESCRIPTORS or parts[2] != "capability.json":
            continue
        try:
            data = read_descriptor(tree.read(path), path)
            if isinstance(data, dict) and data.get("role") == "feature":
                check_decoded(f"pack {shown(pack)}", path, data)
                capability = load_capability(data, parts[1], path)
                assert isinstance(capability, Feature)  # the role says so
                features.append(capability)
        except GsdlockError as error:
            errors.append(error)
    if errors:
        raise combined(errors)
    return tuple(features)


def _add_carried(
    collector: Collector,
    tree: Tree,
    feature: Feature,
    commands: Mapping[str, str],
    agents: Mapping[str, str],
) -> None:
    """What lies in the folder of a feature of the pack's own, and what is named and lies nowhere."""
    folder = f"{_DESCRIPTORS}{feature.id}/"
    for stem in feature.skills:
        if f"{folder}skills/{stem}/{SKILL_FILE}" in tree.files:
            collector.add_skill(f"{folder}skills/{stem}", feature.id)
        elif stem not in commands:
            collector.missing(f"skill {stem} of {feature.id}", f"{_COMMANDS}{stem}.md")
    for stem in feature.agents:
        if f"{folder}agents/{stem}.md" in tree.files:
            collector.add(ArtifactKind.AGENT, stem, f"{folder}agents/{stem}.md", feature=feature.id)
        elif stem not in agents:
            collector.missing(f"agent {stem} of {feature.id}", f"{_AGENTS}{stem}.md")
    for hook in feature.hooks:
        if folder + hook.script not in tree.files and hook.script not in tree.files:
            collector.missing(f"hook script of {feature.id}", folder + hook.script)
