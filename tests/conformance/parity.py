"""What gsdlock installs beside what the reference installer does, file by file and value by value.

`compare` takes the two scratch homes of one target and gives a `Finding` for each path that either side
wrote. Files are compared after the same normalisation of both: the scratch home, the project folder, the
unpacked package and the interpreters get names instead of paths. A file of configuration counts by its values
(`values.py`), any other as one: by its text and whether it may be executed.

What is meant to differ is listed in `differences.json`. An entry says where it holds (runtimes, scopes,
kinds, paths) and takes the described difference out: `rewrites` in one side's text or both, `settings` by the
place in the file, `missing`, `extra` and `modes` as such. A file or value is "on purpose" only if nothing
else differs.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.homes import placed_root, resolve_roots
from gsdlock.capabilities.hook_dialects import dialect
from gsdlock.capabilities.model import Runtime
from gsdlock.capabilities.vocabulary import LayoutKind
from gsdlock.resolver.places import hooks_folder, hooks_root

from .ours import files
from .reference import Homes
from .values import ABSENT, has_values, places_of, unlike_lines

HERE = Path(__file__).parent
SCOPES = ("global", "local")
_KINDS = {
    LayoutKind.SKILLS: "skills",
    LayoutKind.COMMANDS: "commands",
    LayoutKind.AGENTS: "agents",
    LayoutKind.KIMI_AGENTS: "agents",
}
CONFIG = "config"
KINDS = ("skills", "commands", "agents", "payload", "hooks", CONFIG)
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

    `counts`: how often each outcome; one for a file, one for each value of a file of configuration. `reasons`
    are the ids of the entries of `differences.json` that explain what is on purpose, with the number of files
    or values; `detail` shows what differs.
    """

    path: str
    kind: str
    counts: Mapping[Outcome, int]
    reasons: Mapping[str, int] = field(default_factory=dict)
    detail: str = ""

    @property
    def unlisted(self) -> bool:
        """Whether something differs that no entry explains."""
        return not set(self.counts) <= {Outcome.IDENTICAL, Outcome.ON_PURPOSE}


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
        self.why_unmarked: str = data["markers"]["reason"]
        self._markers = re.compile(data["markers"]["pattern"], re.MULTILINE)

    def records(self, path: str) -> bool:
        """Whether a path is one of the reference's own records, which are out of scope."""
        return any(fnmatchcase(path, p) for p in self.bookkeeping)

    def unmarked(self, text: str) -> str:
        """An instruction file without the lines by which an installer finds its own block in it."""
        return self._markers.sub("", text)

    def of(self, target: Target, kind: str, path: str) -> list[dict[str, Any]]:
        """The entries that hold for a path of a kind."""
        return [
            e
            for e in self.entries
            if target.runtime.id in e.get("runtimes", [target.runtime.id])
            and target.scope in e.get("scopes", [target.scope])
            and kind in e.get("kinds", [kind])
            and any(fnmatchcase(path, p) for p in e.get("paths", ["*"]))
        ]


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

    @cached_property
    def _registrations(self) -> str:
        """The files in which the host reads hooks that it is told of, as a pattern; empty where none is."""
        found = dialect(self.target.runtime.hook_dialect)
        if found is None or not found.file:
            return ""
        root = self.roots[hooks_root(self.target.runtime, self.target.scope)]
        return root + found.file.replace("{owner}", "*")

    def kind(self, path: str) -> str:
        """The kind of a path that no edit changes."""
        if has_values(path) and fnmatchcase(path, self._registrations) and not path.endswith("package.json"):
            return CONFIG
        for folder, kind in self._folders:
            if path.startswith(folder):
                return kind
        if "/hooks/" in path:
            return "hooks"
        marker = path.removeprefix(self.roots["config"]).startswith(".gsd-")
        return CONFIG if not marker and (has_values(path) or path.endswith(".md")) else "payload"


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
    found: list[Finding] = []
    for path in sorted({*mine, *other}):
        kind = CONFIG if path in edited else places.kind(path)
        pair = _Pair(path, kind, mine.get(path), other.get(path), ours, theirs)
        found.append(_found(pair, differences.of(target, kind, path), differences))
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """One path, and the file of each side; None where it has none."""

    path: str
    kind: str
    mine: Path | None
    other: Path | None
    ours: Side
    theirs: Side

    @property
    def texts(self) -> tuple[str | None, str | None]:
        """Both texts without paths of the run. Raises `UnicodeDecodeError` where one is not text."""
        return _text(self.ours, self.mine), _text(self.theirs, self.other)

    @property
    def same_mode(self) -> bool:
        """Whether both or neither may be executed. Other bits follow the umask of the run."""
        assert self.mine is not None and self.other is not None
        return bool(self.mine.stat().st_mode & 0o100) == bool(self.other.stat().st_mode & 0o100)

    def found(self, outcome: Outcome, reasons: tuple[str, ...] = (), detail: str = "") -> Finding:
        """The finding for the file as a whole."""
        return Finding(self.path, self.kind, {outcome: 1}, dict.fromkeys(reasons, 1), detail)


