"""Refusals that several kinds of source share."""

from __future__ import annotations

from ...capabilities.errors import GsdlockError, missing, shown
from .base import PackSource


def check_integrity(source: PackSource, got: str, wanted: str, by: str) -> None:
    """Compare two `sha512-…`; `by` says who stated the wanted one. Raises E-PACK-INTEGRITY."""
    if got == wanted:
        return
    raise missing(
        "E-PACK-INTEGRITY",
        f"{source.subject}: the downloaded bytes are not those that the {by} names",
        f"Somebody changed what is served there. Find out who before you lock it anew: {anew(source)}.",
        details=(f"{by}: {shown(wanted, 120)}", f"got: {got}"),
    )


def anew(source: PackSource) -> str:
    """The command that lets go of what the lock pins of this pack, and of nothing else."""
    return f"gsdlock resolve --upgrade-pack {source.name}"


def offline(source: PackSource, *, pinned: bool) -> GsdlockError:
    """The network may not be used, and the content is not here; or nothing says yet which content it is."""
    what = "is not in the store" if pinned else "is pinned by neither lock nor manifest"
    return missing(
        "E-OFFLINE",
        f"{source.subject} {what}, and gsdlock is offline",
        "Run once without --offline, and with the setting `offline` off: gsdlock config --show-origin.",
    )
