"""A target met with the folders of this machine: where its whole files lie.

A plan knows no machine, and two targets of it may still meet in one folder: by a root that hosts share, by a
variable, by a link. That is seen only here. Nothing in this module reaches a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..capabilities.vocabulary import Root
from ..lockfiles.model import Placement, Target


class Located(Struct, frozen=True):
    """One target on this machine.

    `installation` is empty for a target of the manifest at hand, else it names the one that the target is of.
    `project` is the folder of a local target, else empty. `roots` are full paths by name, as they are given;
    `own` is the resolved one of the host's own folder (empty where it is not known). `files` maps the full,
    resolved path of each whole file to its placement (None where only the path is known).
    """

    name: str
    installation: str
    runtime: str
    scope: str
    project: str
    roots: Mapping[str, str]
    own: str
    files: Mapping[str, Placement | None]

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.name} of {self.installation}" if self.installation else self.name


def located(target: Target, roots: Mapping[str, str], project: str, real: Callable[[str], str]) -> Located:
    """A target of the plan where its `roots` (full paths, by name) are; `real` resolves the links in a path.

    A placement whose root the target does not have here is left out: an apply would refuse it.
    """
    resolved = {name: real(path).rstrip("/") for name, path in roots.items()}
    return Located(
        name=target.name,
        installation="",
        runtime=target.runtime,
        scope=target.scope,
        project=project,
        roots=roots,
        own=resolved.get(Root.CONFIG.value, ""),
        files={f"{resolved[p.root]}/{p.path}": p for p in target.placements if p.root in resolved},
    )
