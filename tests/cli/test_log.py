"""`gsdlock log`: what was decided and what came of it, read back without changing anything."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Machine, PackMaker


def outcomes(machine: Machine) -> list[list[list[str]]]:
    events: list[dict[str, Any]] = machine.ok("log", "--json", "--kind", "outcomes").data["events"]
    return [event["payload"]["outcomes"] for event in events]


def test_what_stood_already_is_not_counted_as_done(machine: Machine, make_pack: PackMaker) -> None:
    pack = make_pack(hook=False)
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "local"\n')
    machine.ok("apply", "--allow", "high")
    (pack / "skills/greet/more.md").write_text("more")
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")
    _, second = outcomes(machine)
    assert sorted((key, what) for _, key, what in second) == [
        ("config:skills/greet/SKILL.md", "unchanged"),
        ("config:skills/greet/more.md", "done"),
    ]
    assert "done 1, unchanged 1" in machine.ok("log", "--kind", "outcomes").out.splitlines()[-1]


def test_since_and_kind_choose(starter: Machine) -> None:
    for words in (["apply"], ["uninstall"]):
        starter.ok(*words, "--allow", "high")

    def numbers(*words: str) -> list[int]:
        return [e["sequence"] for e in starter.ok("log", "--json", *words).data["events"]]

    assert numbers() == [1, 2, 3, 4]
    assert numbers("--since", "2") == [3, 4]
    assert numbers("--kind", "plan") == [1, 3]
    assert numbers("--kind", "plan", "--since", "1") == [3]
    assert "no receipt of the 4 is meant" in starter.ok("log", "--since", "4").out


def test_an_unknown_kind_is_refused_with_those_that_there_are(starter: Machine) -> None:
    ran = starter.run("log", "--kind", "outcome")
    assert ran.status == 2 and "E-LOG-KIND" in ran.err
    assert "did you mean outcomes?" in ran.err
    assert "Kinds: ledger-salvaged, outcomes, overlay, overlay-outcome, plan." in ran.err
    assert starter.ok("log", "--kind", "plan").out == "no receipt yet\n"


@pytest.mark.parametrize("number", ["-1", "x", "1.5"])
def test_since_is_a_number_from_nought(starter: Machine, number: str) -> None:
    ran = starter.run("log", f"--since={number}")
    assert ran.status == 2 and "--since" in ran.err


def test_looking_makes_and_mends_nothing(starter: Machine) -> None:
    starter.ok("log")
    assert not (starter.state / "ledger.sqlite").exists()
    starter.ok("apply", "--allow", "high")
    (starter.state / "ledger.sqlite").write_bytes(b"rubbish" * 1000)
    ran = starter.run("log")
    assert ran.status == 5 and "E-LEDGER-DAMAGED" in ran.err
    assert (starter.state / "ledger.sqlite").read_bytes() == b"rubbish" * 1000
    ran = starter.ok("uninstall", "--allow", "high")
    assert "ledger.sqlite.corrupt" in ran.out
    assert [e["kind"] for e in starter.ok("log", "--json").data["events"]] == [
        "ledger-salvaged",
        "plan",
        "outcomes",
    ]
