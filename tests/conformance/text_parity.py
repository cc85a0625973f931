"""The text of every artifact, ours beside the reference installer's.

`compare(reference)` converts a GSD pack for every runtime and scope with `gsdlock.resolver.converters` and
compares each file with the one that the reference installer wrote. What is meant to differ is described in
`differences.json`: each entry has rewrites that take the described difference out of one side or both, and a
file counts as `on purpose` only if nothing else differs. Run it as

    GSDLOCK_REFERENCE=<folder> python tests/conformance/text_parity.py [runtime[-scope]] [--diff]

The folder holds `package/` (the pack, unpacked), `goldens/<runtime>-<scope>/{home,proj}` (what the reference
wrote with HOME and the working directory there), and, where a runtime was made from another pack,
`<runtime>/package/`.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gsdlock.capabilities.homes import Surroundings, config_home
from gsdlock.capabilities.model import LayoutEntry, Runtime
from gsdlock.capabilities.registry import load_builtin
from gsdlock.lockfiles.placeholders import Fillings, fill_text
from gsdlock.resolver.converters import (
    CATALOG_PATH,
    ConvertContext,
    agent_companions,
    agent_roots,
    convert,
    payload_text,
    read_catalog,
)

HERE = Path(__file__).parent
SCOPES = ("global", "local")
TEXT = frozenset({".md", ".js", ".cjs", ".sh", ".json", ".txt", ".yaml", ".toml"})


@dataclass(frozen=True)
class Pack:
    """An unpacked GSD pack."""

    root: Path

    @cached_property
    def commands(self) -> dict[str, str]:
        return {p.stem: p.read_text() for p in sorted((self.root / "commands/gsd").glob("*.md"))}

    @cached_property
    def agents(self) -> dict[str, str]:
        return {p.stem: p.read_text() for p in sorted((self.root / "agents").glob("*.md"))}

    @cached_property
    def core(self) -> str:
        """The name of the payload folder: it was another one in older packs."""
        return next(n for n in ("gsd-core", "get-shit-done") if (self.root / n).is_dir())

    @cached_property
    def version(self) -> str:
        return str(json.loads((self.root / "package.json").read_text())["version"])

    @cached_property
    def context(self) -> dict[str, Any]:
        catalog = self.root / CATALOG_PATH.replace("gsd-core", self.core)
        return {
            "stems": frozenset(self.commands),
            "agents": frozenset(self.agents),
            "version": self.version,
            "catalog": read_catalog(catalog.read_bytes()) if catalog.exists() else {},
        }

    def payload(self) -> Iterator[tuple[str, str]]:
        """Path in the pack and path below a config directory, of every text file."""
        for top in (self.core, "hooks/dist"):
            for path in sorted((self.root / top).rglob("*")):
                if path.is_file() and path.suffix in TEXT:
                    name = path.relative_to(self.root).as_posix()
                    yield name, name.replace("hooks/dist/", "hooks/")


@dataclass(frozen=True)
class Golden:
    """One run of the reference: its home and its project."""

    home: Path
    project: Path

    def root(self, runtime: Runtime, scope: str) -> Path:
        if scope == "local":
            behaviours = runtime.host_behaviors
            here = "" if behaviours.get("localTargetIsProjectRoot") else runtime.local_config_dir or ""
            return self.project / here
        around = Surroundings({}, str(self.home), lambda p: Path(p).exists())
        return Path(config_home(runtime.config_home, around).path)


@dataclass(frozen=True)
class Pair:
    """One file: of the kind, its path below the config directory, our text and the reference's."""

    runtime: str
    scope: str
    kind: str
    path: str
    ours: str
    theirs: str


@dataclass
class Tally:
    """The outcome for one runtime, scope and kind."""

    identical: int = 0
    on_purpose: int = 0
    differs: list[Pair] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.identical + self.on_purpose + len(self.differs)


