"""What the tests of faults share: a scratch machine that is played in from the same start again and again,
the real command run in forked children of a warmed-up process, and what is promised of it afterwards.

A full run (GSDLOCK_FULL=1) tries every point of failure; else some are chosen by GSDLOCK_SEED, which is
printed at the end of the run and can be set to try the same ones again.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from gsdlock.capabilities.registry import load_builtin
from gsdlock.cli.main import run as command
from gsdlock.store.filesystem import FileSystem
from gsdlock.store.filesystem_posix import RealFileSystem

FULL = os.environ.get("GSDLOCK_FULL", "") == "1"
SEED = os.environ.get("GSDLOCK_SEED", "0")

PATH = os.environ["PATH"]
SETTINGS = b'{\n  "model": "opus", // mine\n  "hooks": {"Stop": []},\n}\n'
NOTES = b"my own notes\n"
ALLOW = ("--allow", "high")
LOCKED = ("apply", "--locked", *ALLOW)
FOLLOW = (*LOCKED, "--ours")


def chosen(points: Sequence[Any], most: int, name: str) -> list[Any]:
    """All points in a full run, else `most` of them by the seed; `name` keeps one table's choice apart."""
    if FULL or len(points) <= most:
        return list(points)
    picked = random.Random(f"{SEED}/{name}").sample(range(len(points)), most)
    return [points[n] for n in sorted(picked)]


