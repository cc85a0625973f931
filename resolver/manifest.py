"""`gsdlock.toml`: what a user writes. Read and checked here; nothing is fetched.

The user-level file is the only one that speaks for the user; any other is a project's, and what it wants
outside the project is of high risk. Where it is looked for: `finding`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from ..capabilities.environment import Environment
from ..capabilities.errors import input_error, refused, shown
from ..capabilities.tables import Table
from ..capabilities.toml_text import read_toml
from ..capabilities.words import Words
from ..lockfiles.model import PackKind
from .finding import user_manifest
from .settings import read_overrides, read_settings
from .specs import distinct

PROFILES = ("core", "standard", "full")
SCOPES = ("global", "local")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MOST_BYTES = 1024 * 1024
MOST_TABLES = 200
"""Of packs, targets and overlays each: a project's file is a stranger's, and what it asks for must end."""


class PackEntry(Struct, frozen=True):
    """`[packs.<name>]` or `[overlays.<id>]`: one of the kinds, and what goes with it.

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
        # Where a repository or an archive lies on this machine is no business of the lock; that it is another
        # one now, is.
        named = self.kind in (PackKind.GIT, PackKind.ARCHIVE)
        parts = distinct(self.spec) if named else self.spec
        if self.version:
            parts += f"@{self.version}"
        if self.ref:
            parts += f"#{self.ref}"
        if self.subdirectory:
            parts += f" in {self.subdirectory}"
        return "path" if self.kind is PackKind.PATH else parts


class SkillsOption(Words):
    """What becomes of a target's skills.

    usual: they go where the host's descriptor says. own: into a folder that this host alone reads, where
    that is another one. none: they are left out, for a host that sees those of another target.
    """

    USUAL = "usual"
    OWN = "own"
    NONE = "none"


class TargetEntry(Struct, frozen=True):
    """`[targets.<name>]`. `packs` empty means every pack of the manifest.

    `share_roots` are runtimes whose folders a third-party runtime may meet; at global scope only the user's
    own file says so.
    """

    name: str
    runtime: str
    scope: str
    profile: str
    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    skills: SkillsOption = SkillsOption.USUAL
    hooks: bool = True
    portable_hooks: bool = False
    edits: bool = True
    share_roots: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """What is asked for beyond the usual and decides on the content, as the words of the lock, sorted."""
        asked = {
            "no-hooks": not self.hooks,
            "no-skills": self.skills is SkillsOption.NONE,
            "own-skills": self.skills is SkillsOption.OWN,
            "portable-hooks": self.portable_hooks,
        }
        words = [word for word, is_asked in asked.items() if is_asked]
        words += [f"enable {name}" for name in self.enable] + [f"disable {name}" for name in self.disable]
        return tuple(sorted(words))


class Manifest(Struct, frozen=True):
    """A checked manifest. `path` is absolute; `folder` is where it lies: relative paths and local targets
    start there. `of_user` is true for the user-level file only. `policy` holds the rules unread, `settings`
    what it says in `[settings]` and `[policy]`, `overrides` the full paths of `[dev-overrides]` by pack."""

    path: str
    folder: str
    of_user: bool
    name: str
    packs: tuple[PackEntry, ...]
    targets: tuple[TargetEntry, ...]
    policy: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, bool | str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    overlays: tuple[PackEntry, ...] = ()

    def packs_of(self, target: TargetEntry) -> tuple[PackEntry, ...]:
        """The packs that a target uses, in the order of the manifest."""
        return tuple(p for p in self.packs if not target.packs or p.name in target.packs)


