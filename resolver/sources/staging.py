"""Content on trial: held in memory until it is kept, so that what is refused leaves nothing behind.

The limits of a source bound what is held (128 MiB and the archive that it came in).
"""

from __future__ import annotations

from ...capabilities.canonical import sha256_digest
from .base import BlobStore


class StagedBlobs:
    """A blob store on top of another: what is put stays here until `keep`; what is asked for may be below."""

    def __init__(self, below: BlobStore) -> None:
        self._below = below
        self._held: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = sha256_digest(data)
        self._held[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        held = self._held.get(digest)
        return self._below.get(digest) if held is None else held

    def has(self, digest: str) -> bool:
        return digest in self._held or self._below.has(digest)

    def flush(self) -> None:
        """Nothing: what is on trial need not last."""

    def keep(self) -> None:
        """Put everything into the store below, durably. Raises `OSError`."""
        for data in self._held.values():
            self._below.put(data)
        self._held.clear()
        self._below.flush()
