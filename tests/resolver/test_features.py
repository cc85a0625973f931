"""Which features are active, and which artifacts that selects."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.model import Feature, RuntimeCompat
from gsdlock.capabilities.vocabulary import Role, Tier
from gsdlock.resolver.features import ActiveSet, active_features, select_artifacts
from gsdlock.resolver.manifest import TargetEntry
from gsdlock.resolver.pack import Artifact, ArtifactKind, Pack, PackLayout, Tree


def feature(
    id: str,
    tier: str = "full",
    requires: tuple[str, ...] = (),
    supported: tuple[str, ...] = ("*",),
    unsupported: tuple[str, ...] = (),
    engines: str = "",
) -> Feature:
    return Feature(
        id=id,
        role=Role.FEATURE,
        title=id,
        description=id,
        tier=Tier(tier),
        version="1.0.0",
        requires=requires,
        engines_gsd=engines,
        runtime_compat=RuntimeCompat(supported, unsupported, {"codex": "no agents there"}),
    )


KNOWN: Mapping[str, Feature] = {
    f.id: f
    for f in (
        feature("base", "core"),
        feature("research", "standard"),
        feature("mapper", "full", ("research",)),
        feature("deep", "full", ("mapper",)),
        feature("claude-only", "full", supported=("claude",)),
        feature("not-codex", "full", unsupported=("codex",)),
        feature("newer", "full", engines=">=2.0.0"),
    )
}


def active(profile: str = "full", enable: tuple[str, ...] = (), disable: tuple[str, ...] = ()) -> list[str]:
    return list(active_set(profile, enable, disable).features)


def active_set(
    profile: str, enable: tuple[str, ...] = (), disable: tuple[str, ...] = (), runtime: str = "codex"
) -> ActiveSet:
    entry = TargetEntry("t", runtime, "global", profile, enable, disable)
    return active_features(entry, KNOWN, lambda f: not f.engines_gsd)


SETS = [
    ("core is the core tier", "core", (), (), ["base"]),
    ("standard adds a tier", "standard", (), (), ["base", "research"]),
    ("full is all that fits", "full", (), (), ["base", "deep", "mapper", "research"]),
    ("enabling closes over requires", "core", ("deep",), (), ["base", "deep", "mapper", "research"]),
    ("disabling takes away", "full", (), ("deep",), ["base", "mapper", "research"]),
]


@pytest.mark.parametrize(("name", "profile", "enable", "disable", "result"), SETS, ids=[s[0] for s in SETS])
def test_sets(
    name: str, profile: str, enable: tuple[str, ...], disable: tuple[str, ...], result: list[str]
) -> None:
    assert active(profile, enable, disable) == result


def refusal(profile: str, enable: tuple[str, ...], disable: tuple[str, ...]) -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        active_set(profile, enable, disable)
    return caught.value


def test_disabling_what_is_required_is_refused_with_the_chain() -> None:
    fault = refusal("full", (), ("research",))
    assert fault.code == "E-FEATURE-REQUIRED"
    assert any("deep requires mapper requires research" in line for line in fault.details)


def test_an_unknown_feature_is_named_with_the_nearest() -> None:
    fault = refusal("full", ("reserch",), ("nothing-like-it",))
    assert fault.code == "E-FEATURE-UNKNOWN" and len(fault.details) == 2
    assert "did you mean research" in fault.details[0]


def test_what_a_host_cannot_carry_is_left_out_and_told() -> None:
    chosen = active_set("full")
    assert "claude-only" not in chosen.features and "not-codex" not in chosen.features
    assert any("not-codex" in n and "no agents there" in n for n in chosen.notices)
    assert any("newer" in n and ">=2.0.0" in n for n in chosen.notices)
    assert "claude-only" in active_set("full", runtime="claude").features


def test_asked_for_by_name_it_is_an_error() -> None:
    assert refusal("core", ("claude-only",), ()).code == "E-FEATURE-INCOMPATIBLE"


TEXTS = {
    "commands/gsd/start.md": b"---\nname: gsd:start\nrequires: [plan, 'ghost']\n---\nSpawn gsd-worker now.\n",
    "commands/gsd/plan.md": b"---\nrequires: [ui-phase]\n---\n",
    "commands/gsd/extra.md": b"no front matter, requires: [start]\n",
    "commands/gsd/ui-phase.md": b"---\n---\nuse gsd-ui-checker\n",
    "agents/gsd-worker.md": b"",
    "agents/gsd-idle.md": b"",
    "agents/gsd-ui-checker.md": b"",
}


def pack(layout: PackLayout = PackLayout.GSD) -> Pack:
    artifacts = []
    for path in TEXTS:
        kind = ArtifactKind.AGENT if path.startswith("agents") else ArtifactKind.COMMAND
        stem = path.rsplit("/", 1)[1].removesuffix(".md")
        owner = "ui" if "ui-" in stem else ""
        artifacts.append(Artifact(kind, stem, path, (path,), owner))
    tree = Tree("sha256:" + "0" * 64, {}, TEXTS.__getitem__)
    return Pack("gsd", "1.0.0", layout, tree, tuple(artifacts), ())


def stems(profile: str, *features: str, layout: PackLayout = PackLayout.GSD) -> list[str]:
    chosen = ActiveSet({f: feature(f) for f in features}, ())
    return [
        a.stem for a in select_artifacts(pack(layout), chosen, profile, {"core": ["start"], "standard": []})
    ]


def test_full_is_everything_but_what_is_off() -> None:
    assert stems("full") == ["start", "plan", "extra", "gsd-worker", "gsd-idle"]
    assert len(stems("full", "ui")) == len(TEXTS)


def test_a_profile_closes_over_the_commands_and_takes_the_agents_they_name() -> None:
    assert stems("core") == ["start", "plan", "gsd-worker"]


def test_off_means_off_even_when_a_command_asks_for_it() -> None:
    assert "ui-phase" not in stems("core")
    assert "ui-phase" in stems("core", "ui")


def test_an_active_feature_brings_its_own() -> None:
    assert set(stems("standard", "ui")) == {"ui-phase", "gsd-ui-checker"}


def test_profiles_speak_of_the_gsd_core_only() -> None:
    assert "extra" in stems("core", layout=PackLayout.PLUGIN)
