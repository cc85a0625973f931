"""What was denied stays told: by apply, status, diff and why, until it is there or no longer wanted."""

from __future__ import annotations

import pytest

from .conftest import Machine, PackMaker

DENY = '[policy.no-hooks]\nmatch = { op = "register-hook" }\naction = "deny"\n'
DENIED = "register-hook config:settings.local.json#/hooks/Stop (high, policy:no-hooks)"


@pytest.fixture
def denied(machine: Machine, make_pack: PackMaker) -> Machine:
    """A target that was applied without its hook, which policy denies."""
    pack = make_pack()
    text = f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "local"\n'
    (machine.project / "plain.toml").write_text(text)
    machine.manifest(text + DENY)
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4
    assert "claude: denied, left as it was" in ran.out and DENIED in ran.out
    assert not (machine.project / ".claude").exists()
    ran = machine.ok("apply", "--partial", "--allow", "high")
    assert "claude: left out, as it was denied:" in ran.out and DENIED in ran.out
    assert (machine.project / ".claude/skills/greet/SKILL.md").exists()
    assert not (machine.project / ".claude/settings.local.json").exists()
    return machine


def test_a_plain_apply_is_refused_again(denied: Machine) -> None:
    for _ in range(2):
        ran = denied.run("apply", "--allow", "high")
        assert ran.status == 4 and DENIED in ran.out and "nothing to do" not in ran.out
    ran = denied.ok("apply", "--partial", "--allow", "high")
    assert DENIED in ran.out and "nothing to do" not in ran.out


def test_status_diff_and_why_tell_what_is_missing(denied: Machine) -> None:
    assert "installed without 1 item that was denied: gsdlock diff" in denied.ok("status").out
    assert denied.run("status", "--exit-code").status == 1
    diff = denied.run("diff", "--exit-code")
    assert diff.status == 1 and "+ config:settings.local.json /hooks/Stop" in diff.out
    assert "skills/greet" not in diff.out
    why = denied.ok("why", "config:settings.local.json#/hooks/Stop").out
    assert "the lock" in why and "generation" not in why


def test_once_it_is_allowed_it_is_put_in(denied: Machine) -> None:
    denied.manifest((denied.project / "plain.toml").read_text())
    denied.ok("apply", "--allow", "high")
    assert "greet.sh" in (denied.project / ".claude/settings.local.json").read_text()
    assert "in order" in denied.ok("status", "--exit-code").out
    assert "nothing to do" in denied.ok("apply").out


def test_a_denied_replacement_is_told_with_the_version_that_stayed(
    machine: Machine, make_pack: PackMaker
) -> None:
    pack = make_pack("1.0.0", hook=False)
    text = f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "local"\n'
    machine.manifest(text)
    machine.ok("apply", "--allow", "high")
    make_pack("2.0.0", hook=False)
    (pack / "skills/greet/more.md").write_text("more")
    (pack / "skills/greet/other.md").write_text("other")
    machine.manifest(text + '[policy.frozen]\nmatch = { op = "replace" }\naction = "deny"\n')
    machine.ok("resolve")
    machine.ok("apply", "--partial", "--allow", "high")
    diff = machine.ok("diff", "--patch").out
    assert "-Hello from 1.0.0." in diff and "+Hello from 2.0.0." in diff
    assert "more.md" not in diff and "other.md" not in diff


def test_more_than_one_are(denied: Machine) -> None:
    denied.ok("uninstall", "--allow", "high")
    denied.manifest(
        (denied.project / "plain.toml").read_text()
        + DENY
        + '[policy.no-scripts]\nmatch = { kind = "script" }\naction = "deny"\n'
    )
    denied.ok("apply", "--partial", "--allow", "high")
    assert "installed without 2 items that were denied" in denied.ok("status").out
