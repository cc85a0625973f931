"""Where our own folders lie, and that nothing is read or made to find out."""

from __future__ import annotations

import sys

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import HomeKind
from gsdlock.cli.environment import xdg_folders
from gsdlock.cli.unchanged import decides_places

from .conftest import Machine

HOME = "/home/ada"
VARIABLES = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]
CASES = [
    {},
    {"XDG_CONFIG_HOME": "/srv/config"},
    {"XDG_STATE_HOME": "/srv/state"},
    dict.fromkeys(VARIABLES, "/srv/all"),
    dict.fromkeys(VARIABLES, ""),
    dict.fromkeys(VARIABLES, "   "),
    dict.fromkeys(VARIABLES, "relative/path"),
    dict.fromkeys(VARIABLES, "~/x"),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the rule is for Linux")
@pytest.mark.parametrize("variables", CASES, ids=str)
def test_on_linux_they_are_where_platformdirs_has_them(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from platformdirs import PlatformDirs

    monkeypatch.setenv("HOME", HOME)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    theirs = PlatformDirs("gsdlock", appauthor=False)
    assert xdg_folders(variables, HOME) == {
        "config": theirs.user_config_dir,
        "data": theirs.user_data_dir,
        "state": theirs.user_state_dir,
        "cache": theirs.user_cache_dir,
    }


def test_the_home_is_needed_for_defaults_only() -> None:
    every = dict.fromkeys(VARIABLES, "/srv")
    assert xdg_folders(every, None)["data"] == "/srv/gsdlock"
    for name in VARIABLES:
        with pytest.raises(GsdlockError, match="E-HOME-UNSET"):
            xdg_folders({k: v for k, v in every.items() if k != name}, None)


def test_every_variable_that_a_host_goes_by_counts_as_deciding() -> None:
    """Else an apply would say that there is nothing to do after such a variable moved a host's folder."""
    from gsdlock.capabilities.model import ConfigHome

    def names(home: ConfigHome | None) -> set[str]:
        return {*home.env, *names(home.skills_home)} if home else set()

    for runtime in load_builtin().runtimes.values():
        homes = [runtime.config_home, *runtime.roots.values()]
        found = {name for home in homes for name in names(home)}
        assert all(decides_places(name) for name in found), (runtime.id, found)
    assert decides_places("PATH") and decides_places("HOME") and decides_places("GSDLOCK_HOME")
    assert not decides_places("TERM")


HOMES = sorted(
    (runtime.id, home.env[0])
    for runtime in load_builtin().runtimes.values()
    for home in [runtime.config_home]
    if home.env and home.kind is not HomeKind.XDG
)


@pytest.mark.parametrize(("host", "variable"), HOMES)
def test_a_relative_home_is_refused_by_whatever_looks_at_installed_targets(
    machine: Machine, host: str, variable: str
) -> None:
    """It is another folder in each working directory, so nothing can be said to be in order."""
    machine.manifest(
        f'[packs.starter]\nbuiltin = "starter"\n[targets.{host}]\nscope = "global"\nhooks = false\n'
    )
    machine.ok("apply", "--allow", "high")
    machine.variables[variable] = "./here"
    for words in (["apply"], ["status"], ["diff"], ["diff", "@installed", "@disk"], ["verify"]):
        ran = machine.run(*words)
        assert ran.status == 3 and "E-HOME-RELATIVE" in ran.err and variable in ran.err, words
    machine.ok("uninstall", "--allow", "high")  # what is recorded can be left in any case
