"""A place in a shared file may depend on the machine: it is filled like the value that stands there."""

from __future__ import annotations

from typing import Any, cast

from gsdlock.capabilities.canonical import canonical_json, sha256_digest
from gsdlock.lockfiles.model import Edit, EditFormat, EditOp, Target
from gsdlock.store.blobs import Blobs
from gsdlock.store.wanted import wanted_from_lock

VALUE = canonical_json("allow")


class OneBlob:
    """A store that holds the one value."""

    def get(self, digest: str) -> bytes:
        assert digest == sha256_digest(VALUE)
        return VALUE


def wanted_place(at: str, fill: bool) -> Any:
    edit = Edit(
        root="config",
        path="host.json",
        format=EditFormat.JSONC,
        op=EditOp.SET_IF_ABSENT,
        at=at,
        value=sha256_digest(VALUE),
        fill=fill,
    )
    target = Target("t", "host", "global", "full", (), (), (edit,), "")
    wanted = wanted_from_lock(
        target,
        cast(Blobs, OneBlob()),
        roots={"config": "/home/ada/.host"},
        tools={},
        home="/home/ada",
        installation="default",
        manifest="/home/ada/gsdlock.toml",
    )
    (change,) = wanted.edits[0].changes
    return change.change


def test_a_step_of_the_place_is_filled_and_escaped() -> None:
    change = wanted_place("/permission/read/{{gsdlock:tilde:config~1gsd-core}}~1*", fill=True)
    assert change.at == "/permission/read/~0~1.host~1gsd-core~1*"
    assert change.value == "allow"


def test_a_place_without_placeholders_stays() -> None:
    assert wanted_place("/a~1b/{{x}}", fill=False).at == "/a~1b/{{x}}"
    assert wanted_place("/a~1b/{{x}}", fill=True).at == "/a~1b/{{x}}"
