"""The one door to the disk: what the real file system promises, and that nobody goes another way."""

from __future__ import annotations

import ast
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import gsdlock.store
import pytest
from gsdlock.store.filesystem import NotRegularError, TooLargeError, following, masked, open_private
from gsdlock.store.filesystem_decorators import CHANGING, FLUSHING, Decorated, DryRun, Faulty, Recording
from gsdlock.store.filesystem_posix import RealFileSystem

FS = RealFileSystem()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    handle = FS.open_root(str(tmp_path))
    yield handle
    FS.close(handle)


def test_a_link_is_never_followed_to_a_folder_or_a_file(folder: int, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "filelink").symlink_to("file")
    with pytest.raises(OSError) as caught:
        FS.open_dir(folder, "link")
    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)
    with pytest.raises(OSError) as caught:
        FS.read(folder, "filelink")
    assert caught.value.errno == errno.ELOOP


def test_a_fifo_neither_blocks_nor_is_read(folder: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(NotRegularError):
        FS.read(folder, "fifo")


def test_a_file_longer_than_the_limit_is_refused(folder: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert FS.read(folder, "file", 5) == b"12345"
    with pytest.raises(TooLargeError):
        FS.read(folder, "file", 4)


def test_create_never_replaces_and_sets_the_mode_exactly(folder: int, tmp_path: Path) -> None:
    for mode in (0o600, 0o644, 0o666, 0o755, 0o777, 0o444):
        FS.create(folder, f"{mode:o}", b"x", mode)
        assert stat.S_IMODE((tmp_path / f"{mode:o}").stat().st_mode) == mode
    with pytest.raises(FileExistsError):
        FS.create(folder, "644", b"y", 0o644)
    assert (tmp_path / "644").read_bytes() == b"x"


def test_exchange_swaps_two_files_in_one_step(folder: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").write_text("B")
    if not FS.exchange(folder, "a", folder, "b"):
        pytest.skip("this file system has no exchange")
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("B", "A")
    with pytest.raises(FileNotFoundError):
        FS.exchange(folder, "a", folder, "nothing")


@pytest.mark.parametrize("flagged", [True, False])
@pytest.mark.parametrize("links", [True, False])
def test_rename_new_never_replaces_by_whatever_means(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flagged: bool, links: bool
) -> None:
    fs = RealFileSystem()
    if not flagged:
        monkeypatch.setattr("gsdlock.store.filesystem_posix._rename_flagged", lambda *_: False)
    if not links:

        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(fs, "link", refuse)
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").write_text("B")
    with pytest.raises(FileExistsError):
        fs.rename_new(folder, "a", folder, "b")
    fs.rename_new(folder, "a", folder, "c")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "c"]
    assert ((tmp_path / "b").read_text(), (tmp_path / "c").read_text()) == ("B", "A")


def test_flushing_everything_says_whether_it_could(folder: int) -> None:
    assert FS.flush_all(folder) in (True, False)
    FS.flush_dir(folder)


@pytest.mark.parametrize(
    ("mode", "umask", "result"),
    [
        (0o644, 0o022, 0o644),
        (0o644, 0o077, 0o600),
        (0o755, 0o077, 0o700),
        (0o755, 0o002, 0o755),
        (0o755, 0o777, 0o700),
    ],
)
def test_the_umask_takes_from_others_and_never_from_the_owner(mode: int, umask: int, result: int) -> None:
    assert masked(mode, umask) == result


@pytest.mark.parametrize(
    ("mode", "like", "result"),
    [
        (0o644, 0o600, 0o600),
        (0o755, 0o600, 0o700),
        (0o755, 0o644, 0o755),
        (0o644, 0o755, 0o644),
        (0o755, 0o444, 0o555),
    ],
)
def test_a_replaced_file_is_read_by_whom_it_was_and_run_as_the_plan_says(
    mode: int, like: int, result: int
) -> None:
    assert following(mode, like) == result


def test_our_own_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    FS.close(open_private(FS, str(tmp_path / "a" / "b")))
    assert [stat.S_IMODE((tmp_path / p).stat().st_mode) for p in ("a", "a/b")] == [0o700, 0o700]


# -- decorators ------------------------------------------------------------------------------------------


def test_a_dry_run_lets_every_look_through_and_no_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    fs = DryRun(FS)
    handle = fs.open_root(str(tmp_path))
    assert fs.read(handle, "file") == b"x"
    assert fs.list_dir(handle) == ["file"]
    for change in (
        lambda: fs.create(handle, "new", b"", 0o644),
        lambda: fs.make_dir(handle, "new", 0o755),
        lambda: fs.rename(handle, "file", handle, "new"),
        lambda: fs.rename_new(handle, "file", handle, "new"),
        lambda: fs.exchange(handle, "file", handle, "file"),
        lambda: fs.link(handle, "file", handle, "new"),
        lambda: fs.unlink(handle, "file"),
        lambda: fs.remove_dir(handle, "file"),
        lambda: fs.flush_file(handle, "file"),
        lambda: fs.flush_dir(handle),
        lambda: fs.flush_all(handle),
    ):
        with pytest.raises(OSError) as caught:
            change()
        assert caught.value.errno == errno.EROFS
    fs.close(handle)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_recording_names_the_calls_and_their_full_paths(tmp_path: Path) -> None:
    fs = Recording(FS, CHANGING)
    handle = fs.open_root(str(tmp_path))
    fs.create(handle, "a", b"", 0o644)
    fs.rename(handle, "a", handle, "b")
    fs.close(handle)
    assert [(c.method, c.path, c.to) for c in fs.calls] == [
        ("create", f"{tmp_path}/a", ""),
        ("rename", f"{tmp_path}/a", f"{tmp_path}/b"),
    ]


def test_faulty_fails_exactly_once_at_the_call_asked_for(tmp_path: Path) -> None:
    fs = Faulty(FS, at=2, number=errno.ENOSPC)
    handle = fs.open_root(str(tmp_path))
    with pytest.raises(OSError) as caught:
        fs.list_dir(handle)
    assert caught.value.errno == errno.ENOSPC
    assert fs.list_dir(handle) == []
    fs.close(handle)


def test_decorators_know_every_method_that_changes_a_disk() -> None:
    looking = {
        "open_root",
        "open_dir",
        "close",
        "stat_dir",
        "list_dir",
        "real_path",
        "lstat",
        "read",
        "read_path",
        "readlink",
    }
    methods = {n for n, v in vars(RealFileSystem).items() if callable(v) and not n.startswith("_")}
    assert methods == looking | CHANGING | FLUSHING
    assert methods <= {n for n, v in vars(Decorated).items() if callable(v)}


# -- nobody goes another way -----------------------------------------------------------------------------

ROOM = Path(gsdlock.store.__path__[0])
OTHER_LEDGERS = {"ledger.py", "ledger_file.py", "ledger_schema.py"}  # sqlite writes its own file
FORBIDDEN_OS = {
    *("rename", "renames", "replace", "remove", "unlink", "rmdir", "removedirs", "mkdir", "makedirs", "link"),
    *("symlink", "write", "truncate", "ftruncate", "chmod", "fchmod", "chown", "fchown", "utime", "mkfifo"),
    *("mknod", "setxattr", "removexattr", "open", "fdopen"),
}
FORBIDDEN_METHODS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"}


def writes(source: str) -> list[str]:
    """The calls in a module that could change a disk without the interface."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            found += [f"import {n}" for n in names if n.split(".")[0] in ("shutil", "tempfile", "pathlib")]
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open":
            mode = node.args[1] if len(node.args) > 1 else None
            mode = next((k.value for k in node.keywords if k.arg == "mode"), mode)
            text = mode.value if isinstance(mode, ast.Constant) else "?"
            if mode is not None and set(str(text)) & set("wax+?"):
                found.append(f"open({text})")
        if isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            if (owner, function.attr) == ("os", "open") and only_reads(node):
                continue
            if (owner == "os" and function.attr in FORBIDDEN_OS) or function.attr in FORBIDDEN_METHODS:
                found.append(f"{owner}.{function.attr}")
    return found


def only_reads(call: ast.Call) -> bool:
    """Whether the flags of an `os.open` say that it reads, and nothing else."""
    flags = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)}
    return "O_RDONLY" in flags and not flags & {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}


BESIDES = {
    "locking.py": "the lock itself, an empty file of ours",
    "unchanged.py": "nothing: it gives `open` its flags for reading, so that no FIFO is waited for",
}
"""The modules that call `os.open`, and what they make by it."""


def modules() -> list[Path]:
    return sorted(p for p in ROOM.rglob("*.py") if p.name not in OTHER_LEDGERS)


@pytest.mark.parametrize("module", modules(), ids=lambda p: str(p.relative_to(ROOM)))
def test_the_store_writes_through_the_interface_only(module: Path) -> None:
    found = writes(module.read_text())
    if module.name in BESIDES:
        assert found == ["os.open"]
    else:
        assert bool(found) is (module.name == "filesystem_posix.py"), found


WRITERS_ELSEWHERE = {
    "cli/init.py": "the manifest that it makes",
    "cli/session.py": "manifest and lock, as a whole",
    "cli/signatures.py": "a scratch folder for ssh-keygen",
    "resolver/sources/downloads.py": "the cache",
    "resolver/sources/git.py": "the cache",
    "resolver/sources/npm.py": "a scratch folder in the cache",
    "resolver/sources/scratch.py": "the cache, and what a killed process left beside a lock",
    "resolver/sources/process.py": "nothing: it looks for programs with shutil",
}
"""The modules of the other rooms that touch a disk, and what they write. None writes to a host's folder."""


@pytest.mark.parametrize("room", ["cli", "resolver", "lockfiles", "capabilities"])
def test_in_the_other_rooms_few_write_at_all(room: str) -> None:
    above = ROOM.parent
    for module in sorted((above / room).rglob("*.py")):
        name = str(module.relative_to(above))
        found = [call for call in writes(module.read_text()) if call not in READING]
        assert not found or name in WRITERS_ELSEWHERE, f"{name}: {found}"


READING = {"os.open", "os.fdopen", "import pathlib"}  # reading without waiting for a FIFO


@pytest.mark.parametrize(
    "source",
    [
        'open("x", "w")',
        'open("x", mode="ab")',
        "os.rename(a, b)",
        "import shutil",
        "Path(x).write_text(y)",
        "from pathlib import Path",
        "os.open(p, os.O_WRONLY)",
        "os.open(p, os.O_RDONLY | os.O_CREAT)",
        "os.open(p, flags)",
        "os.replace(a, b)",
    ],
)
def test_the_check_itself_finds_what_it_is_for(source: str) -> None:
    assert writes(source)
