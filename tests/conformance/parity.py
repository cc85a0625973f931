"""What gsdlock installs beside what the reference installer does, file by file.

`compare` takes the two scratch homes of one target and gives a `Finding` for each path that either side
wrote. Files are compared after the same normalisation of both: the scratch home, the project folder, the
unpacked package and the interpreters get names instead of paths. Files of settings are compared by what they
say, all others by their text and whether they may be executed.

What is meant to differ is listed in `differences.json`. An entry says where it holds (runtimes, scopes,
kinds, paths) and takes the described difference out: `rewrites` in one side's text or both, `settings` by the
place in the file, `missing`, `extra` and `modes` as such, `moved` from a folder to another. A file is "on
purpose" only if nothing else differs.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.homes import placed_root, resolve_roots
from gsdlock.capabilities.model import Runtime
from gsdlock.capabilities.vocabulary import LayoutKind
from gsdlock.resolver.places import hooks_folder, hooks_root

from .ours import files
from .reference import Homes

HERE = Path(__file__).parent
SCOPES = ("global", "local")
_KINDS = {
    LayoutKind.SKILLS: "skills",
    LayoutKind.COMMANDS: "commands",
    LayoutKind.AGENTS: "agents",
    LayoutKind.KIMI_AGENTS: "agents",
}
KINDS = ("skills", "commands", "agents", "payload", "hooks", "config")
# Folders below a config directory that hold nothing but content of the pack.
_PAYLOAD = ("gsd-core/", "get-shit-done/", "scripts/", "plugins/", "extensions/")
_MOST_LINES = 40


class Outcome(StrEnum):
    """How one path compares."""

    IDENTICAL = "identical"
    ON_PURPOSE = "on purpose"
    DIFFERS = "differs"
    MISSING = "missing"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Finding:
    """One path of one target: `home/…` or `proj/…`, of what kind it is, and how the two sides compare.

    `reasons` are the ids of the entries of `differences.json` that explain it; `detail` shows what differs.
    """

    path: str
    kind: str
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """One runtime at one scope."""

    runtime: Runtime
    scope: str

    @property
    def name(self) -> str:
        return f"{self.runtime.id}-{self.scope}"


@dataclass(frozen=True, slots=True)
class Side:
    """What one installer left: the homes it ran in, the package it took the content from, and Node."""

    homes: Homes
    package: Path
    node: Path

    @property
    def tree(self) -> dict[str, Path]:
        """Every file, by `home/…` and `proj/…`."""
        both = (("home", self.homes.home), ("proj", self.homes.project))
        return {f"{top}/{path}": file for top, folder in both for path, file in files(folder).items()}

    def placed(self, text: str) -> str:
        """`text` without paths of the run. A path below the project is relative: ours are, so that a project
        can be committed."""
        text = text.replace(f"{self.homes.project}/", "").replace(str(self.homes.project), ".")
        text = text.replace(str(self.homes.home), "<HOME>").replace(str(self.package), "<PACKAGE>")
        return text.replace(str(self.node / "node"), "<NODE>")


# --- what is meant to differ


class Differences:
    """The entries of `differences.json`."""

    def __init__(self, path: Path = HERE / "differences.json") -> None:
        data = json.loads(path.read_text("utf-8"))
        self.entries: list[dict[str, Any]] = data["differences"]
        self.bookkeeping: list[str] = data["bookkeeping"]["paths"]

    def records(self, path: str) -> bool:
        """Whether a path is one of the reference's own records, which are out of scope."""
        return any(fnmatchcase(path, p) for p in self.bookkeeping)

    def of(self, target: Target, kind: str, path: str) -> list[dict[str, Any]]:
        """The entries that hold for a path of a kind; an empty one is any."""
        return [
            e
            for e in self.entries
            if target.runtime.id in e.get("runtimes", [target.runtime.id])
            and target.scope in e.get("scopes", [target.scope])
            and (not kind or kind in e.get("kinds", [kind]))
            and (not path or any(fnmatchcase(path, p) for p in e.get("paths", ["*"])))
        ]

    def moved(
        self, target: Target, ours: Mapping[str, Path], theirs: Mapping[str, Path]
    ) -> dict[str, tuple[str, str]]:
        """The reference's paths that are elsewhere on our side: where, and the entry that says so."""
        found: dict[str, tuple[str, str]] = {}
        for entry in self.of(target, "", ""):
            for old, new in entry.get("moved", {}).items():
                for path in theirs:
                    to = new + path.removeprefix(old)
                    if path.startswith(old) and to in ours and path not in ours:
                        found[path] = (to, str(entry["id"]))
        return found


