"""Any history of applies, upgrades, edits by the user, rollbacks, leaving: the promises hold at each step."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.choices import PreflightError
from gsdlock.store.restore import going_back
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ..faults.children import Unflushed

PATHS = ["a.md", "skills/x/SKILL.md", "skills/x/run.sh", "skills/y/SKILL.md", "deep/er/z.md"]
TARGETS = ["one", "two"]
SHM = "/dev/shm"
COMMANDS = ["ours-a", "ours-b", "ours-c"]


@dataclass(frozen=True)
class Shared:
    """A file that the user and two of our targets write in: how each of them does it, and how it is read.

    `entry(target, command)` is an edit without its file; `rewritten(text, n, whole)` is the text with the
    user's value n (and, where `whole`, without what is ours); `read(text)` is that value and our commands.
    """

    file: str
    format: EditFormat
    begins: tuple[str, ...]
    entry: Callable[[str, str], tuple[EditOp, str, Any]]
    rewritten: Callable[[str, int, bool], str]
    read: Callable[[str], tuple[int, list[str]]]


def json_rewritten(text: str, number: int, whole: bool) -> str:
    data = json.loads(text.replace("// mine", "") or "{}")
    data["mine"] = number
    if whole:
        data.pop("hooks", None)
    return json.dumps(data, indent=3)


def json_read(text: str) -> tuple[int, list[str]]:
    data = json.loads(text.replace("// mine", "") or "{}")
    return data.get("mine", 0), [entry["c"] for entry in data.get("hooks", {}).get("Stop", [])]


def lines_rewritten(comment: str, mine: str) -> Callable[[str, int, bool], str]:
    """The user writes their value on the first line, or begins anew with it."""

    def rewritten(text: str, number: int, whole: bool) -> str:
        kept = [line for line in text.splitlines(keepends=True) if not line.startswith(mine.split("%")[0])]
        return f"{comment}{mine % number}\n" + ("" if whole else "".join(kept).removeprefix(comment))

    return rewritten


def toml_read(text: str) -> tuple[int, list[str]]:
    data = tomllib.loads(text)
    return data.get("mine", 0), [entry["c"] for entry in data.get("hooks", [])]


def yaml_read(text: str) -> tuple[int, list[str]]:
    data = yaml.safe_load(text) or {}
    return data.get("mine", 0), [entry["c"] for entry in (data.get("hooks") or {}).get("Stop", [])]


def markdown_read(text: str) -> tuple[int, list[str]]:
    lines = text.splitlines()
    mine = [int(line.removeprefix("mine ")) for line in lines if line.startswith("mine ")]
    for name in TARGETS:
        begins, ends = (lines.count(f"<!-- {word} gsdlock:{name} -->") for word in ("BEGIN", "END"))
        assert begins == ends <= 1
    return max(mine, default=0), []


def appended(at: str) -> Callable[[str, str], tuple[EditOp, str, Any]]:
    return lambda target, command: (EditOp.APPEND_UNIQUE, at, {"c": command})


SHARED = [
    Shared(
        "settings.json",
        EditFormat.JSONC,
        ("", '{"mine": 0}\n', '{\n  // mine\n  "mine": 0\n}\n'),
        appended("/hooks/Stop"),
        json_rewritten,
        json_read,
    ),
    Shared(
        "config.toml",
        EditFormat.TOML,
        ("", "mine = 0\n", '# mine\nmine = 0\n\n[other]\nx = "y" # z\n'),
        appended("/hooks"),
        lines_rewritten("# mine\n", "mine = %d"),
        toml_read,
    ),
    Shared(
        "config.yaml",
        EditFormat.YAML,
        ("", "mine: 0\n", "# mine\nmine: 0\nother:\n  - x   # z\n"),
        appended("/hooks/Stop"),
        lines_rewritten("# mine\n", "mine: %d"),
        yaml_read,
    ),
    Shared(
        "AGENTS.md",
        EditFormat.MARKDOWN,
        ("", "mine 0\n", "# Mine\n\nmine 0\n\n```sh\n<!-- BEGIN gsdlock:three -->\n```"),
        lambda target, command: (EditOp.BLOCK, f"gsdlock:{target}", f"Say {command}.\n"),
        lines_rewritten("# Mine\n", "mine %d"),
        markdown_read,
    ),
]

files = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["v1", "v2"]), max_size=4)
hooks = st.lists(st.sampled_from(COMMANDS), unique=True, max_size=2)
sayings = st.sampled_from([{}, {}, {"ours": ["*"]}, {"theirs": ["*"]}, {"adopt": ["*"]}])


def machine(kind: Any, shared: Shared, base: Path) -> type[RuleBasedStateMachine]:
    """The histories, played in worlds of `kind` below `base` with one kind of shared file."""

    class Histories(RuleBasedStateMachine):
        @initialize(text=st.sampled_from(shared.begins))
        def begin(self, text: str) -> None:
            self.folder = Path(tempfile.mkdtemp(dir=base))
            for part in ("home", "data", "state"):
                (self.folder / part).mkdir(mode=0o700)
            self.world = kind(self.folder / "home", self.folder / "data", self.folder / "state", Unflushed())
            self.written = 0
            self.mine = 0  # the user's value in the shared file
            self.users: dict[Path, str] = {}  # what the user wrote and has not changed or removed since
            self.theirs: set[Path] = set()  # folders that held something of the user's
            if text:
                self.world.root.mkdir()
                (self.world.root / shared.file).write_text(text)

        @rule(name=st.sampled_from(TARGETS), files=files, hooks=hooks, said=sayings)
        def apply(self, name: str, files: dict[str, str], hooks: list[str], said: dict[str, Any]) -> None:
            edits = [(shared.file, *shared.entry(name, command)) for command in hooks]
            if shared.format is EditFormat.MARKDOWN:
                edits = edits[:1]  # a target has one block
            plan = {p: (text, 0o755 if p.endswith(".sh") else 0o644) for p, text in files.items()}
            self.transact(self.world.wanted(plan, edits, target=name, format=shared.format), **said)

        @rule(name=st.sampled_from(TARGETS), said=sayings)
        def leave(self, name: str, said: dict[str, Any]) -> None:
            self.transact(self.world.change(None, target=name), **said)

        @rule(name=st.sampled_from(TARGETS), steps=st.integers(1, 3))
        def go_back(self, name: str, steps: int) -> None:
            slug = f"{name}@default"
            number = self.world.store.generations.current_number(slug)
            if number:
                self.transact(going_back(self.world.store, slug, max(number - steps, 0)))

        @rule(path=st.sampled_from(PATHS))
        def user_writes(self, path: str) -> None:
            place = self.world.root / path
            if place.parent.exists() and not place.is_dir():
                self.written += 1
                place.write_text(f"the user's {self.written}")
                self.users[place] = place.read_text()
                self.theirs |= set(place.parents)

        @rule(path=st.sampled_from(PATHS))
        def user_deletes(self, path: str) -> None:
            place = self.world.root / path
            if place.exists():
                place.unlink()
                self.users.pop(place, None)

        @rule(whole=st.booleans())
        def user_edits_settings(self, whole: bool) -> None:
            place = self.world.root / shared.file
            if place.exists():
                self.written += 1
                place.write_text(shared.rewritten(place.read_text(), self.written, whole))
                self.mine = self.written

        def transact(self, *changes: Any, **said: Any) -> None:
            """One transaction: all or nothing, and whatever of the user's goes is in the store."""
            before = self.world.tree()
            try:
                self.world.apply(*changes, **said)
            except PreflightError:
                assert self.world.tree() == before
                return
            for place, text in list(self.users.items()):
                if not place.is_file() or place.read_text() != text:
                    assert said.get("ours") or said.get("adopt") or not said, "only where they said so"
                    assert self.world.store.blobs.sound(sha256_digest(text.encode()))
                    del self.users[place]

        @invariant()
        def nothing_is_left_over(self) -> None:
            assert not [p for p in self.world.home.rglob("*") if ".gsdlock-" in p.name]
            assert not (self.world.state / "transactions").exists() or not list(
                (self.world.state / "transactions").iterdir()
            )

        @invariant()
        def the_settings_parse_and_the_users_value_is_there(self) -> None:
            place = self.world.root / shared.file
            if place.exists():
                mine, commands = shared.read(place.read_text())
                assert mine == self.mine
                assert len(commands) == len(set(commands))

        def teardown(self) -> None:
            if not hasattr(self, "world"):
                return
            for target in TARGETS:
                self.world.apply(self.world.change(None, target=target), ours=["*"])
            for path in PATHS:
                place = self.world.root / path
                assert not place.is_file() or place.read_text() not in ("v1", "v2")
            place = self.world.root / shared.file
            if place.exists():
                assert "ours-" not in place.read_text()
            # A folder that held something of the user's when we left it is theirs, also once it is empty.
            folders = {p for p in self.world.home.rglob("*") if p.is_dir()} - self.theirs
            assert [p for p in folders if p != self.world.root and not list(p.iterdir())] == []
            shutil.rmtree(self.folder)

    return Histories


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has one: a history is a hundred small files and folders."""
    with tempfile.TemporaryDirectory(dir=SHM if os.access(SHM, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize("shared", SHARED, ids=lambda s: s.format.value)
def test_any_history(world: Any, shared: Shared, memory: Path) -> None:
    many = settings(
        settings.get_profile("edits"), stateful_step_count=8, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine(type(world), shared, memory), settings=many)


# Histories that once broke a promise, as calls of the rules; each is played with every kind of shared file.
FOUND = {
    "what the user wrote between two generations outlives going back over both": [
        ("begin", 1),
        ("apply", {"name": "one", "files": {}, "hooks": ["ours-a"], "said": {}}),
        ("user_edits_settings", {"whole": True}),
        ("apply", {"name": "one", "files": {}, "hooks": ["ours-a"], "said": {"ours": ["*"]}}),
        ("go_back", {"name": "one", "steps": 2}),
    ],
    "also where we had left in between": [
        ("begin", 1),
        ("apply", {"name": "one", "files": {}, "hooks": ["ours-a"], "said": {}}),
        ("leave", {"name": "one", "said": {}}),
        ("user_edits_settings", {"whole": False}),
        ("apply", {"name": "one", "files": {}, "hooks": ["ours-b"], "said": {}}),
        ("go_back", {"name": "one", "steps": 3}),
    ],
    "a file that came back by going back goes by going back": [
        ("begin", 0),
        ("apply", {"name": "one", "files": {}, "hooks": ["ours-a"], "said": {}}),
        ("go_back", {"name": "one", "steps": 1}),
        ("go_back", {"name": "one", "steps": 1}),
        ("go_back", {"name": "one", "steps": 1}),
    ],
    "also where the generation after it changed nothing in the file": [
        ("begin", 1),
        ("apply", {"name": "one", "files": {}, "hooks": ["ours-a"], "said": {}}),
        ("user_edits_settings", {"whole": False}),
        ("apply", {"name": "one", "files": {"a.md": "v1"}, "hooks": ["ours-a"], "said": {}}),
        ("apply", {"name": "one", "files": {"a.md": "v1"}, "hooks": ["ours-b"], "said": {}}),
        ("go_back", {"name": "one", "steps": 3}),
    ],
}


@pytest.mark.parametrize("shared", SHARED, ids=lambda s: s.format.value)
@pytest.mark.parametrize("name", FOUND)
def test_a_history_that_once_broke_a_promise(world: Any, shared: Shared, name: str, tmp_path: Path) -> None:
    played = machine(type(world), shared, tmp_path)()
    (_, number), *steps = FOUND[name]
    played.begin(text=shared.begins[number])
    for step, arguments in steps:
        getattr(played, step)(**arguments)
        played.nothing_is_left_over()
        played.the_settings_parse_and_the_users_value_is_there()
    played.teardown()
