"""Archives (tar, tar.gz, zip) read member by member, never onto a disk.

Which format it is, is told from the bytes. The output is counted while it is produced, so that no header is
believed about a size. A member that is not a plain file or a folder is refused, never skipped: a pack with
a link in it is not the pack that its author tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import IO, TYPE_CHECKING, Protocol, cast

from ...capabilities.errors import GsdlockError, refused, shown
from .base import Contents, Limits
from .names import NameSet
from .tree import TreeBuilder

if TYPE_CHECKING:
    import tarfile
    import zipfile

_CHUNK = 1 << 16
# A tar header that only describes the next member (a long name, pax records). Real ones have a few hundred
# bytes; the bound also keeps the standard library's pax parser, which is not linear, quick.
_MAX_EXTENDED_HEADER = 1 << 16
# Headers and padding that come on top of the content: at most this per member.
_TAR_OVERHEAD = 4 * 512


class Strip(Enum):
    """What is taken off the front of every member's name."""

    FIRST = "first"  # the first component, whatever it is called: how npm packs are made
    COMMON = "common"  # the first component where all members share it
    NONE = "none"


def unpack(data: bytes, strip: Strip, subject: str, limits: Limits) -> Contents:
    """The files of an archive; `subject` begins every message (`pack gsd`).

    Raises E-UNPACK-FORMAT (no archive), -DAMAGED, -ENCRYPTED, -LINK, -SPECIAL, -SPARSE, -HEADER, -NAME,
    -DUPLICATE, -COLLISION, -SIZE, -MANIFEST-SIZE, -ENTRIES, -EMPTY.
    """
    builder = TreeBuilder(subject, limits)
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        _unzip(data, builder, limits)
    elif data[:2] == b"\x1f\x8b":
        import gzip
        import io

        _untar(gzip.GzipFile(fileobj=io.BytesIO(data), mode="rb"), builder, limits)
    elif data[257:262] == b"ustar":
        import io

        _untar(io.BytesIO(data), builder, limits)
    else:
        raise refused(
            "E-UNPACK-FORMAT",
            f"{subject} is not an archive that gsdlock reads (.tgz, .tar.gz, .tar or .zip)",
            "Pack it as one of these; the name of the file does not matter.",
        )
    if not builder.contents:
        raise refused("E-UNPACK-EMPTY", f"{subject}: the archive holds no file", "Use another archive.")
    return _stripped(builder, strip)


def _stripped(builder: TreeBuilder, strip: Strip) -> Contents:
    contents = builder.contents
    if strip is Strip.NONE or (strip is Strip.COMMON and not _shares_top(builder)):
        return contents
    names = NameSet(builder.subject)
    result = {}
    for path, content in contents.items():
        _, slash, rest = path.partition("/")
        if not slash:
            raise refused(
                "E-UNPACK-NAME",
                f"{builder.subject} holds `{shown(path)}` outside of the package's folder",
                "Make the package with `npm pack`.",
                where=shown(path, 400),
            )
        names.add_file(rest)
        result[rest] = content
    return result


def _shares_top(builder: TreeBuilder) -> bool:
    tops = {path.partition("/")[0] for path in (*builder.contents, *builder.folders)}
    return len(tops) == 1 and all("/" in path for path in builder.contents)


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _Counted:
    """Reads from `source` and refuses to give more than `limit` bytes in all."""

    def __init__(self, source: _Readable, limit: int, subject: str) -> None:
        self._source = source
        self._left = limit
        self._subject = subject

    def read(self, size: int = _CHUNK) -> bytes:
        data = self._source.read(max(0, min(size, _CHUNK)))
        self._left -= len(data)
        if self._left < 0:
            raise refused(
                "E-UNPACK-SIZE",
                f"{self._subject}: the archive unpacks to more than the limit",
                "Use a smaller pack. If you expected a small one, somebody made it to fill a disk.",
            )
        return data


def _untar(source: _Readable, builder: TreeBuilder, limits: Limits) -> None:
    import tarfile
    import zlib

    stream = _Counted(source, limits.total + limits.entries * _TAR_OVERHEAD, builder.subject)
    try:
        # "r|" never seeks: each byte is produced once and counted once.
        with tarfile.open(
            fileobj=cast("IO[bytes]", stream),  # of which this mode uses `read` alone
            mode="r|",
            tarinfo=_screened_tarinfo(builder.subject),
        ) as tar:
            for member in tar:
                _take_tar_member(tar, member, builder)
        while stream.read():  # to the end, so that a gzip checksum is verified
            pass
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, OverflowError, IndexError) as error:
        raise _damaged(builder.subject, str(error)) from None


