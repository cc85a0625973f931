"""The command line: one module per verb, thin: parse, call one function, render."""

from __future__ import annotations

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from typing import NoReturn

_OBJECTS_A_SWEEP = 200_000
"""How many new objects start a search for cycles. What a command makes lives until its end, so a search finds
nothing: at Python's own 700 it took 65 of the 1,817 million instructions of a full apply."""


def main() -> NoReturn:
    """The `gsdlock` command, in a process of its own, which ends with its exit status."""
    import gc
    import os
    import sys

    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and os.name == "posix":
        # File names are bytes, and locks say what they mean in UTF-8: that is so in every locale.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed: what is said there goes nowhere
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    gc.set_threshold(_OBJECTS_A_SWEEP)
    from .main import run

    status = run(sys.argv[1:])
    _flush()
    # All is written and all locks are given back: to take every object down one by one changes nothing.
    os._exit(status)


def _flush() -> None:
    import sys

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # nobody reads it
