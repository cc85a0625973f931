"""The short way to "nothing to do": a note of what everything looked like when it was last seen in order.

`<state>/unchanged/<key>.json` holds what was asked for (digests); for every file that was in order then, its
mode, size, times and inode; and for every root, and the folder that it is in, which folder or link that was.
While all of that is the same nothing was written since, and a verb may end before it has loaded anything.
This module is loaded at each start, so it needs nothing but os, stat and json.

A file that is written twice within one tick of its file system's clock looks the same after both. So where a
file was younger than two such ticks when the note was made, the note has the digest of its bytes as well, and
they are read and compared. (The problem, and the rule, are known from git's index.)
"""

from __future__ import annotations

import json
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .filesystem import FileSystem
    from .records import Generation

NOTE_VERSION = 1
_TICKS = 20_000_000  # nanoseconds: twice the coarsest tick of a file system's clock on Linux
_TRIES = 4
_MOST_YOUNG = 64  # files that are read at each look; where more are young, a note waits until they are older


def is_unchanged(state: str, key: str, asked: dict[str, str]) -> bool:
    """Whether everything is as it was noted under `key`.

    `state` is our state folder; `asked` maps names to digests (lock, manifest, the environment variables
    that roots depend on): equal to what was noted, or the answer is no. Never raises: what is damaged or
    missing is no as well.
    """
    try:
        with open(f"{state}/unchanged/{key}.json", "rb", opener=_no_waiting) as file:
            note = json.loads(file.read())
        if note["version"] != NOTE_VERSION or note["asked"] != asked or _in_flight(state):
            return False
        limit = note["at"] - _TICKS
        for row in note["files"]:
            if _row(row[0]) != row[:6]:
                return False
            if row[4] >= limit and _digest(row[0]) != row[6]:
                return False
        if any(_place(row[0]) != row for row in note["places"]):
            return False
        return not any(_there(path) for path in note["absent"])
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return False


def note_unchanged(
    fs: FileSystem,
    state: str,
    key: str,
    asked: dict[str, str],
    paths: list[str],
    absent: list[str],
    places: list[str],
) -> bool:
    """Note that everything is in order now. `paths` are full paths of files that are there, `absent` of files
    that must not appear, `places` of folders that must not become links, nor lead elsewhere. Where many files
    are young, waits up to a tenth of a second until they are older.

        False where no note was made (a file is missing, or is written to all the time). Raises `OSError`.
    """
    import time

    from .statefiles import write_whole

    folder = f"{state}/unchanged"
    for _ in range(_TRIES):
        write_whole(fs, folder, f"{key}.clock", b"", flush=False)
        at = os.lstat(f"{folder}/{key}.clock").st_mtime_ns
        try:
            rows = [_row(path) for path in dict.fromkeys(paths)]
            stand = [_place(path) for path in dict.fromkeys(places)]
        except FileNotFoundError:
            return False
        young = [row for row in rows if int(row[4]) >= at - _TICKS]
        if len(young) <= _MOST_YOUNG:
            break
        time.sleep(_TICKS / 1e9 + 0.005)
    else:
        return False
    for row in young:
        digest = _digest(str(row[0]))
        if _row(str(row[0])) != row:
            return False
        row.append(digest)
    note = {
        "version": NOTE_VERSION,
        "asked": asked,
        "at": at,
        "files": rows,
        "absent": absent,
        "places": stand,
    }
    write_whole(fs, folder, f"{key}.json", json.dumps(note, separators=(",", ":")).encode(), flush=False)
    return True


def watched(state: str, generation: Generation) -> tuple[list[str], list[str], list[str]]:
    """What a note about a target must look at: full paths of the files that are there, of those that would
    change what is done if they appeared, and of the roots and the folders around them."""
    paths = [f"{state}/targets/{generation.slug}/current"]
    absent: list[str] = []
    for file in generation.files:
        (absent if file.held else paths).append(generation.real_path(file.root, file.path))
    for edited in generation.edited:
        if edited.entries and not edited.by_hand:
            asked_for = generation.real_path(edited.root, edited.path)
            paths.append(edited.real)
            (paths if _there(asked_for) else absent).append(asked_for)
    roots = [root.given.rstrip("/") for root in generation.roots.values()]
    places = [place for root in roots for place in (root, os.path.dirname(root)) if place]
    return paths, [path for path in absent if not _there(path)], places


def _row(path: str) -> list[str | int]:
    status = os.lstat(path)
    return [
        path,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
    ]


def _place(path: str) -> list[str | int]:
    """Which folder or link it is, whatever comes and goes in it."""
    status = os.lstat(path)
    changed = status.st_ctime_ns if stat.S_ISLNK(status.st_mode) else 0
    return [path, stat.S_IFMT(status.st_mode), status.st_dev, status.st_ino, changed]


def _digest(path: str) -> str:
    import hashlib

    with open(path, "rb", opener=_no_waiting) as file:
        return hashlib.sha256(file.read()).hexdigest()


def _no_waiting(path: str, flags: int) -> int:
    # A FIFO in the place of the note, or of a file, must not hold us up; it reads as empty, which is neither.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _there(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _in_flight(state: str) -> bool:
    try:
        return bool(os.listdir(f"{state}/transactions"))
    except FileNotFoundError:
        return False
