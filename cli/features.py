"""List the features of the packs and where they are active.

The features come from the packs of the lock (the first party's own where there is no lock). A feature is
active on a target by its tier and the target's profile, or because it was enabled.

example: gsdlock features --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .recovering import UNLESS_BUSY
from .render import Outcome

if TYPE_CHECKING:
    from .session import Session

RECOVERY = UNLESS_BUSY


def arguments(parser: argparse.ArgumentParser) -> None:
    """The verb has no options of its own."""


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """List the features. See the module's text."""
    from ..capabilities.registry import BUILTIN

    lock = session.lock() if session.manifest_path or options.lock else None
    rows: dict[str, dict[str, Any]] = {}
    for feature in session.registry.features.values():
        rows[feature.id] = {
            "id": feature.id,
            "title": feature.title,
            "tier": feature.tier.value,
            "requires": list(feature.requires),
            "origin": session.registry.origin(feature.id),
            "active-on": [],
        }
    for pin in lock.capabilities if lock else ():
        known = pin.id in rows and rows[pin.id]["origin"] == pin.origin
        if pin.role == "feature" and not known:
            rows[pin.id] = {
                "id": pin.id,
                "title": "",
                "tier": "",
                "requires": [],
                "origin": pin.origin,
                "active-on": [],
            }
    for target in lock.targets if lock else ():
        for name in target.features:
            if session.wanted(target.name) and name in rows:
                rows[name]["active-on"].append(target.name)
    ordered = [rows[i] for i in sorted(rows)]
    width = max(len(r["id"]) for r in ordered)
    lines = []
    for row in ordered:
        active = f"on {', '.join(row['active-on'])}" if row["active-on"] else "off"
        origin = row["origin"]
        about = row["title"] or f"from {origin}"
        about += f" ({origin})" if row["title"] and origin != BUILTIN else ""
        requires = f"; requires {', '.join(row['requires'])}" if row["requires"] else ""
        lines.append(f"{row['id']:<{width}}  {row['tier'] or '-':<8}  {active}: {about}{requires}")
    if lock is None:
        lines.append("there is no lock yet: run gsdlock resolve to see where they are active")
    return Outcome(0, {"features": ordered}, lines)
