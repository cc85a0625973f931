"""`docs/formats/descriptor.md` says what validation does: its examples are valid, its tables complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.shapes import Choice, Either, ListOf, MapOf, Nullable, Record, Shape, Tagged
from gsdlock.capabilities.validation import DESCRIPTOR, validate
from gsdlock.capabilities.vocabulary import SURFACE_FORMAT, SURFACE_HOOKS, ConverterName
from gsdlock.capabilities.word_sets import HOST_BEHAVIORS

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "descriptor.md").read_text("utf-8")
EXAMPLES = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
# The page leaves these to the schema and says so.
LEFT_TO_THE_SCHEMA = {"hostIntegration", "hostBehaviors", "orchestratorExec"}
MENTIONED = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))


def parts(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """Every named field below a shape, with its own shape."""
    if isinstance(shape, Record):
        for name, inner in {**shape.required, **shape.optional}.items():
            yield name, inner
            if name not in LEFT_TO_THE_SCHEMA:
                yield from parts(inner)
    elif isinstance(shape, Tagged):
        for case in shape.cases.values():
            yield from parts(case)
    elif isinstance(shape, MapOf):
        yield from parts(shape.value)
    elif isinstance(shape, Nullable):
        yield from parts(shape.inner)
    elif isinstance(shape, Either):
        yield from parts(shape.first)
    elif isinstance(shape, ListOf):
        yield from parts(shape.item)


FIELDS = dict(parts(DESCRIPTOR))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e["id"])
def test_examples_are_valid_without_a_warning(example: dict[str, Any]) -> None:
    verdict = validate(example, example["id"])
    assert [str(f) for f in verdict.faults] == []
    assert verdict.warnings == ()


def test_the_faults_that_it_shows_are_those_that_are_told() -> None:
    runtime = json.loads(json.dumps(next(e for e in EXAMPLES if e["role"] == "runtime")))
    runtime["runtime"]["hooksSurface"] = "settings-jsn"
    runtime["runtime"]["artifactLayout"]["global"][0]["destSubpath"] = "../skills"
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert [str(f) for f in validate(runtime, runtime["id"]).faults] == shown.splitlines()


def test_there_is_an_example_of_every_role() -> None:
    assert {e["role"] for e in EXAMPLES} == {"runtime", "feature", "reviewer"}


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_every_field_is_explained(name: str) -> None:
    assert name in MENTIONED


def test_every_member_of_a_closed_set_is_named() -> None:
    converters = set(map(str, ConverterName))
    missing = {
        f"{name}: {member}"
        for name, shape in parts(DESCRIPTOR)
        for choice in _choices(shape)
        for member in choice.members
        if isinstance(member, str) and member not in converters | MENTIONED
    }
    assert not missing


def _choices(shape: Shape) -> Iterator[Choice]:
    if isinstance(shape, Choice):
        yield shape
    elif isinstance(shape, ListOf):
        yield from _choices(shape.item)
    elif isinstance(shape, Nullable):
        yield from _choices(shape.inner)


def test_the_table_of_surfaces_is_that_of_the_code() -> None:
    rows = {
        str(surface): (set(map(str, SURFACE_HOOKS[surface])), str(SURFACE_FORMAT[surface]))
        for surface in SURFACE_HOOKS
    }
    table = PAGE.split("| `installSurface` | `hooksSurface` | `configFormat` |")[1].split("\n\n")[0]
    written = {}
    for line in table.splitlines()[2:]:
        surface, hooks, form = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|"))
        written[surface[0]] = (set(hooks), form[0])
    assert written == rows


def test_the_number_of_host_behaviours() -> None:
    assert f"Its {len(HOST_BEHAVIORS)} keys are in the schema" in PAGE
