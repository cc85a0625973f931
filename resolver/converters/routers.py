"""Router skills of a nested layout: they send the reader to the skills that lie below them."""

from __future__ import annotations

import re

_ROW = re.compile(r"^(\|[^|\n]+\|) gsd-([\w-]+)((?: --[\w-]+)*) \|$", re.MULTILINE)
_HEAD = re.compile(r"^(\|[^|\n]+\|) Invoke \|$", re.MULTILINE)
_CALL = re.compile(r"^Invoke the matched skill directly using the Skill tool\.$", re.MULTILINE)
_READ = (
    "Read the SKILL.md of the row that fits and do what it says. "
    "The paths on the right start at the folder of this skill."
)


def point_below(text: str, children: frozenset[str], told: str = "") -> str:
    """The table of a router with the files of the skills in place of their names.

    A skill of `children` (stems) lies at `skills/<stem>/SKILL.md` below the router; one that is not installed
    keeps its name. `told` is the pack's own sentence on how to read the table.
    """

    def row(match: re.Match[str]) -> str:
        what, stem, flags = match.groups()
        if stem not in children:
            return match[0]
        with_flags = f" ({flags.strip()})" if flags else ""
        return f"{what} Read `skills/{stem}/SKILL.md`{with_flags} |"

    rewritten = _ROW.sub(row, text)
    if rewritten == text:
        return text
    return _CALL.sub(lambda _: told or _READ, _HEAD.sub(r"\1 Read |", rewritten))
