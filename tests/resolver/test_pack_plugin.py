"""Reading a Claude plugin folder as a pack: what it brings, its hooks and its servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.resolver.pack import Pack, PackLayout
from msgspec.structs import replace

from .packkit import feature, listed, read, refusal


class TestPlugin:
    @staticmethod
    def files(manifest: Mapping[str, Any] | None = None) -> dict[str, str]:
        return {".claude-plugin/plugin.json": json.dumps({"name": "my-plugin", **(manifest or {})})}

    def test_the_usual_folders(self) -> None:
        manifest = {"version": "2.1.0", "description": "Does things."}
        pack = read(
            self.files(manifest)
            | {
                "skills/a/SKILL.md": "",
                "skills/a/more.md": "",
                "skills/deep/b/SKILL.md": "",
                "commands/deploy.md": "",
                "commands/team/deploy.md": "",
                "agents/reviewer.md": "",
                "agents/README.md": "",
                "README.md": "",
            }
        )
        assert pack.layout is PackLayout.PLUGIN
        assert set(listed(pack)) == {
            "skill/a",
            "command/deploy",
            "command/team-deploy",
            "agent/reviewer",
        }
        (only,) = pack.features
        assert (only.id, only.version, only.description, only.tier) == (
            "my-plugin",
            "2.1.0",
            "Does things.",
            "core",
        )
        assert set(listed(pack).values()) == {"my-plugin"}
        assert (only.skills, only.agents) == (("a",), ("reviewer",))
        assert pack.version == "2.1.0"

    @pytest.mark.parametrize(
        ("manifest", "expected"),
        [
            ({"skills": "./extra"}, {"skill/a", "skill/x"}),
            ({"skills": ["./extra/x"]}, {"skill/a", "skill/x"}),
            ({"commands": "./extra/cmd.md"}, {"skill/a", "command/cmd"}),
            ({"commands": ["./extra/"]}, {"skill/a", "command/cmd", "command/x-SKILL"}),
            ({"agents": ["extra/cmd.md"]}, {"skill/a", "agent/cmd"}),
            ({"commands": "${CLAUDE_PLUGIN_ROOT}/extra/cmd.md"}, {"skill/a", "command/cmd"}),
        ],
    )
    def test_named_paths_come_on_top(self, manifest: dict[str, Any], expected: set[str]) -> None:
        files = {"skills/a/SKILL.md": "", "extra/x/SKILL.md": "", "extra/cmd.md": ""}
        assert set(listed(read(self.files(manifest) | files))) == expected

    def test_the_whole_plugin_may_be_one_skill(self) -> None:
        pack = read(self.files({"skills": "./"}) | {"SKILL.md": "", "scripts/x.py": ""})
        (skill,) = pack.artifacts
        assert skill.stem == "demo"
        assert skill.files == ("SKILL.md", ".claude-plugin/plugin.json", "scripts/x.py")

    @pytest.mark.parametrize("path", ["../x", "/etc", "./../x", "a\\b", "./a/../../b"])
    def test_a_path_out_of_the_plugin(self, path: str) -> None:
        error = refusal(self.files({"commands": [path]}))
        assert error.code == "E-PACK-PLUGIN"

    @pytest.mark.parametrize(
        "manifest",
        [
            {"commands": "./nope.md"},
            {"agents": ["./nope"]},
            {"skills": "./nope"},
            {"hooks": "./nope.json"},
            {"mcpServers": "./nope.json"},
        ],
    )
    def test_a_path_that_names_nothing(self, manifest: dict[str, Any]) -> None:
        error = refusal(self.files(manifest) | {"skills/a/SKILL.md": ""})
        assert error.code == "E-PACK-ARTIFACT-MISSING"
        assert "nope" in error.what

    @pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "[" * 5000])
    def test_a_manifest_that_is_none(self, text: str) -> None:
        assert refusal({".claude-plugin/plugin.json": text}).code == "E-PACK-PLUGIN"

    @pytest.mark.parametrize("name", ["hooks/hooks.json", ".mcp.json"])
    def test_a_file_of_settings_that_does_not_parse(self, name: str) -> None:
        error = refusal(self.files() | {name: "{,}"})
        assert error.code == "E-PACK-PLUGIN"
        assert name in error.what

    @pytest.mark.parametrize(
        ("name", "id_"),
        [
            ("my-plugin", "my-plugin"),
            ("My Plugin!", "my-plugin"),
            ("@acme/tools", "acme-tools"),
            ("7zip", "pack-7zip"),
            ("日本", "pack"),
            ("ui", "pack-ui"),
            ("constructor", "pack-constructor"),
        ],
    )
    def test_the_id_of_its_feature(self, name: str, id_: str) -> None:
        files = self.files({"name": name}) | {"skills/a/SKILL.md": ""}
        assert read(files, known={"ui": feature("ui")}).features[0].id == id_

    def test_words_that_do_not_fit_into_a_descriptor_are_made_to(self) -> None:
        manifest = {"displayName": "a\nb", "description": "x" * 9000, "version": "1.0"}
        (only,) = read(self.files(manifest) | {"skills/a/SKILL.md": ""}).features
        assert (only.title, len(only.description), only.version) == ("a b", 4000, "0.0.0")


class TestPluginHooks:
    @staticmethod
    def pack(hooks: Any, /, **more: Any) -> Pack:
        scripts = dict.fromkeys(("hooks/x.js", "hooks/y.sh", "hooks/z.py", "bin/tool"), "")
        return read(TestPlugin.files(more) | scripts | {"hooks/hooks.json": json.dumps(hooks)})

    @staticmethod
    def group(command: str, **more: str) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": command, "timeout": 5}], **more}

    def test_a_script_of_the_plugin_becomes_a_hook_of_the_feature(self) -> None:
        pack = self.pack(
            {
                "description": "x",
                "hooks": {
                    "SessionStart": [self.group('node "${CLAUDE_PLUGIN_ROOT}/hooks/x.js"')],
                    "PreToolUse": [self.group("$CLAUDE_PLUGIN_ROOT/hooks/y.sh", matcher="Write|Edit")],
                    "Stop": [self.group("python3 ${CLAUDE_PLUGIN_ROOT}/hooks/z.py")],
                },
            }
        )
        (only,) = pack.features
        assert [(h.event, h.script, h.matcher) for h in only.hooks] == [
            ("SessionStart", "hooks/x.js", None),
            ("PreToolUse", "hooks/y.sh", "Write|Edit"),
            ("Stop", "hooks/z.py", None),
        ]
        assert pack.notices == ()

    @pytest.mark.parametrize(
        "command",
        [
            "echo hello",
            "node ${CLAUDE_PLUGIN_ROOT}/hooks/x.js --flag",
            "bun run ${CLAUDE_PLUGIN_ROOT}/hooks/x.js",
            "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/x.js",
            "node ${CLAUDE_PLUGIN_ROOT}/../evil.js",
            "node ${CLAUDE_PLUGIN_ROOT}/hooks/../../evil.js",
            "${CLAUDE_PLUGIN_ROOT}/hooks/x.js; rm -rf /",
            '"unclosed',
            "",
        ],
    )
    def test_anything_more_is_left_out_with_a_notice(self, command: str) -> None:
        pack = self.pack({"hooks": {"Stop": [self.group(command)]}})
        assert pack.features[0].hooks == ()
        (notice,) = pack.notices
        assert "Stop" in notice and "left out" in notice

    def test_other_kinds_of_handler_are_left_out_with_a_notice(self) -> None:
        pack = self.pack({"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}, "odd"]}})
        assert pack.features[0].hooks == () and len(pack.notices) == 2

    def test_a_script_that_is_not_in_the_plugin(self) -> None:
        with pytest.raises(GsdlockError) as caught:
            self.pack({"hooks": {"Stop": [self.group("${CLAUDE_PLUGIN_ROOT}/hooks/nope.sh")]}})
        assert caught.value.code == "E-PACK-ARTIFACT-MISSING"

    def test_hooks_in_the_manifest_itself(self) -> None:
        inline = {"Stop": [self.group("${CLAUDE_PLUGIN_ROOT}/bin/tool")]}
        assert [h.script for h in self.pack({"hooks": {}}, hooks=inline).features[0].hooks] == ["bin/tool"]

    def test_the_usual_file_named_again_counts_once(self) -> None:
        hooks = {"hooks": {"Stop": [self.group("${CLAUDE_PLUGIN_ROOT}/bin/tool")]}}
        assert len(self.pack(hooks, hooks="./hooks/hooks.json").features[0].hooks) == 1


class TestPluginServers:
    @pytest.mark.parametrize("wrapped", [True, False])
    def test_servers_of_the_usual_file(self, wrapped: bool) -> None:
        servers = {
            "local": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}},
            "remote": {"type": "http", "url": "https://example.invalid/mcp"},
        }
        text = json.dumps({"mcpServers": servers} if wrapped else servers)
        (only,) = read(TestPlugin.files() | {".mcp.json": text}).features
        assert [(s.name, s.type, s.command, s.url) for s in only.mcp_servers] == [
            ("local", "stdio", "npx", ""),
            ("remote", "http", "", "https://example.invalid/mcp"),
        ]

    def test_in_the_manifest_or_in_a_named_file(self) -> None:
        inline = TestPlugin.files({"mcpServers": {"a": {"command": "x"}}})
        assert [s.name for s in read(inline).features[0].mcp_servers] == ["a"]
        named = TestPlugin.files({"mcpServers": "./m.json"}) | {"m.json": '{"b": {"command": "x"}}'}
        assert [s.name for s in read(named).features[0].mcp_servers] == ["b"]

    def test_what_a_descriptor_cannot_say_gives_a_notice(self) -> None:
        servers = {
            "own": {"command": "${CLAUDE_PLUGIN_ROOT}/server"},
            "odd": 1,
            "extra": {"command": "x", "cwd": "/y"},
        }
        pack = read(TestPlugin.files({"mcpServers": servers}))
        assert [s.name for s in pack.features[0].mcp_servers] == ["extra"]
        assert len(pack.notices) == 3
        assert "cwd" in pack.notices[2]

    def test_a_server_that_is_wrong_is_an_error(self) -> None:
        error = refusal(TestPlugin.files({"mcpServers": {"a": {"command": 1}}}))
        assert error.code == "E-DESCRIPTOR-INVALID"


class TestNothingIsLostInSilence:
    def test_a_timeout_is_carried_and_other_fields_of_a_hook_are_told(self) -> None:
        def hook(**more: object) -> dict[str, object]:
            return {"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x.sh", **more}]}

        stated = [hook(timeout=30), hook(timeout=1.5), hook(timeout=-1), hook(**{"async": True})]
        text = json.dumps({"hooks": {"Stop": stated}})
        pack = read(TestPlugin.files() | {"hooks/hooks.json": text, "x.sh": ""})
        assert [h.timeout for h in pack.features[0].hooks] == [30, 2, 0, 0]
        assert [n.rpartition(" ")[2] for n in pack.notices] == ["timeout", "async"]

    @pytest.mark.parametrize(
        ("more", "word"),
        [
            ({"output-styles/a.md": "x"}, "outputStyles"),
            ({".lsp.json": "{}"}, "lspServers"),
            ({"commands/c.md": "run ${CLAUDE_PLUGIN_ROOT}/x"}, "commands/c.md"),
            ({"skills/s/SKILL.md": "s", "skills/s/x.sh": "$CLAUDE_PLUGIN_ROOT/y"}, "skills/s/x.sh"),
            ({".claude-plugin/marketplace.json": '{"plugins": [{"source": "./b"}]}'}, "marketplace"),
            ({".claude-plugin/marketplace.json": "no"}, "marketplace"),
        ],
    )
    def test_what_has_no_words_gives_a_notice(self, more: dict[str, str], word: str) -> None:
        (notice,) = read(TestPlugin.files() | more).notices
        assert word in notice

    def test_a_marketplace_of_the_plugin_alone_gives_none(self) -> None:
        own = {".claude-plugin/marketplace.json": '{"plugins": [{"name": "p", "source": "./"}]}'}
        assert read(TestPlugin.files() | own).notices == ()

    def test_a_marketplace_that_is_taken_for_skills_is_told(self) -> None:
        listed = {".claude-plugin/marketplace.json": '{"plugins": [{"source": "./a"}]}'}
        (notice,) = read({"skills/s/SKILL.md": "s"} | listed).notices
        assert "marketplace" in notice


@pytest.mark.parametrize("value", [r'"\ud800"', r'{"\udfff": 1}', "[" * 100_000, "1" + "0" * 5000])
@pytest.mark.parametrize("file", [".claude-plugin/plugin.json", "hooks/hooks.json", ".mcp.json"])
def test_json_that_nobody_can_write_down_is_refused_by_name(file: str, value: str) -> None:
    error = refusal(TestPlugin.files() | {file: f'{{"name": "p", "description": {value}}}'})
    assert error.code == "E-PACK-PLUGIN" and error.where == file


def test_a_command_that_is_not_utf_8_is_named() -> None:
    pack = read(TestPlugin.files() | {"commands/c.md": "x"})
    odd = replace(pack, tree=replace(pack.tree, read=lambda path: b"a\xed"))
    with pytest.raises(GsdlockError) as caught:
        odd.text("commands/c.md")
    assert caught.value.code == "E-PACK-UNREADABLE" and "commands/c.md" in caught.value.what
