"""The command line of a hook: it names a script that a shell finds, and no path of this machine in a lock."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.model import HookPath
from gsdlock.capabilities.vocabulary import LocalHookPath
from gsdlock.lockfiles.placeholders import Fillings, fill_text
from gsdlock.resolver.surfaces.command_lines import command_line

Make = Callable[..., Any]

NODE, BASH = "{{gsdlock:sh:tool.node}}", "{{gsdlock:sh:tool.bash}}"
VARIABLE = HookPath(LocalHookPath.VARIABLE, "THE_PROJECT")
RELATIVE = HookPath(LocalHookPath.RELATIVE)
GIT_ROOT = HookPath(LocalHookPath.GIT_ROOT)
ABSOLUTE = HookPath(LocalHookPath.ABSOLUTE)

LINES = [
    # style, scope, portable, script, command line
    (VARIABLE, "global", False, "hooks/x.js", f"{NODE} {{{{gsdlock:sh:config/hooks/x.js}}}}"),
    (VARIABLE, "global", False, "hooks/x.cjs", f"{NODE} {{{{gsdlock:sh:config/hooks/x.cjs}}}}"),
    (VARIABLE, "global", False, "hooks/x.sh", f"{BASH} {{{{gsdlock:sh:config/hooks/x.sh}}}}"),
    (
        VARIABLE,
        "global",
        False,
        "hooks/x.py",
        "{{gsdlock:sh:tool.python3}} {{gsdlock:sh:config/hooks/x.py}}",
    ),
    (VARIABLE, "global", False, "hooks/x", "{{gsdlock:sh:config/hooks/x}}"),
    (VARIABLE, "global", True, "hooks/x.js", "node {{gsdlock:sh-home:config/hooks/x.js}}"),
    (VARIABLE, "local", False, "hooks/x.js", 'node "$THE_PROJECT"/.claude/hooks/x.js'),
    (VARIABLE, "local", True, "hooks/x.sh", 'bash "$THE_PROJECT"/.claude/hooks/x.sh'),
    (RELATIVE, "local", False, "hooks/x.js", "node .claude/hooks/x.js"),
    (RELATIVE, "local", False, "hooks/x", ".claude/hooks/x"),
    (
        GIT_ROOT,
        "local",
        False,
        "hooks/x.js",
        'node "$(git rev-parse --show-toplevel 2>/dev/null || pwd)"/.claude/hooks/x.js',
    ),
    (ABSOLUTE, "local", False, "hooks/x.js", "node {{gsdlock:sh:config/hooks/x.js}}"),
]


@pytest.mark.parametrize(("style", "scope", "portable", "script", "line"), LINES)
def test_the_line_of_a_script(
    style: HookPath, scope: str, portable: bool, script: str, line: str, host: Make
) -> None:
    runtime = host("claude", local_hook_path=style)
    assert command_line(runtime, scope, "config", script, portable=portable) == line


def test_a_host_that_installs_into_the_project_itself_has_no_folder_in_between(host: Make) -> None:
    runtime = host("cline", local_hook_path=RELATIVE)
    assert command_line(runtime, "local", "config", "hooks/x.js", portable=False) == "node hooks/x.js"


def test_a_folder_with_odd_letters_is_still_one_word(host: Make) -> None:
    runtime = host("claude", local_hook_path=VARIABLE, local_config_dir=".a b;c")
    line = command_line(runtime, "local", "config", "hooks/x.js", portable=False)
    assert line == "node \"$THE_PROJECT\"/'.a b;c/hooks/x.js'"


@pytest.mark.parametrize("path", ["hooks/a b.js", "hooks/$(id).js", "hooks//x.js", "hooks/ä.js", ""])
def test_a_script_that_no_placeholder_can_name_is_refused(path: str, host: Make) -> None:
    with pytest.raises(GsdlockError) as caught:
        command_line(host("claude"), "global", "config", path, portable=False)
    assert caught.value.code == "E-PLAN-SCRIPT-NAME"
    assert caught.value.status == 3


HOMES = ["/home/ada", "/the home of $USER", '/a "quoted" `home`']


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("portable", [False, True])
def test_a_real_shell_runs_the_script_wherever_the_home_is(
    home: str, portable: bool, host: Make, tmp_path: Path
) -> None:
    at = f"{tmp_path}{home}"
    script = Path(f"{at}/.claude/hooks/say")
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\necho hello\n")
    script.chmod(0o755)
    line = command_line(host("claude"), "global", "config", "hooks/say", portable=portable)
    filled = fill_text(line, Fillings({"config": f"{at}/.claude"}, at))
    done = subprocess.run(["sh", "-c", filled], env={"HOME": at}, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"hello\n"


def test_a_real_shell_finds_a_project_script_from_below(host: Make, tmp_path: Path) -> None:
    project = tmp_path / "my project"
    (project / ".codex/hooks").mkdir(parents=True)
    (project / "src").mkdir()
    (project / ".codex/hooks/say.sh").write_text("echo hello\n")
    subprocess.run(["git", "init", "-q", project], check=True)
    line = command_line(host("codex"), "local", "config", "hooks/say.sh", portable=False)
    done = subprocess.run(["sh", "-c", line], cwd=project / "src", stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"hello\n"
