"""How the text of one target names the host's config directory, without any path of this machine.

The source names its own directory as `~/.claude` or `$HOME/.claude`. At global scope these become
placeholders (`lockfiles.placeholders`) that are filled in at apply; at local scope the directory is named
relative to the project, so that the project can be moved and committed.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ...capabilities.model import Runtime
from ...capabilities.vocabulary import HomeKind, Scope
from ...lockfiles.placeholders import placeholder

_ROOT = "config"
_TILDE, _HOME, _HERE = "~/.claude", "$HOME/.claude", "./.claude/"
# The directory of the source by itself: neither the start of a path nor of a longer name.
_TILDE_ITSELF = re.compile(r"~/\.claude(?![\w/-])")
_HOME_ITSELF = re.compile(r"\$HOME/\.claude(?![\w/-])")


class Directory(Struct, frozen=True):
    """The config directory of one target as its text spells it.

    `tilde` stands where the source writes `~/.claude`, `home` where it writes `$HOME/.claude`, `path` where
    a host wants it absolute, `short` where the reader expands `~` only (`@` references). `local` is the name
    of the directory inside a project (`.codex`). At local scope the first four are `local`, or `.` where the
    project itself is the directory.
    """

    tilde: str
    home: str
    path: str
    short: str
    local: str


def directory(runtime: Runtime, scope: str) -> Directory:
    """How the config directory of `runtime` is spelled at `scope`.

    Axes: `skipHomePrefixSubstitution` (the host expands no `$HOME`: absolute paths), `noPathRewrite` (what is
    `~` in the source stays `~`), `localTargetIsProjectRoot`, `localConfigDir`.
    """
    behaviours = runtime.host_behaviors
    local = runtime.local_config_dir or "."
    if scope == Scope.LOCAL:
        here = "." if behaviours.get("localTargetIsProjectRoot") else local
        return Directory(here, here, here, here, local)
    path, home, short = (placeholder(form, _ROOT) for form in ("path", "home", "tilde"))
    if behaviours.get("skipHomePrefixSubstitution"):
        return Directory(path, path, path, short, local)
    return Directory(short if behaviours.get("noPathRewrite") else home, home, path, short, local)


def below(name: str) -> str:
    """The start of a path below the directory that is spelled `name`."""
    return "" if name == "." else name + "/"


def name_paths(text: str, to: Directory) -> str:
    """Paths below the source's directory as paths below the target's."""
    text = text.replace(_TILDE + "/", below(to.tilde)).replace(_HOME + "/", below(to.home))
    return text.replace(_HERE, f"./{to.local}/")


def name_directory(text: str, to: Directory) -> str:
    """The source's directory, where it is meant itself, as the target's."""
    text = _TILDE_ITSELF.sub(lambda _: to.tilde, text)
    return _HOME_ITSELF.sub(lambda _: to.home, text)


def name_here(text: str, runtime: Runtime, scope: str) -> str:
    """The host's own directory of the user as the one of the project, in text of a local target: what the
    text does is meant for the install that it belongs to. Only where both have the same name, so that no
    other host's directory is taken for it."""
    name = runtime.config_home.name
    if scope != Scope.LOCAL or runtime.config_home.kind is not HomeKind.DOT_HOME:
        return text
    if name != runtime.local_config_dir:
        return text
    return re.sub(rf"(?:~|\$HOME)/{re.escape(name)}(?![\w-])", lambda _: name, text)


def shorten_references(text: str, to: Directory) -> str:
    """`@` references in the form that the host expands: `@~/…`."""
    return text if to.home == to.short else text.replace("@" + below(to.home), "@" + below(to.short))
