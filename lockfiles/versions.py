"""The version of a lock is read alone, before anything else of the file is decoded.

So a lock of a later gsdlock is refused for what it is, not for whatever in it we cannot read.
"""

from __future__ import annotations

import re

from ..capabilities.errors import GsdlockError, input_error, shown
from .model import LOCK_VERSION

_VERSION_LINE = re.compile(r"[ \t]*(?:lock-version|\"lock-version\"|'lock-version')[ \t]*=[ \t]*([^#\r\n]*)")
_CONFLICT = re.compile(r"(?m)^(<{7}|>{7}|\|{7}|={7})( |$)")


def conflict_line(text: str) -> int:
    """The line (from 1) of the first merge conflict marker in `text`, 0 where there is none."""
    match = _CONFLICT.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def check_version(text: str, where: str) -> int:
    """The lock version of `text`, an integer that this gsdlock reads.

    Raises `GsdlockError`: E-LOCK-VERSION-MISSING, E-LOCK-VERSION-TYPE (not a whole number of 1 or more),
    E-LOCK-VERSION-NEWER.
    """
    raw = _version_text(text)
    if raw is None:
        raise _bad("E-LOCK-VERSION-MISSING", f"{where} has no lock-version", where)
    if not re.fullmatch(r"\+?[0-9](_?[0-9])*", raw) or int(raw) < 1:
        raise _bad(
            "E-LOCK-VERSION-TYPE", f"{where}: lock-version must be a whole number, not {shown(raw)}", where
        )
    version = int(raw)
    if version > LOCK_VERSION:
        raise input_error(
            "E-LOCK-VERSION-NEWER",
            f"{where} has lock-version {shown(raw)}; this gsdlock reads up to {LOCK_VERSION}",
            "Use the gsdlock that wrote it, or a later one.",
            where=where,
        )
    return version


def _version_text(text: str) -> str | None:
    """The raw value of the top-level key, from the lines before the first table header."""
    for line in text.removeprefix("\ufeff").splitlines():
        if line.lstrip().startswith("["):
            return None
        match = _VERSION_LINE.match(line)
        if match:
            return match.group(1).strip()
    return None


def _bad(code: str, what: str, where: str) -> GsdlockError:
    return input_error(code, what, "Make the lock again: gsdlock resolve.", where=where)
