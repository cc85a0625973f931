"""Reading a tree as a pack: four layouts, their artifacts and the features that own them."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest
from gsdlock.capabilities.model import Feature
from gsdlock.capabilities.registry import load_builtin
from gsdlock.resolver.pack import ArtifactKind, PackLayout

from .packkit import descriptor, feature, listed, read, refusal


class TestGsd:
    FILES: ClassVar[dict[str, str]] = {
        "package.json": '{"version": "1.14.0"}',
        "commands/gsd/help.md": "",
        "commands/gsd/ui-phase.md": "",
        "commands/gsd/README.md": "",
        "commands/gsd/deeper/x.md": "",
        "agents/gsd-planner.md": "",
        "agents/gsd-ui-auditor.md": "",
        "agents/gsd-ui-auditor.compact.md": "",
        "agents/notes.txt": "",
        "skills/gsd-help/SKILL.md": "",
        "gsd-core/workflows/help.md": "",
        ".claude-plugin/plugin.json": '{"name": "gsd-core"}',
    }
    KNOWN: ClassVar[dict[str, Feature]] = {
        "ui": feature("ui", skills=["ui-phase", "ui-review"], agents=["gsd-ui-auditor"]),
        "drift": feature("drift"),
        "mempalace": feature("mempalace", skills=["mempalace-recall"]),
    }

    def test_commands_and_agents_and_their_first_party_owners(self) -> None:
        pack = read(self.FILES, known=self.KNOWN)
        assert pack.layout is PackLayout.GSD
        assert listed(pack) == {
            "command/help": "",
            "command/ui-phase": "ui",
            "agent/gsd-planner": "",
            "agent/gsd-ui-auditor": "ui",
        }

    def test_a_compact_agent_is_a_variant_of_the_agent_and_no_agent(self) -> None:
        agent = next(a for a in read(self.FILES).artifacts if a.stem == "gsd-ui-auditor")
        assert agent.files == ("agents/gsd-ui-auditor.md", "agents/gsd-ui-auditor.compact.md")

    def test_a_compact_agent_without_the_other_is_an_agent(self) -> None:
        files = {p: t for p, t in self.FILES.items() if p != "agents/gsd-ui-auditor.md"}
        assert "agent/gsd-ui-auditor.compact" in listed(read(files))

    def test_a_feature_whose_content_an_older_pack_lacks_is_not_there(self) -> None:
        assert [f.id for f in read(self.FILES, known=self.KNOWN).features] == ["drift", "ui"]

    def test_the_version_is_the_sources_or_the_packages(self) -> None:
        assert read(self.FILES).version == "1.14.0"
        assert read(self.FILES, version="1.11.0").version == "1.11.0"
        assert read({**self.FILES, "package.json": '{"version": "new"}'}).version == ""
        assert read({**self.FILES, "package.json": "not json"}).version == ""

    def test_the_older_package_is_one_too(self) -> None:
        assert read({"commands/gsd/help.md": "", "get-shit-done/x": ""}).layout is PackLayout.GSD

    def test_descriptors_in_the_pack_take_the_place_of_the_first_party_ones(self) -> None:
        files = {
            **self.FILES,
            "capabilities/ui/capability.json": json.dumps(descriptor("ui", skills=["help"], tier="core")),
            "capabilities/claude/capability.json": '{"role": "runtime"}',
        }
        pack = read(files, known=self.KNOWN)
        assert listed(pack)["command/help"] == "ui"
        assert listed(pack)["command/ui-phase"] == ""
        assert [(f.id, f.tier) for f in pack.features] == [("ui", "core")]

    def test_a_feature_of_the_pack_may_keep_its_content_in_its_own_folder(self) -> None:
        own = descriptor("own", skills=["s"], agents=["a"], hooks=[{"event": "Stop", "script": "hooks/x.sh"}])
        files = {
            **self.FILES,
            "capabilities/own/capability.json": json.dumps(own),
            "capabilities/own/skills/s/SKILL.md": "",
            "capabilities/own/skills/s/more.md": "",
            "capabilities/own/agents/a.md": "",
            "capabilities/own/hooks/x.sh": "",
        }
        pack = read(files)
        assert listed(pack)["skill/s"] == listed(pack)["agent/a"] == "own"
        del files["capabilities/own/hooks/x.sh"], files["capabilities/own/agents/a.md"]
        error = refusal(files)
        assert error.code == "E-PACK-ARTIFACT-MISSING"
        assert len(error.details) == 2

    def test_faults_of_all_descriptors_come_in_one_error(self) -> None:
        files = {
            **self.FILES,
            "capabilities/a/capability.json": json.dumps(descriptor("a", tier="huge", skills=1)),
            "capabilities/b/capability.json": json.dumps(descriptor("other")),
            "capabilities/c/capability.json": '{"role": "feature"',
            "capabilities/d/capability.json": json.dumps(descriptor("d", role="feature", extra=1)),
        }
        error = refusal(files)
        text = "\n".join([error.what, *error.details])
        assert error.code == "E-DESCRIPTOR-INVALID"
        for part in ("/tier", "/skills", "capabilities/b", "E-DESCRIPTOR-SYNTAX", "capabilities/d"):
            assert part in text

    def test_commands_alone_are_no_gsd_pack(self) -> None:
        assert refusal({"commands/gsd/help.md": ""}).code == "E-PACK-LAYOUT"


class TestCapability:
    DESCRIPTOR = descriptor(
        skills=["greet"], agents=["greeter"], hooks=[{"event": "Stop", "script": "hooks/greet.sh"}]
    )
    FILES: ClassVar[dict[str, str]] = {
        "capability.json": json.dumps(DESCRIPTOR),
        "skills/greet/SKILL.md": "",
        "skills/greet/zeta/data.csv": "",
        "skills/greet/alpha.md": "",
        "skills/unlisted/SKILL.md": "",
        "agents/greeter.md": "",
        "agents/unlisted.md": "",
        "commands/hello.md": "",
        "commands/README.md": "",
        "hooks/greet.sh": "",
        "hooks/lib/helper.sh": "",
    }

    def test_what_the_descriptor_lists_with_its_owner(self) -> None:
        pack = read(self.FILES)
        assert pack.layout is PackLayout.CAPABILITY
        assert listed(pack) == {"skill/greet": "greet", "agent/greeter": "greet", "command/hello": "greet"}
        assert [f.id for f in pack.features] == ["greet"]
        assert pack.version == "1.2.0"

    def test_the_files_of_a_skill_begin_with_its_main_file(self) -> None:
        skill = next(a for a in read(self.FILES).artifacts if a.kind is ArtifactKind.SKILL)
        assert skill.files == ("skills/greet/SKILL.md", "skills/greet/alpha.md", "skills/greet/zeta/data.csv")

    def test_everything_that_is_named_and_missing_is_told_at_once(self) -> None:
        error = refusal({"capability.json": json.dumps(self.DESCRIPTOR)})
        assert error.code == "E-PACK-ARTIFACT-MISSING"
        assert "\n".join(error.details).count("there is no") == 3
        for path in ("skills/greet/SKILL.md", "agents/greeter.md", "hooks/greet.sh"):
            assert path in "\n".join(error.details)

    def test_a_stem_that_climbs_out_is_refused_by_validation(self) -> None:
        error = refusal({"capability.json": json.dumps(descriptor(skills=["../../x", ".."]))})
        assert error.code == "E-DESCRIPTOR-INVALID"
        assert "/skills/0" in "\n".join(error.details) and "/skills/1" in "\n".join(error.details)

    def test_a_file_that_a_hook_names_and_that_stays_behind_is_told(self) -> None:
        hooks = [{"event": "Stop", "script": "hooks/greet.sh"}]
        pack = read(
            {
                "capability.json": json.dumps(descriptor(hooks=hooks)),
                "hooks/greet.sh": '. "$(dirname "$0")/../scripts/worker.sh"; . "$(dirname "$0")/lib/own.sh"',
                "hooks/lib/own.sh": "",
                "scripts/worker.sh": "",
                "scripts/other.sh": "",
                "README.md": "",
            }
        )
        (notice,) = pack.notices
        assert notice.startswith("hooks/greet.sh names scripts/worker.sh, which is not installed")

    def test_a_runtime_is_no_pack(self) -> None:
        registry = load_builtin()
        data = dict(registry.runtime("claude").data)
        error = refusal({"capability.json": json.dumps(data, default=dict)})
        assert error.code == "E-PACK-ROLE"
        assert "role feature" in error.fix

    @pytest.mark.parametrize("parent", ["", "capabilities/", "features/"])
    def test_several_in_folders_of_their_name(self, parent: str) -> None:
        files = {}
        for name in ("one", "two"):
            own = descriptor(
                name, skills=[f"{name}-skill"], hooks=[{"event": "Stop", "script": "hooks/x.sh"}]
            )
            files[f"{parent}{name}/capability.json"] = json.dumps(own)
            files[f"{parent}{name}/skills/{name}-skill/SKILL.md"] = ""
            files[f"{parent}{name}/hooks/x.sh"] = ""
        pack = read(files)
        assert pack.layout is PackLayout.CAPABILITY
        assert listed(pack) == {"skill/one-skill": "one", "skill/two-skill": "two"}
        assert [f.id for f in pack.features] == ["one", "two"]
        assert pack.version == ""

    def test_a_folder_that_is_not_named_like_its_capability(self) -> None:
        error = refusal({"other/capability.json": json.dumps(descriptor("greet"))})
        assert error.code == "E-DESCRIPTOR-INVALID"

    def test_a_capability_that_comes_twice(self) -> None:
        body = json.dumps(descriptor("greet"))
        error = refusal({"greet/capability.json": body, "features/greet/capability.json": body})
        assert error.code == "E-PACK-STEM"

    def test_two_features_with_one_skill(self) -> None:
        files = {}
        for name in ("one", "two"):
            files[f"{name}/capability.json"] = json.dumps(descriptor(name, skills=["same"]))
            files[f"{name}/skills/same/SKILL.md"] = ""
        error = refusal(files)
        assert error.code == "E-PACK-STEM"
        assert "one/skills/same/SKILL.md and two/skills/same/SKILL.md" in error.what


class TestSkills:
    @pytest.mark.parametrize(
        ("paths", "skills"),
        [
            (["a/SKILL.md", "b/SKILL.md"], {"a", "b"}),
            (["skills/a/SKILL.md", "skills/group/b/SKILL.md"], {"a", "b"}),
            (["group/a/SKILL.md"], {"a"}),
            (["a/SKILL.md", "a/examples/b/SKILL.md"], {"a"}),
            (["a/SKILL.md", "a-b/SKILL.md", "a/c/SKILL.md"], {"a", "a-b"}),
            (["skills/a/SKILL.md", ".claude/skills/a/SKILL.md"], {"a"}),
            (["skills/a/SKILL.md", "template/SKILL.md"], {"a"}),
            (["a/SKILL.md", ".agents/skills/b/SKILL.md"], {"a"}),
            ([".agents/skills/b/SKILL.md"], {"b"}),
            (["SKILL.md", "more/SKILL.md", "x.md"], {"demo"}),
        ],
    )
    def test_which_folders_are_skills(self, paths: list[str], skills: set[str]) -> None:
        pack = read(dict.fromkeys(paths, ""))
        assert pack.layout is PackLayout.SKILLS
        assert {a.stem for a in pack.artifacts} == skills
        assert all(a.path == a.files[0] and a.path.endswith("SKILL.md") for a in pack.artifacts)

    def test_one_feature_named_after_the_pack_owns_them(self) -> None:
        pack = read({"a/SKILL.md": "", "b/SKILL.md": "", "package.json": '{"version": "3.0.0"}'})
        (only,) = pack.features
        assert (only.id, only.skills, only.version, only.tier) == ("demo", ("a", "b"), "3.0.0", "core")
        assert set(listed(pack).values()) == {"demo"}
        assert only.runtime_compat.admits("anything")

    def test_a_nested_skill_is_part_of_the_outer_one(self) -> None:
        (only,) = read({"a/SKILL.md": "", "a/examples/b/SKILL.md": ""}).artifacts
        assert only.files == ("a/SKILL.md", "a/examples/b/SKILL.md")

    @pytest.mark.parametrize("stem", ["x" * 65, "has space", "ü", "-dash", ".hidden", "a..b", "a+b"])
    def test_a_folder_that_cannot_name_a_skill(self, stem: str) -> None:
        error = refusal({f"skills/{stem}/SKILL.md": "", "skills/good/SKILL.md": ""})
        assert error.code == "E-PACK-STEM"

    def test_two_skills_of_one_name_whatever_the_case(self) -> None:
        error = refusal({"skills/x/Same/SKILL.md": "", "skills/y/same/SKILL.md": ""})
        assert error.code == "E-PACK-STEM"
        assert "skills/x/Same/SKILL.md and skills/y/same/SKILL.md" in error.what


class TestNothing:
    def test_a_tree_of_no_layout_says_what_was_looked_for(self) -> None:
        error = refusal({"README.md": "", "src/main.py": "", "skill.md": ""})
        assert error.code == "E-PACK-LAYOUT"
        text = "\n".join(error.details)
        for part in (
            "commands/gsd",
            "capability.json",
            "plugin.json",
            "SKILL.md",
            "README.md, skill.md, src/",
        ):
            assert part in text

    def test_a_marketplace_points_to_its_plugins(self) -> None:
        error = refusal({".claude-plugin/marketplace.json": "{}", "plugins/a/x.md": ""})
        assert error.code == "E-PACK-LAYOUT"
        assert "subdirectory" in error.fix and "marketplace" in error.fix


class TestOrder:
    """A pack of several kinds is read as the most telling one."""

    GSD: ClassVar[dict[str, str]] = {"commands/gsd/help.md": "", "gsd-core/x": ""}
    CAPABILITY: ClassVar[dict[str, str]] = {"capability.json": json.dumps(descriptor())}
    PLUGIN: ClassVar[dict[str, str]] = {".claude-plugin/plugin.json": '{"name": "p"}'}
    SKILLS: ClassVar[dict[str, str]] = {"skills/a/SKILL.md": ""}

    @pytest.mark.parametrize(
        ("files", "layout"),
        [
            (GSD | CAPABILITY | PLUGIN | SKILLS, PackLayout.GSD),
            (CAPABILITY | PLUGIN | SKILLS, PackLayout.CAPABILITY),
            (PLUGIN | SKILLS, PackLayout.PLUGIN),
            (SKILLS, PackLayout.SKILLS),
            (PLUGIN | {"x/capability.json": "{}"}, PackLayout.PLUGIN),
        ],
    )
    def test_order(self, files: dict[str, str], layout: PackLayout) -> None:
        assert read(files).layout is layout


def test_the_artifacts_come_sorted_whatever_the_order_of_the_tree() -> None:
    forward = {"skills/b/SKILL.md": "", "skills/a/SKILL.md": ""}
    backward = dict(reversed(forward.items()))
    assert (
        [a.stem for a in read(forward).artifacts] == [a.stem for a in read(backward).artifacts] == ["a", "b"]
    )


MARK = "{{gsdlock:path:config}}"
SERVER = {"tide": {"command": "tide", "args": [MARK]}}
SPELT = json.dumps({"mcpServers": SERVER}).replace("{{gs", "\\u007b{\\u0067s")
IN_A_DESCRIPTOR = json.dumps(descriptor(mcpServers=SERVER)).replace("{{gs", "\\u007b{\\u0067s")


@pytest.mark.parametrize(
    "files",
    [
        {"capability.json": IN_A_DESCRIPTOR},
        {"capabilities/greet/capability.json": IN_A_DESCRIPTOR},
        {".claude-plugin/plugin.json": '{"name": "demo"}', ".mcp.json": SPELT},
        {
            "commands/gsd/a.md": "x",
            "gsd-core/x.md": "x",
            "capabilities/greet/capability.json": IN_A_DESCRIPTOR,
        },
    ],
    ids=["a capability", "capabilities", "a plugin", "a GSD pack"],
)
def test_what_would_be_filled_in_is_refused_however_it_is_spelt(files: dict[str, str]) -> None:
    """The bytes do not hold our mark, the data that they are decoded to does."""
    assert all(MARK not in text for text in files.values())
    assert refusal(files).code == "E-PACK-PLACEHOLDER"
