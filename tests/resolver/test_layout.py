"""Which artifacts become which files where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.capabilities.model import LayoutEntry, Runtime
from gsdlock.capabilities.vocabulary import ConverterName, LayoutKind, Nesting
from gsdlock.resolver.layout import artifact_drafts, artifact_omissions
from gsdlock.resolver.pack import ArtifactKind, Pack
from gsdlock.resolver.selection import Selection
from msgspec.structs import replace

Make = Callable[..., Any]

COMMAND = "---\nname: gsd:{0}\ndescription: The {0} command\n---\n\nDo {0}.\n"
AGENT = "---\nname: {0}\ndescription: The {0} agent\ntools: Read, Bash\n---\n\nYou are {0}.\n"
ROUTER = "---\nname: gsd-{0}\ndescription: r\nrequires: [{1}]\n---\n\n| User wants | Invoke |\n|---|---|\n"

GSD = {
    "commands/gsd/help.md": COMMAND.format("help"),
    "commands/gsd/plan-phase.md": COMMAND.format("plan-phase"),
    "agents/gsd-planner.md": AGENT.format("gsd-planner"),
    "gsd-core/workflows/help.md": "# Help\n",
}
NESTED = {
    **GSD,
    "commands/gsd/ns-workflow.md": ROUTER.format("workflow", "plan-phase, help"),
    "commands/gsd/ns-manage.md": ROUTER.format("manage", "help"),
    "commands/gsd/alone.md": COMMAND.format("alone"),
}
PLUGIN = {
    ".claude-plugin/plugin.json": '{"name": "demo", "version": "1.0.0"}',
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Says hello\n---\n\nHello.\n",
    "skills/greet/letter.txt": "Dear {name}\n",
    "+skills/greet/bin/say": "#!/bin/sh\n",
    "commands/deploy.md": "---\ndescription: Deploys\n---\n\nDeploy.\n",
    "commands/greet.md": "---\ndescription: Greets\n---\n\nGreet.\n",
    "agents/guide.md": AGENT.format("guide"),
}


def artifacts_of(listing: dict[str, str]) -> set[str]:
    """The paths of a listing without the payload."""
    payload = ("gsd-core/", "scripts/", "hooks/", ".gsd-profile", ".clinerules/", "plugins/")
    return {k for k in listing if not k.partition(":")[2].startswith(payload)}


# A GSD pack: what each host makes of two commands and an agent.
GSD_ON_HOSTS = [
    (
        "claude",
        "global",
        {
            "config:skills/gsd-help/SKILL.md",
            "config:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd-planner.md",
        },
    ),
    (
        "claude",
        "local",
        {
            "config:commands/gsd-help.md",
            "config:commands/gsd-plan-phase.md",
            "config:agents/gsd-planner.md",
        },
    ),
    (
        "codex",
        "global",
        {
            "agents-home:skills/gsd-help/SKILL.md",
            "agents-home:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd-planner.md",
            "config:agents/gsd-planner.toml",
        },
    ),
    (
        "codex",
        "local",
        {
            "config:skills/gsd-help/SKILL.md",
            "config:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd-planner.md",
            "config:agents/gsd-planner.toml",
        },
    ),
    (
        "opencode",
        "global",
        {
            "config:commands/gsd-help.md",
            "config:commands/gsd-plan-phase.md",
            "config:skills/gsd-help/SKILL.md",
            "config:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd-planner.md",
        },
    ),
    (
        "kilo",
        "global",
        {
            "config:command/gsd-help.md",
            "config:command/gsd-plan-phase.md",
            # Its home for skills is a second place that the host reads.
            "config:skills/gsd-help/SKILL.md",
            "config:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd-planner.md",
        },
    ),
    (
        # The folder says what the prefix says, so the files are named by their stem.
        "gemini",
        "global",
        {
            "config:commands/gsd/help.toml",
            "config:commands/gsd/plan-phase.toml",
            "config:agents/gsd-planner.md",
        },
    ),
    (
        "copilot",
        "local",
        {
            "config:skills/gsd-help/SKILL.md",
            "config:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd-planner.agent.md",
        },
    ),
    (
        "kimi",
        "global",
        {
            "config:skills/gsd-help/SKILL.md",
            "config:skills/gsd-plan-phase/SKILL.md",
            "config:agents/gsd.yaml",
            "config:agents/gsd.md",
            "config:agents/subagents/gsd-planner.yaml",
            "config:agents/subagents/gsd-planner.md",
        },
    ),
    (
        "windsurf",
        "local",
        {
            "config:workflows/gsd-help.md",
            "config:workflows/gsd-plan-phase.md",
            "config:agents/gsd-planner.md",
        },
    ),
    ("windsurf", "global", {"config:agents/gsd-planner.md"}),
    ("pi", "global", set()),
]


@pytest.mark.parametrize(("runtime", "scope", "expected"), GSD_ON_HOSTS)
def test_a_gsd_pack_on_each_host(
    runtime: str, scope: str, expected: set[str], host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(GSD)
    got = listing(artifact_drafts(host(runtime), scope, pack, everything(pack)))
    assert artifacts_of(got) == expected


def test_only_what_is_selected_is_laid_out(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(GSD)
    selected = replace(everything(pack), artifacts=tuple(a for a in pack.artifacts if a.stem == "help"))
    got = listing(artifact_drafts(host("claude"), "global", pack, selected))
    assert artifacts_of(got) == {"config:skills/gsd-help/SKILL.md"}


def test_skills_lie_below_each_router_that_owns_them(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(NESTED)
    got = listing(artifact_drafts(host("trae"), "global", pack, everything(pack)))
    skills = {k.removeprefix("config:skills/") for k in got if k.startswith("config:skills/")}
    assert skills == {
        "gsd-ns-workflow/SKILL.md",
        "gsd-ns-workflow/skills/plan-phase/SKILL.md",
        "gsd-ns-workflow/skills/help/SKILL.md",
        "gsd-ns-manage/SKILL.md",
        "gsd-ns-manage/skills/help/SKILL.md",
        "gsd-alone/SKILL.md",
    }
    below = got["config:skills/gsd-ns-manage/skills/help/SKILL.md"]
    assert below == got["config:skills/gsd-ns-workflow/skills/help/SKILL.md"]


def test_without_one_of_the_routers_skills_lie_side_by_side(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(NESTED)
    some = tuple(a for a in pack.artifacts if a.stem != "ns-manage")
    got = listing(artifact_drafts(host("trae"), "global", pack, replace(everything(pack), artifacts=some)))
    assert "config:skills/gsd-help/SKILL.md" in got
    assert not [k for k in got if "/skills/help/" in k]


def test_a_host_that_lays_skills_out_flat_gets_routers_flat(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack = pack_of(NESTED)
    got = listing(artifact_drafts(host("claude"), "global", pack, everything(pack)))
    assert "config:skills/gsd-ns-workflow/SKILL.md" in got
    assert not [k for k in got if "/skills/help/" in k]


# Packs that are not GSD's

PLUGIN_ON_HOSTS = [
    (
        "claude",
        "global",
        {
            "config:skills/greet/SKILL.md",
            "config:skills/greet/letter.txt",
            "config:skills/greet/bin/say",
            "config:skills/deploy/SKILL.md",
            "config:agents/guide.md",
        },
        {"the command greet"},
    ),
    (
        "claude",
        "local",
        {
            "config:skills/greet/SKILL.md",
            "config:skills/greet/letter.txt",
            "config:skills/greet/bin/say",
            "config:commands/deploy.md",
            "config:commands/greet.md",
            "config:agents/guide.md",
        },
        set(),
    ),
    (
        "codex",
        "global",
        {
            "agents-home:skills/greet/SKILL.md",
            "agents-home:skills/greet/letter.txt",
            "agents-home:skills/greet/bin/say",
            "agents-home:skills/deploy/SKILL.md",
            "config:agents/guide.md",
            "config:agents/guide.toml",
        },
        {"the command greet"},
    ),
    (
        # The name space of the GSD pack is not for others.
        "gemini",
        "global",
        {
            "config:skills/greet/SKILL.md",
            "config:skills/greet/letter.txt",
            "config:skills/greet/bin/say",
            "config:commands/deploy.toml",
            "config:commands/greet.toml",
            "config:agents/guide.md",
        },
        set(),
    ),
    (
        "hermes",
        "global",
        {
            "config:skills/greet/SKILL.md",
            "config:skills/greet/letter.txt",
            "config:skills/greet/bin/say",
            "config:skills/deploy/SKILL.md",
            "config:agents/guide.md",
        },
        {"the command greet"},
    ),
    (
        "kimi",
        "global",
        {
            "config:skills/greet/SKILL.md",
            "config:skills/greet/letter.txt",
            "config:skills/greet/bin/say",
            "config:skills/deploy/SKILL.md",
        },
        {"the command greet", "the agent guide"},
    ),
    (
        "pi",
        "global",
        {
            "config:skills/greet/SKILL.md",
            "config:skills/greet/letter.txt",
            "config:skills/greet/bin/say",
        },
        {"the command deploy", "the command greet", "the agent guide"},
    ),
]


@pytest.mark.parametrize(("runtime", "scope", "expected", "left_out"), PLUGIN_ON_HOSTS)
def test_a_plugin_on_each_host(
    runtime: str,
    scope: str,
    expected: set[str],
    left_out: set[str],
    host: Make,
    pack_of: Make,
    everything: Make,
    listing: Make,
) -> None:
    pack = pack_of(PLUGIN)
    selection = everything(pack)
    got = listing(artifact_drafts(host(runtime), scope, pack, selection))
    assert set(got) == expected
    omissions = artifact_omissions(host(runtime), scope, pack, selection)
    assert {o.what for o in omissions} == left_out
    assert all(o.feature == "demo" and o.reason for o in omissions)


def test_a_skill_folder_keeps_bytes_and_modes(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    pack: Pack = pack_of({**PLUGIN, "skills/greet/logo.bin": b"\x89\x00\xff"})
    drafts = artifact_drafts(host("claude"), "global", pack, everything(pack))
    files = {d.path: d for d in drafts if d.path.startswith("skills/greet/")}
    assert files["skills/greet/bin/say"].mode == 0o755
    assert files["skills/greet/logo.bin"].data == b"\x89\x00\xff"
    assert files["skills/greet/SKILL.md"].data.decode() == PLUGIN["skills/greet/SKILL.md"]
    assert files["skills/greet/SKILL.md"].mode == 0o644
    origin = files["skills/greet/letter.txt"].origin
    assert (origin.pack, origin.feature, origin.artifact, origin.axis) == (
        "demo",
        "demo",
        "skill/greet",
        "nativeSkills.global",
    )


def test_a_skill_is_mended_for_a_host_that_could_not_read_it(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    odd = "---\nname: greet\ndescription: Use when: asked\n---\nHello.\n"
    pack = pack_of({**PLUGIN, "skills/greet/SKILL.md": odd})

    def on(runtime: str) -> str:
        drafts = artifact_drafts(host(runtime), "global", pack, everything(pack))
        return next(d.data.decode() for d in drafts if d.path == "skills/greet/SKILL.md")

    assert on("claude") == odd
    assert on("kimi-code") == odd.replace("Use when: asked", '"Use when: asked"')


def test_a_host_without_a_place_for_skills_gets_none(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    bare: Runtime = host("claude", native_skills={}, artifact_layout={"global": (), "local": ()})
    pack = pack_of(PLUGIN)
    assert artifact_drafts(bare, "global", pack, everything(pack)) == []
    omissions = artifact_omissions(bare, "global", pack, everything(pack))
    assert len(omissions) == len(pack.artifacts)
    assert all("no place" in o.reason for o in omissions)


def test_a_layout_of_another_host_is_followed_to_the_letter(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    """A host is a row of data: any folder, prefix and home of the layout is honoured."""
    entry = LayoutEntry(
        kind=LayoutKind.SKILLS,
        dest_subpath="a/b",
        prefix="x-",
        nesting=Nesting.FLAT,
        converter=ConverterName.COMMAND_TO_CLAUDE_SKILL,
        home=".elsewhere",
    )
    other = host("claude", artifact_layout={"global": (entry,), "local": ()}, payload=())
    pack = pack_of(GSD)
    drafts = artifact_drafts(other, "global", pack, everything(pack))
    assert set(listing(drafts)) == {
        "agents-home:a/b/x-help/SKILL.md",
        "agents-home:a/b/x-plan-phase/SKILL.md",
    }
    assert {d.origin.axis for d in drafts} == {"artifactLayout.global[0]"}
    assert {d.origin.converter for d in drafts} == {ConverterName.COMMAND_TO_CLAUDE_SKILL}


def test_drafts_do_not_depend_on_the_order_of_the_tree(
    host: Make, pack_of: Make, everything: Make, listing: Make
) -> None:
    there, back = pack_of(NESTED), pack_of(dict(reversed(NESTED.items())))
    for runtime in ("opencode", "trae"):
        first = artifact_drafts(host(runtime), "global", there, everything(there))
        assert first == artifact_drafts(host(runtime), "global", back, everything(back))


def test_nothing_selected_leaves_the_payload_alone(host: Make, pack_of: Make, listing: Make) -> None:
    pack = pack_of(GSD)
    got = listing(artifact_drafts(host("claude"), "global", pack, Selection((), ())))
    assert artifacts_of(got) == set()
    assert "config:gsd-core/workflows/help.md" in got


def test_kinds_of_the_pack_are_what_the_tables_say(pack_of: Make) -> None:
    kinds = {a.kind for a in pack_of(PLUGIN).artifacts}
    assert kinds == set(ArtifactKind)