def reasons_for(entries: list[dict[str, Any]], key: str) -> tuple[str, ...] | None:
    """The first entry that excuses a path by `key` (`missing`, `extra`, `modes`); None where none does."""
    return next(((str(e["id"]),) for e in entries if e.get(key)), None)


def reasons_for_text(entries: list[dict[str, Any]], ours: str, theirs: str) -> tuple[str, ...] | None:
    """The entries that together explain every difference of two texts; None where they do not."""
    used: list[str] = []
    for entry in entries:
        before = ours, theirs
        for rule in entry.get("rewrites", ()):
            pattern = re.compile(rule["pattern"], re.MULTILINE | re.DOTALL)
            if rule["side"] in ("ours", "both"):
                ours = pattern.sub(rule["replace"], ours)
            if rule["side"] in ("reference", "both"):
                theirs = pattern.sub(rule["replace"], theirs)
        if (ours, theirs) != before:
            used.append(str(entry["id"]))
        if ours == theirs:
            return tuple(used)
    return None


# --- of what kind a path is


@dataclass(frozen=True)
class Places:
    """Where a target's things lie, as `home/…` and `proj/…`."""

    target: Target
    homes: Homes

    @cached_property
    def roots(self) -> Mapping[str, str]:
        """The roots of the target by name; each ends in `/`."""
        home, project = str(self.homes.home), str(self.homes.project)
        around = Environment({}, home, project, "linux", 0, Folders("", "", "", ""), lambda: "")
        exists = lambda p: Path(p).exists()  # noqa: E731
        roots = resolve_roots(self.target.runtime, self.target.scope, around, project, exists).paths
        named = ((n, p.replace(home, "home", 1).replace(project, "proj", 1)) for n, p in roots.items())
        return {name: f"{path}/" for name, path in named}

    @cached_property
    def _folders(self) -> list[tuple[str, str]]:
        runtime, scope = self.target.runtime, self.target.scope
        found = [
            (f"{self.roots[placed_root(runtime, scope, e)]}{e.dest_subpath}/", _KINDS[e.kind])
            for e in runtime.artifact_layout[scope]
        ]
        found.append((f"{self.roots[hooks_root(runtime, scope)]}{hooks_folder(runtime)}/", "hooks"))
        return found + [(self.roots["config"] + folder, "payload") for folder in _PAYLOAD]

    def kind(self, path: str) -> str:
        """The kind of a path that no edit changes."""
        for folder, kind in self._folders:
            if path.startswith(folder):
                return kind
        marker = path.removeprefix(self.roots["config"]).startswith(".gsd-")
        return "payload" if marker else "config"


def edited_files(lock: Path, target: Target, places: Mapping[str, str]) -> frozenset[str]:
    """The files that a target of a lock edits, as `home/…` and `proj/…`."""
    data = tomllib.loads(lock.read_text("utf-8"))
    rows = next(t for t in data["target"] if t["name"] == target.name).get("edit", ())
    roots = ((e["file"].partition(":")[0], e["file"].partition(":")[2]) for e in rows)
    return frozenset(places[root] + path for root, path in roots)


# --- the comparison


