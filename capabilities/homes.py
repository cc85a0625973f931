"""Where a target's roots are. Pure: environment, home and existence of paths are given, nothing is created.

`config_home` and its neighbours say what a descriptor means, to the letter: values are not trimmed, not
normalised, not made absolute. `resolve_roots` stands above them and refuses what must not be written to.

dot-home             the first usable variable, else `home/name`
dot-home-nested      the first variable (it replaces the whole path), else a probe below `home/parent`, else
                     `home/parent/name`
xdg                  variables by position: a directory, a file (its folder), an XDG root; else
                     `home/.config/name`
generic-agents-root  the first variable, else the first probe that holds `probeExists`, else the first probe
none                 there is none

A variable is usable when it holds anything but white space. `~` and a leading `~/` stand for the home;
`~user` and `$HOME` do not.
"""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from .environment import Environment
from .errors import GsdlockError, input_error, refused, shown
from .model import ConfigHome, LayoutEntry, Runtime, SkillPlace
from .vocabulary import HomeKind, LayoutKind, Root, Scope

Exists = Callable[[str], bool]


class Found(Struct, frozen=True):
    """A directory and the environment variable that decided on it (empty where none did)."""

    path: str
    variable: str = ""


class Roots(Struct, frozen=True):
    """The directories of one target: root name -> absolute path.

    `decided_by` maps the name of a root to the environment variable that moved it.
    """

    paths: Mapping[str, str]
    decided_by: Mapping[str, str]


class Surroundings(Struct, frozen=True):
    """What a look-up depends on. `home` is absolute or None; `platform` a `sys.platform` value."""

    variables: Mapping[str, str]
    home: str | None
    exists: Exists
    platform: str = "linux"

    def usable(self, name: str) -> str | None:
        """The value of a variable, or None where it is unset, empty or blank."""
        value = self.variables.get(name)
        return value if value is not None and value.strip() else None

    def below_home(self, *parts: str) -> str:
        """A path below the home. Raises `E-HOME-UNSET` where the home is not known."""
        if self.home is None:
            name = "USERPROFILE" if self.platform == "win32" else "HOME"
            raise input_error(
                "E-HOME-UNSET",
                f"{name} is not set to an absolute path, and a folder below it is needed.",
                f"Set {name}, or set the variable of the host that names its folder.",
            )
        return self.join(self.home, *parts)

    def join(self, *parts: str) -> str:
        """Parts as one path, with `.` and `..` taken out."""
        flavour = self._flavour
        return flavour.normpath(flavour.join(*parts))

    def folder_of(self, path: str) -> str:
        """The directory part of a path; `.` where it has none."""
        return self._flavour.dirname(path) or "."

    def expand(self, path: str) -> str:
        """`path` with `~` or a leading `~/` replaced by the home."""
        if path == "~":
            return self.below_home()
        return self.below_home(path[2:]) if path.startswith("~/") else path

    def is_absolute(self, path: str) -> bool:
        """Whether `path` is full on the platform that is spoken of, not on the one that this runs on."""
        if self.platform == "win32":
            drive, rest = ntpath.splitdrive(path)
            return bool(drive) and rest[:1] in ("\\", "/")
        return path.startswith("/")

    def tidy(self, path: str) -> str:
        """An absolute path without needless separators. `..` stays: what it means depends on links."""
        flavour = self._flavour
        return path if ".." in path.replace("\\", "/").split("/") else flavour.normpath(path)

    @property
    def _flavour(self) -> _Flavour:
        return _WIN32 if self.platform == "win32" else _POSIX


class _Flavour(Struct, frozen=True):
    join: Callable[..., str]
    normpath: Callable[[str], str]
    dirname: Callable[[str], str]


_POSIX = _Flavour(posixpath.join, posixpath.normpath, posixpath.dirname)
_WIN32 = _Flavour(ntpath.join, ntpath.normpath, ntpath.dirname)


