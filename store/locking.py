"""One process at a time: a lock on a file, which goes with its process, however that ends.

On POSIX this is `flock`, by the protocol of the library filelock (an exclusive lock on a file that stays in
place), so either sees the other. The library itself is used where the system or the file system has no flock:
to load it took a fourteenth of a whole apply, and what it does there is one system call.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # not a POSIX system
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

_POLL = 0.02  # seconds between two tries
_HELD = frozenset({errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK})
_MISSING = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK})


class HeldError(Exception):
    """Another process holds the lock, and did so for as long as we were to wait."""


@contextlib.contextmanager
def locked(path: str, wait: float) -> Iterator[None]:
    """Hold the lock on the file at `path`, which is made (0600) where it is missing and stays.

    Waits at most `wait` seconds (0: tries once). Raises `HeldError`, `OSError` (a link in its place is one).
    """
    descriptor = _flocked(path, wait) if HAS_FLOCK else None
    if descriptor is None:
        with _by_library(path, wait):
            yield
        return
    try:
        yield
    finally:
        os.close(descriptor)  # nobody else has this descriptor, so the lock goes with it


def _flocked(path: str, wait: float) -> int | None:
    """A descriptor that holds the lock; None where the file system has no such locks."""
    end = time.monotonic() + wait
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in _MISSING:
                    os.close(descriptor)
                    return None
                if error.errno not in _HELD:
                    raise
            else:
                return descriptor
            if time.monotonic() >= end:
                raise HeldError
            time.sleep(_POLL)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise


@contextlib.contextmanager
def _by_library(path: str, wait: float) -> Iterator[None]:
    import filelock

    lock = filelock.FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=wait, poll_interval=_POLL)
    except filelock.Timeout:
        raise HeldError from None
    try:
        yield
    finally:
        lock.release()
