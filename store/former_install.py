"""An install that another tool made, as if it were a generation of ours: where to go on from in taking over.

The reference installer leaves a manifest of the files that it wrote, with their digests, and other
bookkeeping beside it. A file that has still that digest is untouched; hooks and other entries are found by
what they mean: an entry that names one of those files is the installer's. Pure but for reading files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from ..capabilities.canonical import canonical_json, is_digest, sha256_digest
from ..lockfiles.model import EditFormat, EditOp
from .confinement import relative_fault
from .edits.meaning import contains, path_pointer, pointer_path, same, value_at
from .edits.putting import plain
from .edits.types import ABSENT, Change, EditFault, Editor, Entry
from .records import EditedRecord, EntryRecord, FileRecord, Generation, RootRecord
from .store import Store
from .wanted import Wanted, WantedEdit, WantedFile, filled, identity

MANIFEST = "gsd-file-manifest.json"
_STATE = "gsd-install-state.json"
_STAGING = ".gsd-staging"
_NOTES = (".gsd-source", ".gsd-profile")
_PRODUCT = re.compile(r"(?<![A-Za-z0-9])(?:gsd|get-shit-done)(?![A-Za-z0-9])")
_BLOCK = b"<!-- GSD Configuration"
_GRANTED = "allow"  # what the installer says in a host's permissions
_MOST_NOTED = 4096  # bytes of a note


class FormerInstall(Struct, frozen=True):
    """What the manifest of an install says: release, profile (`full` where it says nothing), and the digest
    of each file by its path below the config home."""

    version: str
    mode: str
    files: Mapping[str, str]


class Found(Struct, frozen=True):
    """One file on disk: its bytes and permission bits."""

    data: bytes
    mode: int


Look = Callable[[str], Found | None]
"""What stands at a full path; None where there is no file."""


class TakenOver(Struct, frozen=True):
    """A former install met with the disk.

    `assumed` is the generation that it amounts to. `yours` are places (`root:path#pointer`) of entries that
    we want and that may have been the user's before: they stay when we leave. `blocks` are files with a block
    of text of the former installer, which only the user can judge. `edited` are keys of files that were
    changed since, `unlisted` those that the plan has too, in another form, and that no manifest speaks of:
    nobody can say whose they are.
    """

    assumed: Generation
    yours: tuple[str, ...]
    blocks: tuple[str, ...]
    edited: tuple[str, ...]
    unlisted: tuple[str, ...]


def read_former(data: bytes) -> FormerInstall | None:
    """The install that a manifest tells of; None where it is none of the reference installer's."""
    try:
        said = json.loads(data)
        files = {path: f"sha256:{digest}" for path, digest in said["files"].items()}
        version, mode = said["version"], said.get("mode", "full")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    sound = all(is_digest(digest) and relative_fault(path) is None for path, digest in files.items())
    texts = isinstance(version, str) and isinstance(mode, str)
    return FormerInstall(version, mode, files) if sound and texts else None


def taken_over(store: Store, slug: str, wanted: Wanted, former: FormerInstall, look: Look) -> TakenOver:
    """What an apply of `wanted` goes on from where `former` is installed. Raises `OSError`."""
    roots = {name: RootRecord(path, _real(store, path)) for name, path in wanted.roots.items()}
    files: dict[str, FileRecord] = {}
    edited: list[str] = []
    for path, digest in former.files.items():
        record = _listed(roots, path, digest, look)
        if record is not None:
            files[record.key] = record
            found = look(f"{roots[record.root].real}/{record.path}")
            if found is not None and sha256_digest(found.data) != digest:
                edited.append(record.key)
    for name in (MANIFEST, _STATE, *_NOTES):
        found = look(f"{roots['config'].real}/{name}")
        if found is not None and _is_bookkeeping(name, found.data):
            files.setdefault(f"config:{name}", _record("config", name, sha256_digest(found.data), found.mode))
    unlisted = []
    for file in wanted.files:
        found = look(f"{roots[file.root].real}/{file.path}") if file.key not in files else None
        if found is None:
            continue
        # In another form than ours it counts as changed by hand, so that nobody loses anything unasked.
        digest = _digest_of(store, wanted, file)
        files[file.key] = _record(file.root, file.path, digest, found.mode)
        if digest != sha256_digest(found.data):
            unlisted.append(file.key)
    scripts = {f.path for f in files.values()} | {f.path for f in wanted.files}
    records = [_edited(store, roots, edit, scripts, look) for edit in wanted.edits]
    generation = Generation(
        slug=slug,
        number=0,
        parent=0,
        created="",
        target=wanted.target,
        runtime=wanted.runtime,
        scope=wanted.scope,
        installation=wanted.installation,
        manifest=wanted.manifest,
        project=wanted.project,
        plan="",
        home=wanted.home,
        roots=roots,
        tools={},
        files=tuple(files.values()),
        edited=tuple(record for record in records if record is not None),
        made=tuple(sorted({*_folders(roots, files.values()), *_staging(roots["config"].real)})),
    )
    yours = [at for edit in wanted.edits for at in _yours(store, roots, edit, generation, look)]
    blocks = tuple(e.key for e in wanted.edits if _has_block(store, roots, e, look))
    return TakenOver(generation, tuple(yours), blocks, tuple(sorted(edited)), tuple(sorted(unlisted)))


