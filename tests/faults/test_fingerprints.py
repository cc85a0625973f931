"""The promise is checked once for all disks that are alike. So alike may only be what truly is."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.store.filesystem_decorators import Faulty

from .children import Unflushed, warm_up
from .dying import die
from .machine import Machine
from .scenes import LOCKED, to_upgrade


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    warm_up()
    return Machine(tmp_path_factory.mktemp("alike"), to_upgrade)


def broken_off(machine: Machine) -> str:
    """An upgrade that died after its commit point, with some files in place."""
    machine.again()
    ended = machine.run(*LOCKED, fs=Faulty(Unflushed(), 2, methods={"exchange"}, instead=die))
    assert ended.killed and staged(machine) and list(machine.state.glob("transactions/*/commit.json"))
    return machine.fingerprint()


def staged(machine: Machine) -> list[Path]:
    return sorted(machine.home.glob(".claude/.gsdlock-*/*"))


def test_two_that_died_at_the_same_point_are_alike(machine: Machine) -> None:
    assert broken_off(machine) == broken_off(machine) != ""


def test_the_start_is_like_itself_and_like_nothing_else(machine: Machine) -> None:
    machine.again()
    assert machine.fingerprint() == machine.fingerprint() != broken_off(machine)


def other_byte(path: Path) -> None:
    data = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(data[:-3] + b"?" + data[-2:])


def staged_file(machine: Machine) -> None:
    other_byte(staged(machine)[0])


def staged_mode(machine: Machine) -> None:
    staged(machine)[0].chmod(0o611)


def staged_gone(machine: Machine) -> None:
    staged(machine)[0].unlink()


def journal(machine: Machine) -> None:
    (path,) = machine.state.glob("transactions/*/commit.json")
    other_byte(path)


def journal_torn(machine: Machine) -> None:
    (path,) = machine.state.glob("transactions/*/commit.json")
    path.write_bytes(path.read_bytes()[:-1])


def journal_renamed(machine: Machine) -> None:
    (path,) = machine.state.glob("transactions/*/commit.json")
    path.rename(path.with_name("done.json"))


def users_file(machine: Machine) -> None:
    other_byte(machine.home / ".claude/NOTES.md")


def settings_for_a_link(machine: Machine) -> None:
    (machine.home / ".claude/settings.json").unlink()
    (machine.home / ".claude/settings.json").symlink_to("NOTES.md")


def new_folder(machine: Machine) -> None:
    (machine.home / "new").mkdir()


def generation(machine: Machine) -> None:
    other_byte(machine.state / "targets/claude@default/generations/2.json")


def pointer(machine: Machine) -> None:
    (machine.state / "targets/claude@default/current").write_text("2\n")


def content_gone(machine: Machine) -> None:
    next(machine.data.glob("blobs/sha256/*/*")).unlink()


def registration(machine: Machine) -> None:
    other_byte(next(machine.state.glob("locks/*.json")))


def receipt(machine: Machine) -> None:
    connection = sqlite3.connect(machine.state / "ledger.sqlite")
    connection.execute(
        "INSERT INTO events (at, kind, transaction_id, payload, digest) VALUES ('', 'x', '', x'', '')"
    )
    connection.commit()
    connection.close()


CHANGES = [staged_file, staged_mode, staged_gone, journal, journal_torn, journal_renamed, users_file]
CHANGES += [settings_for_a_link, new_folder, generation, pointer, content_gone, registration, receipt]


@pytest.mark.parametrize("change", CHANGES)
def test_any_difference_that_counts_shows(machine: Machine, change: Callable[[Machine], None]) -> None:
    before = broken_off(machine)
    change(machine)
    machine.forget()
    assert machine.fingerprint() not in ("", before)


def test_a_ledger_that_cannot_be_read_is_like_no_other(machine: Machine) -> None:
    broken_off(machine)
    (machine.state / "ledger.sqlite-wal").unlink(missing_ok=True)
    os.truncate(machine.state / "ledger.sqlite", 100)
    machine.forget()
    assert machine.fingerprint() == ""
