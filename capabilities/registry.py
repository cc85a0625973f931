"""All capabilities that are known, by id: the descriptors of this package, and overlays on top.

Descriptors are read one at a time, when they are asked for: starting up for one target costs one file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeVar

from .errors import GsdlockError, input_error, refused, shown
from .model import Capability, Feature, Reviewer, Runtime

BUILTIN = "builtin"
DESCRIPTOR_NAME = "capability.json"
# A folder of this package that is a pack with a feature of its own, and no part of the registry.
_PACK_FOLDERS = frozenset({"starter"})
# Ids that only first party capabilities may have. Compared in lower case.
RESERVED_PREFIXES = ("gsd-", "anthropic-")

_Kind = TypeVar("_Kind", Runtime, Feature, Reviewer)


class Registry:
    """Capabilities by id. `origin` says where one comes from. A registry never changes once it is made."""

    def __init__(
        self,
        readers: Mapping[str, Callable[[], Capability]],
        overlays: Mapping[str, tuple[Capability, str]] | None = None,
    ) -> None:
        self._readers = dict(readers)
        self._overlays = dict(overlays or {})
        self._read: dict[str, Capability] = {i: c for i, (c, _) in self._overlays.items()}

    def __contains__(self, id_: object) -> bool:
        return id_ in self._readers or id_ in self._overlays

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids, sorted. No descriptor is read."""
        return tuple(sorted({*self._readers, *self._overlays}))

    def get(self, id_: str) -> Capability:
        """The capability of that id. Raises `KeyError`, and `GsdlockError` where its descriptor is wrong."""
        if id_ not in self._read:
            self._read[id_] = self._readers[id_]()
        return self._read[id_]

    def origin(self, id_: str) -> str:
        """`builtin`, or the source that an overlay was installed from. Raises `KeyError`."""
        return BUILTIN if id_ in self._readers else self._overlays[id_][1]

    def runtime(self, id_: str) -> Runtime:
        """The runtime of that id. Raises `E-RUNTIME-UNKNOWN` naming the nearest."""
        capability = self.get(id_) if id_ in self else None
        if isinstance(capability, Runtime):
            return capability
        raise self._unknown(id_, capability, self.runtimes)

    @property
    def runtimes(self) -> Mapping[str, Runtime]:
        """All runtimes by id, sorted. Reads every descriptor."""
        return self._all(Runtime)

    @property
    def features(self) -> Mapping[str, Feature]:
        """All features by id, sorted. Reads every descriptor."""
        return self._all(Feature)

    @property
    def reviewers(self) -> Mapping[str, Capability]:
        """All capabilities that have a review lane, by id, sorted. Reads every descriptor."""
        lanes = {i: self.get(i) for i in self.ids}
        return MappingProxyType({i: c for i, c in lanes.items() if c.reviewer is not None})

    def merge(
        self, overlays: Iterable[tuple[Capability, str]], central_keys: frozenset[str] = frozenset()
    ) -> Registry:
        """This registry with overlays (capability, source) on top; rules over the merged set are checked.

        First party wins: an overlay that takes an id, a stem, a flag or a section that is owned is refused,
        as are two overlays that take the same. Faults among first party capabilities alone are none of an
        overlay's and are left out. Raises `E-OVERLAY-CONFLICT` with every fault.
        """
        from .cross import cross_faults

        added: dict[str, tuple[Capability, str]] = {}
        faults: list[str] = []
        for capability, source in overlays:
            if capability.id in self or capability.id in added:
                owner = added[capability.id][1] if capability.id in added else self.origin(capability.id)
                faults.append(
                    f"the id {shown(capability.id)} of {shown(source, 200)} is taken by {shown(owner, 200)}"
                )
            elif capability.id.lower().startswith(RESERVED_PREFIXES):
                faults.append(f"the id {shown(capability.id)} of {shown(source, 200)} has a reserved prefix")
            else:
                added[capability.id] = (capability, source)
        merged = Registry(self._readers, {**self._overlays, **added})
        if added:
            found = cross_faults((merged.get(i) for i in merged.ids), central_keys)
            faults += [str(f) for f in found if any(i in added for i in f.capabilities)]
        if faults:
            raise refused(
                "E-OVERLAY-CONFLICT",
                f"The overlays do not go with the capabilities that are there: {faults[0]}.",
                "Remove or update the overlay; its author has to choose other names.",
                details=faults,
            )
        return merged

    def _all(self, kind: type[_Kind]) -> Mapping[str, _Kind]:
        found = ((i, self.get(i)) for i in self.ids)
        return MappingProxyType({i: c for i, c in found if isinstance(c, kind)})

    def _unknown(
        self, id_: str, capability: Capability | None, runtimes: Mapping[str, Runtime]
    ) -> GsdlockError:
        from .shapes import nearest

        if capability is not None:
            what = f"{id_} is a {capability.role}, not a runtime."
        else:
            close = nearest(id_, runtimes)
            what = f"There is no runtime {shown(id_)}" + (f"; did you mean {close}?" if close else ".")
        known = ", ".join(runtimes)
        return input_error("E-RUNTIME-UNKNOWN", what, f"Use one of {known}.")


def load_folder(folder: str, *, checked: bool = False) -> Registry:
    """The registry of the descriptors `<id>/capability.json` in `folder`. Only names are read here.

    `checked`: their validation was passed before (a test does it for those of this package), so it is not
    done again, nor loaded, each time that a program starts.
    """
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    paths = {name: os.path.join(folder, name, DESCRIPTOR_NAME) for name in names if name not in _PACK_FOLDERS}
    found = {name: path for name, path in paths.items() if os.path.isfile(path)}
    return Registry({name: _reader(name, path, checked) for name, path in found.items()})


@cache
def load_builtin() -> Registry:
    """The registry of the descriptors that this package brings."""
    return load_folder(os.path.dirname(os.path.abspath(__file__)), checked=True)


def _reader(name: str, path: str, checked: bool) -> Callable[[], Capability]:
    def read() -> Capability:
        with open(path, "rb") as file:
            content = file.read()
        if checked:
            import json

            from .parse import parse_capability

            # Somebody may have edited the file since: then the faults are told as anybody's are.
            with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
                return parse_capability(json.loads(content))
        from .validation import load_capability, read_descriptor

        where = f"{name}/{DESCRIPTOR_NAME}"
        return load_capability(read_descriptor(content, where), name, where)

    return read
