"""Shared files from one generation to the next: only our entries come and go; the user's text is theirs."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.errors import refused as refusal
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.choices import PreflightError
from gsdlock.store.items import Item, ItemOp, Stays
from gsdlock.store.restore import displaced_versions, going_back
from gsdlock.store.wanted import Objection

from .settings_file import MINE, hook, ops, server, settings

# -- coming and going ------------------------------------------------------------------------------------


def test_our_entries_come_and_go_and_the_file_is_what_it_was(world: Any) -> None:
    path = settings(world)
    result = world.apply(world.wanted({}, [hook("greet.sh"), server("docs", "x")]))
    assert ops(result) == ["register-hook", "edit"]
    text = path.read_text()
    assert "// my own" in text
    assert "chime" in text and "greet.sh" in text and "mcpServers" in text
    assert world.apply(world.wanted({}, [hook("greet.sh"), server("docs", "x")])).generations == {}
    assert ops(world.apply(None)) == ["unedit", "unedit"]
    assert path.read_text() == MINE


def test_no_former_version_is_offered_where_only_our_entries_came_or_went(world: Any) -> None:
    """It would bring back entries that nobody owns, for scripts that are gone. `--list` still knows it."""
    path = settings(world)
    for wanted in (world.wanted({}, [hook("greet.sh")]), world.wanted({}, [hook("other.sh")]), None):
        assert world.apply(wanted).kept == ()
    assert [v.number for v in displaced_versions(world.store, str(path))]


def test_the_former_version_is_offered_where_a_value_of_the_users_gave_way(world: Any) -> None:
    path = settings(world)
    wanted = world.wanted({}, [server("docs", "docs-server")])
    world.apply(wanted)
    path.write_text(path.read_text().replace("docs-server", "mine"))
    assert world.apply(wanted, ours=["*"]).kept == (str(path),)


def test_a_file_that_we_made_goes_with_us(world: Any) -> None:
    world.apply(world.wanted({}, [hook("greet.sh")]))
    assert json.loads((world.root / "settings.json").read_text())
    world.apply(None)
    assert world.tree() == {}


@pytest.mark.parametrize("said", [{}, {"ours": ["*"]}])
def test_a_value_of_the_users_where_ours_is_only_for_none_decides_whatever_is_said(
    world: Any, said: dict[str, Any]
) -> None:
    """So `--ours` is not promised to put it in; without the user's, the next apply does."""

    def line(text: str) -> list[tuple[str, EditOp, str, Any]]:
        return [("settings.json", EditOp.SET_IF_ABSENT, "/statusLine", {"command": text})]

    world.apply(world.wanted({}, line("one")))
    path = world.root / "settings.json"
    path.write_text('{"statusLine": {"command": "mine"}}')
    items = [o.item for o in world.apply(world.wanted({}, line("two")), **said).outcomes]
    assert [(i.op, i.stays) for i in items if i.stays is not None] == [(ItemOp.HOLD_BACK, Stays.DECIDES)]
    assert path.read_text() == '{"statusLine": {"command": "mine"}}'
    path.write_text("{}")
    world.apply(world.wanted({}, line("two")))
    assert "two" in path.read_text()


def test_leaving_says_which_entry_stays_because_it_was_changed(world: Any) -> None:
    world.apply(
        world.wanted({}, [("settings.json", EditOp.SET_IF_ABSENT, "/statusLine", {"command": "one"})])
    )
    path = world.root / "settings.json"
    path.write_text('{"statusLine": {"command": "mine"}}')
    (item,) = [o.item for o in world.apply(None).outcomes]
    assert (item.op, item.stays) == (ItemOp.KEEP, Stays.CHANGED)
    assert path.read_text() == '{"statusLine": {"command": "mine"}}'


def test_five_upgrades_leave_no_trace(world: Any) -> None:
    path = settings(world)
    for version in range(6):
        world.apply(world.wanted({}, [hook(f"greet{version}.sh"), server("docs", f"v{version}")]))
        assert path.read_text().count("greet") == 1
    world.apply(None)
    assert path.read_text() == MINE


