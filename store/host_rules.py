"""What a host's descriptor says of the shape of its files, as judges of merged files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from ..capabilities.model import McpPlace, Runtime
from ..capabilities.vocabulary import FileRule
from ..lockfiles.model import EditFormat
from .edits.types import Editor
from .wanted import Objection, Validator

_INDEX = r"/\d+(?=/|$)"


class HostFile(Struct, frozen=True):
    """A `Validator`: the rules of one file of a host. `place` is where the host is told of MCP servers;
    `read` gives what a file says to the host, as plain data."""

    rules: tuple[FileRule, ...]
    place: McpPlace | None
    read: Callable[[bytes], Any]

    def __call__(self, before: bytes | None, after: bytes) -> list[Objection]:
        """See `Validator`. What was wrong before is nobody's fault here, wherever in its array it stands now.

        Raises `EditFault` where one of the two does not parse.
        """
        known = Counter(map(_unplaced, self._found(before))) if before is not None else Counter()
        fresh: list[Objection] = []
        for objection in self._found(after):
            if known[_unplaced(objection)] > 0:
                known[_unplaced(objection)] -= 1
            else:
                fresh.append(objection)
        return fresh

    def _found(self, data: bytes) -> Iterator[Objection]:
        from ..capabilities.host_files import file_faults

        for fault in file_faults(self.rules, self.place, data, self.read(data)):
            yield Objection(fault.pointer, fault.message)


def host_validators(
    runtime: Runtime,
    scope: str,
    files: Mapping[str, EditFormat],
    editors: Callable[[EditFormat], Editor],
) -> dict[str, Validator]:
    """Who judges which of the shared files `root:path` of a target; nobody where there are no rules."""
    from ..capabilities.host_files import rules_of

    found: dict[str, Validator] = {}
    for key, format_ in files.items() if runtime.file_rules else ():
        rules = rules_of(runtime, key)
        place = runtime.mcp.get(scope)
        if rules:
            here = place if place is not None and key == f"{place.root.value}:{place.file}" else None
            found[key] = HostFile(rules, here, _reading(editors(format_), format_))
    return found


def _reading(editor: Editor, format_: EditFormat) -> Callable[[bytes], Any]:
    """How a host reads: the entries of ours never go by merge keys, but what a host is told does."""
    if format_ is not EditFormat.YAML:
        return editor.read
    from .edits.yaml_tree import with_merged

    return lambda data: with_merged(editor.read(data))


def _unplaced(objection: Objection) -> Objection:
    return Objection(re.sub(_INDEX, "/*", objection.at), objection.text)
