"""Ways to die before a chosen point: a call of the store's one interface to the disk, or an event that
Python's audit hooks report. (Before a system call: `tracing`.)"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGING = frozenset(
    {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.link", "os.symlink", "os.chmod", "os.truncate"}
    | {"os.setxattr", "sqlite3.connect"}
)


def die() -> None:
    """The end, without any chance to clean up."""
    os.kill(os.getpid(), signal.SIGKILL)


class Audit:
    """Counts the audit events that tell of a change, and dies at number `at` (0: never)."""

    def __init__(self, at: int) -> None:
        self.seen = 0
        self._at = at

    def begin(self) -> None:
        """In the child: from here on."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGING or (event == "open" and arguments[2] & WRITING):
            self.seen += 1
            if self.seen == self._at:
                die()