def test_what_the_user_writes_in_between_stays_and_only_ours_goes(world: Any) -> None:
    path = settings(world)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    path.write_text(path.read_text().replace('"opus",', '"sonnet", // changed\n    "theme": "dark",'))
    world.apply(world.wanted({}, [hook("greet2.sh")]))
    assert '"sonnet", // changed' in path.read_text()
    world.apply(None)
    assert path.read_text() == MINE.replace('"opus",', '"sonnet", // changed\n    "theme": "dark",')


def test_a_host_that_rewrites_its_file_finds_our_entries_again(world: Any) -> None:
    path = settings(world, '{"z": 1, "model": "opus"}\n')
    wanted = world.wanted({}, [hook("greet.sh"), server("docs", "x")])
    world.apply(wanted)
    path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True, indent=1))
    rewritten = path.read_text()
    assert world.apply(wanted).generations == {}
    assert path.read_text() == rewritten
    world.apply(None)
    assert json.loads(path.read_text()) == {"z": 1, "model": "opus"}


def test_a_handler_of_the_users_in_our_group_stays(world: Any) -> None:
    path = settings(world, '{"model": "opus"}\n')
    world.apply(world.wanted({}, [hook("greet.sh")]))
    data = json.loads(path.read_text())
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    path.write_text(json.dumps(data, indent=2) + "\n")
    assert world.apply(world.wanted({}, [hook("greet.sh")])).generations == {}
    world.apply(None)
    assert json.loads(path.read_text())["hooks"] == {
        "Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]
    }


def test_an_equal_entry_that_was_there_before_us_stays(world: Any) -> None:
    text = json.dumps({"mcpServers": {"docs": {"command": "x"}}})
    path = settings(world, text)
    result = world.apply(world.wanted({}, [server("docs", "x")]))
    assert ops(result) == ["keep"]
    assert path.read_text() == text
    world.apply(None)
    assert path.read_text() == text


def test_going_back_gives_the_bytes_back(world: Any) -> None:
    path = settings(world)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    path.write_text(path.read_text().replace("my own", "my very own"))
    before = path.read_bytes()
    world.apply(world.wanted({}, [hook("greet2.sh"), server("docs", "x")]))
    world.apply(going_back(world.store, "host@default", 1))
    assert path.read_bytes() == before
    assert world.apply(world.wanted({}, [hook("greet.sh")])).generations.keys() <= {"host@default"}
    assert path.read_bytes() == before
    world.apply(None)
    assert path.read_text() == MINE.replace("my own", "my very own")


def test_going_back_keeps_what_the_user_wrote_since(world: Any) -> None:
    path = settings(world)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    world.apply(world.wanted({}, [hook("greet2.sh")]))
    path.write_text(path.read_text().replace("my own", "my very own"))
    world.apply(going_back(world.store, "host@default", 1))
    assert "my very own" in path.read_text()
    assert "greet.sh" in path.read_text() and "greet2.sh" not in path.read_text()


def test_going_back_does_not_bring_back_what_another_target_has_left_since(world: Any) -> None:
    path = settings(world, "{}\n")
    world.apply(world.wanted({"a.md": "1"}, target="one"))
    world.apply(world.wanted({}, [hook("theirs.sh")], target="two"))
    world.apply(world.wanted({}, [hook("theirs.sh"), hook("x.sh")], target="one"))
    world.apply(world.change(None, target="two"))
    world.apply(world.wanted({}, [hook("y.sh")], target="one"))
    world.apply(going_back(world.store, "one@default", 1))
    assert path.read_text() == "{}\n"


