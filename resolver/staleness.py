"""Whether a lock is still one of its manifest. Apart from `resolve`, so that an apply need not load that."""

from __future__ import annotations

from ..lockfiles.model import Lock
from .manifest import Manifest


def stale(manifest: Manifest, lock: Lock) -> list[str]:
    """Why `lock` is not a lock of `manifest`, one line a reason; empty when it is one.

    Only what the two files say is compared: no pack is fetched.
    """
    reasons = []
    locked = {p.name: p for p in lock.packs}
    for pack in manifest.packs:
        pin = locked.pop(pack.name, None)
        if pin is None:
            reasons.append(f"pack {pack.name} is not locked")
        elif (pin.kind, pin.requested) != (pack.kind, pack.requested):
            reasons.append(f"pack {pack.name} was locked for {pin.requested}, not for {pack.requested}")
    reasons += [f"pack {name} is locked but no longer in the manifest" for name in locked]
    targets = {t.name: t for t in lock.targets}
    for entry in manifest.targets:
        target = targets.pop(entry.name, None)
        if target is None:
            reasons.append(f"target {entry.name} is not locked")
            continue
        want = (entry.runtime, entry.scope, entry.profile, sorted(p.name for p in manifest.packs_of(entry)))
        if want != (target.runtime, target.scope, target.profile, list(target.packs)):
            reasons.append(f"target {entry.name} was locked with other settings")
        reasons += [
            f"target {entry.name}: feature {name} is enabled but not locked"
            for name in entry.enable
            if name not in target.features
        ]
        reasons += [
            f"target {entry.name}: feature {name} is disabled but locked"
            for name in entry.disable
            if name in target.features
        ]
    reasons += [f"target {name} is locked but no longer in the manifest" for name in targets]
    return reasons
