"""One bounded question to a server on this machine: does it answer? Never to another machine.

No name is looked up, no proxy is asked and no redirect is followed: of the answer nothing but its first line
is read.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from msgspec import Struct

from .download import is_loopback

_MOST_BYTES = 4096
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
_KEPT = "/%?=&;:@,+$!*'()~"  # what a path and its query may hold as they are


class Loopback(Struct, frozen=True):
    """A server on this machine: the addresses to try in turn, the port, what the client calls it, and the
    path that stands before every path."""

    addresses: tuple[str, ...]
    port: int
    host: str
    path: str


def loopback(address: str) -> Loopback | None:
    """The server at a base address (`http://localhost:8080`); None where that is not one on this machine's
    loopback interface, or not plain http without credentials. No name is looked up: `localhost` is 127.0.0.1
    and ::1, whatever a name server says."""
    try:
        parts = urlsplit(address)
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    plain = parts.scheme == "http" and parts.username is None and parts.password is None
    if not plain or not is_loopback(name) or port == 0:
        return None
    addresses = ("127.0.0.1", "::1") if name == "localhost" else (name,)
    host = f"[{name}]" if ":" in name else name
    return Loopback(addresses, port or 80, f"{host}:{port or 80}", quote(parts.path.rstrip("/"), safe=_KEPT))


def status_of(server: Loopback, path: str, seconds: float) -> int:
    """The HTTP status with which the server answers a GET of `path`, within `seconds` in all.

    Raises `OSError` (`TimeoutError` and refused connections are some), `ValueError` where it does not speak
    HTTP.
    """
    import time

    until = time.monotonic() + seconds
    fault: OSError | None = None
    for address in server.addresses:
        try:
            return _ask(server, address, path, until)
        except OSError as failure:
            fault = fault or failure
    assert fault is not None
    raise fault


def _ask(server: Loopback, address: str, path: str, until: float) -> int:
    import socket
    import time

    def left() -> float:
        rest = until - time.monotonic()
        if rest <= 0:
            raise TimeoutError("timed out")
        return rest

    request = (
        f"GET {server.path}{quote(path, safe=_KEPT)} HTTP/1.1\r\nHost: {server.host}\r\n"
        "User-Agent: gsdlock\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((address, server.port), timeout=left()) as connection:
        connection.settimeout(left())
        connection.sendall(request.encode("ascii"))
        head = b""
        while b"\n" not in head and len(head) < _MOST_BYTES:
            connection.settimeout(left())
            part = connection.recv(1024)
            if not part:
                break
            head += part
    match = _STATUS_LINE.match(head)
    if match is None:
        raise ValueError("what answers does not speak HTTP")
    return int(match.group(1))
