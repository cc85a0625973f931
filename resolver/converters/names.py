"""How the text of one target names the host's config directory, without any path of this machine.

The source names its own directory as `~/.claude` or `$HOME/.claude`. At global scope these become
placeholders (`lockfiles.placeholders`) that are filled in at apply; at local scope the directory is named
relative to the project, so that the project can be moved and committed.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ...capabilities.model import ConfigHome, Runtime
from ...capabilities.vocabulary import HomeKind, Scope
from ...lockfiles.placeholders import placeholder

_ROOT = "config"
_TILDE, _HOME, _HERE = "~/.claude", "$HOME/.claude", "./.claude/"
# The directory of the source by itself: neither the start of a path nor of a longer name.
_TILDE_ITSELF = re.compile(r"~/\.claude(?![\w/-])")
# What follows a directory in a list of those of several hosts: "(e.g. `~/.claude`, `~/.hermes`)".
_NEXT_LISTED = "`, `~/."
_HOME_ITSELF = re.compile(r"\$HOME/\.claude(?![\w/-])")


class Directory(Struct, frozen=True):
    """The config directory of one target as its text spells it.

    `tilde` stands where the source writes `~/.claude`, `home` where it writes `$HOME/.claude`, `path` where
    a host wants it absolute, `short` where the reader expands `~` only (`@` references). `local` is the name
    of the directory inside a project (`.codex`). At local scope the first four are `local`, or `.` where the
    project itself is the directory. `listed` stands in a list of the directories that hosts have in the
    user's home.
    """

    tilde: str
    home: str
    path: str
    short: str
    local: str
    listed: str


def directory(runtime: Runtime, scope: str) -> Directory:
    """How the config directory of `runtime` is spelled at `scope`.

    Axes: `skipHomePrefixSubstitution` (the host expands no `$HOME`: absolute paths), `noPathRewrite` (what is
    `~` in the source stays `~`), `localTargetIsProjectRoot`, `localConfigDir`.
    """
    behaviours = runtime.host_behaviors
    local = runtime.local_config_dir or "."
    if scope == Scope.LOCAL:
        here = "." if behaviours.get("localTargetIsProjectRoot") else local
        usual = "/".join(("~", *segments(runtime.config_home)))
        return Directory(here, here, here, here, local, usual)
    path, home, short = (placeholder(form, _ROOT) for form in ("path", "home", "tilde"))
    if behaviours.get("skipHomePrefixSubstitution"):
        return Directory(path, path, path, short, local, short)
    return Directory(short if behaviours.get("noPathRewrite") else home, home, path, short, local, short)


def segments(home: ConfigHome) -> tuple[str, ...]:
    """The config home as names below the user's home, where no variable moves it."""
    if home.kind is HomeKind.DOT_HOME_NESTED:
        return (home.parent, home.name)
    if home.kind is HomeKind.XDG:
        return (".config", home.name)
    if home.kind is HomeKind.GENERIC_AGENTS_ROOT and home.probe:
        return tuple(p for p in home.probe[0].split("/") if p != "~")
    return (home.name,)


def below(name: str) -> str:
    """The start of a path below the directory that is spelled `name`."""
    return "" if name == "." else name + "/"


def name_paths(text: str, to: Directory) -> str:
    """Paths below the source's directory as paths below the target's."""
    text = text.replace(_TILDE + "/", below(to.tilde)).replace(_HOME + "/", below(to.home))
    return text.replace(_HERE, f"./{to.local}/")


def name_directory(text: str, to: Directory, *, listed: bool = False) -> str:
    """The source's directory, where it is meant itself, as the target's. `listed`: in a list of such
    directories as the one in the user's home."""

    def one(match: re.Match[str]) -> str:
        return to.listed if listed and text.startswith(_NEXT_LISTED, match.end()) else to.tilde

    return _HOME_ITSELF.sub(lambda _: to.home, _TILDE_ITSELF.sub(one, text))


def name_here(text: str, runtime: Runtime, scope: str, to: Directory) -> str:
    """The host's own directory, where the source names it, as that of the target: what the text does is meant
    for the install that it belongs to. Only where it has the same name in a project, so that no other host's
    directory is taken for it; the source's own directory is for `name_directory`."""
    name = runtime.config_home.name
    if runtime.config_home.kind is not HomeKind.DOT_HOME:
        return text
    if name != runtime.local_config_dir or f"~/{name}" == _TILDE:
        return text
    # The user's own may be moved by a variable, which text with `$HOME` asks for itself.
    start = "~" if scope == Scope.GLOBAL else r"(?:~|\$HOME)"
    return re.sub(rf"{start}/{re.escape(name)}(?![\w-])", lambda _: to.home, text)


def shorten_references(text: str, to: Directory) -> str:
    """`@` references in the form that the host expands: `@~/…`."""
    return text if to.home == to.short else text.replace("@" + below(to.home), "@" + below(to.short))
