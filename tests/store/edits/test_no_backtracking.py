"""Documents that make a careless pattern try 2^n ways to cut up white space. Each ends at once, or never."""

from __future__ import annotations

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change

SPACES = " " * 5_000
DOCUMENTS = [
    (EditFormat.JSONC, f'{{\n// mine\n"a": 1,{SPACES}"b": [1,{SPACES}2],{SPACES}}}\n'),
    (EditFormat.JSONC, f'{{\n"a": 1,{"  //x" * 1}\n{SPACES}"b": [{SPACES}{{{SPACES}}}{SPACES}]}}'),
    (EditFormat.JSONC, f"{{{SPACES}/* x */{SPACES}}}{SPACES}"),
    (
        EditFormat.TOML,
        f"a = [{SPACES}1,{SPACES}2 ]{SPACES}\n{SPACES}\n[t]{SPACES}# x\n{SPACES}b = {{ x = 1 }}\n",
    ),
    (EditFormat.YAML, f"a: {{x: 1,{SPACES}y: 2}}{SPACES}\nb: [1,{SPACES}2]\n"),
]


@pytest.mark.parametrize(("format", "text"), DOCUMENTS)
def test_long_white_space_is_read_in_one_way(format: EditFormat, text: str) -> None:
    change = Change(EditOp.ENSURE, "/ours/x", "y")
    engine = editor(format)
    edited = engine.put(text.encode(), [change])
    assert engine.holds(edited.data, change)
    assert engine.take(edited.data, edited.entries) == text.encode()
