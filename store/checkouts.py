"""The folders of a project, from which no program is started: whoever writes a repository writes those, too.

A program is looked up on the user's PATH, and that may lead into a project (`node_modules/.bin`, a virtual
environment, a link). What lies there is the project's choice and not the user's.
"""

from __future__ import annotations

import os

from .confinement import within

_MOST_BYTES = 4096


def checkouts(folder: str, home: str | None, *, fold: bool = False) -> tuple[str, ...]:
    """`folder` (absolute), the repository that it lies in, and where that is a linked worktree or a submodule
    the repository which that belongs to; as the path of `folder` is given, and as its links lead.

    The user's home, and what holds it, is nobody else's project: it is left out. `fold` compares as a file
    system that ignores case.
    """
    found: dict[str, None] = {}
    for start in (os.path.normpath(folder), os.path.realpath(folder)):
        found[start] = None
        root = _root(start)
        if root:
            found[root] = None
            main = _main(root)
            if main:
                found[main] = None
    homes = () if home is None else (home, os.path.realpath(home))

    def holds_a_home(path: str) -> bool:
        places = (path, os.path.realpath(path))
        return any(within(own, place, fold=fold) for own in homes for place in places)

    return tuple(path for path in found if not holds_a_home(path))


def _root(folder: str) -> str:
    """The nearest folder from here upwards that holds `.git`; empty where there is none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _main(root: str) -> str:
    """The working folder of the repository that a worktree or a submodule belongs to; else empty.

    Its `.git` is a file then, which names a folder `…/.git/worktrees/…` or `…/.git/modules/…` (git's
    gitrepository-layout).
    """
    place = os.path.join(root, ".git")
    try:
        if not os.path.isfile(place):
            return ""
        with open(place, "rb") as file:
            text = os.fsdecode(file.read(_MOST_BYTES))
    except OSError:
        return ""
    if not text.startswith("gitdir:"):
        return ""
    names = os.path.normpath(os.path.join(root, text[len("gitdir:") :].strip())).split("/")
    return "/".join(names[: names.index(".git")]) if ".git" in names[1:] else ""
