"""Plan and lock as plain frozen data. No machine path, no user name and no time in anything here.

A `Lock` is what `gsdlock.lock` says: which inputs were used (`packs`, `capabilities`) and what each target
will hold (`targets`). Its `plan` digest covers all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from ..capabilities.canonical import canonical_json, plain_json, sha256_digest
from ..capabilities.words import Words

LOCK_VERSION = 1
OVERLAY_PREFIX = "overlay:"
"""Before an overlay's id, where it stands among packs and origins. No pack's name holds a colon."""


class PackKind(Words):
    """Where a pack comes from."""

    NPM = "npm"
    GIT = "git"
    ARCHIVE = "archive"
    PATH = "path"
    BUILTIN = "builtin"


class EditFormat(Words):
    """How an edited file is read: JSON with comments, TOML, YAML, HCL with labelled blocks, or Markdown with
    a marked block."""

    JSONC = "jsonc"
    TOML = "toml"
    YAML = "yaml"
    HCL = "hcl"
    MARKDOWN = "markdown"


class EditOp(Words):
    """What an edit does.

    ensure: the value stands at `at`; another value there is a collision.
    append-unique: the array at `at` holds the value once (compared by meaning).
    set-if-absent: the value stands at `at` unless the user has any value there.
    block: the text stands in the file between two marker lines named `at`.
    """

    ENSURE = "ensure"
    APPEND_UNIQUE = "append-unique"
    SET_IF_ABSENT = "set-if-absent"
    BLOCK = "block"


class Placement(Struct, frozen=True):
    """One whole file at `root:path`.

    `digest` is of the locked bytes (with placeholders where `fill` is true); `mode` 0o644 or 0o755; `size`
    of the locked bytes.
    """

    root: str
    path: str
    digest: str
    mode: int
    size: int
    fill: bool = False

    @property
    def key(self) -> str:
        """`root:path`, what a file goes by in plans, choices and messages."""
        return f"{self.root}:{self.path}"


class Edit(Struct, frozen=True):
    """One change inside a file that the user or the host also owns.

    `root:path` names the file; where one of `instead` (names in the same folder) exists on disk, the first
    that does is edited in its place. `at` is a JSON pointer (RFC 6901), for `block` the marker name. `value`
    is the digest of the canonical JSON of the value (a string for `block`); `fill` says that it or `at`
    holds placeholders. `executes` says that it makes a host run something (a hook, a server, a status line).
    """

    root: str
    path: str
    format: EditFormat
    op: EditOp
    at: str
    value: str
    fill: bool = False
    executes: bool = False
    instead: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`root:path` of the shared file."""
        return f"{self.root}:{self.path}"


class Target(Struct, frozen=True):
    """One runtime at one scope and what it will hold.

    `origins` is the digest of a blob: see `Origin`. `tools` are the interpreters whose paths are filled in at
    apply (`node`, `bash` ...). `options` are words for what the manifest asked of the target beyond the usual
    (`no-hooks`, `enable ui` ...), sorted: with others it would hold other things.
    """

    name: str
    runtime: str
    scope: str
    profile: str
    features: tuple[str, ...]
    placements: tuple[Placement, ...]
    edits: tuple[Edit, ...]
    origins: str
    packs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """`sha256:…` of the canonical JSON of the target."""
        return sha256_digest(target_bytes(self))


class Origin(Struct, frozen=True):
    """Why one file or entry is in the plan: pack, feature, artifact (`kind/stem`), converter and the
    descriptor axis that put it there (`artifactLayout.global[0]`, `hooksSurface` ...). Empty where none."""

    pack: str
    feature: str
    artifact: str
    converter: str
    axis: str


class LockedPack(Struct, frozen=True):
    """The identity of one pack. `integrity` is `sha512-<base64>` of the downloaded bytes, `revision` a git
    commit, `tree` the digest of the unpacked tree; empty where the kind has none."""

    name: str
    kind: PackKind
    requested: str
    resolved: str
    tree: str
    integrity: str = ""
    revision: str = ""


class LockedCapability(Struct, frozen=True):
    """One descriptor in use. `origin` is `builtin`, `pack:<name>`, or `overlay:<id>` for one of
    `Lock.overlays`."""

    id: str
    role: str
    version: str
    origin: str
    digest: str


