"""Where the manifest is looked for. Loaded at every start, so it needs nothing."""

from __future__ import annotations

MANIFEST_NAME = "gsdlock.toml"
LOCK_NAME = "gsdlock.lock"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def find_manifest(cwd: str, config_folder: str, exists: Callable[[str], bool]) -> str | None:
    """The absolute path of the manifest in force, or None.

    `cwd` is the working directory; from there upwards to the repository root (the folder that holds `.git`),
    then the user-level one in our config folder. `exists` tells whether a path exists.
    """
    folder = cwd
    while True:
        base = folder.rstrip("/")
        if exists(f"{base}/{MANIFEST_NAME}"):
            return f"{base}/{MANIFEST_NAME}"
        parent = folder.rsplit("/", 1)[0] or "/"
        if exists(f"{base}/.git") or folder == "/" or parent == folder:
            break
        folder = parent
    user = user_manifest(config_folder)
    return user if exists(user) else None


def user_manifest(config_folder: str) -> str:
    """Where the user-level manifest lies: the only one that speaks for the user."""
    return f"{config_folder}/{MANIFEST_NAME}"
