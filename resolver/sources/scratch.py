"""Folders for a moment in our cache. What a process that was killed left of them goes with the next one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def scratch(parent: str, prefix: str) -> Iterator[str]:
    """A new empty folder in `parent`, which is made; its name begins with `prefix` and says whose it is."""
    import shutil
    import tempfile

    make_folder(parent)
    sweep(parent, prefix)
    folder = tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_folder(path: str) -> None:
    """Make a folder of our cache. A file in its place is nobody's, and makes way. Raises `OSError`."""
    if os.path.lexists(path) and not os.path.isdir(path):
        os.unlink(path)
    os.makedirs(path, 0o700, exist_ok=True)


def sweep(folder: str, prefix: str) -> None:
    """Remove what processes that are no more left in `folder`: `<prefix><number of the process>-…`.

    What a living process has stays, so does what bears no such name. Raises `OSError` where the folder cannot
    be listed.
    """
    import shutil

    for name in os.listdir(folder) if os.name == "posix" else ():
        process = name.removeprefix(prefix).split("-")[0]
        if not name.startswith(prefix) or not process.isdigit():
            continue
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            path = os.path.join(folder, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        except (OSError, OverflowError):
            continue  # alive, and somebody else's; or no process's number
