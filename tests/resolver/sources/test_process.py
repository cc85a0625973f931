"""Programs are run without a shell or a terminal, within bounds, and leave nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gsdlock.resolver.sources.base import Completed
from gsdlock.resolver.sources.process import SystemProcesses

Refused = Callable[..., Any]


def python(code: str, cwd: Path, *, timeout: float = 60, limit: int = 1 << 20, **more: Any) -> Completed:
    return SystemProcesses().run(
        [sys.executable, "-c", code], cwd=str(cwd), env={"PATH": ""}, timeout=timeout, limit=limit, **more
    )


def test_status_output_and_errors(tmp_path: Path) -> None:
    done = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (done.status, done.out, done.err) == (3, b"out\n", b"err\n")


def test_input_and_output_larger_than_a_pipe(tmp_path: Path) -> None:
    data = os.urandom(1 << 20)
    echo = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    assert python(echo, tmp_path, stdin=data, limit=1 << 21).out == data


def test_a_program_that_does_not_read_its_input(tmp_path: Path) -> None:
    assert python("pass", tmp_path, stdin=b"x" * (1 << 20)).status == 0


def test_only_the_given_environment_and_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    code = (
        "import os, sys; print('SECRET' in os.environ, sys.stdin.read() == '', os.getsid(0) == os.getpid())"
    )
    assert python(code, tmp_path).out == b"False True True\n"


def test_too_much_output_ends_the_program(tmp_path: Path, refused: Refused) -> None:
    with refused("E-PROCESS-OUTPUT", "1000 bytes"):
        python("import sys\nwhile True: sys.stdout.write('x' * 1000)", tmp_path, limit=1000)


def test_a_timeout_ends_the_program(tmp_path: Path, refused: Refused) -> None:
    with refused("E-PROCESS-TIMEOUT", "0.2 seconds"):
        python("import time; time.sleep(600)", tmp_path, timeout=0.2)


def test_what_a_program_started_goes_with_it(tmp_path: Path, refused: Refused) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "while True: sys.stdout.write('x' * 1000)\n"
    )
    with refused("E-PROCESS-OUTPUT"):
        python(code, tmp_path, limit=1000)
    pid = int((tmp_path / "pid").read_text())
    while alive(pid):
        time.sleep(0.01)


def test_a_program_is_started_under_the_name_that_it_is_called_by(tmp_path: Path) -> None:
    done = SystemProcesses().run(
        ["called", "-c", "echo $0"],
        executable="/bin/sh",
        cwd=str(tmp_path),
        env={},
        timeout=60,
        limit=99,
    )
    assert done.out == b"called\n"


START = (
    "import os, subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(86400)'], {how})\n"
    "open('pid', 'w').write(str(child.pid))\n"
    "print('said', flush=True)\n"
)
SILENT = "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"


def until_it_started(folder: Path) -> Iterator[float]:
    """Longer and longer timeouts until the program got as far as to write its child's id: it is no matter of
    how fast this machine is."""
    for timeout in (1, 8, 64):
        yield timeout
        if (folder / "pid").exists() and (folder / "pid").read_text():
            return


def ended(folder: Path) -> bool:
    """Whether the child ends; a minute is a guard against hanging, the child itself would run for a day."""
    pid = int((folder / "pid").read_text())
    for _ in range(600):
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


def test_alone_what_a_program_started_goes_when_it_ends(tmp_path: Path) -> None:
    """What a program leaves behind in silence is nothing that whoever only asked for its help wanted."""
    assert python(START.format(how=SILENT), tmp_path, alone=True).out == b"said\n"
    assert ended(tmp_path)


def test_alone_a_program_that_hangs_goes_with_what_it_started(tmp_path: Path, refused: Refused) -> None:
    """Criterion 53, for a probe: the program and its child are gone, and nothing else."""
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        code = START.format(how="") + "import time; time.sleep(600)"
        for timeout in until_it_started(tmp_path):
            with refused("E-PROCESS-TIMEOUT"):
                python(code, tmp_path, timeout=timeout, alone=True)
        assert ended(tmp_path) and bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_alone_a_descendant_that_holds_the_output_is_a_timeout(tmp_path: Path, refused: Refused) -> None:
    """Criterion 55: it left the session, so nothing can end it; nobody waits for it either."""
    for timeout in until_it_started(tmp_path):
        with refused("E-PROCESS-TIMEOUT"):
            python(START.format(how="start_new_session=True"), tmp_path, timeout=timeout, alone=True)
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_alone_too_much_output_ends_the_program(tmp_path: Path, refused: Refused) -> None:
    """Criterion 54: it is not kept, and the program is not left with a full pipe."""
    with refused("E-PROCESS-OUTPUT", "1000 bytes"):
        python("import sys\nwhile True: sys.stdout.write('x' * 1000)", tmp_path, limit=1000, alone=True)
    noisy = "import sys; sys.stderr.write('x' * (4 << 20)); print('said')"
    assert python(noisy, tmp_path, alone=True).out == b"said\n"


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not yet waited for does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")


def test_a_program_that_is_none(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    for argv in (["/nowhere/x"], [str(tmp_path / "text")]):
        with refused("E-PROCESS-START"):
            SystemProcesses().run(argv, cwd=str(tmp_path), env={}, timeout=5, limit=10)


def test_find_looks_in_the_given_path_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    processes = SystemProcesses()
    assert processes.find("tool", str(tool.parent)) is None, "it is not executable yet"
    tool.chmod(0o755)
    assert processes.find("tool", f"/nowhere:{tool.parent}") == str(tool)
    assert processes.find("tool", "bin") is None, "a relative folder is where we happen to be"
    assert processes.find("tool", "") is None
    assert processes.find("sh", str(tool.parent)) is None
