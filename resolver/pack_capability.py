"""A pack of capabilities: `capability.json` at the top, or one in each of several folders.

A folder that holds a descriptor is named like the capability; the top of a pack may have any name. In its
folder a feature has `skills/<stem>/SKILL.md`, `agents/<stem>.md`, `commands/<stem>.md` and the scripts that
its hooks name. Skills and agents are those that the descriptor lists, no others; commands are all there are.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..capabilities.errors import GsdlockError, input_error, shown
from ..capabilities.model import Feature
from .marks import check_decoded
from .pack import ArtifactKind, Pack, PackLayout, Tree
from .pack_common import SKILL_FILE, Collector, combined, documents, own_version

_DESCRIPTOR = "capability.json"
# Folders that may stand between the top of a pack and the folders of its capabilities.
_PARENTS = ("", "capabilities/", "features/")


def matches_one(tree: Tree) -> bool:
    """Whether the top of the tree is one capability."""
    return _DESCRIPTOR in tree.files


def folders(tree: Tree) -> list[str]:
    """The folders (with a final slash) that hold a descriptor, sorted."""
    found = (path.removesuffix(_DESCRIPTOR) for path in tree.files if path.endswith(f"/{_DESCRIPTOR}"))
    return sorted(
        f for f in found if any(f.startswith(p) and f.count("/") == p.count("/") + 1 for p in _PARENTS)
    )


def read(name: str, version: str, tree: Tree) -> Pack:
    """See `packs.read_pack`."""
    places = [""] if matches_one(tree) else folders(tree)
    features: dict[str, Feature] = {}
    errors: list[GsdlockError] = []
    for folder in places:
        try:
            feature = _feature(name, tree, folder)
            if feature.id in features:
                raise _twice(name, feature.id)
            features[feature.id] = feature
        except GsdlockError as error:
            errors.append(error)
    if errors:
        raise combined(errors)
    collector = Collector(name, tree)
    for folder, feature in zip(places, features.values(), strict=True):
        _add(collector, tree, folder, feature)
    only = next(iter(features.values())) if len(features) == 1 else None
    return Pack(
        name=name,
        version=version or (only.version if only else own_version(tree)),
        layout=PackLayout.CAPABILITY,
        tree=tree,
        artifacts=collector.finish(),
        features=tuple(features[i] for i in sorted(features)),
        notices=tuple(
            notice
            for folder, feature in zip(places, features.values(), strict=True)
            for notice in _left_behind(tree, folder, feature)
        ),
    )


def _feature(pack: str, tree: Tree, folder: str) -> Feature:
    from ..capabilities.validation import load_capability, read_descriptor

    path = folder + _DESCRIPTOR
    expected = folder.rstrip("/").rpartition("/")[2] or None
    data = read_descriptor(tree.read(path), path)
    check_decoded(f"pack {shown(pack)}", path, data)
    capability = load_capability(data, expected, path)
    if not isinstance(capability, Feature):
        raise input_error(
            "E-PACK-ROLE",
            f"pack {shown(pack)}: {path} describes a {capability.role}, not a feature",
            "Name a pack whose capability.json has the role feature.",
            where=path,
        )
    return capability


def _add(collector: Collector, tree: Tree, folder: str, feature: Feature) -> None:
    for stem in feature.skills:
        if f"{folder}skills/{stem}/{SKILL_FILE}" in tree.files:
            collector.add_skill(f"{folder}skills/{stem}", feature.id)
        else:
            collector.missing(f"skill {stem} of {feature.id}", f"{folder}skills/{stem}/{SKILL_FILE}")
    for stem in feature.agents:
        path = f"{folder}agents/{stem}.md"
        if path in tree.files:
            collector.add(ArtifactKind.AGENT, stem, path, feature=feature.id)
        else:
            collector.missing(f"agent {stem} of {feature.id}", path)
    for stem, path in documents(tree, f"{folder}commands/"):
        collector.add(ArtifactKind.COMMAND, stem, path, feature=feature.id)
    for hook in feature.hooks:
        if folder + hook.script not in tree.files:
            collector.missing(f"hook script of {feature.id}", folder + hook.script)


def _left_behind(tree: Tree, folder: str, feature: Feature) -> Iterator[str]:
    """A notice for each file of the pack that a hook's scripts name and that does not come along: what comes
    with a script is what lies in its own folder."""
    with_hooks = {folder + hook.folder for hook in feature.hooks if hook.folder}
    others = (*with_hooks, *(f"{folder}{part}/" for part in ("skills", "agents", "commands")))
    names = [p.removeprefix(folder) for p in tree.files if p.startswith(folder) and not p.startswith(others)]
    staying = [name for name in names if "/" in name]
    for script in sorted(p for p in tree.files if staying and p.startswith(tuple(with_hooks))):
        data = tree.read(script)
        for name in staying:
            if name.encode() in data:
                yield (
                    f"{script} names {name}, which is not installed: beside a hook's script comes only what "
                    f"is in {script.removeprefix(folder).partition('/')[0]}/"
                )


def _twice(pack: str, id_: str) -> GsdlockError:
    return input_error(
        "E-PACK-STEM",
        f"pack {shown(pack)} has the capability {shown(id_)} twice",
        "Ask the pack's author to rename one of them.",
    )
