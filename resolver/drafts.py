"""What the layout, the converters and the surfaces produce: content that is not yet in the store.

The plan turns each `FileDraft` into a placement and each `EditDraft` into an edit. Drafts hold placeholders
(`lockfiles.placeholders`) and no machine path.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..lockfiles.model import EditFormat, EditOp, Origin


class FileDraft(Struct, frozen=True):
    """One whole file: `root:path` (path relative, `/`), its bytes (text in LF form), mode 0o644 or 0o755."""

    root: str
    path: str
    data: bytes
    mode: int
    origin: Origin


class EditDraft(Struct, frozen=True):
    """One change in a shared file; `value` is JSON data with placeholders. See `lockfiles.model.Edit`."""

    root: str
    path: str
    format: EditFormat
    op: EditOp
    at: str
    value: Any
    origin: Origin
    executes: bool = False
    instead: tuple[str, ...] = ()


class Omission(Struct, frozen=True):
    """Something that a target does not get because its host has no place for it.

    `what` names it, `reason` completes "left out: …"; `feature` is empty where no feature owns it.
    """

    feature: str
    what: str
    reason: str


class SurfaceDrafts(Struct, frozen=True):
    """What a pack puts into a target through its surfaces. Edits keep their order: hosts run hooks in it."""

    files: tuple[FileDraft, ...] = ()
    edits: tuple[EditDraft, ...] = ()
    omissions: tuple[Omission, ...] = ()

    def __add__(self, other: SurfaceDrafts) -> SurfaceDrafts:
        return SurfaceDrafts(
            self.files + other.files, self.edits + other.edits, self.omissions + other.omissions
        )
