"""`gsdlock lanes`: real programs on a scratch PATH, real servers on this machine.

Every program leaves a mark where it is started, so that what is not started is seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.lanes import HttpReachable, Lack, Unmet, lanes_of
from gsdlock.capabilities.registry import load_builtin
from gsdlock.cli.lane_probes import MachineProbes

from .conftest import Machine, PackMaker

NAMES = ("agy", "claude", "coderabbit", "codex", "cursor-agent", "gemini", "kimi", "opencode", "qwen")
HELP = "  --output-format FORMAT"


@pytest.fixture
def bare(machine: Machine) -> Machine:
    """A machine with nothing on PATH but `bin` and what a shell script needs."""
    folder(machine, "bin")
    machine.variables["PATH"] = f"{machine.root}/bin"
    return machine


def folder(machine: Machine, name: str) -> Path:
    made = machine.root / name
    made.mkdir(parents=True, exist_ok=True)
    made.chmod(0o755)
    return made


def program(machine: Machine, name: str, *, at: str = "bin", body: str = f"echo '{HELP}'") -> Path:
    """A program that leaves its name in `started`, then does what `body` says."""
    file = folder(machine, at) / name
    file.write_text(f"#!/bin/sh\necho {name} >>'{machine.root}/started'\n{body}\n")
    file.chmod(0o755)
    return file


def started(machine: Machine) -> list[str]:
    marks = machine.root / "started"
    return marks.read_text().split() if marks.exists() else []


# A model server may run on the machine that tests: whether the shipped lanes to one can run, is its matter.
SERVERS = {lane.slug for lane in lanes_of(load_builtin()).values() if isinstance(lane.probe, HttpReachable)}


def lanes(machine: Machine, *words: str) -> dict[str, dict[str, Any]]:
    data = machine.ok("lanes", "--json", *words).data
    return {row["slug"]: row for row in data["lanes"] if row["slug"] not in SERVERS}


def unmet(machine: Machine, slug: str) -> tuple[str, str]:
    """Kind and text of the one thing that keeps a lane from running."""
    row = lanes(machine, "--all")[slug]
    (lack,) = row["unmet"]
    assert row["available"] is False
    return lack["kind"], lack["what"]


# -- what is named and what is not ---------------------------------------------------------------------------


def test_those_that_can_run_are_listed_and_the_rest_is_silent(bare: Machine) -> None:
    program(bare, "claude")
    program(bare, "kimi")
    ran = bare.ok("lanes")
    told = {line.split()[0] for line in ran.out.splitlines()}
    assert told - SERVERS == {"claude", "kimi-code"} and ran.err == ""
    assert f"{bare.root}/bin/claude" in ran.out
    assert set(lanes(bare)) == {"claude", "kimi-code"}


def test_where_none_can_run_one_line_says_so(bare: Machine) -> None:
    ran = bare.ok("lanes")
    if SERVERS & {line.split()[0] for line in ran.out.splitlines()}:
        pytest.skip("a model server runs on this machine, so a lane can run here")
    assert ran.out.startswith("no review lane can run here") and ran.out.count("\n") == 1 and ran.err == ""
    assert lanes(bare) == {} and started(bare) == []


def test_all_lists_every_lane_with_what_it_lacks(bare: Machine) -> None:
    program(bare, "claude")
    rows = lanes(bare, "--all")
    assert {"claude", "codex", "kimi-code", "qwen"} <= set(rows)
    assert rows["claude"]["available"] and rows["claude"]["unmet"] == []
    assert "codex        Codex: cannot run here: codex is not on PATH" in bare.ok("lanes", "--all").out
    ran = bare.run("lanes", "claude", "--all")
    assert ran.status == 2 and "E-USAGE" in ran.err


def test_a_named_lane_must_be_able_to_run(bare: Machine) -> None:
    program(bare, "claude")
    assert set(lanes(bare, "claude")) == {"claude"}
    ran = bare.run("lanes", "claude", "codex", "qwen")
    assert ran.status == 7 and ran.out == "" and "E-LANE-UNAVAILABLE: 2 named review lanes" in ran.err
    assert "codex is not on PATH" in ran.err and "qwen is not on PATH" in ran.err
    error = bare.run("lanes", "codex", "--json").data["error"]
    assert error["code"] == "E-LANE-UNAVAILABLE" and "Install" in error["fix"]


def test_a_name_that_is_no_lane_is_told_with_the_nearest_and_with_the_other_faults(bare: Machine) -> None:
    ran = bare.run("lanes", "claud", "codex")
    assert ran.status == 3 and "E-LANE-UNKNOWN" in ran.err
    assert "did you mean claude?" in ran.err and "codex is not on PATH" in ran.err


def test_nothing_is_written(bare: Machine) -> None:
    for name in NAMES:
        program(bare, name, body="pwd; env")
    (bare.project / ".git").mkdir()
    install(bare, "http://localhost:1")

    def everything() -> dict[Path, tuple[int, int]]:
        paths = (path for path in bare.root.rglob("*") if path.name != "started")
        return {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in paths}

    program(bare, "kimi", body="echo once")
    bare.ok("lanes")
    before = everything()
    bare.ok("lanes", "--all")
    bare.run("lanes", "second_look", "kimi-code")
    assert everything() == before


# -- what is started -----------------------------------------------------------------------------------------


def test_only_a_probe_that_asks_what_a_program_can_do_starts_it(bare: Machine) -> None:
    for name in NAMES:
        program(bare, name)
    assert len(lanes(bare)) == len(NAMES)
    assert started(bare) == ["kimi"]


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (f"echo '{HELP}' >&2; exit 3", "", ""),
        ("echo 'usage: kimi'", "wrong-program", "kimi --help does not name --output-format"),
        ("yes", "failed", "wrote more than 1048576 bytes"),
        ("kill -9 $$", "wrong-program", "does not name"),
    ],
)
def test_what_a_program_says_of_itself_decides(bare: Machine, body: str, kind: str, text: str) -> None:
    bare.variables["PATH"] += ":/usr/bin:/bin"
    program(bare, "kimi", body=body)
    if not kind:
        assert "kimi-code" in lanes(bare)
        return
    found, what = unmet(bare, "kimi-code")
    assert found == kind and text in what


def test_a_program_that_is_none_is_told(bare: Machine) -> None:
    program(bare, "kimi").write_bytes(b"\x00\x01no program")
    assert unmet(bare, "kimi-code")[0] == "failed"


def test_a_program_that_hangs_and_forks_is_ended_with_what_it_started(bare: Machine) -> None:
    """The bound is the descriptor's: five seconds."""
    bare.variables["PATH"] += ":/usr/bin:/bin"
    program(bare, "kimi", body=f"sleep 86400 & echo $! >>'{bare.root}/pids'; sleep 86400")
    ran = bare.run("lanes", "kimi-code")
    assert ran.status == 7 and "kimi did not end within 5 seconds" in ran.err
    for pid in (bare.root / "pids").read_text().split():
        wait_until_it_is_gone(int(pid))


