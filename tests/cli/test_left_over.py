"""What a killed command left beside a manifest or a lock goes with the next one."""

from __future__ import annotations

import os
import subprocess

from .conftest import Machine


def test_a_half_written_lock_goes_with_the_next_resolve_and_that_of_a_living_process_stays(
    starter: Machine,
) -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    dead = starter.project / f".gsdlock-write-{done.pid}-0123456789ab"
    alive = starter.project / f".gsdlock-write-{os.getpid()}-0123456789ab"
    mine = starter.project / ".gsdlock-write-mine"
    for file in (dead, alive, mine):
        file.write_text("half")
    starter.ok("resolve")
    assert not dead.exists() and alive.exists() and mine.exists()


def test_a_data_folder_behind_a_link_that_leads_nowhere_is_named(starter: Machine) -> None:
    (starter.home / ".local").mkdir()
    (starter.home / ".local/share").symlink_to("/nowhere")
    ran = starter.run("resolve")
    assert ran.status == 4 and "E-IO-OTHER" in ran.err and "leads nowhere" in ran.err
    assert ".local/share" in ran.err


def test_a_folder_that_we_make_is_never_one_that_we_would_refuse(starter: Machine) -> None:
    starter.ok("resolve")
    former = os.umask(0)
    try:
        starter.ok("apply", "--allow", "high")
        starter.ok("uninstall", "--allow", "high")
        starter.ok("rollback", "--allow", "high")
    finally:
        os.umask(former)
    assert (starter.home / ".claude").stat().st_mode & 0o002 == 0
