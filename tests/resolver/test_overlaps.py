"""Targets that meet in one file: alike it is shared, otherwise refused, in bounded words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from gsdlock.capabilities.canonical import canonical_json, sha256_digest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.registry import load_builtin
from gsdlock.lockfiles.model import Edit, EditFormat, EditOp, Placement, Target
from gsdlock.lockfiles.placeholders import has_placeholder
from gsdlock.resolver.concerns import Concern, ConcernCode
from gsdlock.resolver.located import located
from gsdlock.resolver.overlaps import overlaps

HELD: dict[str, bytes] = {}
CONFIG = "{{gsdlock:path:config}}"


class Held:
    """Content by digest."""

    def get(self, digest: str) -> bytes:
        return HELD[digest]


def keep(data: bytes) -> str:
    HELD[sha256_digest(data)] = data
    return sha256_digest(data)


def target(
    name: str,
    files: Mapping[str, str],
    edits: tuple[Edit, ...] = (),
    runtime: str = "codex",
    mode: int = 0o644,
) -> Target:
    placements = tuple(
        Placement(
            key.split(":")[0],
            key.split(":")[1],
            keep(text.encode()),
            mode,
            len(text),
            has_placeholder(text.encode()),
        )
        for key, text in files.items()
    )
    return Target(name, runtime, "global", "full", (), placements, edits, "")


def edit(value: str, op: EditOp = EditOp.ENSURE, at: str = "/a") -> Edit:
    data = canonical_json(value)
    return Edit("config", "settings.json", EditFormat.JSONC, op, at, keep(data), has_placeholder(data))


def meet(*targets: tuple[Target, Mapping[str, str]], home: str = "/h") -> tuple[Concern, ...]:
    """The targets with their roots, on a machine where `/link` leads to `/real`."""

    def real(path: str) -> str:
        return path.replace("/link", "/real")

    placed = [(t, located(t, roots, "", real)) for t, roots in targets]
    return overlaps(placed, home, Held(), real, load_builtin().runtimes)


def refusal(*targets: tuple[Target, Mapping[str, str]]) -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        meet(*targets)
    assert (caught.value.code, caught.value.status) == ("E-TARGET-CLASH", 4)
    return caught.value


def test_apart_nothing_is_said() -> None:
    one, two = target("one", {"config:x": "1"}), target("two", {"config:x": "2"})
    assert meet((one, {"config": "/a"}), (two, {"config": "/b"})) == ()


def test_alike_the_file_is_shared() -> None:
    one = target("one", {"config:x/y": "1", "config:own": "1"})
    two = target("two", {"config:x/y": "1"})
    (concern,) = meet((one, {"config": "/a"}), (two, {"config": "/a"}))
    assert concern.code is ConcernCode.SHARED and concern.names == ("/a/x/y",)
    assert "targets one and two" in concern.what


def test_they_meet_by_where_they_really_are() -> None:
    one, two = target("one", {"config:x": "1"}), target("two", {"skills:x": "1"})
    (concern,) = meet((one, {"config": "/link"}), (two, {"skills": "/real"}))
    assert concern.names == ("/real/x",)


DIFFERENT = [
    ("bytes", {"config:x": "1"}, {"config:x": "2"}),
    ("what is filled in", {"config:x": CONFIG}, {"skills:x": CONFIG}),
]


@pytest.mark.parametrize(("one", "two"), [d[1:] for d in DIFFERENT], ids=[d[0] for d in DIFFERENT])
def test_otherwise_it_is_refused(one: dict[str, str], two: dict[str, str]) -> None:
    first = (target("one", one), {"config": "/a"})
    second = (target("two", two), {"config": "/a" if "config:x" in two else "/b", "skills": "/a"})
    assert refusal(first, second).details == ("one and two: /a/x",)


def test_another_mode_is_another_file() -> None:
    one, two = target("one", {"config:x": "1"}), target("two", {"config:x": "1"}, mode=0o755)
    refusal((one, {"config": "/a"}), (two, {"config": "/a"}))


def test_filled_alike_is_alike() -> None:
    one, two = target("one", {"config:x": CONFIG}), target("two", {"config:x": CONFIG})
    (concern,) = meet((one, {"config": "/a"}), (two, {"config": "/a"}))
    assert concern.code is ConcernCode.SHARED


ENTRIES = [
    ("the same value", edit("1"), edit("1"), False),
    ("two values in one place", edit("1"), edit("2"), True),
    ("two values in two places", edit("1"), edit("2", at="/b"), False),
    ("two members of an array", edit("1", EditOp.APPEND_UNIQUE), edit("2", EditOp.APPEND_UNIQUE), False),
    ("one that gives way", edit("1"), edit("2", EditOp.SET_IF_ABSENT), False),
    ("two texts of one block", edit("1", EditOp.BLOCK), edit("2", EditOp.BLOCK), True),
]


@pytest.mark.parametrize(("one", "two", "clash"), [e[1:] for e in ENTRIES], ids=[e[0] for e in ENTRIES])
def test_entries_of_a_shared_file(one: Edit, two: Edit, clash: bool) -> None:
    first = (target("one", {}, (one,)), {"config": "/a"})
    second = (target("two", {}, (two,)), {"config": "/a"})
    if clash:
        assert refusal(first, second).details == ("one and two: /a/settings.json /a",)
    else:
        assert meet(first, second) == ()


def test_entries_are_compared_as_they_are_filled() -> None:
    one = (target("one", {}, (edit(CONFIG),)), {"config": "/link"})
    two = (target("two", {}, (edit(CONFIG),)), {"config": "/real"})
    assert refusal(one, two).details == ("one and two: /real/settings.json /a",)


def test_a_hundred_files_are_told_in_few_lines() -> None:
    names = [f"config:f{n:02}" for n in range(100)]
    one, two = target("one", dict.fromkeys(names, "1")), target("two", dict.fromkeys(names, "2"))
    fault = refusal((one, {"config": "/a"}), (two, {"config": "/a"}))
    assert len(fault.details) == 11 and fault.details[-1] == "one and two: and 90 more"


def test_of_three_targets_all_that_differ_are_named() -> None:
    roots = {"config": "/a"}
    fault = refusal(*((target(n, {"config:x": n}), roots) for n in ("one", "two", "three")))
    assert "one, three and two" in fault.what


def test_a_root_that_is_not_there_is_left_to_the_apply() -> None:
    assert meet((target("one", {"skills:x": "1"}), {"config": "/a"})) == ()


def test_a_shared_home_is_left_by_making_the_hosts_first_choice() -> None:
    """Of kimi's two folders the first is not there, and Codex is in the second."""
    kimi = (target("kimi", {"config:skills/x": "1"}, runtime="kimi"), {"config": "/h/.agents"})
    codex = (
        target("codex", {"agents-home:skills/x": "2"}),
        {"agents-home": "/h/.agents", "config": "/h/.codex"},
    )
    assert refusal(codex, kimi).fix.startswith(
        "Make the folder ~/.config/agents/skills: then kimi goes there."
    )
    elsewhere = (kimi[0], {"config": "/h/.config/agents"})
    there = (codex[0], {"agents-home": "/h/.config/agents", "config": "/h/.codex"})
    assert "Make the folder" not in refusal(there, elsewhere).fix