def config_home(home: ConfigHome, around: Surroundings, explicit: str = "") -> Found:
    """The directory that `home` describes; a non-empty `explicit` one wins over everything.

    Raises `E-HOME-NONE` for kind none, `E-HOME-UNSET` where the user's home is needed and not known.
    """
    if explicit:
        return Found(around.expand(explicit))
    if home.kind is HomeKind.NONE:
        raise refused(
            "E-HOME-NONE",
            "This runtime has no config home, so nothing can be installed for it at global scope.",
            "Remove the target from the manifest.",
        )
    return _FINDERS[home.kind](home, around)


def _dot_home(home: ConfigHome, around: Surroundings) -> Found:
    for name in home.env:
        value = around.usable(name)
        if value is not None:
            return Found(around.expand(value), name)
    return Found(around.below_home(home.name))


def _dot_home_nested(home: ConfigHome, around: Surroundings) -> Found:
    found = _first_variable(home, around)
    if found is not None:
        return found
    base = around.below_home(home.parent)
    candidates = [around.join(base, p) for p in home.probe] or [around.join(base, home.name)]
    marked = (c for c in candidates if home.probe_exists and around.exists(around.join(c, home.probe_exists)))
    present = (c for c in candidates if around.exists(c))
    return Found(next(marked, None) or next(present, None) or candidates[0])


def _xdg(home: ConfigHome, around: Surroundings) -> Found:
    meanings: tuple[Callable[[str], str], ...] = (
        lambda directory: directory,
        around.folder_of,
        lambda xdg_root: around.join(xdg_root, home.name),
    )
    for name, meaning in zip(home.env, meanings, strict=False):
        value = around.usable(name)
        if value is not None:
            return Found(meaning(around.expand(value)), name)
    return Found(around.below_home(".config", home.name))


def _generic_agents_root(home: ConfigHome, around: Surroundings) -> Found:
    found = _first_variable(home, around)
    if found is not None:
        return found
    candidates = [around.expand(p) for p in home.probe]
    qualified = (c for c in candidates if around.exists(around.join(c, home.probe_exists or "")))
    return Found(next(qualified, candidates[0]))


def _first_variable(home: ConfigHome, around: Surroundings) -> Found | None:
    for name in home.env[:1]:
        value = around.usable(name)
        if value is not None:
            return Found(around.expand(value), name)
    return None


_FINDERS: Mapping[HomeKind, Callable[[ConfigHome, Surroundings], Found]] = MappingProxyType(
    {
        HomeKind.DOT_HOME: _dot_home,
        HomeKind.DOT_HOME_NESTED: _dot_home_nested,
        HomeKind.XDG: _xdg,
        HomeKind.GENERIC_AGENTS_ROOT: _generic_agents_root,
    }
)


def skills_base(runtime: Runtime, around: Surroundings) -> Found | None:
    """The folder in which the skills of a global install lie, or None where the runtime has no config home.

    A runtime without a skills entry has its base at `skills` all the same; nothing is placed there.
    """
    entry = next((e for e in runtime.artifact_layout[Scope.GLOBAL] if e.kind is LayoutKind.SKILLS), None)
    if entry is not None and entry.home is not None:
        return Found(around.below_home(entry.home, entry.dest_subpath))
    if runtime.config_home.kind is HomeKind.NONE:
        return None
    found = config_home(runtime.config_home.skills_home or runtime.config_home, around)
    return Found(around.join(found.path, entry.dest_subpath if entry else "skills"), found.variable)


def hooks_home(runtime: Runtime, around: Surroundings) -> Found:
    """The directory of a runtime's hooks at global scope: its declared root, else its config home."""
    return config_home(runtime.roots.get(Root.HOOKS_HOME, runtime.config_home), around)


def local_directory(runtime: Runtime, project: str, around: Surroundings) -> str:
    """The config root of a local install in the folder `project`.

    Raises `E-HOME-LOCAL-DEFERRED` for a runtime that takes no local install yet, `E-HOME-LOCAL-NONE` for one
    that has no local folder.
    """
    behaviors = runtime.host_behaviors
    if behaviors.get("localInstallDeferred"):
        raise refused(
            "E-HOME-LOCAL-DEFERRED",
            f"The runtime {shown(runtime.id)} takes no install at local scope.",
            'Use scope = "global" for this target.',
        )
    if behaviors.get("localTargetIsProjectRoot"):
        return project
    if runtime.local_config_dir is None:
        raise refused(
            "E-HOME-LOCAL-NONE",
            f"The runtime {shown(runtime.id)} has no folder in a project.",
            "Remove the target from the manifest.",
        )
    return around.join(project, runtime.local_config_dir)


