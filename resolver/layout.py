"""Which artifacts of a pack become which files where, by the `artifactLayout` and `nativeSkills` axes.

A GSD pack lays out commands: a host gets each as a skill, as a command, or as both, named with the entry's
prefix, and the pack's payload beside them. Other packs keep their own names: a skill folder goes as it is to
the host's `nativeSkills` place, a command becomes what the host has room for, an agent passes the host's
converter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from ..capabilities.homes import placed_root
from ..capabilities.model import LayoutEntry, Runtime
from ..capabilities.vocabulary import LayoutKind, Nesting
from ..lockfiles.model import Origin
from .conversion import artifact_context, pack_context
from .converters import ConvertContext, Kind, agent_companions, agent_roots, convert
from .drafts import FileDraft, Omission
from .pack import Artifact, ArtifactKind, Pack, PackLayout
from .payload import payload_drafts
from .selection import Selection
from .skill_text import readable

_MODE = 0o644
_SKILL_FILE = "SKILL.md"
_ROUTER = "ns-"
_REQUIRES = re.compile(r"(?m)^requires:\s*\[([^\]]*)\]\s*$")


def artifact_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> list[FileDraft]:
    """The whole files that the selected artifacts and the payload of a pack become on a host at a scope.

    Raises `GsdlockError` (status 3) for text that a converter cannot carry: E-CONVERT-….
    """
    context = pack_context(runtime, scope, pack)
    drafts: list[FileDraft] = []
    for index, entry in enumerate(runtime.artifact_layout[scope]):
        place = _Place(context, entry, pack, f"artifactLayout.{scope}[{index}]")
        drafts += _LAYERS[entry.kind](place, _taken(runtime, scope, pack, selection, entry))
    if pack.layout is PackLayout.GSD:
        return drafts + payload_drafts(runtime, scope, pack, selection)
    return drafts + list(_native_skills(runtime, scope, pack, selection))


def artifact_omissions(
    runtime: Runtime, scope: str, pack: Pack, selection: Selection
) -> tuple[Omission, ...]:
    """The selected artifacts that the host has no place for. A GSD pack is cut to each host by its makers:
    what it does not bring there is not missing."""
    if pack.layout is PackLayout.GSD:
        return ()
    entries = runtime.artifact_layout[scope]
    placed = {a for e in entries for a in _taken(runtime, scope, pack, selection, e)}
    skills = {a.stem: a for a in _placed_skills(runtime, scope, selection)}
    placed |= set(skills.values())
    reason = {
        True: "a skill of the same name takes its place",
        False: f"this host has no place for it at {scope} scope",
    }
    return tuple(
        Omission(a.feature, f"the {a.kind.value} {a.stem}", reason[_is_command(a) and a.stem in skills])
        for a in selection.artifacts
        if a not in placed
    )


# Which artifacts go through which entry


def _taken(
    runtime: Runtime, scope: str, pack: Pack, selection: Selection, entry: LayoutEntry
) -> list[Artifact]:
    """The artifacts that an entry of the layout lays out, in the order of the pack."""
    gsd = pack.layout is PackLayout.GSD
    match entry.kind:
        case LayoutKind.AGENTS:
            return [a for a in selection.artifacts if a.kind is ArtifactKind.AGENT]
        case LayoutKind.KIMI_AGENTS:
            # There is one agent tree, and it is that of the GSD pack.
            return [a for a in selection.artifacts if a.kind is ArtifactKind.AGENT and gsd]
        case LayoutKind.COMMANDS:
            return [a for a in selection.artifacts if _is_command(a)]
        case LayoutKind.SKILLS if gsd:
            return [a for a in selection.artifacts if _is_command(a)]
    # A command of another pack becomes a skill only where the host has no commands.
    if any(e.kind is LayoutKind.COMMANDS for e in runtime.artifact_layout[scope]):
        return []
    skills = {a.stem for a in _placed_skills(runtime, scope, selection)}
    return [a for a in selection.artifacts if _is_command(a) and a.stem not in skills]


def _is_command(artifact: Artifact) -> bool:
    return artifact.kind is ArtifactKind.COMMAND


def _placed_skills(runtime: Runtime, scope: str, selection: Selection) -> list[Artifact]:
    """The skill folders that go to the host as they are."""
    has_place = scope in runtime.native_skills
    return [a for a in selection.artifacts if a.kind is ArtifactKind.SKILL and has_place]


# What an entry makes of them


class _Place(Struct, frozen=True):
    """One entry of a layout, for one pack on one target."""

    context: ConvertContext
    entry: LayoutEntry
    pack: Pack
    axis: str

    @property
    def prefix(self) -> str:
        """What comes in front of a stem: the prefix is the GSD pack's own."""
        return self.entry.prefix if self.pack.layout is PackLayout.GSD else ""

    @property
    def folder(self) -> str:
        """The folder of the entry; a last part that is the GSD pack's name space is for that pack only."""
        head, _, last = self.entry.dest_subpath.rpartition("/")
        foreign = self.pack.layout is not PackLayout.GSD
        return head if foreign and head and last == self._name_space else self.entry.dest_subpath

    @property
    def named_by_folder(self) -> bool:
        """Whether the folder already says what the prefix says (`commands/gsd`)."""
        return bool(self._name_space) and self.folder.rpartition("/")[2] == self._name_space

    @property
    def _name_space(self) -> str:
        return self.entry.prefix.rstrip("-")

    def context_of(self, artifact: Artifact, children: frozenset[str] = frozenset()) -> ConvertContext:
        """What a conversion knows of an artifact; an agent's stem is its name already."""
        agent = artifact.kind is ArtifactKind.AGENT
        name = artifact.stem if agent else self.prefix + artifact.stem
        return artifact_context(self.context, artifact.stem, name, children)

    def text(self, artifact: Artifact) -> str:
        """The source of an artifact's main file. Raises E-PACK-UNREADABLE."""
        return self.pack.text(artifact.path)

    def convert(self, kind: Kind, artifact: Artifact, children: frozenset[str] = frozenset()) -> str:
        """The main file as the host gets it."""
        context = self.context_of(artifact, children)
        return convert(self.entry.converter, kind, self.text(artifact), context)

    def draft(self, path: str, text: str, artifact: Artifact | None) -> FileDraft:
        """One file below the folder of the entry."""
        origin = Origin(
            pack=self.pack.name,
            feature=artifact.feature if artifact else "",
            artifact=f"{artifact.kind.value}/{artifact.stem}" if artifact else "",
            converter=self.entry.converter or "",
            axis=self.axis,
        )
        root = placed_root(self.context.runtime, self.context.scope, self.entry).value
        return FileDraft(root, f"{self.folder}/{path}", text.encode("utf-8"), _MODE, origin)