def _take_tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo, builder: TreeBuilder) -> None:
    # `tar -C folder .` begins every name with "./"; that one prefix means nothing.
    path = member.name.removeprefix("./")
    if member.isdir():
        if path != ".":
            builder.add_folder(path)
        return
    if member.issym() or member.islnk():
        raise _link(builder.subject, path)
    if member.issparse():
        raise refused(
            "E-UNPACK-SPARSE",
            f"{builder.subject} holds the sparse file `{shown(path)}`",
            "Ask the pack's author to pack it without sparse files.",
            where=shown(path, 400),
        )
    if not member.isreg():
        raise _special(builder.subject, path)
    builder.check_file(path)
    handle = tar.extractfile(member)
    assert handle is not None  # it is a regular file
    data = _read_bounded(handle, builder, path)
    if len(data) != member.size:
        raise _damaged(builder.subject, f"`{shown(path)}` is cut short")
    builder.add_file(path, data, bool(member.mode & 0o100))


def _screened_tarinfo(subject: str) -> type[tarfile.TarInfo]:
    """A `TarInfo` that looks at every raw header before the standard library acts on it."""
    import tarfile

    describing = (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )

    class Screened(tarfile.TarInfo):
        """Refuses a header that is damaged, or that claims a size no honest one has."""

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Screened:
            """The header in a block of 512 bytes. Raises E-UNPACK-DAMAGED or E-UNPACK-HEADER."""
            try:
                info = super().frombuf(buf, encoding, errors)
            except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]  # not in typeshed
                raise
            except tarfile.HeaderError as error:
                # The iteration would take it for the end and give a tree with files missing.
                raise _damaged(subject, str(error)) from None
            if info.size < 0 or (info.type in describing and info.size > _MAX_EXTENDED_HEADER):
                raise refused(
                    "E-UNPACK-HEADER",
                    f"{subject}: the archive has a header that claims {info.size} bytes",
                    "Ask the pack's author for an archive made by a usual tool.",
                )
            return info

    return Screened


def _unzip(data: bytes, builder: TreeBuilder, limits: Limits) -> None:
    import io
    import struct
    import zipfile
    import zlib

    # The standard library reads the whole central directory at once; this bounds it first.
    if data.count(b"PK\x01\x02") > limits.entries:
        raise refused(
            "E-UNPACK-ENTRIES",
            f"{builder.subject} holds more than {limits.entries} files and folders",
            "Use a smaller pack.",
        )
    faults = (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        ValueError,
        OverflowError,
        IndexError,
    )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                _take_zip_member(archive, info, builder)
    except faults as error:
        raise _damaged(builder.subject, str(error)) from None
    except (NotImplementedError, RuntimeError) as error:
        raise refused(
            "E-UNPACK-FORMAT",
            f"{builder.subject}: the archive uses a feature that gsdlock does not read ({shown(str(error))})",
            "Pack it with plain `zip` or `tar`.",
        ) from None


def _take_zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, builder: TreeBuilder) -> None:
    import stat
    import zipfile

    path = info.orig_filename  # `filename` is cut at a NUL and, on Windows, changed
    if info.flag_bits & 0x1:
        raise refused(
            "E-UNPACK-ENCRYPTED",
            f"{builder.subject}: the member `{shown(path)}` is encrypted",
            "Pack it without a password.",
        )
    if not path.isascii() and not info.flag_bits & 0x800:
        raise refused(
            "E-UNPACK-NAME",
            f"{builder.subject}: the name of the member `{shown(path)}` is in an encoding that is not stated",
            "Pack it with a tool that marks names as UTF-8, or as a tar.",
        )
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise _link(builder.subject, path)
    if path.endswith("/"):
        builder.add_folder(path[:-1])
        return
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise _special(builder.subject, path)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError(f"compression method {info.compress_type}")
    builder.check_file(path)
    with archive.open(info) as handle:
        data = _read_bounded(handle, builder, path)
    if len(data) != info.file_size:
        raise _damaged(builder.subject, f"`{shown(path)}` is cut short")
    builder.add_file(path, data, bool(mode & 0o100))


def _read_bounded(handle: _Readable, builder: TreeBuilder, path: str) -> bytes:
    """All of `handle`, counted while it is read. Raises E-UNPACK-SIZE or -MANIFEST-SIZE."""
    left = builder.room(path)
    parts = []
    for part in _chunks(handle):
        left -= len(part)
        if left < 0:
            raise builder.too_large(path)
        parts.append(part)
    return b"".join(parts)


def _chunks(handle: _Readable) -> Iterator[bytes]:
    while part := handle.read(_CHUNK):
        yield part


def _link(subject: str, path: str) -> GsdlockError:
    return refused(
        "E-UNPACK-LINK",
        f"{subject} holds the link `{shown(path)}`",
        "Ask the pack's author to put the file itself there; links are never followed.",
        where=shown(path, 400),
    )


def _special(subject: str, path: str) -> GsdlockError:
    return refused(
        "E-UNPACK-SPECIAL",
        f"{subject} holds `{shown(path)}`, which is neither a file nor a folder",
        "Ask the pack's author to leave it out.",
        where=shown(path, 400),
    )


def _damaged(subject: str, reason: str) -> GsdlockError:
    return refused(
        "E-UNPACK-DAMAGED",
        f"{subject}: the archive is damaged ({shown(reason)})",
        "Get it again; if that does not help, ask its author.",
    )
