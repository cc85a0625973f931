"""Confinement as a table: what may be tried on a user's folders, and the code that it is refused with.

Each row is one attempt against the real command. Where it is refused, nothing in the home or the project has
changed; where it is not, everything that was written lies in the root. Either way what lies outside keeps
every byte. (Relative paths as data are in `tests/store/test_confinement.py`, what
a descriptor can carry in `tests/overlays`, a link that is planted during an apply in `test_races.py`.)
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from gsdlock.cli.main import run as command

from .children import Unflushed, as_if_alone
from .folders import tree
from .hosts import HOSTS
from .machine import Machine, descriptor
from .scenes import LOCKED, NOTES, installed, resolved, users_files

RESOLVE = ("resolve", "--upgrade")


@dataclass(frozen=True)
class Row:
    """An attempt. `code` is empty where it comes to nothing: the command succeeds, and nothing gets out.

    `before` prepares the machine, `attempt` does what a stranger or another program might have done, and may
    give environment variables (None: unset). `lands`: what is installed then, below the root.
    """

    what: str
    code: str
    before: Callable[[Machine], None]
    attempt: Callable[[Machine], dict[str, str | None] | None]
    words: tuple[str, ...] = LOCKED
    lands: tuple[str, ...] = ()


def host(machine: Machine) -> Path:
    return machine.home / machine.host.folder


def skills(machine: Machine) -> Path:
    return host(machine) / machine.host.skills


def settings(machine: Machine) -> Path:
    return host(machine) / machine.host.settings


def ours(machine: Machine) -> Path:
    """A file of ours that every version has."""
    return skills(machine) / "changes/SKILL.md"


def outside(machine: Machine) -> Path:
    """A folder of the user's that is no root, with a file in it."""
    folder = machine.now / "outside"
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(NOTES)
    (folder / "settings").write_bytes(machine.host.bare)
    return folder


# -- links and hard links --------------------------------------------------------------------------------


def folder_for_a_link(machine: Machine) -> None:
    target = outside(machine)
    (skills(machine) / "changes").rename(machine.now / "aside")
    (skills(machine) / "changes").symlink_to(target)


def folder_above_for_a_link(machine: Machine) -> None:
    target = outside(machine)
    skills(machine).rename(machine.now / "aside")
    skills(machine).symlink_to(target)


def file_for_a_link(machine: Machine) -> None:
    ours(machine).unlink()
    ours(machine).symlink_to(outside(machine) / "SKILL.md")


def new_file_through_a_link(machine: Machine) -> None:
    skills(machine).parent.mkdir(exist_ok=True)
    skills(machine).symlink_to(outside(machine))


def shared_file_to_nowhere(machine: Machine) -> None:
    settings(machine).unlink()
    settings(machine).symlink_to(machine.now / "nowhere")


def root_to_nowhere(machine: Machine) -> None:
    host(machine).rename(machine.now / "aside")
    host(machine).symlink_to(machine.now / "nowhere")


def root_loop(machine: Machine) -> None:
    host(machine).rename(machine.now / "aside")
    host(machine).symlink_to(host(machine).name)


def file_with_another_name_outside(machine: Machine) -> None:
    """A hard link is nothing to refuse: the name in the root is replaced, the other keeps its bytes."""
    ours(machine).unlink()
    ours(machine).hardlink_to(outside(machine) / "SKILL.md")


def shared_file_with_another_name_outside(machine: Machine) -> None:
    settings(machine).unlink()
    settings(machine).hardlink_to(outside(machine) / "settings")


def file_in_place_of_a_folder(machine: Machine) -> None:
    skills(machine).parent.mkdir(exist_ok=True)
    skills(machine).write_bytes(NOTES)


def folder_in_place_of_a_file(machine: Machine) -> None:
    ours(machine).unlink()
    ours(machine).mkdir()


def pipe_in_place_of_a_file(machine: Machine) -> None:
    ours(machine).unlink()
    os.mkfifo(ours(machine))


# -- roots -----------------------------------------------------------------------------------------------


def writable_by_others(machine: Machine) -> None:
    host(machine).chmod(0o777)


