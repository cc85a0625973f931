"""List the review lanes that can run on this machine, or say why one that is named cannot.

A review lane is a program or a server that can be asked for a review. Without names those that cannot run are
passed over in silence; with names every lane that is named must be able to run. A program is started at most
with --help, and never one from inside the project; a server is asked only on this machine. Nothing is sent.

example: gsdlock lanes claude ollama
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from .render import Outcome

if TYPE_CHECKING:
    from ..capabilities.lanes import Verdict
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the words and options of the verb."""
    parser.add_argument("slug", metavar="SLUG", nargs="*", help="a review lane that must be able to run")
    parser.add_argument("--all", action="store_true", help="list those that cannot run as well, and why")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """List the lanes. See the module's text.

    Raises `GsdlockError`: E-LANE-UNKNOWN, E-LANE-UNAVAILABLE.
    """
    from ..capabilities.errors import usage_error
    from ..capabilities.lanes import judge, lanes_of, named_lanes
    from .lane_probes import MachineProbes

    if options.slug and options.all:
        raise usage_error("E-USAGE", "lanes takes names or --all, not both", "gsdlock lanes --all")
    lanes = lanes_of(session.registry)
    probes = MachineProbes(session.environment, _guards(session))
    if options.slug:
        verdicts = named_lanes(options.slug, lanes, probes)
    else:
        every = [judge(lane, probes) for lane in lanes.values()]
        verdicts = every if options.all else [verdict for verdict in every if verdict.can_run]
    width = max((len(verdict.lane.slug) for verdict in verdicts), default=0)
    lines = [f"{verdict.lane.slug:<{width}}  {_about(verdict)}" for verdict in verdicts]
    if not verdicts:
        lines = ["no review lane can run here; gsdlock lanes --all says what each would need"]
    return Outcome(0, {"lanes": [_row(verdict) for verdict in verdicts]}, lines)


def _guards(session: Session) -> tuple[str, ...]:
    """The folders from which nothing is started: where we are, and the project of the manifest."""
    from ..resolver.finding import user_manifest
    from ..store.checkouts import checkouts

    environment = session.environment
    fold = environment.platform in ("darwin", "win32")
    folders = [environment.cwd]
    path = session.manifest_path
    if path is not None and path != user_manifest(environment.folders.config):
        folders.append(os.path.dirname(path))
    found = (place for folder in folders for place in checkouts(folder, environment.home, fold=fold))
    return tuple(dict.fromkeys(found))


def _about(verdict: Verdict) -> str:
    """Title, where a third-party lane comes from, and what was found or what is missing."""
    from ..capabilities.lanes import HttpReachable, reasons
    from ..capabilities.registry import BUILTIN

    lane = verdict.lane
    origin = "" if lane.origin == BUILTIN else f" ({lane.origin})"
    if not verdict.can_run:
        return f"{lane.title}{origin}: cannot run here: {reasons(verdict)}"
    places = list(verdict.found.values())
    if isinstance(lane.probe, HttpReachable):
        places.append(lane.probe.address)
    return f"{lane.title}{origin}: {', '.join(places)}"


def _row(verdict: Verdict) -> dict[str, Any]:
    from ..capabilities.lanes import HttpReachable

    lane = verdict.lane
    return {
        "slug": lane.slug,
        "title": lane.title,
        "capability": lane.capability,
        "origin": lane.origin,
        "transport": lane.transport,
        "available": verdict.can_run,
        "programs": dict(verdict.found),
        "address": lane.probe.address if isinstance(lane.probe, HttpReachable) else "",
        "unmet": [{"kind": unmet.kind.value, "what": unmet.what} for unmet in verdict.unmet],
    }
