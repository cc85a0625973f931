"""What review lanes ask of this machine, for real: programs on PATH, their help, servers on this machine.

A repository may never cause a program from inside itself to be started, nor a request to another machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ..capabilities.lanes import Lack, Unmet

if TYPE_CHECKING:
    from ..capabilities.environment import Environment
    from ..store.tools import Program

# All that a program is given besides the variables of its host: no credential is needed to print a help text.
_KEPT = ("HOME", "TMPDIR")
_MOST_OUTPUT = 1 << 20
# Not the project: many programs load what lies in their working directory.
_NOWHERE = "/"


class MachineProbes:
    """The `Probes` of this machine. `guards` are the folders from which nothing is started."""

    def __init__(self, environment: Environment, guards: Sequence[str]) -> None:
        self._environment = environment
        self._guards = tuple(guards)
        self._looked: dict[str, Program] = {}

    def program(self, name: str) -> str | Unmet:
        """See `Probes.program`. On Windows no program is admitted: there is nothing to judge it by."""
        from ..capabilities.errors import shown

        if self._environment.platform == "win32":
            return Unmet(Lack.UNSUPPORTED, f"whether {shown(name)} may be started cannot be told on Windows")
        found = self._look_up(name)
        if found.reason:
            return Unmet(Lack.REFUSED if found.hit else Lack.ABSENT, found.reason)
        return found.hit

    def help_of(self, name: str, variables: Sequence[str], milliseconds: int) -> str | Unmet:
        """See `Probes.help_of`. What is started is the file that was judged, under the command's own name."""
        from ..capabilities.errors import GsdlockError
        from ..resolver.sources.process import SystemProcesses

        found = self._look_up(name)
        if found.reason:
            return Unmet(Lack.REFUSED, found.reason)
        given = self._environment.variables
        try:
            said = SystemProcesses().run(
                [name, "--help"],
                executable=found.real,
                cwd=_NOWHERE,
                env={"PATH": self._path, **{k: given[k] for k in (*_KEPT, *variables) if k in given}},
                timeout=milliseconds / 1000,
                limit=_MOST_OUTPUT,
                alone=True,
            )
        except GsdlockError as fault:
            return Unmet(Lack.FAILED, fault.what)
        return (said.out + b"\n" + said.err).decode("utf-8", "replace")

    def answers(self, address: str, path: str, milliseconds: int) -> Unmet | None:
        """See `Probes.answers`. Any answer below 500 is one: a server that wants a key is there, too."""
        from ..capabilities.errors import shown
        from ..resolver.sources.loopback import loopback, status_of

        server = loopback(address)
        where = shown(address, 200)
        if server is None:
            return Unmet(Lack.FOREIGN, f"{where} is not asked: it is not http on this machine's own address")
        try:
            status = status_of(server, path, milliseconds / 1000)
        except OSError as fault:
            return Unmet(Lack.SILENT, f"nothing answers at {where}: {fault.strerror or fault}")
        except ValueError as fault:
            return Unmet(Lack.SILENT, f"{fault} at {where}")
        return Unmet(Lack.SILENT, f"the server at {where} answers {status}") if status >= 500 else None

    def _look_up(self, name: str) -> Program:
        from ..store.tools import look_up

        if name not in self._looked:
            self._looked[name] = look_up(name, self._environment, self._guards)
        return self._looked[name]

    @cached_property
    def _path(self) -> str:
        from ..store.tools import path_outside

        return path_outside(self._environment, self._guards)
