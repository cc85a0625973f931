"""What a verb did, as text for people or as JSON for programs; errors likewise.

Text goes to standard output, progress and errors to standard error; with `--json` everything that a program
wants is one JSON document on standard output, errors included.
"""

from __future__ import annotations

import argparse
import json
import re
import sys

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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
        print(json.dumps({"verb": verb, "status": outcome.status, **outcome.data}, indent=2, sort_keys=True))
    elif not options.quiet:
        text = "".join(f"{plain(line)}\n" for line in outcome.lines)
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()
    return outcome.status


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
        print(json.dumps({"status": fault.status, "error": error}, indent=2, sort_keys=True))
        return fault.status
    details = list(fault.details)
    if len(details) > _MOST_DETAILS and not (verbose or fault.whole):
        details[_MOST_DETAILS:] = [f"and {len(details) - _MOST_DETAILS} more; --verbose shows them"]
    lines = [f"gsdlock: {fault.code}: {fault.what}", *(f"  {d}" for d in details), f"  {fault.fix}"]
    for line in lines:
        tell(line)
    return fault.status


def tell(line: str) -> None:
    """One line on standard error."""
    print(plain(line).encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr, flush=True)


def plain(text: str) -> str:
    """`text` fit for a terminal, whole: what `errors.shown` replaces is replaced, but for tabs and line ends.

    Packs, locks and manifests are other people's text; everything that is printed goes through here.
    """
    if text.isprintable():
        return text
    from ..capabilities.errors import shown

    parts = re.split(r"([\t\n])", text)
    return "".join(part if part in ("\t", "\n") else shown(part, len(part)) for part in parts)


def step_name(key: str) -> str:
    """The key of a step for people: without the digest that ends an entry's, which says nothing to them."""
    return key.rpartition("#sha256:")[0] or key


def plural(count: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count} {one if count == 1 else many or one + 's'}"
