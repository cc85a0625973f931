"""The note that nothing was changed: trusted only when it cannot be wrong, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.unchanged import is_unchanged, note_unchanged, watched

ASKED = {"lock": "sha256:1", "manifest": "sha256:2"}


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", value)


@pytest.fixture
def noted(world: Any) -> Any:
    world.apply(
        world.wanted({"a.md": "A", "x.sh": ("#!", 0o755)}, [hook("greet.sh")], instead=("settings.jsonc",))
    )
    assert note(world)
    return world


def note(world: Any) -> bool:
    paths, absent, places = watched(str(world.state), world.current())
    absent.append(str(world.root / "settings.jsonc"))
    return note_unchanged(RealFileSystem(), str(world.state), "key", ASKED, paths, absent, places)


def unchanged(world: Any, asked: dict[str, str] | None = None, key: str = "key") -> bool:
    return is_unchanged(str(world.state), key, asked or ASKED)


def test_a_note_made_right_after_an_apply_is_trusted(noted: Any) -> None:
    assert unchanged(noted)


def same_size_same_time(path: Path) -> None:
    status = path.stat()
    path.write_text("B")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced_by_an_equal_one(path: Path) -> None:
    data, status = path.read_bytes(), path.stat()
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def behind_a_link(path: Path) -> None:
    elsewhere = path.with_name(f"{path.name}-elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere.name)


@pytest.mark.parametrize(
    "do",
    [
        lambda w: (w.root / "a.md").write_text("mine"),
        lambda w: same_size_same_time(w.root / "a.md"),
        lambda w: replaced_by_an_equal_one(w.root / "a.md"),
        lambda w: (w.root / "a.md").chmod(0o600),
        lambda w: (w.root / "a.md").unlink(),
        lambda w: os.utime(w.root / "a.md"),
        lambda w: (w.root / "settings.json").write_text("{}"),
        lambda w: (w.root / "settings.jsonc").write_text("{}"),
        lambda w: w.apply(None),
        lambda w: w.apply(w.wanted({"a.md": "B"})),
        lambda w: (w.state / "transactions/0123").mkdir(),
        lambda w: w.root.rename(w.home / "elsewhere"),
        lambda w: behind_a_link(w.root / "settings.json"),
        lambda w: behind_a_link(w.root),
        lambda w: behind_a_link(w.home),
    ],
)
def test_whatever_is_written_is_noticed(noted: Any, do: Callable[[Any], Any]) -> None:
    do(noted)
    assert not unchanged(noted)


def test_another_question_has_another_answer(noted: Any) -> None:
    assert not unchanged(noted, {**ASKED, "lock": "sha256:3"})
    assert not unchanged(noted, {**ASKED, "environment": "sha256:4"})
    assert not unchanged(noted, {"lock": "sha256:1"})
    assert not unchanged(noted, key="other")


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b'{"version": 1}', b'{"version": 2}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_note_is_no_note(noted: Any, damage: bytes) -> None:
    (noted.state / "unchanged/key.json").write_bytes(damage)
    assert not unchanged(noted)


@pytest.mark.parametrize("digest", [[], ["0" * 64], [""]])
def test_files_that_were_young_are_trusted_by_their_bytes_only(noted: Any, digest: list[str]) -> None:
    path = noted.state / "unchanged/key.json"
    data = json.loads(path.read_text())
    data["at"] = max(row[4] for row in data["files"]) + 10_000_000
    data["files"] = [row[:6] + digest for row in data["files"]]
    path.write_text(json.dumps(data))
    assert not unchanged(noted)


def test_no_note_is_made_while_a_file_is_missing(noted: Any) -> None:
    (noted.root / "a.md").unlink()
    assert not note(noted)


def test_files_written_right_before_the_note_are_noted_too(noted: Any) -> None:
    (noted.root / "a.md").write_text("A")
    assert note(noted)
    assert unchanged(noted)


def test_many_files_written_right_before_the_note_are_waited_for(noted: Any) -> None:
    paths = [noted.root / f"{number}.md" for number in range(100)]
    for path in paths:
        path.write_text("A")
    watched = [str(path) for path in paths]
    assert note_unchanged(RealFileSystem(), str(noted.state), "key", ASKED, watched, [], [])
    assert unchanged(noted)
    paths[50].write_text("B")
    assert not unchanged(noted)


def test_the_module_loads_nothing_but_what_json_loads() -> None:
    code = (
        "import sys, json, os; before = set(sys.modules)\n"
        "import gsdlock.store.unchanged\n"
        "others = {m for m in set(sys.modules) - before if not m.startswith('gsdlock')}\n"
        "print(sorted(others - {'__future__'}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_fifo_in_the_place_of_the_note_holds_nobody_up(noted: Any) -> None:
    path = noted.state / "unchanged/key.json"
    path.unlink()
    os.mkfifo(path)
    assert not unchanged(noted)
