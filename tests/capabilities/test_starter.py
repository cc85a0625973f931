"""The starter pack: every file is one that all hosts can read, and its hook never stands in anybody's way."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import gsdlock.capabilities
import pytest
import yaml
from gsdlock.capabilities.model import Feature
from gsdlock.capabilities.validation import load_capability, read_descriptor, validate

PACK = Path(gsdlock.capabilities.__file__).parent / "starter"
TEXTS = sorted(p.relative_to(PACK).as_posix() for p in PACK.rglob("*") if p.is_file())
MARKDOWN = [t for t in TEXTS if t.endswith(".md")]
HOOK = PACK / "hooks" / "gsdlock-drift.sh"
SHELLS = [path for name in ("sh", "bash", "dash") if (path := shutil.which(name))]


def front_matter(name: str) -> tuple[dict[str, object], str]:
    text = (PACK / name).read_text("utf-8")
    assert text.startswith("---\n")
    head, body = text.removeprefix("---\n").split("\n---\n", 1)
    data = yaml.safe_load(head)
    assert isinstance(data, dict)
    return data, body


class TestDescriptor:
    def test_it_is_valid_without_a_warning(self) -> None:
        data = read_descriptor((PACK / "capability.json").read_bytes(), "capability.json")
        verdict = validate(data, "starter")
        assert verdict.faults == ()
        assert verdict.warnings == ()

    def test_it_lists_what_is_there_and_nothing_else(self) -> None:
        feature = load_capability(json.loads((PACK / "capability.json").read_text("utf-8")), "starter")
        assert isinstance(feature, Feature)
        expected = {"capability.json"}
        expected |= {f"skills/{stem}/SKILL.md" for stem in feature.skills}
        expected |= {f"agents/{stem}.md" for stem in feature.agents}
        expected |= {hook.script for hook in feature.hooks}
        # Commands as content are found by their folder; the field `commands` is about GSD's own tool.
        expected |= {t for t in TEXTS if t.startswith("commands/")}
        assert set(TEXTS) == expected

    def test_it_is_for_every_host_and_every_profile(self) -> None:
        feature = load_capability(json.loads((PACK / "capability.json").read_text("utf-8")), "starter")
        assert isinstance(feature, Feature)
        assert feature.runtime_compat.admits("whatever")
        assert feature.tier == "core"


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_plain(name: str) -> None:
    data = (PACK / name).read_bytes()
    assert not data.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in data
    assert data.endswith(b"\n") and not data.endswith(b"\n\n")
    assert all(len(line) <= 140 for line in data.decode("utf-8").splitlines() if "description" not in line)


@pytest.mark.parametrize("name", MARKDOWN)
class TestFrontMatter:
    """What every host accepts: on line 1, quoted text of at most 1,024 characters, a plain name."""

    def test_description(self, name: str) -> None:
        data, body = front_matter(name)
        description = data["description"]
        assert isinstance(description, str) and 40 < len(description) <= 1024
        assert f'description: "{description}"\n' in (PACK / name).read_text("utf-8"), "must be quoted"
        assert body.strip()

    def test_name_is_that_of_its_place(self, name: str) -> None:
        data, _ = front_matter(name)
        path = Path(name)
        stem = path.parent.name if path.name == "SKILL.md" else path.stem
        assert re.fullmatch(r"[a-z0-9-]{1,64}", stem)
        assert data.get("name", stem) == stem

    def test_no_key_that_some_host_refuses(self, name: str) -> None:
        """`tools`, `color` and `model` mean other things on other hosts, or stop them from starting."""
        data, _ = front_matter(name)
        assert set(data) <= {"name", "description"}


class TestHook:
    def run(self, shell: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [shell, str(HOOK)],
            env={"PATH": str(folder), "HOME": str(folder)},
            input='{"hook_event_name": "SessionStart"}',
            capture_output=True,
            text=True,
            timeout=60,
            cwd=folder,
            check=False,
        )

    def fake(self, folder: Path, status: int, text: str) -> None:
        """A gsdlock that notes how it was called, and ends as it is told."""
        program = folder / "gsdlock"
        program.write_text(
            f"#!{SHELLS[0]}\n"
            f'echo "$*" > "{folder}/called"\n'
            f'read -r line && echo "stdin" >> "{folder}/called"\n'
            f"printf '%s' '{text}'\n"
            f"echo noise >&2\n"
            f"exit {status}\n"
        )
        program.chmod(0o755)

    @pytest.mark.parametrize("shell", SHELLS)
    def test_it_parses(self, shell: str) -> None:
        subprocess.run([shell, "-n", str(HOOK)], check=True, timeout=60)

    def test_it_is_executable_and_says_its_shell(self) -> None:
        assert HOOK.read_text("utf-8").startswith("#!/bin/sh\n")
        assert os.access(HOOK, os.X_OK)

    @pytest.mark.parametrize("shell", SHELLS)
    def test_without_gsdlock_it_says_nothing(self, shell: str, tmp_path: Path) -> None:
        done = self.run(shell, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    @pytest.mark.parametrize("shell", SHELLS)
    def test_drift_is_one_line(self, shell: str, tmp_path: Path) -> None:
        self.fake(tmp_path, 1, "claude: changed")
        done = self.run(shell, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("gsdlock: ") and done.stdout.count("\n") == 1
        assert (tmp_path / "called").read_text() == "status --exit-code\n"

    @pytest.mark.parametrize(
        ("status", "text"),
        [(0, "all as locked"), (1, ""), (3, "no manifest"), (4, "refused"), (70, "fault"), (127, "x")],
    )
    def test_anything_else_is_silent(self, status: int, text: str, tmp_path: Path) -> None:
        self.fake(tmp_path, status, text)
        done = self.run(SHELLS[0], tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
