"""Review lanes: what each needs, and what is said of those that cannot run. The machine is plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.lanes import (
    MOST_MILLISECONDS,
    CommandCapability,
    CommandExists,
    HttpReachable,
    Lack,
    Lane,
    Unmet,
    judge,
    lane_of,
    lanes_of,
    named_lanes,
)
from gsdlock.capabilities.model import ConfigSlice, Reviewer
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import Role, Tier

LANES = lanes_of(load_builtin())


@dataclass
class Machine:
    """`programs` by name: their help text. `servers` are addresses that answer. `asked` is what was done."""

    programs: Mapping[str, str | Unmet] = field(default_factory=dict)
    servers: Sequence[str] = ()
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def program(self, name: str) -> str | Unmet:
        return f"/bin/{name}" if name in self.programs else Unmet(Lack.ABSENT, f"{name} is not on PATH")

    def help_of(self, name: str, variables: Sequence[str], milliseconds: int) -> str | Unmet:
        self.asked.append(("help", name, tuple(variables), milliseconds))
        return self.programs[name]

    def answers(self, address: str, path: str, milliseconds: int) -> Unmet | None:
        self.asked.append(("get", address, path, milliseconds))
        return None if address in self.servers else Unmet(Lack.SILENT, f"nothing answers at {address}")


def lane(probe: Any, *programs: str, slug: str = "own") -> Lane:
    return Lane(slug, slug, "builtin", slug, "spawn", probe, programs, ("OWN_HOME",))


def reviewer(probe: dict[str, Any], *, default: object = "", **invoke: Any) -> Reviewer:
    body = {
        "slug": "own",
        "transport": "openai-http",
        "reviewsSection": "Own",
        "probe": probe,
        "invoke": invoke,
        "requiresBinaries": (),
    }
    return Reviewer(
        id="own",
        role=Role.REVIEWER,
        title="Own",
        description="A lane.",
        tier=Tier.FULL,
        version="1.0.0",
        config={"review.own_host": ConfigSlice("string", default, "The address.")},
        reviewer=body,
    )


# -- what a descriptor says ----------------------------------------------------------------------------------


def test_every_shipped_lane_is_there_and_can_be_judged() -> None:
    registry = load_builtin()
    assert sorted(c.reviewer["slug"] for c in registry.reviewers.values() if c.reviewer) == list(LANES)
    nothing = Machine()
    assert all(not judge(lane, nothing).can_run for lane in LANES.values())
    everything = Machine(
        {name: "--output-format" for lane in LANES.values() for name in lane.programs},
        [lane.probe.address for lane in LANES.values() if isinstance(lane.probe, HttpReachable)],
    )
    assert all(judge(lane, everything).can_run for lane in LANES.values())


def test_the_three_kinds_of_probe_are_read_from_the_descriptors() -> None:
    assert LANES["claude"].probe == CommandExists("claude") and LANES["claude"].programs == ("claude",)
    assert LANES["kimi-code"].probe == CommandCapability("kimi", "--output-format", 5000)
    assert LANES["kimi-code"].variables == ("KIMI_CODE_HOME",)
    assert LANES["ollama"].probe == HttpReachable(
        "review.ollama_host", "http://localhost:11434", "/v1/models", 2000
    )
    assert LANES["ollama"].programs == () and LANES["ollama"].variables == ()


HTTP = {
    "kind": "http-reachable",
    "hostConfigKey": "review.own_host",
    "path": "/v1/models",
    "timeoutMs": 10**12,
}


@pytest.mark.parametrize(
    ("default", "invoke", "address"),
    [
        ("", {"defaultHost": "http://localhost:1"}, "http://localhost:1"),
        ("  ", {"defaultHost": "http://localhost:1"}, "http://localhost:1"),
        ("http://localhost:2", {"defaultHost": "http://localhost:1"}, "http://localhost:2"),
        (2, {"defaultHost": "http://localhost:1"}, "http://localhost:1"),
        ("", {}, ""),
    ],
)
def test_the_address_is_the_default_of_its_key_else_that_of_the_lane(
    default: object, invoke: dict[str, Any], address: str
) -> None:
    probe = lane_of(reviewer(HTTP, default=default, **invoke), "builtin").probe
    assert isinstance(probe, HttpReachable) and probe.address == address
    assert probe.milliseconds == MOST_MILLISECONDS, "no descriptor makes anybody wait for days"


def test_a_lane_without_an_address_asks_nobody() -> None:
    machine = Machine()
    verdict = judge(lane_of(reviewer(HTTP), "builtin"), machine)
    (unmet,) = verdict.unmet
    assert unmet.kind is Lack.FOREIGN and "review.own_host" in unmet.what and machine.asked == []


# -- what is judged ------------------------------------------------------------------------------------------


def test_all_that_is_missing_is_told_and_then_nothing_is_started() -> None:
    machine = Machine({"kimi": "--output-format"})
    verdict = judge(lane(CommandCapability("kimi", "--output-format", 5000), "kimi", "jq", "curl"), machine)
    assert [u.what for u in verdict.unmet] == ["jq is not on PATH", "curl is not on PATH"]
    assert verdict.found == {"kimi": "/bin/kimi"} and machine.asked == []
    verdict = judge(lane(HttpReachable("k", "http://localhost:1", "/", 9), "jq"), machine)
    assert not verdict.can_run and machine.asked == []


def test_a_program_that_is_there_is_not_started_to_see_that() -> None:
    machine = Machine({"claude": ""})
    assert judge(LANES["claude"], machine).can_run and machine.asked == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("usage: kimi [--output-format FORMAT]", None),
        ("usage: kimi", Lack.WRONG),
        ("", Lack.WRONG),
        (Unmet(Lack.FAILED, "kimi did not end"), Lack.FAILED),
    ],
)
def test_a_capability_is_looked_for_in_the_help_text(said: str | Unmet, kind: Lack | None) -> None:
    machine = Machine({"kimi": said})
    verdict = judge(lane(CommandCapability("kimi", "--output-format", 5000), "kimi"), machine)
    assert [u.kind for u in verdict.unmet] == ([] if kind is None else [kind])
    assert machine.asked == [("help", "kimi", ("OWN_HOME",), 5000)]


@pytest.mark.parametrize("answers", [True, False])
def test_a_server_is_there_where_it_answers(answers: bool) -> None:
    machine = Machine(servers=["http://localhost:11434"] if answers else [])
    verdict = judge(LANES["ollama"], machine)
    assert verdict.can_run is answers
    assert machine.asked == [("get", "http://localhost:11434", "/v1/models", 2000)]


# -- what is named -------------------------------------------------------------------------------------------


def refusal(names: Sequence[str], machine: Machine) -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        named_lanes(names, LANES, machine)
    return caught.value


def test_named_lanes_that_can_run_come_in_the_order_in_which_they_are_named() -> None:
    machine = Machine({"codex": "", "claude": ""})
    verdicts = named_lanes(["codex", "claude", "codex"], LANES, machine)
    assert [v.lane.slug for v in verdicts] == ["codex", "claude"]


def test_one_that_cannot_run_is_an_error_that_says_why_and_what_to_do() -> None:
    fault = refusal(["claude"], Machine())
    assert (fault.code, fault.status) == ("E-LANE-UNAVAILABLE", 7)
    assert fault.what == "the review lane claude cannot run here: claude is not on PATH"
    assert fault.fix.startswith("Install the program") and fault.details == ()


def test_several_that_cannot_run_are_told_together_and_advice_once() -> None:
    fault = refusal(["claude", "ollama", "codex"], Machine({"codex": ""}))
    assert fault.what == "2 named review lanes cannot run here"
    assert [line.partition(" ")[0] for line in fault.details] == ["claude", "ollama"]
    assert "Start the server" in fault.fix
    fault = refusal(["claude", "qwen"], Machine())
    assert fault.fix.count("Install the program") == 1


def test_a_name_that_is_no_lane_is_an_error_with_the_nearest_one() -> None:
    fault = refusal(["claud"], Machine())
    assert (fault.code, fault.status) == ("E-LANE-UNKNOWN", 3)
    assert fault.what == "there is no review lane claud; did you mean claude?"
    assert all(slug in fault.fix for slug in LANES)
    assert "\x1b" not in refusal(["\x1b[2J"], Machine()).what


def test_all_faults_of_both_kinds_are_told_together() -> None:
    fault = refusal(["zzz", "claude", "llama-cpp"], Machine())
    assert fault.code == "E-LANE-UNKNOWN"
    assert list(fault.details) == [
        "there is no review lane zzz",
        "there is no review lane llama-cpp; did you mean llama_cpp?",
        "claude cannot run here: claude is not on PATH",
    ]


@pytest.mark.parametrize("kind", Lack)
def test_every_kind_of_lack_has_advice(kind: Lack) -> None:
    class Lacking(Machine):
        def program(self, name: str) -> str | Unmet:
            return Unmet(kind, "it is not met")

    assert refusal(["claude"], Lacking()).fix.endswith("gsdlock lanes lists those that can run.")
