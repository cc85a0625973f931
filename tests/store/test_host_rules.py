"""A merge that a host would refuse is not written, or made another way; older faults are not ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gsdlock.capabilities.registry import load_builtin
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.choices import PreflightError
from gsdlock.store.edits import editor
from gsdlock.store.filesystem_decorators import Call, Decorated
from gsdlock.store.filesystem_posix import RealFileSystem
from gsdlock.store.host_rules import host_validators
from gsdlock.store.items import ItemOp
from gsdlock.store.survey import TargetChange

APPEND, ENSURE, SET = EditOp.APPEND_UNIQUE, EditOp.ENSURE, EditOp.SET_IF_ABSENT
FILES = {
    "claude": ("settings.json", EditFormat.JSONC),
    "codex": ("config.toml", EditFormat.TOML),
    "opencode": ("opencode.json", EditFormat.JSONC),
    "hermes": ("config.yaml", EditFormat.YAML),
}
SERVER = {"command": "npx", "args": ["docs"]}
GROUP = {"hooks": [{"type": "command", "command": "ours.sh"}]}


def change(world: Any, host: str, *edits: tuple[EditOp, str, Any], leave: bool = False) -> TargetChange:
    name, format_ = FILES[host]
    wanted = world.wanted({}, [(name, op, at, value) for op, at, value in edits], format=format_)
    rules = host_validators(load_builtin().runtime(host), "global", {f"config:{name}": format_}, editor)
    change: TargetChange = world.change(None if leave else wanted, validators=rules)
    return change


def begin(world: Any, host: str, text: str) -> Any:
    world.root.mkdir()
    path = world.root / FILES[host][0]
    path.write_text(text)
    return path


def test_a_file_that_was_broken_before_takes_our_entry_and_the_fault_is_not_ours(world: Any) -> None:
    text = '{\n  // mine\n  "hooks": {"Stop": [{"type": "command"}]}\n}\n'
    path = begin(world, "claude", text)
    world.apply(change(world, "claude", (APPEND, "/hooks/Stop", GROUP), (APPEND, "/hooks/Start", GROUP)))
    assert "ours.sh" in path.read_text() and "// mine" in path.read_text()
    # An upgrade that takes our first entry out moves the user's item in its array: still not ours.
    world.apply(change(world, "claude", (APPEND, "/hooks/Start", GROUP)))
    world.apply(change(world, "claude", leave=True))
    assert path.read_text() == text


def test_a_merge_that_the_host_would_refuse_is_refused_before_anything_is_written(world: Any) -> None:
    path = begin(world, "codex", 'model = "x"\n')
    before = world.tree()
    with pytest.raises(PreflightError) as caught:
        world.apply(
            change(world, "codex", (ENSURE, "/features/model", "x"), (ENSURE, "/mcp_servers/a", {"args": []}))
        )
    assert caught.value.code == "E-HOST-SHAPE"
    assert any("/mcp_servers/a must hold at least one of command, url" in d for d in caught.value.details)
    assert world.tree() == before and path.read_text() == 'model = "x"\n'


HOST_WROTE = """
[mcp_servers.docs.tools.search]
approval_mode = "approve"

