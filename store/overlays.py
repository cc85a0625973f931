"""The overlays that the user installed, and what the user consented to: one sealed record.

Both stand in one file, so an update (another bundle, with the consent to it) is one rename: it happened or
it did not. The bundles themselves are trees of blobs in the store; former ones stay there by digest, so going
back needs no source. Nothing here is ever read from a project.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ..capabilities.canonical import is_digest
from ..capabilities.errors import missing, shown
from ..lockfiles.model import LockedPack, PackKind, pack_data
from .blobs import Blobs
from .faults import io_at
from .statefiles import DamagedError, read_whole, seal, unseal, write_whole
from .store import Store

USER_SCOPE = "user"
"""The scope of what is installed for all of the user's manifests; a project's is its folder, resolved."""

MOST_FORMER = 10
_NAME = "overlays.json"
_VERSION = 1


class Asked(Struct, frozen=True):
    """The source as it was asked for: see `resolver.manifest.PackEntry`. `spec` is absolute for a path."""

    kind: PackKind
    spec: str
    version: str = ""
    ref: str = ""
    subdirectory: str = ""
    integrity: str = ""


class Installed(Struct, frozen=True):
    """An installed overlay. `pin` names the bundle in force, `former` earlier ones, the newest first, at most
    `MOST_FORMER`. `since` is RFC 3339 UTC."""

    id: str
    asked: Asked
    pin: LockedPack
    since: str
    former: tuple[LockedPack, ...] = ()


class Consent(Struct, frozen=True):
    """That the user has read what a bundle does, and wants it, at one scope.

    `digest` is that of the whole bundle (the digest of its tree); `surfaces` what it was told to execute
    (kind, name, text), `roots` where it was told to write, for telling what is new next time. `by` says how
    consent was given: `terminal` or `flag:--consent`. `signature` is the armoured signature that was checked
    then, empty where none was: it is checked again where this bundle is to come back.
    """

    scope: str
    id: str
    digest: str
    version: str
    surfaces: tuple[tuple[str, str, str], ...]
    roots: tuple[str, ...]
    since: str
    by: str
    signature: str = ""


class Overlays(Struct, frozen=True):
    """All of the record. `consents` are in the order in which they were given. `receipt` is what the ledger
    calls the change that made it so: by it one sees afterwards whether a broken-off change was made."""

    installed: Mapping[str, Installed] = field(default_factory=dict)
    consents: tuple[Consent, ...] = ()
    receipt: str = ""

    def consented(self, scope: str, id_: str, digest: str) -> bool:
        """Whether the user consented to exactly this bundle at this scope."""
        return any((c.scope, c.id, c.digest) == (scope, id_, digest) for c in self.consents)

    def signature(self, id_: str, digest: str) -> str:
        """The signature that was checked when this bundle was last consented to, at whatever scope."""
        given = (c.signature for c in reversed(self.consents) if (c.id, c.digest) == (id_, digest))
        return next((signature for signature in given if signature), "")

    def last(self, scope: str, id_: str) -> Consent | None:
        """The consent that was given last for this overlay at this scope."""
        return next((c for c in reversed(self.consents) if (c.scope, c.id) == (scope, id_)), None)

    def with_consent(self, consent: Consent) -> Overlays:
        """The record with one more consent; the same one given again moves to the end."""
        key = (consent.scope, consent.id, consent.digest)
        others = tuple(c for c in self.consents if (c.scope, c.id, c.digest) != key)
        return replace(self, consents=(*others, consent))

    def with_installed(self, made: Installed) -> Overlays:
        """The record with an overlay installed; what it takes the place of is kept as former."""
        before = self.installed.get(made.id)
        kept: tuple[LockedPack, ...] = ()
        if before is not None:
            kept = tuple(p for p in (before.pin, *before.former) if p.tree != made.pin.tree)[:MOST_FORMER]
        return replace(self, installed={**self.installed, made.id: replace(made, former=kept)})

    def without(self, id_: str) -> Overlays:
        """The record without an overlay, and without the consents to it at the user's scope."""
        return replace(
            self.revoked(USER_SCOPE, id_), installed={i: o for i, o in self.installed.items() if i != id_}
        )

    def revoked(self, scope: str, id_: str) -> Overlays:
        """The record without any consent to an overlay at a scope."""
        return replace(self, consents=tuple(c for c in self.consents if (c.scope, c.id) != (scope, id_)))

    def trees(self) -> set[str]:
        """The digests of all bundles, in force and former, and of those consented to."""
        pins = [p for o in self.installed.values() for p in (o.pin, *o.former)]
        return {p.tree for p in pins} | {c.digest for c in self.consents}