class Differences:
    """What differs on purpose: `differences.json`."""

    def __init__(self, path: Path = HERE / "differences.json") -> None:
        self.entries: list[dict[str, Any]] = json.loads(path.read_text())["differences"]

    def excused(self, pair: Pair) -> tuple[str, ...] | None:
        """The ids of the entries that together explain every difference; None where they do not."""
        ours, theirs, used = pair.ours, pair.theirs, []
        for entry in self.entries:
            if not _applies(entry, pair):
                continue
            before = ours, theirs
            ours, theirs = _rewritten(entry, ours, theirs)
            if (ours, theirs) != before:
                used.append(str(entry["id"]))
            if ours == theirs:
                return tuple(used)
        return None


def _applies(entry: dict[str, Any], pair: Pair) -> bool:
    return (
        pair.runtime in entry.get("runtimes", [pair.runtime])
        and pair.scope in entry.get("scopes", [pair.scope])
        and pair.kind in entry.get("kinds", [pair.kind])
        and any(fnmatch.fnmatch(pair.path, p) for p in entry.get("paths", ["*"]))
    )


def _rewritten(entry: dict[str, Any], ours: str, theirs: str) -> tuple[str, str]:
    for rule in entry["rewrites"]:
        pattern, new = re.compile(rule["pattern"], re.MULTILINE | re.DOTALL), rule["replace"]
        if rule["side"] in ("ours", "both"):
            ours = pattern.sub(new, ours)
        if rule["side"] in ("reference", "both"):
            theirs = pattern.sub(new, theirs)
    return ours, theirs


def pairs(reference: Path, runtime: Runtime, scope: str) -> Iterator[Pair]:
    """Every text file that both sides make for that runtime and scope."""
    folder = (reference / "goldens" / f"{runtime.id}-{scope}").resolve()
    golden = Golden(folder / "home", folder / "proj")
    own = reference / runtime.id / "package"
    pack = Pack((own if own.is_dir() else reference / "package").resolve())
    root = golden.root(runtime, scope)
    fill = Fillings({"config": str(root), "project": str(golden.project)}, str(golden.home))
    base = ConvertContext(runtime=runtime, scope=scope, stem="", name="", **pack.context)

    def pair(kind: str, path: str, theirs: Path, ours: str) -> Pair:
        said = _placed(theirs.read_text(), golden, pack.root)
        return Pair(runtime.id, scope, kind, path, _placed(fill_text(ours, fill), golden, pack.root), said)

    for entry in runtime.artifact_layout.get(scope, ()):
        top = golden.home / entry.home if entry.home and scope == "global" else root
        for kind, path, ours in _artifacts(entry, base, pack):
            for found in _found(top / entry.dest_subpath, path):
                yield pair(kind, f"{entry.dest_subpath}/{found[0]}", found[1], ours(found[0]))
    hooks = str(runtime.host_behaviors.get("sharedHooksDirName") or "hooks")
    for source, target in pack.payload():
        target = re.sub(r"^hooks/", f"{hooks}/", target)
        written = [root / target, golden.home / ".kimi" / target]
        for file in (f for f in written if f.is_file()):
            text = (pack.root / source).read_text()
            kind = "hook" if source.startswith("hooks/") else "payload"
            yield pair(kind, target, file, payload_text(base, source, text))
            break
    if not runtime.host_behaviors.get("installsCommandBodiesForWorkflowDelegation"):
        return
    bodies = root / "gsd-core/commands/gsd"
    for stem, text in pack.commands.items():
        if (file := bodies / f"{stem}.md").is_file():
            ours = payload_text(base, f"commands/gsd/{stem}.md", text)
            yield pair("payload", f"gsd-core/commands/gsd/{stem}.md", file, ours)