class Unflushed(RealFileSystem):
    """A killed process loses nothing that the system was told, so for a kill nothing need be flushed."""

    def flush_file(self, parent: int, name: str) -> None:
        pass

    def flush_dir(self, handle: int) -> None:
        pass

    def flush_all(self, handle: int) -> bool:
        return True


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit status (or None where a signal ended it), and all that it printed."""

    status: int | None
    signal: int | None
    text: str

    @property
    def data(self) -> Any:
        """The JSON document on its output."""
        return json.loads(self.text)

    @property
    def killed(self) -> bool:
        return self.signal == signal.SIGKILL


def warm_up() -> None:
    """Load everything that a command loads when it needs it, so that a forked child need not."""
    for name in ("filelock", "packaging.version", "sqlite3", "tempfile", "tomllib", "tomli_w", "yaml"):
        import_module(name)
    for room in ("cli", "resolver", "store", "lockfiles", "capabilities"):
        for module in walk_packages(import_module(f"gsdlock.{room}").__path__, f"gsdlock.{room}."):
            import_module(module.name)
    load_builtin()
    gc.collect()
    gc.freeze()  # else the collector of each child would copy what it could share


def wait_for(child: int) -> int:
    """The wait status of a child."""
    return os.waitpid(child, 0)[1]


def forked(
    do: Callable[[], int],
    folder: Path,
    variables: Mapping[str, str],
    wait: Callable[[int], int] = wait_for,
) -> Ended:
    """Call `do` in a child with its own working directory and environment; its result is the exit status."""
    with tempfile.TemporaryFile(dir=folder.parent) as out:
        child = os.fork()
        if child == 0:  # pragma: no cover - the child ends here, one way or another
            _in_child(do, folder, variables, out.fileno())
        status = wait(child)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if os.WIFSIGNALED(status):
        return Ended(None, os.WTERMSIG(status), text)
    return Ended(os.WEXITSTATUS(status), None, text)


def _in_child(do: Callable[[], int], folder: Path, variables: Mapping[str, str], out: int) -> None:
    try:
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the child ends with them open
        sys.stdout = sys.stderr = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
        status = do()
        sys.stdout.flush()
        os._exit(status)
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
    finally:
        os._exit(99)


def use(fs: FileSystem) -> None:
    """From now on every command of this process works on `fs`. For children only."""
    import gsdlock.store.filesystem_posix as module

    vars(module)["RealFileSystem"] = lambda: fs


class Machine:
    """A home, a project and our own folders below `folder/now`, kept as they are after `prepare`."""

    def __init__(self, folder: Path, prepare: Callable[[Machine], None]) -> None:
        self.now, self.start, self.packs = folder / "now", folder / "start", folder / "packs"
        for part in ("home", "project"):
            (self.now / part).mkdir(parents=True, mode=0o700)
        prepare(self)
        self.keep()

    @property
    def home(self) -> Path:
        return self.now / "home"

    @property
    def project(self) -> Path:
        return self.now / "project"

    @property
    def state(self) -> Path:
        return self.now / "own/state"

    @property
    def data(self) -> Path:
        return self.now / "own/data"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "GSDLOCK_HOME": str(self.now / "own"),
        }

    def keep(self) -> None:
        """What stands now is the start from now on."""
        shutil.rmtree(self.start, ignore_errors=True)
        shutil.copytree(self.now, self.start, symlinks=True)

    def again(self) -> None:
        """Everything as at the start; only what differs is copied. Inodes may differ, so nothing may rely on
        them."""
        bring_back(str(self.start), str(self.now))

    def run(
        self,
        *words: str,
        fs: FileSystem | None = None,
        first: Callable[[], object] = lambda: None,
        last: Callable[[], object] = lambda: None,
        wait: Callable[[int], int] = wait_for,
    ) -> Ended:
        """One command in a child; on `fs` where given; `first` and `last` are called in the child around it,
        and what `last` gives is kept as text (`told`)."""

        def do() -> int:
            use(fs if fs is not None else Unflushed())
            sys.argv = ["gsdlock", *words]
            first()
            status = command(["--no-progress", *words])
            (self.now.parent / "told").write_text(str(last()))
            return status

        return forked(do, self.project, self.variables, wait)

    def here(self, *words: str, fs: FileSystem | None = None) -> Ended:
        """One command in this very process, for faults that do not end it: faster, and a handle that it
        leaves open shows."""
        import gsdlock.store.filesystem_posix as module

        before = dict(os.environ), os.getcwd(), sys.argv, module.RealFileSystem
        handles = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
        try:
            os.environ.clear()
            os.environ.update(self.variables)
            os.chdir(self.project)
            use(fs if fs is not None else Unflushed())
            sys.argv = ["gsdlock", *words]
            with redirect_stdout(StringIO()) as out, redirect_stderr(out):
                status = command(["--no-progress", *words])
        finally:
            os.environ.clear()
            os.environ.update(before[0])
            os.chdir(before[1])
            sys.argv = before[2]
            vars(module)["RealFileSystem"] = before[3]
        if handles:
            left = [readlink(number) for number in set(os.listdir("/proc/self/fd")) - handles]
            assert not any(left), f"handles were left open: {left}"
        return Ended(status, None, out.getvalue())

    def untouched(self) -> bool:
        """Whether everything but the ledger, the lock and content that nothing names stands as at the start,
        so that what was true of the start is still true."""
        return is_same(str(self.start), str(self.now), frozenset({"own"})) and is_same(
            str(self.start / "own"), str(self.now / "own"), IMMATERIAL
        )

    def look(self, *commands: tuple[str, ...]) -> list[Ended]:
        """Several commands in one child, each with what it printed."""

        def do() -> int:
            use(Unflushed())
            ended = []
            for words in commands:
                sys.argv = ["gsdlock", *words]
                with redirect_stdout(StringIO()) as out, redirect_stderr(out):
                    status = command(["--no-progress", *words])
                ended.append([status, out.getvalue()])
            print(json.dumps(ended))
            return 0

        ended = forked(do, self.project, self.variables)
        assert ended.status == 0, ended
        return [Ended(status, None, text) for status, text in ended.data]

    @property
    def told(self) -> str:
        """What `last` gave in the last child that came to its end."""
        return (self.now.parent / "told").read_text()

    def ok(self, *words: str) -> Ended:
        """One command that has to succeed."""
        ended = self.run(*words)
        assert ended.status == 0, f"{words}: {ended}"
        return ended

    def tree(self) -> dict[str, Any]:
        """Everything in the home and the project: kind, mode, content."""
        return {**tree(self.home), **{f"project/{k}": v for k, v in tree(self.project).items()}}

    def current(self) -> dict[str, str]:
        """The pointers of the targets, as they stand on the disk."""
        return {p.parent.name: p.read_text() for p in self.state.glob("targets/*/current")}

    def manifest(self, *targets: str) -> None:
        text = f'[packs.own]\npath = "{self.packs}/own"\n'
        text += "".join(f'[targets.{name}]\nscope = "global"\n' for name in targets)
        (self.project / "gsdlock.toml").write_text(text)

    def pack(self, version: str) -> None:
        """Version `1` or `2` of a pack: skills that stay, change, come and go, and a hook."""
        folder = self.packs / "own"
        shutil.rmtree(folder, ignore_errors=True)
        skills = ["stays", "changes", f"only{version}"]
        for name in skills:
            text = "the same" if name == "stays" else f"version {version}"
            put(
                folder / f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: A skill.\n---\n{text}\n"
            )
        put(folder / "skills/stays/more.txt", f"more of {version}\n")
        put(folder / "hooks/greet.sh", f"#!/bin/sh\necho {version}\n")
        put(folder / "capability.json", json.dumps(descriptor(version, skills)))


def descriptor(version: str, skills: Sequence[str]) -> dict[str, Any]:
    """The descriptor of the pack."""
    return {
        "id": "own",
        "role": "feature",
        "version": f"{version}.0.0",
        "title": "Own",
        "description": "A pack.",
        "tier": "standard",
        "requires": [],
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": list(skills),
        "agents": [],
        "hooks": [{"event": "Stop", "script": "hooks/greet.sh"}],
        "config": {},
        "steps": [],
        "contributions": [],
        "gates": [],
    }


def put(path: Path, text: str) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tree(base: Path) -> dict[str, Any]:
    """Everything below a folder: path -> (kind, mode, content)."""
    found: dict[str, Any] = {}
    for folder, folders, files in os.walk(base):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            mode = oct(status.st_mode)
            content: bytes | str = b""
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, base)] = (mode, content)
    return found


def bring_back(start: str, now: str) -> None:
    """Make the folder `now` what `start` is. A file is taken to be unchanged where its mode, size and time of
    change are: all of ours are replaced as a whole, and SQLite writes with another time."""
    there = {entry.name: entry for entry in os.scandir(now)}
    for entry in os.scandir(start):
        path, at_start = f"{now}/{entry.name}", entry.stat(follow_symlinks=False)
        found = there.pop(entry.name, None)
        folder = entry.is_dir(follow_symlinks=False)
        if found is not None:
            status = found.stat(follow_symlinks=False)
            same = status.st_mode == at_start.st_mode
            if folder and same:
                bring_back(entry.path, path)
                continue
            if same and (status.st_size, status.st_mtime_ns) == (at_start.st_size, at_start.st_mtime_ns):
                continue
            remove(found)
        if folder:
            shutil.copytree(entry.path, path, symlinks=True)
        else:
            shutil.copy2(entry.path, path, follow_symlinks=False)
    for left_over in there.values():
        remove(left_over)


IMMATERIAL = frozenset(
    {"lock", "lock.holder", "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite.lock"}
)


def is_same(start: str, now: str, but: frozenset[str]) -> bool:
    """Whether two folders hold the same by mode, size and time of change; blobs may have been added."""
    if not os.path.isdir(start) or not os.path.isdir(now):
        return os.path.isdir(start) == os.path.isdir(now)
    there = {entry.name: entry for entry in os.scandir(now) if entry.name not in but}
    for entry in os.scandir(start):
        if entry.name in but:
            continue
        found = there.pop(entry.name, None)
        if found is None:
            return False
        a, b = entry.stat(follow_symlinks=False), found.stat(follow_symlinks=False)
        if a.st_mode != b.st_mode:
            return False
        if entry.is_dir(follow_symlinks=False):
            if not is_same(entry.path, found.path, but):
                return False
        elif (a.st_size, a.st_mtime_ns) != (b.st_size, b.st_mtime_ns):
            return False
    empty = {"transactions", "tmp", "generations", "targets"}
    return "/blobs" in now or all(
        name in empty and not any(files for _, _, files in os.walk(entry.path))
        for name, entry in there.items()
    )


def readlink(number: str) -> str:
    """Where a handle of this process leads; empty for one that was only open while they were listed."""
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


def remove(entry: os.DirEntry[str]) -> None:
    """Remove a file or a folder."""
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path)
    else:
        os.unlink(entry.path)


# -- the six scenes --------------------------------------------------------------------------------------


def users_files(machine: Machine) -> None:
    """What the user has in the host's folder already."""
    folder = machine.home / ".claude"
    folder.mkdir(mode=0o755)
    (folder / "settings.json").write_bytes(SETTINGS)
    (folder / "NOTES.md").write_bytes(NOTES)