class Lock(Struct, frozen=True):
    """All of `gsdlock.lock`: a plan with the identity of each of its inputs.

    `overlays` are the bundles of third-party capabilities in use, each by the id of its capability; `tree` is
    the digest that a user consents to.
    """

    packs: tuple[LockedPack, ...]
    capabilities: tuple[LockedCapability, ...]
    targets: tuple[Target, ...]
    overlays: tuple[LockedPack, ...] = ()

    @property
    def plan(self) -> str:
        """Digest over the canonical plan, `sha256:…`."""
        return sha256_digest(canonical_json(plan_data(self)))

    @property
    def inputs(self) -> tuple[LockedPack, ...]:
        """Packs and overlays, the latter named `overlay:<id>`, as in the origins of targets."""
        bundles = (replace(o, name=OVERLAY_PREFIX + o.name) for o in self.overlays)
        return (*self.packs, *bundles)

    def target(self, name: str) -> Target | None:
        return next((t for t in self.targets if t.name == name), None)


def target_data(target: Target) -> dict[str, Any]:
    """A target as plain data: what its digest is taken of."""
    return {
        "name": target.name,
        "runtime": target.runtime,
        "scope": target.scope,
        "profile": target.profile,
        "features": list(target.features),
        "packs": list(target.packs),
        "tools": list(target.tools),
        **({"options": list(target.options)} if target.options else {}),
        "origins": target.origins,
        "files": {p.key: [p.digest, p.mode, p.size, p.fill] for p in target.placements},
        "edits": [
            [e.key, e.format.value, e.op.value, e.at, e.value, e.fill, e.executes, list(e.instead)]
            for e in target.edits
        ],
    }


@lru_cache(maxsize=64)
def target_bytes(target: Target) -> bytes:
    """`target_data` as canonical JSON: what its digest is taken of, and what the store keeps of it.

    Remembered for some targets, since a command asks for it again and again.
    """
    data = target_data(target)
    return canonical_json(data | {"files": plain_json(data["files"])})


def plan_data(lock: Lock) -> dict[str, Any]:
    """The plan as data for `canonical_json`: what `Lock.plan` is the digest of."""
    overlays = {"overlays": [pack_data(o) for o in lock.overlays]} if lock.overlays else {}
    return {
        **overlays,
        "packs": [pack_data(p) for p in lock.packs],
        "capabilities": [[c.id, c.role, c.version, c.origin, c.digest] for c in lock.capabilities],
        "targets": [Raw(target_bytes(t)) for t in lock.targets],
    }


def origins_data(origins: Mapping[str, Origin], packs: Sequence[LockedPack]) -> dict[str, Any]:
    """Where a target comes from, as the plain data that is kept in the store: its packs, and the origin of
    each file (key `root:path`) and entry (key `root:path#<at>#<value digest>`)."""
    return {
        "packs": [pack_data(p) for p in packs],
        "origins": {k: [o.pack, o.feature, o.artifact, o.converter, o.axis] for k, o in origins.items()},
    }


def origins_from_data(data: Mapping[str, Any]) -> tuple[dict[str, Origin], tuple[LockedPack, ...]]:
    """The inverse of `origins_data`, for data whose digest was verified."""
    origins = {key: Origin(*row) for key, row in data["origins"].items()}
    packs = (LockedPack(name, PackKind(kind), *rest) for name, kind, *rest in data["packs"])
    return origins, tuple(packs)


def pack_data(pack: LockedPack) -> list[str]:
    """A pack's identity as plain data, in the order of its fields."""
    p = pack
    return [p.name, p.kind.value, p.requested, p.resolved, p.tree, p.integrity, p.revision]


def edit_origin_key(edit: Edit) -> str:
    """The key under which `origins_data` holds the origin of an edit."""
    return f"{edit.key}#{edit.at}#{edit.value}"


def target_from_data(data: Mapping[str, Any]) -> Target:
    """The inverse of `target_data`, for data whose digest was verified."""
    return Target(
        name=data["name"],
        runtime=data["runtime"],
        scope=data["scope"],
        profile=data["profile"],
        features=tuple(data["features"]),
        packs=tuple(data["packs"]),
        tools=tuple(data["tools"]),
        options=tuple(data.get("options", ())),
        origins=data["origins"],
        placements=tuple(
            Placement(*_split_key(key), digest, mode, size, fill)
            for key, (digest, mode, size, fill) in data["files"].items()
        ),
        edits=tuple(
            Edit(
                *_split_key(key),
                EditFormat(form),
                EditOp(op),
                at,
                value,
                fill,
                executes,
                tuple(instead),
            )
            for key, form, op, at, value, fill, executes, instead in data["edits"]
        ),
    )


def _split_key(key: str) -> tuple[str, str]:
    root, _, path = key.partition(":")
    return root, path
