"""The error codes of the sources, found by reading them: which there are, and with which exit status.

Where a code is handed on (a local helper, a variable called `code`), its way is followed until a function
that fixes the status: one of `capabilities.errors`, or anything with a `status`. What cannot be seen that way
has no status here, and is not compared. Codes that are put together (`FAMILIES`) are completed by the words
that their part is made from.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("cli", "resolver", "store", "lockfiles", "capabilities")
CODE = re.compile(r"E-[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*")
PREFIX = re.compile(r"E-[A-Z][A-Z0-9-]*-")  # of a code that is put together: f"E-EDIT-{…}"
BASE = {"usage_error": 2, "input_error": 3, "refused": 4, "missing": 5}
# What is put together: the beginning of the code, and the class whose first argument is the rest.
FAMILIES = {"E-EDIT-": "EditFault"}
EXITS = {"USAGE": 2, "INPUT": 3, "REFUSED": 4, "MISSING": 5, "BUSY": 6, "HOST": 7, "FAULT": 70}


class Codes:
    """All codes below `root`: `statuses` by code (empty where none can be seen), and `families`, the
    beginnings of codes that are put together. The codes of a family have no status that can be seen."""

    def __init__(self, root: Path) -> None:
        self.statuses: dict[str, set[int]] = defaultdict(set)
        self.families: set[str] = set()
        self._functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        trees = [
            ast.parse(path.read_text()) for room in ROOMS for path in sorted((root / room).rglob("*.py"))
        ]
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    self._functions[node.name].append(node)
        for tree in trees:
            self._read(tree)
        for beginning in self.families & FAMILIES.keys():
            for call in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
                if isinstance(call.func, ast.Name) and call.func.id == FAMILIES[beginning] and call.args:
                    words = [n.value for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant)]
                    for word in words:
                        self.statuses[f"{beginning}{str(word).upper()}"] |= set()

    def _read(self, tree: ast.Module) -> None:
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                first = node.values[0] if node.values else None
                if isinstance(first, ast.Constant) and PREFIX.fullmatch(str(first.value)):
                    self.families.add(str(first.value))
            if isinstance(node, ast.Constant) and CODE.fullmatch(str(node.value)):
                self.statuses[str(node.value)] |= self._of(node, parents)

    def _of(self, node: ast.expr, parents: dict[ast.AST, ast.AST]) -> set[int]:
        """The statuses that the code at `node` gets, from what is done with it."""
        value: ast.AST = node
        while isinstance(parents[value], ast.IfExp | ast.Tuple):
            value = parents[value]
        parent = parents[value]
        if isinstance(parent, ast.Call):
            return self._of_call(parent)
        if isinstance(parent, ast.Assign):
            names = {n.id for target in parent.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            scope: ast.AST = parent
            while not isinstance(scope, ast.FunctionDef | ast.Module):
                scope = parents[scope]
            return self._handed_on(scope, names)
        return set()

    def _handed_on(self, scope: ast.AST, names: set[str]) -> set[int]:
        """The statuses of the calls in `scope` whose first argument is one of `names`."""
        found: set[int] = set()
        for call in ast.walk(scope):
            if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
                found |= self._of_call(call) if call.args[0].id in names else set()
        return found

    def _of_call(self, call: ast.Call, depth: int = 0) -> set[int]:
        given = [k.value for k in call.keywords if k.arg == "status"]
        if given:
            return _number(given[0])
        called = call.func
        name = (
            called.id
            if isinstance(called, ast.Name)
            else called.attr
            if isinstance(called, ast.Attribute)
            else ""
        )
        if name in BASE:
            return {BASE[name]}
        found: set[int] = set()
        for function in self._functions.get(name, ()) if depth < 4 else ():
            names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
            if "code" not in names:
                continue
            default = _default(function, "status")
            if default is not None:
                found |= _number(default)
                continue
            for inner in _calls(function):
                if any(isinstance(a, ast.Name) and a.id == "code" for a in inner.args):
                    found |= self._of_call(inner, depth + 1)
        return found


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Call))


def _default(function: ast.FunctionDef, name: str) -> ast.expr | None:
    arguments = function.args
    pairs = list(zip(reversed(arguments.args), reversed(arguments.defaults), strict=False))
    pairs += [
        (a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
    ]
    return next((default for argument, default in pairs if argument.arg == name), None)


def _number(value: ast.expr) -> set[int]:
    """`Exit.BUSY`, or a plain number; anything else cannot be seen."""
    if isinstance(value, ast.Attribute) and value.attr in EXITS:
        return {EXITS[value.attr]}
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return {value.value}
    return set()