# Files


def _real(store: Store, path: str) -> str:
    try:
        return store.fs.real_path(path).rstrip("/")
    except OSError:
        return path.rstrip("/")


def _listed(roots: Mapping[str, RootRecord], path: str, digest: str, look: Look) -> FileRecord | None:
    """Where a listed file is: in the config home, or (a host that reads its skills elsewhere) in another root
    with the very bytes. None where it was deleted."""
    found = look(f"{roots['config'].real}/{path}")
    if found is not None:
        return _record("config", path, digest, found.mode)
    for name, root in roots.items():
        for below in (path, path.partition("/")[2]) if name != "config" else ():
            found = look(f"{root.real}/{below}") if below else None
            if found is not None and sha256_digest(found.data) == digest:
                return _record(name, below, digest, found.mode)
    return None


def _record(root: str, path: str, digest: str, mode: int) -> FileRecord:
    locked = 0o755 if mode & 0o100 else 0o644
    return FileRecord(root, path, source=digest, fill=False, locked_mode=locked, digest=digest, mode=mode)


def _is_bookkeeping(name: str, data: bytes) -> bool:
    """Whether a file that bears the name of the installer's bookkeeping also looks like that."""
    if name == MANIFEST:
        return read_former(data) is not None
    if name == _STATE:
        try:
            return "appliedMigrations" in json.loads(data)
        except (ValueError, TypeError):
            return False
    return len(data) <= _MOST_NOTED and data.strip().count(b"\n") == 0


def _digest_of(store: Store, wanted: Wanted, file: WantedFile) -> str:
    """The digest of a file as the plan wants it, filled in."""
    if not file.fill:
        return file.source
    return sha256_digest(filled(store.blobs.get(file.source), wanted.fillings, file.key))


def _staging(config: str) -> list[str]:
    return [f"{config}/{_STAGING}", f"{config}/{_STAGING}/user-artifacts"]


def _folders(roots: Mapping[str, RootRecord], files: Collection[FileRecord] | Any) -> Iterator[str]:
    """The folders that hold the install's files, but for the roots: they go once they are empty."""
    seen: set[str] = set()
    for record in files:
        folder = os.path.dirname(record.path)
        while folder and (full := f"{roots[record.root].real}/{folder}") not in seen:
            seen.add(full)
            yield full
            folder = os.path.dirname(folder)


# Entries


def _shared(
    store: Store, roots: Mapping[str, RootRecord], edit: WantedEdit, look: Look
) -> tuple[str, bytes] | None:
    """Where a shared file is, and its bytes; None where it is not there."""
    folder = f"{roots[edit.root].real}/{os.path.dirname(edit.path)}".rstrip("/")
    for name in (*edit.instead, os.path.basename(edit.path)):
        real = _real(store, f"{folder}/{name}")
        found = look(real)
        if found is not None:
            return real, found.data
    return None


def _edited(
    store: Store, roots: Mapping[str, RootRecord], edit: WantedEdit, scripts: Collection[str], look: Look
) -> EditedRecord | None:
    """The installer's entries in one shared file; None where it has none, or the file does not parse."""
    shared = _shared(store, roots, edit, look)
    if shared is None:
        return None
    try:
        changes = [c.change for c in edit.changes]
        homes = {path.rstrip("/") for root in roots.values() for path in (root.given, root.real)}
        entries = tuple(former_entries(store.editors(edit.format), shared[1], changes, scripts, homes))
    except EditFault:
        return None  # an apply says where it does not parse
    return (
        EditedRecord(edit.root, edit.path, shared[0], edit.format, None, None, entries) if entries else None
    )


def _has_block(store: Store, roots: Mapping[str, RootRecord], edit: WantedEdit, look: Look) -> bool:
    shared = _shared(store, roots, edit, look) if edit.format is EditFormat.MARKDOWN else None
    return shared is not None and _BLOCK in shared[1]


def _yours(
    store: Store, roots: Mapping[str, RootRecord], edit: WantedEdit, assumed: Generation, look: Look
) -> Iterator[str]:
    shared = _shared(store, roots, edit, look)
    records = [r for r in assumed.edited if shared is not None and r.real == shared[0]]
    ours = {identity(e.change) for r in records for e in r.entries}
    editor = store.editors(edit.format)
    for change in edit.changes:
        with contextlib.suppress(EditFault):
            if shared is not None and change.identity not in ours and editor.holds(shared[1], change.change):
                yield f"{edit.key}#{change.change.at}"