def resolved(machine: Machine, *targets: str) -> None:
    users_files(machine)
    machine.pack("1")
    machine.manifest(*(targets or ("claude",)))
    machine.ok("resolve")


def installed(machine: Machine, *targets: str) -> None:
    resolved(machine, *targets)
    machine.ok(*LOCKED)


def to_upgrade(machine: Machine, *targets: str) -> None:
    installed(machine, *targets)
    machine.pack("2")
    machine.ok("resolve", "--upgrade")


def upgraded(machine: Machine) -> None:
    to_upgrade(machine)
    machine.ok(*LOCKED)


def three(machine: Machine) -> None:
    to_upgrade(machine, "claude", "codex", "opencode")


def edited(machine: Machine) -> None:
    """Installed, then edited by the user: a file of ours, a file beside ours, and the shared file."""
    to_upgrade(machine)
    folder = machine.home / ".claude"
    ours = next(folder.rglob("changes/SKILL.md"), None) or next(folder.rglob("*changes*/SKILL.md"))
    ours.write_text("edited by the user\n")
    (ours.parent / "own.txt").write_bytes(NOTES)
    settings = folder / "settings.json"
    settings.write_bytes(settings.read_bytes().replace(b'"opus"', b'"sonnet"'))


SCENES: dict[str, tuple[Callable[[Machine], None], tuple[str, ...]]] = {
    "first install": (resolved, LOCKED),
    "upgrade": (to_upgrade, LOCKED),
    "rollback": (upgraded, ("rollback", *ALLOW)),
    "uninstall": (installed, ("uninstall", *ALLOW)),
    "three targets": (three, LOCKED),
    "with edits": (edited, (*LOCKED, "--ours")),
}


