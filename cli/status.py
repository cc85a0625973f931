"""Show where the targets stand: drift, what is held back, what is behind the lock.

With --exit-code the status is 1 when anything is to be told: the disk differs from what was installed, or
what is installed differs from the lock, or the lock from the manifest. Warnings do not count.

example: gsdlock status --exit-code
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .recovering import WAIT
from .render import Outcome, plural

if TYPE_CHECKING:
    from ..lockfiles.model import Lock
    from .session import Session

RECOVERY = WAIT


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--exit-code", action="store_true", help="status 1 when anything differs")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Compare manifest, lock, generations and disk. See the module's text."""
    from .carrying import policy_of
    from .concerns import standing_concerns, with_concerns
    from .host_files import broken_files
    from .overrides import override_lines
    from .standing import disk_lines, disk_state

    policy_of(session)
    overrides = session.overrides if session.manifest_path is not None else {}
    lines = override_lines(overrides)
    standings = disk_state(session)
    lock, lock_lines, lock_data = _lock_state(session)
    behind = _behind(session, lock)
    by_name = {s.state.generation.target: s for s in standings}
    broken = {name: broken_files(session, [s.state.generation]) for name, s in by_name.items()}
    for name, standing in by_name.items():
        generation = standing.state.generation
        lines.append(
            f"{name}: {generation.runtime} {generation.scope}, generation {generation.number}, "
            f"{plural(len(standing.state.files), 'file')}, "
            f"{plural(len(standing.state.entries), 'entry', 'entries')}"
            + ("" if standing.drifted or name in behind else ", in order")
        )
        lines += disk_lines([standing], patch=bool(options.verbose))
        lines += [f"  {name}: held back {key}" for key in standing.held]
        lines += [f"  {line}" for line in broken[name]]
        if name in behind:
            lines.append(f"  {name}: {behind[name]}")
    for name, text in behind.items():
        if name not in by_name:
            lines.append(f"{name}: {text}")
    lines += lock_lines
    if not standings and not behind:
        lines.append("nothing is installed")
    differs = bool(behind or lock_lines or any(s.drifted for s in standings))
    data = {
        "targets": [s.data() for s in standings],
        "behind": behind,
        "broken-files": [line for lines in broken.values() for line in lines],
        "dev-overrides": dict(overrides),
        **lock_data,
    }
    outcome = Outcome(1 if options.exit_code and differs else 0, data, lines)
    return with_concerns(outcome, standing_concerns(session, lock))


def _lock_state(session: Session) -> tuple[Lock | None, list[str], dict[str, Any]]:
    """The lock, and why it is not one of the manifest."""
    from ..resolver.staleness import stale

    if session.manifest_path is None:
        return None, [], {"stale": []}
    lock = session.lock()
    if lock is None:
        return None, ["there is no lock: run gsdlock resolve"], {"stale": ["there is no lock"]}
    reasons = stale(session.manifest, lock)
    lines = [f"the lock is behind the manifest: {reason}" for reason in reasons]
    return lock, lines, {"stale": reasons}


def _behind(session: Session, lock: Lock | None) -> dict[str, str]:
    """Targets whose installed state is not that of the lock, and how."""
    if lock is None:
        return {}
    from .installed import generations_of

    installed = {g.target: g for g in generations_of(session)}
    behind = {}
    for target in lock.targets:
        if not session.wanted(target.name):
            continue
        generation = installed.get(target.name)
        said = []
        if generation is None:
            said.append("not installed yet: run gsdlock apply")
        elif generation.plan != target.digest and session.overrides:
            said.append("not as the lock says, since dev-overrides are in force: gsdlock diff shows how")
        elif generation.plan != target.digest:
            said.append("behind the lock: gsdlock diff shows what changes, gsdlock apply does it")
        if generation is not None and generation.partial:
            denied = plural(len(generation.partial), "item that was denied", "items that were denied")
            said.append(f"installed without {denied}: gsdlock diff shows what, gsdlock apply asks again")
        if said:
            behind[target.name] = "; ".join(said)
    for name in installed:
        if lock.target(name) is None:
            behind[name] = "no longer in the lock: gsdlock apply takes it out"
    return behind
