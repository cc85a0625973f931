"""What `fetch` does for every kind: the lock decides, and a refusal writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.environment import Environment
from gsdlock.lockfiles.model import LockedPack, PackKind
from gsdlock.resolver.sources import fetch
from gsdlock.resolver.sources.base import PackSource, SourceContext
from gsdlock.store.blobs import Blobs
from gsdlock.store.filesystem_posix import RealFileSystem
from msgspec.structs import replace

Source = Callable[..., PackSource]
Refused = Callable[..., Any]
Write = Callable[..., None]


@pytest.fixture
def pin(tmp_path: Path, source: Source, context: SourceContext, write: Write) -> LockedPack:
    write(tmp_path / "pack", {"a.md": "one\n", "b.md": "two\n"})
    fetched = fetch(source("path", "pack"), context, None)
    return LockedPack("demo", PackKind.PATH, "", fetched.resolved, fetched.tree.digest)


def test_the_locked_tree_is_taken_from_the_store_whatever_the_folder_holds_now(
    pin: LockedPack, tmp_path: Path, source: Source, context: SourceContext
) -> None:
    (tmp_path / "pack/a.md").write_text("changed\n")
    tree = fetch(source("path", "pack"), context, pin).tree
    assert (tree.digest, tree.read("a.md")) == (pin.tree, b"one\n")


def test_without_the_store_the_folder_must_be_what_was_locked(
    pin: LockedPack,
    tmp_path: Path,
    source: Source,
    context: SourceContext,
    blobs: Any,
    refused: Refused,
    write: Write,
) -> None:
    listing = blobs.data[pin.tree]
    blobs.data.clear()
    assert fetch(source("path", "pack"), context, pin).tree.digest == pin.tree
    blobs.data.clear()
    blobs.data[pin.tree] = listing
    write(tmp_path / "pack", {"a.md": "changed\n", "c.md": "new\n"})
    (tmp_path / "pack/b.md").unlink()
    with refused("E-PACK-TREE", "pack demo", "changed a.md", "removed b.md", "added c.md", status=5):
        fetch(source("path", "pack"), context, pin)
    assert blobs.data == {pin.tree: listing}


def test_without_even_the_listing_the_refusal_still_names_both_trees(
    pin: LockedPack, tmp_path: Path, source: Source, context: SourceContext, blobs: Any, refused: Refused
) -> None:
    blobs.data.clear()
    (tmp_path / "pack/a.md").write_text("changed\n")
    with refused("E-PACK-TREE", pin.tree):
        fetch(source("path", "pack"), context, pin)
    assert not blobs.data


def test_a_lock_of_another_kind(
    pin: LockedPack, source: Source, context: SourceContext, refused: Refused
) -> None:
    with refused("E-PACK-LOCKED", "as git", "path"):
        fetch(source("path", "pack"), context, replace(pin, kind=PackKind.GIT))


def test_a_checkout_with_crlf_gives_the_same_lock(
    pin: LockedPack, tmp_path: Path, source: Source, context: SourceContext, write: Write
) -> None:
    write(tmp_path / "windows", {"a.md": "one\r\n", "b.md": "two\r\n"})
    assert fetch(source("path", "windows"), context, None).tree.digest == pin.tree


class TestBuiltin:
    @pytest.fixture
    def with_starter(self, tmp_path: Path, context: SourceContext, write: Write) -> SourceContext:
        write(tmp_path / "builtin/starter", {"a.md": "one\r\n", "hooks/x.sh": "#!/bin/sh\n"})
        return replace(context, builtin=str(tmp_path / "builtin"))

    def test_it_is_read_like_a_folder(self, source: Source, with_starter: SourceContext) -> None:
        fetched = fetch(source("builtin", "starter"), with_starter, None)
        assert {p: f.mode for p, f in fetched.tree.files.items()} == {"a.md": 0o644, "hooks/x.sh": 0o755}
        assert fetched.resolved == "starter"

    @pytest.mark.parametrize("name", ["nope", "", "..", "claude", "starter/hooks", "/etc"])
    def test_only_what_comes_with_gsdlock(
        self, name: str, source: Source, with_starter: SourceContext, refused: Refused
    ) -> None:
        with refused("E-BUILTIN-UNKNOWN", status=3):
            fetch(source("builtin", name), with_starter, None)


def test_with_the_real_store(
    tmp_path: Path, source: Source, environment: Environment, write: Write, refused: Refused
) -> None:
    write(tmp_path / "pack", {"a.md": "one\n", "b/c.md": "two\n"})
    context = SourceContext(environment, Blobs(RealFileSystem(), environment.folders.data))
    first = fetch(source("path", "pack"), context, None)
    pin = LockedPack("demo", PackKind.PATH, "", "", first.tree.digest)
    other = SourceContext(environment, Blobs(RealFileSystem(), environment.folders.data), offline=True)
    again = fetch(source("path", "gone"), other, pin)
    assert again.tree.files == first.tree.files
    assert again.tree.read("b/c.md") == b"two\n"
