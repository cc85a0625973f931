"""Content that several targets have in common is read, and put into the store, once in a resolve."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from ..capabilities.errors import shown
from ..lockfiles.placeholders import has_placeholder
from .marks import placeholder_fault
from .pack import Pack
from .plan import BlobSink


def read_once(pack: Pack) -> Pack:
    """The pack with a memory: each file is read from the store, and verified there, once.

    Text of a pack that looks like one of our placeholders would be filled in at apply: reading a file that
    has any raises `GsdlockError` E-PACK-PLACEHOLDER (status 3).
    """
    stored = pack.tree.read

    @cache
    def read(path: str) -> bytes:
        data = stored(path)
        if has_placeholder(data):
            raise placeholder_fault(f"pack {shown(pack.name)}", path)
        return data

    return replace(pack, tree=replace(pack.tree, read=read))


class PutOnce:
    """A sink that hands equal content on once, and remembers its digest."""

    def __init__(self, blobs: BlobSink) -> None:
        self._blobs = blobs
        self._digests: dict[bytes, str] = {}

    def put(self, data: bytes) -> str:
        """Keeps `data`, gives its digest."""
        digest = self._digests.get(data)
        if digest is None:
            digest = self._digests[data] = self._blobs.put(data)
        return digest
