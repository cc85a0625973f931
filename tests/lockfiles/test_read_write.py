"""gsdlock.lock: read back as written, the same lock gives the same bytes, anything else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError, hides
from gsdlock.capabilities.words import Words
from gsdlock.lockfiles.model import (
    Edit,
    EditFormat,
    EditOp,
    Lock,
    LockedCapability,
    LockedPack,
    PackKind,
    Placement,
    Target,
    target_data,
    target_from_data,
)
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.write import lock_bytes
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

DIGEST = "sha256:" + "0123456789abcdef" * 4

TARGET = Target(
    name="claude",
    runtime="claude",
    scope="global",
    profile="standard",
    features=("research", "ui"),
    packs=("gsd",),
    tools=("node",),
    placements=(
        Placement("config", "hooks/a.js", DIGEST, 0o755, 7, fill=True),
        Placement("config", "skills/gsd-x/SKILL.md", DIGEST, 0o644, 1234),
    ),
    edits=(
        Edit(
            "config",
            "settings.json",
            EditFormat.JSONC,
            EditOp.APPEND_UNIQUE,
            "/hooks/Stop",
            DIGEST,
            True,
            True,
        ),
        Edit("config", "o.json", EditFormat.JSONC, EditOp.ENSURE, "/mcp/x", DIGEST, instead=("o.jsonc",)),
    ),
    origins=DIGEST,
)
LOCK = Lock(
    packs=(
        LockedPack("gsd", PackKind.NPM, "p@^1", "p@1.2.3", DIGEST, integrity="sha512-abc"),
        LockedPack("own", PackKind.GIT, "u#main", "u", DIGEST, revision="f" * 40),
    ),
    capabilities=(LockedCapability("claude", "runtime", "1.10.0", "builtin", DIGEST),),
    targets=(TARGET,),
)


def refusal(data: bytes) -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        read_lock(data, "gsdlock.lock")
    assert caught.value.status == 3
    return caught.value


def test_a_lock_is_read_back_as_it_was_written() -> None:
    assert read_lock(lock_bytes(LOCK), "gsdlock.lock") == LOCK


def test_the_file_is_for_reviewers() -> None:
    text = lock_bytes(LOCK).decode()
    assert f'"config:skills/gsd-x/SKILL.md" = "{DIGEST} 0644 1234"\n' in text
    assert f'"config:hooks/a.js" = "{DIGEST} 0755 7 fill"\n' in text
    assert text.endswith("\n") and "\r" not in text


def test_a_target_survives_as_plain_data() -> None:
    assert target_from_data(target_data(TARGET)) == TARGET


def test_a_checkout_with_crlf_reads_the_same() -> None:
    assert read_lock(lock_bytes(LOCK).replace(b"\n", b"\r\n"), "gsdlock.lock") == LOCK


names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12)
paths = st.lists(
    st.text(
        st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/"), min_size=1, max_size=9
    ).filter(lambda name: not hides(name)),
    min_size=1,
    max_size=4,
).map("/".join)


@given(st.lists(paths, max_size=8, unique=True), st.lists(names, max_size=3, unique=True))
def test_any_path_and_feature_survives(files: list[str], features: list[str]) -> None:
    placements = tuple(Placement("config", p, DIGEST, 0o644, len(p)) for p in files)
    target = Target("t", "r", "local", "full", tuple(features), placements, (), DIGEST)
    lock = Lock((), (), (target,))
    assert read_lock(lock_bytes(lock), "x") == lock


VERSION_CASES = [
    ("", "E-LOCK-VERSION-MISSING"),
    ('lock-version = "1"\n', "E-LOCK-VERSION-TYPE"),
    ("lock-version = 1.9\n", "E-LOCK-VERSION-TYPE"),
    ("lock-version = true\n", "E-LOCK-VERSION-TYPE"),
    ("lock-version = 0\n", "E-LOCK-VERSION-TYPE"),
    ("lock-version = -1\n", "E-LOCK-VERSION-TYPE"),
    ("lock-version = 2\n[[capability]]\nthis_field_is_unknown = 1\n", "E-LOCK-VERSION-NEWER"),
    ("lock-version = 99\nnot even = = toml", "E-LOCK-VERSION-NEWER"),
    ("[pack]\nlock-version = 1\n", "E-LOCK-VERSION-MISSING"),
]


@pytest.mark.parametrize(("text", "code"), VERSION_CASES)
def test_the_version_is_read_before_the_body(text: str, code: str) -> None:
    fault = refusal(text.encode())
    assert fault.code == code
    assert "this_field_is_unknown" not in str(fault.details) + fault.what


SHAPE_CASES = [
    ("mode", b" 0644 1234", b" 0666 1234", "must read root:path"),
    ("upper-case digest", DIGEST.encode(), DIGEST.upper().encode(), "sha256"),
    ("unknown key", b'profile = "standard"', b'profile = "standard"\nsurprise = 1', "surprise"),
    ("unknown op", b'op = "ensure"', b'op = "ensur"', "did you mean ensure"),
    ("scope", b'scope = "global"', b'scope = "globe"', "did you mean global"),
    ("missing", b'runtime = "claude"\n', b"", "runtime: is required"),
]


@pytest.mark.parametrize(("name", "old", "new", "says"), SHAPE_CASES, ids=[c[0] for c in SHAPE_CASES])
def test_a_wrong_shape_is_named(name: str, old: bytes, new: bytes, says: str) -> None:
    data = lock_bytes(LOCK)
    assert old in data
    fault = refusal(data.replace(old, new))
    assert fault.code == "E-LOCK-INVALID"
    assert any(says in line for line in fault.details), fault.details


HIDDEN = {"newline": "\n", "escape": "\x1b[2J", "C1": "\x9b", "separator": "\u2028", "override": "\u202e"}


def spoiled(value: Any, hidden: str) -> Iterator[Any]:
    """`value` with each string of it, in turn, that is not of a closed form followed by `hidden`."""
    if isinstance(value, str) and not value.startswith("sha256:") and not isinstance(value, Words):
        yield value + hidden
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from (replace(value, **{name: other}) for other in spoiled(getattr(value, name), hidden))
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from ((*value[:at], other, *value[at + 1 :]) for other in spoiled(item, hidden))


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
def test_no_string_of_a_lock_holds_what_a_reviewer_is_not_shown(hidden: str) -> None:
    """A name with a line end could make up a line of any output; one that turns the direction shows as
    another one. The digests are right each time."""
    overlays = (LockedPack("tides", PackKind.PATH, "path", "path", DIGEST),)
    whole = Lock(LOCK.packs, LOCK.capabilities, LOCK.targets, overlays)
    locks = list(spoiled(whole, hidden))
    assert len(locks) > 30
    for lock in locks:
        fault = refusal(lock_bytes(lock))
        assert fault.code == "E-LOCK-INVALID"
        assert not any(hides(line) for line in (fault.what, fault.fix, *fault.details))


def test_all_faults_of_shape_are_told_at_once() -> None:
    data = lock_bytes(LOCK).replace(b'op = "ensure"', b'op = "x"').replace(b'kind = "npm"', b'kind = "y"')
    assert len(refusal(data).details) == 2


def test_a_lock_edited_by_hand_does_not_pass() -> None:
    moved = lock_bytes(LOCK).replace(b" 0644 1234", b" 0644 1235")
    fault = refusal(moved)
    assert fault.code == "E-LOCK-DIGEST" and "claude" in fault.what
    fault = refusal(lock_bytes(LOCK).replace(b'resolved = "p@1.2.3"', b'resolved = "p@1.2.4"'))
    assert fault.code == "E-LOCK-DIGEST" and "the plan" in fault.what


def test_merge_markers_are_named_with_their_line() -> None:
    data = b"# x\n<<<<<<< ours\n" + lock_bytes(LOCK)
    fault = refusal(data)
    assert (fault.code, fault.where) == ("E-LOCK-CONFLICT", "gsdlock.lock:2")


@pytest.mark.parametrize("data", [b"lock-version = 1\n\xff", b"lock-version = 1\nplan = [\n"])
def test_what_does_not_parse_is_refused(data: bytes) -> None:
    assert refusal(data).code == "E-LOCK-SYNTAX"


def test_the_plan_digest_moves_with_every_input() -> None:
    seen = {LOCK.plan}
    for other in (
        Lock(LOCK.packs[:1], LOCK.capabilities, LOCK.targets),
        Lock(LOCK.packs, (), LOCK.targets),
        Lock(LOCK.packs, LOCK.capabilities, ()),
    ):
        assert other.plan not in seen
        seen.add(other.plan)
