"""The shape of `gsd-layout.json`: what `gsd_layout` checks before it reads."""

from __future__ import annotations

from .gsd_layout import Wording
from .patterns import FILE_NAME, ID, RANGE, RELATIVE, RELATIVE_FOLDER
from .shapes import ANY_TEXT, TEXT, Anything, Choice, Flag, ListOf, MapOf, Record, Shape, Text, Whole, choice
from .vocabulary import ConfigFileFormat, HookDialectName, HooksSurface, LayoutKind, PayloadPart, Root, Scope

_PATTERN = Text("a relative path with `*` or `**`", RELATIVE.pattern)
_DESTINATION = Text("a relative path, with a final slash for a folder", rf"{RELATIVE.pattern}/?")
_CONDITION: dict[str, Shape] = {
    "when": MapOf(TEXT, Anything()),
    "scopes": ListOf(choice(Scope), least=1, unique=True),
    "beside": ListOf(choice(LayoutKind), least=1, unique=True),
    "packs": RANGE,
}
_LINES: dict[str, Shape] = {"text": Anything(), "document": Anything(), "wording": choice(Wording)}
_BUNDLE = Record(
    {"include": ListOf(_PATTERN, least=1), "executable": ListOf(_PATTERN)},
    {**_CONDITION, "exclude": ListOf(_PATTERN), "shipped": ListOf(_PATTERN)},
)
_HOOK = Record(
    {"script": FILE_NAME},
    {
        **_CONDITION,
        "event": TEXT,
        "hostEvent": TEXT,
        "matcher": TEXT,
        "timeout": Whole(1),
        "extended": Flag(),
        "extra": MapOf(TEXT, Anything()),
    },
)
_EDIT = Record(
    {
        "op": Choice(("append-unique", "set-if-absent")),
        "at": ListOf(TEXT, least=1),
        "values": ListOf(Anything()),
    },
    {**_CONDITION, "file": RELATIVE, "instead": ListOf(FILE_NAME), "format": choice(ConfigFileFormat)},
)

LAYOUT = Record(
    {
        "layoutVersion": Choice((1,)),
        "formerFolder": RELATIVE_FOLDER,
        "profiles": MapOf(ID, ListOf(ID, least=1, unique=True)),
        "copies": ListOf(
            Record(
                {"part": choice(PayloadPart), "from": _PATTERN, "to": _DESTINATION},
                {**_CONDITION, "verbatim": Flag()},
            )
        ),
        "files": ListOf(
            Record(
                {"part": choice(PayloadPart), "to": RELATIVE},
                {
                    **_CONDITION,
                    **_LINES,
                    "executable": Flag(),
                    "words": Record({}, dict.fromkeys(Wording, TEXT)),
                },
            )
        ),
        "blocks": ListOf(
            Record({"file": RELATIVE}, {**_CONDITION, **_LINES, "root": choice(Root), "from": RELATIVE})
        ),
        "bundles": ListOf(
            Record({"surfaces": ListOf(choice(HooksSurface), least=1), "files": ListOf(_BUNDLE, least=1)})
        ),
        "registrations": ListOf(
            Record({"dialects": ListOf(choice(HookDialectName), least=1), "hooks": ListOf(_HOOK, least=1)})
        ),
        "edits": ListOf(_EDIT),
        "mcpServer": Record({"name": ID, "needs": RELATIVE, "command": TEXT, "args": ListOf(ANY_TEXT)}),
        "statusLine": FILE_NAME,
    }
)
