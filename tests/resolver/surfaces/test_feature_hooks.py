"""Hooks of features: their scripts as files, their events and tools in the words of each host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.resolver.pack import Pack
from gsdlock.resolver.selection import Selection
from gsdlock.resolver.surfaces.feature_hooks import feature_hook_drafts
from msgspec.structs import replace

Make = Callable[..., Any]

TREE = {
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Says hello\n---\n",
    "hooks/greet.sh": "#!/bin/sh\n",
    "hooks/lib/words.txt": "hello\n",
    "+hooks/lib/helper.sh": "#!/bin/sh\n",
    "tools/check.py": "pass\n",
    "alone.js": "// alone\n",
}
Drafted = Callable[..., Any]


@pytest.fixture
def drafted(host: Make, pack_of: Make, feature_of: Make) -> Drafted:
    """The drafts of one feature with the given hooks on a host."""

    def draft(
        runtime: str, *hooks: tuple[str, ...], scope: str = "global", on: bool = True, **options: Any
    ) -> Any:
        pack = pack_of(TREE)
        selection = Selection((feature_of("greet", hooks),), pack.artifacts, hooks=on, **options)
        return feature_hook_drafts(host(runtime), scope, pack, selection)

    return draft


def commands(value: dict[str, Any]) -> list[str]:
    """The commands of an entry, whatever its shape."""
    return [h.get("command") or h.get("bash") for h in value.get("hooks", [value])]


GREET = "hooks/greet/greet.sh"
LINE = "{{gsdlock:sh:tool.bash}} {{gsdlock:sh:config/hooks/greet/greet.sh}}"

ENTRIES = [
    # runtime, hook, file, place, entry
    (
        "claude",
        ("Stop", "hooks/greet.sh"),
        "config:settings.json",
        "/hooks/Stop",
        {"hooks": [{"type": "command", "command": LINE}]},
    ),
    (
        "claude",
        ("PreToolUse", "hooks/greet.sh", "Bash|Write"),
        "config:settings.json",
        "/hooks/PreToolUse",
        {"matcher": "Bash|Write", "hooks": [{"type": "command", "command": LINE}]},
    ),
    (
        # The host's own names of events go through: a new one needs no new gsdlock.
        "claude",
        ("BrandNewEvent", "hooks/greet.sh"),
        "config:settings.json",
        "/hooks/BrandNewEvent",
        {"hooks": [{"type": "command", "command": LINE}]},
    ),
    (
        "gemini",
        ("PreToolUse", "hooks/greet.sh", "Bash|Edit|MultiEdit|mcp__.*"),
        "config:settings.json",
        "/hooks/BeforeTool",
        {
            "matcher": "run_shell_command|replace|mcp__.*",
            "hooks": [{"type": "command", "command": LINE}],
        },
    ),
    (
        "codex",
        ("PostToolUse", "hooks/greet.sh", "Bash"),
        "config:hooks.json",
        "/hooks/PostToolUse",
        {"matcher": "Bash", "hooks": [{"type": "command", "command": LINE}]},
    ),
    (
        "cursor",
        ("PreToolUse", "hooks/greet.sh", "Bash|Edit|Write"),
        "config:hooks.json",
        "/hooks/preToolUse",
        {"type": "command", "command": LINE, "matcher": "Shell|Write"},
    ),
    (
        "windsurf",
        ("PreToolUse", "hooks/greet.sh", "Write|Edit"),
        "config:hooks.json",
        "/hooks/pre_write_code",
        {"command": LINE},
    ),
    (
        "copilot",
        ("SessionStart", "hooks/greet.sh"),
        "config:hooks/greet.json",
        "/hooks/sessionStart",
        {"type": "command", "bash": LINE},
    ),
    (
        "kimi",
        ("PreToolUse", "hooks/greet.sh", "Write"),
        "hooks-home:config.toml",
        "/hooks",
        {
            "event": "PreToolUse",
            "matcher": "WriteFile",
            "command": LINE.replace("config/", "hooks-home/"),
        },
    ),
    (
        "kimi-code",
        ("Stop", "hooks/greet.sh"),
        "config:config.toml",
        "/hooks",
        {"event": "Stop", "command": LINE},
    ),
    (
        "hermes",
        ("PreToolUse", "hooks/greet.sh", "Bash"),
        "config:config.yaml",
        "/hooks/pre_tool_call",
        {"matcher": "terminal", "command": LINE},
    ),
]


@pytest.mark.parametrize(("runtime", "hook", "file", "at", "entry"), ENTRIES)
def test_a_hook_in_the_words_of_each_host(
    runtime: str, hook: tuple[str, ...], file: str, at: str, entry: dict[str, Any], drafted: Drafted
) -> None:
    drafts = drafted(runtime, hook)
    edit = drafts.edits[-1]
    assert f"{edit.root}:{edit.path}" == file
    assert (edit.op.value, edit.at, edit.value) == ("append-unique", at, entry)
    assert edit.executes
    assert edit.origin.feature == "greet" and edit.origin.artifact == "hook/hooks/greet.sh"
    assert not drafts.omissions


BEFORE = [
    ("codex", ("config:config.toml", "ensure", "/features/hooks", True)),
    ("cursor", ("config:hooks.json", "set-if-absent", "/version", 1)),
    ("copilot", ("config:hooks/greet.json", "set-if-absent", "/version", 1)),
]


@pytest.mark.parametrize(("runtime", "expected"), BEFORE)
def test_what_the_host_needs_before_it_takes_a_hook(
    runtime: str, expected: tuple[str, str, str, Any], drafted: Drafted, entries: Make
) -> None:
    drafts = drafted(runtime, ("SessionStart", "hooks/greet.sh"))
    assert entries(drafts.edits)[0] == expected
    assert not drafts.edits[0].executes


def test_codex_gets_no_key_beside_its_hooks(drafted: Drafted) -> None:
    """Any other key at the top of hooks.json makes the host drop the whole file."""
    drafts = drafted("codex", ("Stop", "hooks/greet.sh"), ("SessionStart", "alone.js"))
    assert {e.at.split("/")[1] for e in drafts.edits if e.path == "hooks.json"} == {"hooks"}


@pytest.mark.parametrize("matcher", ["", "*", ".*"])
def test_a_matcher_for_everything_is_none(matcher: str, drafted: Drafted) -> None:
    for runtime in ("claude", "copilot", "kimi"):
        drafts = drafted(runtime, ("PreToolUse", "hooks/greet.sh", matcher))
        assert not drafts.omissions
        assert "matcher" not in drafts.edits[-1].value


def test_a_host_with_an_event_for_each_kind_of_tool_gets_those_that_match(drafted: Drafted) -> None:
    def events(*matcher: str) -> list[str]:
        edits = drafted("windsurf", ("PreToolUse", "hooks/greet.sh", *matcher)).edits
        return [e.at for e in edits]

    assert events("Bash|Read") == ["/hooks/pre_run_command", "/hooks/pre_read_code"]
    assert events() == ["/hooks/pre_write_code", "/hooks/pre_run_command", "/hooks/pre_read_code"]


LEFT_OUT = [
    ("codex", "global", ("FileChanged", "hooks/greet.sh"), "no such event"),
    ("kimi", "global", ("MadeUp", "hooks/greet.sh"), "no such event"),
    ("copilot", "global", ("PreToolUse", "hooks/greet.sh", "Bash"), "cannot restrict a hook to Bash"),
    ("windsurf", "global", ("PreToolUse", "hooks/greet.sh", "WebFetch"), "no event for WebFetch"),
    ("opencode", "global", ("Stop", "hooks/greet.sh"), "takes no hooks from files"),
    ("cline", "global", ("Stop", "hooks/greet.sh"), "takes no hooks from files"),
    ("hermes", "local", ("Stop", "hooks/greet.sh"), "takes no hooks from a project"),
]


@pytest.mark.parametrize(("runtime", "scope", "hook", "reason"), LEFT_OUT)
def test_what_the_host_has_no_words_for_is_left_out_and_said(
    runtime: str, scope: str, hook: tuple[str, ...], reason: str, drafted: Drafted
) -> None:
    drafts = drafted(runtime, hook, scope=scope)
    assert drafts.edits == () and drafts.files == ()
    (omission,) = drafts.omissions
    assert omission.feature == "greet"
    assert omission.what == f"the {hook[0]} hook hooks/greet.sh"
    assert reason in omission.reason


def test_a_script_comes_with_its_neighbours(drafted: Drafted) -> None:
    files = {f"{f.root}:{f.path}": f for f in drafted("claude", ("Stop", "hooks/greet.sh")).files}
    assert {k: f.mode for k, f in files.items()} == {
        "config:hooks/greet/greet.sh": 0o755,
        "config:hooks/greet/lib/words.txt": 0o644,
        "config:hooks/greet/lib/helper.sh": 0o755,
    }
    assert files["config:hooks/greet/lib/words.txt"].data == b"hello\n"


def test_a_script_at_the_top_of_the_pack_comes_alone(drafted: Drafted) -> None:
    drafts = drafted("claude", ("Stop", "alone.js"))
    assert [f.path for f in drafts.files] == ["hooks/greet/alone.js"]
    assert "config/hooks/greet/alone.js" in commands(drafts.edits[-1].value)[0]


def test_scripts_of_one_feature_share_their_folder(drafted: Drafted) -> None:
    hooks = (("Stop", "hooks/greet.sh"), ("SessionStart", "hooks/lib/helper.sh"), ("Stop", "tools/check.py"))
    drafts = drafted("claude", *hooks)
    modes = {f.path: f.mode for f in drafts.files}
    assert len(modes) == len(drafts.files)
    assert modes["hooks/greet/greet.sh"] == modes["hooks/greet/lib/helper.sh"] == 0o755
    assert modes["hooks/greet/check.py"] == 0o755


def test_two_features_never_meet(host: Make, pack_of: Make, feature_of: Make) -> None:
    pack = pack_of(TREE)
    both = tuple(feature_of(i, (("Stop", "hooks/greet.sh"),)) for i in ("one", "two"))
    drafts = feature_hook_drafts(host("claude"), "global", pack, Selection(both, pack.artifacts))
    assert {f.path.split("/")[1] for f in drafts.files} == {"one", "two"}
    assert len({e.value["hooks"][0]["command"] for e in drafts.edits}) == 2


def test_the_hooks_folder_of_a_host_is_where_it_says(drafted: Drafted) -> None:
    (script, *_) = drafted("kimi", ("Stop", "hooks/greet.sh")).files
    assert (script.root, script.path) == ("hooks-home", GREET)


def test_local_hooks_hold_no_path_of_this_machine(drafted: Drafted) -> None:
    drafts = drafted("claude", ("Stop", "hooks/greet.sh"), scope="local")
    (edit,) = drafts.edits
    assert edit.path == "settings.local.json"
    assert commands(edit.value) == ['bash "$CLAUDE_PROJECT_DIR"/.claude/hooks/greet/greet.sh']


def test_portable_hooks_name_no_path_of_this_machine(drafted: Drafted) -> None:
    drafts = drafted("claude", ("Stop", "hooks/greet.sh"), portable_hooks=True)
    assert commands(drafts.edits[-1].value) == ["bash {{gsdlock:sh-home:config/hooks/greet/greet.sh}}"]


def test_without_hooks_there_is_nothing(drafted: Drafted) -> None:
    drafts = drafted("claude", ("Stop", "hooks/greet.sh"), on=False)
    assert (drafts.files, drafts.edits, drafts.omissions) == ((), (), ())


def test_features_in_folders_of_their_own_find_their_scripts(
    host: Make, pack_of: Make, feature_of: Make
) -> None:
    tree = {**TREE, "capabilities/deep/run.sh": "#!/bin/sh\n", "capabilities/deep/notes.md": "x\n"}
    pack: Pack = pack_of(tree)
    selection = Selection((feature_of("deep", (("Stop", "run.sh"),)),), pack.artifacts)
    drafts = feature_hook_drafts(host("claude"), "global", pack, selection)
    assert [f.path for f in drafts.files] == ["hooks/deep/run.sh"]


def test_a_script_that_is_not_in_the_pack_is_an_error(host: Make, pack_of: Make, feature_of: Make) -> None:
    pack = pack_of(TREE)
    selection = Selection((feature_of("greet", (("Stop", "hooks/gone.sh"),)),), pack.artifacts)
    with pytest.raises(GsdlockError) as caught:
        feature_hook_drafts(host("claude"), "global", pack, selection)
    assert (caught.value.code, caught.value.status) == ("E-PACK-SCRIPT", 3)
    assert "hooks/gone.sh" in caught.value.what


def test_a_dialect_is_an_axis_and_not_a_name(host: Make, pack_of: Make, feature_of: Make) -> None:
    pack = pack_of(TREE)
    selection = Selection((feature_of("greet", (("Stop", "hooks/greet.sh"),)),), pack.artifacts)
    other = replace(host("trae"), hook_dialect=host("cursor").hook_dialect)
    drafts = feature_hook_drafts(other, "global", pack, selection)
    assert [e.at for e in drafts.edits] == ["/version", "/hooks/stop"]