def test_mode_is_kept_and_a_new_file_follows_the_umask(world: Any) -> None:
    path = settings(world)
    path.chmod(0o600)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    world.apply(None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_alternative_name_is_edited_where_it_exists(world: Any) -> None:
    world.root.mkdir()
    (world.root / "settings.jsonc").write_text(MINE)
    wanted = world.wanted({}, [hook("greet.sh")], instead=("settings.jsonc",))
    world.apply(wanted)
    assert not (world.root / "settings.json").exists()
    assert "greet.sh" in (world.root / "settings.jsonc").read_text()
    world.apply(None)
    assert (world.root / "settings.jsonc").read_text() == MINE


def test_entries_follow_a_file_that_the_user_renames(world: Any) -> None:
    settings(world)
    wanted = world.wanted({}, [hook("greet.sh")], instead=("settings.jsonc",))
    world.apply(wanted)
    (world.root / "settings.json").rename(world.root / "settings.jsonc")
    world.apply(wanted)
    assert [p.name for p in world.root.iterdir()] == ["settings.jsonc"]
    assert (world.root / "settings.jsonc").read_text().count("greet.sh") == 1
    world.apply(None)
    assert (world.root / "settings.jsonc").read_text() == MINE


def test_entries_move_to_an_alternative_name_that_appears(world: Any) -> None:
    settings(world)
    wanted = world.wanted({}, [hook("greet.sh")], instead=("settings.jsonc",))
    world.apply(wanted)
    (world.root / "settings.jsonc").write_text("{}\n")
    world.apply(wanted)
    assert (world.root / "settings.json").read_text() == MINE
    assert "greet.sh" in (world.root / "settings.jsonc").read_text()
    world.apply(None)
    assert (world.root / "settings.jsonc").read_text() == "{}\n"


# -- drift of entries ------------------------------------------------------------------------------------


def test_an_entry_that_the_user_removed_is_put_back_only_when_asked(world: Any) -> None:
    path = settings(world)
    wanted = world.wanted({}, [hook("greet.sh"), server("docs", "x")])
    world.apply(wanted)
    path.write_text(MINE)
    assert world.problems(wanted) == ["E-DRIFT-ENTRY", "E-DRIFT-ENTRY"]
    world.apply(
        wanted, ours=["config:settings.json#/mcpServers/docs"], theirs=["config:settings.json#/hooks/Stop"]
    )
    assert "docs" in path.read_text() and "greet.sh" not in path.read_text()
    assert world.apply(wanted).generations == {}
    world.apply(wanted, ours=["*"])
    assert "greet.sh" in path.read_text()
    world.apply(None)
    assert path.read_text() == MINE


def test_an_entry_that_the_user_rewrote_gets_no_second_copy(world: Any) -> None:
    path = settings(world, "{}\n")
    world.apply(world.wanted({}, [hook("greet.sh")]))
    path.write_text(path.read_text().replace('"greet.sh"', '"wrap greet.sh"'))
    assert world.problems(world.wanted({}, [hook("greet.sh")])) == ["E-DRIFT-ENTRY"]
    assert world.problems(world.wanted({}, [hook("greet2.sh")])) == ["E-DRIFT-ENTRY"]
    world.apply(world.wanted({}, [hook("greet2.sh")]), theirs=["*"])
    assert path.read_text().count("greet") == 1
    world.apply(world.wanted({}, [hook("greet3.sh")]))
    assert path.read_text().count("greet") == 1
    world.apply(None)
    assert "wrap greet.sh" in path.read_text()


def test_a_deleted_settings_file_is_drift_too(world: Any) -> None:
    path = settings(world)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    path.unlink()
    assert world.problems(world.wanted({}, [hook("greet.sh")])) == ["E-DRIFT-ENTRY"]
    assert ops(world.apply(None)) == ["keep"]
    assert not path.exists()


def test_another_value_of_the_users_is_set_aside_only_by_adopt_and_comes_back(world: Any) -> None:
    text = '{"mcpServers": {"docs": {"command": "mine", "args": [1.5]}}}\n'
    path = settings(world, text)
    wanted = world.wanted({}, [server("docs", "ours")])
    assert world.problems(wanted) == ["E-EDIT-COLLISION"]
    world.apply(wanted, adopt=["config:settings.json"])
    assert json.loads(path.read_text())["mcpServers"]["docs"] == {"command": "ours"}
    assert world.apply(wanted).generations == {}
    path.write_text(path.read_text() + "\n")
    world.apply(None)
    assert path.read_text() == text + "\n"


# -- what cannot be edited -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": }', "E-EDIT-SYNTAX"),
        ('{"hooks": {"Stop": []}, "hooks": {}}', "E-EDIT-DUPLICATE"),
        ('{"hooks": []}', "E-EDIT-SHAPE"),
        ('{"hooks": {"Stop": "x"}}', "E-EDIT-SHAPE"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_and_left_alone(world: Any, text: str, code: str) -> None:
    settings(world, text)
    wanted = world.wanted({"a.md": "A"}, [hook("greet.sh")])
    assert world.problems(wanted) == [code]


@pytest.mark.parametrize("text", ["", "\n", "{}", "{ }\n", "// nothing yet\n"])
def test_an_empty_file_is_empty_again_when_we_leave(world: Any, text: str) -> None:
    path = settings(world, text)
    world.apply(world.wanted({}, [hook("greet.sh")]))
    assert "greet.sh" in path.read_text()
    world.apply(None)
    assert path.read_text() == text


def test_a_file_that_is_not_utf_8_is_refused(world: Any) -> None:
    settings(world).write_bytes(b'{"a": "\xff"}')
    assert world.problems(world.wanted({}, [hook("greet.sh")])) == ["E-EDIT-ENCODING"]


def test_a_file_that_broke_after_the_install_can_be_left_behind(world: Any) -> None:
    path = settings(world)
    world.apply(world.wanted({"a.md": "A"}, [hook("greet.sh")]))
    path.write_text("{ broken")
    assert world.problems(None) == ["E-EDIT-SYNTAX"]
    world.apply(None, theirs=[str(path)])
    assert path.read_text() == "{ broken"
    assert not (world.root / "a.md").exists()


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_a_folder_or_fifo_is_refused(world: Any, kind: str) -> None:
    world.root.mkdir()
    path = world.root / "settings.json"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert world.problems(world.wanted({"a.md": "A"}, [hook("greet.sh")])) == ["E-EDIT-KIND"]


def test_what_no_host_would_take_is_refused_before_anything_is_written(world: Any) -> None:
    path = settings(world)

    def validate(before: bytes | None, after: bytes) -> list[Objection]:
        assert before == MINE.encode()
        return [Objection("/hooks/Stop", "is no event of this host")]

    plan = world.wanted({"a.md": "A"}, [hook("x")])
    wanted = world.change(plan, validators={"config:settings.json": validate})
    assert world.problems(wanted) == ["E-HOST-SHAPE"]
    assert path.read_text() == MINE


# -- several owners --------------------------------------------------------------------------------------


def test_two_targets_share_a_file_and_an_entry_goes_with_the_last(world: Any) -> None:
    path = settings(world)
    one = world.wanted({}, [hook("greet.sh"), server("a", "x")], target="one")
    two = world.wanted({}, [hook("greet.sh"), server("b", "y")], target="two")
    world.apply(one, two)
    assert path.read_text().count("greet.sh") == 1
    world.apply(world.change(None, target="one"))
    assert "greet.sh" in path.read_text() and '"a"' not in path.read_text()
    world.apply(world.change(None, target="two"))
    assert path.read_text() == MINE


def test_targets_that_come_and_go_one_by_one_in_any_order_leave_no_trace(world: Any) -> None:
    path = settings(world)
    for first, second in (("one", "two"), ("two", "one")):
        world.apply(world.wanted({"1.md": "1"}, [hook("greet.sh"), server("a", "x")], target="one"))
        world.apply(world.wanted({"2.md": "2"}, [hook("greet.sh"), server("b", "y")], target="two"))
        world.apply(world.change(None, target=first))
        assert path.read_text().count("greet.sh") == 1
        world.apply(world.change(None, target=second))
        assert path.read_text() == MINE
        assert [p.name for p in world.root.iterdir()] == ["settings.json"]


def test_two_targets_that_want_one_file_alike_share_it(world: Any) -> None:
    world.apply(world.wanted({"x.md": "1"}, target="one"), world.wanted({"x.md": "1"}, target="two"))
    alone = world.wanted({"x.md": "2"}, target="one")
    assert world.problems(alone) == ["E-TARGET-CLASH"]
    assert world.problems(alone, world.wanted({"x.md": "3"}, target="two")) == ["E-TARGET-CLASH"]
    world.apply(alone, world.wanted({"x.md": "2"}, target="two"))
    world.apply(world.change(None, target="one"))
    assert (world.root / "x.md").read_text() == "2"
    world.apply(world.change(None, target="two"))
    assert world.tree() == {}


def test_another_installations_file_or_entry_is_a_collision_by_name(world: Any) -> None:
    settings(world)
    world.apply(world.wanted({"x.md": "1"}, [hook("greet.sh")], installation="team"))
    with pytest.raises(PreflightError) as caught:
        world.apply(world.wanted({"x.md": "1"}, [hook("greet.sh")]))
    assert [p.code for p in caught.value.problems] == ["E-COLLISION", "E-COLLISION"]
    assert all("team" in p.text for p in caught.value.problems)
    world.apply(world.wanted({"y.md": "1"}, [hook("other.sh")]))
    world.apply(None)
    assert (world.root / "x.md").exists() and not (world.root / "y.md").exists()
    world.apply(world.change(None, installation="team"))
    assert (world.root / "settings.json").read_text() == MINE


# -- other formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "name", "text", "op", "at", "value"),
    [
        (
            EditFormat.TOML,
            "config.toml",
            '# mine\nmodel = "x"\n\n[a]\nb = 1.5\n',
            EditOp.ENSURE,
            "/mcp/docs",
            {"command": "y"},
        ),
        (
            EditFormat.YAML,
            "config.yaml",
            "# mine\nmodel: x\nlist:\n  - 1\n",
            EditOp.ENSURE,
            "/mcp",
            {"docs": {"command": "y"}},
        ),
        (EditFormat.MARKDOWN, "AGENTS.md", "# Mine\n\ntext\n", EditOp.BLOCK, "host", "our\nlines"),
    ],
)
def test_every_format_comes_and_goes(
    world: Any, format: EditFormat, name: str, text: str, op: EditOp, at: str, value: Any
) -> None:
    world.root.mkdir()
    (world.root / name).write_text(text)
    wanted = world.wanted({}, [(name, op, at, value)], format=format)
    world.apply(wanted)
    assert (world.root / name).read_text() != text
    assert world.apply(wanted).generations == {}
    world.apply(None)
    assert (world.root / name).read_text() == text


# -- the gate --------------------------------------------------------------------------------------------


def test_a_line_that_the_user_appends_behind_our_block_stays_theirs_over_an_upgrade(world: Any) -> None:
    world.root.mkdir()
    path = world.root / "AGENTS.md"
    path.write_text("# Mine")

    def block(text: str) -> Any:
        return world.wanted({}, [("AGENTS.md", EditOp.BLOCK, "gsd", text)], format=EditFormat.MARKDOWN)

    world.apply(block("one"))
    with path.open("a") as file:
        file.write("be kind\n")
    world.apply(block("one"))
    assert path.read_text().endswith("-->\nbe kind\n")
    world.apply(block("two"))
    assert path.read_text().splitlines()[-1] == "be kind"
    world.apply(None)
    assert path.read_text() == "# Mine\nbe kind\n"


def test_the_gate_is_asked_once_with_every_step_and_before_any_write(world: Any) -> None:
    settings(world)
    asked: list[list[Item]] = []

    def decide(items: Any) -> Any:
        asked.append(list(items))
        assert not (world.root / "a.md").exists()
        raise refusal("E-ASK-UNRESOLVED", "nobody is there", "Answer.")

    before = world.tree()
    with pytest.raises(GsdlockError):
        world.apply(world.wanted({"a.md": "A"}, [hook("greet.sh")]), decide=decide)
    assert world.tree() == before
    assert [(i.op.value, i.risk.value, i.executes) for i in asked[0]] == [
        ("create", "low", False),
        ("register-hook", "high", True),
    ]
    assert len(asked) == 1
