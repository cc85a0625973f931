"""Whether anything can have changed since an apply last found everything in order.

What was asked for is known by digests (manifest, lock, the variables that decide where things lie); what
stands on the disk by a note of sizes and times: see `store.unchanged`. Loaded before anything heavy.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from .session import Session

# Variables that decide where a host's folders, our own, or its interpreters lie. Hosts name theirs alike (a
# test holds every descriptor to it); a variable too many costs one slower apply when it changes.
_ENDINGS = ("_DIR", "_HOME", "_CONFIG")
_NAMES = ("HOME", "PATH", "USERPROFILE")


def decides_places(variable: str) -> bool:
    """Whether an environment variable may decide where something lies."""
    return variable in _NAMES or variable.endswith(_ENDINGS)


def still_in_order(session: Session) -> bool:
    """Whether nothing was touched since `note_in_order`. Never raises."""
    from ..store.unchanged import is_unchanged

    asked = _asked(session)
    return asked is not None and is_unchanged(
        os.path.normpath(session.folders["state"]), _key(session), asked
    )


def note_in_order(session: Session) -> None:
    """Note that every target is as the lock says; where something was denied, none is, and no note is made.

    A note that cannot be made costs time only.
    """
    import contextlib

    from ..store.collect import registration_path
    from ..store.unchanged import note_unchanged, watched
    from .installed import generations_of

    store = session.store
    # With it, an apply writes a registration anew that the power or somebody else took.
    paths = [registration_path(store.state, session.lock_path)]
    absent: list[str] = []
    places: list[str] = []
    generations = generations_of(session, as_written=True)
    if any(generation.partial for generation in generations):
        return
    for generation in generations:
        present, missing, around = watched(store.state, generation)
        paths += present
        absent += missing
        places += around
    asked = _asked(session)
    if asked is not None:
        with contextlib.suppress(OSError):
            note_unchanged(store.fs, store.state, _key(session), asked, paths, absent, places)


def _asked(session: Session) -> dict[str, str] | None:
    """Digests of all that decides what an apply wants; None where manifest or lock cannot be read."""
    from .. import __version__
    from ..resolver.finding import user_manifest
    from .session import MOST_BYTES

    if session.manifest_path is None:
        return None
    asked = {"version": __version__}
    own = user_manifest(session.folders["config"])
    try:
        if os.path.lexists(own):
            if not os.path.isfile(own) or os.path.islink(own):
                return None
            status = os.stat(own)
            with open(own, "rb", opener=_no_waiting) as file:
                asked["own"] = f"{_digest(file.read())} {status.st_mode} {status.st_uid}"
        for name, path in (("manifest", session.manifest_path), ("lock", session.lock_path)):
            with open(path, "rb", opener=_no_waiting) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                    return None  # whoever reads it as what it should be tells of it
                asked[name] = _digest(file.read(status.st_size + 1))
    except OSError:
        return None
    deciding = sorted(f"{k}={v}" for k, v in os.environ.items() if decides_places(k))
    asked["variables"] = _digest("\0".join(deciding).encode("utf-8", "surrogateescape"))
    return asked


def _no_waiting(path: str, flags: int) -> int:
    # A FIFO in the place of a file must not hold us up; it reads as empty and matches nothing.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _key(session: Session) -> str:
    """One note for each manifest, lock and choice of targets."""
    names = [str(session.manifest_path), session.lock_path, *sorted(session.options.target or ())]
    return _digest("\0".join(names).encode("utf-8", "surrogateescape"))[:32]


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()
