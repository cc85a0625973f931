"""Trees: collecting contents within bounds, keeping them in the store, finding them there again.

The listing of a tree is the canonical JSON of `{"files": {path: [digest, mode, size]}}`. It is a blob of the
store like any other, and its digest is the digest of the tree. Nothing of a pack reaches the store before
all of it has passed every check: until then it is held in memory, which the limits bound.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...capabilities.canonical import canonical_json, is_digest, sha256_digest
from ...capabilities.errors import GsdlockError, missing, refused, shown
from ..pack import Tree, TreeFile
from .base import BlobStore, Contents, FileContent, Limits
from .names import NameSet
from .normalise import normalised

MANIFEST_NAME = "capability.json"
_SHOWN_DIFFERENCES = 10


class TreeBuilder:
    """Takes the files of one pack one by one and refuses what is out of bounds.

    `room` says how many bytes the next file may have at most; a reader asks before it reads, so that a
    file that is too large is never read as a whole.
    """

    def __init__(self, subject: str, limits: Limits) -> None:
        self.subject = subject
        self._limits = limits
        self._names = NameSet(subject)
        self._contents: dict[str, FileContent] = {}
        self._folders: set[str] = set()
        self._entries = 0
        self._bytes = 0

    @property
    def contents(self) -> Contents:
        return self._contents

    @property
    def folders(self) -> frozenset[str]:
        """The folders that were named as entries of their own."""
        return frozenset(self._folders)

    def room(self, path: str) -> int:
        """Bytes that a file at `path` may still have."""
        left = self._limits.total - self._bytes
        return min(left, self._limits.manifest) if _is_manifest(path) else left

    def add_folder(self, path: str) -> None:
        """Raises E-UNPACK-NAME, E-UNPACK-COLLISION or E-UNPACK-ENTRIES."""
        self._count()
        self._names.add_folder(path)
        self._folders.add(path)

    def add_file(self, path: str, data: bytes, executable: bool) -> None:
        """Raises E-UNPACK-NAME, -DUPLICATE, -COLLISION, -ENTRIES, -SIZE or -MANIFEST-SIZE."""
        self._count()
        self._names.add_file(path)
        if len(data) > self.room(path):
            raise self.too_large(path)
        self._bytes += len(data)
        self._contents[path] = FileContent(normalised(path, data), executable)

    def check_file(self, path: str) -> None:
        """Refuse a bad name before its content is read. Raises E-UNPACK-NAME."""
        self._names.check_name(path)

    def too_large(self, path: str) -> GsdlockError:
        """The error for a file that is larger than `room` says."""
        if _is_manifest(path) and self._limits.total - self._bytes >= self._limits.manifest:
            return refused(
                "E-UNPACK-MANIFEST-SIZE",
                f"{self.subject}: `{shown(path)}` is larger than {self._limits.manifest} bytes",
                "A descriptor of that size is a mistake; ask the pack's author.",
                where=shown(path, 400),
            )
        return refused(
            "E-UNPACK-SIZE",
            f"{self.subject} holds more than {self._limits.total} bytes (reached at `{shown(path)}`)",
            "Use a smaller pack, or a subdirectory of it.",
            where=shown(path, 400),
        )

    def _count(self) -> None:
        self._entries += 1
        if self._entries > self._limits.entries:
            raise refused(
                "E-UNPACK-ENTRIES",
                f"{self.subject} holds more than {self._limits.entries} files and folders",
                "Use a smaller pack, or a subdirectory of it.",
            )


def _is_manifest(path: str) -> bool:
    return path.rpartition("/")[2] == MANIFEST_NAME


def below(contents: Contents, subdirectory: str, subject: str) -> Contents:
    """The files under `subdirectory`, named from there; all of them where it is empty.

    Raises E-PACK-SUBDIRECTORY where nothing lies there.
    """
    if not subdirectory:
        return contents
    prefix = subdirectory.strip("/") + "/"
    found = {path[len(prefix) :]: c for path, c in contents.items() if path.startswith(prefix)}
    if not found:
        raise no_subdirectory(subject, subdirectory)
    return found


def no_subdirectory(subject: str, subdirectory: str) -> GsdlockError:
    """The error for a subdirectory in which no file lies."""
    return missing(
        "E-PACK-SUBDIRECTORY",
        f"{subject} has no folder `{shown(subdirectory)}` with files in it",
        "Correct `subdirectory` in the manifest.",
    )


def listing(files: Mapping[str, TreeFile]) -> bytes:
    """The listing of a tree: what its digest is taken of."""
    return canonical_json({"files": {path: [f.digest, f.mode, f.size] for path, f in files.items()}})


def tree_files(contents: Contents) -> dict[str, TreeFile]:
    """Digest, mode and size of every file, sorted by path."""
    return {
        path: TreeFile(sha256_digest(c.data), c.mode, len(c.data)) for path, c in sorted(contents.items())
    }


def listing_digest(files: Mapping[str, TreeFile]) -> str:
    """The digest of the tree that consists of these files."""
    return sha256_digest(listing(files))


def keep_tree(contents: Contents, blobs: BlobStore, download: bytes | None = None) -> Tree:
    """Put the files, their listing and the archive they came in into the store, durably."""
    files = tree_files(contents)
    for content in contents.values():
        blobs.put(content.data)
    if download is not None:
        blobs.put(download)
    digest = blobs.put(listing(files))
    blobs.flush()
    return make_tree(digest, files, blobs)


def make_tree(digest: str, files: Mapping[str, TreeFile], blobs: BlobStore) -> Tree:
    """A tree whose files are read from the store; reading verifies them."""
    return Tree(digest=digest, files=files, read=lambda path: blobs.get(files[path].digest))


def stored_tree(digest: str, blobs: BlobStore) -> Tree | None:
    """The tree of this digest where the store holds its listing and every file of it, else None."""
    files = stored_listing(digest, blobs)
    if files is None or not all(blobs.has(f.digest) for f in files.values()):
        return None
    return make_tree(digest, files, blobs)


def stored_listing(digest: str, blobs: BlobStore) -> dict[str, TreeFile] | None:
    """The files of the tree of this digest as far as its listing is in the store, else None.

    A digest in a lock may name any blob, also one that a hostile pack brought; so the listing is checked
    like a foreign one. Raises E-PACK-LISTING where it is not a listing, E-UNPACK-* for its names.
    """
    import json

    if not is_digest(digest) or not blobs.has(digest):
        return None
    try:
        data = json.loads(blobs.get(digest))
        files = {path: TreeFile(*_checked_entry(entry)) for path, entry in data["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise refused(
            "E-PACK-LISTING",
            f"the lock names {digest} as a tree, but that is not a listing of files",
            "The lock was changed by hand or by somebody else: look at its history.",
        ) from None
    names = NameSet("the listing of a locked tree")
    for path in files:
        names.add_file(path)
    return files


def _checked_entry(entry: object) -> tuple[str, int, int]:
    if not isinstance(entry, list) or len(entry) != 3:
        raise ValueError("an entry of a listing is [digest, mode, size]")
    digest, mode, size = entry
    if not isinstance(digest, str) or not is_digest(digest):
        raise ValueError("not a digest")
    if mode not in (0o644, 0o755) or type(mode) is not int or type(size) is not int or size < 0:
        raise ValueError("not a mode and a size")
    return digest, mode, size


def differences(before: Mapping[str, TreeFile], after: Mapping[str, TreeFile]) -> list[str]:
    """The first files that differ between two trees, one line each, sorted by path."""
    lines = []
    changed = [p for p in sorted(before.keys() | after.keys()) if before.get(p) != after.get(p)]
    for path in changed[:_SHOWN_DIFFERENCES]:
        if path not in before:
            lines.append(f"added {shown(path)}")
        elif path not in after:
            lines.append(f"removed {shown(path)}")
        elif before[path].digest == after[path].digest:
            lines.append(f"mode changed {shown(path)}: {before[path].mode:04o} -> {after[path].mode:04o}")
        else:
            lines.append(f"changed {shown(path)}")
    if len(changed) > _SHOWN_DIFFERENCES:
        lines.append(f"and {len(changed) - _SHOWN_DIFFERENCES} more")
    return lines
