"""The questions of the gate on a real terminal: a pseudo-terminal, answered as a person would."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence

import pytest

from .conftest import COMMAND, Machine, PackMaker, Ran

PROMPT = "[l]ist all"
LONGEST = 60.0


def converse(machine: Machine, words: Sequence[str], answers: Sequence[bytes | signal.Signals]) -> Ran:
    """Run gsdlock on a terminal; at each question the next answer is typed, or the next signal sent."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "--no-progress", *words],
        cwd=machine.project,
        env=machine.env(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    text, asked, left = "", 0, list(answers)
    try:
        while True:
            ready, _, _ = select.select([ours], [], [], LONGEST)
            assert ready, f"it waits and says nothing: {text}"
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux: the other side was closed
                break
            if not part:
                break
            text += part.decode("utf-8", "replace")
            while text.count(PROMPT) > asked and left:
                asked += 1
                answer = left.pop(0)
                if isinstance(answer, bytes):
                    os.write(ours, answer)
                else:
                    process.send_signal(answer)
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.poll() is None and left:
                process.kill()
        os.close(ours)
    status = process.wait(LONGEST)
    assert "Traceback" not in text, text
    return Ran(status, text.replace("\r\n", "\n"), "")


def decisions(machine: Machine) -> set[tuple[int, str]]:
    path = machine.state / "ledger.sqlite"
    if not path.exists():
        return set()
    connection = sqlite3.connect(path)
    try:
        return set(connection.execute("SELECT allow, decided_by FROM plan_items"))
    finally:
        connection.close()


@pytest.fixture
def local(machine: Machine, make_pack: PackMaker) -> Machine:
    """A pack with a hook, at local scope: the hook and its script are asked about, the skill is not."""
    machine.manifest(f'[packs.own]\npath = "{make_pack()}"\n[targets.claude]\nscope = "local"\n')
    machine.ok("resolve")
    return machine


def test_a_yes_is_recorded_as_that_of_the_terminal(local: Machine) -> None:
    ran = converse(local, ["apply"], [b"y\n"])
    assert ran.status == 0, ran.out
    assert "claude: 2 items of risk high" in ran.out and ran.out.count("executes: ") == 2
    assert "settings.local.json#/hooks/Stop: " in ran.out and "sha256" not in ran.out
    assert decisions(local) == {(1, "policy:default"), (1, "policy:default+resolver:terminal")}
    assert (local.project / ".claude/skills/greet/SKILL.md").exists()


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"No\n"])
def test_a_no_leaves_the_target_as_it_was(local: Machine, answer: bytes) -> None:
    before = local.tree(local.project)
    ran = converse(local, ["apply"], [answer])
    assert ran.status == 4 and "claude: denied, left as it was" in ran.out
    assert (0, "policy:default+resolver:terminal") in decisions(local)
    assert local.tree(local.project) == before


def test_all_can_be_listed_and_other_words_are_asked_again(local: Machine) -> None:
    ran = converse(local, ["apply"], [b"l\n", b"perhaps\n", b"always\n", b"y\n"])
    assert ran.status == 0 and ran.out.count(PROMPT) == 4
    assert "register-hook config:settings.local.json#/hooks/Stop" in ran.out


def test_each_group_has_an_answer_of_its_own(local: Machine) -> None:
    """Two targets, two questions, in the order of the manifest."""
    text = (local.project / "gsdlock.toml").read_text()
    local.manifest(text + '[targets.codex]\nscope = "local"\n')
    local.ok("resolve")
    ran = converse(local, ["apply"], [b"n\n", b"y\n"])
    assert ran.status == 4 and "claude: denied, left as it was" in ran.out
    assert not (local.project / ".claude").exists() and (local.project / ".codex").exists()
    assert ran.out.index("claude: 2 items") < ran.out.index("codex: ")


@pytest.mark.parametrize("how", [b"\x04", signal.SIGINT, signal.SIGTERM], ids=repr)
def test_33_an_interrupted_question_decides_nothing(local: Machine, how: bytes | signal.Signals) -> None:
    before = local.tree(local.project)
    ran = converse(local, ["apply"], [how])
    assert ran.status != 0
    assert decisions(local) == set()
    assert local.tree(local.project) == before


def test_an_interruption_is_not_overslept() -> None:
    """One that comes just before the wait for a key, or to another thread, does not end it by itself."""
    script = """if True:
        import signal, threading, time
        from gsdlock.cli.terminal import read_line

        def interrupt():
            time.sleep(0.2)  # sooner or later than the wait, it has to end
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        read_line()
    """
    ours, theirs = pty.openpty()
    try:
        ran = subprocess.run(
            [sys.executable, "-c", script], stdin=theirs, capture_output=True, text=True, timeout=LONGEST
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert "KeyboardInterrupt" in ran.stderr


def test_what_the_command_line_answers_is_not_asked(local: Machine) -> None:
    ran = converse(local, ["apply", "--allow", "high"], [])
    assert ran.status == 0 and PROMPT not in ran.out
    assert decisions(local) == {(1, "policy:default"), (1, "flag:--allow high")}


def test_as_data_nobody_is_asked(local: Machine) -> None:
    ran = converse(local, ["apply", "--json"], [])
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.out and PROMPT not in ran.out


def test_nothing_that_would_run_is_left_out_of_the_question_and_a_hook_shows_its_command(
    machine: Machine, make_pack: PackMaker
) -> None:
    pack = make_pack(hook=False)
    descriptor = json.loads((pack / "capability.json").read_text())
    scripts = [f"hooks/h{n:02}.sh" for n in range(30)]
    descriptor["hooks"] = [{"event": "Stop", "script": script} for script in scripts]
    (pack / "capability.json").write_text(json.dumps(descriptor))
    for script in scripts:
        (pack / script).write_text("#!/bin/sh\n")
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    machine.ok("resolve")
    shown = converse(machine, ["apply"], [b"n\n"]).out
    running = [line for line in shown.splitlines() if line.startswith("  executes: ")]
    assert len(running) == 60 and "more that execute" not in shown
    entries = [line for line in running if "settings.json#/hooks/Stop" in line]
    assert running[:30] == entries, "what a host starts by itself comes first"
    for n in range(30):
        assert [f"/h{n:02}.sh" in line for line in entries].count(True) == 1
