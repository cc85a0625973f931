"""What a target holds, as frozen data: the records of a generation, and their form as JSON.

Reading is strict: a record of another shape, an unsafe path, a malformed digest is a `DamagedError`, so that
nothing is ever removed or written on the word of a damaged or forged record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from ..capabilities.canonical import is_digest
from ..lockfiles.model import EditFormat, EditOp
from .confinement import relative_fault
from .edits.types import ABSENT, Change, Entry
from .statefiles import DamagedError

GENERATION_VERSION = 1


class Kept(Struct, frozen=True):
    """The bytes of a file that are kept in the store, with the permission bits that it had."""

    digest: str
    mode: int


class FileRecord(Struct, frozen=True):
    """One whole file that we own, `root:path`.

    `source` is the digest of the locked bytes and `digest` of what was written (filled in); `locked_mode`
    0o644 or 0o755, `mode` the permission bits that were really set. `prior` is the user's own file that stood
    there before us and comes back when we leave. `held` is empty, `changed` (the user's version of our file
    is kept) or `foreign` (a file of the user's that was there first is kept): a held file is never touched.
    """

    root: str
    path: str
    source: str
    fill: bool
    locked_mode: int
    digest: str
    mode: int
    prior: Kept | None = None
    held: str = ""

    @property
    def key(self) -> str:
        """`root:path`, what a file goes by in plans, choices and messages."""
        return f"{self.root}:{self.path}"


class EntryRecord(Struct, frozen=True):
    """One entry in a shared file. `source` is the digest of the value in the lock; `held` says that the user
    changed or removed the entry and that this is kept. One that is held and `added` was ours when the file
    could last be read, and is again where it is found there (`entry_drift.found_again`)."""

    entry: Entry
    source: str
    executes: bool
    held: bool = False

    @property
    def change(self) -> Change:
        """The change that the entry came from."""
        return Change(self.entry.op, self.entry.at, self.entry.value)


class EditedRecord(Struct, frozen=True):
    """One shared file that holds entries of ours.

    `root:path` is the file that the plan names, `real` the full path of the file that was edited (one of the
    plan's other names, or what a link leads to). `without` is the digest of the bytes as they would be
    without anybody's entries that this state folder knows of (None: there would be no file) and is in the
    store; `after` is the digest of the bytes that were written last. `by_hand` says that nothing was
    written: the user puts the entries in.
    """

    root: str
    path: str
    real: str
    format: EditFormat
    without: str | None
    after: str | None
    entries: tuple[EntryRecord, ...]
    by_hand: bool = False

    @property
    def key(self) -> str:
        """`root:path` of the shared file."""
        return f"{self.root}:{self.path}"


class RootRecord(Struct, frozen=True):
    """A root as it was asked for and as it resolved, both full paths."""

    given: str
    real: str


class Generation(Struct, frozen=True):
    """What one target holds after one apply.

    `number` counts from 1 within the target, `parent` is the number before (0: none). `manifest` is the path
    of the manifest, `project` the folder of a local target (else empty). `plan` is the digest of the target
    in the lock. `tools` are filled interpreter paths. `made` are full paths of folders that we made;
    `displaced` what this transaction put aside, by full path. `decisions` are `[item key, op, decided_by]`.
    `partial` lists item keys that were denied. `left` says that the target was uninstalled. `returns` is the
    number of the generation that a rollback went back to (0: to before the first), None for any other
    transaction. `receipt` is what its transaction is called in the ledger.
    """

    slug: str
    number: int
    parent: int
    created: str
    target: str
    runtime: str
    scope: str
    installation: str
    manifest: str
    project: str
    plan: str
    home: str | None
    roots: Mapping[str, RootRecord]
    tools: Mapping[str, str]
    files: tuple[FileRecord, ...]
    edited: tuple[EditedRecord, ...]
    made: tuple[str, ...] = ()
    displaced: Mapping[str, Kept] = field(default_factory=dict)
    decisions: tuple[tuple[str, str, str], ...] = ()
    partial: tuple[str, ...] = ()
    left: bool = False
    returns: int | None = None
    receipt: str = ""

    def real_path(self, root: str, path: str) -> str:
        """The full path of `root:path` as this generation resolved it."""
        return f"{self.roots[root].real.rstrip('/')}/{path}"

    def digests(self) -> set[str]:
        """Every blob that this generation needs: to be shown, restored and rolled back to."""
        found = {self.plan} if self.plan else set()
        for file in self.files:
            found.add(file.source)
            if file.prior is not None:
                found.add(file.prior.digest)
        for edited in self.edited:
            found |= {record.source for record in edited.entries}
            if edited.without is not None:
                found.add(edited.without)
        return found | {kept.digest for kept in self.displaced.values()}


def generation_data(generation: Generation) -> dict[str, Any]:
    """A generation as JSON data."""
    g = generation
    return {
        "generation-version": GENERATION_VERSION,
        "slug": g.slug,
        "number": g.number,
        "parent": g.parent,
        "created": g.created,
        "target": g.target,
        "runtime": g.runtime,
        "scope": g.scope,
        "installation": g.installation,
        "manifest": g.manifest,
        "project": g.project,
        "plan": g.plan,
        "home": g.home,
        "roots": {name: [r.given, r.real] for name, r in g.roots.items()},
        "tools": dict(g.tools),
        "files": {f.key: _file_data(f) for f in g.files},
        "edited": [edited_data(e) for e in g.edited],
        "made": list(g.made),
        "displaced": {path: [k.digest, k.mode] for path, k in g.displaced.items()},
        "decisions": [list(d) for d in g.decisions],
        "partial": list(g.partial),
        "left": g.left,
        "returns": g.returns,
        "receipt": g.receipt,
    }


def read_generation(data: Mapping[str, Any]) -> Generation:
    """The generation in JSON data of version 1. Raises `DamagedError`."""
    try:
        generation = Generation(
            slug=_text(data["slug"]),
            number=_number(data["number"]),
            parent=_number(data["parent"]),
            created=_text(data["created"]),
            target=_text(data["target"]),
            runtime=_text(data["runtime"]),
            scope=_text(data["scope"]),
            installation=_text(data["installation"]),
            manifest=_text(data["manifest"]),
            project=_text(data["project"]),
            plan=_digest(data["plan"]) if data["plan"] else "",
            home=None if data["home"] is None else _text(data["home"]),
            roots={_text(n): RootRecord(_full(g), _full(r)) for n, (g, r) in data["roots"].items()},
            tools={_text(n): _text(p) for n, p in data["tools"].items()},
            files=tuple(_read_file(key, row) for key, row in data["files"].items()),
            edited=tuple(read_edited(row) for row in data["edited"]),
            made=tuple(_full(path) for path in data["made"]),
            displaced={_full(p): _kept(k) for p, k in data["displaced"].items()},
            decisions=tuple((_text(a), _text(b), _text(c)) for a, b, c in data["decisions"]),
            partial=tuple(_text(key) for key in data["partial"]),
            left=_flag(data["left"]),
            returns=None if data["returns"] is None else _number(data["returns"]),
            receipt=_text(data.get("receipt", "")),  # younger than the format
        )
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise DamagedError(f"not the shape of a generation: {fault!r}") from None
    if {*data, "receipt"} != {"generation-version", *Generation.__annotations__}:
        raise DamagedError("has other fields than a generation of this version")
    named = {f.root for f in generation.files} | {e.root for e in generation.edited}
    if not named <= set(generation.roots) or generation.number < 1:
        raise DamagedError("names a root or a number that it does not have")
    return generation


def edited_data(edited: EditedRecord) -> dict[str, Any]:
    """A shared file's record as JSON data."""
    return {
        "key": edited.key,
        "real": edited.real,
        "format": edited.format.value,
        "without": edited.without,
        "after": edited.after,
        "entries": [entry_data(record) for record in edited.entries],
        "by-hand": edited.by_hand,
    }


def read_edited(row: Mapping[str, Any]) -> EditedRecord:
    """A shared file's record from JSON data. Raises `DamagedError`, `KeyError`, `TypeError`, `ValueError`."""
    root, path = _key(row["key"])
    return EditedRecord(
        root=root,
        path=path,
        real=_full(row["real"]),
        format=EditFormat(row["format"]),
        without=None if row["without"] is None else _digest(row["without"]),
        after=None if row["after"] is None else _digest(row["after"]),
        entries=tuple(read_entry(entry) for entry in row["entries"]),
        by_hand=_flag(row["by-hand"]),
    )


def entry_data(record: EntryRecord) -> dict[str, Any]:
    """An entry as JSON data; `prior` is missing where nothing was displaced."""
    entry = record.entry
    data: dict[str, Any] = {
        "op": entry.op.value,
        "at": entry.at,
        "value": entry.value,
        "added": entry.added,
        "made": list(entry.made),
        "trace": entry.trace,
        "source": record.source,
        "executes": record.executes,
        "held": record.held,
    }
    if entry.prior is not ABSENT:
        data["prior"] = entry.prior
    return data


def read_entry(row: Mapping[str, Any]) -> EntryRecord:
    """An entry from JSON data. Raises `DamagedError`, `KeyError`, `TypeError`, `ValueError`."""
    entry = Entry(
        op=EditOp(row["op"]),
        at=_text(row["at"]),
        value=row["value"],
        added=_flag(row["added"]),
        prior=row.get("prior", ABSENT),
        made=tuple(_text(pointer) for pointer in row["made"]),
        trace=None if row["trace"] is None else _text(row["trace"]),
    )
    return EntryRecord(entry, _digest(row["source"]), _flag(row["executes"]), _flag(row["held"]))


def _file_data(file: FileRecord) -> dict[str, Any]:
    return {
        "source": file.source,
        "fill": file.fill,
        "locked-mode": file.locked_mode,
        "digest": file.digest,
        "mode": file.mode,
        "prior": None if file.prior is None else [file.prior.digest, file.prior.mode],
        "held": file.held,
    }


def _read_file(key: str, row: Mapping[str, Any]) -> FileRecord:
    root, path = _key(key)
    if row["held"] not in ("", "changed", "foreign"):
        raise DamagedError("not a reason to hold")
    return FileRecord(
        root=root,
        path=path,
        source=_digest(row["source"]),
        fill=_flag(row["fill"]),
        locked_mode=_mode(row["locked-mode"]),
        digest=_digest(row["digest"]),
        mode=_mode(row["mode"]),
        prior=None if row["prior"] is None else _kept(row["prior"]),
        held=row["held"],
    )


def _key(value: Any) -> tuple[str, str]:
    root, colon, path = _text(value).partition(":")
    fault = relative_fault(path)
    if not root or not colon or fault:
        raise DamagedError(f"an unsafe path: it {fault or 'names no root'}")
    return root, path


def _kept(value: Any) -> Kept:
    digest, mode = value
    return Kept(_digest(digest), _mode(mode))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DamagedError("not a text")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DamagedError("not a number")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise DamagedError("not true or false")
    return value


def _mode(value: Any) -> int:
    if _number(value) > 0o7777:
        raise DamagedError("not a mode")
    return int(value)


def _digest(value: Any) -> str:
    if not is_digest(_text(value)):
        raise DamagedError("not a digest")
    return str(value)


def _full(value: Any) -> str:
    """A full path that does not climb: what we recorded ourselves, in resolved form."""
    path = _text(value)
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise DamagedError("not a full path")
    return path
