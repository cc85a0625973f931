"""`gsdlock.toml`: what a user writes. Read and checked here; nothing is fetched.

The user-level file is the only one that speaks for the user; any other is a project's, and what it wants
outside the project is of high risk. Where it is looked for: `finding`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..capabilities.environment import Environment
from ..capabilities.errors import input_error, shown
from ..capabilities.tables import Table
from ..lockfiles.model import PackKind
from .finding import user_manifest
from .specs import portable

PROFILES = ("core", "standard", "full")
SCOPES = ("global", "local")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PackEntry:
    """`[packs.<name>]`: one of the kinds, and what goes with it.

    `spec` is the value of the kind's key (npm name, URL, path, archive, builtin name). `version` is an npm
    range, `ref` a git ref, `subdirectory` a relative path inside a git or archive source, `integrity` a
    `sha512-…` that an archive must have. Each is empty where not given.
    """

    name: str
    kind: PackKind
    spec: str
    version: str = ""
    ref: str = ""
    subdirectory: str = ""
    integrity: str = ""

    @property
    def requested(self) -> str:
        """One line that says what was asked for: what the lock compares with the manifest."""
        # Where a folder, a repository or an archive lies on this machine is no business of the lock.
        named = self.kind in (PackKind.GIT, PackKind.ARCHIVE)
        parts = portable(self.spec) if named else self.spec
        if self.version:
            parts += f"@{self.version}"
        if self.ref:
            parts += f"#{self.ref}"
        if self.subdirectory:
            parts += f" in {self.subdirectory}"
        return "path" if self.kind is PackKind.PATH else parts


@dataclass(frozen=True, slots=True)
class TargetEntry:
    """`[targets.<name>]`. `packs` empty means every pack of the manifest."""

    name: str
    runtime: str
    scope: str
    profile: str
    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    hooks: bool = True
    portable_hooks: bool = False
    edits: bool = True


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest. `path` is absolute; `folder` is where it lies: relative paths and local targets
    start there. `of_user` is true for the user-level file only."""

    path: str
    folder: str
    of_user: bool
    name: str
    packs: tuple[PackEntry, ...]
    targets: tuple[TargetEntry, ...]
    policy: Mapping[str, Any] = field(default_factory=dict)

    def packs_of(self, target: TargetEntry) -> tuple[PackEntry, ...]:
        """The packs that a target uses, in the order of the manifest."""
        return tuple(p for p in self.packs if not target.packs or p.name in target.packs)


def read_manifest(data: bytes, path: str, environment: Environment) -> Manifest:
    """The manifest in `data`, whose absolute path is `path`.

    Raises `GsdlockError` (status 3): E-MANIFEST-SYNTAX with line and column, E-MANIFEST-INVALID with every
    fault.
    """
    import tomllib

    if len(data) > _MOST_BYTES:
        raise input_error("E-MANIFEST-INVALID", f"{path} is larger than 1 MiB", _FIX, where=path)
    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as fault:
        raise input_error(
            "E-MANIFEST-SYNTAX", f"{path} is not UTF-8 at byte {fault.start}", _FIX, where=path
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as fault:
        raise input_error("E-MANIFEST-SYNTAX", f"{path} does not parse: {fault}", _FIX, where=path) from None
    faults: list[str] = []
    top = Table(document, "", faults)
    name = top.string("name", "default")
    if not _NAME.fullmatch(name):
        top.fault("name", f'"{shown(name)}" must be lower-case letters, digits, ".", "_" or "-"')
    packs = tuple(_pack(key, table) for key, table in _named(top, "packs"))
    targets = tuple(_target(key, table, [p.name for p in packs]) for key, table in _named(top, "targets"))
    policy = top.table("policy")
    top.finish()
    if faults:
        count = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise input_error("E-MANIFEST-INVALID", f"{path} has {count}", _FIX, where=path, details=faults)
    return Manifest(
        path=path,
        folder=path.rsplit("/", 1)[0] or "/",
        of_user=path == user_manifest(environment.folders.config),
        name=name,
        packs=packs,
        targets=targets,
        policy=document.get("policy", {}) if policy is not None else {},
    )


_FIX = "Mend the file; docs/formats/manifest.md says what may stand in it."


def _named(top: Table, key: str) -> list[tuple[str, Table]]:
    table = top.table(key)
    if table is None:
        return []
    rows = []
    for name in table.names():
        row = table.table(name)
        if not _NAME.fullmatch(name):
            table.fault(name, 'the name must be lower-case letters, digits, ".", "_" or "-"')
        if row is not None:
            rows.append((name, row))
    return rows


# Which keys each kind of pack takes besides its own.
_EXTRAS: Mapping[PackKind, tuple[str, ...]] = {
    PackKind.NPM: ("version",),
    PackKind.GIT: ("ref", "subdirectory"),
    PackKind.ARCHIVE: ("subdirectory", "integrity"),
    PackKind.PATH: (),
    PackKind.BUILTIN: (),
}


def _pack(name: str, table: Table) -> PackEntry:
    kinds = [k for k in PackKind if table.has(k.value)]
    if len(kinds) != 1:
        table.fault("", f"must have exactly one of {', '.join(k.value for k in PackKind)}")
    kind = kinds[0] if kinds else PackKind.PATH
    spec = table.string(kind.value) if kinds else ""
    values = {}
    for key in ("version", "ref", "subdirectory", "integrity"):
        if key in _EXTRAS[kind]:
            values[key] = table.string(key, "")
        elif table.has(key):
            table.raw(key)
            table.fault(key, f"does not go with {kind.value}")
    for other in kinds[1:]:
        table.raw(other.value)
    subdirectory = values.get("subdirectory", "")
    if subdirectory and any(p in ("", ".", "..") for p in subdirectory.split("/")):
        table.fault("subdirectory", "must be a relative path without . or ..")
    integrity = values.get("integrity", "")
    if integrity and not integrity.startswith("sha512-"):
        table.fault("integrity", "must start with sha512-")
    table.finish()
    return PackEntry(name=name, kind=kind, spec=spec, **values)


def _target(name: str, table: Table, packs: list[str]) -> TargetEntry:
    target = TargetEntry(
        name=name,
        runtime=table.string("runtime", name),
        scope=table.string("scope", allowed=SCOPES),
        profile=table.string("profile", "full", allowed=PROFILES),
        enable=table.strings("enable"),
        disable=table.strings("disable"),
        packs=table.strings("packs"),
        hooks=table.boolean("hooks", True),
        portable_hooks=table.boolean("portable-hooks", False),
        edits=table.boolean("edits", True),
    )
    for feature in sorted(set(target.enable) & set(target.disable)):
        table.fault("disable", f'"{shown(feature)}" is enabled as well')
    for pack in target.packs:
        if pack not in packs:
            known = ", ".join(packs) or "none"
            table.fault("packs", f'"{shown(pack)}" is not a pack of this manifest; known: {known}')
    table.finish()
    return target
