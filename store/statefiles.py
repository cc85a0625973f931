"""Our own records as sealed JSON: written whole or not at all, and any damage is found when they are read.

A sealed file is `{"digest":"sha256:…","record":{…}}` with canonical spacing and sorted keys, and the digest
is over the bytes of the record as they stand. So a flipped bit and a cut end are both seen before anything in
it is believed.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from msgspec.json import decode

from ..capabilities.canonical import canonical_json, sha256_digest, unpacked
from .filesystem import FileSystem, open_private

_HEAD = b'{"digest":"'
_MIDDLE = b'","record":'
_START = len(_HEAD) + 71 + len(_MIDDLE)
MAX_RECORD = 256 << 20
"""Bytes: no record is longer."""


class DamagedError(ValueError):
    """A record is cut, altered, or was never one of ours."""


def seal(record: dict[str, Any]) -> bytes:
    """The bytes of a sealed file. `record` may hold floats (a user's value in it may be one), not NaN."""
    try:
        body = canonical_json(record)
    except (TypeError, ValueError):  # a fraction, or a name that is no UTF-8
        body = json.dumps(
            record,
            default=unpacked,
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
        ).encode("utf-8", "surrogatepass")
    return _HEAD + sha256_digest(body).encode("ascii") + _MIDDLE + body + b"}"


def unseal(data: bytes) -> dict[str, Any]:
    """The record in sealed bytes. Raises `DamagedError`."""
    body = data.rstrip(b"\n")[_START:-1]
    if data.rstrip(b"\n") != _HEAD + sha256_digest(body).encode("ascii") + _MIDDLE + body + b"}":
        raise DamagedError("the seal does not match")
    try:
        record = decode(body)
    except (ValueError, RecursionError):  # a name that is no UTF-8, or a number out of the common range
        record = json.loads(body.decode("utf-8", "surrogatepass"))
    if not isinstance(record, dict):
        raise DamagedError("not a record")
    return record


def write_whole(fs: FileSystem, folder: str, name: str, data: bytes, *, flush: bool = True) -> None:
    """Write `folder/name` (0600) by another name and rename; with `flush` it lasts when this returns, and so
    do the folders that were made for it."""
    handle = open_private(fs, folder, flush=flush)
    try:
        temporary = f".tmp-{os.getpid()}-{os.urandom(6).hex()}"
        fs.create(handle, temporary, data, 0o600)
        try:
            if flush:
                fs.flush_file(handle, temporary)
            fs.rename(handle, temporary, handle, name)
        except OSError:
            with contextlib.suppress(OSError):
                fs.unlink(handle, temporary)
            raise
        if flush:
            fs.flush_dir(handle)
    finally:
        fs.close(handle)


def read_whole(fs: FileSystem, folder: str, name: str) -> bytes | None:
    """The bytes of `folder/name`; None where it, or the folder, is not there. Raises `OSError`."""
    try:
        handle = fs.open_root(folder)
    except FileNotFoundError:
        return None
    try:
        return fs.read(handle, name, MAX_RECORD)
    except FileNotFoundError:
        return None
    finally:
        fs.close(handle)


def list_folder(fs: FileSystem, folder: str) -> list[str]:
    """The names in one of our folders, sorted, temporary ones left out; empty where it is not there."""
    try:
        handle = fs.open_root(folder)
    except FileNotFoundError:
        return []
    try:
        return [name for name in fs.list_dir(handle) if not name.startswith(".tmp-")]
    finally:
        fs.close(handle)


def remove_file(fs: FileSystem, folder: str, name: str, *, flush: bool = False) -> None:
    """Remove `folder/name`; nothing where it is not there. With `flush` it stays away when this returns.

    Raises `OSError`.
    """
    try:
        handle = fs.open_root(folder)
    except FileNotFoundError:
        return
    try:
        with contextlib.suppress(FileNotFoundError):
            fs.unlink(handle, name)
            if flush:
                fs.flush_dir(handle)
    finally:
        fs.close(handle)
