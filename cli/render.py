"""What a verb did, as text for people or as JSON for programs; errors likewise.

Text goes to standard output, progress and errors to standard error; with `--json` everything that a program
wants is one JSON document on standard output, errors included.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TextIO

    from ..capabilities.errors import GsdlockError


class Outcome:
    """What a verb has to say: exit `status`, `data` for `--json`, `lines` for people."""

    def __init__(self, status: int, data: dict[str, Any], lines: Sequence[str]) -> None:
        self.status = status
        self.data = data
        self.lines = tuple(lines)


def show(outcome: Outcome, verb: str, options: argparse.Namespace) -> int:
    """Print the outcome; returns its status."""
    if options.json:
        data = {"verb": verb, "status": outcome.status, **outcome.data}
        _print(json.dumps(data, indent=2, sort_keys=True) + "\n")
    elif not options.quiet:
        _print("".join(f"{plain(line)}\n" for line in outcome.lines))
    return outcome.status


def _print(text: str) -> None:
    """On standard output. What was done is done, whether or not somebody reads of it: a reader that has gone
    changes no status, and a full disk is told on standard error."""
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as fault:
        discard(sys.stdout)
        tell(f"gsdlock: what it has to say cannot be written to standard output: {fault.strerror}")


def discard(stream: TextIO) -> None:
    """From now on what is written to a stream that takes nothing goes nowhere, and no exit complains."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return  # it has no handle, so nothing complains


_MOST_DETAILS = 40


def show_error(fault: GsdlockError, as_json: bool, verbose: bool = False) -> int:
    """Print a refusal: code, what and where, the details (40, but for `verbose` and for what is to be read
    whole), what to do; returns the exit status."""
    if as_json:
        error = {
            "code": fault.code,
            "what": fault.what,
            "where": fault.where,
            "fix": fault.fix,
            "details": list(fault.details),
        }
        _print(json.dumps({"status": fault.status, "error": error}, indent=2, sort_keys=True) + "\n")
        return fault.status
    details = list(fault.details)
    if len(details) > _MOST_DETAILS and not (verbose or fault.whole):
        details[_MOST_DETAILS:] = [f"and {len(details) - _MOST_DETAILS} more; --verbose shows them"]
    lines = [f"gsdlock: {fault.code}: {fault.what}", *(f"  {d}" for d in details), f"  {fault.fix}"]
    for line in lines:
        tell(line)
    return fault.status


def tell(line: str) -> None:
    """One line on standard error; nothing that is told there is worth ending for."""
    try:
        print(plain(line).encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def plain(text: str) -> str:
    """`text` fit to be one line on a terminal, whole: what `errors.shown` replaces is replaced, but for tabs.

    Packs, locks and manifests are other people's text; everything that is printed goes through here, line by
    line. So a line end in such a text is none of ours: nobody's text makes a line of output.
    """
    if text.isprintable():
        return text
    from ..capabilities.errors import shown

    return "\t".join(shown(part, len(part)) for part in text.split("\t"))


def step_name(key: str) -> str:
    """The key of a step for people: without the digest that ends an entry's, which says nothing to them."""
    return key.rpartition("#sha256:")[0] or key


def plural(count: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count} {one if count == 1 else many or one + 's'}"
