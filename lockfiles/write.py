"""A lock as TOML bytes: LF, one file a line, final newline; the same lock always gives the same bytes."""

from __future__ import annotations

from typing import Any

from .model import LOCK_VERSION, Edit, Lock, LockedPack, Placement, Target

_HEADER = "# Written by gsdlock. Commit it; change it with `gsdlock resolve`, not by hand.\n"


def lock_bytes(lock: Lock) -> bytes:
    """`lock` in canonical TOML, UTF-8. Packs, capabilities, targets, files and edits in their given order
    (the resolver sorts them)."""
    import tomli_w

    document: dict[str, Any] = {"lock-version": LOCK_VERSION, "plan": lock.plan}
    if lock.packs:
        document["pack"] = [_pack_row(pack) for pack in lock.packs]
    if lock.overlays:
        document["overlay"] = [_pack_row(overlay) for overlay in lock.overlays]
    capabilities = [
        {"id": c.id, "role": c.role, "version": c.version, "origin": c.origin, "digest": c.digest}
        for c in lock.capabilities
    ]
    if capabilities:
        document["capability"] = capabilities
    if lock.targets:
        document["target"] = [_target_row(t) for t in lock.targets]
    return (_HEADER + tomli_w.dumps(document)).encode("utf-8")


def _pack_row(pack: LockedPack) -> dict[str, Any]:
    row = {
        "name": pack.name,
        "kind": pack.kind.value,
        "requested": pack.requested,
        "resolved": pack.resolved,
    }
    for key, value in (("integrity", pack.integrity), ("revision", pack.revision), ("tree", pack.tree)):
        if value:
            row[key] = value
    return row


def _target_row(target: Target) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": target.name,
        "runtime": target.runtime,
        "scope": target.scope,
        "profile": target.profile,
        "features": list(target.features),
        "packs": list(target.packs),
        "tools": list(target.tools),
        **({"options": list(target.options)} if target.options else {}),
        "digest": target.digest,
        "origins": target.origins,
        "files": {p.key: file_line(p) for p in target.placements},
    }
    if target.edits:
        row["edit"] = [_edit_row(e) for e in target.edits]
    return row


def file_line(placement: Placement) -> str:
    """`sha256:<hex> 0644 1234`, with ` fill` behind it where the file holds placeholders."""
    return f"{placement.digest} {placement.mode:04o} {placement.size}" + (" fill" if placement.fill else "")


def _edit_row(edit: Edit) -> dict[str, Any]:
    row: dict[str, Any] = {
        "file": edit.key,
        "format": edit.format.value,
        "op": edit.op.value,
        "at": edit.at,
        "value": edit.value,
    }
    if edit.fill:
        row["fill"] = True
    if edit.executes:
        row["executes"] = True
    if edit.instead:
        row["instead"] = list(edit.instead)
    return row
