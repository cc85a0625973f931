"""Strings as TOML writes them."""

from __future__ import annotations

import re

# What a literal string may not hold.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def basic_string(text: str) -> str:
    """A string on one line."""
    import json

    # JSON's escapes are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def text_block(text: str) -> str:
    """A string over several lines: `text` and a final newline, literal where that is possible."""
    if "'''" not in text and not _CONTROL.search(text):
        return f"'''\n{text}\n'''"
    body = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"""\n' + _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", body) + '\n"""'
