"""Consent to a bundle: judged, checked for a signature where one is demanded, shown, and asked about."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .render import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..resolver.overlay_disclosure import Disclosure
    from ..resolver.overlays import Overlay
    from ..store.overlay_changes import Action, Decided
    from ..store.overlays import Overlays
    from .session import Session


@dataclass(frozen=True, slots=True)
class Consented:
    """The record with consent to exactly this bundle (`after`), what was shown, and how it was decided; under
    `--dry-run` the record as it was."""

    after: Overlays
    disclosure: Disclosure
    decided: Decided


def consenting(
    session: Session, options: argparse.Namespace, overlay: Overlay, before: Overlays, action: Action
) -> Consented:
    """Judge a bundle, show it, and ask, where it was not consented to before at this scope.

    Raises E-OVERLAY-CONFLICT, E-OVERLAY-ENGINES, E-CONFINE-PLACE, E-SIGNATURE-… (nobody is asked about what
    may not be), E-OVERLAY-CONSENT-DIGEST, E-OVERLAY-UNATTENDED, E-OVERLAY-DECLINED.
    """
    from ..capabilities.errors import refused, shown
    from ..store.overlay_changes import declined
    from ..store.overlays import Consent
    from .overlay_views import disclose
    from .overlays import scope_of

    disclosure = disclose(session, overlay, before)
    signature, signer = _signature(session, options, overlay, before)
    scope, pin = scope_of(session, overlay.declared), overlay.pin
    surfaces = tuple((s.kind, s.name, s.text) for s in disclosure.surfaces)

    def decided(allow: bool, by: str) -> Decided:
        return decision(
            session,
            action,
            overlay.id,
            scope,
            pin.tree,
            allow=allow,
            by=by,
            version=overlay.capability.version,
            source=f"{pin.kind.value} {overlay.spec}",
            resolved=pin.resolved,
            surfaces=surfaces,
            roots=disclosure.roots,
            signer=signer,
        )

    if options.dry_run or before.consented(scope, overlay.id, pin.tree):
        return Consented(before, disclosure, decided(True, "earlier-consent"))
    given = _asked(options, disclosure, sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty())
    if not given:
        declined(session.store, decided(False, "resolver:terminal"))
        raise refused(
            "E-OVERLAY-DECLINED",
            f"you did not consent to {shown(overlay.id)}",
            "Nothing was installed, and nothing was kept but the receipt of your answer (gsdlock log).",
        )
    consent = Consent(
        scope=scope,
        id=overlay.id,
        digest=pin.tree,
        version=overlay.capability.version,
        surfaces=surfaces,
        roots=disclosure.roots,
        since=session.environment.now(),
        by=given,
        signature=signature,
    )
    by = f"flag:--consent {pin.tree}" if given == "flag:--consent" else f"resolver:{given}"
    return Consented(before.with_consent(consent), disclosure, decided(True, by))


def decision(
    session: Session,
    action: Action,
    id_: str,
    scope: str,
    digest: str,
    *,
    allow: bool = True,
    by: str = "",
    version: str = "",
    source: str = "",
    resolved: str = "",
    surfaces: tuple[tuple[str, str, str], ...] = (),
    roots: tuple[str, ...] = (),
    signer: str = "",
) -> Decided:
    """A decision as the ledger keeps it: places below the home are in their short form. Without `by` the
    command itself decided."""
    from ..store.overlay_changes import Decided

    home = session.environment.home

    def short(text: str) -> str:
        if home is None or home == "/":
            return text
        return "~" if text == home else text.replace(f"{home}/", "~/")

    return Decided(
        action=action,
        id=id_,
        scope=short(scope),
        digest=digest,
        allow=allow,
        by=by or f"command:{action.value}",
        version=version,
        source=short(source),
        resolved=resolved,
        surfaces=surfaces,
        roots=tuple(short(root) for root in roots),
        signer=signer,
    )


# -- the signature


def _signature(
    session: Session, options: argparse.Namespace, overlay: Overlay, before: Overlays
) -> tuple[str, str]:
    """The good signature of a bundle, and whose it is; both empty where none is demanded.

    It is demanded where `require-signature` is on, or one was named with `--signature`. Without that option
    the file beside a local source counts, and the one that was good when this bundle was consented to.
    Raises `GsdlockError`: E-SIGNATURE-MISSING, E-SIGNATURE-BAD, E-SIGNERS-UNSET, E-USER-FILE-….
    """
    from ..capabilities.errors import GsdlockError
    from ..resolver.sources.signatures import folder_message
    from .session import read_file
    from .signatures import Signed, check_bytes

    if options.signature is None and not session.settings["require-signature"].value:
        return "", ""
    if options.signature is not None:
        place = os.path.join(session.environment.cwd, options.signature)
    else:
        place = _beside(session, overlay)
    thing = Signed(
        path=f"the overlay {overlay.id}",
        message=folder_message(overlay.pin.tree),
        signature=place,
        otherwise="Ask its author for a signature of the folder (gsdlock sign), and name its file with "
        "--signature FILE.",
    )
    kept = "" if options.signature is not None else before.signature(overlay.id, overlay.pin.tree)
    there = (read_file(place) if place else None, kept.encode("utf-8") or None)
    candidates: list[bytes | None] = [data for data in there if data is not None]
    faults: list[GsdlockError] = []
    for data in candidates or [None]:
        try:
            signer = check_bytes(session, thing, data)
        except GsdlockError as fault:
            faults.append(fault)
        else:
            return (data or b"").decode("utf-8", "replace"), f"{signer.principal} {signer.key}"
    raise faults[0]


def _beside(session: Session, overlay: Overlay) -> str:
    """Where the signature of a local source lies: `<source>.sig`. Empty for what comes over the network."""
    from ..lockfiles.model import PackKind
    from ..resolver.settings import expanded

    local = overlay.pin.kind in (PackKind.PATH, PackKind.ARCHIVE) and "://" not in overlay.spec
    if not local:
        return ""
    folder = session.manifest.folder if overlay.declared else session.environment.cwd
    return f"{os.path.normpath(os.path.join(folder, expanded(overlay.spec, session.environment.home)))}.sig"


# -- asking


def _asked(options: argparse.Namespace, disclosure: Disclosure, attended: bool) -> str:
    """How consent was given; empty where the person at the terminal said no. Raises where nobody could."""
    from ..capabilities.errors import refused, shown
    from ..resolver.overlay_disclosure import lines_of

    digest = disclosure.overlay.pin.tree
    if options.consent is not None:
        if options.consent == digest:
            return "flag:--consent"
        raise refused(
            "E-OVERLAY-CONSENT-DIGEST",
            f"you consent to {shown(options.consent, 100)}, and the bundle is {digest}",
            "Somebody changed it since you read it, or you copied wrongly: read it again.",
            details=lines_of(disclosure),
            whole=True,
        )
    if not attended or options.json:
        raise refused(
            "E-OVERLAY-UNATTENDED",
            f"the overlay {shown(disclosure.overlay.id)} needs your consent, and nobody is there to be asked",
            f"Read what it does. If you want that, run it again with --consent {digest}",
            details=lines_of(disclosure),
            whole=True,
        )
    from .terminal import read_line

    for line in lines_of(disclosure):
        tell(line)
    return "terminal" if confirmed(tell, read_line, sorted(disclosure.overlay.tree.files)) else ""


def confirmed(write: Callable[[str], None], read: Callable[[], str], files: Sequence[str]) -> bool:
    """Asks until the answer is yes or no; an empty one is no."""
    while True:
        write("Do you want this? [y]es, [n]o, [l]ist all files")
        match read().strip().lower():
            case "y" | "yes":
                return True
            case "n" | "no" | "":
                return False
            case "l" | "list":
                for path in files:
                    write(f"  {path}")
