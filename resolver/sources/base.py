"""What all kinds of source share: what is asked for, what comes back, and the interfaces to the outside.

A source gives the content of one pack as a `Tree`. `sources.fetch` is the way in; each kind has a module with
one function `gather` that reads content and writes nothing but caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from ...capabilities.environment import Environment
from ...capabilities.errors import shown
from ...lockfiles.model import LockedPack, PackKind
from ..pack import Tree

MEBIBYTE = 1 << 20


class Limits(Struct, frozen=True):
    """The bounds of one pack: bytes of a `capability.json`, bytes of all files together (uncompressed),
    number of files and folders, and bytes of a downloaded archive. Source: the design, section 8."""

    manifest: int = 8 * MEBIBYTE
    total: int = 128 * MEBIBYTE
    entries: int = 100_000
    download: int = 128 * MEBIBYTE


class PackSource(Struct, frozen=True):
    """One pack as the manifest asks for it.

    `name` is the key in the manifest, `spec` the text of the kind's own key (`npm = "…"`, `git = "…"`),
    `folder` the folder of the manifest (absolute), where relative paths start. `version` is an npm range or
    dist-tag (npm only), `ref` a branch, tag, commit or `refs/…` (git only, also written `url#ref`),
    `subdirectory` the folder inside the source that is the pack (git and archive), `integrity` the
    `sha512-…` that an archive must have. Each is empty where not given. `apart` are full paths of
    what lies in a folder and is no part of the pack (path only).
    """

    name: str
    kind: PackKind
    spec: str
    folder: str
    version: str = ""
    ref: str = ""
    subdirectory: str = ""
    integrity: str = ""
    what: str = "pack"
    apart: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """How messages name it; `what` is `pack` or `overlay`."""
        return f"{self.what} {shown(self.name)}"


class Fetched(Struct, frozen=True):
    """The content of a pack and its identity, as it will be locked (see `LockedPack`).

    `resolved` holds no path of this machine. `version` is the version that the source is known by (npm
    only), else empty: then the pack may still say one itself.
    """

    tree: Tree
    resolved: str
    integrity: str = ""
    revision: str = ""
    version: str = ""


class FileContent(Struct, frozen=True):
    """The bytes of one file, text already in LF form, and whether its owner may execute it."""

    data: bytes
    executable: bool

    @property
    def mode(self) -> int:
        """0o755 or 0o644: what of a mode a pack has."""
        return 0o755 if self.executable else 0o644


Contents = Mapping[str, FileContent]
"""All files of a pack: relative path with `/` -> content. Every name has passed `names.NameSet`."""


class Gathered(Struct, frozen=True):
    """What a kind of source read: nothing of it is in the store yet.

    `download` are the bytes of the archive that the contents came from, or None; they are kept with the
    tree, so that a lost tree can be rebuilt without the network.
    """

    contents: Contents
    resolved: str
    integrity: str = ""
    revision: str = ""
    download: bytes | None = None


class BlobStore(Protocol):
    """The part of the store that sources need."""

    def put(self, data: bytes) -> str:
        """Keep the bytes; gives `sha256:…`. Keeping them twice changes nothing."""

    def get(self, digest: str) -> bytes:
        """The bytes, verified. Raises E-BLOB-MISSING or E-BLOB-CORRUPT."""

    def has(self, digest: str) -> bool:
        """Whether the store holds a blob of this digest (it is verified when read)."""

    def flush(self) -> None:
        """Make all blobs that were put durable."""


class Completed(Struct, frozen=True):
    """A program that ended: exit status, all of its standard output, the end of its standard error."""

    status: int
    out: bytes
    err: bytes


class ProcessRunner(Protocol):
    """Finds and runs programs of the user's. The real one is `process.SystemProcesses`."""

    def find(self, name: str, path: str) -> str | None:
        """The absolute path of an executable on `path` (a PATH value), or None."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        limit: int,
        stdin: bytes = b"",
    ) -> Completed:
        """Run without a shell and without a terminal; `timeout` in seconds, `limit` bytes of output.

        Raises E-PROCESS-TIMEOUT, E-PROCESS-OUTPUT or E-PROCESS-START.
        """


class Downloader(Protocol):
    """Gets bytes over HTTP. The real one is `download.HttpDownloader`."""

    def get(self, url: str, limit: int, variables: Mapping[str, str]) -> bytes:
        """The body of `url`, at most `limit` bytes; `variables` is the environment, for proxies.

        Raises E-DOWNLOAD-URL (a URL that is not allowed), E-DOWNLOAD-SIZE or E-DOWNLOAD-FAILED.
        """


def _system_processes() -> ProcessRunner:
    from .process import SystemProcesses

    return SystemProcesses()


def _http_downloader() -> Downloader:
    from .download import HttpDownloader

    return HttpDownloader()


class SourceContext(Struct, frozen=True):
    """What sources work with.

    With `offline` nothing touches the network. `unbelieved` are pins of a lock that somebody else made: the
    tree that one names may be that of another pack which the store holds, so the pin itself is read again.
    `written` are full paths of files that gsdlock writes beside a manifest: no pack in a folder has them.
    `builtin` is the folder that holds the packs that come with gsdlock; empty means the package's own.
    """

    environment: Environment
    blobs: BlobStore
    offline: bool = False
    unbelieved: frozenset[LockedPack] = frozenset()
    written: tuple[str, ...] = ()
    builtin: str = ""
    processes: ProcessRunner = field(default_factory=_system_processes)
    downloader: Downloader = field(default_factory=_http_downloader)
    limits: Limits = field(default_factory=Limits)

    @property
    def cache(self) -> str:
        """Our cache folder, absolute."""
        return self.environment.folders.cache
