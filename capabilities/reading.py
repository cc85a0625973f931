"""Where a host looks for the skills and commands that a user can call. Pure, as `homes` is.

The facts are the axes `skillsRead` and `commandsRead`. A host looks in more folders than its own: many read
`~/.agents/skills`, some `~/.claude/skills`; so what is installed for one host another may list as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from .environment import Environment
from .errors import GsdlockError
from .homes import Exists, Surroundings, config_home
from .model import Runtime
from .vocabulary import CommandStyle, HomeKind, Root, Scope, Trigger

_Axis = Mapping[str, tuple[tuple[str, ...], ...]]
_CONFIG, _BELOW = "{config}/", "/**"
_SIGNS: Mapping[CommandStyle, str] = {CommandStyle.SLASH_HYPHEN: "/", CommandStyle.SHELL_VAR: "$"}


class ReadFolder(Struct, frozen=True):
    """A folder that a host looks in, absolute; `below` says that it looks in folders below it too. Of skills
    of one name the host takes that of the folder with the lowest `rank`; None where nobody knows.

    What a host finds in a folder for a skill is `<name>/SKILL.md`, for a command `<name>.md` or
    `<name>.toml`.
    """

    kind: Trigger
    scope: Scope
    path: str
    below: bool
    rank: int | None = None


class HostView(Struct, frozen=True):
    """Where one host looks, in the order of its descriptor.

    `sign` stands before a name that a user types (`/` or `$`), `precedence` says which kind the host takes
    where a skill and a command have one name.
    """

    host: str
    sign: str
    precedence: tuple[Trigger, ...]
    folders: tuple[ReadFolder, ...]


def host_view(runtime: Runtime, environment: Environment, project: str, exists: Exists) -> HostView:
    """Where a host looks on this machine, in the folder `project` too where that is not empty.

    `exists` should also know of what is going to be there: of several folders a host may read the first that
    exists. Folders that cannot be told (no home, a relative variable) are left out.
    """
    around = Surroundings(environment.variables, environment.home, exists, environment.platform)
    order = {name: rank for rank, name in enumerate(runtime.skills_order)}
    axes: tuple[tuple[Trigger, _Axis, Mapping[str, int]], ...] = (
        (Trigger.SKILLS, runtime.skills_read, order),
        (Trigger.COMMANDS, runtime.commands_read, {}),
    )
    scopes = (Scope.GLOBAL, Scope.LOCAL) if project else (Scope.GLOBAL,)
    return HostView(
        host=runtime.id,
        sign=_SIGNS[runtime.command_style],
        precedence=runtime.trigger_precedence,
        folders=tuple(
            ReadFolder(kind, scope, path, name.endswith(_BELOW), ranks.get(name))
            for kind, axis, ranks in axes
            for scope in scopes
            for name, path in _read(axis.get(scope, ()), runtime, around, project)
        ),
    )


def _read(
    groups: Sequence[Sequence[str]], runtime: Runtime, around: Surroundings, project: str
) -> Iterator[tuple[str, str]]:
    """Each folder that is read: its name in the descriptor, and its path."""
    for group in groups:
        told = [(n, p) for n in group if (p := _folder(n, runtime, around, project)) is not None]
        yield from told if len(group) == 1 else [f for f in told if around.exists(f[1])][:1]


def _folder(name: str, runtime: Runtime, around: Surroundings, project: str) -> str | None:
    plain = name.removesuffix(_BELOW)
    try:
        if plain.startswith(_CONFIG):
            base = config_home(runtime.config_home, around).path
            path = around.join(base, plain.removeprefix(_CONFIG))
        else:
            path = around.expand(plain) if plain.startswith("~/") else around.join(project, plain)
    except GsdlockError:
        return None
    return path if around.is_absolute(path) else None


def is_present(runtime: Runtime, environment: Environment, exists: Exists) -> bool:
    """Whether a host seems to be in use on this machine: its config home exists.

    A config home that hosts have in common tells nothing of one of them; then the folder that the descriptor
    declares besides counts.
    """
    around = Surroundings(environment.variables, environment.home, exists, environment.platform)
    home = runtime.config_home
    if home.kind is HomeKind.GENERIC_AGENTS_ROOT and Root.HOOKS_HOME in runtime.roots:
        home = runtime.roots[Root.HOOKS_HOME]
    try:
        return around.exists(config_home(home, around).path)
    except GsdlockError:
        return False
