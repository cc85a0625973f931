"""Content by digest: `<data>/blobs/sha256/ab/<62 hex>`, mode 0444, never changed once there.

A blob is written under another name and renamed, so it is whole or absent; it is verified whenever it is
read, so a damaged one is found and never used. No handle is kept between calls: one `Blobs` may be used by
several threads, and several processes may share a folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from ..capabilities.canonical import SHA256_PREFIX, canonical_json, is_digest, sha256_digest
from ..capabilities.errors import GsdlockError, input_error, missing, shown
from ..lockfiles.versions import LOCK_AGAIN
from .faults import io_at
from .filesystem import FLUSH_ONE_BY_ONE, FileSystem, is_regular, open_private, reason


class Blobs:
    """The blobs of one data folder (absolute path; made when the first blob is put)."""

    def __init__(self, fs: FileSystem, folder: str) -> None:
        self._fs = fs
        self.data = folder
        self._base = f"{folder}/blobs/sha256"
        self._temporary = f"{folder}/blobs/tmp"
        self._put: list[str] = []  # digests written since the last flush

    def put(self, data: bytes) -> str:
        """Keep `data`; its digest (`sha256:…`). A damaged blob of that digest is replaced.

        Lasting only after `flush`. Raises `OSError`.
        """
        digest = sha256_digest(data)
        folder, name = self._place(digest)
        try:
            if self._fs.read_path(f"{folder}/{name}") == data:
                return digest
        except OSError:
            pass  # not there, or not readable: written anew below
        temporary = f"{os.getpid()}-{os.urandom(8).hex()}"
        with self._open(self._temporary) as from_folder, self._open(folder) as to_folder:
            self._fs.create(from_folder, temporary, data, 0o444)
            try:
                self._fs.rename(from_folder, temporary, to_folder, name)
            except OSError:
                with contextlib.suppress(OSError):
                    self._fs.unlink(from_folder, temporary)
                raise
        self._put.append(digest)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a blob, verified. Raises E-BLOB-MISSING, E-BLOB-CORRUPT, E-BLOB-UNREADABLE."""
        folder, name = self._place(digest)
        try:
            data = self._fs.read_path(f"{folder}/{name}")
        except FileNotFoundError:
            raise missing(
                "E-BLOB-MISSING",
                f"the store does not hold {digest}",
                "Run `gsdlock resolve` to fetch and rebuild the content that the lock names.",
                where=f"{folder}/{name}",
            ) from None
        except OSError as error:
            raise missing(
                "E-BLOB-UNREADABLE",
                f"the store cannot read {digest}: {shown(reason(error))}",
                f"Mend the permissions of {shown(f'{folder}/{name}', 400)}, then run this again.",
                where=f"{folder}/{name}",
            ) from error
        if sha256_digest(data) != digest:
            raise missing(
                "E-BLOB-CORRUPT",
                f"the store's copy of {digest} is damaged",
                "Run `gsdlock resolve`: it fetches and rebuilds the content that the lock names.",
                where=f"{folder}/{name}",
            )
        return data

    def path(self, digest: str) -> str:
        """The full path of a blob, whether or not it is there."""
        return "/".join(self._place(digest))

    def status(self, digest: str) -> os.stat_result | None:
        """The file status of a blob; None where it is not there. Raises E-IO-…."""
        folder, name = self._place(digest)
        with io_at("cannot look into", folder):
            try:
                handle = self._fs.open_root(folder)
            except (FileNotFoundError, NotADirectoryError):
                return None
            try:
                return self._fs.lstat(handle, name)
            finally:
                self._fs.close(handle)

    def has(self, digest: str) -> bool:
        """Whether a blob is there (not whether it is sound)."""
        return is_regular(self.status(digest))

    def sound(self, digest: str) -> bool:
        """Whether a blob is there and matches its digest."""
        try:
            self.get(digest)
        except GsdlockError:
            return False
        return True

    def flush(self) -> None:
        """Every blob put since the last flush is on the medium when this returns. Raises `OSError`."""
        digests, self._put = self._put, []
        if not digests:
            return
        with self._open(self._base) as base:
            if len(digests) > FLUSH_ONE_BY_ONE and self._fs.flush_all(base):
                return
            folders: dict[str, list[str]] = {}
            for digest in digests:
                folder, name = self._place(digest)
                folders.setdefault(folder, []).append(name)
            for folder, names in folders.items():
                with self._open(folder) as handle:
                    for name in names:
                        self._fs.flush_file(handle, name)
                    self._fs.flush_dir(handle)
            self._fs.flush_dir(base)

    def digests(self) -> Iterator[str]:
        """The digests of all blobs there, sorted."""
        for prefix in self._list(self._base):
            for name in self._list(f"{self._base}/{prefix}"):
                digest = f"{SHA256_PREFIX}{prefix}{name}"
                if is_digest(digest):
                    yield digest

    def remove(self, digest: str) -> int:
        """Forget a blob; the bytes that it took. For collection and repair only. Raises `OSError`."""
        folder, name = self._place(digest)
        with self._open(folder) as handle:
            status = self._fs.lstat(handle, name)
            if status is None:
                return 0
            self._fs.unlink(handle, name)
            return status.st_size

    def clock(self) -> float:
        """The time by the clock that stamps the blobs, in seconds since the epoch. Raises `OSError`."""
        name = f"{os.getpid()}-{os.urandom(8).hex()}"
        with self._open(self._temporary) as handle:
            self._fs.create(handle, name, b"", 0o600)
            status = self._fs.lstat(handle, name)
            self._fs.unlink(handle, name)
        return status.st_mtime if status is not None else 0.0

    def remove_temporaries(self, age: float) -> int:
        """Remove what interrupted writes left behind and is older than `age` seconds; how many files."""
        names = self._list(self._temporary)
        removed = 0
        limit = self.clock() - age if names else 0.0
        if names:
            with self._open(self._temporary) as handle:
                for name in names:
                    status = self._fs.lstat(handle, name)
                    if status is not None and status.st_mtime <= limit:
                        self._fs.unlink(handle, name)
                        removed += 1
        return removed

    def _place(self, digest: str) -> tuple[str, str]:
        if not is_digest(digest):
            raise ValueError(f"not a digest: {shown(digest)}")
        body = digest.removeprefix(SHA256_PREFIX)
        return f"{self._base}/{body[:2]}", body[2:]

    def _list(self, folder: str) -> list[str]:
        try:
            handle = self._fs.open_root(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        try:
            return self._fs.list_dir(handle)
        finally:
            self._fs.close(handle)

    @contextlib.contextmanager
    def _open(self, folder: str) -> Iterator[int]:
        handle = open_private(self._fs, folder)
        try:
            yield handle
        finally:
            self._fs.close(handle)


def named_value(get: Callable[[str], bytes], digest: str, what: str) -> Any:
    """The JSON data that a lock names by its digest, as `what`; `get` gives the bytes of a digest.

    A lock that somebody wrote may name any blob, also one that a hostile pack brought; so what is not the
    canonical form that we keep is refused. Raises E-BLOB-…, E-LOCK-INVALID (status 3).
    """
    import json

    data = get(digest)
    try:
        value = json.loads(data)
        if canonical_json(value) == data:
            return value
    except (ValueError, TypeError, RecursionError):
        pass
    raise wrong_kind(digest, what)


def wrong_kind(digest: str, what: str) -> GsdlockError:
    """A lock names a blob as `what`, and it is none."""
    return input_error("E-LOCK-INVALID", f"the lock names {digest} as {what}, and that is none", LOCK_AGAIN)
