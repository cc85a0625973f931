"""What is shipped about the payload of a GSD pack: the data is whole, and its rules hold where they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from gsdlock.capabilities.gsd_layout import Condition, any_matches, load_gsd_layout
from gsdlock.capabilities.gsd_layout_shape import LAYOUT
from gsdlock.capabilities.hook_dialects import dialect
from gsdlock.capabilities.model import Runtime
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import HookDialectName, LayoutKind, Scope

RUNTIMES = load_builtin().runtimes


def test_the_layout_is_read() -> None:
    layout = load_gsd_layout()
    assert layout.profiles["core"][0] == "new-project"
    assert set(layout.profiles["core"]) < set(layout.profiles["standard"])
    assert "full" not in layout.profiles


MATCHES = [
    ("gsd-core/**", "gsd-core/a/b.md", True),
    ("gsd-core/**", "gsd-core", False),
    ("agents/*.md", "agents/a.md", True),
    ("agents/*.md", "agents/sub/a.md", False),
    ("agents/*.md", "my-agents/a.md", False),
    ("*.js", "a.js", True),
    ("*.js", "lib/a.js", False),
    ("**", "lib/a.js", True),
    ("a.js", "aXjs", False),
    ("lib/isolation-*.js", "lib/isolation-sentinel.js", True),
]


@pytest.mark.parametrize(("pattern", "path", "matches"), MATCHES)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert any_matches((pattern,), path) is matches


CLAUDE, OPENCODE, PI, TRAE = (RUNTIMES[i] for i in ("claude", "opencode", "pi", "trae"))

CONDITIONS = [
    (Condition(), CLAUDE, "global", "1.0.0", True),
    (Condition(when={"permissionsSchema": "claude"}), CLAUDE, "global", "", True),
    (Condition(when={"permissionsSchema": "claude"}), TRAE, "global", "", False),
    (Condition(when={"permissionWriter": "opencode"}), OPENCODE, "global", "", True),
    (Condition(when={"permissionWriter": "opencode"}), CLAUDE, "global", "", False),
    (Condition(when={"skipSharedHooksInstall": None}), CLAUDE, "global", "", True),
    (Condition(when={"skipSharedHooksInstall": None}), TRAE, "global", "", False),
    (Condition(scopes=(Scope.LOCAL,)), CLAUDE, "local", "", True),
    (Condition(scopes=(Scope.LOCAL,)), CLAUDE, "global", "", False),
    (Condition(beside=(LayoutKind.COMMANDS,)), CLAUDE, "local", "", True),
    (Condition(beside=(LayoutKind.COMMANDS,)), CLAUDE, "global", "", False),
    (Condition(beside=(LayoutKind.COMMANDS,)), PI, "local", "", False),
    (Condition(packs="<1.12.0"), CLAUDE, "global", "1.11.9", True),
    (Condition(packs="<1.12.0"), CLAUDE, "global", "1.12.0", False),
    # A prerelease is counted as its release, a pack without a version as the newest.
    (Condition(packs=">=1.12.0"), CLAUDE, "global", "1.14.0-rc.2+build", True),
    (Condition(packs=">=1.12.0"), CLAUDE, "global", "", True),
    (Condition(packs="<1.12.0"), CLAUDE, "global", "not a version", False),
]


@pytest.mark.parametrize(("condition", "runtime", "scope", "version", "holds"), CONDITIONS)
def test_conditions(condition: Condition, runtime: Runtime, scope: str, version: str, holds: bool) -> None:
    assert condition.holds(runtime, scope, version) is holds


def test_every_axis_that_a_rule_asks_for_is_one_of_the_vocabulary() -> None:
    from gsdlock.capabilities.validate_runtime import RUNTIME
    from gsdlock.capabilities.word_sets import HOST_BEHAVIORS

    layout = load_gsd_layout()
    known = {*RUNTIME.required, *RUNTIME.optional, *HOST_BEHAVIORS}
    conditions = [r.condition for r in layout.copies] + [r.condition for r in layout.files]
    conditions += [r.condition for r in layout.blocks] + [r.condition for r in layout.settings]
    conditions += [b.condition for bundles in layout.bundles.values() for b in bundles]
    asked = {name for condition in conditions for name in condition.when}
    assert asked and asked <= known


@pytest.mark.parametrize("name", sorted(load_gsd_layout().registrations))
def test_every_registration_can_be_said_in_its_dialect(name: HookDialectName) -> None:
    words = dialect(name)
    assert words is not None
    for row in load_gsd_layout().registrations[name]:
        assert bool(row.event) != bool(row.host_event), row
        extended = row.extended and not words.host_events(row.event)
        assert row.host_event or words.host_events(row.event) or extended, row


def test_a_dialect_without_hooks_is_none() -> None:
    assert dialect(HookDialectName.NONE) is None
    assert all(dialect(n) for n in HookDialectName if n is not HookDialectName.NONE)


def test_every_host_follows_a_dialect_that_fits_its_surface() -> None:
    for runtime in RUNTIMES.values():
        has_hooks = runtime.hooks_surface.value not in ("none", "cline-rules")
        assert (dialect(runtime.hook_dialect) is not None) is has_hooks, runtime.id


BROKEN = [
    ({"layoutVersion": 2}, "/layoutVersion"),
    ({"copies": [{"part": "core", "from": "../x", "to": "y"}]}, "/copies/0/from"),
    ({"copies": [{"part": "engine", "from": "x", "to": "y"}]}, "/copies/0/part"),
    ({"files": [{"part": "core", "to": "/etc/passwd"}]}, "/files/0/to"),
    ({"edits": [{"op": "ensure", "at": ["a"], "values": [1]}]}, "/edits/0/op"),
    ({"surprise": 1}, "/surprise"),
]


@pytest.mark.parametrize(("change", "pointer"), BROKEN)
def test_data_of_another_shape_is_found(change: dict[str, object], pointer: str) -> None:
    import json

    path = Path(__file__).parents[2] / "capabilities" / "gsd-layout.json"
    data = json.loads(path.read_text("utf-8"))
    assert not list(LAYOUT.check(data, ""))
    assert pointer in {f.pointer for f in LAYOUT.check({**data, **change}, "")}