def _text(side: Side, file: Path | None) -> str | None:
    return None if file is None else side.placed(file.read_bytes().decode("utf-8"))


_Entries = list[dict[str, Any]]


def _top(target: Target) -> str:
    """A global target writes to the home, a local one to the project."""
    return "proj/" if target.scope == "local" else "home/"


def _found(pair: _Pair, entries: _Entries, differences: Differences) -> Finding:
    if pair.kind == CONFIG and has_values(pair.path):
        return _by_value(pair, entries)
    if pair.mine is None or pair.other is None:
        outcome = Outcome.MISSING if pair.mine is None else Outcome.EXTRA
        reasons = reasons_for(entries, outcome.value)
        return pair.found(outcome if reasons is None else Outcome.ON_PURPOSE, reasons or ())
    if pair.kind == CONFIG:
        return _by_line(pair, entries, differences)
    reasons, detail = _by_text(pair, entries)
    if not pair.same_mode:
        mode = reasons_for(entries, "modes")
        reasons = None if reasons is None or mode is None else reasons + mode
        detail = detail or "only one of the two may be executed"
    if reasons is None:
        return pair.found(Outcome.DIFFERS, (), detail)
    return pair.found(Outcome.ON_PURPOSE if reasons else Outcome.IDENTICAL, reasons)


def _by_text(pair: _Pair, entries: _Entries) -> tuple[tuple[str, ...] | None, str]:
    try:
        ours, theirs = pair.texts
    except UnicodeDecodeError:
        assert pair.mine is not None and pair.other is not None
        return (() if pair.mine.read_bytes() == pair.other.read_bytes() else None), "not text"
    assert ours is not None and theirs is not None
    return _explained(entries, ours, theirs)


def _explained(entries: _Entries, ours: str, theirs: str) -> tuple[tuple[str, ...] | None, str]:
    """The entries that explain what differs, None where something is left; and what differs."""
    if ours == theirs:
        return (), ""
    lines = difflib.unified_diff(
        theirs.splitlines(), ours.splitlines(), "reference", "gsdlock", lineterm="", n=0
    )
    shown = "\n".join(line for line, _ in zip(lines, range(_MOST_LINES), strict=False))
    return reasons_for_text(entries, ours, theirs), shown or "only the line ends differ"


def _by_line(pair: _Pair, entries: _Entries, differences: Differences) -> Finding:
    """An instruction file: its lines, but for the marker lines, which are how an installer finds its own."""
    mine, other = pair.texts
    assert mine is not None and other is not None
    ours, theirs = differences.unmarked(mine), differences.unmarked(other)
    reasons, detail = _explained(entries, ours, theirs)
    alike, unlike = unlike_lines(ours, theirs)
    outcome = Outcome.DIFFERS if reasons is None else Outcome.ON_PURPOSE
    counts = {o: n for o, n in ((Outcome.IDENTICAL, alike), (outcome, unlike)) if n}
    return Finding(pair.path, pair.kind, counts, dict.fromkeys(reasons or (), unlike), detail)


def _by_value(pair: _Pair, entries: _Entries) -> Finding:
    """A file of settings: each of its values."""
    counts: Counter[Outcome] = Counter()
    reasons: Counter[str] = Counter()
    unexplained: list[str] = []
    for at, ours, theirs in places_of(pair.path, *pair.texts):
        if ours == theirs:
            counts[Outcome.IDENTICAL] += 1
            continue
        entry = next((e for e in entries if any(at.startswith(s) for s in e.get("settings", ()))), None)
        if entry is not None:
            counts[Outcome.ON_PURPOSE] += 1
            reasons[str(entry["id"])] += 1
            continue
        outcome = (
            Outcome.MISSING if ours is ABSENT else Outcome.EXTRA if theirs is ABSENT else Outcome.DIFFERS
        )
        counts[outcome] += 1
        unexplained.append(f"{at}: gsdlock {ours!r}, reference {theirs!r}")
    return Finding(pair.path, pair.kind, dict(counts), dict(reasons), "\n".join(unexplained))
