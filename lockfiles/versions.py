"""The version of a lock is read alone, before anything else of the file is decoded.

So a lock of a later gsdlock is refused for what it is, not for whatever in it we cannot read.
"""

from __future__ import annotations

from ..capabilities.errors import GsdlockError, input_error, shown
from .model import LOCK_VERSION

LOCK_AGAIN = (
    "Restore it from version control; or move it away and run gsdlock resolve, which then takes what the "
    "manifest allows today."
)
"""What to do about a lock that cannot be read. `resolve` alone does not do: it keeps what the lock pins, so
it reads it first, and never throws pins away unasked."""

_SPELLINGS = ("lock-version", '"lock-version"', "'lock-version'")
_MARKERS = ("<<<<<<<", ">>>>>>>", "|||||||", "=======")


def conflict_line(text: str) -> int:
    """The line (from 1) of the first merge conflict marker in `text`, 0 where there is none."""
    if not any(marker in text for marker in _MARKERS):
        return 0
    import re

    match = re.search(r"(?m)^(<{7}|>{7}|\|{7}|={7})( |$)", text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def check_version(text: str, where: str) -> int:
    """The lock version of `text`, an integer that this gsdlock reads.

    Raises `GsdlockError`: E-LOCK-VERSION-MISSING, E-LOCK-VERSION-TYPE (not a whole number of 1 or more),
    E-LOCK-VERSION-NEWER.
    """
    raw = _version_text(text)
    if raw is None:
        raise _bad("E-LOCK-VERSION-MISSING", f"{where} has no lock-version", where)
    if not _is_whole(raw) or int(raw) < 1:
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
    tables = text.find("\n[")
    for line in text[: tables if tables >= 0 else None].removeprefix("\ufeff").splitlines():
        if line.lstrip().startswith("["):
            return None
        key, equals, value = line.partition("=")
        if equals and key.strip(" \t") in _SPELLINGS:
            return value.partition("#")[0].strip()
    return None


def _is_whole(text: str) -> bool:
    """Whether `text` is a whole number as TOML spells it in decimal."""
    return all(part.isascii() and part.isdigit() for part in text.removeprefix("+").split("_"))


def _bad(code: str, what: str, where: str) -> GsdlockError:
    return input_error(code, what, LOCK_AGAIN, where=where)
