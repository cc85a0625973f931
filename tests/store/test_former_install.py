"""What another tool installed, taken for a generation: its files, its entries, and what is the user's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.store.choices import PreflightError
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change
from gsdlock.store.former_install import (
    MANIFEST,
    FormerInstall,
    Found,
    former_entries,
    read_former,
    taken_over,
)
from gsdlock.store.restore import going_back

APPEND, ENSURE, SET = EditOp.APPEND_UNIQUE, EditOp.ENSURE, EditOp.SET_IF_ABSENT


def group(command: str, **more: Any) -> dict[str, Any]:
    return {**more, "hooks": [{"type": "command", "command": command}]}


OURS = group("node /h/.host/hooks/a.js")
THEIRS = group('"/opt/node 24/bin/node" "/h/.host/hooks/a.js"')


def entries(
    data: Any, *changes: Change, scripts: tuple[str, ...] = ("hooks/a.js", "hooks/old.js")
) -> list[Any]:
    found = former_entries(editor(EditFormat.JSONC), json.dumps(data).encode(), changes, scripts)
    return [(record.entry.at, record.entry.value) for record in found]


def test_a_hook_that_runs_the_same_script_is_the_installers() -> None:
    hook = Change(APPEND, "/hooks/Stop", OURS)
    assert entries({"hooks": {"Stop": [THEIRS]}}, hook) == [("/hooks/Stop", THEIRS)]
    assert entries({"hooks": {"Stop": [OURS]}}, hook) == [("/hooks/Stop", OURS)]
    # Twice is twice: both go.
    assert entries({"hooks": {"Stop": [THEIRS, THEIRS]}}, hook) == [("/hooks/Stop", THEIRS)] * 2
    assert entries({"hooks": {"Stop": [group("node /h/.host/hooks/aa.js")]}}, hook) == []
    assert entries({"hooks": {"Stop": [group("node /h/.host/hooks/a.js.bak")]}}, hook) == []


def test_the_users_handler_in_its_group_is_not_taken() -> None:
    mine = {"type": "command", "command": "mine.sh"}
    mixed = {**THEIRS, "hooks": [mine, *THEIRS["hooks"]]}
    assert entries({"hooks": {"Stop": [mixed]}}, Change(APPEND, "/hooks/Stop", OURS)) == [
        ("/hooks/Stop", THEIRS)
    ]


def test_a_hook_that_we_do_not_want_but_that_runs_its_script_goes() -> None:
    old = group("node /h/.host/hooks/old.js")
    data = {"hooks": {"Stop": [old, group("mine.sh")], "Start": [THEIRS]}}
    assert entries(data, Change(APPEND, "/hooks/Start", OURS)) == [
        ("/hooks/Start", THEIRS),
        ("/hooks/Stop", old),
    ]
    table = b'[[hooks]]\nevent = "Stop"\ncommand = "node /h/.host/hooks/old.js"\n'
    (found,) = former_entries(editor(EditFormat.TOML), table, [], ["hooks/old.js"])
    assert found.entry.at == "/hooks" and found.entry.value["event"] == "Stop"


def test_a_plain_value_may_be_the_users_and_is_not_taken() -> None:
    deny = Change(APPEND, "/permissions/deny", "Read(.env)")
    own = Change(APPEND, "/permissions/allow", "Bash(npx gsd-core *)")
    data = {"permissions": {"deny": ["Read(.env)"], "allow": ["Bash(npx gsd-core *)", "Bash(ls)"]}}
    assert entries(data, deny, own) == [("/permissions/allow", "Bash(npx gsd-core *)")]
    server = Change(SET, "/mcp/gsd", {"command": "npx", "args": ["gsd-core@2"]})
    there = {"command": "npx", "args": ["gsd-core"]}
    assert entries({"mcp": {"gsd": there}}, server) == [("/mcp/gsd", there)]
    assert entries({"mcp": {"gsd": {"command": "mine"}}}, server) == []


def test_what_allows_the_host_the_installers_own_folder_goes() -> None:
    rules = {"/h/.host/gsd-core/*": "allow", "/h/.host/gsd/*": "deny", "/h/mine/gsd/*": "allow", "*": "ask"}
    data = json.dumps({"permission": {"read": rules, "edit": "allow"}}).encode()
    found = former_entries(editor(EditFormat.JSONC), data, [], (), ["/h/.host"])
    assert [record.entry.at for record in found] == ["/permission/read/~1h~1.host~1gsd-core~1*"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"files": []}',
        b'{"version": "1", "files": {"../x": "' + b"a" * 64 + b'"}}',
        b'{"version": "1", "files": {"x": "short"}}',
        b'{"version": 1, "files": {}}',
    ],
)
def test_what_is_no_manifest_of_the_installer(data: bytes) -> None:
    assert read_former(data) is None


# -- taking over, with transactions -----------------------------------------------------------------------

FILES = {"a.md": "same", "b.md": "their b", "hooks/a.js": "run", "old/gone.md": "old"}
SETTINGS = '{\n  "mine": 1, // kept\n  "hooks": {"Stop": [' + json.dumps(THEIRS) + "]}\n}\n"


def install(world: Any) -> Any:
    """The other tool's install, in a home with settings of the user's; what stood there."""
    world.root.mkdir()
    for path, text in FILES.items():
        (world.root / path).parent.mkdir(exist_ok=True)
        (world.root / path).write_text(text)
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in FILES.items()}
    said = {"manifestVersion": 2, "version": "1.0.0", "mode": "core", "timestamp": "now", "files": digests}
    (world.root / MANIFEST).write_text(json.dumps(said))
    (world.root / ".gsd-source").write_text("/somewhere\n")
    (world.root / "settings.json").write_text(SETTINGS)
    (world.root / "mine.md").write_text("mine")
    return world.tree()


def look(path: str) -> Found | None:
    here = Path(path)
    return Found(here.read_bytes(), here.stat().st_mode & 0o7777) if here.is_file() else None


def take_over(world: Any, **said: Any) -> Any:
    plan = {"a.md": "same", "b.md": "our b", "hooks/a.js": "run", "new.md": "new"}
    wanted = world.wanted(plan, [("settings.json", APPEND, "/hooks/Stop", OURS)])
    former = read_former((world.root / MANIFEST).read_bytes())
    assert isinstance(former, FormerInstall) and (former.version, former.mode) == ("1.0.0", "core")
    taken = taken_over(world.store, "host@default", wanted, former, look)
    return world.apply(world.change(wanted, assumes=taken.assumed), **said), taken


def test_what_is_equal_is_adopted_the_rest_replaced_and_an_uninstall_leaves_the_users(world: Any) -> None:
    install(world)
    result, _ = take_over(world)
    assert {o.item.key.split("#")[0]: o.item.op.value for o in result.outcomes if o.item.changes} == {
        "config:b.md": "replace",
        "config:new.md": "create",
        "config:old/gone.md": "remove",
        f"config:{MANIFEST}": "remove",
        "config:.gsd-source": "remove",
        "config:settings.json": "unedit",
    }
    assert (world.root / "b.md").read_text() == "our b" and not (world.root / "old").exists()
    settings = (world.root / "settings.json").read_text()
    assert "node /h/.host" in settings and "/opt/node 24" not in settings and "// kept" in settings
    taken = world.current()
    assert taken.number == 1 and taken.parent == 0
    # The next one has nothing to do, and leaving leaves what was there before the other tool.
    assert (
        world.apply(
            world.wanted(
                {"a.md": "same", "b.md": "our b", "hooks/a.js": "run", "new.md": "new"},
                [("settings.json", APPEND, "/hooks/Stop", OURS)],
            )
        ).generations
        == {}
    )
    world.apply(None)
    left = {path for path in world.tree() if path != ".host"}
    assert left == {".host/mine.md", ".host/settings.json"}
    assert (world.root / "settings.json").read_text() == '{\n  "mine": 1 // kept\n}\n'


def test_a_rollback_brings_the_former_install_back(world: Any) -> None:
    before = install(world)
    take_over(world)
    world.apply(going_back(world.store, "host@default", 0))
    assert world.tree() == before
    # It can be taken over again.
    take_over(world)
    assert (world.root / "b.md").read_text() == "our b"


def test_a_rollback_leaves_a_shared_file_that_the_import_found_as_it_should_be(world: Any) -> None:
    install(world)
    text = json.dumps({"hooks": {"Stop": [OURS]}})
    (world.root / "settings.json").write_text(text)
    before = world.tree()
    take_over(world)
    assert (world.root / "settings.json").read_text() == text
    world.apply(going_back(world.store, "host@default", 0))
    assert world.tree() == before
    # Also where the file changed later on.
    take_over(world)
    more = [("settings.json", APPEND, "/hooks/Stop", group("more"))]
    world.apply(world.wanted({"a.md": "same"}, [("settings.json", APPEND, "/hooks/Stop", OURS), *more]))
    world.apply(going_back(world.store, "host@default", 0))
    assert world.tree() == before


def test_a_file_that_the_user_changed_since_is_asked_about(world: Any) -> None:
    install(world)
    (world.root / "b.md").write_text("my edit")
    (world.root / "old/gone.md").write_text("my edit too")
    before = world.tree()
    with pytest.raises(PreflightError) as caught:
        take_over(world)
    assert caught.value.code == "E-DRIFT" and world.tree() == before
    result, taken = take_over(world, theirs=["config:b.md"])
    assert taken.edited == ("config:b.md", "config:old/gone.md")
    assert (world.root / "b.md").read_text() == "my edit"
    assert (world.root / "old/gone.md").read_text() == "my edit too"  # not ours any more
    assert result.generations == {"host@default": 1}


def test_a_file_that_no_manifest_names_is_asked_about_only_where_it_differs(world: Any) -> None:
    install(world)
    (world.root / "new.md").write_text("new")
    _, taken = take_over(world)
    assert taken.unlisted == ()
    world.apply(None)
    assert not (world.root / "new.md").exists()


def test_one_that_differs_is_replaced_only_when_told(world: Any) -> None:
    install(world)
    (world.root / "new.md").write_text("whose?")
    with pytest.raises(PreflightError):
        take_over(world)
    result, taken = take_over(world, ours=["config:new.md"])
    assert taken.unlisted == ("config:new.md",) and (world.root / "new.md").read_text() == "new"
    assert str(world.root / "new.md") in result.kept


def test_nothing_is_written_before_the_gate(world: Any) -> None:
    before = install(world)

    def deny(items: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_over(world, decide=deny)
    assert world.tree() == before and world.current() is None
