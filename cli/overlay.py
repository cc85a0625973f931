"""Third-party runtimes, features and reviewers: read what one would do, consent to it, and use it.

add SOURCE      fetch, check and show a bundle, ask, and install it for all of your manifests; with
                --project write it into this project's gsdlock.toml instead. SOURCE is a folder (./x), an
                archive, npm:NAME or git+URL#REF
list            what is installed and declared, and whether you consented to it
show ID|SOURCE  what it would write and execute; nothing is changed
update [ID]     fetch again from where it came from; --to DIGEST goes back to an earlier bundle
trust ID        read and consent to what a manifest declares; --revoke takes consent back
verify [ID]     check stored bundles against their digests
remove ID       forget an installed one; what targets hold of it stays until the next apply

Consent is bound to the digest of the whole bundle: any changed byte asks again. Without a terminal it is
given with --consent DIGEST, where DIGEST is the one that show prints. Every decision leaves a receipt:
gsdlock log --kind overlay. Where policy says require-signature, add, update and trust take a bundle only with
a good signature of somebody whom you trust: SOURCE.sig beside a local one, or --signature FILE.

example: gsdlock overlay add ./zephyr --consent sha256:4f0c…
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .render import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from .session import Session

ACTIONS = ("add", "list", "show", "update", "trust", "verify", "remove")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("action", choices=ACTIONS, help="see above")
    parser.add_argument("subject", metavar="ID-or-SOURCE", nargs="?", help="an overlay, or where one is")
    parser.add_argument("--ref", metavar="REF", default="", help="git: a branch, tag or commit")
    parser.add_argument("--version", metavar="RANGE", default="", help="npm: a version or range")
    parser.add_argument("--subdirectory", metavar="DIR", default="", help="git, archive: the folder inside")
    parser.add_argument("--integrity", metavar="SHA512", default="", help="archive: its sha512-…")
    parser.add_argument("--project", action="store_true", help="add: declare it in this project's manifest")
    parser.add_argument("--consent", metavar="DIGEST", help="consent to exactly this bundle")
    parser.add_argument("--signature", metavar="FILE", help="the signature of the bundle: it must be good")
    parser.add_argument("--to", metavar="DIGEST", help="update: an earlier bundle, as list -v shows them")
    parser.add_argument("--revoke", action="store_true", help="trust: take consent back")
    parser.add_argument("--dry-run", action="store_true", help="show what would be asked; change nothing")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Do one of the actions. See the module's text. Raises `GsdlockError` E-OVERLAY-…."""
    from ..capabilities.errors import usage_error
    from . import overlay_actions, overlay_views

    actions: dict[str, Callable[[Session, argparse.Namespace], Outcome]] = {
        "add": overlay_actions.add,
        "list": overlay_views.listing,
        "show": overlay_views.show,
        "update": overlay_actions.update,
        "trust": overlay_actions.trust,
        "verify": overlay_views.verify,
        "remove": overlay_actions.remove,
    }
    wants_subject = options.action in ("add", "show", "trust", "remove")
    if wants_subject and not options.subject:
        raise usage_error(
            "E-USAGE", f"overlay {options.action} needs a name", f"gsdlock overlay {options.action} --help"
        )
    return actions[options.action](session, options)