def compare(target: Target, ours: Side, theirs: Side, differences: Differences) -> list[Finding]:
    """A finding for each path that either side wrote for a target, sorted by path."""
    places = Places(target, ours.homes)
    edited = edited_files(ours.homes.project / "gsdlock.lock", target, places.roots)
    mine = {p: f for p, f in ours.tree.items() if p.startswith(_top(target))}
    other = {p: f for p, f in theirs.tree.items() if not differences.records(p)}
    moved = differences.moved(target, mine, other)
    other = {moved.get(p, (p, ""))[0]: f for p, f in other.items()}
    elsewhere = dict(moved.values())
    found: list[Finding] = []
    for path in sorted({*mine, *other}):
        kind = "config" if path in edited else places.kind(path)
        entries = differences.of(target, kind, path)
        if path not in other:
            found.append(_one_sided(path, kind, Outcome.EXTRA, entries))
        elif path not in mine:
            found.append(_one_sided(path, kind, Outcome.MISSING, entries))
        else:
            by_value = path in edited and path.endswith((".json", ".jsonc", ".toml"))
            contents = _by_value if by_value else _by_text
            pair = _Pair(path, mine[path], other[path], ours, theirs)
            reasons, detail = contents(pair, entries)
            if reasons is not None and path in elsewhere:
                reasons = (*reasons, elsewhere[path])
            found.append(_both(pair, kind, entries, (reasons, detail)))
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """One path that both sides wrote."""

    path: str
    mine: Path
    other: Path
    ours: Side
    theirs: Side

    def texts(self) -> tuple[str, str] | None:
        """Both texts without paths of the run; None where one is not text."""
        try:
            return (
                self.ours.placed(self.mine.read_bytes().decode("utf-8")),
                self.theirs.placed(self.other.read_bytes().decode("utf-8")),
            )
        except UnicodeDecodeError:
            return None

    @property
    def same_mode(self) -> bool:
        """Whether both or neither may be executed. Other bits follow the umask of the run."""
        return bool(self.mine.stat().st_mode & 0o100) == bool(self.other.stat().st_mode & 0o100)


_Verdict = tuple[tuple[str, ...] | None, str]


def _top(target: Target) -> str:
    """A global target writes to the home, a local one to the project."""
    return "proj/" if target.scope == "local" else "home/"


def _one_sided(path: str, kind: str, outcome: Outcome, entries: list[dict[str, Any]]) -> Finding:
    reasons = reasons_for(entries, outcome.value)
    return Finding(path, kind, outcome if reasons is None else Outcome.ON_PURPOSE, reasons or ())


def _both(pair: _Pair, kind: str, entries: list[dict[str, Any]], contents: _Verdict) -> Finding:
    reasons, detail = contents
    if not pair.same_mode:
        mode = reasons_for(entries, "modes")
        reasons = None if reasons is None or mode is None else reasons + mode
        detail = detail or "only one of the two may be executed"
    if reasons is None:
        return Finding(pair.path, kind, Outcome.DIFFERS, (), detail)
    return Finding(pair.path, kind, Outcome.ON_PURPOSE if reasons else Outcome.IDENTICAL, reasons)


def _by_text(pair: _Pair, entries: list[dict[str, Any]]) -> _Verdict:
    texts = pair.texts()
    if texts is None:
        same = pair.mine.read_bytes() == pair.other.read_bytes()
        return (() if same else None), "not text"
    ours, theirs = texts
    if ours == theirs:
        return (), ""
    lines = difflib.unified_diff(
        theirs.splitlines(), ours.splitlines(), "reference", "gsdlock", lineterm="", n=0
    )
    shown = "\n".join(line for line, _ in zip(lines, range(_MOST_LINES), strict=False))
    return reasons_for_text(entries, ours, theirs), shown or "only the line ends differ"


def _by_value(pair: _Pair, entries: list[dict[str, Any]]) -> _Verdict:
    texts = pair.texts()
    assert texts is not None, f"{pair.path} is not text"
    ours, theirs = (_plain(_read(pair.path, text)) for text in texts)
    reasons: dict[str, None] = {}
    unexplained: list[str] = []
    for at, values in unlike(ours, theirs):
        entry = next((e for e in entries if any(at.startswith(s) for s in e.get("settings", ()))), None)
        if entry is None:
            unexplained.append(f"{at}: gsdlock {values[0]!r}, reference {values[1]!r}")
        else:
            reasons[str(entry["id"])] = None
    return (None if unexplained else tuple(reasons)), "\n".join(unexplained)


def _read(path: str, text: str) -> Any:
    return tomllib.loads(text) if path.endswith(".toml") else json.loads(text)


_LOOKED_UP = re.compile(r'"\$\(for n in .*?done\)"')


def _plain(value: Any) -> Any:
    """A value with interpreters by their bare name: the two sides find them in their own ways."""
    if isinstance(value, str):
        text = _LOOKED_UP.sub("node", value).replace('"<NODE>"', "node")
        return re.sub(r'"(?:[^"\s]*/)?(node|bash|python3)"(?= )', r"\1", text)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def unlike(ours: Any, theirs: Any, at: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The places (JSON pointers) at which two values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from unlike(ours.get(key), theirs.get(key), f"{at}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from unlike(*pair, f"{at}/{number}")
    elif ours != theirs:
        yield at, (ours, theirs)
