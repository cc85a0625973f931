"""Records on disk: written whole, read strictly, damage named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.canonical import plain_json, sha256_digest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.edits.types import ABSENT, Entry
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.generations import Generations, slug_of
from gsdlock.store.records import (
    EditedRecord,
    EntryRecord,
    FileRecord,
    Generation,
    Kept,
    RootRecord,
    generation_data,
    read_generation,
)
from gsdlock.store.statefiles import DamagedError, seal, unseal
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

D = [sha256_digest(bytes([n])) for n in range(8)]


def generation(**changes: Any) -> Generation:
    value = Generation(
        slug="host@default",
        number=1,
        parent=0,
        created="2026-01-01T00:00:00.000Z",
        target="host",
        runtime="host",
        scope="global",
        installation="default",
        manifest="/home/ada/gsdlock.toml",
        project="",
        plan=D[0],
        home="/home/ada",
        roots={"config": RootRecord("/home/ada/.host", "/home/ada/dotfiles/host")},
        tools={"node": "/usr/bin/node"},
        files=(FileRecord("config", "a/b.md", D[1], True, 0o644, D[2], 0o600, Kept(D[3], 0o640), "changed"),),
        edited=(
            EditedRecord(
                "config",
                "settings.json",
                "/home/ada/dotfiles/host/settings.json",
                EditFormat.JSONC,
                D[4],
                D[5],
                (
                    EntryRecord(Entry(EditOp.ENSURE, "/a", 1, True, 1.5, ("", "/x"), "  "), D[6], False),
                    EntryRecord(Entry(EditOp.ENSURE, "/b", None, False, None), D[6], True, held=True),
                    EntryRecord(Entry(EditOp.APPEND_UNIQUE, "/c", {"k": ["é"]}, True, ABSENT), D[6], True),
                ),
            ),
        ),
        made=("/home/ada/.host",),
        displaced={"/home/ada/x": Kept(D[7], 0o644)},
        decisions=(("config:a", "create", "policy:default"),),
    )
    return replace(value, **changes)


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(RealFileSystem(), str(tmp_path / "state"))


def test_a_generation_comes_back_as_it_was_written(generations: Generations) -> None:
    generations.write(generation())
    generations.point("host@default", 1)
    read = generations.current("host@default")
    assert read == generation()
    assert read.edited[0].entries[0].entry.prior == 1.5
    assert read.edited[0].entries[1].entry.prior is None
    assert read.edited[0].entries[2].entry.prior is ABSENT


def test_an_unfinished_generation_is_not_current(generations: Generations, tmp_path: Path) -> None:
    (tmp_path / "state" / "transactions" / "0123").mkdir(parents=True)
    generations.write(generation())
    assert generations.current("host@default") is None
    assert generations.numbers("host@default") == [1]


@pytest.mark.parametrize("pointer", [None, "", "x", "0", "-1", "01", "1 ", "1\n1\n", "²"])
def test_a_damaged_pointer_is_named(generations: Generations, tmp_path: Path, pointer: str | None) -> None:
    generations.write(generation())
    path = tmp_path / "state" / "targets" / "host@default" / "current"
    if pointer is not None:
        path.write_text(pointer)
    with pytest.raises(GsdlockError) as caught:
        generations.current("host@default")
    assert (caught.value.code, caught.value.status) == ("E-GENERATION-CORRUPT", 5)
    assert str(path) in caught.value.what


def test_a_missing_current_generation_is_named(generations: Generations) -> None:
    generations.point("host@default", 1)
    with pytest.raises(GsdlockError) as caught:
        generations.current("host@default")
    assert (caught.value.code, caught.value.status) == ("E-GENERATION-MISSING", 5)


def test_every_cut_and_every_flipped_byte_is_found(generations: Generations, tmp_path: Path) -> None:
    generations.write(generation())
    path = tmp_path / "state" / "targets" / "host@default" / "generations" / "1.json"
    sound = path.read_bytes()
    damaged = [sound[:length] for length in range(0, len(sound) - 1, 7)]
    damaged += [sound[:n] + bytes([sound[n] ^ 1]) + sound[n + 1 :] for n in range(0, len(sound), 5)]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(GsdlockError) as caught:
            generations.read("host@default", 1)
        assert caught.value.code == "E-GENERATION-CORRUPT"


def test_a_newer_version_is_refused_before_anything_is_believed(
    generations: Generations, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "targets" / "host@default" / "generations"
    path.mkdir(parents=True)
    (path / "1.json").write_bytes(seal({"generation-version": 2, "files": "of another shape"}))
    with pytest.raises(GsdlockError) as caught:
        generations.read("host@default", 1)
    assert (caught.value.code, caught.value.status) == ("E-GENERATION-VERSION", 3)


def test_a_record_of_something_else_is_refused(generations: Generations, tmp_path: Path) -> None:
    generations.write(generation())
    folder = tmp_path / "state" / "targets"
    (folder / "other@default").mkdir()
    (folder / "host@default" / "generations").rename(folder / "other@default" / "generations")
    with pytest.raises(GsdlockError) as caught:
        generations.read("other@default", 1)
    assert caught.value.code == "E-GENERATION-CORRUPT"


FILE = {
    "source": D[0],
    "fill": False,
    "locked-mode": 0o644,
    "digest": D[0],
    "mode": 0o644,
    "prior": None,
    "held": "",
}


def forged(change: str, value: Any) -> dict[str, Any]:
    data = json.loads(json.dumps(generation_data(generation())))
    parts = change.split(" ")
    place = data
    for part in parts[:-1]:
        place = place[int(part) if part.isdigit() else part]
    last: Any = int(parts[-1]) if parts[-1].isdigit() else parts[-1]
    place[last] = value
    return data


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("number", 0),
        ("number", True),
        ("left", 1),
        ("plan", "sha256:x"),
        ("roots config 1", "relative"),
        ("roots config 1", "/a/../b"),
        ("roots other", ["/a"]),
        ("files config:a/../../b", {}),
        (
            "files config:../b",
            {
                "source": D[0],
                "fill": False,
                "locked-mode": 420,
                "digest": D[0],
                "mode": 420,
                "prior": None,
                "held": "",
            },
        ),
        (
            "files nowhere:b",
            {
                "source": D[0],
                "fill": False,
                "locked-mode": 420,
                "digest": D[0],
                "mode": 420,
                "prior": None,
                "held": "",
            },
        ),
        ("files config:a/b.md digest", "x"),
        ("files config:a/b.md mode", 0o10000),
        ("files config:a/b.md held", "maybe"),
        ("edited 0 real", "settings.json"),
        ("edited 0 format", "ini"),
        ("edited 0 entries 0 op", "overwrite"),
        ("edited 0 entries 0 added", "yes"),
        ("made 0", "../x"),
        ("displaced /a/../../etc", [D[0], 420]),
    ],
)
def test_a_forged_record_is_not_believed(change: str, value: Any) -> None:
    with pytest.raises(DamagedError):
        read_generation(forged(change, value))


def test_a_generation_names_every_blob_that_it_needs() -> None:
    assert generation().digests() == {D[0], D[1], D[3], D[4], D[6], D[7]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_whatever_is_sealed_comes_back(record: dict[str, Any]) -> None:
    assert unseal(seal(record)) == record


def test_rows_that_were_vouched_for_come_back_beside_a_name_that_is_no_utf_8() -> None:
    rows = [["\udcff", 1]]
    sealed = seal({"rows": plain_json(rows), "more": plain_json([1])})
    assert unseal(sealed) == {"rows": rows, "more": [1]}


@given(st.binary(max_size=200))
def test_bytes_that_were_not_sealed_are_damage(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unseal(data)


def test_no_two_targets_share_a_slug() -> None:
    slugs = {
        slug_of(installation, target, project)
        for installation in ("a", "a-b", "b")
        for target in ("a", "b-a", "a-b")
        for project in ("", "/p", "/q")
    }
    assert len(slugs) == 27