def read_manifest(data: bytes, path: str, environment: Environment) -> Manifest:
    """The manifest in `data`, whose absolute path is `path`.

    Raises `GsdlockError`: E-MANIFEST-SYNTAX with line and column (status 3), E-MANIFEST-INVALID with every
    fault (3), E-LAYER-PROJECT where a project's file says what only the user's may (4).
    """
    import tomllib

    user_file = user_manifest(environment.folders.config)
    of_user = path == user_file

    if len(data) > _MOST_BYTES:
        raise input_error("E-MANIFEST-INVALID", f"{path} is larger than 1 MiB", _FIX, where=path)
    try:
        document = read_toml(data.decode("utf-8-sig"))
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
        top.fault("name", f'"{shown(name)}" must be 1 to 64 lower-case letters, digits, ".", "_" or "-"')
    packs = tuple(_pack(key, table) for key, table in _named(top, "packs"))
    targets = tuple(_target(key, table, [p.name for p in packs]) for key, table in _named(top, "targets"))
    overlays = tuple(_pack(key, table, _OVERLAY_KINDS) for key, table in _named(top, "overlays"))
    policy, own = top.table("policy"), top.table("settings")
    settings, beyond = read_settings(
        {"policy": policy, "settings": own}, of_user=of_user, user_file=user_file
    )
    if own is not None:
        own.finish()
    overrides = top.table("dev-overrides")
    folders = {} if overrides is None else read_overrides(overrides, home=environment.home)
    if overrides is not None and not of_user:
        beyond.append(f"dev-overrides: only your own file may say this: {user_file}")
    beyond += [
        f"targets.{t.name}.share-roots: at global scope only your own file may say this: {user_file}"
        for t in targets
        if t.share_roots and t.scope == "global" and not of_user
    ]
    top.finish()
    _raise_all(path, of_user, faults, beyond, user_file)
    return Manifest(
        path=path,
        folder=path.rsplit("/", 1)[0] or "/",
        of_user=of_user,
        name=name,
        packs=packs,
        targets=targets,
        policy={k: v for k, v in document.get("policy", {}).items() if k != "require-signature"},
        settings=settings,
        overrides=folders,
        overlays=overlays,
    )


def _raise_all(path: str, of_user: bool, faults: list[str], beyond: list[str], user_file: str) -> None:
    """Raise for all faults of a file at once; `beyond` is what a project's file may not say."""
    if beyond and not faults:
        raise refused(
            "E-LAYER-PROJECT",
            f"{path} comes with a project and says what only your own file may say",
            f"Take it out; what you trust yourself stands in {user_file}.",
            where=path,
            details=beyond,
        )
    if faults:
        count = "one fault" if len(faults + beyond) == 1 else f"{len(faults + beyond)} faults"
        layer = "your own file" if of_user else "a project's file"
        raise input_error(
            "E-MANIFEST-INVALID",
            f"{path}, {layer}, has {count}",
            _FIX,
            where=path,
            details=[*faults, *beyond],
        )


_FIX = "Mend the file; docs/formats/manifest.md says what may stand in it."


def _named(top: Table, key: str) -> list[tuple[str, Table]]:
    table = top.table(key)
    if table is None:
        return []
    rows = []
    if len(table.names()) > MOST_TABLES:
        table.fault("", f"has {len(table.names())} tables; at most {MOST_TABLES} are read")
    for name in table.names()[:MOST_TABLES]:
        row = table.table(name)
        if not _NAME.fullmatch(name):
            table.fault(name, 'the name must be 1 to 64 lower-case letters, digits, ".", "_" or "-"')
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


# What is built in is first party, and no overlay.
_OVERLAY_KINDS = tuple(k for k in PackKind if k is not PackKind.BUILTIN)


def _pack(name: str, table: Table, allowed: Sequence[PackKind] = tuple(PackKind)) -> PackEntry:
    kinds = [k for k in allowed if table.has(k.value)]
    if len(kinds) != 1:
        table.fault("", f"must have exactly one of {', '.join(k.value for k in allowed)}")
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
        skills=SkillsOption(table.string("skills", "usual", allowed=[o.value for o in SkillsOption])),
        hooks=table.boolean("hooks", True),
        portable_hooks=table.boolean("portable-hooks", False),
        edits=table.boolean("edits", True),
        share_roots=table.strings("share-roots"),
    )
    for feature in sorted(set(target.enable) & set(target.disable)):
        table.fault("disable", f'"{shown(feature)}" is enabled as well')
    for pack in target.packs:
        if pack not in packs:
            known = ", ".join(packs) or "none"
            table.fault("packs", f'"{shown(pack)}" is not a pack of this manifest; known: {known}')
    table.finish()
    return target
