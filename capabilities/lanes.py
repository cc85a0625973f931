"""Review lanes, and whether they can run on this machine. Pure: the machine is asked through `Probes`.

A lane can run where its probe is met and every program that it would start is there and may be started.
Nothing of a lane itself is run here, and nothing is sent to it: a probe only asks whether it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from .errors import Exit, GsdlockError, input_error, shown
from .model import Capability, Runtime
from .registry import Registry
from .shapes import nearest
from .words import Words

MOST_MILLISECONDS = 30_000
"""No probe takes longer, whatever its descriptor says: somebody waits for the answer."""


class Lack(Words):
    """Why a lane cannot run: the kinds of what is not met."""

    ABSENT = "absent"  # a program is not on PATH
    REFUSED = "refused"  # a program is there and may not be started
    UNSUPPORTED = "unsupported"  # nobody can tell here whether a program may be started
    FAILED = "failed"  # a program was started and gave no answer
    WRONG = "wrong-program"  # a program answered, and is not the one that is meant
    SILENT = "no-answer"  # no server answers at the address
    FOREIGN = "not-asked"  # the address is not one that is asked


_ADVICE = {
    Lack.ABSENT: "Install the program, and put its folder on PATH.",
    Lack.REFUSED: "Install the program where only you or the system can write, outside of the project.",
    Lack.UNSUPPORTED: "Use Linux or macOS: there it can be told whether a program may be started.",
    Lack.FAILED: "Look whether the program runs by hand with --help.",
    Lack.WRONG: "Install a version of the program that can do it, or put the right one first on PATH.",
    Lack.SILENT: "Start the server.",
    Lack.FOREIGN: "Run the server on this machine: no other one is asked.",
}


class Unmet(Struct, frozen=True):
    """One thing that a lane needs and this machine does not have; `what` is a clause without a full stop."""

    kind: Lack
    what: str


class Probes(Protocol):
    """What is asked of the machine. Every answer is bounded in time and size, and nothing is written."""

    def program(self, name: str) -> str | Unmet:
        """The full path of the program `name` on PATH. Nothing is started."""

    def help_of(self, name: str, variables: Sequence[str], milliseconds: int) -> str | Unmet:
        """What the program prints with `--help`. It is given no more of the environment than it needs to
        start, and the `variables` of its host. Only for a program that `program` found."""

    def answers(self, address: str, path: str, milliseconds: int) -> Unmet | None:
        """Whether a server answers a GET of `path` at the base `address`. Another machine is not asked."""


class CommandExists(Struct, frozen=True):
    """Met where the program is there."""

    binary: str


class CommandCapability(Struct, frozen=True):
    """Met where `needle` stands in what the program prints with `--help`."""

    binary: str
    needle: str
    milliseconds: int


class HttpReachable(Struct, frozen=True):
    """Met where a server answers at `address` and `path`; `key` is the config key of the address."""

    key: str
    address: str
    path: str
    milliseconds: int


class Lane(Struct, frozen=True):
    """A review lane. `capability` is the id of the one that has it, `origin` where that comes from.

    `title` is the heading of its reviews; `programs` all that must be on PATH, without doubles; `variables`
    the environment variables that say where its host's files are.
    """

    slug: str
    capability: str
    origin: str
    title: str
    transport: str
    probe: CommandExists | CommandCapability | HttpReachable
    programs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class Verdict(Struct, frozen=True):
    """A lane on this machine: `found` are full paths by program, `unmet` what keeps it from running."""

    lane: Lane
    found: Mapping[str, str]
    unmet: tuple[Unmet, ...] = ()

    @property
    def can_run(self) -> bool:
        """Whether nothing is missing."""
        return not self.unmet


def lanes_of(registry: Registry) -> dict[str, Lane]:
    """All review lanes by slug, sorted. Reads every descriptor."""
    found = [lane_of(c, registry.origin(i)) for i, c in registry.reviewers.items()]
    return {lane.slug: lane for lane in sorted(found, key=lambda lane: lane.slug)}


def lane_of(capability: Capability, origin: str) -> Lane:
    """The lane of a capability that has one. A server's address is the default of its config key, else the
    lane's own `defaultHost`."""
    body = capability.reviewer
    assert body is not None
    probe, invoke = body["probe"], body["invoke"]
    programs = [probe.get("binary"), invoke.get("binary"), *body["requiresBinaries"]]
    home = capability.config_home if isinstance(capability, Runtime) else None
    return Lane(
        slug=body["slug"],
        capability=capability.id,
        origin=origin,
        title=body["reviewsSection"],
        transport=body["transport"],
        probe=_probe(capability, probe, invoke),
        programs=tuple(dict.fromkeys(p for p in programs if p)),
        variables=home.env if home else (),
    )


