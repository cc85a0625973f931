"""Blocks of text that a GSD pack puts into instruction files which the user also writes."""

from __future__ import annotations

from collections.abc import Iterator

from ...capabilities.gsd_layout import Block, load_gsd_layout
from ...capabilities.model import Runtime
from ...capabilities.vocabulary import PayloadPart
from ...lockfiles.model import EditFormat, EditOp, Origin
from ..conversion import pack_context, release
from ..drafts import EditDraft, SurfaceDrafts
from ..pack import Pack
from ..payload import told_text
from ..selection import Selection

_MARKER = "gsd"


def instruction_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> SurfaceDrafts:
    """The blocks of `gsd-layout.json` that hold for this host and scope."""
    return SurfaceDrafts(edits=tuple(_edits(runtime, scope, pack, selection)))


def _edits(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> Iterator[EditDraft]:
    if PayloadPart.CORE not in runtime.payload:
        return
    version = release(pack)
    for block in load_gsd_layout().blocks:
        if block.condition.holds(runtime, scope, version):
            text = _text(runtime, scope, pack, selection, block)
            if text:
                yield EditDraft(
                    root=block.root.value,
                    path=block.file,
                    format=EditFormat.MARKDOWN,
                    op=EditOp.BLOCK,
                    at=_MARKER,
                    value=text,
                    origin=Origin(pack.name, "", block.source, "", "installSurface"),
                )


def _text(runtime: Runtime, scope: str, pack: Pack, selection: Selection, block: Block) -> str:
    """The text of a block; empty where the pack has not the file that holds it."""
    if not block.source:
        told = told_text(pack_context(runtime, scope, pack), block.text, block.wording, pack, selection)
        return told.rstrip()
    if block.source not in pack.tree.files:
        return ""
    return pack.text(block.source).rstrip()
