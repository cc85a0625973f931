"""A question to a server on this machine: bounded, no name looked up, nothing followed."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from gsdlock.resolver.sources.loopback import loopback, status_of

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[bytes]]]:
    """A server on 127.0.0.1 that reads one request a connection and gives it to `answer`; port, requests."""
    requests: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                head = b""
                while not head.endswith(b"\r\n\r\n") and (part := connection.recv(1024)):
                    head += part
                requests.append(head)
                with contextlib.suppress(OSError):  # who asked may be gone already
                    if head:
                        answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], requests
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def ask(address: str, path: str = "/v1/models", seconds: float = 60) -> int:
    found = loopback(address)
    assert found is not None
    return status_of(found, path, seconds)


def test_it_is_asked_once_and_says_its_status() -> None:
    with server(lambda c: c.sendall(ANSWER)) as (port, requests):
        assert ask(f"http://localhost:{port}/base/", "/v1/ä?x=1") == 200
    (request,) = requests
    assert request.startswith(b"GET /base/v1/%C3%A4?x=1 HTTP/1.1\r\n")
    assert f"Host: localhost:{port}\r\n".encode() in request


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with server(lambda c: c.sendall(ANSWER)) as (other, elsewhere):
        moved = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{other}/\r\n\r\n".encode()
        with server(lambda c: c.sendall(moved)) as (port, _):
            assert ask(f"http://127.0.0.1:{port}") == 302
        assert elsewhere == []


def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with server(lambda c: c.sendall(ANSWER)) as (other, proxied):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{other}")
        with server(lambda c: c.sendall(ANSWER)) as (port, requests):
            assert ask(f"http://127.0.0.1:{port}") == 200
        assert len(requests) == 1 and proxied == []


@pytest.mark.parametrize(
    "said", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK", b"x" * 9000, b"HTTP/1.1 2x0 \r\n"]
)
def test_what_does_not_speak_http_is_told(said: bytes) -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # so that what is unread does not take back what was sent

    with server(answer) as (port, _), pytest.raises((ValueError, ConnectionError)):
        ask(f"http://127.0.0.1:{port}")


def test_a_server_that_says_nothing_or_too_slowly_is_given_up() -> None:
    over = threading.Event()

    def say_nothing(_: socket.socket) -> None:
        over.wait()

    with server(say_nothing) as (port, _):
        with pytest.raises(TimeoutError):
            ask(f"http://127.0.0.1:{port}", seconds=0.3)
        over.set()

    done = threading.Event()

    def trickle(connection: socket.socket) -> None:
        while not done.wait(0.05):
            connection.sendall(b"x")

    with server(trickle) as (port, _), pytest.raises(TimeoutError):
        ask(f"http://127.0.0.1:{port}", seconds=0.5)
    done.set()


def test_nobody_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        ask(f"http://localhost:{port}")


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com",
        "http://10.0.0.1",
        "http://0.0.0.0:8080",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://user:secret@localhost",
        "http://localhost@example.com",
        "https://localhost",
        "ftp://localhost",
        "file:///etc/passwd",
        "http://localhost:0",
        "http://localhost:99999",
        "http://localhost:x",
        "http://[::1",
        "http://",
        "",
    ],
)
def test_no_other_machine_is_asked(address: str) -> None:
    assert loopback(address) is None


@pytest.mark.parametrize(
    ("address", "addresses", "port", "host"),
    [
        ("http://localhost", ("127.0.0.1", "::1"), 80, "localhost:80"),
        ("http://LOCALHOST.:8080/", ("127.0.0.1", "::1"), 8080, "localhost:8080"),
        ("http://127.0.0.1:1", ("127.0.0.1",), 1, "127.0.0.1:1"),
        ("http://[::1]:2/x/", ("::1",), 2, "[::1]:2"),
    ],
)
def test_the_addresses_are_fixed_and_no_name_is_looked_up(
    address: str, addresses: tuple[str, ...], port: int, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("a name was looked up"))
    found = loopback(address)
    assert found is not None
    assert (found.addresses, found.port, found.host) == (addresses, port, host)