def check_scope(runtime: Runtime, scope: str) -> None:
    """Raises what `resolve_roots` would raise on any machine: `E-HOME-NONE`, `E-HOME-LOCAL-DEFERRED`,
    `E-HOME-LOCAL-NONE`."""
    anywhere = Surroundings({}, "/", lambda path: False)
    if scope == Scope.LOCAL:
        local_directory(runtime, "/", anywhere)
    else:
        _main_home(runtime, anywhere)


def placed_root(runtime: Runtime, scope: str, entry: LayoutEntry | SkillPlace) -> Root:
    """The root that an entry's `dest_subpath` is relative to."""
    if entry.home is not None:
        return Root.AGENTS_HOME
    if entry.root is not None:
        return entry.root
    is_skills = isinstance(entry, SkillPlace) or entry.kind is LayoutKind.SKILLS
    if is_skills and scope == Scope.GLOBAL and runtime.config_home.skills_home is not None:
        return Root.SKILLS
    return Root.CONFIG


def resolve_roots(
    runtime: Runtime, scope: str, environment: Environment, project_dir: str, exists: Exists
) -> Roots:
    """All roots of the target of `runtime` at `scope`, absolute; `project_dir` is the folder of its manifest.

    At global scope: `config`, and where the descriptor has them `skills`, `agents-home`, `hooks-home`. At
    local scope: `config` and `project`. Raises `E-HOME-NONE`, `E-HOME-UNSET`, `E-HOME-LOCAL-DEFERRED`,
    `E-HOME-LOCAL-NONE`, and `E-HOME-RELATIVE` where a variable holds a relative path, because what it means
    would change with the working directory.
    """
    around = Surroundings(environment.variables, environment.home, exists, environment.platform)
    if scope == Scope.LOCAL:
        local = local_directory(runtime, project_dir, around)
        found = {Root.CONFIG: Found(local), Root.PROJECT: Found(project_dir)}
    else:
        found = _global_roots(runtime, around)
    for root in found.values():
        if not around.is_absolute(root.path):
            raise _relative(root)
    return Roots(
        MappingProxyType({name.value: around.tidy(f.path) for name, f in found.items()}),
        MappingProxyType({name.value: f.variable for name, f in found.items() if f.variable}),
    )


def _global_roots(runtime: Runtime, around: Surroundings) -> dict[Root, Found]:
    found = {Root.CONFIG: _main_home(runtime, around)}
    if runtime.config_home.skills_home is not None:
        found[Root.SKILLS] = config_home(runtime.config_home.skills_home, around)
    alternate = agents_home_name(runtime)
    if alternate is not None:
        found[Root.AGENTS_HOME] = Found(around.below_home(alternate))
    for name, home in runtime.roots.items():
        found[Root(name)] = config_home(home, around)
    return found


def _main_home(runtime: Runtime, around: Surroundings) -> Found:
    if runtime.config_home.kind is HomeKind.NONE:
        raise refused(
            "E-HOME-NONE",
            f"{runtime.id} has no config home, so nothing can be installed for it at global scope",
            "Remove its target from the manifest.",
        )
    return config_home(runtime.config_home, around)


def agents_home_name(runtime: Runtime) -> str | None:
    """The folder below the user's home that entries with a `home` go to; validation admits one at most."""
    entries: tuple[LayoutEntry | SkillPlace, ...] = runtime.artifact_layout[Scope.GLOBAL]
    native = runtime.native_skills.get(Scope.GLOBAL)
    if native is not None:
        entries = (*entries, native)
    return next((e.home for e in entries if e.home is not None), None)


def _relative(root: Found) -> GsdlockError:
    return input_error(
        "E-HOME-RELATIVE",
        f"{root.variable or 'The project folder'} holds the relative path {shown(root.path)}.",
        "Set it to an absolute path; a relative one would mean another folder in each working directory.",
    )
