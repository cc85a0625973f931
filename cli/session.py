"""What the verbs of one command share: options, environment, manifest, lock, store. Made lazily.

Nothing is read before it is asked for, so that `gsdlock status` in a folder without a manifest gives its own
error, and a verb that needs no store opens none.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import cached_property

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..capabilities.environment import Environment
    from ..capabilities.registry import Registry
    from ..lockfiles.model import Lock
    from ..resolver.manifest import Manifest
    from ..resolver.settings import Value
    from ..resolver.sources.base import SourceContext
    from ..store.blobs import Blobs
    from ..store.store import Store


class Session:
    """One run of the command. `options` holds the parsed global options and those of the verb."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.is_done = False
        """Whether the targets are as they were to be: no interruption from then on changes that."""

    @cached_property
    def folders(self) -> dict[str, str]:
        """Our own folders by name."""
        from .environment import own_folders

        return own_folders()

    @cached_property
    def environment(self) -> Environment:
        """The machine as it was when the command began."""
        from .environment import make_environment

        return make_environment(self.folders)

    @cached_property
    def manifest_path(self) -> str | None:
        """The absolute path of the manifest in force; None where none is found."""
        from ..resolver.finding import find_manifest
        from .environment import working_directory

        named = self.options.manifest
        if named is not None:
            return os.path.abspath(str(named))
        return find_manifest(working_directory(), self.folders["config"], os.path.exists)

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest. Raises `GsdlockError`: E-MANIFEST-MISSING, E-MANIFEST-…."""
        from ..capabilities.errors import input_error
        from ..resolver.finding import user_manifest
        from ..resolver.manifest import read_manifest

        path = self.manifest_path
        if path is None:
            raise input_error(
                "E-MANIFEST-MISSING",
                "no gsdlock.toml here, above, or in the user's config folder",
                "Make one with gsdlock init, or name one with --manifest FILE.",
            )
        if path == user_manifest(self.folders["config"]) and self.own is not None:
            return self.own
        data = read_file(path)
        if data is None:
            raise input_error(
                "E-MANIFEST-MISSING",
                f"there is no {path}",
                "Name one that there is, or make it: gsdlock init with the same --manifest.",
                where=path,
            )
        return read_manifest(data, path, self.environment)

    @cached_property
    def own(self) -> Manifest | None:
        """The user's own file, which holds for every manifest. Raises `GsdlockError`: E-USER-FILE-…,
        E-MANIFEST-…."""
        from .layers import user_layer

        return user_layer(self.environment)

    @cached_property
    def settings(self) -> Mapping[str, Value]:
        """The settings in force, by name. Raises `GsdlockError`: those of both files."""
        from .layers import settings_of

        return settings_of(self)

    @cached_property
    def overrides(self) -> Mapping[str, str]:
        """The folders in place of packs of this manifest, by pack. Raises `GsdlockError`: of both files."""
        if self.own is None or not self.own.overrides:
            return {}
        from ..resolver.overrides import active

        return active(self.manifest, self.own.overrides)

    @cached_property
    def applied_manifest(self) -> Manifest:
        """The manifest as `apply` takes it: with dev-overrides in place of its packs."""
        if not self.overrides:
            return self.manifest
        from ..resolver.overrides import overridden

        return overridden(self.manifest, self.overrides)

    @property
    def lock_path(self) -> str:
        """Where the lock lies: `--lock`, else `gsdlock.lock` beside the manifest."""
        from ..resolver.finding import LOCK_NAME

        if self.options.lock is not None:
            return os.path.abspath(str(self.options.lock))
        if self.manifest_path is None:
            return os.path.join(self.manifest.folder, LOCK_NAME)  # raises: there is no manifest
        return os.path.join(os.path.dirname(self.manifest_path), LOCK_NAME)

    @property
    def fence(self) -> str:
        """The folder that what we write beside the manifest may not lead out of: a project's, since its links
        are somebody else's. Empty where the user named the lock, or wrote the manifest."""
        named = self.options.lock is not None or self.manifest.of_user
        return "" if named else self.manifest.folder

    def lock(self) -> Lock | None:
        """The lock on disk; None where there is none. Raises `GsdlockError` E-LOCK-…."""
        from ..lockfiles.read import read_lock

        data = read_file(self.lock_path)
        return None if data is None else read_lock(data, self.lock_path)

    @cached_property
    def registry(self) -> Registry:
        """All capabilities known here: first party, and what the user consented to. After `adopt` those that
        a lock was made with, no others. Raises `GsdlockError` E-OVERLAY-…."""
        if not self.may_have_overlays():
            return self.first_party
        from .overlays import known_registry

        return known_registry(self)

    @property
    def first_party(self) -> Registry:
        """What comes with gsdlock, and nothing else."""
        from ..capabilities.registry import load_builtin

        return load_builtin()

    def adopt(self, lock: Lock) -> None:
        """From now on `registry` is what `lock` was made with. Raises `GsdlockError` E-OVERLAY-… where it
        uses a third-party bundle that the user has not consented to."""
        from .overlays import locked_registry

        self.registry = locked_registry(self, lock)

    def proved(self, lock: Lock) -> bool:
        """Whether `lock` was seen here to come out of the manifest and the inputs that it pins."""
        from ..store.proofs import is_kept, of_plan

        return is_kept(self.store, of_plan(lock.plan, self._manifest_text()))

    def note_proved(self, lock: Lock) -> None:
        """Remember that `lock` was made here, or made again and found the same."""
        from ..store.proofs import keep, of_pin, of_plan

        keep(self.store, [of_plan(lock.plan, self._manifest_text()), *map(of_pin, lock.inputs)])

    def _manifest_text(self) -> bytes:
        """What the manifest says, wherever it lies and whatever its line ends are."""
        return (read_file(self.manifest.path) or b"").replace(b"\r\n", b"\n")

    def may_have_overlays(self) -> bool:
        """Whether anything was ever consented to: most people never have an overlay."""
        return os.path.lexists(os.path.join(self.folders["state"], "overlays.json"))

    @cached_property
    def store(self) -> Store:
        """The store of this machine, opened for this command; nothing is read or made yet."""
        from ..store.store import open_store

        return open_store(self.environment, "gsdlock " + " ".join(sys.argv[1:]))

    @property
    def blobs(self) -> Blobs:
        """The content of the store."""
        return self.store.blobs

    @cached_property
    def sources(self) -> SourceContext:
        """What packs are fetched with. Raises `GsdlockError`: those of both files."""
        from ..resolver.sources.base import SourceContext

        return SourceContext(
            environment=self.environment,
            blobs=self.blobs,
            offline=bool(self.settings["offline"].value),
            written=() if self.manifest_path is None else (self.lock_path, f"{self.lock_path}.sig"),
        )

    def sources_for(self, lock: Lock | None) -> SourceContext:
        """`sources`, to fetch what `lock` pins: of a pin that was not read here, the tree is not believed."""
        from msgspec.structs import replace

        from ..store.proofs import is_kept, of_pin

        pins = (*lock.packs, *lock.overlays) if lock is not None else ()
        foreign = frozenset(pin for pin in pins if not is_kept(self.store, of_pin(pin)))
        return replace(self.sources, unbelieved=foreign)

    def wanted(self, name: str) -> bool:
        """Whether `--target` lets a target through."""
        return not self.options.target or name in self.options.target

    def progress(self, line: str) -> None:
        """A line on standard error that tells what takes its time."""
        if self.options.quiet or self.options.json:
            return
        if self.settings["progress"].value:
            from .render import tell

            tell(line)


