"""What the commands say of a file that its host does not take, and that we did not make so."""

from __future__ import annotations

import json
from typing import Any


def test_apply_and_status_tell_of_a_file_that_the_host_may_not_read(starter: Any) -> None:
    settings = starter.home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  // mine\n  "permissions": {"allow": "Bash"}\n}\n')
    applied = starter.ok("apply", "--allow", "high").out
    for said in (applied, starter.ok("status").out):
        assert (
            f"claude: claude may not read {settings}, and not by our doing: the file holds comments" in said
        )
        assert "not by our doing: /permissions/allow must be an array" in said
    data = starter.ok("status", "--json").data
    assert len(data["broken-files"]) == 2
    assert starter.run("status", "--exit-code").status == 0
    settings.write_text(settings.read_text().replace("// mine", "").replace('"Bash"', '["Bash"]'))
    assert "may not read" not in starter.ok("status").out
    starter.ok("uninstall", "--allow", "high")
    assert json.loads(settings.read_text()) == {"permissions": {"allow": ["Bash"]}}


def test_an_uninstall_tells_what_stays_and_going_back_is_asked_about(starter: Any) -> None:
    starter.ok("apply", "--allow", "high")
    skill = starter.home / ".claude/skills/gsdlock/SKILL.md"
    skill.write_text(skill.read_text() + "my own line\n")
    ran = starter.ok("uninstall", "--allow", "high")
    assert "claude: config:skills/gsdlock/SKILL.md stays as it is now: you changed it" in ran.out
    assert skill.read_text().endswith("my own line\n")
    refused = starter.run("rollback", "--allow", "high")
    assert refused.status == 4 and "E-COLLISION" in refused.err
    starter.ok("rollback", "--allow", "high", "--theirs")
    assert skill.read_text().endswith("my own line\n")
    assert starter.ok("uninstall", "--json", "--allow", "high").data["staying"] == []
    assert skill.read_text().endswith("my own line\n")


def test_what_stays_is_told_by_whatever_leaves_it(machine: Any, make_pack: Any) -> None:
    pack = make_pack()
    skill = machine.home / ".claude/skills/greet/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text((pack / "skills/greet/SKILL.md").read_text())
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    machine.ok("apply", "--allow", "high")
    hook = next((machine.home / ".claude/hooks").rglob("greet.sh"))
    hook.write_text(hook.read_text() + "# mine\n")
    machine.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\nhooks = false\n')
    ran = machine.ok("apply", "--allow", "high")
    assert "/greet.sh stays as it is now: you changed it" in ran.out
    ran = machine.ok("uninstall", "--allow", "high", "--json")
    assert [row["why"] for row in ran.data["staying"] if "SKILL.md" in row["key"]] == ["before"]
    assert skill.exists() and hook.exists()


def test_an_uninstall_of_nothing_is_done(starter: Any) -> None:
    """Who asks for it wants nothing there, and nothing is."""
    for _ in range(2):
        assert "nothing of this manifest is installed" in starter.ok("uninstall").out
        starter.ok("apply", "--allow", "high")
        starter.ok("uninstall", "--allow", "high")
    assert starter.run("repair").status == 3
    (starter.project / "gsdlock.toml").unlink()
    assert "E-TARGET-WHICH" in starter.run("uninstall").err
