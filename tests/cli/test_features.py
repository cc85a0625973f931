"""The shipped features, end to end: what is on is installed, and of what is off there is not a byte.

The pack is a GSD pack without descriptors of its own, so the shipped ones own its content. Every text that a
feature owns bears a mark with the feature's id; the marks that are found on disk are the features that are
really there.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.capabilities.model import Feature
from gsdlock.capabilities.registry import load_builtin
from gsdlock.resolver.manifest import TargetEntry
from gsdlock.resolver.pack import Tree, TreeFile
from gsdlock.resolver.packs import read_pack
from gsdlock.resolver.plan import plan_target

from .conftest import Machine, Ran

FEATURES: Mapping[str, Feature] = load_builtin().features
MARK = re.compile(r"mark<([a-z-]+)>")
# Hosts that get no skills, commands or agents of a GSD pack at global scope, or agents only.
NEITHER = {"pi", "windsurf"}
HOSTS = ("codex", "gemini", "kimi")


def texts() -> Iterator[tuple[str, str]]:
    """The files of the pack: a core command, and what each feature owns."""
    yield "package.json", json.dumps({"name": "pack", "version": "1.11.0"})
    yield "gsd-core/workflows/help.md", "mark<core>\n"
    yield "commands/gsd/help.md", "---\nname: gsd:help\ndescription: Helps.\n---\nmark<core>\n"
    for id_, feature in FEATURES.items():
        for stem in feature.skills:
            head = f"---\nname: gsd:{stem}\ndescription: Does {stem}.\n---\n"
            yield f"commands/gsd/{stem}.md", f"{head}mark<{id_}>\n"
        for stem in feature.agents:
            head = f"---\nname: {stem}\ndescription: Does {stem}.\ntools: Read\n---\n"
            yield f"agents/{stem}.md", f"{head}mark<{id_}>\n"
        for command in feature.commands:
            yield f"gsd-core/bin/lib/{command.module}", f"// mark<{id_}>\n"


OWNERS = {id_ for path, text in texts() for id_ in MARK.findall(text)}


@pytest.fixture
def gsd(machine: Machine) -> Machine:
    for path, text in texts():
        file = machine.root / "pack" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return machine


def install(machine: Machine, host: str, more: str = "") -> Ran:
    machine.manifest(f'[packs.gsd]\npath = "{machine.root}/pack"\n[targets.{host}]\nscope = "global"\n{more}')
    return machine.ok("resolve")


def refused(machine: Machine, host: str, more: str) -> Ran:
    machine.manifest(f'[packs.gsd]\npath = "{machine.root}/pack"\n[targets.{host}]\nscope = "global"\n{more}')
    return machine.run("resolve", "--json")


def marks(machine: Machine) -> set[str]:
    """The features that have anything below the home, by what is read there."""
    machine.ok("apply", "--allow", "high")
    files = [data for _, data in machine.tree().values() if isinstance(data, bytes)]
    return {id_ for data in files for id_ in MARK.findall(data.decode("utf-8", "replace"))}


def locked(machine: Machine) -> set[str]:
    """The features that the lock says are on."""
    (target,) = tomllib.loads((machine.project / "gsdlock.lock").read_text())["target"]
    return set(target["features"])


def by_tier(*tiers: str) -> set[str]:
    return {i for i, f in FEATURES.items() if f.tier.value in tiers}


# what is asked for, and what is on: on claude, which can carry all
ASKED = [
    ("all", "", by_tier("core", "standard", "full")),
    ("standard", 'profile = "standard"\n', by_tier("core", "standard")),
    ("core", 'profile = "core"\n', by_tier("core")),
    ("one on top", 'profile = "core"\nenable = ["ui"]\n', by_tier("core") | {"ui"}),
    (
        "one with what it requires",
        'profile = "core"\nenable = ["pattern-mapper"]\n',
        by_tier("core") | {"pattern-mapper", "research"},
    ),
    ("all but one", 'disable = ["ui"]\n', by_tier("core", "standard", "full") - {"ui"}),
    (
        "all but one and what requires it",
        'disable = ["research", "pattern-mapper"]\n',
        by_tier("core", "standard", "full") - {"research", "pattern-mapper"},
    ),
]


@pytest.mark.parametrize(("more", "on"), [a[1:] for a in ASKED], ids=[a[0] for a in ASKED])
def test_what_is_on_is_there_and_of_the_rest_not_a_byte(gsd: Machine, more: str, on: set[str]) -> None:
    install(gsd, "claude", more)
    assert locked(gsd) == on
    assert marks(gsd) == (on & OWNERS) | {"core"}


class Memory:
    """Content by digest."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = sha256_digest(data)
        self.held[digest] = data
        return digest


