"""Everything that is known of the machine and the moment, as one value made once by the command line.

Nothing below `cli` reads `os.environ`, asks the clock or looks up a folder: it is handed an `Environment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct


class Folders(Struct, frozen=True):
    """Our own four folders, absolute. `data` holds blobs, `state` generations and journals."""

    config: str
    data: str
    state: str
    cache: str


class Environment(Struct, frozen=True):
    """The machine as gsdlock sees it.

    `variables` is the environment mapping; `home` the user's home, absolute, or None where HOME is unset or
    relative; `cwd` the working directory, absolute; `platform` a `sys.platform` value; `user_id` the
    effective uid, -1 where the platform has none; `now` gives the time as RFC 3339 UTC with milliseconds.
    """

    variables: Mapping[str, str]
    home: str | None
    cwd: str
    platform: str
    user_id: int
    folders: Folders
    now: Callable[[], str]

    def variable(self, name: str) -> str | None:
        """The value of an environment variable; unset, empty and blank are all None. Never trimmed."""
        value = self.variables.get(name)
        return value if value is not None and value.strip() else None
