"""Two versions of a text as a unified diff."""

from __future__ import annotations


def unified(before: bytes | None, after: bytes | None, label: str, context: int = 3) -> list[str]:
    """Lines of a unified diff (without line ends) from `before` to `after`; None stands for no file.

    A file that is not UTF-8 text, or holds NUL, gives one line that says so. Control characters other than
    tab are shown as U+FFFD, so that a diff cannot drive the terminal.
    """
    import difflib

    old, new = _lines(before), _lines(after)
    head = [f"--- {'/dev/null' if before is None else 'a/' + label}"]
    head.append(f"+++ {'/dev/null' if after is None else 'b/' + label}")
    if old is None or new is None:
        return [*head, "binary files differ"]
    body = list(difflib.unified_diff(old, new, lineterm="", n=context))[2:]
    return [*head, *body] if body or (before is None) != (after is None) else []


def _lines(data: bytes | None) -> list[str] | None:
    if data is None:
        return []
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    safe = "".join(c if c in "\t\n" or (ord(c) >= 0x20 and ord(c) != 0x7F) else "\ufffd" for c in text)
    lines = safe.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif lines:
        lines[-1] += "  (no newline at the end)"
    return lines