def wait_until_it_is_gone(pid: int) -> None:
    """A minute is a guard against hanging, no measure; the programs themselves would run for a day."""
    for _ in range(600):
        done = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        if not done.stdout.strip() or done.stdout.strip().startswith("Z"):
            return
        time.sleep(0.1)
    pytest.fail(f"process {pid} runs on")


def test_a_program_sees_no_more_than_it_needs(bare: Machine) -> None:
    """52 and 56: an allowlist of the environment, no input, its own group, and not the project."""
    bare.variables["PATH"] += f":{bare.project}/bin:.:/usr/bin:/bin"
    bare.variables |= {
        "KIMI_CODE_HOME": "/k",
        "CLAUDE_CONFIG_DIR": "/c",
        "ANTHROPIC_API_KEY": "secret",
        "GIT_DIR": "/g",
        "LD_PRELOAD": "",
        "NODE_OPTIONS": "",
    }
    seen = bare.root / "seen"
    body = (
        f"env >'{seen}'; pwd >>'{seen}'; cat >>'{seen}'; echo \"$# $1\" >>'{seen}'\n"
        f"ps -o pgid= -p $$ >>'{seen}'; echo $$ >>'{seen}'"
    )
    program(bare, "kimi", body=body)
    bare.ok("lanes")
    *lines, cwd, words, group, pid = seen.read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines)
    assert {k: given[k] for k in ("HOME", "KIMI_CODE_HOME")} == {
        "HOME": str(bare.home),
        "KIMI_CODE_HOME": "/k",
    }
    assert set(given) <= {"PATH", "HOME", "KIMI_CODE_HOME", "PWD", "OLDPWD", "SHLVL", "_"}
    assert given["PATH"] == f"{bare.root}/bin:/usr/bin:/bin", "nothing is looked up in the project"
    assert (cwd, words, group.strip()) == ("/", "1 --help", pid)


