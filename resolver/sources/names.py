"""Which file names a pack may hold: names that mean one and the same file on every system.

A name is refused as data, before anything is done with it. The rules: relative, `/` as separator, no empty,
`.` or `..` component, no backslash, drive letter, control character, NUL, line separator, bidi control or
lone surrogate (a name that is not UTF-8), no name that Windows reserves or shortens, at most 255 bytes a
component, 4096 bytes and 100 components a path. No two names of one pack may become one under case folding
and NFC, and none may be both a file and a folder.
"""

from __future__ import annotations

import unicodedata

from ...capabilities.errors import GsdlockError, refused, shown

MAX_COMPONENT_BYTES = 255
MAX_PATH_BYTES = 4096
MAX_DEPTH = 100

_BAD_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Source: Microsoft, "Naming Files, Paths, and Namespaces"; the superscript digits count there too.
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"}
)


def name_fault(path: str) -> str | None:
    """Why `path` may not be a name in a pack, as the end of a sentence; None where it may."""
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is an absolute path"
    if "\\" in path:
        return "holds a backslash"
    if not path.isascii() or not path.isprintable():
        for character in path:
            if character == "\0":
                return "holds a NUL"
            if unicodedata.category(character) == "Cs":
                return "is not UTF-8"
            if unicodedata.category(character) in _BAD_CATEGORIES or character in _BIDI:
                return f"holds the control character U+{ord(character):04X}"
    if len(path.encode("utf-8")) > MAX_PATH_BYTES:
        return f"is longer than {MAX_PATH_BYTES} bytes"
    components = path.split("/")
    if len(components) > MAX_DEPTH:
        return f"is deeper than {MAX_DEPTH} folders"
    for component in components:
        fault = _component_fault(component)
        if fault is not None:
            return fault
    return None


def _component_fault(component: str) -> str | None:
    if not component:
        return "has an empty component"
    if component == "..":
        return "has the component `..`"
    if component == ".":
        return "has the component `.`"
    if len(component.encode("utf-8")) > MAX_COMPONENT_BYTES:
        return f"has a component longer than {MAX_COMPONENT_BYTES} bytes"
    if component[0].isascii() and component[0].isalpha() and component[1:2] == ":":
        return "has a drive letter"
    if component[-1] in ". ":
        return "has a component that ends with a dot or a space, which Windows drops"
    if component.split(".", 1)[0].rstrip(" ").casefold() in _RESERVED:
        return f"has the component `{shown(component)}`, a name that Windows reserves for a device"
    return None


def folded(path: str) -> str:
    """The spelling under which a file system that ignores case and normal form would find `path`."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


class NameSet:
    """The names of one pack so far; refuses a name that is bad by itself or beside the others.

    `subject` begins the message (`pack gsd`).
    """

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._checked: set[str] = set()

    def add_file(self, path: str) -> None:
        """Raises E-UNPACK-NAME, E-UNPACK-DUPLICATE or E-UNPACK-COLLISION."""
        self.check_name(path)
        key = folded(path)
        other = self._files.get(key)
        if other == path:
            raise refused(
                "E-UNPACK-DUPLICATE",
                f"{self._subject} holds `{shown(path)}` twice",
                "Ask the pack's author for a pack in which every file stands once.",
                where=shown(path, 400),
            )
        if other is not None or key in self._folders:
            raise self._collision(path, other or self._folders[key])
        self._files[key] = path
        parent = path.rpartition("/")[0]
        if parent:
            self.add_folder(parent)

    def add_folder(self, path: str) -> None:
        """Raises E-UNPACK-NAME or E-UNPACK-COLLISION. The same folder may come again and again."""
        if path in self._checked:
            return
        self.check_name(path)
        while path and path not in self._checked:
            key = folded(path)
            other = self._files.get(key) or self._folders.get(key, path)
            if other != path or key in self._files:
                raise self._collision(path, other)
            self._folders[key] = path
            self._checked.add(path)
            path = path.rpartition("/")[0]

    def check_name(self, path: str) -> None:
        """Raises E-UNPACK-NAME where the name is bad by itself."""
        fault = name_fault(path)
        if fault is not None:
            raise refused(
                "E-UNPACK-NAME",
                f"{self._subject} holds a file name that {fault}: `{shown(path, 120)}`",
                "Ask the pack's author to rename the file; a pack must mean the same on every system.",
                where=shown(path, 400),
            )

    def _collision(self, path: str, other: str) -> GsdlockError:
        how = "as a file and as a folder" if path == other else f"and `{shown(other)}`"
        return refused(
            "E-UNPACK-COLLISION",
            f"{self._subject} holds `{shown(path)}` {how}, which are one name on some systems",
            "Ask the pack's author to rename one of them.",
            where=shown(path, 400),
        )
