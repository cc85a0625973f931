"""A small store on a disk, real or in memory: transactions without a command around them, and six scenes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gsdlock.capabilities.canonical import canonical_json
from gsdlock.lockfiles.model import Edit, EditFormat, EditOp, Placement, Target
from gsdlock.store.blobs import Blobs
from gsdlock.store.choices import Choices
from gsdlock.store.filesystem import FileSystem
from gsdlock.store.gate import Settled
from gsdlock.store.generations import slug_of
from gsdlock.store.items import Decision, Item
from gsdlock.store.restore import going_back
from gsdlock.store.store import Store
from gsdlock.store.survey import TargetChange
from gsdlock.store.transaction import run
from gsdlock.store.wanted import wanted_from_lock

from .disk import Careless
from .scenes import NOTES, SETTINGS

HOME = "/home/u"


@dataclass(frozen=True)
class Place:
    """A store on a disk. The lock of the state folder is a real file, so `state` is a real folder too."""

    disk: Any
    state: str
    home: str = HOME
    data: str = "/own/data"
    forgets: Callable[[str, str], bool] | None = None
    """Which flushes are left out, by the state folder and the path (see `test_flushes`)."""

    @property
    def store(self) -> Store:
        fs: FileSystem = self.disk if self.forgets is None else Careless(self.disk, self.omitted)
        blobs = Blobs(fs, self.data)
        return Store(
            fs, blobs, self.state, self.home, os.geteuid(), lambda: "2026-01-01T00:00:00.000Z", "apply"
        )

    def omitted(self, path: str) -> bool:
        """Whether the flush of what is at a path is left out."""
        return self.forgets is not None and self.forgets(self.state, path)

    def version(self, number: int, target: str = "host") -> TargetChange:
        """A version of a plan: files that stay, change, come and go, and an entry in a shared file."""
        blobs = self.store.blobs
        names = {"stays.md": "stays", "changes.md": f"{target} {number}", f"only{number}/x.md": "x"}
        placements = []
        for path, text in names.items():
            data = text.encode()
            placements.append(
                Placement("config", f"{target}/{path}", blobs.put(data), 0o644, len(data), False)
            )
        value = {"hooks": [{"type": "command", "command": f"{target}{number}.sh"}]}
        digest = blobs.put(canonical_json(value))
        edit = Edit(
            "config",
            "settings.json",
            EditFormat.JSONC,
            EditOp.APPEND_UNIQUE,
            "/hooks/Stop",
            digest,
            False,
            True,
            (),
        )
        blobs.flush()  # as resolve does at its end
        plan = Target(target, "host", "global", "full", (), tuple(placements), (edit,), "")
        wanted = wanted_from_lock(
            plan,
            blobs,
            roots={"config": f"{self.home}/.host"},
            tools={},
            home=self.home,
            installation="default",
            manifest=f"{self.home}/gsdlock.toml",
        )
        return TargetChange(slug_of("default", target), wanted)

    def apply(self, *changes: TargetChange, ours: bool = False) -> None:
        choices = Choices(ours=frozenset({"*"})) if ours else Choices()
        run(self.store, changes, choices, allow_all)

    def found(self) -> tuple[Any, dict[str, int]]:
        """What stands, and the numbers of the generations; nothing of a transaction is left."""
        store = self.store
        assert not [n for n in self.disk.tree(self.state) if n.startswith("transactions/")]
        numbers = {slug: g.number for slug, g in store.generations.currents().items()}
        return self.disk.tree(HOME), numbers


def allow_all(items: Sequence[Item]) -> Settled:
    decisions = tuple(Decision(True, "flag:--allow critical") for _ in items)
    return Settled(tuple(items), decisions, frozenset(), frozenset(), ())


def users_files(place: Place) -> None:
    place.disk.put(f"{HOME}/.host/settings.json", SETTINGS)
    place.disk.put(f"{HOME}/.host/NOTES.md", NOTES)


def installed(place: Place) -> None:
    users_files(place)
    place.apply(place.version(1))


def edited(place: Place) -> None:
    installed(place)
    place.disk.put(f"{HOME}/.host/host/changes.md", b"edited by the user")
    settings = place.disk.tree(HOME)[".host/settings.json"][1]
    place.disk.put(f"{HOME}/.host/settings.json", settings.replace(b"opus", b"sonnet"))


def upgraded(place: Place) -> None:
    installed(place)
    place.apply(place.version(2))


def three_installed(place: Place) -> None:
    users_files(place)
    place.apply(*(place.version(1, name) for name in ("one", "two", "three")))


SCENES: dict[str, tuple[Callable[[Place], None], Callable[[Place], None]]] = {
    "first install": (users_files, lambda p: p.apply(p.version(1))),
    "upgrade": (installed, lambda p: p.apply(p.version(2))),
    "rollback": (upgraded, lambda p: p.apply(going_back(p.store, "host@default", 1))),
    "uninstall": (installed, lambda p: p.apply(TargetChange("host@default", None))),
    "three targets": (
        three_installed,
        lambda p: p.apply(*(p.version(2, name) for name in ("one", "two", "three"))),
    ),
    "with edits": (edited, lambda p: p.apply(p.version(2), ours=True)),
}
