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
        elif pack.integrity not in ("", pin.integrity):
            reasons.append(f"pack {pack.name} was locked with another integrity")
    reasons += [f"pack {name} is locked but no longer in the manifest" for name in locked]
    bundles = {o.name: o for o in lock.overlays}
    for overlay in manifest.overlays:
        bundle = bundles.get(overlay.name)
        if bundle is None:
            reasons.append(f"overlay {overlay.name} is not locked")
        elif (bundle.kind, bundle.requested) != (overlay.kind, overlay.requested):
            reasons.append(
                f"overlay {overlay.name} was locked for {bundle.requested}, not for {overlay.requested}"
            )
        elif overlay.integrity not in ("", bundle.integrity):
            reasons.append(f"overlay {overlay.name} was locked with another integrity")
    targets = {t.name: t for t in lock.targets}
    for entry in manifest.targets:
        target = targets.pop(entry.name, None)
        if target is None:
            reasons.append(f"target {entry.name} is not locked")
            continue
        packs = tuple(sorted(p.name for p in manifest.packs_of(entry)))
        if (entry.runtime, entry.scope, entry.profile, packs) != (
            target.runtime,
            target.scope,
            target.profile,
            target.packs,
        ):
            reasons.append(f"target {entry.name} was locked with other settings")
        now, then = set(entry.options), set(target.options)
        reasons += [f"target {entry.name} was locked without: {word}" for word in sorted(now - then)]
        reasons += [f"target {entry.name} was locked with: {word}" for word in sorted(then - now)]
    reasons += [f"target {name} is locked but no longer in the manifest" for name in targets]
    return reasons