def _probe(
    capability: Capability, probe: Mapping[str, Any], invoke: Mapping[str, Any]
) -> CommandExists | CommandCapability | HttpReachable:
    kind = probe["kind"]
    if kind == "command-exists":
        return CommandExists(probe["binary"])
    milliseconds = min(int(probe["timeoutMs"]), MOST_MILLISECONDS)
    if kind == "command-capability":
        return CommandCapability(probe["binary"], probe["needle"], milliseconds)
    key = probe["hostConfigKey"]
    setting = capability.config.get(key)
    default = setting.default if setting is not None and isinstance(setting.default, str) else ""
    address = default.strip() or str(invoke.get("defaultHost", ""))
    return HttpReachable(key, address, probe["path"], milliseconds)


def judge(lane: Lane, probes: Probes) -> Verdict:
    """Whether a lane can run here. A program is started, and a server asked, only where all that the lane
    needs besides is there."""
    looked = {name: probes.program(name) for name in lane.programs}
    found = {name: path for name, path in looked.items() if isinstance(path, str)}
    unmet = tuple(answer for answer in looked.values() if isinstance(answer, Unmet))
    if not unmet:
        lack = _ask(lane, probes)
        unmet = (lack,) if lack is not None else ()
    return Verdict(lane, found, unmet)


def _ask(lane: Lane, probes: Probes) -> Unmet | None:
    probe = lane.probe
    if isinstance(probe, HttpReachable):
        if not probe.address:
            return Unmet(Lack.FOREIGN, f"there is no address: {probe.key} has no default")
        return probes.answers(probe.address, probe.path, probe.milliseconds)
    if isinstance(probe, CommandExists):
        return None  # it is one of the lane's programs
    text = probes.help_of(probe.binary, lane.variables, probe.milliseconds)
    if isinstance(text, Unmet):
        return text
    if probe.needle in text:
        return None
    return Unmet(Lack.WRONG, f"{shown(probe.binary)} --help does not name {shown(probe.needle)}")


def named_lanes(names: Sequence[str], lanes: Mapping[str, Lane], probes: Probes) -> list[Verdict]:
    """The lanes that somebody asked for by name, each once, all of which can run.

    Raises `GsdlockError` with every fault: E-LANE-UNKNOWN (status 3) where a name is no lane's, else
    E-LANE-UNAVAILABLE (status 7).
    """
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in lanes]
    verdicts = [judge(lanes[name], probes) for name in wanted if name in lanes]
    unable = [verdict for verdict in verdicts if not verdict.can_run]
    if unknown:
        raise _unknown(unknown, unable, lanes)
    if unable:
        raise _unavailable(unable)
    return verdicts


def _unknown(names: Sequence[str], unable: Sequence[Verdict], lanes: Mapping[str, Lane]) -> GsdlockError:
    told = []
    for name in names:
        close = nearest(name, lanes)
        hint = f"; did you mean {shown(close)}?" if close else ""
        told.append(f"there is no review lane {shown(name)}{hint}")
    lines = [*told, *map(_line, unable)]
    return input_error(
        "E-LANE-UNKNOWN",
        told[0],
        f"Use one of {', '.join(map(shown, lanes))}.",
        details=lines if len(lines) > 1 else (),
    )


def _unavailable(unable: Sequence[Verdict]) -> GsdlockError:
    lacks = [unmet for verdict in unable for unmet in verdict.unmet]
    one = len(unable) == 1
    what = (
        f"the review lane {_line(unable[0])}" if one else f"{len(unable)} named review lanes cannot run here"
    )
    advice = " ".join(dict.fromkeys(_ADVICE[lack.kind] for lack in lacks))
    return GsdlockError(
        "E-LANE-UNAVAILABLE",
        what,
        f"{advice} gsdlock lanes lists those that can run.",
        status=Exit.HOST,
        details=() if one else [_line(verdict) for verdict in unable],
    )


def _line(verdict: Verdict) -> str:
    return f"{shown(verdict.lane.slug)} cannot run here: {reasons(verdict)}"


def reasons(verdict: Verdict) -> str:
    """What keeps a lane from running, in one line."""
    return "; ".join(unmet.what for unmet in verdict.unmet)
