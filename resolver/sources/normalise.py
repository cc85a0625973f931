"""The one form in which text enters the store.

The rule: a file is text where its bytes are valid UTF-8 without a NUL and its name does not end in `.bat` or
`.cmd` (whatever the case), which cmd.exe wants with CRLF. In a text file every CRLF becomes LF; nothing else
changes: a lone CR stays, so does a byte order mark. Every other file is binary and is kept byte for byte. So
a checkout with CRLF line ends and one with LF line ends give the same tree.
"""

from __future__ import annotations

_KEPT_SUFFIXES = (".bat", ".cmd")


def normalised(path: str, data: bytes) -> bytes:
    """`data` in the form in which it is hashed and kept; `path` is its name in the pack."""
    if b"\r\n" not in data or not is_text(path, data):
        return data
    return data.replace(b"\r\n", b"\n")


def is_text(path: str, data: bytes) -> bool:
    """Whether the file is text by the rule above."""
    if path.lower().endswith(_KEPT_SUFFIXES) or b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
