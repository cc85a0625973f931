"""Where packs come from: path, archive, git, npm, builtin."""

from __future__ import annotations

from ...capabilities.errors import GsdlockError, missing, shown
from ...lockfiles.model import LockedPack, PackKind
from ..pack import Tree
from .base import Fetched, Gathered, PackSource, SourceContext
from .integrity import anew
from .tree import differences, keep_tree, listing_digest, stored_listing, stored_tree, tree_files


def fetch(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Fetched:
    """The content of a pack, in the store, with its identity.

    With `locked` exactly the locked content comes back or nothing: where the store holds the whole tree it
    is taken from there and neither network nor folder is looked at; else the pinned input is fetched again
    and every identity that the lock has is compared before anything is kept.

    Raises E-PACK-LOCKED (the lock is of another kind of source), E-PACK-INTEGRITY and E-PACK-TREE (not what
    was locked; the latter names the first files that differ), E-OFFLINE, E-UNPACK-… and the errors of the
    kind: E-PACK-…, E-GIT-…, E-NPM-…, E-DOWNLOAD-…, E-BUILTIN-….
    """
    if locked is not None:
        if locked.kind is not source.kind:
            raise not_as_locked(source, f"as {locked.kind.value}, but the manifest says {source.kind.value}")
        alone = source.kind in (PackKind.PATH, PackKind.BUILTIN)  # here the tree is all that is pinned
        tree = stored_tree(locked.tree, context.blobs) if alone or locked not in context.unbelieved else None
        if tree is not None:
            return _fetched(tree, source, locked.resolved, locked.integrity, locked.revision)
    gathered = _gather(source, context, locked)
    if not gathered.contents:
        raise missing(
            "E-PACK-EMPTY",
            f"{source.subject} holds no file",
            "Look at where the manifest says it comes from.",
        )
    if locked is not None:
        _check_tree(source, gathered, locked, context)
    tree = keep_tree(gathered.contents, context.blobs, gathered.download)
    if gathered.download is not None:
        from .downloads import remember

        remember(context.cache, gathered.download)
    return _fetched(tree, source, gathered.resolved, gathered.integrity, gathered.revision)


def not_as_locked(source: PackSource, how: str) -> GsdlockError:
    """The lock and the manifest speak of different things."""
    return missing(
        "E-PACK-LOCKED",
        f"{source.subject} is locked {how}",
        f"Make manifest and lock agree again: {anew(source)}.",
    )


def _fetched(tree: Tree, source: PackSource, resolved: str, integrity: str, revision: str) -> Fetched:
    version = resolved.rpartition("@")[2] if source.kind is PackKind.NPM else ""
    return Fetched(tree, resolved, integrity, revision, version)


def _gather(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Gathered:
    from . import archive, builtin, git, npm, path

    readers = {
        PackKind.NPM: npm.gather,
        PackKind.GIT: git.gather,
        PackKind.ARCHIVE: archive.gather,
        PackKind.PATH: path.gather,
        PackKind.BUILTIN: builtin.gather,
    }
    return readers[source.kind](source, context, locked)


def _check_tree(source: PackSource, gathered: Gathered, locked: LockedPack, context: SourceContext) -> None:
    files = tree_files(gathered.contents)
    digest = listing_digest(files)
    if digest == locked.tree:
        return
    before = stored_listing(locked.tree, context.blobs)
    raise missing(
        "E-PACK-TREE",
        f"{source.subject} is not what was locked: its tree is {digest}, the lock says {shown(locked.tree)}",
        f"If the change is wanted, lock it: {anew(source)}. If not, find out who made it.",
        details=[] if before is None else differences(before, files),
    )