MOST_BYTES = 64 << 20
"""No manifest, lock or signature is longer; a stranger's repository can hold a file of zeros without end."""


def read_file(path: str) -> bytes | None:
    """The bytes of a manifest or lock; None where there is no such file.

    Raises `GsdlockError` E-FILE-READ where it is there and cannot be read, or is larger than `MOST_BYTES`.
    """
    from ..capabilities.errors import input_error

    try:
        # A FIFO or a device would hang or never end: only a regular file is a manifest or a lock.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise input_error(
            "E-FILE-READ", f"{path} cannot be read: {fault.strerror}", "Mend its permissions.", where=path
        ) from None
    import stat

    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise input_error("E-FILE-READ", f"{path} is not a regular file", "Name a file.", where=path)
    with os.fdopen(handle, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise input_error(
            "E-FILE-READ", f"{path} is larger than {MOST_BYTES >> 20} MiB", "Look at it.", where=path
        )
    return data


def write_file(path: str, data: bytes, *, inside: str = "") -> None:
    """Write a manifest or a lock as a whole: temp file beside it, flushed, renamed. A link is followed, but
    not out of the folder `inside` where that is given.

    Raises `GsdlockError`: E-FILE-WRITE naming the path, E-FILE-LINK (status 4).
    """
    from ..capabilities.errors import input_error, refused
    from ..resolver.sources.scratch import sweep

    real = os.path.realpath(path)
    if inside and not real.startswith(os.path.realpath(inside).rstrip("/") + "/"):
        raise refused(
            "E-FILE-LINK",
            f"{path} is a link that leads to {real}, out of the project",
            "It is somebody else's link: look where it leads. A lock elsewhere is named with --lock.",
            where=path,
        )
    temporary = None
    folder = os.path.dirname(real)
    try:
        sweep(folder, _TEMPORARY)
        name = f"{_TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
        handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        temporary = os.path.join(folder, name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(real))
        os.replace(temporary, real)
    except OSError as fault:
        if temporary is not None and os.path.lexists(temporary):
            os.unlink(temporary)
        raise input_error(
            "E-FILE-WRITE", f"{path} cannot be written: {fault.strerror}", "Mend its folder.", where=path
        ) from None


_TEMPORARY = ".gsdlock-write-"


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
