"""`python -m … full_disk FOLDER SCENE…`: the scenes on a small file system at FOLDER that is filled up to a
number of pages before each try. A line for each scene: its name, tries, failures. Run by `test_errors`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from gsdlock.store.filesystem_posix import RealFileSystem

from .points import chosen
from .scenes import Scene, play

PAGE = 4096
SCENES = ("first install", "upgrade", "uninstall", "with edits")
TOLD = re.compile(r"gsdlock: (E-IO-FULL|E-LEDGER-WRITE|E-IO-OTHER): ")


def fill(folder: Path, pages: int) -> Path:
    """A file that leaves about `pages` pages free."""
    ballast = folder / "ballast"
    free = os.statvfs(folder).f_bavail - pages
    with open(ballast, "wb") as file:
        for _ in range(max(free, 0)):
            file.write(b"x" * PAGE)
            file.flush()
    return ballast


def failing(scene: Scene, folder: Path, pages: int) -> bool:
    """One try with so many pages free; whether it was enough. Raises `AssertionError`."""
    machine = scene.machine
    machine.again()
    ballast = fill(folder, pages)
    ended = machine.here(*scene.words, fs=RealFileSystem())
    where = f"{scene.name} with {pages} pages free"
    found = machine.tree(), machine.current()
    if ended.status == 0:
        assert found == scene.new, f"{where}: said to be done, and is not"
    else:
        assert TOLD.search(ended.text), f"{where}: {ended.text}"
        assert found == scene.old, f"{where}: {found} with the disk still full"
        assert not list(machine.state.glob("transactions/*/*")), f"{where}: not undone at once"
    ballast.unlink()
    scene.promise(where)
    return ended.status == 0


def main(folder: Path) -> int:
    """All scenes; the exit status."""
    failed = 0
    for name in SCENES:
        (folder / name).mkdir()
        scene = play(name, folder / name)
        low, high = 0, 1
        while not failing(scene, folder, high):
            low, high = high, high * 2
        failures = []
        points = chosen(range(high), 5, f"full/{name}")
        for pages in points:
            try:
                failing(scene, folder, pages)
            except AssertionError as failure:
                failures.append(str(failure))
        print(name, len(points), len(failures))
        print(*failures[:3], sep="\n", file=sys.stderr)
        failed += len(failures)
        del low
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