def test_a_program_is_called_by_its_name_and_is_the_file_that_was_judged(bare: Machine) -> None:
    """Programs that are many in one go by the name that they are called by. A shell says its name to
    `--help`, be it that it knows it or not."""
    (bare.root / "bin/second-look").symlink_to(os.path.realpath("/bin/sh"))
    probe = {"kind": "command-capability", "binary": "second-look", "timeoutMs": 5000}
    install(bare, "http://localhost:1", {**probe, "needle": "second-look"})
    assert "second_look" in lanes(bare)
    install(bare, "http://localhost:1", {**probe, "needle": os.path.realpath("/bin/sh")})
    assert unmet(bare, "second_look")[0] == "wrong-program"


def test_of_a_link_the_file_that_was_judged_is_started(bare: Machine) -> None:
    """Whoever exchanges the link afterwards exchanges nothing."""
    real = program(bare, "kimi.sh", at="opt", body=f"echo $0 >'{bare.root}/seen'; echo '{HELP}'")
    (bare.root / "bin/kimi").symlink_to(real)
    assert lanes(bare)["kimi-code"]["programs"] == {"kimi": f"{bare.root}/bin/kimi"}
    assert (bare.root / "seen").read_text() == f"{real.resolve()}\n"


def test_what_a_program_leaves_behind_is_ended(bare: Machine) -> None:
    bare.variables["PATH"] += ":/usr/bin:/bin"
    leave = f"sleep 86400 >/dev/null 2>&1 & echo $! >'{bare.root}/pid'"
    program(bare, "kimi", body=f"{leave}\necho '{HELP}'")
    bare.ok("lanes", "kimi-code")
    wait_until_it_is_gone(int((bare.root / "pid").read_text()))


# -- what is never started -----------------------------------------------------------------------------------


def inside(machine: Machine) -> str:
    program(machine, "kimi", at="project/tools")
    return "project/tools"


def link_into(machine: Machine) -> str:
    inside(machine)
    (folder(machine, "more") / "kimi").symlink_to(machine.project / "tools/kimi")
    return "more"


def link_out_of(machine: Machine) -> str:
    real = program(machine, "kimi", at="elsewhere")
    (folder(machine, "project/tools") / "kimi").symlink_to(real)
    return "project/tools"


def folder_that_leads_in(machine: Machine) -> str:
    link_out_of(machine)
    (machine.root / "lead").symlink_to(machine.project / "tools")
    return "lead"


def of_its_virtual_environment(machine: Machine) -> str:
    script = program(machine, "kimi", at="more")
    interpreter = program(machine, "python", at="project/.venv/bin")
    script.write_text(f"#!{interpreter}\n")
    return "more"


