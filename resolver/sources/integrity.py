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
        "Somebody changed what is served under this name. Find out who before you lock it anew.",
        details=(f"{by}: {shown(wanted, 120)}", f"got: {got}"),
    )


def offline(source: PackSource) -> GsdlockError:
    """The content is not here and the network may not be used."""
    return missing(
        "E-OFFLINE",
        f"{source.subject} is not in the store, and --offline forbids fetching it",
        "Run once without --offline.",
    )
