"""Which file is really edited: one of the plan's other names, or what a link leads to."""

from __future__ import annotations

import os

from ..capabilities.errors import GsdlockError, refused, shown
from .confinement import check_relative
from .filesystem import is_link, is_regular, kind_of
from .roots import Pinned, split
from .survey import Spot, Survey
from .wanted import WantedEdit


def locate(survey: Survey, root: Pinned, edit: WantedEdit) -> tuple[Spot, bool]:
    """The file that is really edited, and whether a link leads to it.

    The first of the plan's other names that exists wins. Raises E-CONFINE-…, `OSError`.
    """
    check_relative(edit.path)
    folder, own = split(edit.path)
    for name in (*edit.instead, own):
        spot = survey.spot(root, f"{folder}/{name}" if folder else name)
        status = survey.ground.look(spot.place.anchor, spot.place.path)
        if status is not None or name == own:
            break
    if not is_link(status):
        return spot, False
    return _behind(survey, spot), True


def followed(survey: Survey, spot: Spot) -> tuple[Spot, bool]:
    """The file that stands at `spot`, or (True) the one that a link which was put there since leads to.

    A link that leads to no file is left to be judged as what it is. Raises E-CONFINE-…, `OSError`.
    """
    try:
        if is_link(survey.ground.look(spot.place.anchor, spot.place.path)):
            return _behind(survey, spot), True
    except (GsdlockError, OSError):
        pass  # met again, and reported, with the file
    return spot, False


def _behind(survey: Survey, link: Spot) -> Spot:
    """The regular file that a link, or a chain of them, leads to. Whether it may be written is asked only
    when something has to be written: entries that the user put there themselves need nothing."""
    fs = survey.store.fs
    try:
        real = fs.real_path(link.full)
    except FileNotFoundError:
        raise refused(
            "E-CONFINE-LINK",
            f"{shown(link.full, 400)} is a link that leads nowhere",
            "Remove the link, or put back what it leads to.",
            where=shown(link.full, 4096),
        ) from None
    folder, name = os.path.split(real)
    handle = fs.open_root(folder)
    try:
        status = fs.lstat(handle, name)
    finally:
        fs.close(handle)
    if status is None or not is_regular(status):
        kind = kind_of(status) if status is not None else "nothing"
        raise refused(
            "E-CONFINE-LINK",
            f"{shown(link.full, 400)} is a link to {shown(real, 400)}, a {kind}",
            "Let it lead to a file, or remove it.",
            where=shown(link.full, 4096),
        )
    return survey.spot_of(real)


def read_only(path: str, real: str) -> GsdlockError:
    """E-EDIT-READONLY: the file is managed from elsewhere (a Nix store, a locked dotfile)."""
    place = shown(path, 400) if path == real else f"{shown(path, 400)} (a link to {shown(real, 400)})"
    return refused(
        "E-EDIT-READONLY",
        f"{place} is read-only, so entries cannot be written there",
        "Run `gsdlock apply --no-edits`: it places the files only and prints the entries, which you put into "
        "the configuration that manages that file.",
        where=shown(path, 4096),
    )


def not_yours(path: str, real: str, owner: int) -> GsdlockError:
    """E-EDIT-OWNER: another user owns the file."""
    place = shown(path, 400) if path == real else f"{shown(path, 400)} (a link to {shown(real, 400)})"
    return refused(
        "E-EDIT-OWNER",
        f"{place} belongs to another user (uid {owner})",
        "Change its owner, or run `gsdlock apply --no-edits` and put the entries in yourself.",
        where=shown(path, 4096),
    )