WAYS = [inside, link_into, link_out_of, folder_that_leads_in, of_its_virtual_environment]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("below", [False, True], ids=["at the top", "in a folder below"])
def test_nothing_of_the_checkout_is_started(bare: Machine, way: Any, below: bool) -> None:
    """46: lexically, by a link in either direction, by a folder of PATH; and no later hit is taken for it."""
    program(bare, "kimi", at="good")
    bare.variables["PATH"] = f"{bare.root}/{way(bare)}:{bare.root}/good:/usr/bin:/bin"
    (bare.project / ".git").mkdir()
    cwd = bare.project
    if below:
        cwd = bare.project / "a/b"
        cwd.mkdir(parents=True)
    ran = bare.run("lanes", "kimi-code", cwd=cwd)
    assert ran.status == 7 and "lies in the project" in ran.err
    assert "kimi" not in bare.ok("lanes", cwd=cwd).out
    assert started(bare) == []
    bare.ok("lanes", "kimi-code", cwd=bare.home)  # from elsewhere all of them are programs like any other
    assert started(bare) != []


def test_nothing_of_the_project_of_a_manifest_is_started(bare: Machine) -> None:
    """The manifest says which project it is, also from elsewhere."""
    bare.variables["PATH"] = f"{bare.root}/{inside(bare)}"
    bare.manifest("")
    manifest = str(bare.project / "gsdlock.toml")
    ran = bare.run("lanes", "kimi-code", "--manifest", manifest, cwd=bare.home)
    assert ran.status == 7 and "lies in the project" in ran.err and started(bare) == []


def test_a_worktree_is_of_the_checkout(bare: Machine) -> None:
    """47: the program lies in the checkout, and we are in a worktree of it elsewhere."""
    bare.variables["PATH"] = f"{bare.root}/{inside(bare)}"
    (bare.project / ".git/worktrees/w").mkdir(parents=True)
    worktree = folder(bare, "worktree")
    (worktree / ".git").write_text(f"gitdir: {bare.project}/.git/worktrees/w\n")
    assert bare.run("lanes", "kimi-code", cwd=worktree).status == 7 and started(bare) == []