def _commands(place: _Place, artifacts: Sequence[Artifact]) -> Iterator[FileDraft]:
    toml = place.context.runtime.host_integration.get("commandSurface") == "slash-toml"
    for artifact in artifacts:
        stem = artifact.stem if place.named_by_folder else place.prefix + artifact.stem
        name = f"{stem}.toml" if toml else f"{stem}.md"
        yield place.draft(name, place.convert("command", artifact), artifact)


def _skills(place: _Place, artifacts: Sequence[Artifact]) -> Iterator[FileDraft]:
    nested = place.entry.nesting is Nesting.NESTED and place.pack.layout is PackLayout.GSD
    routers = _routers(place, artifacts) if nested else {}
    owners: dict[str, list[str]] = {}
    for router, children in routers.items():
        for child in children:
            owners.setdefault(child, []).append(router)
    for artifact in artifacts:
        text = place.convert("skill", artifact, routers.get(artifact.stem, frozenset()))
        folders = [f"{place.prefix}{r}/skills/{artifact.stem}" for r in owners.get(artifact.stem, ())]
        for folder in folders or [place.prefix + artifact.stem]:
            yield place.draft(f"{folder}/{_SKILL_FILE}", text, artifact)


def _routers(place: _Place, artifacts: Sequence[Artifact]) -> dict[str, frozenset[str]]:
    """The router skills with the selected skills below each; none unless all routers of the pack are.

    What a router owns is the `requires:` line of its front matter. A skill may have several owners.
    """
    selected = {a.stem for a in artifacts}
    routers = [a for a in place.pack.artifacts if _is_command(a) and a.stem.startswith(_ROUTER)]
    if not all(r.stem in selected for r in routers):
        return {}
    return {r.stem: frozenset(_required(place.text(r))) & selected for r in routers}


def _required(text: str) -> list[str]:
    match = _REQUIRES.search(text)
    return [s.strip().strip("\"'") for s in match.group(1).split(",")] if match else []


def _agents(place: _Place, artifacts: Sequence[Artifact]) -> Iterator[FileDraft]:
    suffix = place.context.runtime.host_behaviors.get("agentFileExtension", ".md")
    for artifact in artifacts:
        yield place.draft(f"{artifact.stem}{suffix}", place.convert("agent", artifact), artifact)
        yield from _companions(place, artifact)


def _kimi_agents(place: _Place, artifacts: Sequence[Artifact]) -> Iterator[FileDraft]:
    if place.pack.layout is not PackLayout.GSD:
        return
    for artifact in artifacts:
        yield from _companions(place, artifact)
    named = sorted((a.stem, place.text(a)) for a in artifacts)
    for path, text in agent_roots(place.context, named):
        yield place.draft(path, text, None)


def _companions(place: _Place, artifact: Artifact) -> Iterator[FileDraft]:
    for path, text in agent_companions(place.context_of(artifact), place.text(artifact)):
        yield place.draft(path, text, artifact)


_LAYERS: Mapping[LayoutKind, Callable[[_Place, Sequence[Artifact]], Iterator[FileDraft]]] = MappingProxyType(
    {
        LayoutKind.COMMANDS: _commands,
        LayoutKind.SKILLS: _skills,
        LayoutKind.AGENTS: _agents,
        LayoutKind.KIMI_AGENTS: _kimi_agents,
    }
)


# Skill folders


def _native_skills(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> Iterator[FileDraft]:
    """Skill folders as they are in the pack, with the name that they have there."""
    place = runtime.native_skills.get(scope)
    if place is None:
        return
    root = placed_root(runtime, scope, place).value
    for artifact in _placed_skills(runtime, scope, selection):
        origin = Origin(pack.name, artifact.feature, f"skill/{artifact.stem}", "", f"nativeSkills.{scope}")
        inside = artifact.path.rpartition("/")[0]
        for path in artifact.files:
            data = pack.tree.read(path)
            if path == artifact.path:
                data = _read_by_host(runtime, artifact.stem, data)
            below = path.removeprefix(f"{inside}/") if inside else path
            to = f"{place.dest_subpath}/{artifact.stem}/{below}"
            yield FileDraft(root, to, data, pack.tree.files[path].mode, origin)


def _read_by_host(runtime: Runtime, stem: str, data: bytes) -> bytes:
    """A SKILL.md that the host can read; bytes that it can read already stay as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    mended = readable(text, stem, runtime.skill_needs)
    return data if mended == text else mended.encode("utf-8")
