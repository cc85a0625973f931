"""The two worked examples: hosts of somebody else, installed into, moved on, gone back on and left."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.store.filesystem_decorators import Faulty

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


def test_a_root_behind_a_link_to_keys_is_refused_at_apply(host: str, machine: Any) -> None:
    (machine.home / ".ssh").mkdir(mode=0o700)
    shutil.rmtree(machine.home / f".config/{host}")
    (machine.home / f".config/{host}").symlink_to("../.ssh")
    ran = machine.run("apply", "--locked", "--allow", "critical")
    assert ran.status == 4 and "E-CONFINE-PLACE" in ran.err
    assert not list((machine.home / ".ssh").iterdir())


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


# -- the crash suite, on these hosts


def fault_kit() -> Any:
    """`tests/faults/kit.py`. `tests` is no package, so the file is loaded by its place."""
    name = "gsdlock_fault_kit"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES.parents[1] / "tests/faults/kit.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("what", ["install", "upgrade", "rollback", "uninstall"])
def test_killed_before_any_call_all_is_old_or_all_is_new(
    name: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = fault_kit()
    critical = ("--allow", "critical")
    monkeypatch.setattr(kit, "FOLLOW", ("apply", "--locked", *critical))

    def prepare(machine: Any) -> None:
        machine.packs.mkdir(parents=True, exist_ok=True)
        write_feature(machine.packs, id_="tides", mcpServers=SERVER)
        folder = machine.home / f".config/{name}"
        folder.mkdir(parents=True)
        (folder / SETTINGS[name][0]).write_text(SETTINGS[name][1])
        text = f'[overlays.tides]\npath = "{machine.packs}"\n[overlays.{name}]\npath = "{EXAMPLES}/{name}"\n'
        (machine.project / "gsdlock.toml").write_text(f'{text}[targets.{name}]\nscope = "global"\n')
        consented(machine, "tides", name)
        machine.ok("resolve")
        if what != "install":
            machine.ok("apply", "--locked", *critical)
        if what in ("upgrade", "rollback"):
            for file in [p for p in machine.packs.rglob("*") if p.suffix in (".md", ".sh")]:
                file.write_text(f"{file.read_text()}\n# The next version.\n")
            consented(machine, "tides")
            machine.ok("resolve")
        if what == "rollback":
            machine.ok("apply", "--locked", *critical)

    def consented(machine: Any, *ids: str) -> None:
        for id_ in ids:
            shown = json.loads(machine.ok("overlay", "show", id_, "--json").text)
            machine.ok("overlay", "trust", id_, "--consent", shown["overlay"]["digest"])

    verbs = {"rollback": ("rollback", *critical), "uninstall": ("uninstall", *critical)}
    words = verbs.get(what, ("apply", "--locked", *critical))
    scenes: dict[str, tuple[Callable[[Any], None], tuple[str, ...]]] = {name: (prepare, words)}
    monkeypatch.setattr(kit, "SCENES", scenes)
    scene = kit.play(name, tmp_path / "scene")
    counting = Faulty(kit.Unflushed(), at=0)
    scene.machine.again()
    scene.machine.run(*words, fs=counting, last=lambda: counting.calls)
    total = int(scene.machine.told)

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    ends = set()
    # Every call is tried on first-party hosts, in tests/faults; here some, more of them in a full run.
    points = kit.chosen(range(1, total + 1), 8, f"overlays/{name}/{what}")
    for point in points[:: max(len(points) // 40, 1)]:
        scene.machine.again()
        ended = scene.machine.run(*words, fs=Faulty(kit.Unflushed(), point, instead=die, torn=True))
        assert ended.killed, f"{point} of {total}: {ended}"
        ends.add(scene.promise(f"{name} {what}, killed at {point} of {total}"))
    assert ends
