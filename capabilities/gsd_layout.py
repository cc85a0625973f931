"""What an install of a GSD pack holds besides skills, commands and agents: `gsd-layout.json`, read and typed.

The pack lays its content out in folders of its own; which of them a host gets, which hooks are registered and
which entries go into the host's settings was found by comparing packs with what the reference installer made
of them, and is kept as data. A rule may hold for some releases of the pack only (`packs`, an npm range), for
one scope, and for hosts with a certain value of an axis of the descriptor (`when`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from .model import Runtime
from .vocabulary import ConfigFileFormat, HookDialectName, HooksSurface, LayoutKind, PayloadPart, Root, Scope
from .words import Words


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


class Wording(Words):
    """Texts that a pack has in words of its own, in its program code (`resolver.converters.phrases`).

    Where a pack has not the text, the words of `gsd-layout.json` stand in."""

    HERMES_CATEGORY = "hermes-category"
    CLINE_RULES = "cline-rules"
    COPILOT_PLANNED = "copilot-planned"
    COPILOT_UNPLANNED = "copilot-unplanned"
    COPILOT_BEFORE_TOOL = "copilot-before-tool"
    COPILOT_AFTER_TOOL = "copilot-after-tool"
    COPILOT_PROMPT = "copilot-prompt"
    COPILOT_END = "copilot-end"


class Condition(Struct, frozen=True):
    """When a rule holds. An empty member asks for nothing.

    `when` maps an axis (of the runtime body, or of its `hostBehaviors`) to the value that it must have, None
    for an axis that must be absent, false or empty;
    `beside` are kinds of which the artifact layout of the scope must have one; `packs` is an npm range of
    pack versions.
    """

    when: Mapping[str, Any] = field(default_factory=_nothing)
    scopes: tuple[Scope, ...] = ()
    beside: tuple[LayoutKind, ...] = ()
    packs: str = ""

    def holds(self, runtime: Runtime, scope: str, version: str) -> bool:
        """Whether the rule holds for a host, a scope and a pack of `version` (empty: taken as the newest)."""
        return (
            all(_axis(runtime, name) == value for name, value in self.when.items())
            and (not self.scopes or scope in self.scopes)
            and (not self.beside or any(e.kind in self.beside for e in runtime.artifact_layout[scope]))
            and (not self.packs or released(version, self.packs))
        )


class Copy(Struct, frozen=True):
    """Files of the pack that match `source` go to `to` (a folder where it ends in `/`, else one file).

    Below a folder they keep what follows the part of the pattern that has no wildcard. `verbatim` files pass
    no text conversion. Of two rules for one path the later one counts.
    """

    condition: Condition
    part: PayloadPart
    source: str
    to: str
    verbatim: bool


class OwnFile(Struct, frozen=True):
    """A file that the install makes itself; `text` may hold {version}, {runtime}, {profile} and {config}.

    `wording` is the pack's own text in the place of `text`; `words` are variables of `text` that the pack has
    words for, with the words that stand in.
    """

    condition: Condition
    part: PayloadPart
    to: str
    text: str
    executable: bool
    wording: Wording | None
    words: Mapping[Wording, str]


class Block(Struct, frozen=True):
    """A block of text in a Markdown file of the user: `text`, or that of the pack's file `source`, or the
    pack's own `wording`."""

    condition: Condition
    root: Root
    file: str
    source: str
    text: str
    wording: Wording | None


class Bundle(Struct, frozen=True):
    """Which files of the pack's `hooks/` folder go to a host's hooks folder, by patterns relative to it.

    `executable` files get mode 0755 whatever mode they have in the pack. `shipped` files keep the folders and
    the mark of the release that they have in the pack.
    """

    condition: Condition
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    executable: tuple[str, ...]
    shipped: tuple[str, ...]

    def takes(self, path: str) -> bool:
        """Whether the file at `path`, relative to `hooks/`, belongs to the bundle."""
        return any_matches(self.include, path) and not any_matches(self.exclude, path)


class Registration(Struct, frozen=True):
    """One hook of the pack. `event` is in the pack's words, `host_event` in the host's; one of them is empty.

    `timeout` is in seconds, 0 where none is given. `extended` events need a place in `extendedHookEvents`.
    `extra` is added to the entry.
    """

    condition: Condition
    script: str
    event: str = ""
    host_event: str = ""
    matcher: str = ""
    timeout: int = 0
    extended: bool = False
    extra: Mapping[str, Any] = field(default_factory=_nothing)


class SettingsEntry(Struct, frozen=True):
    """Values for a file of the host: `at` are the steps of a JSON pointer, unescaped; `file` is empty for the
    settings file. `op` is `append-unique` or `set-if-absent`. Texts may hold placeholders and `{config}`."""

    condition: Condition
    op: str
    at: tuple[str, ...]
    values: tuple[Any, ...]
    file: str
    instead: tuple[str, ...]
    format: ConfigFileFormat


class PackServer(Struct, frozen=True):
    """The MCP server of the pack, there where the pack holds the file `needs`; args may hold {version}."""

    name: str
    needs: str
    command: str
    args: tuple[str, ...]


