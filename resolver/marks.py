"""Text of a pack that looks like one of our placeholders would be filled in at apply, and read otherwise.

So it is refused: as bytes where a file is taken as it is (`once`), and here in data that was decoded, since
JSON can write the same text in many ways.
"""

from __future__ import annotations

from typing import Any

from ..capabilities.errors import GsdlockError, input_error, shown
from ..lockfiles.placeholders import has_placeholder


def check_decoded(subject: str, path: str, value: Any) -> None:
    """Raises E-PACK-PLACEHOLDER (status 3) where a key or a text in decoded JSON holds a placeholder.

    `subject` names the pack or the overlay, as messages begin; `path` is the file that was decoded.
    """
    waiting = [value]  # nested as deeply as its author likes
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, str) and has_placeholder(part.encode("utf-8", "surrogatepass")):
            raise placeholder_fault(subject, path)


def placeholder_fault(subject: str, path: str) -> GsdlockError:
    """E-PACK-PLACEHOLDER."""
    return input_error(
        "E-PACK-PLACEHOLDER",
        f"{subject}: {shown(path, 200)} holds what gsdlock would take for its own placeholder",
        "Write it another way: {{gsdlock: must not stand in its files.",
        where=path,
    )
