"""An archive (.tgz, .tar.gz, .tar, .zip) as a pack: a file on this machine or an https URL."""

from __future__ import annotations

import os
import stat

from ...capabilities.errors import input_error, missing, refused, shown
from ...lockfiles.model import LockedPack
from ..specs import portable
from .base import Gathered, PackSource, SourceContext
from .download import check_url
from .downloads import integrity_of, is_integrity, recall
from .integrity import check_integrity, offline
from .path import local_path
from .tree import below
from .unpack import Strip, unpack


def gather(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Gathered:
    """The files of the archive, after its bytes were compared with what the lock and the manifest say.

    A top folder that all members share is taken off. Raises E-ARCHIVE-MISSING, E-ARCHIVE-FILE,
    E-ARCHIVE-UNREADABLE, E-ARCHIVE-SIZE, E-INTEGRITY-FORM, E-PACK-INTEGRITY, E-PACK-SUBDIRECTORY, E-OFFLINE,
    E-DOWNLOAD-…, E-UNPACK-….
    """
    wanted = locked.integrity if locked is not None else source.integrity
    if wanted and not is_integrity(wanted):
        raise input_error(
            "E-INTEGRITY-FORM",
            f"{source.subject}: {shown(wanted, 120)} is not `sha512-` with the base64 of 64 bytes",
            "Copy the integrity anew.",
        )
    remote = "://" in source.spec
    data = _download(source, context, wanted) if remote else _read_file(source, context)
    integrity = integrity_of(data)
    for stated, by in ((wanted, "lock" if locked else "manifest"), (source.integrity, "manifest")):
        if stated:
            check_integrity(source, integrity, stated, by)
    contents = unpack(data, Strip.COMMON, source.subject, context.limits)
    return Gathered(
        contents=below(contents, source.subdirectory, source.subject),
        resolved=portable(source.spec),
        integrity=integrity,
        download=data,
    )


def _download(source: PackSource, context: SourceContext, wanted: str) -> bytes:
    check_url(source.spec)
    if wanted:
        data = recall(context.cache, wanted, context.blobs)
        if data is not None:
            return data
    if context.offline:
        raise offline(source, pinned=bool(wanted))
    return context.downloader.get(source.spec, context.limits.download, context.environment.variables)


def _read_file(source: PackSource, context: SourceContext) -> bytes:
    path = local_path(source, context)
    limit = context.limits.download
    try:
        # Non-blocking: a FIFO of that name must not hang us.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise input_error(
                "E-ARCHIVE-FILE",
                f"{source.subject}: {shown(path, 400)} is not a file",
                'For a folder write `path = "…"` in place of `archive = "…"`.',
                where=shown(path, 400),
            )
        with os.fdopen(handle, "rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise missing(
            "E-ARCHIVE-MISSING",
            f"{source.subject}: there is no {shown(path, 400)}",
            "Correct the path in the manifest, or put the archive there.",
            where=shown(path, 400),
        ) from None
    except OSError as error:
        raise missing(
            "E-ARCHIVE-UNREADABLE",
            f"{source.subject}: {shown(path, 400)} cannot be read: {error.strerror}",
            "Make it a readable file.",
            where=shown(path, 400),
        ) from None
    if len(data) > limit:
        raise refused(
            "E-ARCHIVE-SIZE",
            f"{source.subject}: {shown(path, 400)} is larger than {limit} bytes",
            "Use a smaller archive.",
            where=shown(path, 400),
        )
    return data
