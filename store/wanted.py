"""What a target shall hold after a transaction: the plan of one target met with the folders and tools of this
machine, ready to be compared with the disk. Made from a lock (apply) or from a generation (rollback)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from ..capabilities.canonical import canonical_json
from ..capabilities.errors import GsdlockError, missing, shown
from ..lockfiles.model import EditFormat, Target, target_bytes
from ..lockfiles.placeholders import Fillings, PlaceholderError, fill_bytes, fill_pointer, fill_value
from .blobs import Blobs, named_value
from .edits.types import Change
from .records import Generation


class Objection(Struct, frozen=True):
    """What a host has against a file: where (a JSON pointer), and why."""

    at: str
    text: str


Validator = Callable[[bytes | None, bytes], Sequence[Objection]]
"""What a host has against the second bytes as its settings, and not against the first (None: no file)."""


class WantedFile(Struct, frozen=True):
    """One whole file: `source` is the blob, `fill` whether placeholders in it are filled, `mode` 0o644 or
    0o755. `expected` is the digest of the filled bytes where it is known before (rollback)."""

    root: str
    path: str
    source: str
    fill: bool
    mode: int
    expected: str = ""

    @property
    def key(self) -> str:
        """`root:path`, what a file goes by in plans, choices and messages."""
        return f"{self.root}:{self.path}"


class WantedChange(Struct, frozen=True, dict=True):
    """One change in a shared file, filled; `source` is the digest of its value in the lock."""

    change: Change
    source: str
    executes: bool

    @cached_property
    def identity(self) -> tuple[str, str, bytes]:
        """Equal for two changes that ask for the same thing; worked out once."""
        return identity(self.change)


class WantedEdit(Struct, frozen=True):
    """All changes in one shared file. `instead` are names in the same folder that win where they exist."""

    root: str
    path: str
    format: EditFormat
    instead: tuple[str, ...]
    changes: tuple[WantedChange, ...]

    @property
    def key(self) -> str:
        """`root:path` of the shared file."""
        return f"{self.root}:{self.path}"


class Wanted(Struct, frozen=True):
    """What one target shall hold. `roots` are full paths as asked for, by name; `tools` filled interpreters.

    `plan` is the digest of the target in the lock, and `plan_bytes` its canonical data, which becomes a blob
    of that digest (empty where it is one already). `by_hand` leaves all shared files to the user. `outside`
    says that a project's manifest reaches beyond the project. `third_party` holds the item keys that come
    from an overlay. `partial` lists item keys that were denied and are left out.
    """

    target: str
    runtime: str
    scope: str
    installation: str
    manifest: str
    project: str
    plan: str
    home: str | None
    roots: Mapping[str, str]
    tools: Mapping[str, str]
    files: tuple[WantedFile, ...]
    edits: tuple[WantedEdit, ...]
    by_hand: bool = False
    outside: bool = False
    third_party: Collection[str] = frozenset()
    partial: tuple[str, ...] = ()
    plan_bytes: bytes = b""

    @property
    def fillings(self) -> Fillings:
        """What placeholders stand for in this target."""
        tools = {f"tool.{name}": path for name, path in self.tools.items()}
        return Fillings({**self.roots, **tools}, self.home)


def identity(change: Change) -> tuple[str, str, bytes]:
    """What a change asks for, comparable and hashable."""
    return change.op.value, change.at, canonical_json(change.value)


def item_key(key: str, change: WantedChange) -> str:
    """The key of an entry's item and origin. The same as `lockfiles.model.edit_origin_key`."""
    return f"{key}#{change.change.at}#{change.source}"


