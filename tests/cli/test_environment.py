"""Where our own folders lie, and that nothing is read or made to find out."""

from __future__ import annotations

import sys

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.cli.environment import xdg_folders
from gsdlock.cli.unchanged import decides_places

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
    from gsdlock.capabilities.registry import load_builtin

    def names(home: ConfigHome | None) -> set[str]:
        return {*home.env, *names(home.skills_home)} if home else set()

    for runtime in load_builtin().runtimes.values():
        homes = [runtime.config_home, *runtime.roots.values()]
        found = {name for home in homes for name in names(home)}
        assert all(decides_places(name) for name in found), (runtime.id, found)
    assert decides_places("PATH") and decides_places("HOME") and decides_places("GSDLOCK_HOME")
    assert not decides_places("TERM")
