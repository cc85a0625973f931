"""The six scenes that faults are put into, and what is promised after each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .children import warm_up
from .hosts import CLAUDE, HOSTS, SETTINGS
from .machine import Machine
from .points import chosen

__all__ = ["SETTINGS"]

NOTES = b"my own notes\n"
ALLOW = ("--allow", "high")
LOCKED = ("apply", "--locked", *ALLOW)
FOLLOW = (*LOCKED, "--ours")


def users_files(machine: Machine) -> None:
    """What the user has in the host's folder already."""
    folder = machine.home / machine.host.folder
    folder.mkdir(mode=0o755, parents=True)
    (folder / machine.host.settings).write_bytes(machine.host.theirs)
    (folder / "NOTES.md").write_bytes(NOTES)


def resolved(machine: Machine, *targets: str) -> None:
    """With a lock, and nothing installed yet."""
    users_files(machine)
    machine.pack("1")
    machine.manifest(*(targets or (machine.host.name,)))
    machine.ok("resolve")


def installed(machine: Machine, *targets: str) -> None:
    """Version 1 installed."""
    resolved(machine, *targets)
    machine.ok(*machine.host.words(LOCKED))


def to_upgrade(machine: Machine, *targets: str) -> None:
    """Version 1 installed, with a lock of version 2."""
    installed(machine, *targets)
    machine.pack("2")
    machine.ok("resolve", "--upgrade")


def upgraded(machine: Machine) -> None:
    """Version 2 installed, after version 1."""
    to_upgrade(machine)
    machine.ok(*machine.host.words(LOCKED))


def three(machine: Machine) -> None:
    """To be upgraded on three hosts."""
    to_upgrade(machine, machine.host.name, "codex", "opencode")


def edited(machine: Machine) -> None:
    """Installed, then edited by the user: a file of ours, a file beside ours, and the shared file."""
    to_upgrade(machine)
    folder = machine.home / machine.host.folder
    ours = next(folder.rglob("changes/SKILL.md"), None) or next(folder.rglob("*changes*/SKILL.md"))
    ours.write_text("edited by the user\n")
    (ours.parent / "own.txt").write_bytes(NOTES)
    settings = folder / machine.host.settings
    settings.write_bytes(settings.read_bytes().replace(b'"opus"', b'"sonnet"'))


SCENES: dict[str, tuple[Callable[[Machine], None], tuple[str, ...]]] = {
    "first install": (resolved, LOCKED),
    "upgrade": (to_upgrade, LOCKED),
    "rollback": (upgraded, ("rollback", *ALLOW)),
    "uninstall": (installed, ("uninstall", *ALLOW)),
    "three targets": (three, LOCKED),
    "with edits": (edited, (*LOCKED, "--ours")),
}
THIRD_PARTY = [name for name in HOSTS if name != CLAUDE.name]
ALL_SCENES = [
    *SCENES,
    *(f"{host}: {name}" for name in SCENES for host in chosen(THIRD_PARTY, 1, f"host/{name}")),
]
"""The six on the first-party host, and as they are on the third-party ones: on one of them by the seed, on
each in a full run (with fewer points: see `sweeps.points_of`)."""


@dataclass
class Scene:
    """A scene: the machine, the command, and what stands before it, after it, and after a following apply."""

    name: str
    machine: Machine
    words: tuple[str, ...]
    old: tuple[Any, Any]
    new: tuple[Any, Any]
    followed: Any
    follow: tuple[str, ...] = FOLLOW
    checked: dict[str, bool] = field(default_factory=dict)
    """What came of the promise, by the fingerprint of the disk that it was checked on."""

    def kept(self, point: str) -> bool:
        """As `promise`; but what was checked on one disk is not checked again on one that is alike."""
        alike = self.machine.fingerprint()
        if not alike:
            return self.promise(point)
        if alike not in self.checked:
            self.checked[alike] = self.promise(point)
        return self.checked[alike]

    def promise(self, point: str) -> bool:
        """Check what is promised after a fault at `point`, by commands in this process, which is another one
        than that which was killed; true where all is new. Raises `AssertionError` with the point in it."""
        machine = self.machine
        status = machine.here("status")
        assert status.status == 0, f"{point}: status says {status.text}"
        found = machine.tree(), machine.current()
        assert found in (self.old, self.new), f"{point}: neither old nor new\n{differences(self, found)}"
        assert not list(machine.state.glob("transactions/*")), f"{point}: a transaction is left"
        checked, log = machine.here("verify", "--json"), machine.here("log", "--json")
        assert checked.status in (0, 1) and checked.data["damaged"] == [], f"{point}: {checked.text}"
        assert log.status == 0 and all(e["intact"] for e in log.data["events"]), f"{point}: {log.text}"
        self.receipts_are_closed(log.data["events"], point)
        followed = machine.here(*self.follow)
        assert followed.status == 0, f"{point}: a following apply says {followed.text}"
        assert machine.tree() == self.followed, f"{point}: a following apply does not get there"
        return found == self.new

    def receipts_are_closed(self, events: Sequence[Mapping[str, Any]], point: str) -> None:
        """Every plan in the ledger has its outcomes."""
        plans = [e["transaction"] for e in events if e["kind"] == "plan"]
        closed = [e["transaction"] for e in events if e["kind"] == "outcomes"]
        assert sorted(plans) == sorted(closed), f"{point}: receipts are open: {set(plans) - set(closed)}"


def differences(scene: Scene, found: tuple[Any, Any]) -> str:
    """How what was found differs from old and from new, for a message."""
    lines = []
    for name, end in (("old", scene.old), ("new", scene.new)):
        paths = sorted(p for p in {*end[0], *found[0]} if end[0].get(p) != found[0].get(p))
        lines.append(f"from {name}: {paths} {end[1]} {found[1]}")
    return "\n".join(lines)


def play(name: str, folder: Path) -> Scene:
    """Prepare one of `ALL_SCENES` and see both of its ends."""
    warm_up()
    host_name, _, plain = name.rpartition(": ")
    host = HOSTS[host_name] if host_name else CLAUDE
    prepare, words = SCENES[plain]
    words, follow = host.words(words), host.words(FOLLOW)
    machine = Machine(folder, prepare, host)
    old = machine.tree(), machine.current()
    machine.ok(*follow)
    followed = machine.tree()
    machine.again()
    machine.ok(*words)
    new = machine.tree(), machine.current()
    machine.ok(*follow)
    assert machine.tree() == followed
    assert old != new
    return Scene(name, machine, words, old, new, followed, follow)
