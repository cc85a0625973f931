"""One target installed by both sides: how its files compare, and what its host would refuse of ours.

An install is some 700 files and takes seconds, and many tests ask about it. So each target is measured once:
the outcome is a small file in a folder that the workers of a test run share, and the trees are removed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.registry import load_builtin

from . import ours, reference
from .hosts import faults_of
from .parity import SCOPES, Differences, Finding, Outcome, Side, Target, compare
from .reference import Homes, Reference


@dataclass(frozen=True, slots=True)
class Measured:
    """`findings`: each path beside the reference's. `faults`: what the host would not take, of the same
    install and of one of the starter pack. `refused`: the code with which gsdlock refuses the target, then
    there is nothing else; `reference_wrote`: how many files the reference wrote."""

    findings: tuple[Finding, ...] = ()
    faults: tuple[str, ...] = ()
    refused: str = ""
    reference_wrote: int = 0


def targets() -> list[Target]:
    """Every runtime at both scopes."""
    return [Target(r, s) for r in load_builtin().runtimes.values() for s in SCOPES]


def measured_in(folder: Path, target: Target, installers: Reference) -> Measured:
    """The outcome for a target out of `folder`; made where it is not there."""
    file = folder / f"{target.name}.json"
    with FileLock(folder / f"{target.name}.lock"):
        if not file.exists():
            made = measured(target, installers, folder / target.name)
            file.write_text(json.dumps(asdict(made)), "utf-8")
        return _read(json.loads(file.read_text("utf-8")))


def _read(data: dict[str, Any]) -> Measured:
    findings = (
        Finding(**f | {"counts": {Outcome(o): n for o, n in f["counts"].items()}}) for f in data["findings"]
    )
    return Measured(tuple(findings), tuple(data["faults"]), data["refused"], data["reference_wrote"])


def measured(target: Target, installers: Reference, folder: Path) -> Measured:
    """Install one target with both, in homes below `folder`, and look at what is there."""
    package, path = installers.package(target.runtime.id), reference.search_path(installers)
    try:
        theirs = Homes.below(folder / "reference")
        wrote = 0
        if installers.installs(target.runtime.id):
            reference.install(installers, target.runtime.id, target.scope, theirs)
            wrote = len(ours.files(folder / "reference"))
        if refused := refusal(target):
            return Measured(refused=refused, reference_wrote=wrote)
        mine = Homes.below(folder / "gsdlock")
        one = [(target.runtime.id, target.scope)]
        ours.install(mine, path, f'path = "{package}"', one)
        sides = Side(mine, package, installers.node), Side(theirs, package, installers.node)
        findings = compare(target, *sides, Differences())
        starter = Homes.below(folder / "starter")
        ours.install(starter, path, 'builtin = "starter"', one)
        faults = [*_faults(target, mine, "gsd"), *_faults(target, starter, "starter")]
        return Measured(tuple(findings), tuple(faults), "", wrote)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _faults(target: Target, homes: Homes, pack: str) -> Sequence[str]:
    return [f"{pack}: {fault}" for fault in faults_of(target, homes)]


def refusal(target: Target) -> str:
    """The code with which gsdlock says that a host takes no install at a scope; empty where it does."""
    from gsdlock.capabilities.environment import Environment, Folders
    from gsdlock.capabilities.homes import resolve_roots

    around = Environment({}, "/home", "/project", "linux", 0, Folders("", "", "", ""), lambda: "")
    try:
        resolve_roots(target.runtime, target.scope, around, "/project", lambda _: False)
    except GsdlockError as error:
        return str(error.code)
    return ""