def read_overlays(store: Store) -> Overlays:
    """The record; an empty one where there is none. Raises E-OVERLAY-STATE (status 5), E-IO-…."""
    with io_at("cannot read", f"{store.state}/{_NAME}"):
        data = read_whole(store.fs, store.state, _NAME)
    if data is None:
        return Overlays()
    try:
        return _overlays(unseal(data))
    except (DamagedError, KeyError, TypeError, ValueError, AttributeError):
        raise missing(
            "E-OVERLAY-STATE",
            f"{shown(f'{store.state}/{_NAME}', 400)} is damaged, or was written by a newer gsdlock",
            "Move it away and add your overlays again: nothing is taken for consented that cannot be read.",
            where=f"{store.state}/{_NAME}",
        ) from None


def write_overlays(store: Store, before: Overlays, after: Overlays) -> None:
    """Put `after` in the place of `before` in one step, for one who holds the lock of the state folder.

    Raises E-OVERLAY-MOVED (status 6) where another gsdlock changed the record in between, E-IO-….
    """
    from ..capabilities.errors import Exit, GsdlockError

    if read_overlays(store) != before:
        raise GsdlockError(
            "E-OVERLAY-MOVED",
            "another gsdlock changed the overlays while you were being asked; nothing was done",
            "Look at them again (gsdlock overlay list), then repeat what you did.",
            status=Exit.BUSY,
            where=f"{store.state}/{_NAME}",
        )
    with io_at("cannot write", f"{store.state}/{_NAME}"):
        write_whole(store.fs, store.state, _NAME, seal(_data(after)))


def _data(overlays: Overlays) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "installed": [
            {
                "id": o.id,
                "asked": [
                    o.asked.kind.value,
                    o.asked.spec,
                    o.asked.version,
                    o.asked.ref,
                    o.asked.subdirectory,
                    o.asked.integrity,
                ],
                "pin": pack_data(o.pin),
                "since": o.since,
                "former": [pack_data(p) for p in o.former],
            }
            for _, o in sorted(overlays.installed.items())
        ],
        "consents": [
            {
                "scope": c.scope,
                "id": c.id,
                "digest": c.digest,
                "version": c.version,
                "surfaces": [list(s) for s in c.surfaces],
                "roots": list(c.roots),
                "since": c.since,
                "by": c.by,
                **({"signature": c.signature} if c.signature else {}),
            }
            for c in overlays.consents
        ],
        "receipt": overlays.receipt,
    }


def _overlays(data: Mapping[str, Any]) -> Overlays:
    if data["version"] != _VERSION:
        raise DamagedError("a newer version")
    installed = {}
    for row in data["installed"]:
        kind, *rest = row["asked"]
        installed[str(row["id"])] = Installed(
            id=str(row["id"]),
            asked=Asked(PackKind(kind), *map(str, rest)),
            pin=_pin(row["pin"]),
            since=str(row["since"]),
            former=tuple(map(_pin, row["former"])),
        )
    consents = tuple(
        Consent(
            scope=str(row["scope"]),
            id=str(row["id"]),
            digest=_digest(row["digest"]),
            version=str(row["version"]),
            surfaces=tuple((str(k), str(n), str(t)) for k, n, t in row["surfaces"]),
            roots=tuple(map(str, row["roots"])),
            since=str(row["since"]),
            by=str(row["by"]),
            signature=str(row.get("signature", "")),
        )
        for row in data["consents"]
    )
    return Overlays(installed, consents, str(data.get("receipt", "")))


def _pin(row: list[str]) -> LockedPack:
    name, kind, *rest = row
    pin = LockedPack(name, PackKind(kind), *rest)
    _digest(pin.tree)
    return pin


def _digest(text: Any) -> str:
    if not isinstance(text, str) or not is_digest(text):
        raise DamagedError("not a digest")
    return text


def bundle_digests(blobs: Blobs, trees: Iterable[str]) -> set[str]:
    """Every blob of these bundles: listings and files. A bundle whose listing is lost has none."""
    import json

    found: set[str] = set()
    for tree in trees:
        if blobs.sound(tree):
            rows = json.loads(blobs.get(tree))["files"].values()
            found |= {tree, *(row[0] for row in rows)}
    return found
