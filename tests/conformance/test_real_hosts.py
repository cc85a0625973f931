"""The GSD pack is installed for real clients, and they are asked what they see of it.

What is measured here is the evidence of several reasons in `differences.json`. One client at a time: each of
them takes seconds, and `opencode` is not among them since it wants its registry before it answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from . import ours
from .measured import targets
from .real_hosts import HOSTS, Client, client, refusing_model
from .reference import Homes, Reference, Unavailable, search_path

pytestmark = pytest.mark.network
Installed = Callable[[str], Client]


@pytest.fixture
def installed(reference: Reference, tmp_path: Path) -> Installed:
    """Installs the pack of the parity tests for a host, at global scope, and gives its client."""

    def install(host: str) -> Client:
        homes = Homes.below(tmp_path)
        try:
            found = client(host, reference, homes)
        except Unavailable as error:
            pytest.skip(str(error))
        package = reference.packages["gsd"]
        ours.install(homes, search_path(reference), f'path = "{package}"', [(host, "global")])
        return found

    return install


def commands(reference: Reference) -> set[str]:
    """The names that the commands of the pack have as skills."""
    folder = reference.packages["gsd"] / "commands/gsd"
    return {f"gsd-{file.stem}" for file in folder.glob("*.md")}


def test_the_hosts_are_hosts() -> None:
    assert set(HOSTS) <= {t.runtime.id for t in targets()}


def test_codex_lists_every_skill_and_hook(installed: Installed, reference: Reference) -> None:
    codex = installed("codex")
    here = {"cwds": [str(codex.homes.project)]}
    about = {"clientInfo": {"name": "test", "title": "test", "version": "1"}}
    _, skills, hooks, config = codex.talk(
        ("app-server",),
        [("initialize", about), ("skills/list", here), ("hooks/list", here), ("config/read", {})],
    )
    (found,) = skills["data"]
    assert found["errors"] == []
    names = {s["name"]: s["path"] for s in found["skills"] if s["name"].startswith("gsd-")}
    assert set(names) == commands(reference)
    assert all(path.startswith(f"{codex.homes.home}/.agents/skills/") for path in names.values())
    (known,) = hooks["data"]
    registered = json.loads((codex.homes.home / ".codex/hooks.json").read_text())["hooks"]
    assert (len(known["hooks"]), known["errors"], known["warnings"]) == (len(registered), [], [])
    assert {h["trustStatus"] for h in known["hooks"]} == {"untrusted"}, "the user is asked before one runs"
    assert config["config"]["features"]["hooks"] is True


def test_copilot_lists_every_skill_and_goes_by_its_home(installed: Installed, reference: Reference) -> None:
    copilot = installed("copilot")

    def listed(**more: str) -> set[str]:
        done = copilot.run("skill", "list", "--json", **more)
        assert done.returncode == 0, done.stderr
        return {s["name"] for s in json.loads(done.stdout) if s["name"].startswith("gsd-")}

    assert listed() == commands(reference)
    elsewhere = copilot.homes.home / "elsewhere"
    (copilot.homes.home / ".copilot").rename(elsewhere)
    assert listed(COPILOT_HOME=str(elsewhere)) == commands(reference)
    assert listed(COPILOT_CONFIG_DIR=str(elsewhere)) == set(), "the host does not know that variable"


def test_kilo_takes_the_config_lets_agents_ask_and_finds_the_skills(
    installed: Installed, reference: Reference
) -> None:
    kilo = installed("kilo")
    done = kilo.run("debug", "config")
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)
    assert commands(reference) <= set(config["command"])
    agents = {file.stem for file in (reference.packages["gsd"] / "agents").glob("*.md")}
    assert agents <= set(config["agent"])
    asks = {name for name in agents if config["agent"][name]["permission"]["question"] == "allow"}
    folder = reference.packages["gsd"] / "agents"
    fronts = {n: (folder / f"{n}.md").read_text("utf-8").split("\n---\n")[0] for n in agents}
    assert asks == {n for n, front in fronts.items() if "AskUserQuestion" in front}
    grants = config["permission"]
    assert [*grants["read"], *grants["external_directory"]] == ["~/.config/kilo/gsd-core/*"] * 2
    done = kilo.run("debug", "skill")
    assert done.returncode == 0, done.stderr
    found = {s["name"]: s["location"] for s in json.loads(done.stdout) if s["name"].startswith("gsd-")}
    assert set(found) == commands(reference)
    assert all(place.startswith(f"{kilo.homes.home}/.config/kilo/skills/") for place in found.values())


def test_augment_lists_every_command(installed: Installed, reference: Reference) -> None:
    augment = installed("augment")
    done = augment.run("command", "list")
    assert done.returncode == 0, done.stderr
    assert {name for name in commands(reference) if name in done.stdout} == commands(reference)


def test_gemini_fills_in_its_own_mark_for_arguments_and_reads_its_own_file(installed: Installed) -> None:
    gemini = installed("gemini")
    settings = gemini.homes.home / ".gemini/settings.json"
    given = json.loads(settings.read_text())
    given["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    settings.write_text(json.dumps(given))
    for mark, name in (("$ARGUMENTS", "theirs"), ("{{args}}", "ours")):
        prompt = f'description = "x"\nprompt = "BEGIN {mark} END"\n'
        (gemini.homes.home / f".gemini/commands/{name}.toml").write_text(prompt)
    (gemini.homes.project / "GEMINI.md").write_text("This is read.")
    (gemini.homes.project / "CLAUDE.md").write_text("That is not.")

    def sent(command: str) -> str:
        with refusing_model() as model:
            more = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": model.address}
            done = gemini.run("--skip-trust", "-p", command, **more)
        assert "Error loading" not in done.stderr and "Discarding" not in done.stderr, done.stderr
        return "\n".join(model.asked)

    assert "BEGIN $ARGUMENTS END" in sent("/theirs one two")
    told = sent("/ours one two")
    assert "BEGIN one two END" in told
    assert "This is read." in told and "That is not." not in told