[projects."/p"]
trust_level = "trusted"
"""


def test_leaving_takes_along_what_means_nothing_without_ours(world: Any) -> None:
    path = begin(world, "codex", '# mine\nmodel = "x"\n')
    world.apply(change(world, "codex", (ENSURE, "/mcp_servers/docs", SERVER)))
    path.write_text(path.read_text() + HOST_WROTE)
    held = path.read_bytes()
    # Our next version goes beside what the host put there.
    world.apply(change(world, "codex", (ENSURE, "/mcp_servers/docs", {"command": "npx", "args": ["docs@2"]})))
    assert "approval_mode" in path.read_text() and "docs@2" in path.read_text()
    result = world.apply(change(world, "codex", leave=True))
    (item,) = [o.item for o in result.outcomes if o.item.op is ItemOp.UNEDIT]
    assert "what was put into it" in item.description
    assert path.read_text() == '# mine\nmodel = "x"\n\n[projects."/p"]\ntrust_level = "trusted"\n'
    assert result.kept == (str(path),) and held  # the file as it was is in the store


def test_an_upgrade_without_the_server_takes_it_along_too(world: Any) -> None:
    path = begin(world, "codex", 'model = "x"\n')
    world.apply(
        change(world, "codex", (ENSURE, "/mcp_servers/docs", SERVER), (ENSURE, "/features/hooks", True))
    )
    path.write_text(path.read_text() + HOST_WROTE)
    world.apply(change(world, "codex", (ENSURE, "/features/hooks", True)))
    assert "mcp_servers" not in path.read_text() and "trust_level" in path.read_text()


def test_what_still_means_something_stays(world: Any) -> None:
    path = begin(world, "hermes", "# mine\nhooks:\n  outbound: [a]\n")
    world.apply(change(world, "hermes", (ENSURE, "/mcp_servers/docs", SERVER)))
    path.write_text(path.read_text() + "    url: http://127.0.0.1/mine\n")
    world.apply(change(world, "hermes", leave=True))
    assert "url: http://127.0.0.1/mine" in path.read_text() and "npx" not in path.read_text()
    assert path.read_text().startswith("# mine\nhooks:\n  outbound: [a]\n")


@pytest.mark.parametrize("theirs", ["allow", None, 3])
def test_a_plain_value_on_the_way_is_the_users_and_decides(world: Any, theirs: Any) -> None:
    text = json.dumps({"permission": theirs, "model": "x"})
    path = begin(world, "opencode", text)
    server = {"type": "local", "command": ["npx"]}
    wanted = [
        (SET, "/permission/read/~1x", "allow"),
        (SET, "/permission/edit", "ask"),
        (ENSURE, "/mcp/docs", server),
    ]
    result = world.apply(change(world, "opencode", *wanted))
    assert {o.item.key.split("#")[1]: o.item.op for o in result.outcomes} == {
        "/permission/read/~1x": ItemOp.HOLD_BACK,
        "/permission/edit": ItemOp.HOLD_BACK,
        "/mcp/docs": ItemOp.EDIT,
    }
    assert json.loads(path.read_text()) == {"permission": theirs, "model": "x", "mcp": {"docs": server}}
    assert world.apply(change(world, "opencode", *wanted)).generations == {}
    # Once the user takes their value away, ours may stand.
    path.write_text(path.read_text().replace(f'"permission": {json.dumps(theirs)}, ', ""))
    world.apply(change(world, "opencode", *wanted))
    assert json.loads(path.read_text())["permission"] == {"read": {"/x": "allow"}, "edit": "ask"}
    world.apply(change(world, "opencode", leave=True))
    assert json.loads(path.read_text()) == {"model": "x"}


def test_a_file_that_changes_meanwhile_is_merged_again_in_the_same_way(world: Any) -> None:
    path = begin(world, "codex", "# mine\n")
    world.apply(change(world, "codex", (ENSURE, "/mcp_servers/docs", SERVER)))
    path.write_text(path.read_text() + HOST_WROTE)

    class Meddling(Decorated):
        def before(self, call: Call) -> None:
            if call.method == "exchange" and "more" not in path.read_text():
                path.write_text(path.read_text() + "more = 1\n")

    world.using(Meddling(RealFileSystem())).apply(change(world, "codex", leave=True))
    assert path.read_text() == '# mine\n\n[projects."/p"]\ntrust_level = "trusted"\nmore = 1\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("base: &b\n  command: npx\nmcp_servers:\n  docs:\n    <<: *b\n    args: [x]\n", []),
        ("all: &a\n  docs: {command: npx}\nmcp_servers:\n  <<: *a\n", []),
        ("a: &a {x: 1}\nb: &b {command: npx}\nmcp_servers:\n  docs:\n    <<: [*a, *b]\n", []),
        ("a: &a {hooks: {Stop: []}}\n<<: *a\n", []),
        ("a: &a {command: 1}\nmcp_servers:\n  docs: {<<: *a, command: npx}\n", []),
        ("a: &a {command: 1}\nmcp_servers:\n  docs:\n    <<: *a\n", ["/mcp_servers/docs/command"]),
        ('mcp_servers:\n  docs:\n    "<<": {command: npx}\n', ["/mcp_servers/docs"]),
    ],
)
def test_what_a_yaml_file_says_by_merge_keys_counts(text: str, told: list[str]) -> None:
    key = "config:config.yaml"
    rules = host_validators(load_builtin().runtime("hermes"), "global", {key: EditFormat.YAML}, editor)
    assert [objection.at for objection in rules[key](None, text.encode())] == told
