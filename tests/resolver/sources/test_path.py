"""A folder as a pack."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.resolver.sources import fetch
from gsdlock.resolver.sources.base import Limits, PackSource, SourceContext
from gsdlock.resolver.sources.path import SKIPPED

Source = Callable[..., PackSource]
Refused = Callable[..., Any]
Write = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path, write: Write) -> Path:
    write(tmp_path / "pack", {"a.md": "one\r\n", "b/c.sh": "#!/bin/sh\n", "b/d.bin": b"\0\r\n"})
    (tmp_path / "pack/b/c.sh").chmod(0o700)
    return tmp_path / "pack"


def test_every_file_with_its_mode_and_text_with_lf(
    folder: Path, source: Source, context: SourceContext
) -> None:
    fetched = fetch(source("path", "pack"), context, None)
    tree = fetched.tree
    assert {p: f.mode for p, f in tree.files.items()} == {"a.md": 0o644, "b/c.sh": 0o755, "b/d.bin": 0o644}
    assert tree.read("a.md") == b"one\n"
    assert tree.read("b/d.bin") == b"\0\r\n"
    assert (fetched.resolved, fetched.integrity, fetched.revision) == ("", "", "")


@pytest.mark.parametrize("spec", ["pack", "./pack", "pack/", "{tmp}/pack", "~/../pack", "b/../pack"])
def test_the_ways_to_name_a_folder(
    spec: str, folder: Path, source: Source, context: SourceContext, tmp_path: Path
) -> None:
    fetched = fetch(source("path", spec.format(tmp=tmp_path)), context, None)
    assert len(fetched.tree.files) == 3


def test_where_the_folder_lies_is_no_part_of_its_identity(
    folder: Path, source: Source, context: SourceContext, tmp_path: Path
) -> None:
    first = fetch(source("path", "pack"), context, None)
    os.rename(folder, tmp_path / "moved")
    second = fetch(source("path", "moved"), context, None)
    assert (first.tree.digest, first.resolved) == (second.tree.digest, second.resolved)


@pytest.mark.parametrize("name", sorted(SKIPPED))
def test_what_tools_keep_there_is_passed_over(
    name: str, folder: Path, source: Source, context: SourceContext, write: Write
) -> None:
    before = fetch(source("path", "pack"), context, None).tree.digest
    write(folder, {f"{name}/x": "1", f"b/{name}/y": "2"})
    assert fetch(source("path", "pack"), context, None).tree.digest == before


def test_a_skipped_name_may_be_a_link(folder: Path, source: Source, context: SourceContext) -> None:
    (folder / "node_modules").symlink_to("/")
    assert len(fetch(source("path", "pack"), context, None).tree.files) == 3


def test_the_folder_itself_may_be_a_link(
    folder: Path, source: Source, context: SourceContext, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("pack")
    assert len(fetch(source("path", "link"), context, None).tree.files) == 3


@pytest.mark.parametrize("target", ["a.md", "/etc/passwd", "missing", "../pack", "."])
def test_a_link_inside_is_refused_by_name(
    target: str, folder: Path, source: Source, context: SourceContext, blobs: Any, refused: Refused
) -> None:
    (folder / "b/evil").symlink_to(target)
    with refused("E-PACK-LINK", "`b/evil`", status=4):
        fetch(source("path", "pack"), context, None)
    assert not blobs.data, "nothing of a refused pack is in the store"


def test_a_special_file_is_refused_and_never_waited_for(
    folder: Path, source: Source, context: SourceContext, refused: Refused
) -> None:
    os.mkfifo(folder / "pipe")
    with refused("E-PACK-SPECIAL", "`pipe`"):
        fetch(source("path", "pack"), context, None)
    (folder / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "sock"))
        with refused("E-PACK-SPECIAL", "`sock`"):
            fetch(source("path", "pack"), context, None)


def test_a_folder_that_becomes_a_link_while_it_is_read(
    folder: Path, source: Source, context: SourceContext, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the listing and the opening somebody puts a link there: it is not followed."""
    real = os.open

    def swap(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if path == "b":
            os.rename(folder / "b", folder / "old")
            (folder / "b").symlink_to("/etc")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", swap)
    with refused("E-PACK-UNREADABLE", "b cannot be read"):
        fetch(source("path", "pack"), context, None)


def test_a_file_that_becomes_a_link_while_it_is_read(
    folder: Path, source: Source, context: SourceContext, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def swap(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if path == "a.md":
            (folder / "a.md").unlink()
            (folder / "a.md").symlink_to("/etc/passwd")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", swap)
    with refused("E-PACK-UNREADABLE", "a.md cannot be read"):
        fetch(source("path", "pack"), context, None)


def test_a_file_that_becomes_a_fifo_while_it_is_read(
    folder: Path, source: Source, context: SourceContext, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def swap(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if path == "a.md":
            (folder / "a.md").unlink()
            os.mkfifo(folder / "a.md")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", swap)
    with refused("E-PACK-SPECIAL", "`a.md`"):
        fetch(source("path", "pack"), context, None)


def test_names_are_checked(folder: Path, source: Source, context: SourceContext, refused: Refused) -> None:
    (folder / "a\nb").write_text("x")
    with refused("E-UNPACK-NAME", "U+000A"):
        fetch(source("path", "pack"), context, None)
    (folder / "a\nb").unlink()
    if sys.platform != "linux":
        pytest.skip("other systems refuse to make such a name")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_text("x")
    with refused("E-UNPACK-NAME", "not UTF-8"):
        fetch(source("path", "pack"), context, None)


def test_bounds(folder: Path, source: Source, context: SourceContext, refused: Refused, write: Write) -> None:
    def bounded(**limits: int) -> SourceContext:
        return SourceContext(context.environment, context.blobs, limits=Limits(**limits))

    with refused("E-UNPACK-SIZE"):
        fetch(source("path", "pack"), bounded(total=10), None)
    with refused("E-UNPACK-ENTRIES"):
        fetch(source("path", "pack"), bounded(entries=3), None)
    write(folder, {"capability.json": "x" * 11})
    with refused("E-UNPACK-MANIFEST-SIZE"):
        fetch(source("path", "pack"), bounded(manifest=10), None)


def test_a_folder_that_cannot_be_used(
    folder: Path, source: Source, context: SourceContext, refused: Refused, tmp_path: Path
) -> None:
    with refused("E-PACK-PATH-MISSING", "nowhere", status=5):
        fetch(source("path", "nowhere"), context, None)
    with refused("E-PACK-PATH-FILE", "a.md", status=3):
        fetch(source("path", "pack/a.md"), context, None)
    (tmp_path / "empty").mkdir()
    with refused("E-PACK-EMPTY"):
        fetch(source("path", "empty"), context, None)
    for spec in ("", "a\0b"):
        with refused("E-PACK-PATH"):
            fetch(source("path", spec), context, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(
    folder: Path, source: Source, context: SourceContext, refused: Refused
) -> None:
    (folder / "a.md").chmod(0)
    with refused("E-PACK-UNREADABLE", "a.md"):
        fetch(source("path", "pack"), context, None)
