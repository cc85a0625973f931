"""`--target`, which every verb takes: a name that nobody has is never a check of nothing that passes."""

from __future__ import annotations

import pytest

from .conftest import Machine

READING = [
    "verify",
    "status --exit-code",
    "history",
    "resolve --check",
    "diff --exit-code",
    "diff @installed @disk --exit-code",
    "diff gsdlock.lock gsdlock.lock",
    "features",
    "log",
]
CHANGING = ["apply", "uninstall", "rollback", "repair"]


@pytest.fixture
def installed(starter: Machine) -> Machine:
    starter.ok("resolve")
    starter.ok("apply", "--allow", "high")
    return starter


@pytest.mark.parametrize("command", READING + CHANGING)
def test_a_name_that_nobody_has_is_an_error_and_changes_nothing(installed: Machine, command: str) -> None:
    before = installed.tree()
    for names in (["claud"], ["claude", "claud"]):
        ran = installed.run(*command.split(), *(word for name in names for word in ("--target", name)))
        assert ran.status == 3 and "E-TARGET-UNKNOWN" in ran.err and "did you mean claude" in ran.err
    assert installed.tree() == before


def test_a_target_that_left_the_manifest_and_the_lock_may_be_named_as_long_as_it_is_installed(
    installed: Machine,
) -> None:
    installed.manifest(
        '[packs.starter]\nbuiltin = "starter"\n[targets.other]\nruntime = "codex"\nscope = "local"\n'
    )
    installed.ok("resolve")
    assert installed.ok("verify", "--target", "claude").out.startswith("1 target,")
    installed.ok("uninstall", "--target", "claude", "--allow", "high")
    installed.ok("history", "--target", "claude")


def test_the_sides_of_a_diff_may_have_targets_of_their_own(installed: Machine) -> None:
    text = (installed.project / "gsdlock.toml").read_text()
    installed.manifest(text.replace("[targets.claude]", '[targets.elsewhere]\nruntime = "claude"'))
    installed.ok("resolve", "--lock", "other.lock")
    installed.manifest(text)
    named = installed.ok("diff", "other.lock", "@lock", "--target", "elsewhere", "--json").data
    assert [t["name"] for t in named["targets"]] == ["elsewhere"]


@pytest.mark.parametrize("verb", ["apply", "repair"])
@pytest.mark.parametrize("name", ["config:settings.json", "config:settings.json#/hooks/SessionStart"])
def test_a_choice_may_name_what_is_as_it_should_be(installed: Machine, verb: str, name: str) -> None:
    """The same command a second time is no mistake."""
    for _ in range(2):
        assert "nothing to do" in installed.ok(verb, "--ours", name, "--allow", "high").out
    assert "E-CHOICE-UNKNOWN" in installed.run(verb, "--ours", f"{name}x").err


@pytest.mark.parametrize("verb", ["verify", "status", "history"])
def test_without_a_manifest_too(installed: Machine, verb: str) -> None:
    elsewhere = installed.root / "elsewhere"
    elsewhere.mkdir()
    ran = installed.run(verb, "--target", "claud", cwd=elsewhere)
    assert ran.status == 3 and "E-TARGET-UNKNOWN" in ran.err
    installed.ok(verb, "--target", "claude", cwd=elsewhere)
