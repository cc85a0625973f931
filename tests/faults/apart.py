"""A process apart from that of pytest, for what forks at every point: of a small process a fork costs a
fraction, since there is little to share. It does what it is told, one thing after the other.

`python -m … apart HANDLE` is that process; HANDLE is its end of a pipe.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class Apart:
    """The process, begun when it is first needed; what it prints, pytest catches."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Any = None

    def __call__(self, do: Callable[..., T], *arguments: Any) -> T:
        """What `do` gives there. It and its arguments are sent over (so it is a function of a module). Raises
        `AssertionError` with what was printed there where it raised anything."""
        if self._process is None:
            self._begin()
        self._pipe.send((do, arguments))
        well, result = self._pipe.recv()
        assert well, result
        return result  # type: ignore[no-any-return]

    def _begin(self) -> None:
        self._pipe, theirs = Pipe()
        above = Path(__file__).parents[len(str(__package__).split("."))]
        path = os.pathsep.join([str(above), *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": path},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def close(self) -> None:
        """It ends when there is nobody left to tell it anything."""
        if self._process is not None:
            self._pipe.close()
            self._process.wait()
            self._process = None


def serve(pipe: Any) -> None:
    """Do what comes in until the other end is closed."""
    while True:
        try:
            do, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, do(*arguments)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))


if __name__ == "__main__":
    os.umask(0o022)
    gc.set_threshold(200_000)  # as a command does that is a process of its own
    serve(Connection(int(sys.argv[1])))