def wanted_from_lock(
    target: Target,
    blobs: Blobs,
    *,
    roots: Mapping[str, str],
    tools: Mapping[str, str],
    home: str | None,
    installation: str,
    manifest: str,
    project: str = "",
    by_hand: bool = False,
    outside: bool = False,
    third_party: Collection[str] = frozenset(),
) -> Wanted:
    """A target of the lock on this machine. The values of edits are read from the store and filled.

    Raises E-BLOB-…, E-FILL-BASE (a placeholder names a root or tool that the target does not have).
    """
    tool_bases = {f"tool.{name}": path for name, path in tools.items()}
    fillings = Fillings({**roots, **tool_bases}, home)
    edits: dict[tuple[str, EditFormat], WantedEdit] = {}
    for edit in target.edits:
        value = named_value(blobs.get, edit.value, "the value of an entry")
        at = edit.at
        if edit.fill:
            at, value = _filled_change(at, value, fillings, edit.key)
        change = WantedChange(Change(edit.op, at, value), edit.value, edit.executes)
        held = edits.get((edit.key, edit.format))
        edits[edit.key, edit.format] = WantedEdit(
            edit.root,
            edit.path,
            edit.format,
            edit.instead if held is None else held.instead,
            (change,) if held is None else (*held.changes, change),
        )
    return Wanted(
        target=target.name,
        runtime=target.runtime,
        scope=target.scope,
        installation=installation,
        manifest=manifest,
        project=project,
        plan=target.digest,
        home=home,
        roots=dict(roots),
        tools=dict(tools),
        files=tuple(WantedFile(p.root, p.path, p.digest, p.fill, p.mode) for p in target.placements),
        edits=tuple(edits.values()),
        by_hand=by_hand,
        outside=outside,
        third_party=third_party,
        plan_bytes=target_bytes(target),
    )


def wanted_from_generation(
    generation: Generation,
    *,
    third_party: Collection[str] = frozenset(),
    outside: bool = False,
    held: bool = False,
) -> Wanted:
    """What a generation held: for a rollback to it. Entries that stood there before us are asked for again,
    those that the user changed only with `held`."""
    return Wanted(
        target=generation.target,
        runtime=generation.runtime,
        scope=generation.scope,
        installation=generation.installation,
        manifest=generation.manifest,
        project=generation.project,
        plan=generation.plan,
        home=generation.home,
        roots={name: root.given for name, root in generation.roots.items()},
        tools=dict(generation.tools),
        files=tuple(
            WantedFile(f.root, f.path, f.source, f.fill, f.locked_mode, f.digest) for f in generation.files
        ),
        edits=tuple(
            WantedEdit(
                e.root,
                e.path,
                e.format,
                (e.real.rpartition("/")[2],),
                tuple(
                    WantedChange(record.change, record.source, record.executes)
                    for record in e.entries
                    if held or not record.held or record.entry.added
                ),
            )
            for e in generation.edited
            if e.entries
        ),
        by_hand=any(e.by_hand for e in generation.edited),
        outside=outside,
        third_party=third_party,
        partial=generation.partial,
    )


def filled(data: bytes, fillings: Fillings, key: str) -> bytes:
    """`fill_bytes`, with a fault as E-FILL-BASE or E-FILL-TEXT."""
    try:
        return fill_bytes(data, fillings)
    except PlaceholderError as fault:
        raise _no_base(key, fault.base) from None
    except UnicodeDecodeError:
        raise missing(
            "E-FILL-TEXT",
            f"{shown(key, 200)} is to be filled in and is not UTF-8 text",
            "Run `gsdlock resolve`: the lock and the content do not fit each other.",
        ) from None


def _filled_change(at: str, value: Any, fillings: Fillings, key: str) -> tuple[str, Any]:
    try:
        return fill_pointer(at, fillings), fill_value(value, fillings)
    except PlaceholderError as fault:
        raise _no_base(key, fault.base) from None


def _no_base(key: str, base: str) -> GsdlockError:
    what = "an interpreter that was not found" if base.startswith("tool.") else "a root that the target lacks"
    return missing(
        "E-FILL-BASE",
        f"{shown(key, 200)} needs {shown(base)}, {what}",
        "Install it or put it on the PATH, then run it again."
        if base.startswith("tool.")
        else "Run `gsdlock resolve`: the lock and the descriptors do not fit each other.",
    )
