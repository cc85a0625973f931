"""A disk for tests that kill a process, or run thousands of transactions."""

from __future__ import annotations

from gsdlock.store.filesystem_posix import RealFileSystem


class Unflushed(RealFileSystem):
    """A killed process loses nothing that the system has already been told; so nothing need be flushed here,
    only the order of the calls is what it is. (What a power cut loses is another question.)"""

    def flush_file(self, parent: int, name: str) -> None:
        pass

    def flush_dir(self, handle: int) -> None:
        pass

    def flush_all(self, handle: int) -> bool:
        return True
