"""`gsdlock config`, and the user's own file: whose it must be, and that no layer's fault is passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.cli.layers import read_own_file

from .conftest import Machine, PackMaker

OWN = """
[settings]
progress = false
signing-key = "~/.ssh/mine"
[policy.hooks]
match = { op = "register-hook" }
action = "allow"
[dev-overrides]
starter = "/src/starter"
"""
OWN_FILE = "~/.config/gsdlock/gsdlock.toml"
PROJECT = """
[settings]
offline = true
[policy.hooks]
match = { kind = "hook" }
action = "deny"
"""


def test_every_value_with_its_origin(starter: Machine) -> None:
    own = starter.own(OWN)
    starter.manifest((starter.project / "gsdlock.toml").read_text() + PROJECT)
    lines = starter.run("config", "--show-origin").out.splitlines()
    project = str(starter.project / "gsdlock.toml")
    for expected in (
        f'manifest = "{project}" (built in)',
        f"offline = true (project: {project})",
        "progress = false (flag: --no-progress)",
        'signing-key = "~/.ssh/mine" (user: ~/.config/gsdlock/gsdlock.toml)',
        'allowed-signers = "" (built in)',
        "require-signature = false (built in)",
        'policy.hooks = {"match": {"op": "register-hook"}, "action": "allow"} ' + f"(user: {OWN_FILE})",
        'policy.project/hooks = {"match": {"kind": "hook"}, "action": "deny"} ' + f"(project: {project})",
        'dev-overrides.starter = "/src/starter" (user: ~/.config/gsdlock/gsdlock.toml)',
    ):
        assert expected in [" ".join(line.split()) for line in lines], expected
    rows = starter.ok("config", "--json", "--offline").data["values"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["offline"] == {"name": "offline", "value": True, "layer": "flag", "origin": "--offline"}
    assert by_name["signing-key"]["origin"] == str(own)
    assert "(built in)" not in starter.ok("config").out


def test_where_our_folders_lie_and_which_variable_says_so(starter: Machine) -> None:
    starter.variables["XDG_STATE_HOME"] = str(starter.root / "st")
    out = " ".join(starter.ok("config", "--show-origin").out.split())
    assert f'state-folder = "{starter.root}/st/gsdlock" (environment: XDG_STATE_HOME)' in out
    assert f'data-folder = "{starter.home}/.local/share/gsdlock" (built in)' in out
    starter.variables["GSDLOCK_HOME"] = str(starter.root / "all")
    out = " ".join(starter.ok("config", "--show-origin").out.split())
    assert f'state-folder = "{starter.root}/all/state" (environment: GSDLOCK_HOME)' in out


def test_it_works_without_a_manifest(machine: Machine) -> None:
    machine.manifest("")
    (machine.project / "gsdlock.toml").unlink()
    assert "offline = false" in machine.ok("config").out


def test_a_setting_does_what_its_flag_does(machine: Machine) -> None:
    machine.own("[settings]\noffline = true\n")
    text = '[packs.far]\narchive = "https://example.invalid/x.tgz"\n[targets.claude]\nscope = "local"\n'
    machine.manifest(text)
    ran = machine.run("resolve")
    assert ran.status == 5 and "E-OFFLINE" in ran.err


@pytest.mark.parametrize("verb", ["apply", "resolve", "config", "status"])
@pytest.mark.parametrize("own", ['[settings]\noffline = "no"\n', "[settings]\nofline = true\n", "offline ="])
def test_40_a_fault_in_the_users_file_is_never_passed_over(starter: Machine, verb: str, own: str) -> None:
    path = starter.own(own)
    before = starter.tree()
    ran = starter.run(verb)
    assert ran.status == 3 and str(path) in ran.err and "E-MANIFEST-" in ran.err
    assert starter.tree() == before


def test_40_a_faulty_stronger_layer_does_not_fall_through_to_a_weaker(starter: Machine) -> None:
    starter.own("[settings]\noffline = true\n")
    starter.manifest((starter.project / "gsdlock.toml").read_text() + "[settings]\noffline = 0\n")
    ran = starter.run("config")
    assert ran.status == 3 and "a project's file" in ran.err and "settings.offline" in ran.err


class TestTheUsersFile:
    """41: it must be a regular file of the caller that others cannot write; each fault has its own code."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "gsdlock.toml"
        path.write_bytes(b"x = 1")
        path.chmod(0o600)
        return path

    def code(self, path: Path, user_id: int | None = None) -> str:
        with pytest.raises(GsdlockError) as caught:
            read_own_file(str(path), os.geteuid() if user_id is None else user_id)
        assert str(path) in caught.value.what and caught.value.status == 4
        return caught.value.code

    def test_it_is_read(self, path: Path) -> None:
        path.chmod(0o644)
        assert read_own_file(str(path), os.geteuid()) == b"x = 1"
        assert read_own_file(str(path.parent / "none"), os.geteuid()) is None
        assert read_own_file(str(path / "below"), os.geteuid()) is None

    @pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o664])
    def test_nobody_else_may_write_it(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        assert self.code(path) == "E-USER-FILE-WRITABLE"

    def test_it_is_the_callers(self, path: Path) -> None:
        assert self.code(path, os.geteuid() + 1) == "E-USER-FILE-OWNER"

    def test_it_is_no_link(self, path: Path) -> None:
        link = path.parent / "link"
        link.symlink_to(path)
        assert self.code(link) == "E-USER-FILE-LINK"
        (path.parent / "dangling").symlink_to("nowhere")
        assert self.code(path.parent / "dangling") == "E-USER-FILE-LINK"

    def test_it_is_a_file(self, path: Path) -> None:
        (path.parent / "folder").mkdir()
        os.mkfifo(path.parent / "fifo")
        assert self.code(path.parent / "folder") == "E-USER-FILE-KIND"
        assert self.code(path.parent / "fifo") == "E-USER-FILE-KIND"

    def test_it_is_not_endless(self, path: Path) -> None:
        path.write_bytes(b"#" * (1024 * 1024))
        assert read_own_file(str(path), os.geteuid()) is not None
        path.write_bytes(b"#" * (1024 * 1024 + 1))
        assert self.code(path) == "E-USER-FILE-SIZE"

    def test_it_is_refused_wherever_it_has_a_say(self, starter: Machine) -> None:
        own = starter.own("")
        starter.ok("apply", "--allow", "high")
        assert "nothing to do" in starter.ok("apply").out
        own.chmod(0o666)
        for words in (["apply"], ["config"], ["resolve"]):
            ran = starter.run(*words)
            assert ran.status == 4 and "E-USER-FILE-WRITABLE" in ran.err, words

    @pytest.mark.parametrize("kind", ["npm", "path"])
    @pytest.mark.parametrize(
        "value", ["", " ", "a\nb", "a\x1b[2J", "\u202egnp", b"\xff".decode("utf-8", "surrogateescape")]
    )
    def test_init_refuses_what_no_manifest_may_say(self, machine: Machine, kind: str, value: str) -> None:
        ran = machine.run("init", f"--{kind}", value)
        assert ran.status == 2 and "E-USAGE" in ran.err and f"--{kind}" in ran.err.splitlines()[0]
        assert list(machine.project.iterdir()) == []

    @pytest.mark.parametrize("name", ["a b", 'a"b', "a\\b", "é", "\U0001f5c3"])
    def test_init_names_any_other_folder(self, machine: Machine, make_pack: PackMaker, name: str) -> None:
        make_pack().rename(machine.project / name)
        machine.ok("init", "--path", name, "--runtime", "claude")
        machine.ok("resolve")

    def test_init_writes_one_that_is_accepted(self, machine: Machine) -> None:
        old = os.umask(0o002)
        try:
            machine.ok("init", "--user", "--runtime", "claude")
        finally:
            os.umask(old)
        assert "offline" in machine.ok("config").out
