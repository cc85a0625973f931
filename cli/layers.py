"""The user's own file, and the settings in force with where each of them comes from.

The user's file speaks for the user, so it must be the user's: a regular file, of their own, that nobody else
can write. A fault in a layer is an error; the next layer never takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..capabilities.environment import Environment
    from ..capabilities.errors import GsdlockError
    from ..resolver.manifest import Manifest
    from ..resolver.settings import Value
    from .session import Session

_MOST_BYTES = 1024 * 1024


def user_layer(environment: Environment) -> Manifest | None:
    """The user's own file; None where there is none. Raises `GsdlockError`: E-USER-FILE-…, E-MANIFEST-…."""
    from ..resolver.finding import user_manifest
    from ..resolver.manifest import read_manifest

    path = user_manifest(environment.folders.config)
    data = read_own_file(path, environment.user_id)
    return None if data is None else read_manifest(data, path, environment)


def read_own_file(path: str, user_id: int) -> bytes | None:
    """The bytes of a file that speaks for the user; None where there is none. `user_id` is the effective uid,
    -1 where the platform has none.

    Raises `GsdlockError` (status 4): E-USER-FILE-LINK, E-USER-FILE-KIND, E-USER-FILE-OWNER,
    E-USER-FILE-WRITABLE, E-USER-FILE-SIZE; and E-FILE-READ (3).
    """
    import stat

    from ..capabilities.errors import input_error

    # The checks are made on what was opened, and what is opened is never a link and never waited for.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        if os.path.islink(path):
            raise _not_own("E-USER-FILE-LINK", path, "is a link", "Put the file itself there.")
        handle = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise input_error(
            "E-FILE-READ", f"{path} cannot be read: {fault.strerror}", "Mend its permissions.", where=path
        ) from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise _not_own("E-USER-FILE-KIND", path, "is not a regular file", "Put a file there, or nothing.")
        if user_id >= 0 and status.st_uid != user_id:
            what = f"belongs to another user (uid {status.st_uid}, you are {user_id})"
            raise _not_own("E-USER-FILE-OWNER", path, what, "Make it yours, or be that user.")
        if user_id >= 0 and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            what = f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
            raise _not_own(
                "E-USER-FILE-WRITABLE",
                path,
                what,
                f"Look whether it is as you left it, then: chmod go-w {path}",
            )
        data = b""
        while len(data) <= _MOST_BYTES and (part := os.read(handle, 1 << 16)):
            data += part
    finally:
        os.close(handle)
    if len(data) > _MOST_BYTES:
        raise _not_own(
            "E-USER-FILE-SIZE", path, "is larger than 1 MiB", "Nobody writes that much by hand: look at it."
        )
    return data


def settings_of(session: Session) -> Mapping[str, Value]:
    """Every setting in force, by name. Raises `GsdlockError`: those of both files."""
    from ..resolver.settings import SettingLayer, effective

    layers = []
    if session.manifest_path is not None and not session.manifest.of_user:
        layers.append((SettingLayer.PROJECT, session.manifest.path, session.manifest.settings))
    own = session.own
    if own is not None:
        layers.append((SettingLayer.USER, own.path, own.settings))
    flags = {"offline": True} if session.options.offline else {}
    return effective(flags | ({"progress": False} if session.options.no_progress else {}), layers)


def _not_own(code: str, path: str, what: str, fix: str) -> GsdlockError:
    from ..capabilities.errors import refused

    return refused(code, f"your own file {path} {what}", fix, where=path)
