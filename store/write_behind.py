"""While much is being written, the system already brings the first of it to the medium.

A flush that comes at the end of a large transaction would find everything still in memory, and the processor
would have nothing to do meanwhile. So a flush of the file system is started in a thread of its own whenever
enough has been written. It makes no promise: the caller's own flush does, and learns of every error.
"""

from __future__ import annotations

import _thread
import contextlib
import os
from collections.abc import Callable

_ENOUGH = 3 << 20
"""Bytes written before a flush is started: of less, the flush at the end is as quick as the start of one."""


class WriteBehind:
    """`flush` makes all of the file system last that a descriptor is of, and returns 0 or an error number."""

    def __init__(self, flush: Callable[[int], int]) -> None:
        self._flush = flush
        self._written = 0
        self._at_work = _thread.allocate_lock()
        self._error = 0

    def wrote(self, size: int, folder: int) -> None:
        """Note `size` bytes written in the directory open as `folder`."""
        self._written += size
        if self._written >= _ENOUGH and self._at_work.acquire(blocking=False):
            self._written = 0
            self._start(folder)

    def settle(self) -> int:
        """Wait for a flush that is under way. The error number of one that failed since the last call, or 0.

        An error is told to one descriptor only, and that may have been ours: so whoever flushes has to ask.
        """
        with self._at_work:
            error, self._error = self._error, 0
        return error

    def _start(self, folder: int) -> None:
        descriptor = -1
        try:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            _thread.start_new_thread(self._run, (descriptor,))
        except (OSError, RuntimeError):  # no descriptor or no thread to be had: the flush at the end does all
            self._end(descriptor)

    def _run(self, descriptor: int) -> None:
        try:
            self._error = self._flush(descriptor) or self._error
        finally:
            self._end(descriptor)

    def _end(self, descriptor: int) -> None:
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._at_work.release()
