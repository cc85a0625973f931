"""The two worked examples: hosts of somebody else, installed into, moved on, gone back on and left.

The suites of crashes, errors and confinement run on them as on a first-party host: `tests/faults/hosts.py`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import EXAMPLES, digest_of, install, trust, write_feature

HOSTS = ["heron", "kestrel"]
SETTINGS = {
    "heron": ("heron.json", '{\n  // mine\n  "model": "m",\n}\n', '"tide-server"'),
    "kestrel": ("kestrel.hcl", '# mine\nmodel = "m"\n\nprovider "x" {\n  key = env("K")\n}', '"tide-server"'),
}
SERVER = {"tide-server": {"command": "tided", "args": ["--at", "${HOME}"]}}


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest, machine: Any, tmp_path: Path) -> str:
    """A host with a settings file of the user's, consented to, and a manifest that puts a feature on it."""
    name: str = request.param
    bundles = tmp_path / "bundles"
    shutil.copytree(EXAMPLES / name, bundles / name)
    (bundles / "tides").mkdir()
    write_feature(bundles / "tides", id_="tides", mcpServers=SERVER)
    file, text, _ = SETTINGS[name]
    (machine.home / f".config/{name}").mkdir(parents=True)
    (machine.home / f".config/{name}/{file}").write_text(text)
    machine.manifest(
        f'[overlays.tides]\npath = "{bundles}/tides"\n'
        f'[targets.{name}]\nscope = "global"\n[targets.{name}-here]\nruntime = "{name}"\nscope = "local"\n'
    )
    install(machine, f"{bundles}/{name}")
    trust(machine, "tides")
    machine.ok("resolve")
    return name


def both(machine: Any) -> dict[str, Any]:
    project = {k: v for k, v in machine.tree(machine.project).items() if not k.startswith("gsdlock.")}
    return {**machine.tree(), **{f"project/{k}": v for k, v in project.items()}}


def test_the_whole_life_of_a_third_party_host(host: str, machine: Any, tmp_path: Path) -> None:
    file, text, mark = SETTINGS[host]
    before = both(machine)
    machine.ok("apply", "--locked", "--allow", "critical")
    base = machine.home / f".config/{host}"
    after = (base / file).read_text()
    assert after.replace(text.rstrip("\n}"), "") != after and mark in after, "what was the user's stays"
    assert list(base.rglob("tides/SKILL.md")) and list(base.rglob("tides-pilot.md"))
    assert (machine.project / f".{host}" / file).is_file()
    installed = both(machine)
    machine.ok("status", "--exit-code")
    assert "overlay:tides" in machine.ok("why", f"{base / file}").out

    # Upgrade: the host says another folder, the feature another text.
    descriptor = tmp_path / "bundles" / host / "capability.json"
    data = json.loads(descriptor.read_text())
    data["version"] = "1.0.0"
    data["runtime"]["nativeSkills"]["global"]["destSubpath"] = "other-skills"
    descriptor.write_text(json.dumps(data))
    machine.ok("overlay", "update", host, "--consent", digest_of(machine, str(descriptor.parent)))
    machine.ok("resolve")
    machine.ok("apply", "--locked", "--allow", "critical")
    assert (base / "other-skills/tides/SKILL.md").is_file()
    assert not list((base).rglob("plugins/skills/tides")) and not (base / "skills/tides").exists()

    machine.ok("rollback", "--allow", "critical")
    assert both(machine) == installed
    machine.ok("uninstall", "--allow", "critical")
    assert both(machine) == before


def test_it_can_be_left_when_the_overlay_is_gone(host: str, machine: Any) -> None:
    before = both(machine)
    machine.ok("apply", "--locked", "--allow", "critical")
    ran = machine.ok("overlay", "remove", host)
    assert f"--target {host}" in ran.out
    machine.ok("uninstall", "--allow", "critical")
    assert both(machine) == before
    assert machine.run("resolve").status == 3  # there is no such host any more


def test_everything_that_executes_there_is_critical(host: str, machine: Any) -> None:
    ran = machine.run("apply", "--locked", "--allow", "high")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err
    items = machine.ok("apply", "--dry-run", "--json").data["items"]
    assert {i["risk"] for i in items if i["executes"]} == {"critical"}


def test_going_back_to_what_executes_is_critical_too(host: str, machine: Any) -> None:
    machine.ok("apply", "--locked", "--allow", "critical")
    machine.ok("uninstall", "--allow", "critical")
    ran = machine.run("rollback", "--allow", "high")
    assert ran.status == 4 and "critical" in ran.err
    machine.ok("rollback", "--allow", "critical")


