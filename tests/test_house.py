"""The house: arrows run downwards only, and some things happen in one room only. See CONTRIBUTING.md."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["cli", "resolver", "store", "lockfiles", "capabilities"]
MODULES = sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    """Line and room of every import of one of our rooms, wherever in the module it stands."""
    package = ["gsdlock", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        targets: list[str] = []
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            targets = [".".join([*stem, a.name]) for a in node.names]
        elif isinstance(node, ast.Import):
            targets = [a.name for a in node.names]
        for target in targets:
            parts = target.split(".")
            if parts[0] == "gsdlock" and len(parts) > 1 and parts[1] in ROOMS:
                yield node.lineno, parts[1]


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_arrows_run_downwards_only(path: Path) -> None:
    level = ROOMS.index(room_of(path))
    upward = [(line, room) for line, room in imported_rooms(path) if ROOMS.index(room) < level]
    assert not upward, f"{names(path)} imports from above: {upward}"


def test_the_check_of_arrows_sees_an_arrow() -> None:
    found = {room for _, room in imported_rooms(ROOT / "resolver" / "plan.py")}
    assert {"capabilities", "lockfiles"} <= found


def test_the_resolver_touches_no_more_of_the_store_than_content_and_path_rules() -> None:
    allowed = {"blobs", "confinement"}
    for path in (ROOT / "resolver").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "store":
                parts = node.module.split(".")
                touched = {parts[1]} if len(parts) > 1 else {a.name for a in node.names}
                assert touched <= allowed, f"{names(path)}:{node.lineno} imports store.{touched}"


def calls(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)
        elif isinstance(node, ast.Attribute):
            yield node.lineno, ast.unparse(node)


BELOW_CLI = [p for p in MODULES if room_of(p) != "cli"]
ONLY_IN_CLI = {
    "print",
    "input",
    "os.environ",
    "os.getenv",
    "os.getcwd",
    "time.time",
    "datetime.now",
    "sys.exit",
}


@pytest.mark.parametrize("path", BELOW_CLI, ids=names)
def test_nothing_below_the_command_line_prints_or_asks_the_machine(path: Path) -> None:
    found = [(line, name) for line, name in calls(path) if name in ONLY_IN_CLI]
    assert not found, f"{names(path)}: {found}"


def runtime_ids() -> set[str]:
    import json

    return {
        p.parent.name
        for p in (ROOT / "capabilities").glob("*/capability.json")
        if json.loads(p.read_text())["role"] == "runtime"
    }


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_no_code_branches_on_the_name_of_a_host(path: Path) -> None:
    """Hosts are rows of data: a comparison with an id, or a table keyed by ids, is a host in the code."""
    ids = runtime_ids()
    for node in ast.walk(ast.parse(path.read_text())):
        constants: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                constants += side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
        elif isinstance(node, ast.Dict):
            constants = [k for k in node.keys if k is not None]
        elif isinstance(node, ast.MatchValue):
            constants = [node.value]
        hosts = {c.value for c in constants if isinstance(c, ast.Constant) and c.value in ids}
        # `kilo`, `opencode` ... also name members of closed vocabularies (dialects, permission writers);
        # those are compared as enum members, never as strings.
        assert not hosts, f"{names(path)}:{getattr(node, 'lineno', '?')} names {hosts}"


def test_every_folder_with_code_is_packaged() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    here = {"gsdlock", *("gsdlock." + ".".join(p.parent.relative_to(ROOT).parts) for p in MODULES)}
    assert here == listed


def methods(node: ast.AST) -> list[ast.FunctionDef]:
    """The public methods of a class; none of anything else."""
    found = node.body if isinstance(node, ast.ClassDef) else ()
    return [m for m in found if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")]


CLASSES = [c for p in MODULES for c in ast.walk(ast.parse(p.read_text())) if isinstance(c, ast.ClassDef)]
SAID = {method.name for node in CLASSES for method in methods(node) if ast.get_docstring(method)}


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_every_public_thing_says_what_it_is(path: Path) -> None:
    """Modules, functions and classes; and methods, where no protocol that they keep says it."""
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{names(path)} has no docstring"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{names(path)}:{node.lineno} {node.name} has no docstring"
            silent = [m.name for m in methods(node) if not ast.get_docstring(m) and m.name not in SAID]
            assert not silent, f"{names(path)}:{node.lineno} {node.name}: no docstring says what these do"