def of_somebody_else(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(host(machine), 12345, -1)


def shared_file_of_somebody_else(machine: Machine) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    settings(machine).rename(machine.now / "aside")
    settings(machine).symlink_to(machine.now / "aside")
    os.chown(machine.now / "aside", 12345, -1)


def elsewhere(machine: Machine) -> Path:
    """Another folder that may be the root: for a third-party host below the home."""
    folder = outside(machine)
    return folder.rename(machine.home / "outside") if machine.host.bundle else folder


def relative_root(machine: Machine) -> dict[str, str | None]:
    return {machine.host.variable: "x"}


def root_elsewhere_since(machine: Machine) -> dict[str, str | None]:
    return {machine.host.variable: str(elsewhere(machine))}


def planned(machine: Machine) -> None:
    resolved(machine)
    machine.ok("apply", "--plan-out", str(machine.project / "plan.json"))


PLANNED = ("apply", "--plan", "plan.json", "--allow", "high")


def root_for_a_link_since(machine: Machine) -> None:
    aside = elsewhere(machine) / "aside"
    host(machine).rename(aside)
    host(machine).symlink_to(aside)


def shared_file_changed_since(machine: Machine) -> None:
    settings(machine).write_bytes(machine.host.bare)


# -- the home --------------------------------------------------------------------------------------------


def nothing(machine: Machine) -> None:
    pass


def variables(**given: str | None) -> Callable[[Machine], dict[str, str | None]]:
    return lambda machine: given


# -- what a pack brings ----------------------------------------------------------------------------------


def brings(*names: str, kind: bytes = tarfile.REGTYPE) -> Callable[[Machine], None]:
    """An archive of a pack with one skill, and with members of these names besides."""

    def attempt(machine: Machine) -> None:
        with tarfile.open(machine.packs / "own.tar", "w", format=tarfile.PAX_FORMAT) as archive:
            skill = "---\nname: a\ndescription: A skill.\n---\n"
            for name, text in {
                "capability.json": json.dumps({**descriptor("1", ["a"]), "hooks": []}),
                "skills/a/SKILL.md": skill,
                **dict.fromkeys(names, "x"),
            }.items():
                member = tarfile.TarInfo(f"own/{name}" if not name.startswith("/") else name)
                member.size = len(text.encode())
                if name in names and kind != tarfile.REGTYPE:
                    member.type, member.linkname, member.size = kind, "/etc/passwd", 0
                archive.addfile(member, io.BytesIO(text.encode()) if member.size else None)

    return attempt


def from_an_archive(machine: Machine) -> None:
    users_files(machine)
    machine.packs.mkdir(exist_ok=True)
    brings()(machine)
    machine.manifest(machine.host.name, pack=f'archive = "{machine.packs}/own.tar"')
    machine.ok("resolve")


def pack(what: str, code: str, *names: str, kind: bytes = tarfile.REGTYPE) -> Row:
    """A pack is refused when it is resolved, or installed with what it brings."""
    return Row(f"a pack with {what}", code, from_an_archive, brings(*names, kind=kind), RESOLVE, names)


A = "skills/a"
ROWS = [
    Row("a folder of ours swapped for a link", "E-CONFINE-LINK", installed, folder_for_a_link),
    Row("the folder above swapped for a link", "E-CONFINE-LINK", installed, folder_above_for_a_link),
    Row("a file of ours swapped for a link", "E-CONFINE-LINK", installed, file_for_a_link),
    Row("a new file through a link", "E-CONFINE-LINK", resolved, new_file_through_a_link),
    Row("a shared file that is a link to nowhere", "E-CONFINE-LINK", resolved, shared_file_to_nowhere),
    Row("a root that is a link to nowhere", "E-CONFINE-ROOT", resolved, root_to_nowhere),
    Row("a root that is a link to itself", "E-IO-LINK", resolved, root_loop),
    Row(
        "a file of ours with another name outside",
        "",
        installed,
        file_with_another_name_outside,
        (*LOCKED, "--ours"),
    ),
    Row("a shared file with another name outside", "", resolved, shared_file_with_another_name_outside),
    Row("a file in place of a folder", "E-CONFINE-KIND", resolved, file_in_place_of_a_folder),
    Row("a folder in place of a file", "E-CONFINE-KIND", installed, folder_in_place_of_a_file),
    Row("a pipe in place of a file", "E-CONFINE-KIND", installed, pipe_in_place_of_a_file),
    Row("a root that others can write in", "E-CONFINE-WRITABLE", resolved, writable_by_others),
    Row("a root of somebody else", "E-CONFINE-OWNER", resolved, of_somebody_else),
    Row("a shared file of somebody else", "E-EDIT-OWNER", resolved, shared_file_of_somebody_else),
    Row("a root that lies elsewhere since", "E-ROOT-MOVED", installed, root_elsewhere_since),
    Row("a root elsewhere since the plan", "E-PLAN-FILE-MOVED", planned, root_elsewhere_since, PLANNED),
    Row("a root for a link since the plan", "E-PLAN-FILE-MOVED", planned, root_for_a_link_since, PLANNED),
    Row("a shared file changed since the plan", "", planned, shared_file_changed_since, PLANNED),
    Row("no HOME", "E-HOME-UNSET", resolved, variables(HOME=None)),
    Row("an empty HOME", "E-HOME-UNSET", resolved, variables(HOME=" ")),
    Row("a relative HOME", "E-HOME-UNSET", resolved, variables(HOME="home")),
    Row("a HOME that climbs", "E-HOME-UNSET", resolved, variables(HOME="../home")),
    Row("a relative GSDLOCK_HOME", "E-HOME-RELATIVE", resolved, variables(GSDLOCK_HOME="own")),
    Row("a relative root of a host", "E-HOME-RELATIVE", resolved, relative_root),
    pack("nothing besides", ""),
    pack("a name of 255 bytes", "", f"{A}/{'n' * 255}"),
    pack("a name of 256 bytes", "E-UNPACK-NAME", f"{A}/{'n' * 256}"),
    pack("a path of more than 4,096 bytes", "E-UNPACK-NAME", f"{A}/{'/'.join(['n' * 200] * 21)}"),
    pack("a deep tree", "", f"{A}/{'/'.join(['d'] * 90)}/f"),
    pack("a tree that is too deep", "E-UNPACK-NAME", f"{A}/{'/'.join(['d'] * 120)}/f"),
    pack("NFC twins", "E-UNPACK-COLLISION", f"{A}/caf\u00e9.md", f"{A}/cafe\u0301.md"),
    pack("case-fold twins", "E-UNPACK-COLLISION", f"{A}/Read.md", f"{A}/READ.md"),
    pack("twins of a folder", "E-UNPACK-COLLISION", f"{A}/Read/a", f"{A}/read/b"),
    pack("a reserved name", "E-UNPACK-NAME", f"{A}/nul.md"),
    pack("a name with a drive", "E-UNPACK-NAME", f"{A}/c:x"),
    pack("a name that ends in a dot", "E-UNPACK-NAME", f"{A}/x."),
    pack("a backslash", "E-UNPACK-NAME", f"{A}/..\\x"),
    pack("a control character", "E-UNPACK-NAME", f"{A}/a\x1bb"),
    pack("a path that climbs", "E-UNPACK-NAME", "../../x"),
    pack("a path that climbs within it", "E-UNPACK-NAME", f"{A}/../x"),
    pack("an absolute path", "E-UNPACK-NAME", "/etc/x"),
    pack("a link", "E-UNPACK-LINK", f"{A}/l", kind=tarfile.SYMTYPE),
    pack("a hard link", "E-UNPACK-LINK", f"{A}/l", kind=tarfile.LNKTYPE),
    pack("a device", "E-UNPACK-SPECIAL", f"{A}/d", kind=tarfile.CHRTYPE),
    pack("the name of our own staging", "E-CONFINE-PATH", f"{A}/.gsdlock-0/x"),
]


@pytest.mark.parametrize("on", HOSTS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_it_is_refused_or_comes_to_nothing(row: Row, on: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, row.before, HOSTS[on])
    given = {**machine.variables, **(row.attempt(machine) or {})}
    environment = {name: value for name, value in given.items() if value is not None}
    before = everything(machine)
    status, text = run(machine, environment, row.words)
    after = everything(machine)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    if row.code:
        assert f"gsdlock: {row.code}: " in text, text
        assert status in (3, 4) and not changed
        return
    assert status == 0, text
    root = f"home/{machine.host.folder}/"
    if row.words == RESOLVE:
        status, text = run(machine, environment, LOCKED)
        assert status == 0, text
        after = everything(machine)
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        lands = {machine.host.placed(path) for path in row.lands}
        assert {path.removeprefix(root) for path in changed} >= lands
    assert changed
    assert all(path.startswith(root) or path == "project/gsdlock.lock" for path in changed)


def run(machine: Machine, environment: dict[str, str], words: tuple[str, ...]) -> tuple[int, str]:
    """The real command, in this process."""
    with as_if_alone(machine.project, environment, Unflushed()) as out:
        status = command(["--no-progress", *machine.host.words(words)])
    return status, out.getvalue()


def everything(machine: Machine) -> dict[str, object]:
    """All that stands anywhere but in our own folders."""
    return {path: what for path, what in tree(machine.now).items() if not path.startswith("own")}


def test_the_table_is_of_every_kind() -> None:
    """A row that comes to nothing is worth something only beside one that is refused."""
    assert len({row.what for row in ROWS}) == len(ROWS)
    assert {row.code for row in ROWS} >= {"", "E-CONFINE-LINK", "E-CONFINE-OWNER", "E-UNPACK-NAME"}
