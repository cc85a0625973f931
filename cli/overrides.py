"""Dev-overrides as the verbs see them: which hold, what an apply makes of them, which steps come of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lockfiles.model import Lock
    from ..store.items import Item
    from .session import Session


def override_lines(overrides: Mapping[str, str]) -> list[str]:
    """A line for each override in force, for every report of a plan."""
    return [
        f"dev-override: pack {name} is the folder {path}, not what the lock pins"
        for name, path in overrides.items()
    ]


def overridden_lock(session: Session, lock: Lock | None, *, strict: str) -> tuple[Lock, list[str]]:
    """A lock for this apply only, with the folders in place of packs; the other packs as `lock` pins them.

    `strict` says why there may be no override (`--locked`), and is empty where there may. Raises
    `GsdlockError` E-DEV-OVERRIDE-LOCKED (status 4), and what resolving raises.
    """
    from ..capabilities.errors import refused
    from ..resolver.resolve import Upgrade, resolve
    from .concerns import plan_concerns
    from .overlays import given

    overrides = session.overrides
    if strict:
        raise refused(
            "E-DEV-OVERRIDE-LOCKED",
            f"a folder stands in place of pack {', '.join(overrides)}, and {strict} wants what the lock pins",
            "Take it out of [dev-overrides] in your own file.",
            where=session.own.path if session.own is not None else None,
            details=override_lines(overrides),
        )
    session.progress("resolving, because dev-overrides are in force; the lock stays as it is")
    sources = session.sources_for(lock)
    made = resolve(session.applied_manifest, session.first_party, sources, lock, Upgrade(), given(session))
    session.adopt(made.lock)
    warnings = [line for concern in plan_concerns(session, made.lock) for line in concern.lines()]
    return made.lock, [*override_lines(overrides), *made.notices, *warnings]


def flagging(session: Session, lock: Lock) -> Callable[[Sequence[Item]], list[Item]]:
    """Marks the steps that come from a folder in place of a pack, in their description."""
    from msgspec.structs import replace

    from .installed import origins_of

    found: dict[tuple[str, str, str], str] = {}
    for target in lock.targets:
        for key, origin in origins_of(session.blobs, target)[0].items():
            if origin.pack in session.overrides:
                found[target.name, *_place(key)] = origin.pack

    def flag(items: Sequence[Item]) -> list[Item]:
        flagged = []
        for item in items:
            pack = found.get((item.target, *_place(item.key)))
            said = f"{item.description} (dev-override of pack {pack})"
            flagged.append(item if pack is None else replace(item, description=said))
        return flagged

    return flag


def _place(key: str) -> tuple[str, str]:
    """File and value of an entry, whose pointer is filled in by now; file and nothing of a whole file."""
    file, mark, rest = key.partition("#")
    return file, rest.rpartition("#")[2] if mark else ""