@pytest.mark.parametrize("host", sorted(load_builtin().runtimes.keys() - {"vscode"}))
def test_each_feature_alone_brings_its_own_and_nothing_else(host: str) -> None:
    """Enabled on top of core, on every host; planned only, a row of processes for each would take long."""
    data = {path: text.encode() for path, text in texts()}
    tree = Tree("", {path: TreeFile("", 0o644, 0) for path in sorted(data)}, data.__getitem__)
    pack = read_pack("gsd", "1.11.0", tree, FEATURES)
    for id_, feature in FEATURES.items():
        if not feature.runtime_compat.admits(host):
            continue
        blobs, entry = Memory(), TargetEntry("t", host, "global", "core", enable=(id_,))
        target = plan_target(entry, load_builtin().runtime(host), [pack], [], blobs).target
        on = {id_, *feature.requires}
        assert set(target.features) == on
        content = b"".join(blobs.held[p.digest] for p in target.placements).decode()
        assert set(MARK.findall(content)) - {"core"} <= on, id_
        if host not in NEITHER:
            assert set(MARK.findall(content)) == (on & OWNERS) | {"core"}, id_


@pytest.mark.parametrize("host", HOSTS)
def test_what_a_host_cannot_carry_is_left_out_there_and_told(gsd: Machine, host: str) -> None:
    unfit = {i for i, f in FEATURES.items() if not f.runtime_compat.admits(host)}
    out = install(gsd, host).out
    told = set(
        re.findall(rf"^{host}: the feature ([a-z-]+) is left out: it does not support {host}", out, re.M)
    )
    assert told == unfit
    assert locked(gsd) == set(FEATURES) - unfit
    assert marks(gsd) & unfit == set()


@pytest.mark.parametrize("host", HOSTS)
def test_asked_for_by_name_it_is_an_error(gsd: Machine, host: str) -> None:
    ran = refused(gsd, host, 'enable = ["claude-orchestration"]\n')
    error = ran.data["error"]
    assert (ran.status, error["code"]) == (3, "E-FEATURE-INCOMPATIBLE")
    assert f"claude-orchestration cannot be used here: it does not support {host}" in error["details"][0]
    assert not (gsd.project / "gsdlock.lock").exists()


REQUIRED = [(needed, id_) for id_, f in FEATURES.items() for needed in f.requires]


@pytest.mark.parametrize(("needed", "by"), REQUIRED, ids=[f"{b}-{n}" for n, b in REQUIRED])
def test_what_an_active_feature_requires_cannot_be_off(gsd: Machine, needed: str, by: str) -> None:
    ran = refused(gsd, "claude", f'disable = ["{needed}"]\n')
    error = ran.data["error"]
    assert (ran.status, error["code"]) == (3, "E-FEATURE-REQUIRED")
    assert any(line.endswith(f"{by} requires {needed}") for line in error["details"])


def test_there_is_a_feature_that_requires_another() -> None:
    """Else the table above would test nothing."""
    assert REQUIRED


def test_what_goes_off_goes_from_the_disk(gsd: Machine) -> None:
    install(gsd, "claude")
    before = marks(gsd)
    install(gsd, "claude", 'disable = ["intel", "ui"]\n')
    assert before - marks(gsd) == {"intel", "ui"}
    install(gsd, "claude")
    assert marks(gsd) == before


def test_the_packs_own_word_counts(gsd: Machine) -> None:
    """A pack that carries its descriptors is held to them: here the feature supports one host only."""
    folder = Path(gsd.root / "pack/capabilities/mine")
    folder.mkdir(parents=True)
    descriptor = {
        "id": "mine",
        "role": "feature",
        "version": "1.0.0",
        "title": "Mine",
        "description": "Mine.",
        "tier": "full",
        "requires": [],
        "runtimeCompat": {
            "supported": ["*"],
            "unsupported": ["codex"],
            "notes": {"codex": "no agents there"},
        },
        "skills": ["ui-phase"],
        "agents": [],
        "config": {},
        "steps": [],
        "contributions": [],
        "gates": [],
    }
    (folder / "capability.json").write_text(json.dumps(descriptor))
    out = install(gsd, "codex").out
    assert "codex: the feature mine is left out: it does not support codex (no agents there)" in out
    assert 'disable = ["mine"] in [targets.codex]' in out
    gsd.ok("apply", "--allow", "high")
    assert not [p for p in gsd.tree() if "ui-phase" in p]