def _artifacts(entry: LayoutEntry, base: ConvertContext, pack: Pack) -> Iterator[tuple[str, str, Any]]:
    """Kind, path below the entry's folder, and the text as a function of the path found."""
    if entry.kind == "kimi-agents" or entry.kind == "agents":
        for name, text in pack.agents.items():
            context = replace(base, stem=name.removeprefix(entry.prefix), name=name)
            ending = str(base.runtime.host_behaviors.get("agentFileExtension") or ".md")
            if entry.kind == "agents":
                made = convert(entry.converter, "agent", text, context)
                yield "agent", f"{name}{ending}", lambda _, m=made: m
            for path, made in agent_companions(context, text):
                yield "agent", path, lambda _, m=made: m
        for path, made in agent_roots(base, sorted(pack.agents.items())):
            yield "agent", path, lambda _, m=made: m
        return
    for stem, text in pack.commands.items():
        context = replace(base, stem=stem, name=entry.prefix + stem)
        if entry.kind == "skills":
            yield "skill", f"{stem}/SKILL.md", _skill(entry, text, context)
        else:
            made = convert(entry.converter, "command", text, context)
            for path in (f"{entry.prefix}{stem}.md", f"{stem}.toml"):
                yield "command", path, lambda _, m=made: m


def _skill(entry: LayoutEntry, text: str, context: ConvertContext) -> Any:
    """A router skill of a nested layout points at the skills below it."""

    def made(found: str) -> str:
        nested = entry.nesting == "nested" and context.stem.startswith("ns-")
        children = context.stems if nested else frozenset()
        return convert(entry.converter, "skill", text, replace(context, children=children))

    return made


def _found(folder: Path, path: str) -> list[tuple[str, Path]]:
    """Where the reference put the file: at its place, or, for a skill, below a router of a nested layout."""
    if not path.endswith("/SKILL.md"):
        return [(path, folder / path)] if (folder / path).is_file() else []
    stem = path.removesuffix("/SKILL.md")
    places = [folder / f"gsd-{stem}/SKILL.md", *sorted(folder.glob(f"*/skills/{stem}/SKILL.md"))]
    return [(p.relative_to(folder).as_posix(), p) for p in places if p.is_file()]


def _placed(text: str, golden: Golden, package: Path) -> str:
    """`text` without paths of the run: a project's own paths are relative, as ours are."""
    text = text.replace(f"{golden.project}/", "").replace(str(golden.project), ".")
    return text.replace(str(golden.home), "<HOME>").replace(str(package), "<PACKAGE>")


def compare(reference: Path, only: str = "") -> dict[tuple[str, str, str], Tally]:
    """The tally for each runtime, scope and kind for which the reference left files."""
    differences = Differences()
    result: dict[tuple[str, str, str], Tally] = {}
    for runtime in load_builtin().runtimes.values():
        for scope in SCOPES:
            if only not in ("", runtime.id, f"{runtime.id}-{scope}"):
                continue
            if not (reference / "goldens" / f"{runtime.id}-{scope}").is_dir():
                continue
            for pair in pairs(reference, runtime, scope):
                tally = result.setdefault((runtime.id, scope, pair.kind), Tally())
                if pair.ours == pair.theirs:
                    tally.identical += 1
                elif (reasons := differences.excused(pair)) is not None:
                    tally.on_purpose += 1
                    tally.reasons.update(reasons)
                else:
                    tally.differs.append(pair)
    return result


def table(result: dict[tuple[str, str, str], Tally]) -> str:
    """The result as lines of text."""
    lines = [f"{'runtime':14}{'scope':8}{'kind':9}{'identical':>10}{'on purpose':>12}{'differs':>9}"]
    for (runtime, scope, kind), tally in result.items():
        lines.append(
            f"{runtime:14}{scope:8}{kind:9}{tally.identical:>10}{tally.on_purpose:>12}{len(tally.differs):>9}"
        )
    return "\n".join(lines)


def difference(pair: Pair) -> str:
    """One pair as a unified diff, the reference's text first."""
    name = f"{pair.runtime}-{pair.scope}/{pair.path}"
    theirs, ours = pair.theirs.splitlines(), pair.ours.splitlines()
    return "\n".join(difflib.unified_diff(theirs, ours, name, name, lineterm="", n=0))


if __name__ == "__main__":
    import os

    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    outcome = compare(Path(os.environ["GSDLOCK_REFERENCE"]), words[0] if words else "")
    if "--diff" in sys.argv:
        for tally_ in outcome.values():
            for pair_ in tally_.differs:
                print(difference(pair_))
    print(table(outcome))
