"""The numbered criteria of the gate, 10 to 45: every one is a test somewhere, and what differs says why.

A test bears its number in its name (`test_21_…`, `test_criterion_22_…`) or at the beginning of its docstring
or of that of its class (`Criterion 23: …`, `25: …`).
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DIFFERS = json.loads((TESTS / "data/gate_criteria.json").read_text())
VECTORS = json.loads((TESTS / "data/gate_runner_vectors.json").read_text())
NAME = re.compile(r"test_(?:criterion_)?(\d\d)_")
SAID = re.compile(r"(?:Criterion |Criteria )?(\d\d)(?: and (\d\d))?: ")
FIRST, LAST = 10, 45


def numbers(text: str) -> set[int]:
    """The criteria that the tests in a module say they are about."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.lower().startswith("test"):
            name, said = NAME.match(node.name), SAID.match(ast.get_docstring(node) or "")
            for match in (name, said):
                found |= {int(n) for n in match.groups() if n} if match else set()
    return found


TESTED = {
    number: path
    for path in sorted(TESTS.rglob("test_*.py"))
    if path != Path(__file__)
    for number in numbers(path.read_text())
}


@pytest.mark.parametrize("number", range(FIRST, LAST + 1))
def test_every_criterion_is_a_test(number: int) -> None:
    assert number in TESTED


def test_numbers_are_found_where_they_stand() -> None:
    text = """
def test_12_of_the_name(): ...
def test_criterion_13_too(): ...
def helper(): "14: not a test"
class TestThings:
    "15: of the class"
    def test_inside(self): "Criteria 16 and 17: of the docstring"
def test_x(): "of 18: not at the beginning"
"""
    assert numbers(text) == {12, 13, 15, 16, 17}


def test_what_differs_says_why_and_names_what_there_is() -> None:
    assert {int(n) for n in DIFFERS["criteria"]} <= set(range(FIRST, LAST + 1))
    assert {key.partition("/")[0] for key in DIFFERS["vectors"]} <= set(VECTORS)
    reasons = [*DIFFERS["criteria"].values(), *DIFFERS["vectors"].values()]
    assert all(len(reason.split()) > 5 for reason in reasons)