def test_the_users_own_server_of_that_name_stays(host: str, machine: Any) -> None:
    file, _, _ = SETTINGS[host]
    mine = {
        "heron": '{"mcpServers": {"tide-server": {"command": "mine"}}}',
        "kestrel": 'mcp_server "tide-server" {\n  command = "mine"\n}\n',
    }[host]
    (machine.home / f".config/{host}/{file}").write_text(mine)
    ran = machine.run("apply", "--locked", "--allow", "critical")
    assert ran.status == 4 and "E-EDIT-COLLISION" in ran.err
    assert (machine.home / f".config/{host}/{file}").read_text() == mine


def ways(*words: str) -> list[list[str]]:
    """A command with everything that a user can say for it."""
    return [[*words, "--allow", "critical"], [*words, "--unsafe-auto-allow"]]


@pytest.mark.parametrize("linked_home", [False, True], ids=["a home", "a home behind a link"])
def test_29_a_root_behind_a_link_to_keys_is_vetoed_whatever_anybody_says(
    host: str, machine: Any, linked_home: bool
) -> None:
    """Every item of the plan is denied by the veto, the other target's too, and that is written down."""
    machine.own('[policy.all]\nmatch = {}\naction = "allow"\n')
    if linked_home:
        machine.home.rename(machine.root / "elsewhere")
        machine.home.symlink_to("elsewhere")
    (machine.home / ".ssh").mkdir(mode=0o700)
    shutil.rmtree(machine.home / f".config/{host}")
    (machine.home / f".config/{host}").symlink_to("../.ssh")
    before = both(machine)
    for words in [["apply", "--locked", "--dry-run"], *ways("apply", "--locked")]:
        ran = machine.run(*words)
        assert ran.status == 4 and "E-CONFINE-PLACE" in ran.err, ran.err
    assert both(machine) == before and not list((machine.home / ".ssh").iterdir())
    plans = machine.ok("log", "--json", "--kind", "plan").data["events"]
    assert len(plans) == 2, "a dry run decides nothing"
    for plan in plans:
        items = plan["payload"]["items"]
        assert {(i["allow"], i["decided_by"]) for i in items} == {(False, "hook-veto:confinement")}
        assert {i["target"] for i in items} == {host, f"{host}-here"}
    outcomes = machine.ok("log", "--json", "--kind", "outcomes").data["events"]
    assert [e["payload"] for e in outcomes] == [{"outcomes": []}] * 2, "none for what was not allowed"
    assert "hook-veto:confinement" in machine.ok("log", "-v").out


def test_29_going_back_through_such_a_link_is_vetoed_too(host: str, machine: Any) -> None:
    """The record holds the path; what lies there by now is judged anew."""
    file = SETTINGS[host][0]
    base = machine.home / f".config/{host}"
    machine.ok("apply", "--locked", "--allow", "critical")
    machine.ok("uninstall", "--allow", "critical")
    (base / file).unlink()
    base.rmdir()
    (machine.home / ".gnupg").mkdir(mode=0o700)
    base.symlink_to("../.gnupg")
    before = both(machine)
    for words in ways("rollback"):
        ran = machine.run(*words)
        assert ran.status == 4 and "E-CONFINE-PLACE" in ran.err, ran.err
    assert both(machine) == before and not list((machine.home / ".gnupg").iterdir())


def test_two_hosts_share_a_folder_only_where_the_users_own_file_says_so(machine: Any, tmp_path: Path) -> None:
    bundle = tmp_path / "heron"
    shutil.copytree(EXAMPLES / "heron", bundle)
    data = json.loads((bundle / "capability.json").read_text())
    data["runtime"]["configHome"] = {"kind": "dot-home", "name": ".codex/heron", "env": []}
    (bundle / "capability.json").write_text(json.dumps(data))
    target = '[packs.s]\nbuiltin = "starter"\n[targets.heron]\nscope = "global"\n'
    machine.manifest(target)
    assert "E-CONFINE-PLACE" in machine.run("overlay", "show", str(bundle)).err
    machine.manifest(f'{target}share-roots = ["codex"]\n')
    assert "E-LAYER-PROJECT" in machine.run("resolve").err
    own = machine.home / ".config/gsdlock/gsdlock.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'{target}share-roots = ["codex"]\n')
    for words in (["overlay", "show", str(bundle)],):
        machine.ok(*words, cwd=machine.home)
    digest = machine.ok("overlay", "show", str(bundle), "--json", cwd=machine.home).data["overlay"]["digest"]
    machine.ok("overlay", "add", str(bundle), "--consent", digest, cwd=machine.home)
    machine.ok("resolve", cwd=machine.home)
    machine.ok("apply", "--allow", "critical", cwd=machine.home)
    assert (machine.home / ".codex/heron/skills").is_dir()
