"""Runs a program of the user's: no shell, no terminal, bounded time and output, nothing left running."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING

from ...capabilities.errors import Exit, GsdlockError, missing, shown
from .base import Completed

if TYPE_CHECKING:
    import subprocess
    from threading import Thread

_CHUNK = 1 << 16
_KEPT_ERRORS = 1 << 16
_GRACE = 5.0


class SystemProcesses:
    """The real `ProcessRunner`."""

    def find(self, name: str, path: str) -> str | None:
        """The first executable `name` in the absolute folders of `path`."""
        import shutil

        # A relative folder in PATH would be looked up where we happen to be.
        folders = [f for f in path.split(os.pathsep) if os.path.isabs(f)]
        return shutil.which(name, path=os.pathsep.join(folders)) if folders else None

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        limit: int,
        stdin: bytes = b"",
        executable: str | None = None,
        alone: bool = False,
    ) -> Completed:
        """See `ProcessRunner.run`. The program gets a session of its own, so it has no terminal to ask on,
        and on a timeout, too much output or an interrupt it goes with all that it started.

        `executable` is the file that is started under the name `argv[0]`. `alone`: what is wanted is what it
        says; as soon as nobody holds its output any more, it goes with all that it started, and a descendant
        that holds it longer than `timeout` is a timeout. Its status then says nothing.
        """
        import subprocess
        import threading

        try:
            process = subprocess.Popen(
                list(argv),
                executable=executable,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise missing(
                "E-PROCESS-START",
                f"{shown(argv[0])} cannot be started: {error.strerror}",
                "Look whether it runs by hand.",
            ) from None
        out, err = bytearray(), bytearray()
        too_much = threading.Event()
        assert process.stdout is not None and process.stderr is not None

        def read_out(pipe: IO[bytes]) -> None:
            for part in iter(lambda: pipe.read(_CHUNK), b""):
                out.extend(part)
                if len(out) > limit:
                    too_much.set()
                    _end(process)
                    return

        def read_err(pipe: IO[bytes]) -> None:
            for part in iter(lambda: pipe.read(_CHUNK), b""):
                err.extend(part)
                del err[:-_KEPT_ERRORS]

        def write_in() -> None:
            assert process.stdin is not None
            with contextlib.suppress(OSError), process.stdin as pipe:  # it may end before it reads all
                pipe.write(stdin)

        threads = [
            threading.Thread(target=read_out, args=(process.stdout,), daemon=True),
            threading.Thread(target=read_err, args=(process.stderr,), daemon=True),
        ]
        if stdin:
            threads.append(threading.Thread(target=write_in, daemon=True))
        for thread in threads:
            thread.start()
        try:
            status = _last_word(process, threads, timeout) if alone else process.wait(timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise _failure(
                "E-PROCESS-TIMEOUT", argv, f"did not end within {timeout:g} seconds", "Try again later."
            ) from None
        except BaseException:
            _end(process)
            raise
        for thread in threads:
            thread.join(_GRACE)
        if any(thread.is_alive() for thread in threads):
            _end(process)  # something that it started still holds the pipes
            for thread in threads:
                thread.join(_GRACE)
        if too_much.is_set():
            raise _failure("E-PROCESS-OUTPUT", argv, f"wrote more than {limit} bytes", "Use a smaller pack.")
        return Completed(status, bytes(out), bytes(err))


def _last_word(process: subprocess.Popen[bytes], threads: Sequence[Thread], timeout: float) -> int:
    """Wait until nobody holds the output, then end what is left of the session. Before the program is waited
    for, its id is nobody else's: so only what it started can be hit."""
    import subprocess
    import time

    until = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        raise subprocess.TimeoutExpired(process.args, timeout)
    if process.returncode is None:
        _end(process)
    return process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and its session."""
    import signal

    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(Exception):
        process.wait(_GRACE)


def _failure(code: str, argv: Sequence[str], how: str, fix: str) -> GsdlockError:
    program = os.path.basename(argv[0])
    return GsdlockError(code, f"{shown(program)} {how}", fix, status=Exit.MISSING)
