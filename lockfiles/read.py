"""`gsdlock.lock` bytes -> `Lock`. Strict: an unknown key, a wrong type or a wrong digest is a refusal.

What is checked here: the shape, every digest's form, that each target's `digest` and the `plan` digest are
those of the content. So a lock that was edited by hand, or merged wrongly, does not pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..capabilities.canonical import is_digest
from ..capabilities.errors import hides, input_error
from ..capabilities.tables import HIDDEN, Table
from ..capabilities.toml_text import read_toml
from .file_blocks import FILE, MARK, ROOT, without_files
from .model import (
    Edit,
    EditFormat,
    EditOp,
    Lock,
    LockedCapability,
    LockedPack,
    PackKind,
    Placement,
    Target,
)
from .versions import LOCK_AGAIN, check_version, conflict_line

_KEY = re.compile(rf"{ROOT}:(.+)", re.DOTALL)
_MOST_BYTES = 64 * 1024 * 1024


def read_lock(data: bytes, where: str) -> Lock:
    """The lock in `data`; `where` names the file in messages.

    Raises `GsdlockError` (status 3): E-LOCK-CONFLICT (merge markers, with the line), E-LOCK-VERSION-…,
    E-LOCK-SYNTAX (with line and column), E-LOCK-INVALID (all faults of shape), E-LOCK-DIGEST.
    """
    import tomllib

    if len(data) > _MOST_BYTES:
        raise input_error("E-LOCK-INVALID", f"{where} is larger than 64 MiB", LOCK_AGAIN, where=where)
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as fault:
        raise input_error(
            "E-LOCK-SYNTAX", f"{where} is not UTF-8 at byte {fault.start}", LOCK_AGAIN, where=where
        ) from None
    line = conflict_line(text)
    if line:
        raise input_error(
            "E-LOCK-CONFLICT",
            f"{where}:{line} holds merge conflict markers",
            "Settle gsdlock.toml first, then run gsdlock resolve: it makes the lock again from the manifest.",
            where=f"{where}:{line}",
        )
    check_version(text, where)
    rest, files = without_files(text)
    try:
        document = read_toml(rest)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as fault:
        raise input_error(
            "E-LOCK-SYNTAX", f"{where} does not parse: {fault}", LOCK_AGAIN, where=where
        ) from None
    faults: list[str] = []
    top = Table(document, "", faults)
    top.raw("lock-version")
    plan = _digest(top, "plan")
    packs = tuple(read_pin(t) for t in top.tables("pack"))
    overlays = tuple(read_pin(t) for t in top.tables("overlay"))
    capabilities = tuple(_capability(t) for t in top.tables("capability"))
    targets, claimed = [], []
    for table in top.tables("target"):
        target, digest = _target(table, files)
        targets.append(target)
        claimed.append(digest)
    top.finish()
    for what, names in (
        ("pack", [p.name for p in packs]),
        ("overlay", [o.name for o in overlays]),
        ("capability", [c.id for c in capabilities]),
        ("target", [t.name for t in targets]),
    ):
        faults.extend(f"{what} {n} stands twice" for n in sorted({n for n in names if names.count(n) > 1}))
    if faults:
        raise input_error(
            "E-LOCK-INVALID",
            f"{where} is not a lock that gsdlock wrote",
            LOCK_AGAIN,
            where=where,
            details=faults,
        )
    lock = Lock(packs, capabilities, tuple(targets), overlays)
    wrong = [t.name for t, digest in zip(targets, claimed, strict=True) if t.digest != digest]
    if wrong or lock.plan != plan:
        what = f"target {', '.join(wrong)}" if wrong else "the plan"
        raise input_error(
            "E-LOCK-DIGEST",
            f"{where}: the digest of {what} is not that of its content",
            LOCK_AGAIN,
            where=where,
        )
    return lock


def _digest(table: Table, key: str) -> str:
    value = table.string(key)
    if value and not is_digest(value):
        table.fault(key, "must be sha256: and 64 lower-case hex digits")
    return value


def read_pin(table: Table) -> LockedPack:
    """One `[[pack]]` or `[[overlay]]`; its faults are in the table."""
    pack = LockedPack(
        name=table.string("name"),
        kind=PackKind(table.string("kind", allowed=[k.value for k in PackKind]) or PackKind.PATH),
        requested=table.string("requested"),
        resolved=table.string("resolved"),
        tree=_digest(table, "tree"),
        integrity=table.string("integrity", ""),
        revision=table.string("revision", ""),
    )
    table.finish()
    return pack


def _capability(table: Table) -> LockedCapability:
    capability = LockedCapability(
        id=table.string("id"),
        role=table.string("role", allowed=["runtime", "feature", "reviewer"]),
        version=table.string("version"),
        origin=table.string("origin"),
        digest=_digest(table, "digest"),
    )
    table.finish()
    return capability


def _placements(files: Table) -> tuple[Placement, ...]:
    placements = []
    for key in files.names():
        line = files.string(key)
        match, parts = re.fullmatch(FILE, line), _KEY.fullmatch(key)
        if hides(key):
            files.fault(key, HIDDEN)
            continue
        if match is None or parts is None:
            files.fault(key, "must read root:path = sha256:<hex> <mode> <size>")
            continue
        placements.append(
            Placement(
                root=parts.group(1),
                path=parts.group(2),
                digest=match.group(1),
                mode=int(match.group(2), 8),
                size=int(match.group(3)),
                fill=match.group(4) is not None,
            )
        )
    return tuple(placements)


def _target(table: Table, taken_out: Sequence[tuple[Placement, ...]]) -> tuple[Target, str]:
    digest = _digest(table, "digest")
    files = table.table("files")
    placements: tuple[Placement, ...] = ()
    if files is not None:
        placements = (
            taken_out[int(str(files.raw(MARK)))] if taken_out and files.has(MARK) else _placements(files)
        )
    target = Target(
        name=table.string("name"),
        runtime=table.string("runtime"),
        scope=table.string("scope", allowed=["global", "local"]),
        profile=table.string("profile", allowed=["core", "standard", "full"]),
        features=table.strings("features"),
        packs=table.strings("packs"),
        tools=table.strings("tools"),
        options=table.strings("options"),
        placements=placements,
        edits=tuple(_edit(t) for t in table.tables("edit")),
        origins=_digest(table, "origins"),
    )
    table.finish()
    return target, digest


def _edit(table: Table) -> Edit:
    file = table.string("file")
    parts = _KEY.fullmatch(file)
    if parts is None:
        table.fault("file", "must read root:path")
    edit = Edit(
        root=parts.group(1) if parts else "",
        path=parts.group(2) if parts else "",
        format=EditFormat(table.string("format", allowed=[f.value for f in EditFormat]) or EditFormat.JSONC),
        op=EditOp(table.string("op", allowed=[o.value for o in EditOp]) or EditOp.ENSURE),
        at=table.string("at"),
        value=_digest(table, "value"),
        fill=table.boolean("fill", False),
        executes=table.boolean("executes", False),
        instead=table.strings("instead"),
    )
    table.finish()
    return edit
