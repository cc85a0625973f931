"""Trees: their digest, their bounds, and finding them again in the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.resolver.pack import TreeFile
from gsdlock.resolver.sources.base import FileContent, Limits
from gsdlock.resolver.sources.tree import (
    TreeBuilder,
    below,
    differences,
    keep_tree,
    stored_listing,
    stored_tree,
)

SMALL = Limits(manifest=8, total=20, entries=4)


def test_the_digest_of_a_tree_is_the_digest_of_its_listing(blobs: Any) -> None:
    contents = {"b.sh": FileContent(b"#!/bin/sh\n", True), "a.md": FileContent(b"text\n", False)}
    tree = keep_tree(contents, blobs)
    listing = {
        "files": {
            "a.md": [sha256_digest(b"text\n"), 0o644, 5],
            "b.sh": [sha256_digest(b"#!/bin/sh\n"), 0o755, 10],
        }
    }
    as_text = json.dumps(listing, sort_keys=True, separators=(",", ":"))
    assert tree.digest == sha256_digest(as_text.encode())
    assert blobs.get(tree.digest).decode() == as_text
    assert list(tree.files) == ["a.md", "b.sh"]
    assert tree.read("b.sh") == b"#!/bin/sh\n"
    assert blobs.kept == set(blobs.data), "a tree that is reported is durable"


def test_the_order_of_the_files_does_not_matter(blobs: Any) -> None:
    one, two = FileContent(b"1", False), FileContent(b"2", True)
    assert keep_tree({"a": one, "b": two}, blobs).digest == keep_tree({"b": two, "a": one}, blobs).digest


def test_the_mode_matters(blobs: Any) -> None:
    plain = keep_tree({"a": FileContent(b"1", False)}, blobs)
    executable = keep_tree({"a": FileContent(b"1", True)}, blobs)
    assert plain.digest != executable.digest


def test_a_stored_tree_is_found_whole_or_not_at_all(blobs: Any) -> None:
    tree = keep_tree({"a": FileContent(b"1", False), "b": FileContent(b"2", False)}, blobs)
    found = stored_tree(tree.digest, blobs)
    assert found is not None and found.files == tree.files and found.read("b") == b"2"
    del blobs.data[sha256_digest(b"2")]
    assert stored_tree(tree.digest, blobs) is None
    assert stored_listing(tree.digest, blobs) == tree.files


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:" + "0" * 64, "../../etc/passwd"])
def test_a_tree_that_is_not_there_is_not_found(digest: str, blobs: Any) -> None:
    assert stored_tree(digest, blobs) is None


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"files": []}',
        '{"files": {"a": 1}}',
        json.dumps({"files": {"a": [DIGEST, 0o777, 1]}}),
        json.dumps({"files": {"a": [DIGEST, 0o644, -1]}}),
        json.dumps({"files": {"a": [DIGEST, 0o644, True]}}),
        json.dumps({"files": {"a": ["sha256:xyz", 0o644, 1]}}),
        "[" * 5000 + "]" * 5000,
    ],
)
def test_a_blob_that_is_no_listing_is_refused(text: str, blobs: Any, refused: Callable[..., Any]) -> None:
    with refused("E-PACK-LISTING"):
        stored_listing(blobs.put(text.encode()), blobs)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../b", "a\\b"])
def test_a_forged_listing_gets_no_name_past(name: str, blobs: Any, refused: Callable[..., Any]) -> None:
    """A file of a pack can look like a listing, and a hostile lock can name it as a tree."""
    forged = json.dumps({"files": {name: [DIGEST, 0o644, 1]}}).encode()
    with refused("E-UNPACK-NAME"):
        stored_tree(blobs.put(forged), blobs)


class TestBounds:
    def test_total(self, refused: Callable[..., Any]) -> None:
        builder = TreeBuilder("pack demo", SMALL)
        builder.add_file("a", b"x" * 20, False)
        with refused("E-UNPACK-SIZE", "more than 20 bytes"):
            builder.add_file("b", b"x", False)

    def test_manifest(self, refused: Callable[..., Any]) -> None:
        builder = TreeBuilder("pack demo", SMALL)
        builder.add_file("x/capability.json", b"x" * 8, False)
        with refused("E-UNPACK-MANIFEST-SIZE", "capability.json"):
            builder.add_file("capability.json", b"x" * 9, False)

    def test_entries_count_files_and_folders(self, refused: Callable[..., Any]) -> None:
        builder = TreeBuilder("pack demo", SMALL)
        builder.add_folder("a")
        for name in ("a/1", "a/2", "a/3"):
            builder.add_file(name, b"", False)
        with refused("E-UNPACK-ENTRIES", "more than 4"):
            builder.add_file("a/4", b"", False)

    def test_room_shrinks_with_what_is_taken(self) -> None:
        builder = TreeBuilder("pack demo", SMALL)
        assert (builder.room("a"), builder.room("capability.json")) == (20, 8)
        builder.add_file("a", b"x" * 15, False)
        assert (builder.room("b"), builder.room("capability.json")) == (5, 5)


def test_below_takes_a_folder_as_the_root(refused: Callable[..., Any]) -> None:
    contents = {n: FileContent(n.encode(), False) for n in ("a/x", "a/b/y", "ab/z", "top")}
    assert set(below(contents, "a", "pack demo")) == {"x", "b/y"}
    assert set(below(contents, "a/b/", "pack demo")) == {"y"}
    assert below(contents, "", "pack demo") == contents
    with refused("E-PACK-SUBDIRECTORY", "`b`"):
        below(contents, "b", "pack demo")


def test_differences_are_named_one_a_line() -> None:
    def entry(digit: str, mode: int = 0o644) -> TreeFile:
        return TreeFile("sha256:" + digit * 64, mode, 1)

    before = {"gone": entry("1"), "same": entry("2"), "text": entry("3"), "mode": entry("4")}
    after = {"new": entry("1"), "same": entry("2"), "text": entry("5"), "mode": entry("4", 0o755)}
    assert differences(before, after) == [
        "removed gone",
        "mode changed mode: 0644 -> 0755",
        "added new",
        "changed text",
    ]
    many = {f"f{i:02}": entry("1") for i in range(13)}
    assert differences({}, many)[-1] == "and 3 more"
