"""The active feature set of a target, and which artifacts of its packs that selects.

A profile selects features by tier (core < standard < full); `enable` adds features with all that they
require; `disable` takes features away, and is refused when an active feature requires one of them. Off means
off: an artifact that belongs to a feature which is not active is never selected, whoever asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..capabilities.errors import GsdlockError, input_error, shown
from ..capabilities.model import Feature
from ..capabilities.tables import nearest
from .manifest import TargetEntry
from .pack import Artifact, ArtifactKind, Pack, PackLayout

_RANK = {"core": 0, "standard": 1, "full": 2}


class ActiveSet(Struct, frozen=True):
    """The active features by id, sorted, and what a user should be told (`notices`)."""

    features: Mapping[str, Feature]
    notices: tuple[str, ...]


def active_features(
    target: TargetEntry, known: Mapping[str, Feature], satisfies: Callable[[Feature], bool]
) -> ActiveSet:
    """The active set of `target` out of the `known` features.

    `satisfies` tells whether the feature's `engines.gsd` range holds. Raises `GsdlockError` (status 3) with
    every fault: E-FEATURE-UNKNOWN, E-FEATURE-REQUIRED (disabling what an active one requires, with the
    chain), E-FEATURE-INCOMPATIBLE (enabled by name on a host that cannot carry it).
    """
    faults: list[str] = []
    where = f"targets.{target.name}"
    for key, mentioned in (("enable", target.enable), ("disable", target.disable)):
        for name in mentioned:
            if name not in known:
                hint = nearest(name, sorted(known)) or f"; known: {', '.join(sorted(known)) or 'none'}"
                faults.append(f'{where}.{key}: "{shown(name)}" is not a feature of its packs{hint}')
    if faults:
        raise _refusal("E-FEATURE-UNKNOWN", f"target {target.name} names features that do not exist", faults)

    off = set(target.disable)
    notices: list[str] = []
    chosen = [i for i in sorted(known) if _RANK[known[i].tier] <= _RANK[target.profile] and i not in off]
    chosen = [i for i in chosen if i not in target.enable]
    active: dict[str, Feature] = {}
    for asked, names in ((True, tuple(sorted(target.enable))), (False, tuple(chosen))):
        for name in names:
            chain = _requires_chain(name, known)
            blocked = [c for c in chain if c[-1] in off]
            if blocked:
                line = " requires ".join(blocked[0])
                faults.append(f'{where}.disable: "{blocked[0][-1]}" cannot be off: {line}')
                continue
            unfit = _unfit(chain, known, target.runtime, satisfies)
            if unfit and asked:
                faults.append(f"{where}.enable: {name} cannot be used here: {unfit}")
            elif unfit:
                notices.append(
                    f"{target.name}: the feature {name} is left out: {unfit}. Nothing needs to be done; "
                    f'disable = ["{name}"] in [{where}] says that you know'
                )
            else:
                active.update({c[-1]: known[c[-1]] for c in chain})
    if faults:
        code = "E-FEATURE-REQUIRED" if any(".disable" in f for f in faults) else "E-FEATURE-INCOMPATIBLE"
        raise _refusal(code, f"the features of target {target.name} do not fit together", faults)
    return ActiveSet({i: active[i] for i in sorted(active)}, tuple(notices))


def _refusal(code: str, what: str, faults: list[str]) -> GsdlockError:
    return input_error(code, what, "Change enable, disable or profile in gsdlock.toml.", details=faults)


def _requires_chain(name: str, known: Mapping[str, Feature]) -> list[tuple[str, ...]]:
    """Every feature that `name` closes over, itself first, each as the chain that leads to it."""
    found: dict[str, tuple[str, ...]] = {name: (name,)}
    queue = [name]
    while queue:
        current = queue.pop(0)
        for needed in known[current].requires:
            if needed in known and needed not in found:
                found[needed] = (*found[current], needed)
                queue.append(needed)
    return list(found.values())


def _unfit(
    chain: Sequence[tuple[str, ...]],
    known: Mapping[str, Feature],
    runtime: str,
    satisfies: Callable[[Feature], bool],
) -> str:
    """Why one of a chain cannot be used on `runtime`, as the end of a sentence about the first of it; empty
    when all can."""
    for *before, name in chain:
        feature = known[name]
        which = f"{name}, which it requires," if before else "it"
        if not feature.runtime_compat.admits(runtime):
            notes = feature.runtime_compat.notes
            note = notes.get(runtime) or notes.get("*") or ""
            return f"{which} does not support {runtime}" + (f" ({shown(note, 160)})" if note else "")
        if not satisfies(feature):
            return f"{which} asks for GSD {shown(feature.engines_gsd)}"
    return ""


def select_artifacts(
    pack: Pack, active: ActiveSet, profile: str, base: Mapping[str, Sequence[str]]
) -> tuple[Artifact, ...]:
    """The artifacts of `pack` that a target gets.

    An artifact of a feature follows its feature. The others (the GSD core) follow the profile: all of them
    for `full`; else the stems of `base[profile]` closed over the `requires:` line of the commands' front
    matter, and the agents that the text of the selected commands names. `base` maps a profile to stems.
    """
    owned = {a for a in pack.artifacts if a.feature}
    on = {a for a in owned if a.feature in active.features}
    if profile == "full" or pack.layout is not PackLayout.GSD:
        return tuple(a for a in pack.artifacts if a in on or a not in owned)
    commands = {a.stem: a for a in pack.artifacts if a.kind is not ArtifactKind.AGENT}
    wanted: dict[str, None] = {}
    queue = [s for s in base.get(profile, ()) if s in commands]
    queue += [a.stem for a in pack.artifacts if a in on and a.kind is not ArtifactKind.AGENT]
    texts = []
    while queue:
        stem = queue.pop(0)
        artifact = commands.get(stem)
        if stem in wanted or artifact is None or (artifact in owned and artifact not in on):
            continue
        wanted[stem] = None
        text = pack.tree.read(artifact.path).decode("utf-8", "replace")
        texts.append(text)
        queue.extend(_required_stems(text))
    mentioned = set(_MENTION.findall("\n".join(texts)))
    return tuple(
        a
        for a in pack.artifacts
        if a in on
        or (a not in owned and (a.stem in mentioned if a.kind is ArtifactKind.AGENT else a.stem in wanted))
    )


_MENTION = re.compile(r"\bgsd-[a-z0-9]+(?:-[a-z0-9]+)*")


def _required_stems(text: str) -> list[str]:
    """The stems of the `requires: [a, b]` line of a command's front matter."""
    if not text.startswith("---"):
        return []
    head = text[3:].split("\n---", 1)[0]
    match = re.search(r"(?m)^requires:\s*\[([^\]]*)\]\s*$", head)
    return [s.strip().strip("\"'") for s in match.group(1).split(",") if s.strip()] if match else []
