"""Where nothing may be written, decided on paths as data: no disk is looked at here.

`check_relative` and `check_twins` are asked about every path of a plan before anything else; `roots` then
walks the disk. `check_root_place` says where the root of a third-party runtime may not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from ..capabilities.errors import refused, shown

MOST_PATH_BYTES = 4096
MOST_NAME_BYTES = 255
STAGING_PREFIX = ".gsdlock-"

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_GIT = frozenset({".git", "git~1"})  # the latter is its short name on file systems of Windows
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})


def relative_fault(path: str) -> str | None:
    """Why `path` is not a safe relative path, in a few words; None where it is one.

    Safe means: `/`-separated names, none empty, `.` or `..`; no control character, NUL, line separator,
    lone surrogate or backslash; no drive (`c:`), no name that Windows keeps for a device, no trailing dot or
    space; a name at most 255 bytes, the whole at most 4,096 bytes of UTF-8; no name of our own staging.
    """
    if not path:
        return "is empty"
    if "\\" in path:
        return "holds a backslash"
    if "\0" in path:
        return "holds a NUL"
    if not path.isprintable() and _is_unsafe(path):
        return "holds a control character"
    if len(path.encode("utf-8")) > MOST_PATH_BYTES:
        return f"is longer than {MOST_PATH_BYTES} bytes"
    folder, slash, name = path.rpartition("/")
    return (_folder_fault(folder) if slash else None) or _name_fault(name)


def _is_unsafe(path: str) -> bool:
    import unicodedata

    return any(unicodedata.category(c) in _UNSAFE_CATEGORIES for c in path)


def check_relative(path: str, *, what: str = "path") -> None:
    """Raises E-CONFINE-PATH (status 4) where `relative_fault` finds something."""
    fault = relative_fault(path)
    if fault:
        raise refused(
            "E-CONFINE-PATH",
            f'the {what} "{shown(path, 200)}" is unsafe: it {fault}',
            "Nothing was written. Whoever made the content must rename it.",
            where=shown(path, 400),
        )


class Twin(Struct, frozen=True):
    """Two paths that cannot both exist everywhere; `why` says how they clash."""

    first: str
    second: str
    why: str


def folded(path: str) -> str:
    """The form in which a file system that ignores case and composition would compare paths."""
    if path.isascii():
        return path.lower()
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def twins(paths: Iterable[str]) -> list[Twin]:
    """The clashes among paths: equal but for case or composition (whole, or in a folder on the way), and a
    file where another path needs a folder. Paths may be absolute. Equal paths do not clash."""
    whole = set(paths)
    return [] if _all_apart(whole) else _clashes(whole)


def _all_apart(paths: set[str]) -> bool:
    """Whether `paths` surely have no twins, which is nearly always so and is quickly told."""
    folders: set[str] = set()
    above = {path.rpartition("/")[0] for path in paths}
    while above := above - folders:
        folders |= above
        above = {path.rpartition("/")[0] for path in above}
    folders.discard("")
    if not folders.isdisjoint(paths):
        return False
    spelled = paths | folders
    return len(set(map(folded, spelled))) == len(spelled)


def _clashes(paths: set[str]) -> list[Twin]:
    found: list[Twin] = []
    spelled: dict[str, str] = {}  # folded folder or file -> its first spelling
    files: dict[str, str] = {}
    folders: dict[str, str] = {}  # folded folder -> a path that needs it
    done: set[str] = set()  # folders that were looked at, as they are spelled
    for path in sorted(paths):
        parts = [path]
        while (folder := parts[-1].rpartition("/")[0]) and folder not in done:
            parts.append(folder)
        for part in reversed(parts):
            key = folded(part)
            first = spelled.setdefault(key, part)
            if first != part:
                found.append(Twin(first, path, "differ only in case or composition"))
                break
            if part != path:
                folders.setdefault(key, path)
                done.add(part)
        files.setdefault(folded(path), path)
    found += [
        Twin(files[key], folders[key], "one is a file where the other needs a folder")
        for key in files
        if key in folders
    ]
    return found


def check_twins(paths: Iterable[str]) -> None:
    """Raises E-CONFINE-TWINS (status 4) naming every pair that `twins` finds."""
    found = twins(paths)
    if found:
        raise refused(
            "E-CONFINE-TWINS",
            f"{len(found)} pairs of paths cannot both exist on every system"
            if len(found) > 1
            else f"{shown(found[0].first, 200)} and {shown(found[0].second, 200)} cannot both exist",
            "Nothing was written. Rename or disable one of each pair.",
            details=[f"{shown(t.first, 200)} and {shown(t.second, 200)}: {t.why}" for t in found],
        )


def check_root_place(
    path: str,
    home: str | None,
    others: Mapping[str, str],
    *,
    what: str = "the root of a third-party runtime",
    fix: str = "Ask its author for a folder of its own, such as one below ~/.config.",
) -> None:
    """Whether `what` may be at `path` (absolute, resolved).

    `others` maps what owns a place (`the root of claude`, `gsdlock's own state`) to its path: a root may
    neither be, hold nor lie in one. It may not be the home, hold it, or be a place where shells, keys or the
    system live. Raises E-CONFINE-PLACE (status 4).
    """
    place = _clean(path)
    why = _forbidden(place, _clean(home) if home else None)
    if why is None:
        for owner, other in others.items():
            if _within(place, _clean(other)) or _within(_clean(other), place):
                why = f"it meets {owner} ({shown(other, 200)})"
                break
    if why is not None:
        raise refused(
            "E-CONFINE-PLACE",
            f"{shown(path, 200)} cannot be {what}: {why}",
            fix,
            where=shown(path, 400),
        )


# Folders of the home that decide how a session starts or who may enter it, and what holds everybody's data.
_HOME_WHOLE = (
    *(".ssh", ".gnupg", ".aws", ".kube", ".docker", ".password-store", "bin", ".local/bin"),
    *(".config/systemd", ".config/autostart", ".config/fish", ".config/git", "Library/LaunchAgents"),
)
_HOME_ITSELF = (
    *(".config", ".local", ".local/share", ".local/state", ".cache", "Library"),
    *("Library/Application Support", "Desktop", "Documents", "Downloads", "AppData"),
)
_HOME_FILES = (".profile", ".login", ".logout", ".xprofile", ".xinitrc", ".inputrc", ".netrc", ".gitconfig")
_HOME_STARTS = (".bash", ".zsh", ".zlog", ".zprofile", ".ksh", ".csh", ".tcsh", ".fish")
_SYSTEM = (
    *("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr", "var"),
    *("opt", "nix", "System", "Library", "Applications", "private", "Windows", "Program Files"),
)


def _forbidden(place: str, home: str | None) -> str | None:
    below_home = None
    if home is not None:
        if _within(home, place):
            return "it is the home, or holds it"
        if _within(place, home):
            below_home = folded(place[len(home) + 1 :])
    if below_home is None:
        names = [n for n in folded(place).split("/") if n and not n.endswith(":")]
        system = {folded(n) for n in _SYSTEM}
        return "it is a system folder" if not names or names[0] in system else None
    for whole in _HOME_WHOLE:
        if _within(below_home, folded(whole)) or _within(folded(whole), below_home):
            return f"~/{whole} is never written"
    if below_home in {folded(n) for n in _HOME_ITSELF}:
        return "other programs share it as a whole"
    first = below_home.split("/")[0]
    if first in _HOME_FILES or first.startswith(_HOME_STARTS):
        return "shells start from it"
    return None


def _clean(path: str) -> str:
    return "/" + "/".join(n for n in path.replace("\\", "/").split("/") if n and n != ".")


def within(inner: str, outer: str, *, fold: bool) -> bool:
    """Whether a path is another or lies below it, name by name; both full and without `.` and `..`.

    `fold` compares as a file system does that ignores case and composition.
    """
    if fold:
        inner, outer = folded(inner), folded(outer)
    return inner == outer or inner.startswith(outer if outer.endswith("/") else outer + "/")


def _within(inner: str, outer: str) -> bool:
    return within(inner, outer, fold=True)  # what would be the same place anywhere is one here


# The same few folders and file names come again and again.
@lru_cache(maxsize=4096)
def _folder_fault(folder: str) -> str | None:
    return next(filter(None, map(_name_fault, folder.split("/"))), None)


@lru_cache(maxsize=4096)
def _name_fault(name: str) -> str | None:
    if not name:
        return "is absolute, or has an empty name in it"
    if name in (".", ".."):
        return f'climbs by "{name}"'
    if len(name.encode("utf-8")) > MOST_NAME_BYTES:
        return f"has a name longer than {MOST_NAME_BYTES} bytes"
    if name[1:2] == ":":  # whatever stands before it: the path functions of Windows ask for no letter
        return "names a drive"
    if name[-1] in ". ":
        return "has a name that ends in a dot or a space"
    if name.split(".")[0].rstrip(" ").casefold() in _RESERVED:
        return f'has the name "{shown(name)}", which Windows keeps for a device'
    if name.casefold() in _GIT:
        return f'has the name "{shown(name)}", where git keeps what it runs'
    if name.startswith(STAGING_PREFIX):
        return f"has a name that begins with {STAGING_PREFIX}, which gsdlock uses for staging"
    return None
