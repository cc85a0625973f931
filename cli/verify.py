"""Check installed files and stored content against their digests.

Every installed file is hashed, every entry is looked for, and every blob that the generations and the lock
need is read back. The status is 1 when a file or an entry differs, 5 when stored content is missing or
damaged. With --signature only the signature of the lock, or of the lock or folder PLACE, is checked.

example: gsdlock verify --target claude
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .recovering import WAIT
from .render import Outcome, plural

if TYPE_CHECKING:
    from .session import Session

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "--signature",
        metavar="PLACE",
        nargs="?",
        const="",
        help="check the signature of a lock or a folder instead; default: of the lock",
    )
    parser.add_argument(
        "--signers", metavar="FILE", help="whose signatures count; default: allowed-signers of your settings"
    )


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Verify. See the module's text.

    Raises `GsdlockError`, with `--signature`: E-SIGNATURE-…, E-SIGNERS-UNSET, E-SSH-KEYGEN-ABSENT.
    """
    from ..capabilities.errors import Exit, usage_error

    if options.signature is not None:
        return _signature(session, options)
    if options.signers is not None:
        raise usage_error("E-USAGE", "--signers says whose --signature counts", "gsdlock verify --signature")
    from .installed import generations_of
    from .standing import disk_lines, disk_state

    standings = disk_state(session)
    locked = _locked(session)
    needed = sorted(locked.union(*(g.digests() for g in generations_of(session))))
    bad = [digest for digest in needed if not session.blobs.sound(digest)]
    drifted = [s for s in standings if s.drifted]
    lines = disk_lines(drifted, patch=bool(options.verbose))
    lines += [f"the store's {digest} is missing or damaged: {_advice(digest in locked)}" for digest in bad]
    files = sum(len(s.state.files) for s in standings)
    lines.append(
        f"{plural(len(standings), 'target')}, {plural(files, 'file')} and "
        f"{plural(len(needed), 'blob')} checked: "
        + ("all in order" if not bad and not drifted else "see above")
    )
    status = Exit.MISSING if bad else Exit.DIFFERENT if drifted else Exit.DONE
    data = {"targets": [s.data() for s in standings], "blobs": len(needed), "damaged": bad}
    return Outcome(status, data, lines)


def _signature(session: Session, options: argparse.Namespace) -> Outcome:
    from .signatures import check_signature, signed_thing

    thing = signed_thing(session, options.signature or None)
    signer = check_signature(session, thing, options.signers)
    data = {"signed": thing.path, "principal": signer.principal, "key": signer.key}
    return Outcome(0, data, [f"{thing.path} bears a good signature of {signer.principal} ({signer.key})"])


def _locked(session: Session) -> set[str]:
    """Digests of all content that the lock needs, where there is one and anything is installed."""
    from ..store.collect import lock_digests
    from .installed import generations_of

    if session.manifest_path is None or not generations_of(session):
        return set()
    lock = session.lock()
    return lock_digests(lock) if lock is not None else set()


def _advice(locked: bool) -> str:
    """What brings content back. An apply asks nothing of the store for what stands as it should."""
    if locked:
        return "gsdlock resolve fetches it again"
    return (
        "the lock does not name it, so nobody can fetch it again; gsdlock doctor --repair takes it from an "
        "installed file that has the same bytes, else only a backup of the data folder has it"
    )
