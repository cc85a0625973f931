"""Any history of applies, upgrades, edits by the user, rollbacks, leaving: the promises hold at each step."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.choices import PreflightError
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.restore import going_back
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

PATHS = ["a.md", "skills/x/SKILL.md", "skills/x/run.sh", "skills/y/SKILL.md", "deep/er/z.md"]
TARGETS = ["one", "two"]
COMMANDS = ["ours-a", "ours-b", "ours-c"]


class Unflushed(RealFileSystem):
    def flush_file(self, parent: int, name: str) -> None:
        pass

    def flush_dir(self, handle: int) -> None:
        pass

    def flush_all(self, handle: int) -> bool:
        return True


files = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["v1", "v2"]), max_size=4)
hooks = st.lists(st.sampled_from(COMMANDS), unique=True, max_size=2)
sayings = st.sampled_from([{}, {}, {"ours": ["*"]}, {"theirs": ["*"]}, {"adopt": ["*"]}])


def machine(kind: Any) -> type[RuleBasedStateMachine]:
    """The histories, played in worlds of `kind`."""

    class Histories(RuleBasedStateMachine):
        @initialize(text=st.sampled_from(["", '{"mine": 0}\n', '{\n  // mine\n  "mine": 0\n}\n']))
        def begin(self, text: str) -> None:
            self.folder = Path(tempfile.mkdtemp())
            for part in ("home", "data", "state"):
                (self.folder / part).mkdir(mode=0o700)
            self.world = kind(self.folder / "home", self.folder / "data", self.folder / "state", Unflushed())
            self.written = 0
            self.users: dict[Path, str] = {}  # what the user wrote and has not changed or removed since
            self.theirs: set[Path] = set()  # folders that held something of the user's
            if text:
                self.world.root.mkdir()
                (self.world.root / "settings.json").write_text(text)

        @rule(name=st.sampled_from(TARGETS), files=files, hooks=hooks, said=sayings)
        def apply(self, name: str, files: dict[str, str], hooks: list[str], said: dict[str, Any]) -> None:
            edits = [("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", {"c": c}) for c in hooks]
            plan = {p: (text, 0o755 if p.endswith(".sh") else 0o644) for p, text in files.items()}
            self.transact(self.world.wanted(plan, edits, target=name), **said)

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
            place = self.world.root / "settings.json"
            if place.exists():
                text = place.read_text().replace("// mine", "")
                data = json.loads(text or "{}")
                self.written += 1
                data["mine"] = self.written
                if whole:
                    data.pop("hooks", None)
                place.write_text(json.dumps(data, indent=3))

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
            place = self.world.root / "settings.json"
            if place.exists() and place.read_text():
                data = json.loads(place.read_text().replace("// mine", ""))
                assert data.get("mine", 0) >= 0
                commands = [entry["c"] for entry in data.get("hooks", {}).get("Stop", [])]
                assert len(commands) == len(set(commands))

        def teardown(self) -> None:
            if not hasattr(self, "world"):
                return
            for target in TARGETS:
                self.world.apply(self.world.change(None, target=target), ours=["*"])
            for path in PATHS:
                place = self.world.root / path
                assert not place.is_file() or place.read_text() not in ("v1", "v2")
            place = self.world.root / "settings.json"
            if place.exists():
                assert "ours-" not in place.read_text()
            # A folder that held something of the user's when we left it is theirs, also once it is empty.
            folders = {p for p in self.world.home.rglob("*") if p.is_dir()} - self.theirs
            assert [p for p in folders if p != self.world.root and not list(p.iterdir())] == []
            shutil.rmtree(self.folder)

    return Histories


def test_any_history(world: Any) -> None:
    # A history is a dozen real transactions, flushes and all: a tenth of what other properties get.
    few = settings(
        max_examples=max(settings().max_examples // 10, 10),
        stateful_step_count=12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine(type(world)), settings=few)
