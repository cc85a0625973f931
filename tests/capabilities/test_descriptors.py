"""The shipped descriptors: what the hosts are known to be. A change here is a change of what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import gsdlock.capabilities
import pytest
from gsdlock.capabilities.descriptor_warnings import warnings_of
from gsdlock.capabilities.model import Runtime
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.validation import read_descriptor, validate
from gsdlock.capabilities.vocabulary import LayoutKind

SHIPPED = Path(os.path.dirname(gsdlock.capabilities.__file__))
PATHS = sorted(p for p in SHIPPED.glob("*/capability.json") if p.parent.name in load_builtin())
RUNTIMES = load_builtin().runtimes
FEATURES = load_builtin().features

# runtime: config home kind and name, variables, local folder, install surface, hook surface, event dialect,
# permission writer, sandbox tier.
AXES = """
antigravity dot-home-nested antigravity ANTIGRAVITY_CONFIG_DIR .agents settings-json settings-json gemini antigravity none
augment dot-home .augment AUGMENT_CONFIG_DIR .augment settings-json settings-json claude - none
claude dot-home .claude CLAUDE_CONFIG_DIR .claude settings-json settings-json claude - none
cline dot-home .cline CLINE_CONFIG_DIR .cline cline-rules cline-rules - - none
codebuddy dot-home .codebuddy CODEBUDDY_CONFIG_DIR .codebuddy settings-json settings-json claude - none
codex dot-home .codex CODEX_HOME .codex codex-toml codex-hooks-json claude - codex-agent-sandbox
copilot dot-home .copilot COPILOT_CONFIG_DIR,COPILOT_HOME .github copilot-instructions copilot-inline - - none
cursor dot-home .cursor CURSOR_CONFIG_DIR .cursor cursor-hooks-json cursor-hooks-json claude - none
gemini dot-home .gemini GEMINI_CONFIG_DIR .gemini settings-json settings-json gemini - none
hermes dot-home .hermes HERMES_HOME .hermes settings-json settings-json claude - none
kilo xdg kilo KILO_CONFIG_DIR,KILO_CONFIG,XDG_CONFIG_HOME .kilo settings-json none - kilo none
kimi generic-agents-root agents KIMI_CONFIG_DIR .kimi-code profile-marker-only kimi-hooks-toml claude - none
kimi-code dot-home .kimi-code KIMI_CODE_HOME .kimi-code profile-marker-only kimi-hooks-toml claude - none
opencode xdg opencode OPENCODE_CONFIG_DIR,OPENCODE_CONFIG,XDG_CONFIG_HOME .opencode settings-json none - opencode none
pi dot-home-nested agent PI_CODING_AGENT_DIR .pi profile-marker-only none - - none
qwen dot-home .qwen QWEN_CONFIG_DIR .qwen settings-json settings-json claude - none
trae dot-home .trae TRAE_CONFIG_DIR .trae profile-marker-only none - - none
vscode none vscode - - none none - - none
windsurf dot-home-nested windsurf WINDSURF_CONFIG_DIR .windsurf profile-marker-only windsurf-hooks-json - - none
zcode dot-home .zcode ZCODE_CONFIG_DIR .zcode profile-marker-only none - - none
"""  # noqa: E501  # a table: one host a line

# runtime: what it gets at global scope, what it gets at local scope (kind:folder).
LAYOUTS = """
antigravity skills:skills,agents:agents skills:skills,agents:agents
augment commands:commands,skills:skills,agents:agents commands:commands,skills:skills,agents:agents
claude skills:skills,agents:agents commands:commands,agents:agents
cline skills:skills,agents:agents agents:agents
codebuddy commands:commands,skills:skills,agents:agents commands:commands,skills:skills,agents:agents
codex skills:skills,agents:agents skills:skills,agents:agents
copilot skills:skills,agents:agents skills:skills,agents:agents
cursor skills:skills,agents:agents skills:skills,agents:agents
gemini commands:commands/gsd,agents:agents commands:commands/gsd,agents:agents
hermes skills:skills/gsd,agents:agents skills:skills/gsd,agents:agents
kilo commands:command,skills:skills,agents:agents commands:command,skills:skills,agents:agents
kimi skills:skills,kimi-agents:agents -
kimi-code skills:skills,agents:agents -
opencode commands:commands,skills:skills,agents:agents commands:commands,skills:skills,agents:agents
pi - -
qwen skills:skills,agents:agents skills:skills,agents:agents
trae skills:skills,agents:agents skills:skills,agents:agents
vscode - -
windsurf agents:agents commands:workflows,agents:agents
zcode skills:skills,commands:commands,agents:agents skills:skills,commands:commands,agents:agents
"""

# feature: tier, requires, skills, agents, command families, number of steps, contributions and gates.
OWNED = """
ai-integration full - ai-integration-phase gsd-framework-selector,gsd-ai-researcher,gsd-domain-researcher,gsd-eval-planner - 1 1 1
assumption-delta full - - - - 0 1 0
audit full - - - audit-uat,audit-open 0 0 0
broken-windows full - - - - 0 0 1
claude-orchestration full - - - claude-orchestration 0 2 0
code-review full - code-review gsd-code-reviewer,gsd-code-fixer - 1 0 0
drift full - - - - 0 0 3
external-job full - - - - 0 2 0
gap-analysis standard - - - - 0 0 1
graphify full - graphify - graphify 0 0 0
intel full - - - intel 1 0 0
mempalace full - mempalace-recall,mempalace-capture gsd-mempalace-curator - 5 2 0
nyquist full - validate-phase gsd-nyquist-auditor - 1 0 0
pattern-mapper full research - gsd-pattern-mapper - 1 0 0
profile-pipeline full - profile-user gsd-user-profiler scan-sessions,extract-messages,profile-sample,write-profile,profile-questionnaire,generate-dev-preferences,generate-claude-profile,generate-claude-md 0 0 0
research standard - - gsd-phase-researcher - 1 0 0
schema-gate full - - - - 0 1 0
security full - secure-phase gsd-security-auditor - 1 1 1
tdd full - - - - 0 1 1
ui full - ui-phase,ui-review gsd-ui-checker,gsd-ui-auditor - 2 0 2
"""  # noqa: E501  # a table: one feature a line


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def names(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def maybe(text: str) -> str | None:
    return None if text == "-" else text


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.parent.name)
def test_no_descriptor_has_a_fault_or_a_warning(path: Path) -> None:
    data = read_descriptor(path.read_bytes(), str(path))
    assert validate(data, path.parent.name).faults == ()
    assert warnings_of(data) == ()


def test_the_tables_are_complete() -> None:
    assert [r[0] for r in rows(AXES)] == [r[0] for r in rows(LAYOUTS)] == list(RUNTIMES)
    assert [r[0] for r in rows(OWNED)] == list(FEATURES)


@pytest.mark.parametrize("row", rows(AXES), ids=lambda r: r[0])
def test_the_axes_of_a_runtime(row: list[str]) -> None:
    id_, kind, name, env, local, surface, hooks, events, writer, sandbox = row
    runtime = RUNTIMES[id_]
    assert (runtime.config_home.kind, runtime.config_home.name) == (kind, name)
    assert runtime.config_home.env == names(env)
    assert runtime.local_config_dir == maybe(local)
    assert (runtime.install_surface, runtime.hooks_surface) == (surface, hooks)
    assert (runtime.hook_events, runtime.permission_writer) == (maybe(events), maybe(writer))
    assert runtime.sandbox_tier == sandbox


@pytest.mark.parametrize("row", rows(LAYOUTS), ids=lambda r: r[0])
def test_the_layout_of_a_runtime(row: list[str]) -> None:
    for scope, expected in (("global", row[1]), ("local", row[2])):
        entries = RUNTIMES[row[0]].artifact_layout[scope]
        assert tuple(f"{e.kind}:{e.dest_subpath}" for e in entries) == names(expected)


@pytest.mark.parametrize("row", rows(OWNED), ids=lambda r: r[0])
def test_what_a_feature_owns(row: list[str]) -> None:
    id_, tier, requires, skills, agents, families, steps, contributions, gates = row
    feature = FEATURES[id_]
    assert (feature.tier, feature.requires) == (tier, names(requires))
    assert (feature.skills, feature.agents) == (names(skills), names(agents))
    assert tuple(c.family for c in feature.commands) == names(families)
    assert (len(feature.steps), len(feature.contributions), len(feature.gates)) == (
        int(steps),
        int(contributions),
        int(gates),
    )


NESTED = {"augment", "cline", "hermes", "qwen", "trae", "zcode"}


@pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=lambda r: r.id)
def test_skills_are_nested_where_the_host_reads_them_so(runtime: Runtime) -> None:
    skills = [
        e for entries in runtime.artifact_layout.values() for e in entries if e.kind is LayoutKind.SKILLS
    ]
    assert {e.nesting for e in skills} <= {"nested" if runtime.id in NESTED else "flat"}


@pytest.mark.parametrize("scope", ["global", "local"])
@pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=lambda r: r.id)
def test_a_skill_folder_is_placed_where_the_host_looks(runtime: Runtime, scope: str) -> None:
    place = runtime.native_skills.get(scope)
    if place is None:
        return
    if place.home is not None:
        here = f"~/{place.home}/{place.dest_subpath}"
    elif scope == "local" and runtime.host_behaviors.get("localTargetIsProjectRoot"):
        here = place.dest_subpath
    else:
        here = f"{runtime.local_config_dir if scope == 'local' else '{config}'}/{place.dest_subpath}"
    folders = [f.removesuffix("/**") for group in runtime.skills_read[scope] for f in group]
    assert here in [f.replace("~/.config/agents", "{config}") for f in folders]


def test_a_feature_of_one_host_says_so() -> None:
    assert FEATURES["claude-orchestration"].runtime_compat.supported == ("claude",)
    assert all(
        f.runtime_compat.supported == ("*",) for i, f in FEATURES.items() if i != "claude-orchestration"
    )


LANES = {
    "antigravity": "antigravity",
    "claude": "claude",
    "coderabbit": "coderabbit",
    "codex": "codex",
    "cursor": "cursor",
    "gemini": "gemini",
    "kimi-code": "kimi-code",
    "llama-cpp": "llama_cpp",
    "lm-studio": "lm_studio",
    "ollama": "ollama",
    "opencode": "opencode",
    "qwen": "qwen",
}


def test_the_review_lanes() -> None:
    lanes = load_builtin().reviewers
    assert {i: c.reviewer["slug"] for i, c in lanes.items() if c.reviewer} == LANES
