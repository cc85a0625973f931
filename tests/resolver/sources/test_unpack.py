"""Archives: what is taken, and everything that is refused. Hostile ones are made by hand."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.resolver.sources.base import Contents, Limits
from gsdlock.resolver.sources.unpack import Strip, unpack
from hypothesis import given, settings
from hypothesis import strategies as st

Refused = Callable[..., Any]


def taken(data: bytes, strip: Strip = Strip.NONE, **limits: int) -> Contents:
    return unpack(data, strip, "pack demo", Limits(**limits))


def member(name: str, data: bytes = b"x", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def tar(*members: tuple[tarfile.TarInfo, bytes] | str, **options: Any) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as archive:
        for entry in members:
            info, data = member(entry) if isinstance(entry, str) else entry
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def header(name: bytes, size: bytes, kind: bytes) -> bytes:
    """One raw ustar header."""
    block = bytearray(512)
    block[0 : len(name)] = name
    block[100:108] = b"0000644\0"
    block[124:136] = size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = b"ustar\x0000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def octal(number: int) -> bytes:
    return b"%011o\0" % number


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 512)


END = b"\0" * 1024


def zipped(*entries: tuple[zipfile.ZipInfo, bytes], **options: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as archive:
        for info, data in entries:
            archive.writestr(info, data, options.get("compression", zipfile.ZIP_STORED))
    return out.getvalue()


def zip_member(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


class TestFormats:
    """The format is told from the bytes; all give the same contents."""

    FILES = (member("a/x.md", b"one\r\n"), member("a/run.sh", b"#!/bin/sh\n", mode=0o744))

    @pytest.mark.parametrize("packed", [lambda d: d, gzip.compress], ids=["tar", "tar.gz"])
    @pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_tar(self, packed: Callable[[bytes], bytes], format: int) -> None:
        contents = taken(packed(tar(*self.FILES, format=format)))
        assert {p: (c.data, c.mode) for p, c in contents.items()} == {
            "a/x.md": (b"one\n", 0o644),
            "a/run.sh": (b"#!/bin/sh\n", 0o755),
        }

    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_zip(self, method: int) -> None:
        data = zipped(
            (zip_member("a/"), b""),
            (zip_member("a/x.md"), b"one\r\n"),
            (zip_member("a/run.sh", 0o100744), b"#!/bin/sh\n"),
            compression=method,
        )
        contents = taken(data)
        assert {p: (c.data, c.mode) for p, c in contents.items()} == {
            "a/x.md": (b"one\n", 0o644),
            "a/run.sh": (b"#!/bin/sh\n", 0o755),
        }

    @pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    def test_long_and_foreign_names(self, format: int) -> None:
        name = "d" * 120 + "/" + "ü" * 60 + ".md"
        assert list(taken(tar(name, format=format))) == [name]

    def test_a_global_pax_header_as_git_writes_it_is_harmless(self) -> None:
        assert list(taken(tar("a", format=tarfile.PAX_FORMAT, pax_headers={"comment": "0" * 40}))) == ["a"]

    def test_the_dot_folder_that_tar_writes_for_a_whole_folder(self) -> None:
        data = tar(member(".", b"", type=tarfile.DIRTYPE), member("./a/b.md"), member("./c.md"))
        assert set(taken(data)) == {"a/b.md", "c.md"}

    @pytest.mark.parametrize(
        "data",
        [b"", b"text", b"Rar!\x1a\x07\0", b"\xfd7zXZ\0", b"BZh9", b"\0" * 600],
        ids=["nothing", "text", "rar", "xz", "bz2", "zeros"],
    )
    def test_anything_else_is_refused(self, data: bytes, refused: Refused) -> None:
        with refused("E-UNPACK-FORMAT", "pack demo"):
            taken(data)

    def test_an_empty_archive_is_refused(self, refused: Refused) -> None:
        folder_only = tar(member("a", b"", type=tarfile.DIRTYPE))
        for data in (zipped(), folder_only, gzip.compress(folder_only), gzip.compress(END)):
            with refused("E-UNPACK-EMPTY"):
                taken(data)
        with refused("E-UNPACK-DAMAGED"):
            taken(gzip.compress(b""))


class TestStrip:
    def test_npm_takes_off_the_first_folder_whatever_it_is_called(self) -> None:
        assert set(taken(tar("package/a", "package/b/c"), Strip.FIRST)) == {"a", "b/c"}
        assert set(taken(tar("gsd-core/a"), Strip.FIRST)) == {"a"}

    def test_npm_refuses_a_file_outside_of_the_folder(self, refused: Refused) -> None:
        with refused("E-UNPACK-NAME", "`stray`"):
            taken(tar("package/a", "stray"), Strip.FIRST)

    def test_npm_refuses_two_folders_that_fall_together(self, refused: Refused) -> None:
        with refused("E-UNPACK-DUPLICATE", "`a`"):
            taken(tar("package/a", "other/a"), Strip.FIRST)

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            (["repo-1.0/a", "repo-1.0/b/c"], {"a", "b/c"}),
            (["repo/a", "other/b"], {"repo/a", "other/b"}),
            (["repo/a", "top"], {"repo/a", "top"}),
            (["SKILL.md"], {"SKILL.md"}),
        ],
    )
    def test_others_lose_a_top_folder_that_all_share(self, names: list[str], expected: set[str]) -> None:
        assert set(taken(tar(*names), Strip.COMMON)) == expected

    def test_an_empty_second_folder_counts(self) -> None:
        data = tar("repo/a", member("other", b"", type=tarfile.DIRTYPE))
        assert set(taken(data, Strip.COMMON)) == {"repo/a"}


class TestNames:
    """A name is refused whatever the format; more names are in test_names."""

    BAD = ("/abs", "../up", "a/../../up", "a/./b", "a//b", "a\\b", "C:/x", "a\nb", "nul.md", "x" * 256)

    @pytest.mark.parametrize("name", BAD)
    def test_in_a_tar(self, name: str, refused: Refused) -> None:
        with refused("E-UNPACK-NAME", "pack demo"):
            taken(tar(name, format=tarfile.PAX_FORMAT))

    @pytest.mark.parametrize("name", BAD)
    def test_in_a_zip(self, name: str, refused: Refused) -> None:
        with refused("E-UNPACK-NAME", "pack demo"):
            taken(zipped((zip_member(name), b"x")))

    def test_a_nul_hides_no_part_of_a_name(self, refused: Refused) -> None:
        data = zipped((zip_member("good.mdX../evil"), b"x")).replace(b"good.mdX", b"good.md\0")
        with refused("E-UNPACK-NAME", "NUL"):
            taken(data)
        with refused("E-UNPACK-NAME", "NUL"):
            taken(tar(member("a", pax_headers={"path": "good.md\0/../evil"}), format=tarfile.PAX_FORMAT))

    def test_a_tar_name_that_is_not_utf8(self, refused: Refused) -> None:
        with refused("E-UNPACK-NAME", "not UTF-8"):
            taken(header(b"a\xff", octal(0), b"0") + END)

    def test_a_zip_name_in_an_unstated_encoding(self, refused: Refused) -> None:
        with refused("E-UNPACK-NAME", "encoding"):
            taken(zipped((zip_member("aXX.md"), b"x")).replace(b"aXX.md", b"a\xc3\xa9.md"))

    def test_a_name_that_only_pax_gives_is_looked_at(self, refused: Refused) -> None:
        with refused("E-UNPACK-NAME", "`..`"):
            taken(tar(member("fine", pax_headers={"path": "../evil"}), format=tarfile.PAX_FORMAT))

    @pytest.mark.parametrize("second", ["A.md", "a.md/b"])
    def test_collisions(self, second: str, refused: Refused) -> None:
        for data in (tar("a.md", second), zipped((zip_member("a.md"), b""), (zip_member(second), b""))):
            with refused("E-UNPACK-COLLISION"):
                taken(data)

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_duplicates(self, refused: Refused) -> None:
        for data in (tar("a", "a"), zipped((zip_member("a"), b"1"), (zip_member("a"), b"2"))):
            with refused("E-UNPACK-DUPLICATE", "`a`"):
                taken(data)

    def test_a_bad_name_of_a_folder(self, refused: Refused) -> None:
        with refused("E-UNPACK-NAME"):
            taken(tar("a", member("../x", b"", type=tarfile.DIRTYPE)))
        with refused("E-UNPACK-NAME"):
            taken(zipped((zip_member("../x/", 0o40755), b"")))


class TestKinds:
    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
    def test_links_in_a_tar(self, kind: bytes, refused: Refused) -> None:
        with refused("E-UNPACK-LINK", "`evil`", status=4):
            taken(tar("a", member("evil", b"", type=kind, linkname="/etc/passwd")))

    @pytest.mark.parametrize(
        "kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"V", b"M", b"D", b"Z"]
    )
    def test_special_files_in_a_tar(self, kind: bytes, refused: Refused) -> None:
        with refused("E-UNPACK-SPECIAL", "`evil`"):
            taken(header(b"a", octal(0), b"0") + header(b"evil", octal(0), kind) + END)

    def test_a_link_in_a_zip(self, refused: Refused) -> None:
        with refused("E-UNPACK-LINK", "`evil`"):
            taken(zipped((zip_member("evil", stat.S_IFLNK | 0o777), b"/etc/passwd")))

    @pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
    def test_special_files_in_a_zip(self, kind: int, refused: Refused) -> None:
        with refused("E-UNPACK-SPECIAL", "`evil`"):
            taken(zipped((zip_member("evil", kind | 0o644), b"")))

    def test_sparse_files(self, refused: Refused) -> None:
        old = bytearray(header(b"sparse", octal(0), b"S"))
        old[483:495] = octal(1 << 30)  # the size that it claims to have
        old[148:156] = b" " * 8
        old[148:156] = b"%06o\0 " % sum(old)
        with refused("E-UNPACK-SPARSE", "`sparse`"):
            taken(bytes(old) + END)
        for fields in (
            {"GNU.sparse.map": "0,1", "GNU.sparse.size": "1073741824"},
            {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1073741824"},
        ):
            body = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
            with refused("E-UNPACK-SPARSE"):
                taken(tar(member("sparse", body, pax_headers=fields), format=tarfile.PAX_FORMAT))

    def test_an_encrypted_member(self, refused: Refused) -> None:
        data = bytearray(zipped((zip_member("a"), b"x")))
        data[data.index(b"PK\x01\x02") + 8] |= 1
        with refused("E-UNPACK-ENCRYPTED", "`a`"):
            taken(bytes(data))

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_another_compression(self, method: int, refused: Refused) -> None:
        with refused("E-UNPACK-FORMAT", "compression method"):
            taken(zipped((zip_member("a"), b"x"), compression=method))


class TestBounds:
    def test_a_gzip_bomb_is_stopped_while_it_unpacks(self, refused: Refused) -> None:
        bomb = gzip.compress(tar(member("zeros", b"\0" * 4_000_000)))
        assert len(bomb) < 10_000
        with refused("E-UNPACK-SIZE"):
            taken(bomb, total=100_000)

    def test_a_bomb_behind_the_end_of_the_tar(self, refused: Refused) -> None:
        with refused("E-UNPACK-SIZE"):
            taken(gzip.compress(tar("a") + b"\0" * 4_000_000), total=100_000, entries=10)

    def test_a_zip_bomb_is_stopped_while_it_unpacks(self, refused: Refused) -> None:
        bomb = zipped((zip_member("zeros"), b"\0" * 4_000_000), compression=zipfile.ZIP_DEFLATED)
        with refused("E-UNPACK-SIZE", "`zeros`"):
            taken(bomb, total=100_000)

    def test_a_zip_that_lies_about_a_size(self, refused: Refused) -> None:
        """The header says 10 bytes, the stream gives four million."""
        data = bytearray(zipped((zip_member("zeros"), b"\0" * 4_000_000), compression=zipfile.ZIP_DEFLATED))
        central = data.index(b"PK\x01\x02")
        struct.pack_into("<L", data, central + 24, 10)
        with refused("E-UNPACK-DAMAGED"):
            taken(bytes(data), total=100_000)

    def test_many_small_files_count_together(self, refused: Refused) -> None:
        names = [member(f"f{i}", b"x" * 100) for i in range(11)]
        with refused("E-UNPACK-SIZE", "1000 bytes"):
            taken(tar(*names), total=1000)

    def test_too_many_entries(self, refused: Refused) -> None:
        names = [f"f{i}" for i in range(6)]
        for data in (tar(*names), zipped(*((zip_member(n), b"") for n in names))):
            assert len(taken(data, entries=6)) == 6
            with refused("E-UNPACK-ENTRIES", "more than 5"):
                taken(data, entries=5)

    def test_a_descriptor_that_is_too_large(self, refused: Refused) -> None:
        large = b"x" * 101
        for data in (tar(member("x/capability.json", large)), zipped((zip_member("capability.json"), large))):
            with refused("E-UNPACK-MANIFEST-SIZE"):
                taken(data, manifest=100)

    @pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K", b"X"])
    def test_a_header_that_claims_a_huge_size(self, kind: bytes, refused: Refused) -> None:
        with refused("E-UNPACK-HEADER"):
            taken(header(b"a", octal(1 << 30), kind) + END)

    @pytest.mark.parametrize("kind", [b"0", b"x", b"L", b"5"])
    def test_a_negative_size(self, kind: bytes, refused: Refused) -> None:
        with refused("E-UNPACK-HEADER"):
            taken(header(b"a", b"\xff" * 12, kind) + END)


class TestDamage:
    GOOD = gzip.compress(tar(member("a", bytes(range(256)) * 20), "b"))

    @pytest.mark.parametrize("cut", [1, 4, 9, 100, len(GOOD) // 2])
    def test_a_truncated_download(self, cut: int, refused: Refused) -> None:
        with refused("E-UNPACK-DAMAGED"):
            taken(self.GOOD[:-cut])

    def test_a_wrong_checksum(self, refused: Refused) -> None:
        damaged = bytearray(self.GOOD)
        damaged[-8] ^= 1
        with refused("E-UNPACK-DAMAGED"):
            taken(bytes(damaged))

    def test_a_tar_that_ends_within_a_member(self, refused: Refused) -> None:
        with refused("E-UNPACK-DAMAGED"):
            taken(tar(member("a", b"x" * 5000))[:2048])

    def test_a_second_header_that_is_garbage_is_not_taken_for_the_end(self, refused: Refused) -> None:
        with refused("E-UNPACK-DAMAGED"):
            taken(header(b"a", octal(0), b"0") + b"garbage".ljust(512, b"!") + END)

    def test_a_zip_with_a_wrong_checksum(self, refused: Refused) -> None:
        data = zipped((zip_member("a"), b"content")).replace(b"content", b"c0ntent")
        with refused("E-UNPACK-DAMAGED"):
            taken(data)

    @pytest.mark.parametrize("cut", [1, 10, 40])
    def test_a_truncated_zip(self, cut: int, refused: Refused) -> None:
        with refused("E-UNPACK-DAMAGED"):
            taken(zipped((zip_member("a"), b"content"))[:-cut])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_refused_or_gives_files_never_anything_else(data: st.DataObject) -> None:
    """Any bytes flipped anywhere: one of our errors, or contents with good names."""
    plain = tar(member("a/b.md", b"text\n" * 50), member("c", b"", type=tarfile.DIRTYPE), "d" * 120)
    base = data.draw(
        st.sampled_from([plain, gzip.compress(plain), zipped((zip_member("a/b.md"), b"text\n" * 50))])
    )
    damaged = bytearray(base)
    for position in data.draw(st.lists(st.integers(0, len(base) - 1), min_size=1, max_size=6)):
        damaged[position] = data.draw(st.integers(0, 255))
    try:
        contents = taken(bytes(damaged), total=1_000_000, entries=100)
    except GsdlockError as error:
        assert error.code.startswith("E-UNPACK-")
    else:
        assert all(".." not in name.split("/") and not name.startswith("/") for name in contents)
