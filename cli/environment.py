"""The one place that reads `os.environ`, the clock, the working directory and the user's folders."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..capabilities.environment import Environment
    from ..capabilities.errors import GsdlockError

_NAMES = ("config", "data", "state", "cache")


def own_folders() -> dict[str, str]:
    """Our four folders by name: below `GSDLOCK_HOME` where that is set, else where the platform keeps such
    things for a user (`platformdirs`).

    Raises `GsdlockError`: E-HOME-UNSET, E-HOME-RELATIVE.
    """
    moved = os.environ.get("GSDLOCK_HOME", "")
    if moved.strip():
        if not os.path.isabs(moved):
            from ..capabilities.errors import input_error, shown

            raise input_error(
                "E-HOME-RELATIVE",
                f"GSDLOCK_HOME is not an absolute path: {shown(moved)}",
                "Set it to an absolute path, or unset it.",
            )
        return {name: os.path.join(moved, name) for name in _NAMES}
    platform: str = sys.platform  # a name of its own: a checker would take the rest for dead code
    if platform.startswith("linux"):
        return xdg_folders(os.environ, user_home())
    if user_home() is None:
        raise _homeless()
    from platformdirs import PlatformDirs

    folders = PlatformDirs("gsdlock", appauthor=False)
    return {
        "config": folders.user_config_dir,
        "data": folders.user_data_dir,
        "state": folders.user_state_dir,
        "cache": folders.user_cache_dir,
    }


_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def xdg_folders(variables: Mapping[str, str], home: str | None) -> dict[str, str]:
    """Our four folders by the XDG rule, as `platformdirs` has it (a test compares them): a variable counts
    when it is an absolute path, and the home is needed for the others only.

    On Linux every command starts with this, and importing `platformdirs` takes longer than starting Python.
    Raises `GsdlockError` E-HOME-UNSET.
    """
    found = {}
    for name, (variable, below) in _XDG.items():
        base = variables.get(variable, "").strip()
        if not os.path.isabs(base):
            if home is None:
                raise _homeless()
            base = f"{home.rstrip('/')}/{below}"
        found[name] = os.path.join(base, "gsdlock")
    return found


def _homeless() -> GsdlockError:
    from ..capabilities.errors import input_error

    return input_error(
        "E-HOME-UNSET", "HOME is not set to an absolute path", "Set HOME, or set GSDLOCK_HOME."
    )


def user_home() -> str | None:
    """The user's home, absolute and without a slash at the end; None where it is unset or relative."""
    home = os.environ.get("USERPROFILE" if sys.platform == "win32" else "HOME", "")
    if not home.strip() or not os.path.isabs(home):
        return None
    return home.rstrip("/") or "/"


def now() -> str:
    """The time as RFC 3339 UTC with milliseconds."""
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def make_environment(folders: dict[str, str]) -> Environment:
    """The `Environment` of this process; `folders` are those of `own_folders`. Raises E-CWD."""
    from ..capabilities.environment import Environment, Folders

    return Environment(
        variables=dict(os.environ),
        home=user_home(),
        cwd=working_directory(),
        platform=sys.platform,
        user_id=os.geteuid() if hasattr(os, "geteuid") else -1,
        folders=Folders(**folders),
        now=now,
    )


def working_directory() -> str:
    """The working directory. Raises `GsdlockError` E-CWD where it no longer exists."""
    try:
        return os.getcwd()
    except OSError as fault:
        from ..capabilities.errors import input_error

        raise input_error(
            "E-CWD",
            f"the working directory cannot be read: {fault.strerror}",
            "Change to a folder that exists.",
        ) from None
