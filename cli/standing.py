"""How what is installed compares with the disk: shared by status, diff and verify."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from ..store.records import Generation
    from ..store.states import EntryState, PathState, TargetState
    from .session import Session


class Standing(Struct, frozen=True):
    """One target as it stands: its state, and the text of what the user changed, by key."""

    state: TargetState
    patches: dict[str, list[str]]

    @property
    def drifted(self) -> bool:
        """Whether the disk is not as the generation says."""
        return self.state.differs

    @property
    def files(self) -> list[PathState]:
        """The files that are not as they were installed."""
        return [f for f in self.state.files if f.state.differs]

    @property
    def entries(self) -> list[EntryState]:
        """The entries that are not where they were put, or wait for the user."""
        return [e for e in self.state.entries if e.state.differs]

    @property
    def held(self) -> list[str]:
        """Keys of files and entries whose user's version is kept."""
        held = [f.key for f in self.state.files if f.state.value == "held"]
        return held + [f"{e.key}#{e.at}" for e in self.state.entries if e.state.value == "held"]

    def data(self) -> dict[str, Any]:
        """For `--json`."""
        generation = self.state.generation
        return {
            "target": generation.target,
            "runtime": generation.runtime,
            "scope": generation.scope,
            "generation": generation.number,
            "files": len(self.state.files),
            "entries": len(self.state.entries),
            "drift": [
                {"file": f.key, "path": f.path, "state": f.state.value, "detail": f.detail}
                for f in self.files
            ],
            "entry-drift": [
                {"file": e.key, "path": e.path, "at": e.at, "state": e.state.value, "detail": e.detail}
                for e in self.entries
            ],
            "held-back": self.held,
            "moved-roots": dict(self.state.moved),
        }


def disk_state(session: Session) -> list[Standing]:
    """Every installed target that the command is about, compared with the disk. Raises `GsdlockError`
    E-HOME-RELATIVE, E-GENERATION-…."""
    from ..store.states import inspect
    from .installed import generations_of

    found = []
    for generation in generations_of(session):
        state = inspect(session.store, generation, roots_now(session, generation))
        found.append(Standing(state, _patches(session, state) if state.differs else {}))
    return found


def roots_now(session: Session, generation: Generation) -> dict[str, str]:
    """Where the roots of an installed target are by today's environment; empty where nobody can tell.

    Raises `GsdlockError` E-HOME-RELATIVE, as an apply does: nothing is in order with such a variable.
    """
    from ..capabilities.errors import GsdlockError
    from ..capabilities.homes import resolve_roots

    try:
        runtime = session.registry.runtime(generation.runtime)
        roots = resolve_roots(
            runtime, generation.scope, session.environment, generation.project, os.path.exists
        )
    except GsdlockError as fault:
        if fault.code == "E-HOME-RELATIVE":
            raise
        return {}
    return {name: path for name, path in roots.paths.items() if name in generation.roots}


def disk_lines(standings: list[Standing], *, patch: bool) -> list[str]:
    """What differs, a line each; with `patch` the text of it."""
    words = {"modified": "edited", "missing": "changed or removed", "wanted": "to be put in by hand"}
    lines = []
    for standing in standings:
        target = standing.state.generation.target
        for root, path in standing.state.moved.items():
            lines.append(f"  {target}: the root {root} is now {path} (gsdlock apply --move follows it)")
        for file in standing.files:
            detail = f" ({file.detail})" if file.detail else ""
            lines.append(f"  {target}: {words.get(file.state.value, file.state.value)} {file.path}{detail}")
            if patch:
                lines += [f"    {line}" for line in standing.patches.get(file.key, ())]
        for entry in standing.entries:
            detail = f" ({entry.detail})" if entry.detail else ""
            said = words.get(entry.state.value, entry.state.value)
            lines.append(f"  {target}: entry {said}: {entry.path} {entry.at}{detail}")
    return lines


def _patches(session: Session, state: TargetState) -> dict[str, list[str]]:
    """A unified diff from what was installed to what stands there, for each file that was edited."""
    from ..capabilities.errors import GsdlockError
    from ..lockfiles.patch import unified
    from ..store.states import disk_bytes, written_bytes

    records = {f.key: f for f in state.generation.files}
    patches = {}
    for file in state.files:
        if file.state.value != "modified":
            continue
        try:
            written = written_bytes(session.store, state.generation, records[file.key])
        except GsdlockError:
            continue
        patches[file.key] = unified(written, disk_bytes(session.store, file.path), file.key)
    return patches