def test_an_interpreter_of_hooks_is_judged_by_the_same_rule(bare: Machine, make_pack: PackMaker) -> None:
    """A manifest below the top of its repository: what lies elsewhere in the repository is the project's."""
    pack = make_pack()
    descriptor = pack / "capability.json"
    descriptor.write_text(descriptor.read_text().replace("greet.sh", "greet.js"))
    (pack / "hooks/greet.sh").rename(pack / "hooks/greet.js")
    program(bare, "node", at="project/tools")
    bare.variables["PATH"] = f"{bare.project}/tools"
    (bare.project / ".git").mkdir()
    below = folder(bare, "project/app")
    (below / "gsdlock.toml").write_text(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    ran = bare.run("apply", "--allow", "high", cwd=below)
    assert ran.status == 4 and "E-TOOL-REFUSED" in ran.err and "lies in the project" in ran.err


@pytest.mark.parametrize("place", ["bin/kimi", "bin"])
def test_what_others_can_write_is_not_started(bare: Machine, place: str) -> None:
    """48."""
    program(bare, "kimi")
    (bare.root / place).chmod(0o777)
    ran = bare.run("lanes", "kimi-code")
    assert ran.status == 7 and "others can write" in ran.err and started(bare) == []


@pytest.mark.parametrize("relative", ["", ".", "../project"])
def test_what_a_relative_folder_has_is_absent_and_no_later_one_is_taken(bare: Machine, relative: str) -> None:
    """50."""
    program(bare, "kimi")
    program(bare, "kimi", at="project")
    bare.variables["PATH"] = f"{relative}:{bare.root}/bin"
    kind, what = unmet(bare, "kimi-code")
    assert kind == "absent" and "relative folder" in what and started(bare) == []


def test_on_windows_no_program_is_judged_and_so_none_is_started() -> None:
    """Mode bits and process groups do not carry over: the check is not skipped, it is not met."""
    environment = Environment({"PATH": "/bin"}, None, "/", "win32", -1, Folders("/c", "/d", "/s", "/k"), str)
    answer = MachineProbes(environment, ()).program("sh")
    assert isinstance(answer, Unmet) and answer.kind is Lack.UNSUPPORTED and "Windows" in answer.what


# -- servers -------------------------------------------------------------------------------------------------


@contextmanager
def server(status: int) -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything with `status`; its base address, and the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Location", "http://192.0.2.1/")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{made.server_port}", asked
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def install(machine: Machine, address: str, probe: dict[str, Any] | None = None) -> None:
    """A third-party lane `second-look` with a server at `address`, consented to."""
    reachable = {
        "kind": "http-reachable",
        "hostConfigKey": "review.second_look_host",
        "path": "/v1/models",
        "timeoutMs": 5000,
    }
    data = {
        "id": "second-look",
        "role": "reviewer",
        "title": "Second look",
        "description": "Asks a made-up server for a review.",
        "tier": "full",
        "version": "1.0.0",
        "requires": [],
        "config": {
            "review.second_look_host": {"type": "string", "default": "", "description": "Where it listens."}
        },
        "reviewer": {
            "slug": "second_look",
            "flags": ["--second-look"],
            "transport": "openai-http",
            "probe": probe or reachable,
            "invoke": {
                "hostConfigKey": "review.second_look_host",
                "defaultHost": address,
                "path": "/v1/chat/completions",
                "modelDiscovery": "none",
                "effortChannel": "none",
            },
            "timeoutFloorMs": 600000,
            "emptyOutput": "stub-with-stderr",
            "reviewsSection": "Second look",
            "evidenceClass": "source-grounded",
            "requiresBinaries": [],
            "promptBudgetKey": None,
            "handler": None,
        },
    }
    bundle = folder(machine, "bundle")
    (bundle / "capability.json").write_text(json.dumps(data))
    digest = machine.ok("overlay", "show", str(bundle), "--json").data["overlay"]["digest"]
    machine.ok("overlay", "add", str(bundle), "--consent", digest)


@pytest.mark.parametrize(
    ("status", "there"), [(200, True), (302, True), (401, True), (404, True), (503, False)]
)
def test_a_server_that_answers_is_there(bare: Machine, status: int, there: bool) -> None:
    bare.variables |= {"http_proxy": "http://192.0.2.1:1", "HTTP_PROXY": "http://192.0.2.1:1"}
    with server(status) as (address, asked):
        install(bare, address)
        ran = bare.run("lanes", "second_look")
        assert asked == ["/v1/models"], "once, and no redirect is followed"
        assert ran.status == (0 if there else 7)
        assert address in ran.out + ran.err
        assert there or f"answers {status}" in ran.err
    ran = bare.run("lanes", "second_look")
    assert ran.status == 7 and "nothing answers at" in ran.err and "Start the server" in ran.err


def test_a_lane_of_somebody_else_says_where_it_comes_from(bare: Machine) -> None:
    with server(200) as (address, _):
        install(bare, address)
        row = lanes(bare)["second_look"]
        assert row["origin"] == "overlay:second-look" and row["address"] == address
        assert f"Second look (overlay:second-look): {address}" in bare.ok("lanes").out


@pytest.mark.parametrize(
    "address", ["http://192.0.2.1:8080", "http://example.invalid", "https://localhost:1"]
)
def test_no_other_machine_is_asked(bare: Machine, address: str) -> None:
    install(bare, address)
    kind, what = unmet(bare, "second_look")
    assert kind == "not-asked" and address in what
    ran = bare.run("lanes", "second_look")
    assert ran.status == 7 and "no other one is asked" in ran.err
    assert "second_look" not in bare.ok("lanes").out


def test_what_nobody_consented_to_is_not_asked(bare: Machine) -> None:
    """A clone declares a lane of its own: it is not known here."""
    with server(200) as (address, asked):
        install(bare, address)
        bare.ok("overlay", "remove", "second-look")
        (bare.root / "bundle").rename(bare.project / "bundle")
        bare.manifest('[overlays.second-look]\npath = "./bundle"\n')
        ran = bare.run("lanes", "second_look")
        assert ran.status == 3 and "E-LANE-UNKNOWN" in ran.err and asked == []
