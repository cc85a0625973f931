"""Numbers of the user's that no record can hold as numbers, or that are too long to be read at all."""

from __future__ import annotations

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault
from gsdlock.store.records import EntryRecord, entry_data, read_entry
from gsdlock.store.statefiles import seal, unseal

ABOVE = Change(EditOp.ENSURE, "/m", {"b": 1})
TEXTS = {
    EditFormat.JSONC: '{"m": {"a": %s}}',
    EditFormat.TOML: "[m]\na = %s\n",
    EditFormat.YAML: "m:\n  a: %s\n",
}
SPELLED = {
    EditFormat.JSONC: ["1e400", "-1e" + "9" * 60, "1" * 5000],
    EditFormat.TOML: ["1e400", "-1e" + "9" * 60, "inf", "nan", "0x" + "f" * 2000],
    EditFormat.YAML: [".inf", "-.inf", ".nan", "1" * 5000, "0x" + "f" * 9000],
}
ROWS = [(format_, number) for format_, numbers in SPELLED.items() for number in numbers]


@pytest.mark.parametrize(("format_", "number"), ROWS, ids=[f"{f.value} {n[:8]}" for f, n in ROWS])
def test_what_gives_way_can_be_recorded_whatever_number_is_in_it(format_: EditFormat, number: str) -> None:
    edited = editor(format_).put((TEXTS[format_] % number).encode(), [ABOVE], over=["/m"])
    record = EntryRecord(edited.entries[0], "sha256:" + "0" * 64, executes=False)
    assert read_entry(unseal(seal(entry_data(record)))) == record


@pytest.mark.parametrize(("format_", "number"), ROWS, ids=[f"{f.value} {n[:8]}" for f, n in ROWS])
def test_beside_ours_it_stays_as_it_is_spelled(format_: EditFormat, number: str) -> None:
    before, beside = (TEXTS[format_] % number).encode(), Change(EditOp.ENSURE, "/ours", {"b": 1})
    edited = editor(format_).put(before, [beside])
    assert number.encode() in edited.data
    assert editor(format_).take(edited.data, edited.entries) == before


@pytest.mark.parametrize("number", ["1" * 5000, "0x" + "f" * 9000], ids=["decimal", "hexadecimal"])
def test_more_digits_than_can_be_read_are_refused_in_toml(number: str) -> None:
    """Elsewhere they are another value than any of ours; in TOML they are beyond what the format asks for."""
    with pytest.raises(EditFault, match="more digits than can be read"):
        editor(EditFormat.TOML).check((TEXTS[EditFormat.TOML] % number).encode())
