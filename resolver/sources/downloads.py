"""Archives that were downloaded once: found again by their integrity, without the network.

The bytes are a blob of the store; `<cache>/downloads/<sha512 in hex>` holds the digest of the blob. The
cache may be lost at any time, and what it says is verified: at worst the archive is downloaded again.
"""

from __future__ import annotations

import contextlib
import os

from ...capabilities.canonical import is_digest, sha256_digest
from ...capabilities.errors import GsdlockError
from .base import BlobStore

_PREFIX = "sha512-"
_LENGTH = 64


def integrity_of(data: bytes) -> str:
    """`sha512-<base64>` of the bytes: the form that npm and subresource integrity use."""
    import base64
    import hashlib

    return _PREFIX + base64.b64encode(hashlib.sha512(data).digest()).decode("ascii")


def is_integrity(text: str) -> bool:
    """Whether `text` is `sha512-` and the base64 of exactly 64 bytes."""
    return _hex(text) is not None


def remember(cache: str, data: bytes) -> None:
    """Note where a downloaded archive, which is in the store, is found. A full cache is no fault."""
    name = _hex(integrity_of(data))
    assert name is not None
    folder = os.path.join(cache, "downloads")
    temporary = os.path.join(folder, f".{name[:16]}-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with open(temporary, "x", encoding="ascii") as file:
            file.write(sha256_digest(data))
        os.replace(temporary, os.path.join(folder, name))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def recall(cache: str, integrity: str, blobs: BlobStore) -> bytes | None:
    """The archive of this integrity as far as it is still here, else None."""
    name = _hex(integrity)
    if name is None:
        return None
    try:
        with open(os.path.join(cache, "downloads", name), encoding="ascii") as file:
            digest = file.read(100)
    except (OSError, UnicodeDecodeError):
        return None
    if not is_digest(digest) or not blobs.has(digest):
        return None
    try:
        data = blobs.get(digest)
    except GsdlockError:
        return None  # damaged: it is downloaded again
    return data if integrity_of(data) == integrity else None


def _hex(integrity: str) -> str | None:
    import base64
    import binascii

    if not integrity.startswith(_PREFIX):
        return None
    try:
        raw = base64.b64decode(integrity[len(_PREFIX) :], validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw.hex() if len(raw) == _LENGTH else None
