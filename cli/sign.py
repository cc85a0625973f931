"""Sign the lock, or a folder such as an overlay, with an SSH key.

The signature is written beside it, with .sig behind the name. It is made by ssh-keygen and is checked by
gsdlock verify --signature, and before every apply where policy says require-signature.

example: gsdlock sign --key ~/.ssh/id_ed25519
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .render import Outcome

if TYPE_CHECKING:
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("place", metavar="PLACE", nargs="?", help="a lock or a folder; default: the lock")
    parser.add_argument("--key", metavar="FILE", help="the key; default: signing-key of your settings")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Sign. See the module's text.

    Raises `GsdlockError`: E-SIGN-KEY, E-SIGN-FAILED, E-SSH-KEYGEN-ABSENT, E-FILE-WRITE, those of
    `signatures.signed_thing`.
    """
    from ..resolver.sources.signatures import sign
    from .session import write_file
    from .signatures import keygen_of, signed_thing, signing_key

    key = signing_key(session, options.key)
    thing = signed_thing(session, options.place)
    inside = session.fence if options.place is None else ""
    write_file(thing.signature, sign(keygen_of(session), thing.message, key), inside=inside)
    data = {"signed": thing.path, "signature": thing.signature}
    return Outcome(0, data, [f"wrote {thing.signature}", "commit it beside what it signs"])
