"""What a GSD pack puts into files that the user or the host shares: hooks, switches, blocks of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.resolver.drafts import EditDraft
from gsdlock.resolver.surfaces import surface_drafts

Make = Callable[..., Any]

PACK = {
    "commands/gsd/help.md": "---\ndescription: Help\n---\n\nHelp.\n",
    "agents/gsd-planner.md": "---\nname: gsd-planner\ndescription: Plans\n---\n\nPlan.\n",
    "gsd-core/templates/copilot-instructions.md": "# Instructions\n\n- Use the skills.\n",
    "hooks/gsd-check-update.js": "",
    "hooks/gsd-session-state.sh": "",
    "hooks/gsd-context-monitor.js": "",
    "hooks/gsd-config-reload.js": "",
    "hooks/gsd-write-guard.js": "",
    "hooks/gsd-statusline.js": "",
    "hooks/gsd-cursor-stop.js": "",
    "hooks/gsd-windsurf-pre-write.js": "",
    "bin/gsd-mcp-server.js": "",
}
Drafted = Callable[..., tuple[EditDraft, ...]]


@pytest.fixture
def drafted(host: Make, pack_of: Make, everything: Make) -> Drafted:
    """The edits of the pack on a host."""

    def draft(
        runtime: str, scope: str = "global", version: str = "1.11.0", axes: Any = None, **options: Any
    ) -> tuple[EditDraft, ...]:
        pack = pack_of(PACK, version=version)
        drafts = surface_drafts(host(runtime, **(axes or {})), scope, pack, everything(pack, **options))
        assert not drafts.omissions
        assert not drafts.files
        return drafts.edits

    return draft


def hooks_of(edits: tuple[EditDraft, ...]) -> list[tuple[str, str, str, int]]:
    """Event, matcher, script and timeout of each hook."""
    rows = []
    for edit in edits:
        if edit.op.value == "append-unique" and edit.at.startswith("/hooks"):
            entry = edit.value
            inner = entry["hooks"][0] if "hooks" in entry else entry
            event = entry.get("event") or edit.at.removeprefix("/hooks/")
            script = inner["command"].rstrip('}"').rpartition("/")[2]
            rows.append((event, entry.get("matcher", ""), script, inner.get("timeout", 0)))
    return rows


MONITOR = "gsd-context-monitor.js"
TOOLS = "Bash|Edit|Write|MultiEdit|Agent|Task"
COMMON = [
    ("SessionStart", "", "gsd-check-update.js", 0),
    ("SessionStart", "", "gsd-session-state.sh", 0),
    ("PostToolUse", TOOLS, MONITOR, 10),
    ("PreToolUse", "Write", "gsd-write-guard.js", 5),
]

REGISTERED = [
    (
        "claude",
        [
            *COMMON,
            *[(e, "", MONITOR, 10) for e in ("SubagentStop", "Stop", "PreCompact")],
            ("FileChanged", "config.json", "gsd-config-reload.js", 8),
        ],
    ),
    ("augment", COMMON),
    (
        "qwen",
        [*COMMON, *[(e, "", MONITOR, 10) for e in ("SubagentStop", "Stop", "PreCompact", "SubagentStart")]],
    ),
    (
        "antigravity",
        [
            ("SessionStart", "", "gsd-check-update.js", 0),
            ("SessionStart", "", "gsd-session-state.sh", 0),
            ("AfterTool", TOOLS, MONITOR, 10),
            ("BeforeTool", "Write", "gsd-write-guard.js", 5),
        ],
    ),
    (
        # This host counts in milliseconds.
        "gemini",
        [
            ("SessionStart", "", "gsd-check-update.js", 0),
            ("SessionStart", "", "gsd-session-state.sh", 0),
            ("AfterTool", TOOLS, MONITOR, 10_000),
            ("BeforeTool", "Write", "gsd-write-guard.js", 5_000),
            *[(e, "", MONITOR, 10_000) for e in ("BeforeAgent", "AfterAgent", "BeforeModel")],
        ],
    ),
    (
        "codex",
        [
            ("SessionStart", "", "gsd-check-update.js", 0),
            *[
                (e, "", MONITOR, 10)
                for e in (
                    "SubagentStart",
                    "Stop",
                    "PostToolUse",
                    "PreToolUse",
                    "PermissionRequest",
                    "PreCompact",
                    "PostCompact",
                    "SubagentStop",
                    "UserPromptSubmit",
                )
            ],
        ],
    ),
    ("cursor", [("stop", "", "gsd-cursor-stop.js", 0)]),
    ("windsurf", [("pre_write_code", "", "gsd-windsurf-pre-write.js", 0)]),
    (
        "kimi",
        [
            ("SessionStart", "", "gsd-check-update.js", 0),
            ("SessionStart", "", "gsd-session-state.sh", 0),
            ("PreToolUse", "WriteFile", "gsd-write-guard.js", 5),
            ("PostToolUse", "", MONITOR, 10),
            *[(e, "", MONITOR, 10) for e in ("Stop", "PreCompact", "SubagentStart", "SubagentStop")],
        ],
    ),
    ("hermes", []),
    ("opencode", []),
    ("kilo", []),
    ("pi", []),
    ("trae", []),
    ("zcode", []),
]


@pytest.mark.parametrize(("runtime", "rows"), REGISTERED)
def test_the_hooks_of_the_pack_on_each_host(
    runtime: str, rows: list[tuple[str, str, str, int]], drafted: Drafted
) -> None:
    assert hooks_of(drafted(runtime)) == rows


def test_a_script_that_the_pack_has_not_is_not_registered(
    host: Make, pack_of: Make, everything: Make
) -> None:
    bare = {p: t for p, t in PACK.items() if not p.startswith("hooks/")}
    pack = pack_of(bare)
    drafts = surface_drafts(host("claude"), "global", pack, everything(pack))
    assert hooks_of(drafts.edits) == []
    assert "/statusLine" not in {e.at for e in drafts.edits}


def test_newer_releases_give_their_guards_more_time(drafted: Drafted) -> None:
    def guard(version: str) -> tuple[str, str, str, int]:
        return next(h for h in hooks_of(drafted("claude", version=version)) if "write-guard" in h[2])

    assert guard("1.8.0")[3] == guard("1.11.0")[3] == 5
    assert guard("1.14.0")[3] == 120


def test_a_newer_release_has_one_hook_on_codex(drafted: Drafted) -> None:
    assert hooks_of(drafted("codex", version="1.14.0")) == [("SessionStart", "", "gsd-check-update.js", 0)]


def test_entries_of_the_pack_carry_what_its_own_tools_look_for(drafted: Drafted) -> None:
    edit = next(e for e in drafted("cursor") if e.at == "/hooks/stop")
    assert edit.value["gsd-managed"] is True


def test_without_hooks_nothing_runs(drafted: Drafted) -> None:
    for runtime in ("claude", "codex", "cursor", "kimi", "gemini"):
        edits = drafted(runtime, hooks=False)
        assert not [e for e in edits if e.executes], runtime
        assert not [e for e in edits if e.at.startswith(("/hooks", "/features", "/version"))], runtime


def test_every_entry_that_runs_something_says_so(drafted: Drafted) -> None:
    for runtime in ("claude", "codex", "opencode", "augment"):
        for edit in drafted(runtime):
            runs = edit.at.startswith(("/hooks", "/mcp", "/statusLine"))
            assert edit.executes is runs, (runtime, edit.at)


# Settings

CLAUDE_ALLOW = [
    "Bash(npx gsd-core *)",
    "Read(.planning/*)",
    "Edit(.planning/*)",
    "Read(STATE.md)",
    "Edit(STATE.md)",
]
CLAUDE_DENY = ["Read(.env)", "Read(.env.*)", "Read(.secrets)"]
SERVER = ["-y", "-p", "@opengsd/gsd-core@1.11.0", "gsd-mcp-server"]
GRANT = "{{gsdlock:tilde:config~1gsd-core}}~1*"

SWITCHES = [
    (
        "claude",
        "global",
        [
            (
                "config:settings.json",
                "set-if-absent",
                "/statusLine",
                {
                    "type": "command",
                    "command": "{{gsdlock:sh:tool.node}} {{gsdlock:sh:config/hooks/gsd-statusline.js}}",
                },
            ),
            *[("config:settings.json", "append-unique", "/permissions/allow", v) for v in CLAUDE_ALLOW],
            *[("config:settings.json", "append-unique", "/permissions/deny", v) for v in CLAUDE_DENY],
        ],
    ),
    (
        "claude",
        "local",
        [
            *[("config:settings.local.json", "append-unique", "/permissions/allow", v) for v in CLAUDE_ALLOW],
            *[("config:settings.local.json", "append-unique", "/permissions/deny", v) for v in CLAUDE_DENY],
            ("config:settings.local.json", "set-if-absent", "/worktree/baseRef", "head"),
        ],
    ),
    (
        "codex",
        "global",
        [
            ("config:config.toml", "ensure", "/features/hooks", True),
            ("config:config.toml", "set-if-absent", "/agents/max_depth", 1),
        ],
    ),
    (
        "opencode",
        "global",
        [
            ("config:opencode.json", "set-if-absent", f"/permission/read/{GRANT}", "allow"),
            ("config:opencode.json", "set-if-absent", f"/permission/external_directory/{GRANT}", "allow"),
            (
                "config:opencode.json",
                "set-if-absent",
                "/mcp/gsd",
                {"type": "local", "command": ["npx", *SERVER], "enabled": True},
            ),
        ],
    ),
    (
        # Inside the project nothing has to be granted, and no path of this machine is written.
        "opencode",
        "local",
        [
            (
                "config:opencode.json",
                "set-if-absent",
                "/mcp/gsd",
                {"type": "local", "command": ["npx", *SERVER], "enabled": True},
            )
        ],
    ),
    (
        "kilo",
        "global",
        [
            ("config:kilo.json", "set-if-absent", f"/permission/read/{GRANT}", "allow"),
            ("config:kilo.json", "set-if-absent", f"/permission/external_directory/{GRANT}", "allow"),
        ],
    ),
    ("kilo", "local", []),
    (
        "antigravity",
        "local",
        [
            *[
                ("config:settings.json", "append-unique", "/permissions/allow", v)
                for v in (
                    "read_file(.agents/gsd-core/*)",
                    "read_file(.agents/agents/gsd-*)",
                    "read_file(.agents/skills/gsd-*)",
                    "command(node .agents/hooks/*)",
                )
            ],
            (
                "config:mcp_config.json",
                "set-if-absent",
                "/mcpServers/gsd",
                {"command": "npx", "args": SERVER},
            ),
        ],
    ),
    (
        "augment",
        "global",
        [("config:settings.json", "set-if-absent", "/mcpServers/gsd", {"command": "npx", "args": SERVER})],
    ),
    ("qwen", "global", []),
    ("hermes", "global", []),
    ("cursor", "global", [("config:hooks.json", "set-if-absent", "/version", 1)]),
    (
        "copilot",
        "global",
        [("config:copilot-instructions.md", "block", "gsd", "# Instructions\n\n- Use the skills.")],
    ),
    (
        "copilot",
        "local",
        [
            ("config:copilot-instructions.md", "block", "gsd", "# Instructions\n\n- Use the skills."),
            ("project:AGENTS.md", "block", "gsd", "# Instructions\n\n- Use the skills."),
        ],
    ),
    ("trae", "global", []),
    ("vscode", "global", []),
]


@pytest.mark.parametrize(("runtime", "scope", "expected"), SWITCHES)
def test_the_switches_of_the_pack_on_each_host(
    runtime: str, scope: str, expected: list[Any], drafted: Drafted, entries: Make
) -> None:
    rows = [r for r in entries(drafted(runtime, scope)) if not r[2].startswith("/hooks")]
    assert list({str(r): r for r in rows}.values()) == expected


def test_a_newer_release_guards_secrets_by_a_hook_and_denies_nothing(drafted: Drafted) -> None:
    places = {e.at for e in drafted("claude", version="1.14.0")}
    assert "/permissions/allow" in places and "/permissions/deny" not in places


def test_an_existing_jsonc_is_edited_in_place_of_the_usual_file(drafted: Drafted) -> None:
    for runtime in ("opencode", "kilo"):
        assert {e.instead for e in drafted(runtime)} == {(f"{runtime}.jsonc",)}


def test_the_block_of_cline_lies_where_all_agents_read_it(drafted: Drafted) -> None:
    (edit,) = drafted("cline")
    assert (edit.root, edit.path, edit.at) == ("agents-home", "AGENTS.md", "gsd")
    assert "{{gsdlock:tilde:config}}/gsd-core/workflows/" in edit.value
    assert not edit.value.endswith("\n")
    assert drafted("cline", "local") == ()


def test_a_pack_that_says_no_version_names_its_server_without_one(drafted: Drafted) -> None:
    edit = next(e for e in drafted("opencode", version="0.0.0-none") if e.at == "/mcp/gsd")
    assert edit.value["command"][3] == "@opengsd/gsd-core@0.0.0-none"


def test_a_host_without_that_part_of_the_payload_gets_no_server_and_no_status_line(drafted: Drafted) -> None:
    from gsdlock.capabilities.vocabulary import DEFAULT_PAYLOAD

    assert "/mcp/gsd" not in {e.at for e in drafted("opencode", axes={"payload": DEFAULT_PAYLOAD})}
    assert "/statusLine" not in {e.at for e in drafted("claude", axes={"payload": DEFAULT_PAYLOAD})}
    assert drafted("claude", axes={"payload": ()}) == ()


def test_other_packs_bring_none_of_this(host: Make, pack_of: Make, everything: Make) -> None:
    skills = {"greet/SKILL.md": "---\nname: greet\ndescription: Hi\n---\n", "hooks/gsd-check-update.js": ""}
    pack = pack_of(skills)
    for runtime in ("claude", "opencode", "copilot"):
        assert surface_drafts(host(runtime), "global", pack, everything(pack)).edits == ()
