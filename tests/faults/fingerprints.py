"""Whether two disks are alike, so that what was checked on one need not be checked on the other.

Every point of failure is played, but many leave the same behind: a process that dies before it looks at
something leaves what it would leave before its next change. Alike are two disks that have the same files with
the same modes and bytes, but for what no two runs share: times, numbers of processes, files and transactions,
and the seals over these. Of the ledger the receipts are compared, and the sizes of its files.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
from pathlib import Path

from .folders import Look

_LEDGER = "own/state/ledger.sqlite"
_WORTHLESS = frozenset({f"{_LEDGER}-shm", "own/state/lock.holder"})
"""SQLite makes its shared memory anew, and who held the lock is dead."""
_TEMPORARY = re.compile(rb"\d+-[0-9a-f]{12,16}(?![0-9a-f])")  # `.tmp-PID-…`, and content on its way in
_MASKS = (
    (re.compile(rb'^\{"digest":"sha256:[0-9a-f]{64}"'), b"SEAL"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), b"TIME"),
    (re.compile(rb"\[\d+,\d+,\d{15,}\]"), b"INODE, SIZE, TIME"),
    (re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"), b"ID OF A PLAN"),
    (re.compile(rb"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])"), b"ID OF A TRANSACTION"),
)


def fingerprint(now: Path, at_start: Look, found: Look, paths: set[str]) -> str:
    """Of a disk that differs at `paths` from its start; empty where its ledger cannot be read, since then it
    is like no other."""
    said = []
    for path in paths:
        look = found.get(path)
        name = masked(_TEMPORARY.sub(b"PROCESS", path.encode()))
        if path in _WORTHLESS:
            continue
        if path.startswith(_LEDGER):
            said.append((name, look and (look[0], look[1])))
        elif look is None or len(look) == 1:
            said.append((name, look))
        elif path.startswith("own/state/unchanged/"):
            said.append((name, look[0]))  # times and inodes are what a note is of
        else:
            said.append((name, look[0], content(f"{now}/{path}", look[0])))
    try:
        receipts = events(now / _LEDGER)
    except sqlite3.Error:
        return ""
    return hashlib.sha256(repr((sorted(said, key=repr), receipts)).encode()).hexdigest()


def content(path: str, mode: int) -> bytes:
    """What is in a file or a link, without what no two runs share."""
    if mode & 0o170000 == 0o120000:
        return os.readlink(path).encode()
    with open(path, "rb") as file:
        return masked(file.read())


def masked(data: bytes) -> bytes:
    for pattern, word in _MASKS:
        data = pattern.sub(word, data)
    return data


def events(path: Path) -> list[tuple[object, ...]]:
    """The receipts in a ledger, read from a copy: opening it would bring its files into order."""
    if not path.exists():
        return []
    copy = path.parents[3] / "ledger"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for end in ("", "-wal", "-journal"):
        if os.path.exists(f"{path}{end}"):
            shutil.copyfile(f"{path}{end}", f"{copy}/ledger{end}")
    connection = sqlite3.connect(copy / "ledger")
    try:
        rows = connection.execute("SELECT kind, transaction_id, payload FROM events ORDER BY sequence")
        return [(kind, masked(id.encode()), masked(bytes(payload))) for kind, id, payload in rows]
    finally:
        connection.close()
