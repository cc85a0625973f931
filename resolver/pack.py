"""What is inside a pack, whatever its layout: artifacts with stems, payload trees, features.

A `Tree` is the unpacked content of a source: paths relative to the pack root, `/` as separator, text already
in LF form. Reading the bytes of a file goes through `Tree.read`, which verifies them against the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..capabilities.errors import missing, shown
from ..capabilities.model import Feature
from ..capabilities.words import Words


class TreeFile(Struct, frozen=True):
    """One file of a tree: `sha256:…` of its (LF) bytes, mode 0o644 or 0o755, size in bytes."""

    digest: str
    mode: int
    size: int


class Tree(Struct, frozen=True):
    """An unpacked pack. `digest` is over the sorted listing; `read(path)` gives verified bytes."""

    digest: str
    files: Mapping[str, TreeFile]
    read: Callable[[str], bytes]


class ArtifactKind(Words):
    """What an artifact is in its pack; a host's layout decides what it becomes there."""

    SKILL = "skill"
    COMMAND = "command"
    AGENT = "agent"


class Artifact(Struct, frozen=True):
    """One unit of content: `stem` names it without prefix or extension, `path` is its main file.

    `files` are all its files, main file first; a skill folder may hold more than `SKILL.md`, and an agent may
    have a variant of itself beside it (`<stem>.compact.md`), which is read by path and is no agent by itself.
    `feature` is the id of the feature that owns it, or empty.
    """

    kind: ArtifactKind
    stem: str
    path: str
    files: tuple[str, ...]
    feature: str = ""


class PackLayout(Words):
    """How a pack lays out its content."""

    GSD = "gsd"  # commands/gsd/*.md, agents/*.md, hooks/, gsd-core/ and scripts/ payload
    CAPABILITY = "capability"  # a capability.json at the top, or one in each of several folders
    PLUGIN = "plugin"  # .claude-plugin/plugin.json with skills/ commands/ agents/ hooks/
    SKILLS = "skills"  # folders that hold a SKILL.md


class Pack(Struct, frozen=True):
    """A pack that was read. `version` is the pack's own (empty where it says none).

    `notices` tell, one line each, what of the pack no descriptor can say and so is not installed.
    """

    name: str
    version: str
    layout: PackLayout
    tree: Tree
    artifacts: tuple[Artifact, ...]
    features: tuple[Feature, ...]
    notices: tuple[str, ...] = ()

    def text(self, path: str) -> str:
        """A file that must be text. Raises E-PACK-UNREADABLE (status 5) where it is not UTF-8."""
        try:
            return self.tree.read(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise missing(
                "E-PACK-UNREADABLE",
                f"pack {shown(self.name)}: {shown(path, 200)} is not UTF-8 at byte {error.start}",
                "Ask the pack's author for the file as UTF-8.",
                where=shown(path, 400),
            ) from None
