"""Every hostile bundle is refused with its own code, or made harmless; and nothing is left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from gsdlock.cli.main import run

from .hostile import CASES, Case


def tree(folder: Path) -> dict[str, tuple[int, int, bytes | str]]:
    """Everything below a folder: mode, time of change and content, or a link's text."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(base, name)
            status = path.lstat()
            content: bytes | str = b""
            if path.is_symlink():
                content = os.readlink(path)
            elif path.is_file():
                content = path.read_bytes()
            found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, content)
    return found


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with things to lose, a project, and a folder outside; the environment points there."""
    home = tmp_path / "home"
    for folder in (".ssh", ".claude", ".gemini/antigravity"):
        (home / folder).mkdir(parents=True)
    (home / ".ssh/authorized_keys").write_text("mine\n")
    (home / ".bashrc").write_text("mine\n")
    (home / ".linked").symlink_to(".ssh")
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    for name in list(os.environ):
        if name.startswith(("XDG_", "GSDLOCK_", "CLAUDE")) or name.endswith(("_CONFIG_DIR", "_HOME")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OUTSIDE", str(tmp_path / "outside"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=[f"{n} {c.name}" for n, c in enumerate(CASES)])
def test_a_hostile_bundle(case: Case, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "bundle").mkdir()
    source = case.make(world / "bundle")
    before = tree(world)
    status = run(["overlay", "add", str(source), "--json"])
    out, err = capsys.readouterr()
    # What is made harmless is shown, and then nobody is there to consent.
    assert json.loads(out)["error"]["code"] == (case.code or "E-OVERLAY-UNATTENDED"), out[:2000]
    assert status == json.loads(out)["status"] and status in (3, 4)
    assert len(out) + len(err) < 64_000
    if not case.heavy:
        assert run(["overlay", "show", str(source)]) == (status if case.code else 0)
        for text in capsys.readouterr():
            assert all(c in "\n\t" or c.isprintable() for c in text), "a terminal would act on this"
            assert len(text) < 64_000
    after = tree(world)
    mine = {path: what for path, what in after.items() if not path.startswith("home/.cache")}
    assert mine.keys() - before.keys() <= {"home/.cache"}, "something was created"
    assert {p: w for p, w in mine.items() if p in before and p != "home"} == {
        p: w for p, w in before.items() if p != "home"
    }


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
    assert len({c.code for c in CASES}) >= 20
