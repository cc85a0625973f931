"""Vectors of the gate's reference against the places where gsdlock has the same rule.

What differs on purpose stands in `gate_criteria.json` with its reason. The sets policy, policy_conflict and
decided_by run in `test_policy` and `test_gate`; order and missing_report through the command line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.canonical import is_digest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.versions import check_version
from gsdlock.store.blobs import Blobs
from gsdlock.store.confinement import check_relative, relative_fault, within
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.generations import Generations
from gsdlock.store.records import GENERATION_VERSION, generation_data
from gsdlock.store.statefiles import seal

from .test_generations import generation

DATA = Path(__file__).parents[1] / "data"
VECTORS = json.loads((DATA / "gate_runner_vectors.json").read_text("utf-8"))
DIFFERS = json.loads((DATA / "gate_criteria.json").read_text("utf-8"))["vectors"]


def code_of(text: str) -> str:
    """The code with which the text is refused as a lock."""
    with pytest.raises(GsdlockError) as caught:
        read_lock(text.encode(), "gsdlock.lock")
    assert caught.value.status == 3
    return caught.value.code


LOCK_CODES = {
    "lock_too_new": "E-LOCK-VERSION-NEWER",
    "lock_version_missing": "E-LOCK-VERSION-MISSING",
    "lock_version_not_integer": "E-LOCK-VERSION-TYPE",
    "lock_version_invalid": "E-LOCK-VERSION-TYPE",
    "lock_entry_invalid": "E-LOCK-INVALID",
}


@pytest.mark.parametrize("vector", VECTORS["lock_version"], ids=lambda v: v["id"])
def test_lock_version(vector: dict[str, Any]) -> None:
    """Criteria 10 and 11: the version is judged before the body, and alone."""
    text = vector["text"].replace("lock_file_version", "lock-version")
    if "error" not in vector:
        assert check_version(text, "gsdlock.lock") == 1
        return
    assert code_of(text) == LOCK_CODES[vector["error"]]
    with pytest.raises(GsdlockError) as caught:
        read_lock(text.encode(), "gsdlock.lock")
    told = " ".join([caught.value.what, caught.value.fix, *caught.value.details])
    assert vector.get("must_not_mention", "\0") not in told
    if vector["error"] == "lock_entry_invalid":
        key = "resolved_at" if f"lock_version/{vector['id']}" in DIFFERS else "checksums"
        assert key in told


@pytest.mark.parametrize("vector", VECTORS["checksum"], ids=lambda v: v["id"])
def test_checksum(vector: dict[str, Any], tmp_path: Path) -> None:
    """12: no digest, a malformed one and one that does not match are told apart."""
    blobs = Blobs(RealFileSystem(), str(tmp_path))
    data = vector["bytes_utf8"].encode()
    (digest,) = vector["checksums"].values()
    if vector.get("error") in ("lock_entry_invalid", "checksum_not_recorded"):
        recorded = digest if vector["error"] == "lock_entry_invalid" else ""
        assert not is_digest(recorded)
        text = f'lock-version = 1\n[[target]]\n[target.files]\n"config:a" = "{recorded} 0644 6"\n'
        assert code_of(text) == "E-LOCK-INVALID"
        assert (f"checksum/{vector['id']}" in DIFFERS) is (not recorded)
        return
    path = tmp_path / "blobs/sha256" / digest[7:9] / digest[9:]
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    if vector.get("error") is None:
        assert blobs.get(digest) == data
        return
    assert vector["error"] == "checksum_mismatch"
    with pytest.raises(GsdlockError) as caught:
        blobs.get(digest)
    assert (caught.value.code, caught.value.status) == ("E-BLOB-CORRUPT", 5)


@pytest.mark.parametrize("vector", VECTORS["rel_path"], ids=lambda v: repr(v["p"]))
def test_rel_path(vector: dict[str, Any]) -> None:
    assert (relative_fault(vector["p"]) is None) is vector["ok"]
    if vector["ok"]:
        check_relative(vector["p"])
    else:
        with pytest.raises(GsdlockError) as caught:
            check_relative(vector["p"])
        assert caught.value.code == "E-CONFINE-PATH"


@pytest.mark.parametrize("vector", VECTORS["path_within"], ids=lambda v: f"{v['child']} in {v['parent']}")
def test_path_within(vector: dict[str, Any]) -> None:
    assert within(vector["child"], vector["parent"], fold=vector["fold"]) is vector["expect"]


STATE_CODES = {
    "state_too_new": ("E-GENERATION-VERSION", 3),
    "unknown_field": ("E-GENERATION-CORRUPT", 5),
    "field_newer_than_version": ("E-GENERATION-VERSION", 3),
}


@pytest.mark.parametrize("vector", VECTORS["state_schema"], ids=lambda v: json.dumps(v["file"]))
def test_state_schema(vector: dict[str, Any], tmp_path: Path) -> None:
    """A generation of this version is read; another version and another field are refused, and stay."""
    generations = Generations(RealFileSystem(), str(tmp_path))
    record = generation_data(generation())
    version = vector["file"]["schema_version"]
    record["generation-version"] = GENERATION_VERSION + version - vector["current"]
    record |= {key: value for key, value in vector["file"].items() if key == "surprise"}
    path = tmp_path / "targets/host@default/generations/1.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(seal(record))
    before = path.read_bytes()
    if vector.get("expect") == "read":
        assert generations.read("host@default", 1) == generation()
        return
    older = version < vector["current"]
    assert (f"state_schema/{version}" in DIFFERS) is older
    with pytest.raises(GsdlockError) as caught:
        generations.read("host@default", 1)
    expected = STATE_CODES[vector.get("error", "field_newer_than_version")]
    assert (caught.value.code, caught.value.status) == expected
    assert path.read_bytes() == before
