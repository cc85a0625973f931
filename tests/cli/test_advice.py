"""What a refusal says to do is done here, and then the command goes through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Machine, PackMaker

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "E-LOCK-DIGEST": lambda data: data.replace(b" 0644 ", b" 0644 9", 1),
    "E-LOCK-INVALID": lambda data: data.replace(b'scope = "global"', b'scope = "globe"'),
    "E-LOCK-SYNTAX": lambda data: data + b"[[target",
    "E-LOCK-VERSION-MISSING": lambda data: data.replace(b"lock-version = 1\n", b""),
    "E-LOCK-VERSION-TYPE": lambda data: data.replace(b"lock-version = 1\n", b'lock-version = "1"\n'),
}


@pytest.mark.parametrize("code", DAMAGES)
@pytest.mark.parametrize("verb", ["resolve", "apply", "status", "doctor"])
def test_a_damaged_lock_is_moved_away_and_made_again(starter: Machine, verb: str, code: str) -> None:
    starter.ok("resolve")
    path = starter.project / "gsdlock.lock"
    sound = path.read_bytes()
    path.write_bytes(DAMAGES[code](sound))
    ran = starter.run(verb)
    said = ran.out + ran.err
    assert code in said and "move it away and run gsdlock resolve" in said
    path.rename(path.with_suffix(".away"))
    starter.ok("resolve")
    assert path.read_bytes() == sound
    starter.ok(verb, *(["--allow", "high"] if verb == "apply" else []))


@pytest.mark.parametrize("code", DAMAGES)
def test_a_lock_of_another_name_is_not_made_again_by_resolve(
    starter: Machine, tmp_path: Path, code: str
) -> None:
    starter.ok("resolve")
    other = tmp_path / "other.lock"
    other.write_bytes(DAMAGES[code]((starter.project / "gsdlock.lock").read_bytes()))
    ran = starter.run("diff", str(other))
    assert code in ran.err and "resolve" not in ran.err and "name another lock" in ran.err
    ran = starter.run("diff", str(tmp_path / "none.lock"))
    assert "E-LOCK-MISSING" in ran.err and "resolve" not in ran.err
    assert "gsdlock resolve" in starter.run("diff", "--lock", "none.lock").err


def test_a_manifest_that_is_named_is_made_where_it_was_named(starter: Machine) -> None:
    ran = starter.run("resolve", "--manifest", "other.toml")
    assert "E-MANIFEST-MISSING" in ran.err and "init with the same --manifest" in ran.err
    starter.ok("init", "--manifest", "other.toml", "--runtime", "claude")
    starter.ok("resolve", "--manifest", "other.toml")


def test_a_generation_that_was_collected_is_told_as_that_with_those_to_go_back_to(
    machine: Machine, make_pack: PackMaker
) -> None:
    skill = machine.home / ".claude/skills/greet/SKILL.md"
    machine.manifest(
        f'[packs.own]\npath = "{make_pack("1.0.0", hook=False)}"\n[targets.claude]\nscope = "global"\n'
    )
    for version in "1234":
        make_pack(f"{version}.0.0", hook=False)
        machine.ok("resolve")
        machine.ok("apply", "--allow", "high")
    machine.ok("gc", "--keep", "2")
    for words in (["rollback", "1"], ["rollback", "2"], ["diff", "@2", "@lock"]):
        ran = machine.run(*words)
        assert ran.status == 3 and "is not kept any more: gsdlock gc forgot it" in ran.err
        assert words[0] == "diff" or "claude: kept are 3" in ran.err
    assert "no target has a generation 7" in machine.run("rollback", "7").err
    machine.ok("rollback", "3")
    assert "Hello from 3.0.0" in skill.read_text()
    ran = machine.run("rollback")  # one step more would be the second
    assert ran.status == 3 and "generation 2 of claude is not kept" in ran.err and "kept are 3, 4" in ran.err
    assert "backup" not in ran.err
    machine.ok("rollback", "4", "--allow", "high")
    assert "Hello from 4.0.0" in skill.read_text()


def test_what_two_installations_cannot_share_is_left_out_of_one(
    machine: Machine, make_pack: PackMaker
) -> None:
    """The switch that lets Codex run hooks at all is an entry of whoever came first."""
    packs = {name: make_pack(name=name) for name in ("greet", "wave")}

    def manifest(name: str, more: str = "") -> None:
        machine.manifest(
            f'name = "{name}"\n[packs.own]\npath = "{packs[name]}"\n[targets.codex]\nscope = "global"\n{more}'
        )

    manifest("greet")
    machine.ok("apply", "--allow", "high")
    manifest("wave")
    machine.ok("resolve")
    ran = machine.run("apply", "--allow", "high")
    assert ran.status == 4 and "E-COLLISION" in ran.err and "hooks = false" in ran.err
    manifest("wave", "hooks = false\n")
    machine.ok("resolve")
    machine.ok("apply", "--allow", "high")


@pytest.mark.parametrize("name", ["ledger.sqlite", "targets/claude@default/current"])
def test_a_damaged_record_is_put_right_by_doctor(starter: Machine, name: str) -> None:
    starter.ok("apply", "--allow", "high")
    (starter.state / name).write_bytes(b"x" * 100)
    verb = "log" if name.startswith("ledger") else "status"
    ran = starter.run(verb)
    assert ran.status == 5 and "gsdlock doctor --repair" in ran.err
    starter.ok("doctor", "--repair")
    starter.ok(verb)