def former_entries(
    editor: Editor,
    data: bytes,
    changes: Collection[Change],
    scripts: Collection[str],
    homes: Collection[str] = (),
) -> Iterator[EntryRecord]:
    """The entries of a shared file that are the installer's: those that we want too and that it wrote in its
    own way (another path of an interpreter, say), and besides hooks that run one of its scripts, and what
    allows a host its own folder there.

    `scripts` are the paths of its files and of ours below their roots, `homes` the full paths of these. A
    value that names none of them, nor the product, is taken for the user's own: that may be a rule that
    forbids something. Raises `EditFault`.
    """
    meaning = editor.read(data)
    taken: list[tuple[str, Any]] = []
    for change in changes:
        if change.op is EditOp.BLOCK:
            continue
        there = value_at(meaning, change.at)
        mine = _scripts_in(change.value, scripts) | _scripts_in(change.at, scripts)
        place = "/".join(pointer_path(change.at))
        named = any(_PRODUCT.search(text) for text in (place, *_texts(change.value)))
        for value in there if isinstance(there, list) and change.op is EditOp.APPEND_UNIQUE else [there]:
            if value is ABSENT or not (mine or named):
                continue
            if contains(value, change.value, strict=True):
                taken.append((change.at, change.value))
                yield _entry(change.op, change.at, change.value)
            elif _scripts_in(value, scripts) & mine or _is_products_own(change, place, value):
                part = _part(value, scripts)
                taken.append((change.at, part))
                yield _entry(change.op, change.at, part)
    hooks = value_at(meaning, "/hooks")
    lists = {"/hooks": hooks} if isinstance(hooks, list) else hooks if isinstance(hooks, dict) else {}
    for name, items in lists.items():
        at = name if name == "/hooks" else f"/hooks/{name.replace('~', '~0').replace('/', '~1')}"
        for item in items if isinstance(items, list) else ():
            if _scripts_in(item, scripts) and not any(at == a and _overlap(item, v) for a, v in taken):
                yield _entry(EditOp.APPEND_UNIQUE, at, _part(item, scripts))
    known = {change.at for change in changes}
    for at in _grants(meaning, homes):
        if at not in known:
            yield _entry(EditOp.ENSURE, at, _GRANTED)


def _grants(value: Any, homes: Collection[str], at: str = "") -> Iterator[str]:
    """Pointers of members that allow something by the full path of a folder of the product in one of the
    homes."""
    for key, member in value.items() if isinstance(value, dict) else ():
        pointer = at + path_pointer((key,))
        yield from _grants(member, homes, pointer)
        below = next((key[len(home) :] for home in homes if key.startswith(home + "/")), "")
        if member == _GRANTED and _PRODUCT.search(below):
            yield pointer


def _is_products_own(change: Change, place: str, value: Any) -> bool:
    """Whether a value names the product and its place does too: its server in another release."""
    alone = change.op is not EditOp.APPEND_UNIQUE and isinstance(value, dict)
    last = place.rpartition("/")[2]
    return alone and bool(_PRODUCT.search(last)) and any(_PRODUCT.search(text) for text in _texts(value))


def _overlap(item: Any, value: Any) -> bool:
    return same(item, value) or contains(item, value, strict=False)


def _part(value: Any, scripts: Collection[str]) -> Any:
    """A hook group without the handlers that somebody else put into it; any other value as it is."""
    if isinstance(value, dict) and isinstance(value.get("hooks"), list):
        return {**value, "hooks": [h for h in value["hooks"] if _scripts_in(h, scripts)]}
    return value


def _scripts_in(value: Any, scripts: Collection[str]) -> frozenset[str]:
    """The files that the texts of a value name, as whole paths."""
    texts = list(_texts(value))
    return frozenset(s for s in scripts if any(_names(text, s) for text in texts if s in text))


def _names(text: str, path: str) -> bool:
    before, _, after = text.partition(path)
    return (not before or before[-1] in "/\\") and (not after or after[0] in "\"' \t;&|)")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _entry(op: EditOp, at: str, value: Any) -> EntryRecord:
    """An entry as if we had put it in, containers and all: these go where nothing else is left in them."""
    value = plain(value)
    parts = at.split("/")
    within = len(parts) if op is EditOp.APPEND_UNIQUE else len(parts) - 1
    made = tuple("/".join(parts[:n]) for n in range(1, within + 1))
    return EntryRecord(
        Entry(op, at, value, added=True, made=made), sha256_digest(canonical_json(value)), True
    )
