"""Which plans were made here, or made again here from their pinned inputs and found the same.

Anybody can write a lock whose digests fit together, and a project brings its own. What it says of where files
go and what executes is believed only where this machine has seen it come out of the inputs: once for each
manifest, for the same plan may be another one's lie.
"""

from __future__ import annotations

import contextlib
import hashlib

from .filesystem import FileSystem
from .statefiles import list_folder, read_whole, remove_file, write_whole
from .store import Store

_FOLDER = "proofs"
MOST = 4096
"""So many are kept. One too few costs no more than a plan that is made again."""


def is_proved(store: Store, plan: str, manifest: bytes) -> bool:
    """Whether the plan (`sha256:…`) of a manifest with this text was seen to come out of its inputs.

    What cannot be read is no proof.
    """
    try:
        return read_whole(store.fs, _folder(store), _name(plan, manifest)) is not None
    except OSError:
        return False


def note_proved(store: Store, plan: str, manifest: bytes) -> None:
    """Remember that it was. It is not flushed, and failing to costs time only."""
    with contextlib.suppress(OSError):
        if not is_proved(store, plan, manifest):
            _make_room(store.fs, _folder(store))
            write_whole(store.fs, _folder(store), _name(plan, manifest), b"", flush=False)


def _make_room(fs: FileSystem, folder: str) -> None:
    names = list_folder(fs, folder)
    for name in names if len(names) >= MOST else ():
        remove_file(fs, folder, name)


def _folder(store: Store) -> str:
    return f"{store.blobs.data}/{_FOLDER}"  # where they go, what they speak of is gone as well


def _name(plan: str, manifest: bytes) -> str:
    return hashlib.sha256(plan.encode("ascii") + b"\0" + manifest).hexdigest()