class GsdLayout(Struct, frozen=True):
    """All of `gsd-layout.json`.

    `profiles` maps a profile to the stems that it starts from; one that is not there selects everything. A
    pack with files in `former_folder` is of the product's former name, whose version numbers are another
    count: it is older than every release that a rule speaks of.
    """

    former_folder: str
    profiles: Mapping[str, Sequence[str]]
    copies: tuple[Copy, ...]
    files: tuple[OwnFile, ...]
    blocks: tuple[Block, ...]
    bundles: Mapping[HooksSurface, tuple[Bundle, ...]]
    registrations: Mapping[HookDialectName, tuple[Registration, ...]]
    settings: tuple[SettingsEntry, ...]
    server: PackServer
    status_line: str


@cache
def load_gsd_layout() -> GsdLayout:
    """The layout as it is shipped. Raises `ValueError` where the data is not of its shape."""
    import json
    from importlib.resources import files

    from .gsd_layout_shape import LAYOUT

    data = json.loads(files(__package__).joinpath("gsd-layout.json").read_text("utf-8"))
    faults = list(LAYOUT.check(data, ""))
    if faults:
        raise ValueError("gsd-layout.json: " + "; ".join(map(str, faults)))
    return _layout(data)


def any_matches(patterns: Sequence[str], path: str) -> bool:
    """Whether a pattern matches the whole of `path`: `*` within a segment, `**` across segments."""
    # Nearly no path matches; the plain start of a pattern tells that faster than its expression does.
    return any(path.startswith(p.partition("*")[0]) and _pattern(p).fullmatch(path) for p in patterns)


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", glob)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(p, re.escape(p)) for p in parts))


def _axis(runtime: Runtime, name: str) -> Any:
    field_name = re.sub(r"[A-Z]", lambda m: "_" + m.group().lower(), name)
    return getattr(runtime, field_name, None) or runtime.host_behaviors.get(name) or None


@cache
def released(version: str, range_: str) -> bool:
    """Whether a release lies in the range; a prerelease counts as its release, no version as the newest."""
    from .npm_range import RangeError, parse_version, satisfies

    try:
        release = ".".join(map(str, parse_version(version).triple))
    except RangeError:
        release = "999999.0.0"
    return satisfies(release, range_)


def _layout(data: dict[str, Any]) -> GsdLayout:
    return GsdLayout(
        former_folder=data["formerFolder"],
        profiles=MappingProxyType({name: tuple(stems) for name, stems in data["profiles"].items()}),
        copies=tuple(
            Copy(_condition(c), PayloadPart(c["part"]), c["from"], c["to"], c.get("verbatim", False))
            for c in data["copies"]
        ),
        files=tuple(
            OwnFile(
                _condition(f),
                PayloadPart(f["part"]),
                f["to"],
                _text(f),
                f.get("executable", False),
                _wording(f),
                MappingProxyType({Wording(w): said for w, said in f.get("words", {}).items()}),
            )
            for f in data["files"]
        ),
        blocks=tuple(
            Block(
                _condition(b),
                Root(b.get("root", Root.CONFIG)),
                b["file"],
                b.get("from", ""),
                _text(b).rstrip(),
                _wording(b),
            )
            for b in data["blocks"]
        ),
        bundles=MappingProxyType(
            {
                HooksSurface(surface): tuple(map(_bundle, group["files"]))
                for group in data["bundles"]
                for surface in group["surfaces"]
            }
        ),
        registrations=MappingProxyType(
            {
                HookDialectName(name): tuple(map(_registration, group["hooks"]))
                for group in data["registrations"]
                for name in group["dialects"]
            }
        ),
        settings=tuple(map(_settings_entry, data["edits"])),
        server=PackServer(
            name=data["mcpServer"]["name"],
            needs=data["mcpServer"]["needs"],
            command=data["mcpServer"]["command"],
            args=tuple(data["mcpServer"]["args"]),
        ),
        status_line=data["statusLine"],
    )


def _condition(data: dict[str, Any]) -> Condition:
    return Condition(
        when=MappingProxyType(data.get("when", {})),
        scopes=tuple(map(Scope, data.get("scopes", ()))),
        beside=tuple(map(LayoutKind, data.get("beside", ()))),
        packs=data.get("packs", ""),
    )


def _text(data: dict[str, Any]) -> str:
    """A document as JSON with two spaces, lines with a final newline, or the text as it is."""
    import json

    if "document" in data:
        return json.dumps(data["document"], indent=2) + "\n"
    text = data.get("text", "")
    return text if isinstance(text, str) else "".join(line + "\n" for line in text)


def _wording(data: dict[str, Any]) -> Wording | None:
    return Wording(data["wording"]) if "wording" in data else None


def _bundle(data: dict[str, Any]) -> Bundle:
    return Bundle(
        _condition(data),
        tuple(data["include"]),
        tuple(data.get("exclude", ())),
        tuple(data["executable"]),
        tuple(data.get("shipped", ())),
    )


def _registration(data: dict[str, Any]) -> Registration:
    return Registration(
        condition=_condition(data),
        script=data["script"],
        event=data.get("event", ""),
        host_event=data.get("hostEvent", ""),
        matcher=data.get("matcher", ""),
        timeout=data.get("timeout", 0),
        extended=data.get("extended", False),
        extra=MappingProxyType(data.get("extra", {})),
    )


def _settings_entry(data: dict[str, Any]) -> SettingsEntry:
    return SettingsEntry(
        condition=_condition(data),
        op=data["op"],
        at=tuple(data["at"]),
        values=tuple(data["values"]),
        file=data.get("file", ""),
        instead=tuple(data.get("instead", ())),
        format=ConfigFileFormat(data.get("format", ConfigFileFormat.JSONC)),
    )
