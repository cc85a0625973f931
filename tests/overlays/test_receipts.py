"""Every decision about an overlay is written down before it is done, with one outcome, and can be read back.

Decided, recorded, done, outcome: the order of a transaction. It is held here with the change broken off at
any call of the file system, and at any event of the interpreter.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults.children import Ended, Unflushed, warm_up
from faults.conftest import report
from faults.dying import Audit, die
from faults.machine import Machine
from faults.points import FULL, Report, chosen
from gsdlock.capabilities.errors import refused
from gsdlock.store import overlay_changes
from gsdlock.store import receipts as receipts_module
from gsdlock.store.filesystem_decorators import Faulty
from gsdlock.store.ledger import OVERLAY_OUTCOME, Ledger

from .conftest import EXAMPLES, digest_of, install, trust, write_feature

__all__ = ["report"]
CLAUDE = '[targets.claude]\nscope = "global"\n'


def receipts(machine: Any) -> list[dict[str, Any]]:
    """The receipts about overlays, oldest first."""
    events = machine.ok("log", "--json").data["events"]
    return [e for e in events if e["kind"].startswith("overlay")]


def pairs(machine: Any) -> list[tuple[str, str, str, str]]:
    """Action, id, who decided, and the outcome; each decision has exactly one."""
    found = receipts(machine)
    outcomes = {e["transaction"]: e["payload"]["outcome"] for e in found if e["kind"] == "overlay-outcome"}
    decided = [e for e in found if e["kind"] == "overlay"]
    assert len(found) == len(decided) + len(outcomes), "an outcome for each, and no other"
    told = []
    for event in decided:
        said = event["payload"]
        assert event["intact"]
        told.append((said["action"], said["id"], said["decided_by"], outcomes[event["transaction"]]))
    return told


def test_each_action_leaves_a_decision_and_an_outcome(machine: Any, tides: Path) -> None:
    first = install(machine, str(tides))
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    second = digest_of(machine, str(tides))
    machine.ok("overlay", "update", "tides", "--consent", second)
    machine.ok("overlay", "update", "tides")  # nothing new: nothing is decided
    machine.ok("overlay", "update", "tides", "--to", first)
    machine.ok("overlay", "remove", "tides")
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    trust(machine, "tides")
    machine.ok("overlay", "trust", "tides")  # consented to already: nothing is decided
    machine.ok("overlay", "trust", "tides", "--revoke")
    assert pairs(machine) == [
        ("add", "tides", f"flag:--consent {first}", "done"),
        ("update", "tides", f"flag:--consent {second}", "done"),
        ("update", "tides", "earlier-consent", "done"),
        ("remove", "tides", "command:remove", "done"),
        ("trust", "tides", f"flag:--consent {second}", "done"),
        ("revoke", "tides", "command:revoke", "done"),
    ]


def test_a_receipt_holds_what_was_shown(machine: Any, tides: Path) -> None:
    machine.manifest(CLAUDE)
    digest = digest_of(machine, str(tides))
    machine.ok("overlay", "add", str(tides), "--project", "--consent", digest)
    (event, _) = receipts(machine)
    said = event["payload"]
    assert said["digest"] == digest and said["scope"].endswith("/project") and said["allow"] is True
    assert ["hook", "Stop hooks/ebb.sh", "on Stop: run hooks/ebb.sh"] in said["surfaces"]
    assert said["roots"] == ["claude global config: ~/.claude"], "a home has no place in a record"
    lines = machine.ok("log", "-v", "--kind", "overlay").out
    assert f"allow add tides for {said['scope']}" in lines and digest in lines
    assert "executes hook Stop hooks/ebb.sh: on Stop: run hooks/ebb.sh" in lines
    assert "writes claude global config: ~/.claude" in lines


def test_38_a_record_holds_no_path_of_the_home(machine: Any, tides: Path) -> None:
    bundle = tides.rename(machine.home / "tides")
    install(machine, str(bundle))
    install(machine, str(EXAMPLES / "heron"))
    machine.ok("overlay", "remove", "tides")
    connection = sqlite3.connect(machine.state / "ledger.sqlite")
    payloads = [payload for (payload,) in connection.execute("SELECT payload FROM events")]
    connection.close()
    assert len(payloads) == 6
    assert all(str(machine.home).encode() not in payload for payload in payloads)


@pytest.mark.parametrize("words", [["show"], ["add"], ["add", "--dry-run"]], ids=" ".join)
def test_what_is_only_looked_at_or_not_answered_leaves_none(
    machine: Any, tides: Path, words: list[str]
) -> None:
    """25: an open question is no decision."""
    machine.run("overlay", words[0], str(tides), *words[1:])
    assert not (machine.state / "ledger.sqlite").exists()


def test_30_what_cannot_be_recorded_is_not_done(machine: Any, tides: Path) -> None:
    machine.manifest(CLAUDE)
    digest = digest_of(machine, str(tides))
    (machine.state / "ledger.sqlite").mkdir(parents=True)
    before = (machine.project / "gsdlock.toml").read_bytes()
    for more in ((), ("--project",)):
        ran = machine.run("overlay", "add", str(tides), "--consent", digest, *more)
        assert ran.status == 4 and "E-LEDGER-WRITE" in ran.err
        assert not (machine.state / "overlays.json").exists()
        assert (machine.project / "gsdlock.toml").read_bytes() == before
        assert not list(machine.home.rglob("blobs/sha256/*/*")), "nothing of it is kept"
    (machine.state / "ledger.sqlite").rmdir()
    machine.ok("overlay", "add", str(tides), "--consent", digest)


def test_a_dry_run_changes_nothing(machine: Any, tides: Path) -> None:
    install(machine, str(tides))
    before = (machine.state / "overlays.json").read_bytes()
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    for words in (["update", "tides"], ["remove", "tides"], ["trust", "tides", "--revoke"]):
        machine.ok("overlay", *words, "--dry-run")
    assert (machine.state / "overlays.json").read_bytes() == before
    assert len(pairs(machine)) == 1


def test_an_outcome_is_undone_where_the_manifest_cannot_be_written(machine: Any, tides: Path) -> None:
    """The act fails after the decision was written down: nothing is consented to, and the receipt says so."""
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "/elsewhere"\n')
    digest = digest_of(machine, str(tides))
    ran = machine.run("overlay", "add", str(tides), "--project", "--consent", digest)
    assert ran.status == 3 and "E-OVERLAY-DECLARED" in ran.err
    assert pairs(machine) == [("add", "tides", f"flag:--consent {digest}", "undone")]
    assert not (machine.state / "overlays.json").exists()


# -- on a terminal


def at_a_terminal(machine: Any, answer: str, *words: str) -> tuple[int, str]:
    """One command with a terminal on all three of its streams, and an answer typed in beforehand."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).parent / "gsdlock"), "--no-progress", *words]
    process = subprocess.Popen(
        command,
        cwd=machine.project,
        env=machine.env(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # A shell that runs the tests in the background lets its children ignore the interruption.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(theirs)
    said = b""
    while b"[l]ist all files" not in said:
        part = os.read(ours, 1 << 16)
        assert part, said
        said += part
    if answer == "^C":
        process.send_signal(signal.SIGINT)
    else:
        os.write(ours, answer.encode() + b"\n")
    try:
        while part := os.read(ours, 1 << 16):
            said += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return process.wait(), said.decode("utf-8", "replace")


def test_yes_at_a_terminal(machine: Any, tides: Path) -> None:
    status, _ = at_a_terminal(machine, "yes", "overlay", "add", str(tides))
    assert status == 0
    assert pairs(machine) == [("add", "tides", "resolver:terminal", "done")]


def test_no_at_a_terminal_is_a_decision_without_an_outcome(machine: Any, tides: Path) -> None:
    status, said = at_a_terminal(machine, "n", "overlay", "add", str(tides))
    assert status == 4 and "E-OVERLAY-DECLINED" in said
    (event,) = receipts(machine)
    assert (event["payload"]["allow"], event["payload"]["decided_by"]) == (False, "resolver:terminal")
    assert "deny add tides for user (resolver:terminal)" in machine.ok("log").out
    assert not (machine.state / "overlays.json").exists()
    assert not list(machine.home.rglob("blobs/sha256/*/*"))


def test_33_an_interruption_while_asking_records_nothing(machine: Any, tides: Path) -> None:
    status, _ = at_a_terminal(machine, "^C", "overlay", "add", str(tides))
    assert status == 130
    assert not (machine.state / "ledger.sqlite").exists()
    assert not (machine.state / "overlays.json").exists()


# -- broken off


def prepared(machine: Machine) -> None:
    """A bundle installed in its first version, with the second at its source."""
    machine.packs.mkdir(parents=True)
    write_feature(machine.packs, id_="tides")
    (machine.project / "gsdlock.toml").write_text(CLAUDE)
    shown = json.loads(machine.ok("overlay", "show", str(machine.packs), "--json").text)
    machine.ok("overlay", "add", str(machine.packs), "--consent", shown["overlay"]["digest"])
    (machine.packs / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")


def digest_at_source(machine: Machine) -> str:
    shown = json.loads(machine.ok("overlay", "show", str(machine.packs), "--json").text)
    return str(shown["overlay"]["digest"])


CHANGES: dict[str, Callable[[Machine, str], tuple[str, ...]]] = {
    "add": lambda m, digest: ("overlay", "add", str(m.packs), "--project", "--consent", digest),
    "update": lambda m, digest: ("overlay", "update", "tides", "--consent", digest),
    "remove": lambda m, digest: ("overlay", "remove", "tides"),
}


def state_of(machine: Machine) -> Any:
    """What counts: which bundle is in force, what is consented to, what the manifest declares."""
    path = machine.state / "overlays.json"
    record = json.loads(path.read_text())["record"] if path.exists() else {"installed": [], "consents": []}
    return (
        [(o["id"], o["pin"], o["former"]) for o in record["installed"]],
        [(c["scope"], c["id"], c["digest"]) for c in record["consents"]],
    )


@pytest.mark.parametrize("what", CHANGES)
def test_killed_at_any_point_it_is_done_or_not_and_the_receipt_says_which(
    what: str, tmp_path: Path, report: Report
) -> None:
    warm_up()
    machine = Machine(tmp_path, prepared)
    words = CHANGES[what](machine, digest_at_source(machine))
    old = state_of(machine)
    machine.again()
    machine.ok(*words)
    new = state_of(machine)
    assert old != new

    def at_a_call(point: int) -> Ended:
        return machine.run(*words, fs=Faulty(Unflushed(), point, instead=die, torn=True))

    def at_an_event(point: int) -> Ended:
        return machine.run(*words, first=Audit(point).begin)

    counting, events = Faulty(Unflushed(), at=0), Audit(0)
    machine.again()
    machine.run(*words, fs=counting, last=lambda: counting.calls)
    calls = int(machine.told)
    machine.again()
    machine.run(*words, first=events.begin, last=lambda: events.seen)
    for table, total, most, at in (
        ("a call of the interface", calls, 12, at_a_call),
        ("an audit event", int(machine.told), 8, at_an_event),
    ):
        ends = set()
        points = chosen(range(1, total + 1), most, f"overlay receipts/{what}/{table}")
        for point in points:
            machine.again()
            ended = at(point)
            where = f"overlay {what}, killed at {point} of {total} ({table})"
            assert ended.killed or ended.status == 0, f"{where}: {ended}"
            ends.add(promise(machine, old, new, where, words))
        report(f"killed before {table}", f"overlay {what} (of {total})", len(points), 0)
        assert ends == {True, False} or not FULL


def promise(machine: Machine, old: Any, new: Any, where: str, words: tuple[str, ...]) -> bool:
    """Old or new; after the next command the receipts are closed, and nothing is left; it can be repeated."""
    found = state_of(machine)
    assert found in (old, new), f"{where}: {found}"
    status, log = machine.here("status"), machine.here("log", "--json")
    assert status.status == 0 and log.status == 0, f"{where}: {status} {log}"
    assert not list(machine.state.glob("transactions/*")), f"{where}: something is still under way"
    decided = [e["transaction"] for e in log.data["events"] if e["kind"] == "overlay"]
    outcomes = {
        e["transaction"]: e["payload"]["outcome"]
        for e in log.data["events"]
        if e["kind"] == "overlay-outcome"
    }
    assert sorted(decided) == sorted(outcomes), f"{where}: receipts are open"
    if len(decided) > 1:  # the first is that of the preparation
        assert outcomes[decided[-1]] == ("done" if found == new else "undone"), where
    else:
        assert found == old, f"{where}: done without a receipt"
    if found == old:
        again = machine.here(*words)
        assert again.status == 0, f"{where}: {again}"
        assert state_of(machine) == new, f"{where}: it cannot be repeated"
    return bool(found == new)


def test_an_outcome_that_could_not_be_written_is_written_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills up between the decision and its outcome: it is done, and said to be."""
    machine = Machine(tmp_path, prepared)
    real = Ledger.record

    def full(self: Ledger, kind: str, *rest: Any) -> int:
        if kind == OVERLAY_OUTCOME:
            raise refused("E-LEDGER-WRITE", "the disk is full", "Make room.")
        return real(self, kind, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "record", full)
        ended = machine.here("overlay", "remove", "tides")
    assert ended.status == 0 and "could not be written down yet: the disk is full" in ended.text
    assert machine.here("status").status == 0
    events = machine.here("log", "--json").data["events"]
    told = [e["payload"].get("outcome") for e in events if e["kind"].startswith("overlay")]
    assert told == [None, "done", None, "done"]


def test_an_outcome_that_is_open_is_closed_before_the_next_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record names only the change that was last: an open one is judged by it before there is a next."""
    machine = Machine(tmp_path, prepared)

    def never(*_: Any) -> None:
        raise refused("E-LEDGER-WRITE", "the disk is full", "Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(overlay_changes, "_close", lambda *_: ("not yet",))
        machine.here("overlay", "remove", "tides")
        patch.setattr(receipts_module, "overlay_outcome", never)
        shown = machine.here("overlay", "show", str(machine.packs), "--json").data["overlay"]["digest"]
        ended = machine.here("overlay", "add", str(machine.packs), "--consent", shown)
    assert ended.status == 4 and "E-LEDGER-WRITE" in ended.text
    assert machine.here("overlay", "add", str(machine.packs), "--consent", shown).status == 0
    events = machine.here("log", "--json").data["events"]
    told = [e["payload"].get("outcome") for e in events if e["kind"].startswith("overlay")]
    assert told == [None, "done", None, "done", None, "done"]
