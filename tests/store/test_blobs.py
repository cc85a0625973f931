"""Blobs: content by digest, whole or absent, verified whenever it is read."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.store.blobs import Blobs
from gsdlock.store.filesystem_decorators import Faulty, Recording
from gsdlock.store.filesystem_posix import RealFileSystem


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(RealFileSystem(), str(tmp_path / "data"))


def place(tmp_path: Path, digest: str) -> Path:
    return tmp_path / "data" / "blobs" / "sha256" / digest[7:9] / digest[9:]


def test_what_is_put_comes_back_under_its_digest(blobs: Blobs) -> None:
    digest = blobs.put(b"content")
    assert digest == sha256_digest(b"content")
    assert blobs.has(digest)
    assert blobs.get(digest) == b"content"
    assert list(blobs.digests()) == [digest]


def test_a_blob_is_read_only_and_its_folders_are_private(blobs: Blobs, tmp_path: Path) -> None:
    path = place(tmp_path, blobs.put(b"content"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    for folder in (path.parent, *path.parent.parents[:3]):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_blob_that_is_there_is_not_written_again(blobs: Blobs, tmp_path: Path) -> None:
    path = place(tmp_path, blobs.put(b"content"))
    before = path.stat()
    blobs.put(b"content")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_missing_blob_is_named(blobs: Blobs) -> None:
    with pytest.raises(GsdlockError) as caught:
        blobs.get(sha256_digest(b"never put"))
    assert (caught.value.code, caught.value.status) == ("E-BLOB-MISSING", 5)


@pytest.mark.parametrize("damage", [b"", b"conten", b"Content", b"content and more"])
def test_a_damaged_blob_is_found_and_healed_by_the_next_put(
    blobs: Blobs, tmp_path: Path, damage: bytes
) -> None:
    digest = blobs.put(b"content")
    path = place(tmp_path, digest)
    path.chmod(0o644)
    path.write_bytes(damage)
    with pytest.raises(GsdlockError) as caught:
        blobs.get(digest)
    assert (caught.value.code, caught.value.status) == ("E-BLOB-CORRUPT", 5)
    assert not blobs.sound(digest)
    blobs.put(b"content")
    assert blobs.get(digest) == b"content"


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:" + "a" * 63, "sha256:" + "../" * 21 + "a"])
def test_what_is_no_digest_never_becomes_a_path(blobs: Blobs, digest: str) -> None:
    with pytest.raises(ValueError):
        blobs.get(digest)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_failing_write_leaves_no_blob_and_a_second_one_succeeds(tmp_path: Path, number: int) -> None:
    counting = Faulty(RealFileSystem(), at=0)
    Blobs(counting, str(tmp_path / "count")).put(b"content")
    failures = 0
    for at in range(1, counting.calls + 1):
        folder = str(tmp_path / f"data{at}")
        digest = sha256_digest(b"content")
        sound = Blobs(RealFileSystem(), folder)
        try:
            Blobs(Faulty(RealFileSystem(), at, number), folder).put(b"content")
        except OSError as error:
            failures += 1
            assert error.errno == number
            assert not sound.has(digest)
        assert sound.get(sound.put(b"content")) == b"content"
    assert failures >= counting.calls - 2  # a look that fails only means that the blob is written


@pytest.mark.parametrize("count", [1, 40])
def test_flush_makes_every_blob_since_the_last_one_last(tmp_path: Path, count: int) -> None:
    fs = Recording(RealFileSystem(), {"flush_file", "flush_all"})
    blobs = Blobs(fs, str(tmp_path / "data"))
    digests = [blobs.put(bytes([number])) for number in range(count)]
    blobs.flush()
    flushed = {os.path.basename(call.path) for call in fs.calls}
    assert all(digest[9:] in flushed for digest in digests) or "flush_all" in {c.method for c in fs.calls}
    fs.calls.clear()
    blobs.flush()
    assert fs.calls == []


def test_what_interrupted_writes_left_is_removed_once_it_is_old(blobs: Blobs, tmp_path: Path) -> None:
    digest = blobs.put(b"content")
    leftover = tmp_path / "data" / "blobs" / "tmp" / "1-abc"
    leftover.write_bytes(b"half")
    assert blobs.remove_temporaries(age=3600) == 0
    os.utime(leftover, (1, 1))
    assert blobs.remove_temporaries(age=3600) == 1
    assert not leftover.exists()
    assert blobs.get(digest) == b"content"


def test_reading_makes_nothing(blobs: Blobs, tmp_path: Path) -> None:
    assert not blobs.has(sha256_digest(b"x"))
    assert list(blobs.digests()) == []
    assert not (tmp_path / "data").exists()
