"""What the readers of all pack layouts share: collecting artifacts, own versions, synthesized features."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..capabilities.errors import GsdlockError, input_error, shown
from ..capabilities.model import Feature
from .pack import Artifact, ArtifactKind, Tree

SKILL_FILE = "SKILL.md"
_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_STEM = 64
_MAX_TEXT = 4000


class Collector:
    """Takes the artifacts of one pack; what is wrong with them is reported together by `finish`."""

    def __init__(self, pack: str, tree: Tree) -> None:
        self._pack = pack
        self._tree = tree
        self._artifacts: list[Artifact] = []
        self._taken: dict[tuple[ArtifactKind, str], str] = {}
        self._bad_stems: list[str] = []
        self._missing: list[str] = []

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """What was collected so far, in the order in which it was."""
        return tuple(self._artifacts)

    def add(
        self, kind: ArtifactKind, stem: str, path: str, more: Sequence[str] = (), feature: str = ""
    ) -> None:
        """An artifact whose main file is `path`; `more` are its other files."""
        if len(stem) > _MAX_STEM or ".." in stem or not _STEM.fullmatch(stem):
            self._bad_stems.append(f"{shown(path, 200)}: `{shown(stem)}` cannot name a {kind.value}")
            return
        other = self._taken.setdefault((kind, stem.casefold()), path)
        if other != path:
            both = f"{shown(other, 200)} and {shown(path, 200)}"
            self._bad_stems.append(f"{both}: two {kind.value}s of one name")
            return
        self._artifacts.append(Artifact(kind, stem, path, (path, *more), feature))

    def add_skill(self, folder: str, feature: str = "", stem: str = "") -> None:
        """The skill in `folder` (no final slash; empty for the whole pack), with everything below it."""
        prefix = f"{folder}/" if folder else ""
        main = prefix + SKILL_FILE
        more = sorted(p for p in self._tree.files if p.startswith(prefix) and p != main)
        self.add(ArtifactKind.SKILL, stem or folder.rpartition("/")[2], main, more, feature)

    def missing(self, what: str, path: str) -> None:
        """Something that a descriptor names is not in the pack."""
        self._missing.append(f"{shown(what)}: there is no {shown(path, 200)}")

    def finish(self) -> tuple[Artifact, ...]:
        """The artifacts, sorted by kind and stem. Raises E-PACK-STEM or E-PACK-ARTIFACT-MISSING."""
        if self._bad_stems:
            raise input_error(
                "E-PACK-STEM",
                f"pack {shown(self._pack)} has artifacts that cannot be named: {self._bad_stems[0]}",
                f"A name has at most {_MAX_STEM} letters, digits, `.`, `_` or `-`, a letter or digit first, "
                "and is used once whatever its case. Ask the pack's author to rename them.",
                details=self._bad_stems,
            )
        if self._missing:
            raise input_error(
                "E-PACK-ARTIFACT-MISSING",
                f"pack {shown(self._pack)} names files that it does not have: {self._missing[0]}",
                "Ask the pack's author for the files, or to take them out of the descriptor.",
                details=self._missing,
            )
        return tuple(sorted(self._artifacts, key=lambda a: (a.kind.value, a.stem)))


def documents(tree: Tree, folder: str) -> Iterator[tuple[str, str]]:
    """Stem and path of every `.md` directly in a folder (its name with a final slash), sorted by path.

    A README is about the folder and is passed over.
    """
    for path in sorted(tree.files):
        base = path.removeprefix(folder)
        if path.startswith(folder) and "/" not in base and is_document(base):
            yield base.removesuffix(".md"), path


def is_document(name: str) -> bool:
    """Whether a file of this name is a command or an agent."""
    return name.endswith(".md") and name.lower() != "readme.md"


def combined(errors: Sequence[GsdlockError]) -> GsdlockError:
    """One error for several descriptors: the first, with what the others say as further details."""
    first, *others = errors
    for other in others:
        first.details = (*first.details, f"{other.code}: {other.what}", *other.details)
    return first


def read_json(tree: Tree, path: str) -> Any:
    """The JSON of a file of the pack; None where there is no such file or it is not JSON."""
    import json

    if path not in tree.files:
        return None
    try:
        return json.loads(tree.read(path).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def own_version(tree: Tree) -> str:
    """The version in the pack's package.json; empty where it says none."""
    data = read_json(tree, "package.json")
    version = data.get("version") if isinstance(data, dict) else None
    return version if isinstance(version, str) and is_version(version) else ""


def is_version(text: str) -> bool:
    """Whether `text` is a SemVer version."""
    from ..capabilities.npm_range import RangeError, parse_version

    try:
        parse_version(text)
    except RangeError:
        return False
    return True


def feature_id(name: str, known: Mapping[str, Feature]) -> str:
    """An id for a synthesized feature made of a free name. A first-party id is never taken."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100]
    made = words if words[:1].isalpha() else f"pack-{words}".rstrip("-")
    return f"pack-{made}" if made in known or made in ("constructor", "prototype") else made


def synthesize(id_: str, title: str, description: str, version: str, **body: Any) -> Feature:
    """The feature that a pack without a descriptor of ours is taken for: always part of the profile, meant
    for every host. Raises E-DESCRIPTOR-INVALID where the pack's own words do not fit into a descriptor."""
    from ..capabilities.validation import load_capability

    data = {
        "id": id_,
        "role": "feature",
        "title": _line(title) or id_,
        "description": description.strip()[:_MAX_TEXT] or _line(title) or id_,
        "tier": "core",
        "version": version if is_version(version) else "0.0.0",
        "requires": [],
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [],
        "agents": [],
        "config": {},
        **body,
    }
    feature = load_capability(data, None, f"made for {shown(id_)}")
    assert isinstance(feature, Feature)  # the role says so
    return feature


def _line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()[:200]
