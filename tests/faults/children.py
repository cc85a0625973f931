"""The real command in a forked child of a warmed-up process, or in this very process."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from gsdlock.capabilities.registry import load_builtin
from gsdlock.store.filesystem import FileSystem
from gsdlock.store.filesystem_posix import RealFileSystem


class Unflushed(RealFileSystem):
    """A killed process loses nothing that the system was told; so where it is killed, or thousands of
    transactions run, nothing need be flushed. (What a loss of power takes is another question.)"""

    def flush_file(self, parent: int, name: str) -> None:
        pass

    def flush_dir(self, handle: int) -> None:
        pass

    def flush_all(self, handle: int) -> bool:
        return True


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit status (or None where a signal ended it), and all that it printed."""

    status: int | None
    signal: int | None
    text: str

    @property
    def data(self) -> Any:
        """The JSON document on its output."""
        return json.loads(self.text)

    @property
    def killed(self) -> bool:
        return self.signal == signal.SIGKILL


@cache
def warm_up() -> None:
    """Load everything that a command loads when it needs it, so that a forked child need not."""
    for name in ("filelock", "packaging.version", "sqlite3", "tempfile", "tomllib", "tomli_w", "yaml"):
        import_module(name)
    for room in ("cli", "resolver", "store", "lockfiles", "capabilities"):
        for module in walk_packages(import_module(f"gsdlock.{room}").__path__, f"gsdlock.{room}."):
            import_module(module.name)
    load_builtin()
    gc.collect()
    gc.freeze()  # else the collector of each child would copy what it could share


def wait_for(child: int) -> int:
    """The wait status of a child."""
    return os.waitpid(child, 0)[1]


def forked(
    do: Callable[[], int],
    folder: Path,
    variables: Mapping[str, str],
    wait: Callable[[int], int] = wait_for,
) -> Ended:
    """Call `do` in a child with its own working directory and environment; its result is the exit status."""
    with tempfile.TemporaryFile(dir=folder.parent) as out:
        child = os.fork()
        if child == 0:  # pragma: no cover - the child ends here, one way or another
            _in_child(do, folder, variables, out.fileno())
        status = wait(child)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if os.WIFSIGNALED(status):
        return Ended(None, os.WTERMSIG(status), text)
    return Ended(os.WEXITSTATUS(status), None, text)


def _in_child(do: Callable[[], int], folder: Path, variables: Mapping[str, str], out: int) -> None:
    try:
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the child ends with them open
        sys.stdout = sys.stderr = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
        status = do()
        sys.stdout.flush()
        os._exit(status)
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
    finally:
        os._exit(99)


def use(fs: FileSystem) -> None:
    """From now on every command of this process works on `fs`. For children only."""
    import gsdlock.store.filesystem_posix as module

    vars(module)["RealFileSystem"] = lambda: fs


@contextlib.contextmanager
def as_if_alone(folder: Path, variables: Mapping[str, str], fs: FileSystem) -> Iterator[StringIO]:
    """Be a process of its own meanwhile, with this working directory, environment and file system; what is
    printed goes to the stream that this gives. Raises `AssertionError` where a handle is left open."""
    import gsdlock.store.filesystem_posix as module

    kept = dict(os.environ), os.getcwd(), sys.argv, module.RealFileSystem
    handles = _handles()
    try:
        _become(variables)
        os.chdir(folder)
        use(fs)
        with contextlib.redirect_stdout(StringIO()) as out, contextlib.redirect_stderr(out):
            yield out
    finally:
        _become(kept[0])
        os.chdir(kept[1])
        sys.argv = kept[2]
        vars(module)["RealFileSystem"] = kept[3]
    left = [_leads_to(number) for number in _handles() - handles]
    assert not any(left), f"handles were left open: {left}"


def _become(variables: Mapping[str, str]) -> None:
    if dict(os.environ) != dict(variables):
        os.environ.clear()
        os.environ.update(variables)


def _handles() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


def _leads_to(number: str) -> str:
    """Where a handle of this process leads; empty for one that was only open while they were listed."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""
