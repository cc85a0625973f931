"""What a review lane may say."""

from __future__ import annotations

import pytest

from .descriptorkit import faults, pointers, with_


@pytest.mark.parametrize("name", ["PATH", "node_options", "Ld_Preload", "PYTHONPATH"])
def test_a_lane_sets_no_variable_that_makes_something_else_run(name: str) -> None:
    assert pointers(with_("reviewer", "/reviewer/invoke/env", {name: "x"})) == [
        f"/reviewer/invoke/env/{name}"
    ]


def test_a_lane_may_set_other_variables() -> None:
    assert not faults(with_("reviewer", "/reviewer/invoke/env", {"DEMO_QUIET": "1"}))


def test_a_default_effort_needs_the_key_that_changes_it() -> None:
    data = with_("reviewer", "/reviewer/defaultEffort", "high")
    assert pointers(data) == ["/reviewer/defaultEffort"]
    data["reviewer"]["effortConfigKey"] = "review.effort.demo"
    assert not faults(data)


def test_a_wrong_transport_does_not_hide_the_other_faults() -> None:
    data = with_("reviewer", "/reviewer/transport", "grpc")
    data["reviewer"]["slug"] = "Bad"
    assert pointers(data) == ["/reviewer/transport", "/reviewer/slug"]
