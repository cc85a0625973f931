"""The command line: one module per verb, thin: parse, call one function, render."""

from __future__ import annotations


def main() -> int:
    """The `gsdlock` command; returns the exit status."""
    import sys

    from .main import run

    return run(sys.argv[1:])
