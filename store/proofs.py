"""What this machine has seen for itself of a lock: which plans come out of their inputs, which trees out of
their pins.

Anybody can write a lock whose digests fit together, and a project brings its own. What it says of where files
go and what executes is believed only where this machine has seen it come out of the inputs, once for each
text of a manifest, as the same plan may be another one's lie. What it says of the tree of a commit or a
tarball is believed where that tree was taken out of it here, whatever the manifest says.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable

from ..capabilities.canonical import canonical_json
from ..lockfiles.model import LockedPack, pack_data
from .statefiles import list_folder, read_whole, remove_file, write_whole
from .store import Store

_FOLDER = "proofs"
MOST = 4096
"""So many are kept. One too few costs no more than what is looked at again."""


def of_plan(plan: str, manifest: bytes) -> str:
    """The proof that a plan (`sha256:…`) comes out of a manifest with this text and the pins of its lock."""
    return hashlib.sha256(b"plan\0" + plan.encode("ascii") + b"\0" + manifest).hexdigest()


def of_pin(pin: LockedPack) -> str:
    """The proof that the tree of a pin is that of its commit or its bytes, under whatever name."""
    return hashlib.sha256(b"pin\0" + canonical_json(pack_data(pin)[1:])).hexdigest()


def is_kept(store: Store, proof: str) -> bool:
    """Whether a proof is known here. What cannot be read is none."""
    try:
        return read_whole(store.fs, _folder(store), proof) is not None
    except OSError:
        return False


def keep(store: Store, proofs: Iterable[str]) -> None:
    """Remember proofs. They are not flushed, and failing to keep them costs time only."""
    new = [proof for proof in proofs if not is_kept(store, proof)]
    with contextlib.suppress(OSError):
        names = list_folder(store.fs, _folder(store)) if new else []
        for name in names if len(names) >= MOST else ():
            remove_file(store.fs, _folder(store), name)
        for proof in new:
            write_whole(store.fs, _folder(store), proof, b"", flush=False)


def _folder(store: Store) -> str:
    return f"{store.blobs.data}/{_FOLDER}"  # where they go, what they speak of is gone as well
