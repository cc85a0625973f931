"""Shapes judge whatever a reader can give, and say what is wrong with it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from gsdlock.capabilities.shapes import TEXT, Choice, Flag, Number, pointer_to


@pytest.mark.parametrize("value", [Decimal("1.5"), date(2024, 1, 1), b"x", object(), {1: 2}, [None]])
def test_whatever_a_reader_of_users_files_gives_can_be_judged_and_shown(value: Any) -> None:
    for shape in (TEXT, Number(), Flag(), Choice(("a",))):
        for fault in shape.check(value, pointer_to("", 1)):
            assert fault.pointer == "/1" and str(fault)
    assert not list(Number().check(Decimal("1.5"), ""))
    assert list(Number().check(Decimal("NaN"), ""))
