"""Denials and several targets: a denial leaves its target as it is, or only its item; the rest goes ahead."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import EditOp
from gsdlock.store.choices import Choices, PreflightError
from gsdlock.store.filesystem_decorators import DryRun
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.gate import Settled
from gsdlock.store.items import Decision, Item
from gsdlock.store.recovery import recover
from gsdlock.store.transaction import preview


def hook(command: str) -> tuple[str, EditOp, str, Any]:
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, "/hooks/Stop", value)


def denying(which: Callable[[Item], bool], *, partial: bool = False) -> Callable[[Sequence[Item]], Settled]:
    """A gate that denies some items; with `partial` the rest of their target goes ahead."""

    def decide(items: Sequence[Item]) -> Settled:
        decisions = tuple(
            Decision(False, "policy:no") if which(i) else Decision(True, "policy:default") for i in items
        )
        targets = frozenset(i.target for i, d in zip(items, decisions, strict=True) if not d.allow)
        nobody: frozenset[str] = frozenset()
        return Settled(
            tuple(items), decisions, nobody if partial else targets, targets if partial else nobody, ()
        )

    return decide


def results(result: Any) -> dict[str, str]:
    return {
        f"{o.item.target} {o.item.op.value} {o.item.key.split('#')[0]}": o.result for o in result.outcomes
    }


def test_a_denial_leaves_its_whole_target_and_the_others_go_ahead(world: Any) -> None:
    one = world.wanted({"one.md": "1"}, [hook("one.sh")], target="one")
    two = world.wanted({"two.md": "2"}, target="two")
    result = world.apply(one, two, decide=denying(lambda i: i.executes))
    assert result.unchanged == {"one"}
    assert list(world.tree()) == [".host", ".host/two.md"]
    assert results(result) == {
        "one create config:one.md": "denied",
        "one register-hook config:settings.json": "denied",
        "two create config:two.md": "done",
    }
    assert result.generations == {"two@default": 1}


def test_everything_denied_writes_nothing(world: Any) -> None:
    before = world.tree()
    result = world.apply(world.wanted({"a.md": "A"}), decide=denying(lambda i: True))
    assert world.tree() == before
    assert result.generations == {} and result.unchanged == {"host"}
    assert world.current() is None


def test_decisions_are_in_the_generation(world: Any) -> None:
    world.apply(world.wanted({"a.md": "A"}), decide=denying(lambda i: False))
    assert world.current().decisions == (("config:a.md", "create", "policy:default"),)


def test_partial_goes_ahead_without_what_was_denied(world: Any) -> None:
    plan = world.wanted({"a.md": "A", "b.md": "B"}, [hook("x.sh")])
    result = world.apply(plan, decide=denying(lambda i: i.key == "config:b.md" or i.executes, partial=True))
    assert list(world.tree()) == [".host", ".host/a.md"]
    assert world.current().partial[0] == "config:b.md"
    assert results(result)["host create config:b.md"] == "denied"
    world.apply(plan)
    assert (world.root / "b.md").exists() and (world.root / "settings.json").exists()
    assert world.current().partial == ()


def test_partial_keeps_what_was_not_allowed_to_change_or_go(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1", "b.md": "1", "c.md": "1"}, [hook("x.sh")]))
    denied = denying(lambda i: i.op.value in ("replace", "remove", "unedit"), partial=True)
    world.apply(world.wanted({"a.md": "2", "b.md": "1", "d.md": "1"}), decide=denied)
    texts = {p.name: p.read_text() for p in world.root.iterdir()}
    assert (texts["a.md"], texts["c.md"], texts["d.md"]) == ("1", "1", "1")
    assert "x.sh" in texts["settings.json"]
    world.apply(None)
    assert world.tree() == {}


def test_a_target_that_may_not_leave_whole_stays_whole(world: Any) -> None:
    world.apply(world.wanted({"a.md": "1"}, [hook("x.sh")]))
    before = world.tree()
    world.apply(None, decide=denying(lambda i: i.op.value == "unedit", partial=True))
    assert world.tree() == before


def test_problems_of_all_targets_come_in_one_error_and_in_order(world: Any) -> None:
    world.root.mkdir()
    for name in ("a.md", "b.md"):
        (world.root / name).write_text("mine")
    two = world.wanted({"b.md": "2", "../x": "2"}, target="two")
    one = world.wanted({"a.md": "1"}, target="one")
    with pytest.raises(PreflightError) as caught:
        world.apply(two, one)
    assert [p.target for p in caught.value.problems] == ["two", "two", "one"]
    assert caught.value.code == caught.value.problems[0].code
    assert len(caught.value.details) == 3
    assert "3 problems" in caught.value.what


def test_one_targets_problem_holds_all_back(world: Any) -> None:
    (world.home / "other").mkdir()
    (world.home / "other/a.md").write_text("mine")
    with pytest.raises(PreflightError):
        world.apply(
            world.wanted({"a.md": "1"}, target="one"),
            world.wanted({"a.md": "1"}, target="two", root=world.home / "other"),
        )
    assert not world.root.exists()


def test_a_preview_needs_no_lock_and_cannot_write(world: Any) -> None:
    plan = world.wanted({"a.md": "A"}, [hook("x.sh")])
    before = world.tree(), world.tree(world.state)
    items = preview(world.using(DryRun(RealFileSystem())).store, [world.change(plan)], Choices())
    assert [item.op.value for item in items] == ["create", "register-hook"]
    assert (world.tree(), world.tree(world.state)) == before


def test_a_gate_that_fails_leaves_nothing_behind(world: Any) -> None:
    def decide(items: Sequence[Item]) -> Settled:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.apply(world.wanted({"a.md": "A"}), decide=decide)
    assert world.tree() == {}
    assert not (world.state / "transactions").exists()


def test_a_keyboard_interrupt_while_writing_is_undone(world: Any) -> None:
    from gsdlock.store.filesystem_decorators import Faulty

    def interrupt() -> None:
        raise KeyboardInterrupt

    world.apply(world.wanted({"a.md": "1", "b.md": "1"}))
    before = world.tree()
    fs = Faulty(RealFileSystem(), 2, methods={"exchange"}, instead=interrupt)
    with pytest.raises(KeyboardInterrupt):
        world.using(fs).apply(world.wanted({"a.md": "2", "b.md": "2"}))
    assert world.tree() == before
    assert world.current().number == 1


def test_an_interruption_at_any_moment_says_what_is_true(world: Any) -> None:
    """Undone where it is told, and done where it came too late to undo anything."""
    from gsdlock.store.filesystem_decorators import Faulty

    def interrupt() -> None:
        raise KeyboardInterrupt

    world.apply(world.wanted({"a.md": "1", "gone.md": "1"}))
    told = late = 0
    for point in range(1, 1000):
        recover(world.store)  # an interruption that came late leaves the cleaning up
        before, number = world.tree(), world.current().number
        fs = Faulty(RealFileSystem(), point, instead=interrupt)
        try:
            world.using(fs).apply(world.wanted({"a.md": f"{point}x", "new.md": str(point)}))
        except KeyboardInterrupt:
            told += 1
            assert (world.tree(), world.current().number) == (before, number), point
        else:
            late += fs.failed is not None
            assert world.current().number == number + 1
            assert (world.root / "new.md").read_text() == str(point)
            if fs.failed is None:
                break
    assert told > 20 and late > 2


def test_a_partial_plan_that_would_do_something_else_is_refused(world: Any) -> None:
    one = world.wanted({}, [hook("x.sh"), hook("y.sh")], target="one")
    two = world.wanted({}, [hook("x.sh")], target="two")
    world.apply(one)
    with pytest.raises(GsdlockError) as caught:
        world.apply(world.change(None, target="one"), two, decide=denying(lambda i: i.target == "two"))
    assert caught.value.code == "E-PLAN-MOVED"
    assert "x.sh" in (world.root / "settings.json").read_text()


def server(version: str) -> tuple[str, EditOp, str, Any]:
    return ("settings.json", EditOp.SET_IF_ABSENT, "/hooks/server", {"command": ["serve", version]})


def steps(items: Sequence[Item]) -> list[tuple[str, str, bool]]:
    return [(i.op.value, i.risk.value, i.executes) for i in items]


def version_on_disk(world: Any) -> str:
    return str(json.loads((world.root / "settings.json").read_text())["hooks"]["server"]["command"][1])


def test_the_next_version_of_our_own_value_is_asked_about_like_the_first(world: Any) -> None:
    world.apply(world.wanted({}, [server("1")]))
    result = world.apply(world.wanted({}, [server("2")]))
    assert steps([o.item for o in result.outcomes]) == [
        ("register-hook", "high", True),
        ("unedit", "high", False),
    ]
    assert version_on_disk(world) == "2"


def test_a_denied_next_version_leaves_the_one_that_stands(world: Any) -> None:
    world.apply(world.wanted({}, [server("1")]))
    result = world.apply(world.wanted({}, [server("2")]), decide=denying(lambda i: i.executes))
    assert result.unchanged == {"host"}
    assert version_on_disk(world) == "1"


def test_a_value_of_the_users_in_its_place_is_no_version_of_ours(world: Any) -> None:
    world.apply(world.wanted({}, [server("1")]))
    path = world.root / "settings.json"
    path.write_text(path.read_text().replace('"1"', '"mine"'))
    result = world.apply(world.wanted({}, [server("2")]))
    assert ("hold-back", "read-only", False) in steps([o.item for o in result.outcomes])
    assert version_on_disk(world) == "mine"
