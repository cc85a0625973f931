"""Entries that a GSD pack wants in the settings of a host: permissions and a few switches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...capabilities.gsd_layout import load_gsd_layout
from ...capabilities.model import Runtime
from ...capabilities.vocabulary import PayloadPart, Root
from ...lockfiles.model import EditFormat, EditOp, Origin
from ..conversion import release
from ..drafts import EditDraft, SurfaceDrafts
from ..pack import Pack
from ..places import local_folder, settings_file
from .hook_entries import pointer


def settings_drafts(runtime: Runtime, scope: str, pack: Pack) -> SurfaceDrafts:
    """The entries of `gsd-layout.json` that hold for this host, scope and release of the pack."""
    return SurfaceDrafts(edits=tuple(_edits(runtime, scope, pack)))


def _edits(runtime: Runtime, scope: str, pack: Pack) -> Iterator[EditDraft]:
    if PayloadPart.CORE not in runtime.payload:
        return
    version = release(pack)
    for row in load_gsd_layout().settings:
        if not row.condition.holds(runtime, scope, version):
            continue
        axis = next(iter(row.condition.when), "payload")
        for value in row.values:
            yield EditDraft(
                root=Root.CONFIG.value,
                path=row.file or settings_file(runtime, scope),
                format=EditFormat(row.format.value),
                op=EditOp(row.op),
                at=pointer(*row.at),
                value=_told(value, runtime),
                origin=Origin(pack.name, "", "", "", axis),
                instead=row.instead,
            )


def _told(value: Any, runtime: Runtime) -> Any:
    """A value with `{config}` as the config folder inside the project."""
    return value.replace("{config}", local_folder(runtime)) if isinstance(value, str) else value
