"""The files of a lock, read line by line where they stand as gsdlock writes them.

Most of a lock are lines of one form. To read those with a whole TOML parser took a twentieth of an apply, so
they are taken out beforehand; whatever is not of that very form is left to the parser, with all its
messages. What is taken out means the same in TOML: a plain key, a plain string, no key twice.
"""

from __future__ import annotations

import re

from ..capabilities.errors import hides
from .model import Placement

MARK = "lines taken out"
"""The one key of a table of files whose lines were taken out; its value is their number among all such, as
text, and the ends of the lines: the parser passes over those of a text at once."""

_HEADER = "\n[target.files]\n"
ROOT = r"([a-z][a-z0-9-]*)"
"""The root in a key `root:path`."""
FILE = r"(sha256:[0-9a-f]{64}) (0644|0755) (0|[1-9][0-9]{0,11})( fill)?"
"""What is said of a file: digest, mode, size, and whether it holds placeholders."""
_LINE = re.compile(rf'"{ROOT}:([^"\\\x00-\x1f\x7f]+)" = "{FILE}"')


def without_files(text: str) -> tuple[str, list[tuple[Placement, ...]]]:
    """`text` without the lines of files, and the files of each table where they were taken out.

    Line numbers stay as they are. Where any line is of another form, nothing is taken out.
    """
    whole: tuple[str, list[tuple[Placement, ...]]] = (text, [])
    if MARK in text or '"""' in text or "'''" in text:
        return whole  # inside a string of many lines nothing is what it seems
    if not text.isascii() and hides(text.replace("\n", "")):
        return whole  # a name that shows as another one: the reader tells which
    head, *parts = text.split(_HEADER)
    kept, found = [head], []
    for number, part in enumerate(parts):
        body, blank, rest = part.partition("\n\n")
        lines = body.removesuffix("\n").split("\n")
        files = _files(lines)
        if files is None:
            return whole
        found.append(files)
        kept += [_HEADER, f"\"{MARK}\" = '''{number}", "\n" * body.count("\n"), "'''", blank, rest]
    return "".join(kept), found


def _files(lines: list[str]) -> tuple[Placement, ...] | None:
    """The files that the lines say; None where one of them is of another form, or a key stands twice."""
    files: list[Placement] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        root, path, digest, mode, size, fill = match.groups()
        files.append(Placement(root, path, digest, int(mode, 8), int(size), fill is not None))
    if len({(file.root, file.path) for file in files}) != len(files):
        return None
    return tuple(files)
