"""What others wrote, mutated: nothing but refusals, in bounded time and memory, and nothing is written."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest
from gsdlock.store.edits import editor

from .fuzz import CORPUS, EDITED, TARGETS, mutated, one, shown_input, work
from .points import FULL, SEED, Report

INPUTS = 300
SECONDS = 60.0 if FULL else 0.0
"""Of processor time for each target, on top of so many inputs."""


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_inputs_are_taken_or_refused(name: str, tmp_path: Path, report: Report) -> None:
    at_work, told = tmp_path / "input", tmp_path / "told"
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        out = os.open(told, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            tried = work(name, SEED, INPUTS, SECONDS, at_work)
            os.write(out, str(tried).encode())
            os._exit(0)
        except BaseException:
            os.write(out, traceback.format_exc().encode("utf-8", "replace"))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    text = told.read_text()
    if status != 0:
        report("fuzzing", name, INPUTS, 1)
        data = shown_input(at_work) if at_work.exists() else b""
        raise AssertionError(
            f"{name}: status {status} with {len(data)} bytes\n{data[:3000]!r}\n{text[-3000:]}"
        )
    report("fuzzing", name, int(text), 0)


CASES = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("case", CASES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_what_was_found_once_stays_right(case: Path) -> None:
    one(TARGETS[case.parent.name], case.read_bytes())


@pytest.mark.parametrize("name", [name for name in TARGETS if name in EDITED])
def test_the_seeds_themselves_are_edited(name: str) -> None:
    """Else the mutations would only ever be refused."""
    format, change = EDITED[name]
    for data in TARGETS[name].seeds():
        put = editor(format).put(data, [change])
        assert put.data != data and editor(format).take(put.data, put.entries) in (data, data or None)


def test_mutations_differ_and_follow_the_seed() -> None:
    import random

    target = TARGETS["manifest"]
    made = [mutated(random.Random(n), target.seeds(), target.words) for n in range(50)]
    assert len(set(made)) > 45
    assert made[7] == mutated(random.Random(7), target.seeds(), target.words)
