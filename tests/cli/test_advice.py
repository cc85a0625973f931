"""What a refusal says to do is done here, and then the command goes through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Machine

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
