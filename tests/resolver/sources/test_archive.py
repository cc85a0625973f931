"""An archive as a pack: from a file and over http(s), with its integrity."""

from __future__ import annotations

import http.server
import io
import os
import shutil
import ssl
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import LockedPack, PackKind
from gsdlock.resolver.sources import fetch
from gsdlock.resolver.sources.base import Fetched, Limits, PackSource, SourceContext
from gsdlock.resolver.sources.download import check_url
from gsdlock.resolver.sources.downloads import integrity_of, is_integrity, recall, remember
from msgspec.structs import replace

Source = Callable[..., PackSource]
Refused = Callable[..., Any]


def tgz(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


PACK = tgz({"repo-1/a.md": b"one\n", "repo-1/packs/b/c.md": b"two\n"})


def locked(fetched: Fetched) -> LockedPack:
    return LockedPack("demo", PackKind.ARCHIVE, "", fetched.resolved, fetched.tree.digest, fetched.integrity)


class TestFile:
    def test_a_common_top_folder_is_taken_off(
        self, tmp_path: Path, source: Source, context: SourceContext
    ) -> None:
        (tmp_path / "pack.tgz").write_bytes(PACK)
        fetched = fetch(source("archive", "pack.tgz"), context, None)
        assert set(fetched.tree.files) == {"a.md", "packs/b/c.md"}
        assert fetched.integrity == integrity_of(PACK)

    def test_the_lock_gets_the_name_of_the_file_and_no_path(
        self, tmp_path: Path, source: Source, context: SourceContext
    ) -> None:
        (tmp_path / "pack.tgz").write_bytes(PACK)
        assert fetch(source("archive", str(tmp_path / "pack.tgz")), context, None).resolved == "pack.tgz"

    def test_a_subdirectory_is_a_pack_of_its_own(
        self, tmp_path: Path, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        (tmp_path / "pack.tgz").write_bytes(PACK)
        fetched = fetch(source("archive", "pack.tgz", subdirectory="packs/b"), context, None)
        assert set(fetched.tree.files) == {"c.md"}
        with refused("E-PACK-SUBDIRECTORY", "`nope`"):
            fetch(source("archive", "pack.tgz", subdirectory="nope"), context, None)

    def test_an_integrity_in_the_manifest_is_compared(
        self, tmp_path: Path, source: Source, context: SourceContext, refused: Refused, blobs: Any
    ) -> None:
        (tmp_path / "pack.tgz").write_bytes(PACK)
        fetch(source("archive", "pack.tgz", integrity=integrity_of(PACK)), context, None)
        blobs.data.clear()
        with refused("E-PACK-INTEGRITY", "pack demo", "manifest", status=5):
            fetch(source("archive", "pack.tgz", integrity=integrity_of(b"other")), context, None)
        with refused("E-INTEGRITY-FORM", "sha512-", status=3):
            fetch(source("archive", "pack.tgz", integrity="sha512-short"), context, None)
        assert not blobs.data

    def test_bytes_other_than_the_locked_ones_are_refused_before_they_are_unpacked(
        self, tmp_path: Path, source: Source, context: SourceContext, refused: Refused, blobs: Any
    ) -> None:
        (tmp_path / "pack.tgz").write_bytes(PACK)
        pin = locked(fetch(source("archive", "pack.tgz"), context, None))
        blobs.data.clear()
        (tmp_path / "pack.tgz").write_bytes(b"not even an archive")
        with refused("E-PACK-INTEGRITY", "pack demo", "lock"):
            fetch(source("archive", "pack.tgz"), context, pin)
        assert not blobs.data

    def test_what_cannot_be_read(
        self, tmp_path: Path, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-ARCHIVE-MISSING", "pack.tgz", status=5):
            fetch(source("archive", "pack.tgz"), context, None)
        with refused("E-ARCHIVE-FILE", status=3):
            fetch(source("archive", "."), context, None)
        os.mkfifo(tmp_path / "pipe.tgz")
        with refused("E-ARCHIVE-FILE", "pipe.tgz"):
            fetch(source("archive", "pipe.tgz"), context, None)
        (tmp_path / "pack.tgz").write_bytes(PACK)
        with refused("E-ARCHIVE-SIZE", "10 bytes"):
            fetch(source("archive", "pack.tgz"), replace(context, limits=Limits(download=10)), None)


class Server:
    """A server on the loopback address; `routes` maps a path to (status, headers, body)."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.routes: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                status, headers, body = outer.routes.get(self.path, (404, {}, b""))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.http.socket = tls.wrap_socket(self.http.socket, server_side=True)
        self.base = f"{'https' if tls else 'http'}://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.routes["/pack.tgz"] = (200, {}, PACK)
    yield server
    server.close()


class TestDownload:
    def test_a_url_is_fetched_and_locked_as_it_is(
        self, server: Server, source: Source, context: SourceContext
    ) -> None:
        url = f"{server.base}/pack.tgz"
        fetched = fetch(source("archive", url), context, None)
        assert (fetched.resolved, fetched.integrity) == (url, integrity_of(PACK))

    def test_with_the_tree_in_the_store_nobody_is_asked(
        self, server: Server, source: Source, context: SourceContext
    ) -> None:
        want = source("archive", f"{server.base}/pack.tgz")
        first = fetch(want, context, None)
        server.asked.clear()
        again = fetch(want, replace(context, offline=True), locked(first))
        assert again.tree.files == first.tree.files
        assert not server.asked

    def test_a_lost_tree_is_rebuilt_from_the_download_that_was_kept(
        self, server: Server, source: Source, context: SourceContext, blobs: Any
    ) -> None:
        want = source("archive", f"{server.base}/pack.tgz")
        first = fetch(want, context, None)
        del blobs.data[first.tree.files["a.md"].digest]
        server.asked.clear()
        again = fetch(want, replace(context, offline=True), locked(first))
        assert again.tree.read("a.md") == b"one\n"
        assert not server.asked

    def test_offline_without_it_is_refused(
        self, server: Server, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-OFFLINE", "pack demo", "pinned by neither lock nor manifest", status=5):
            fetch(source("archive", f"{server.base}/pack.tgz"), replace(context, offline=True), None)
        assert not server.asked

    def test_a_redirect_is_followed(self, server: Server, source: Source, context: SourceContext) -> None:
        server.routes["/old"] = (302, {"Location": "/pack.tgz"}, b"")
        assert fetch(source("archive", f"{server.base}/old"), context, None).tree.files

    @pytest.mark.parametrize(
        ("location", "code"),
        [
            ("http://example.invalid/x", "E-DOWNLOAD-URL"),
            ("ftp://127.0.0.1/x", "E-DOWNLOAD-URL"),
            ("https://user:secret@127.0.0.1/x", "E-DOWNLOAD-URL"),
            ("file:///etc/passwd", "E-DOWNLOAD-FAILED"),
        ],
    )
    def test_a_redirect_to_anything_but_https_is_refused(
        self,
        location: str,
        code: str,
        server: Server,
        source: Source,
        context: SourceContext,
        refused: Refused,
    ) -> None:
        server.routes["/old"] = (302, {"Location": location}, b"")
        with refused(code):
            fetch(source("archive", f"{server.base}/old"), context, None)

    def test_endless_redirects(
        self, server: Server, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        server.routes["/loop"] = (302, {"Location": "/loop"}, b"")
        with refused("E-DOWNLOAD-FAILED"):
            fetch(source("archive", f"{server.base}/loop"), context, None)
        assert len(server.asked) < 10

    @pytest.mark.parametrize("headers", [{}, {"Content-Length": "5000"}, {"Content-Length": "10"}])
    def test_a_body_that_is_too_large_whatever_its_header_says(
        self,
        headers: dict[str, str],
        server: Server,
        source: Source,
        context: SourceContext,
        refused: Refused,
    ) -> None:
        server.routes["/big"] = (200, headers, b"x" * 5000)
        small = replace(context, limits=Limits(download=1000))
        code = "E-UNPACK-FORMAT" if headers.get("Content-Length") == "10" else "E-DOWNLOAD-SIZE"
        with refused(code):
            fetch(source("archive", f"{server.base}/big"), small, None)

    def test_a_connection_that_ends_early(
        self, server: Server, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        server.routes["/cut"] = (200, {"Content-Length": str(len(PACK))}, PACK[:-10])
        with refused("E-DOWNLOAD-FAILED", "ended early"):
            fetch(source("archive", f"{server.base}/cut"), context, None)

    def test_an_answer_that_is_not_ok(
        self, server: Server, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-DOWNLOAD-FAILED", "404"):
            fetch(source("archive", f"{server.base}/nothing"), context, None)

    def test_nobody_listens(
        self, server: Server, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        server.close()
        with refused("E-DOWNLOAD-FAILED"):
            fetch(source("archive", f"{server.base}/pack.tgz"), context, None)


class TestTls:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        openssl = shutil.which("openssl")
        if openssl is None:
            pytest.skip("no openssl to make a certificate with")
        made = tmp_path / "tls.pem"
        subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        where = ["-keyout", str(tmp_path / "key.pem"), "-out", str(made)]
        subprocess.run([openssl, "req", "-x509", *key, *subject, *where], check=True, capture_output=True)
        return made

    @pytest.fixture
    def secure(self, certificate: Path, tmp_path: Path) -> Iterator[Server]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, tmp_path / "key.pem")
        server = Server(tls)
        server.routes["/pack.tgz"] = (200, {}, PACK)
        yield server
        server.close()

    @pytest.fixture
    def trusting(self, certificate: Path, context: SourceContext) -> SourceContext:
        variables = {**context.environment.variables, "SSL_CERT_FILE": str(certificate)}
        return replace(context, environment=replace(context.environment, variables=variables))

    def test_https(self, secure: Server, trusting: SourceContext, source: Source) -> None:
        assert fetch(source("archive", f"{secure.base}/pack.tgz"), trusting, None).tree.files

    def test_a_certificate_that_nobody_trusts(
        self, secure: Server, context: SourceContext, source: Source, refused: Refused
    ) -> None:
        with refused("E-DOWNLOAD-FAILED", "CERTIFICATE_VERIFY_FAILED"):
            fetch(source("archive", f"{secure.base}/pack.tgz"), context, None)

    def test_https_never_goes_down_to_http(
        self, secure: Server, server: Server, trusting: SourceContext, source: Source, refused: Refused
    ) -> None:
        secure.routes["/down"] = (302, {"Location": f"{server.base}/pack.tgz"}, b"")
        with refused("E-DOWNLOAD-URL", "not https"):
            fetch(source("archive", f"{secure.base}/down"), trusting, None)
        assert not server.asked


class TestUrls:
    @pytest.mark.parametrize(
        "url",
        [
            "https://example.invalid/x.tgz",
            "https://example.invalid:8443/x?y=1",
            "http://localhost:1/x",
            "http://127.1.2.3/x",
            "http://[::1]:80/x",
        ],
    )
    def test_taken(self, url: str) -> None:
        assert check_url(url).hostname

    @pytest.mark.parametrize(
        "url",
        [
            "http://example.invalid/x.tgz",
            "http://localhost.example.invalid/x",
            "ftp://example.invalid/x",
            "file:///etc/passwd",
            "https:///x",
            "https://user@example.invalid/x",
            "https://user:secret@example.invalid/x",
            "https://[::1/x",
            "https://example.invalid:port/x",
            "https://example.invalid/a b",
            "https://example.invalid/a\nb",
        ],
    )
    def test_refused(self, url: str, refused: Refused) -> None:
        with refused("E-DOWNLOAD-URL"):
            check_url(url)

    def test_a_secret_in_a_url_is_not_repeated(self, refused: Refused) -> None:
        with pytest.raises(Exception) as caught:
            check_url("https://user:hunter2@example.invalid/x")
        assert "hunter2" not in repr(caught.value) + str(getattr(caught.value, "where", ""))


class TestKeptDownloads:
    def test_found_by_integrity(self, tmp_path: Path, blobs: Any) -> None:
        blobs.put(PACK)
        remember(str(tmp_path), PACK)
        assert recall(str(tmp_path), integrity_of(PACK), blobs) == PACK
        assert recall(str(tmp_path), integrity_of(b"other"), blobs) is None

    @pytest.mark.parametrize("text", ["", "nonsense", "sha256:" + "0" * 64, "\udcff"])
    def test_a_damaged_note_is_as_good_as_none(self, text: str, tmp_path: Path, blobs: Any) -> None:
        blobs.put(PACK)
        remember(str(tmp_path), PACK)
        (note,) = (tmp_path / "downloads").iterdir()
        note.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert recall(str(tmp_path), integrity_of(PACK), blobs) is None

    def test_a_note_that_names_other_bytes_is_not_believed(self, tmp_path: Path, blobs: Any) -> None:
        remember(str(tmp_path), PACK)
        (note,) = (tmp_path / "downloads").iterdir()
        note.write_text(blobs.put(b"evil"))
        assert recall(str(tmp_path), integrity_of(PACK), blobs) is None

    def test_a_cache_that_cannot_be_written_is_no_fault(self, tmp_path: Path) -> None:
        (tmp_path / "downloads").write_text("a file in the way")
        remember(str(tmp_path), PACK)

    @pytest.mark.parametrize(
        ("text", "valid"),
        [
            (integrity_of(b""), True),
            ("sha512-", False),
            ("sha512-AAAA", False),
            ("sha256-" + integrity_of(b"")[7:], False),
            (integrity_of(b"") + "=", False),
            (" " + integrity_of(b""), False),
        ],
    )
    def test_the_form(self, text: str, valid: bool) -> None:
        assert is_integrity(text) is valid
