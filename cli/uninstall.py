"""Take out everything that gsdlock put in.

A file of ours that you changed stays, as yours, and is named; --ours takes it out too (it stays in the
store). Shared files lose exactly our entries, and are what they were, byte for byte, when nobody changed
them in between. Stored content stays until gsdlock gc.

example: gsdlock uninstall --target claude
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .recovering import WAIT
from .render import Outcome

if TYPE_CHECKING:
    from ..store.records import Generation
    from .session import Session

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    from .carrying import common_arguments

    common_arguments(parser, ("ours",), partial=False)


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Leave the targets. See the module's text."""
    from .carrying import bounded, carry_out
    from .installed import generations_of
    from .targets import leaving

    before = generations_of(session)
    outcome = carry_out(session, options, leaving(session))
    staying = _staying(session, before)
    lines = [f"{target}: {path} stays: you changed it, so it is yours" for target, path in staying]
    paths = [path for _, path in staying]
    return Outcome(outcome.status, {**outcome.data, "staying": paths}, [*outcome.lines, *bounded(lines)])


def _staying(session: Session, before: list[Generation]) -> list[tuple[str, str]]:
    """Target and path of every file of ours that was changed and is therefore left, of targets that left."""
    from ..capabilities.canonical import sha256_digest
    from ..store.states import disk_bytes

    found = []
    for generation in before:
        current = session.store.generations.current(generation.slug)
        for file in generation.files if current is not None and current.left else ():
            path = generation.real_path(file.root, file.path)
            data = disk_bytes(session.store, path)
            expected = {file.digest, file.prior.digest if file.prior is not None else ""}
            if data is not None and sha256_digest(data) not in expected and file.held != "foreign":
                found.append((generation.target, path))
    return found
