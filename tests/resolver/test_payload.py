"""What a host gets of a GSD pack beside its skills, commands and agents."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.registry import load_builtin
from gsdlock.lockfiles.placeholders import has_placeholder
from gsdlock.resolver.layout import artifact_drafts
from gsdlock.resolver.pack import Pack
from gsdlock.resolver.surfaces import surface_drafts
from msgspec.structs import replace

Make = Callable[..., Any]

PACK = {
    "commands/gsd/help.md": "---\ndescription: Help\n---\n\nHelp.\n",
    "commands/gsd/graphify.md": "---\ndescription: Graph\n---\n\nGraph.\n",
    "agents/gsd-planner.md": "---\nname: gsd-planner\ndescription: Plans\n---\n\nPlan.\n",
    "gsd-core/workflows/help.md": "# Help\n",
    "+gsd-core/bin/gsd-tools.cjs": "// tools\n",
    "scripts/changeset/cli.cjs": "// cli\n",
    "scripts/lint-all.cjs": "// not installed\n",
    "scripts/fix-slash-commands.cjs": "// fix\n",
    "hooks/gsd-check-update.js": "// {{GSD_VERSION}}\n",
    "hooks/gsd-check-update-worker.js": "// worker\n",
    "hooks/gsd-context-monitor.js": "// monitor\n",
    "hooks/gsd-cursor-stop.js": "// cursor\n",
    "hooks/gsd-windsurf-pre-write.js": "// windsurf\n",
    "hooks/gsd-session-state.sh": "#!/bin/bash\n",
    "hooks/managed-hooks-registry.cjs": "// registry\n",
    "hooks/lib/git-cmd.js": "// git\n",
    "hooks/lib/isolation-sentinel.js": "// sentinel\n",
    "hooks/hooks.json": "{}",
    "hooks/dist/gsd-check-update.js": "// built\n",
    ".opencode/plugins/gsd-core.js": "// plugin\n",
    "pi/gsd.cjs": "// pi\n",
    "README.md": "# Pack\n",
    "CHANGELOG.md": "# Changes\n",
}
CORE = {
    "config:gsd-core/workflows/help.md",
    "config:gsd-core/bin/gsd-tools.cjs",
    "config:gsd-core/CHANGELOG.md",
    "config:gsd-core/VERSION",
    "config:gsd-core/.gsd-runtime",
    "config:.gsd-profile",
}
SCRIPTS = {"config:scripts/changeset/cli.cjs", "config:scripts/fix-slash-commands.cjs"}
ALL_HOOKS = {
    f"hooks/{name}"
    for name in (
        "gsd-check-update.js",
        "gsd-check-update-worker.js",
        "gsd-context-monitor.js",
        "gsd-cursor-stop.js",
        "gsd-windsurf-pre-write.js",
        "gsd-session-state.sh",
        "managed-hooks-registry.cjs",
        "lib/git-cmd.js",
        "lib/isolation-sentinel.js",
        "package.json",
    )
}


def under(root: str, paths: set[str], folder: str = "hooks") -> set[str]:
    return {f"{root}:{folder}{p.removeprefix('hooks')}" for p in paths}


CODEX_HOOKS = under(
    "config",
    {
        "hooks/gsd-check-update.js",
        "hooks/gsd-check-update-worker.js",
        "hooks/managed-hooks-registry.cjs",
        "hooks/gsd-context-monitor.js",
        "hooks/package.json",
    },
)

ON_HOSTS = [
    ("claude", "global", CORE | SCRIPTS | under("config", ALL_HOOKS)),
    ("claude", "local", CORE | SCRIPTS | under("config", ALL_HOOKS)),
    ("codex", "global", CORE | SCRIPTS | CODEX_HOOKS),
    (
        "opencode",
        "global",
        CORE
        | SCRIPTS
        | under("config", ALL_HOOKS)
        | {"config:plugins/gsd-core.js", "config:plugins/package.json"},
    ),
    # The pack has no plugin for kilo.
    ("kilo", "global", CORE | SCRIPTS | under("config", ALL_HOOKS)),
    (
        "pi",
        "global",
        CORE
        | SCRIPTS
        | under("config", ALL_HOOKS, "gsd-hooks")
        | {"config:extensions/gsd.js", "config:extensions/package.json"},
    ),
    ("kimi", "global", CORE | SCRIPTS | under("hooks-home", ALL_HOOKS)),
    ("kimi-code", "global", CORE | SCRIPTS | under("config", ALL_HOOKS)),
    (
        "cursor",
        "global",
        CORE
        | SCRIPTS
        | under(
            "config",
            {"hooks/gsd-cursor-stop.js", "hooks/lib/isolation-sentinel.js", "hooks/package.json"},
        ),
    ),
    (
        "windsurf",
        "global",
        CORE | SCRIPTS | under("config", {"hooks/gsd-windsurf-pre-write.js", "hooks/package.json"}),
    ),
    (
        "windsurf",
        "local",
        CORE
        | SCRIPTS
        | under("config", {"hooks/gsd-windsurf-pre-write.js", "hooks/package.json"})
        | {"config:gsd-core/commands/gsd/help.md", "config:gsd-core/commands/gsd/graphify.md"},
    ),
    ("trae", "global", CORE | SCRIPTS),
    ("zcode", "global", CORE | SCRIPTS),
    ("copilot", "global", CORE | SCRIPTS | {"config:hooks/gsd-session.json"}),
    (
        "cline",
        "local",
        CORE | SCRIPTS | {"config:.clinerules/gsd.md", "config:.clinerules/hooks/PreToolUse"},
    ),
    ("hermes", "global", CORE | SCRIPTS | under("config", ALL_HOOKS) | {"config:skills/gsd/DESCRIPTION.md"}),
]


def payload_of(listing: dict[str, str]) -> set[str]:
    """The paths of a listing without artifacts."""
    artifacts = ("skills/gsd-", "skills/gsd/gsd-", "agents/", "commands/", "command/", "workflows/")
    return {k for k in listing if not k.partition(":")[2].startswith(artifacts)}


@pytest.mark.parametrize(("runtime", "scope", "expected"), ON_HOSTS)
def test_the_payload_on_each_host(
    runtime: str, scope: str, expected: set[str], host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(PACK)
    got = listing(artifact_drafts(host(runtime), scope, pack, everything(pack)))
    assert payload_of(got) == expected


def test_markers_say_what_is_installed(host: Make, pack_of: Make, everything: Make, listing: Make) -> None:
    pack = pack_of(PACK)
    selection = everything(pack, profile="standard")
    got = listing(artifact_drafts(host("codex"), "global", pack, selection))
    assert got["config:gsd-core/VERSION"] == "1.11.0"
    assert got["config:gsd-core/.gsd-runtime"] == "codex\n"
    assert got["config:.gsd-profile"] == "standard\n"
    assert got["config:hooks/package.json"] == '{"type":"commonjs"}\n'
    assert got["config:hooks/gsd-check-update.js"] == "// 1.11.0\n"


def test_modes(host: Make, pack_of: Make, everything: Make) -> None:
    pack = pack_of(PACK)
    drafts = artifact_drafts(host("claude"), "global", pack, everything(pack))
    executable = {d.path for d in drafts if d.mode == 0o755}
    assert executable == {
        "gsd-core/bin/gsd-tools.cjs",  # as in the pack
        "hooks/gsd-check-update.js",
        "hooks/gsd-check-update-worker.js",
        "hooks/gsd-context-monitor.js",
        "hooks/gsd-cursor-stop.js",
        "hooks/gsd-windsurf-pre-write.js",
        "hooks/gsd-session-state.sh",
        "hooks/managed-hooks-registry.cjs",
        "hooks/lib/git-cmd.js",
    }
    assert {d.mode for d in drafts} == {0o755, 0o644}


def test_without_hooks_nothing_that_a_host_runs_by_itself_is_placed(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(PACK)
    for runtime in ("claude", "opencode", "kimi", "copilot", "cline"):
        got = listing(artifact_drafts(host(runtime), "global", pack, everything(pack, hooks=False)))
        assert not [k for k in got if "hooks/" in k or "plugins/" in k], runtime
        assert "config:gsd-core/workflows/help.md" in got


def test_a_plugin_that_is_the_only_way_to_the_pack_stays_without_hooks(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(PACK)
    got = listing(artifact_drafts(host("pi"), "global", pack, everything(pack, hooks=False)))
    assert "config:extensions/gsd.js" in got
    assert not [k for k in got if k.startswith("config:gsd-hooks/")]


def test_a_host_whose_payload_is_empty_gets_artifacts_only(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(PACK)
    got = listing(artifact_drafts(host("claude", payload=()), "global", pack, everything(pack)))
    assert payload_of(got) == set()


def test_a_feature_that_is_off_is_in_no_copy(
    host: Make, pack_of: Make, everything: Make, listing: Make, feature_of: Make
) -> None:
    """A newer pack copies its sources, and windsurf gets the bodies of commands: neither brings them back."""
    graph = replace(feature_of("graphify"), skills=("graphify",))
    pack: Pack = pack_of(PACK, version="1.14.0", known={"graphify": graph})
    off = replace(everything(pack), features=(), artifacts=tuple(a for a in pack.artifacts if not a.feature))
    for runtime, scope in (("claude", "global"), ("windsurf", "local")):
        on = listing(artifact_drafts(host(runtime), scope, pack, everything(pack)))
        without = listing(artifact_drafts(host(runtime), scope, pack, off))
        assert "config:gsd-core/commands/gsd/graphify.md" in on
        assert "config:gsd-core/commands/gsd/help.md" in without
        assert not [k for k in without if "graphify" in k]


SOURCES = "config:gsd-core/agents/gsd-planner.md"


@pytest.mark.parametrize(
    ("version", "copied"),
    [("1.8.0", False), ("1.11.0", False), ("1.14.0", True), ("1.14.0-rc.1", True), ("", True)],
)
def test_rules_hold_for_the_releases_that_they_name(
    version: str, copied: bool, host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(PACK, version=version)
    got = listing(artifact_drafts(host("claude"), "global", pack, everything(pack)))
    assert (SOURCES in got) is copied
    assert SOURCES not in listing(artifact_drafts(host("claude"), "local", pack, everything(pack)))


def test_a_pack_under_its_former_name_is_older_than_every_release(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    former = {p.replace("gsd-core/", "get-shit-done/"): t for p, t in PACK.items()}
    pack = pack_of(former, version="1.42.3")
    got = payload_of(listing(artifact_drafts(host("gemini"), "global", pack, everything(pack))))
    assert {k for k in got if not k.startswith("config:hooks/")} == {
        "config:get-shit-done/workflows/help.md",
        "config:get-shit-done/bin/gsd-tools.cjs",
        "config:get-shit-done/VERSION",
        "config:.gsd-profile",
    }


def test_content_that_is_no_text_is_copied_as_it_is(host: Make, pack_of: Make, everything: Make) -> None:
    odd = {"gsd-core/logo.md": b"\xff\xfe~/.claude/", "hooks/blob.js": b"\x80"}
    pack = pack_of({**PACK, **odd})
    drafts = {d.path: d.data for d in artifact_drafts(host("codex"), "global", pack, everything(pack))}
    assert drafts["gsd-core/logo.md"] == odd["gsd-core/logo.md"]


# The texts that are ours


def test_what_a_session_of_copilot_is_told_is_json_from_a_shell(
    host: Make, pack_of: Make, everything: Make, listing: Make, tmp_path: Path
) -> None:
    pack = pack_of(PACK)
    got = listing(artifact_drafts(host("copilot"), "global", pack, everything(pack)))
    document = json.loads(got["config:hooks/gsd-session.json"])
    assert document["version"] == 1
    events = document["hooks"]
    assert sorted(events) == [
        "postToolUse",
        "preToolUse",
        "sessionEnd",
        "sessionStart",
        "userPromptSubmitted",
    ]
    for entry in (e for group in events.values() for e in group):
        assert sorted(entry) == ["bash", "powershell", "timeoutSec", "type"]
        done = subprocess.run(["bash", "-c", entry["bash"]], cwd=tmp_path, stdout=subprocess.PIPE, check=True)
        assert list(json.loads(done.stdout)) == ["additionalContext"]


CALLS = [
    ({"toolName": "write_to_file", "parameters": {"path": ".planning/STATE.md"}}, True),
    ({"preToolUse": {"toolName": "replace_in_file", "parameters": {"path": "/a/.planning/x"}}}, True),
    ({"toolName": "write_to_file", "parameters": {"path": "src/a.py", "content": ".planning/"}}, False),
    ({"toolName": "write_to_file", "parameters": {"path": "docs/.planning-notes.md"}}, False),
    ({"toolName": "read_file", "parameters": {"path": ".planning/STATE.md"}}, False),
    ({}, False),
    (None, False),
]


def test_the_guard_of_cline_keeps_the_planning_folder(
    host: Make, pack_of: Make, everything: Make, listing: Make, tmp_path: Path
) -> None:
    import shutil

    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on the PATH")
    pack = pack_of(PACK)
    got = listing(artifact_drafts(host("cline"), "global", pack, everything(pack)))
    script = tmp_path / "PreToolUse"
    script.write_text(got["config:.clinerules/hooks/PreToolUse"])
    for call, cancelled in CALLS:
        text = "no json" if call is None else json.dumps(call)
        done = subprocess.run([node, script], input=text.encode(), stdout=subprocess.PIPE, check=True)
        assert json.loads(done.stdout)["cancel"] is cancelled, call


SURFACE = """\
const GSD_COPILOT_PRE_TOOL_MSG = 'GSD: is this in scope?';
const GSD_COPILOT_POST_TOOL_MSG = 'GSD: review it.';
function buildClineRulesBody() {
    return [
        '# Rules of the pack',
        '- Workflows are in `gsd-core/workflows/`, agents in `agents/`.',
    ].join('\\n') + '\\n';
}
"""
INSTALLER = """\
function writeHermesCategoryDescription(dir) {
  const body = [
    '---',
    `version: ${pkg.version}`,
    'description: What the pack says.',
    '---',
    '',
  ].join('\\n');
}
"""


def test_a_text_that_the_pack_has_words_for_is_in_its_words(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    files = {"gsd-core/bin/lib/runtime-hooks-surface.cjs": SURFACE, "bin/install.js": INSTALLER}
    pack = pack_of(PACK | files)

    def got(runtime: str, scope: str, file: str) -> str:
        return str(listing(artifact_drafts(host(runtime), scope, pack, everything(pack)))[file])

    hooks = json.loads(got("copilot", "global", "config:hooks/gsd-session.json"))["hooks"]
    (after,) = hooks["postToolUse"]
    assert after["bash"] == """printf '%s' '{"additionalContext":"GSD: review it."}'"""
    # A question mark is none of the characters that need no quotes: ours stand in, and it runs.
    assert "is this in scope" not in json.dumps(hooks["preToolUse"])
    rules = "# Rules of the pack\n- Workflows are in `gsd-core/workflows/`, agents in `agents/`."
    assert got("cline", "local", "config:.clinerules/gsd.md") == rules + "\n"
    at_home = rules.replace("`gsd", "`{{gsdlock:tilde:config}}/gsd")
    at_home = at_home.replace("`agents", "`{{gsdlock:tilde:config}}/agents")
    assert got("cline", "global", "config:.clinerules/gsd.md") == at_home + "\n"
    said = got("hermes", "global", "config:skills/gsd/DESCRIPTION.md")
    assert said == f"---\nversion: {pack.version}\ndescription: What the pack says.\n---\n"


def test_rules_name_the_config_folder_as_a_reader_of_that_scope_finds_it(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(PACK)
    at_home = listing(artifact_drafts(host("cline"), "global", pack, everything(pack)))
    assert "`{{gsdlock:tilde:config}}/agents/`" in at_home["config:.clinerules/gsd.md"]
    here = listing(artifact_drafts(host("cline"), "local", pack, everything(pack)))
    assert "`./agents/`" in here["config:.clinerules/gsd.md"]
    assert "gsdlock:" not in here["config:.clinerules/gsd.md"]


def local_hosts() -> list[str]:
    """The hosts that take a local install."""
    return [
        r.id
        for r in load_builtin().runtimes.values()
        if r.local_config_dir and not r.host_behaviors.get("localInstallDeferred")
    ]


@pytest.mark.parametrize("runtime", local_hosts())
def test_a_local_target_holds_no_path_of_this_machine(
    runtime: str, host: Make, pack_of: Make, everything: Make
) -> None:
    """So that it can be committed with the project."""
    pack = pack_of(
        {**PACK, "gsd-core/workflows/paths.md": "Read ~/.claude/gsd-core/x and $HOME/.claude/y.\n"}
    )
    drafts = artifact_drafts(host(runtime), "local", pack, everything(pack))
    assert not [d.path for d in drafts if has_placeholder(d.data)]
    edits = surface_drafts(host(runtime), "local", pack, everything(pack)).edits
    assert not [e for e in edits if has_placeholder(f"{e.at} {e.value}".encode())]