@dataclass
class Scene:
    """A scene: the machine, the command, and what stands before it, after it, and after a following apply."""

    name: str
    machine: Machine
    words: tuple[str, ...]
    old: tuple[Any, Any]
    new: tuple[Any, Any]
    followed: Any

    def promise(self, point: str, *, here: bool = False) -> bool:
        """Check what is promised after a fault at `point`, by commands in new processes (or `here`, where the
        process lived through it); true where all is new. Raises `AssertionError` with the point in it."""
        machine = self.machine
        commands = [("status",), ("verify", "--json"), ("log", "--json")]
        run = machine.here if here else machine.run
        status, checked, log = [run(*words) for words in commands] if here else machine.look(*commands)
        assert status.status == 0, f"{point}: status says {status.text}"
        found = machine.tree(), machine.current()
        assert found in (self.old, self.new), f"{point}: neither old nor new\n{differences(self, found)}"
        assert not list(machine.state.glob("transactions/*")), f"{point}: a transaction is left"
        assert checked.status in (0, 1) and checked.data["damaged"] == [], f"{point}: {checked.text}"
        assert log.status == 0 and all(e["intact"] for e in log.data["events"]), f"{point}: {log.text}"
        self.receipts_are_closed(log.data["events"], point)
        followed = run(*FOLLOW)
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
    """Prepare a scene and see both of its ends."""
    warm_up()
    prepare, words = SCENES[name]
    machine = Machine(folder, prepare)
    old = machine.tree(), machine.current()
    machine.ok(*FOLLOW)
    followed = machine.tree()
    machine.again()
    machine.ok(*words)
    new = machine.tree(), machine.current()
    machine.ok(*FOLLOW)
    assert machine.tree() == followed
    assert old != new
    return Scene(name, machine, words, old, new, followed)


Report = Callable[[str, str, int, int], None]
"""`report(table, row, points, failures)`: a line of the table at the end of the run."""
