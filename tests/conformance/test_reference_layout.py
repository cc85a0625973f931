"""Every path, mode and setting beside what the reference installer wrote.

Skipped unless GSDLOCK_REFERENCE names a folder with `package/` (a GSD pack, unpacked) and
`goldens/<runtime>-<scope>/{home,proj}` (what the reference wrote with HOME and the working directory there);
where a runtime was made from another pack, `<runtime>/package/`. What is meant to differ is listed in
`differences-layout.json`, each with its reason; anything else fails. The text of the files is compared
elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.homes import resolve_roots
from gsdlock.capabilities.npm_range import satisfies
from gsdlock.capabilities.registry import load_builtin
from gsdlock.lockfiles.model import EditOp
from gsdlock.lockfiles.placeholders import Fillings, fill_pointer, fill_value
from gsdlock.resolver.drafts import EditDraft
from gsdlock.resolver.layout import artifact_drafts
from gsdlock.resolver.pack import Pack, Tree, TreeFile
from gsdlock.resolver.packs import read_pack
from gsdlock.resolver.selection import Selection
from gsdlock.resolver.surfaces import surface_drafts

REFERENCE = os.environ.get("GSDLOCK_REFERENCE", "")
ENTRIES = json.loads((Path(__file__).parent / "differences-layout.json").read_text("utf-8"))["differences"]


def goldens() -> list[str]:
    """The goldens that there are, by name. An empty home is what the reference leaves when it refuses."""
    folder = Path(REFERENCE) / "goldens"
    return sorted(p.name for p in folder.iterdir() if any(files_of(p))) if REFERENCE else []


def files_of(golden: Path) -> Iterator[str]:
    """The paths of a golden: `home/…` and `proj/…`."""
    for part in ("home", "proj"):
        for path in (golden / part).rglob("*"):
            if path.is_file():
                yield path.relative_to(golden).as_posix()


@cache
def pack_in(folder: Path) -> Pack:
    """The pack that lies unpacked in a folder."""
    files = {
        p.relative_to(folder).as_posix(): TreeFile("", 0o755 if p.stat().st_mode & 0o100 else 0o644, 0)
        for p in sorted(folder.rglob("*"))
        if p.is_file() and "node_modules" not in p.parts
    }
    tree = Tree("", files, lambda path: (folder / path).read_bytes())
    return read_pack("gsd", "", tree, load_builtin().features)


@dataclass(frozen=True)
class Side:
    """A golden and what we would write there."""

    name: str
    golden: Path
    release: str
    modes: dict[str, int]
    settings: dict[str, Any]

    def excused(self, kind: str, path: str, at: str = "") -> bool:
        """Whether a difference is listed: `missing`, `extra`, `modes` by path, `settings` by place."""
        runtime, _, scope = self.name.rpartition("-")
        for entry in ENTRIES:
            if (
                runtime in entry.get("runtimes", [runtime])
                and scope in entry.get("scopes", [scope])
                and satisfies(self.release, entry.get("releases", "*"))
            ):
                listed = entry.get(kind, ())
                if kind == "settings":
                    if any(fnmatch(path, e["file"]) and at.startswith(e["at"]) for e in listed):
                        return True
                elif any(fnmatch(path, pattern) for pattern in listed):
                    return True
        return False


@pytest.fixture(params=goldens() or ["no reference"])
def side(request: pytest.FixtureRequest) -> Side:
    """One golden, with our drafts for the same host, scope and pack."""
    if not REFERENCE:
        pytest.skip("GSDLOCK_REFERENCE names no reference")
    return side_of(request.param)


@cache
def side_of(name: str) -> Side:
    """The side of a golden; made once for all tests of it."""
    golden = (Path(REFERENCE) / "goldens" / name).resolve()
    runtime_id, _, scope = name.rpartition("-")
    own = Path(REFERENCE) / runtime_id / "package"
    pack = pack_in((own if own.exists() else Path(REFERENCE) / "package").resolve())
    runtime = load_builtin().runtime(runtime_id)
    home, project = str(golden / "home"), str(golden / "proj")
    environment = Environment({}, home, project, "linux", 0, Folders("", "", "", ""), lambda: "")
    roots = resolve_roots(runtime, scope, environment, project, lambda _: False).paths
    selection = Selection(pack.features, pack.artifacts)
    surfaces = surface_drafts(runtime, scope, pack, selection)

    def place(root: str, path: str) -> str:
        return os.path.relpath(f"{roots[root]}/{path}", golden)

    files = [*artifact_drafts(runtime, scope, pack, selection), *surfaces.files]
    tools = {f"tool.{name}": name for name in ("node", "bash", "python3")}
    fillings = Fillings({**roots, **tools}, home)
    edits: dict[str, list[EditDraft]] = defaultdict(list)
    for edit in surfaces.edits:
        edits[place(edit.root, edit.path)].append(edit)
    return Side(
        name,
        golden,
        pack.version,
        {place(f.root, f.path): f.mode for f in files},
        {path: document(drafts, fillings) for path, drafts in edits.items()},
    )


def document(edits: list[EditDraft], fillings: Fillings) -> Any:
    """What a file holds that did not exist before the edits."""
    result: dict[str, Any] = {}
    for edit in edits:
        value = fill_value(edit.value, fillings)
        if edit.op is EditOp.BLOCK:
            return value
        *path, last = (
            s.replace("~1", "/").replace("~0", "~") for s in fill_pointer(edit.at, fillings).split("/")[1:]
        )
        inner = result
        for step in path:
            inner = inner.setdefault(step, {})
        if edit.op is EditOp.APPEND_UNIQUE:
            items = inner.setdefault(last, [])
            items += [value] if value not in items else []
        else:
            inner.setdefault(last, value)
    return result


def test_the_same_paths(side: Side) -> None:
    theirs = set(files_of(side.golden))
    ours = set(side.modes) | set(side.settings)
    missing = sorted(p for p in theirs - ours if not side.excused("missing", p))
    extra = sorted(p for p in ours - theirs if not side.excused("extra", p))
    assert (missing, extra) == ([], [])


def test_the_same_modes(side: Side) -> None:
    theirs = {p: (side.golden / p).stat().st_mode & 0o777 for p in files_of(side.golden)}
    differ = {
        path: (oct(mode), oct(theirs[path]))
        for path, mode in side.modes.items()
        if path in theirs and mode != theirs[path] and not side.excused("modes", path)
    }
    assert differ == {}


def test_the_same_settings(side: Side) -> None:
    differ = {}
    for path, ours in side.settings.items():
        if (side.golden / path).exists():
            for at, values in unlike(plain(ours), plain(read(side.golden / path))):
                if not side.excused("settings", path, at):
                    differ[f"{path}#{at}"] = values
    assert differ == {}


def read(path: Path) -> Any:
    """A file of settings by its meaning; Markdown as text."""
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(text) if path.suffix == ".json" else text


_LOOKED_UP = re.compile(r'"\$\(for n in .*?done\)"')


def plain(value: Any) -> Any:
    """A value with interpreters by their bare name: the reference finds them in its own ways."""
    if isinstance(value, str):
        text = _LOOKED_UP.sub("node", value)
        return re.sub(r'"(?:[^"\s]*/)?(node|bash|python3)"(?= )', r"\1", text)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def unlike(ours: Any, theirs: Any, at: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The places at which two values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from unlike(ours.get(key), theirs.get(key), f"{at}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from unlike(*pair, f"{at}/{number}")
    elif ours != theirs:
        yield at, (ours, theirs)


def test_every_difference_has_a_reason() -> None:
    assert len({e["id"] for e in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert entry["reason"] and entry["verdict"]
        assert {"missing", "extra", "modes", "settings"} & set(entry)
        assert set(entry.get("runtimes", ())) <= set(load_builtin().runtimes)
