"""Real clients, asked what they see of an install, without a login and without a network.

Which packages, and with which sha512, is `real_hosts.json`; they are fetched like the reference. A client
writes into its home, so it gets a scratch one, and its way out is closed by a proxy that nobody listens at.
"""

from __future__ import annotations

import json
import platform
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .reference import Homes, Reference, Unavailable, package

HERE = Path(__file__).parent
HOSTS: dict[str, dict[str, str]] = json.loads((HERE / "real_hosts.json").read_text("utf-8"))["hosts"]
_NOBODY = "http://127.0.0.1:9"
_SECONDS = 240


@dataclass(frozen=True, slots=True)
class Client:
    """A client and the homes that it runs in."""

    words: tuple[str, ...]
    homes: Homes
    path: str

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        """The environment: nothing of this machine but what it takes to start."""
        own = {"HOME": str(self.homes.home), "PATH": self.path, "LANG": "C.UTF-8", "TERM": "dumb"}
        return {**own, "HTTPS_PROXY": _NOBODY, "HTTP_PROXY": _NOBODY, "NO_PROXY": "127.0.0.1", **more}

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """One command of the client; `more` are further variables."""
        return subprocess.run(
            [*self.words, *words],
            cwd=self.homes.project,
            env=self.env(more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )

    def talk(self, words: tuple[str, ...], requests: list[tuple[str, Any]]) -> list[Any]:
        """What a client that speaks JSON-RPC over its standard streams answers to requests, in order."""
        with subprocess.Popen(
            [*self.words, *words],
            cwd=self.homes.project,
            env=self.env({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            late = threading.Timer(_SECONDS, process.kill)
            late.start()
            try:
                for number, (method, params) in enumerate(requests):
                    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                    process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                answers: dict[int, Any] = {}
                while len(answers) < len(requests):
                    line = process.stdout.readline()
                    assert line, f"{words}: it ended after {sorted(answers)}"
                    answer = json.loads(line)
                    if answer.get("id") in range(len(requests)) and "method" not in answer:
                        answers[answer["id"]] = answer["result"]
                return [answers[n] for n in range(len(requests))]
            finally:
                late.cancel()
                process.kill()


def client(host: str, reference: Reference, homes: Homes) -> Client:
    """The client of a host. Raises `Unavailable` where none is pinned for this platform."""
    pin = HOSTS[host]
    here = f"{platform.system().lower()}-{platform.machine()}"
    if pin.get("platform", here) != here:
        raise Unavailable(f"no client of {host} is pinned for {here} in real_hosts.json")
    file = package(pin) / pin["file"]
    script = file.suffix in (".js", ".mjs")
    if not script:
        file.chmod(0o755)
    words = (str(reference.node / "node"), str(file)) if script else (str(file),)
    return Client(words, homes, f"{reference.node}:/usr/bin:/bin")


@dataclass
class Model:
    """A model server that refuses every request and keeps what it was asked."""

    address: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def refusing_model() -> Iterator[Model]:
    """A model server on this machine's own network."""
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            model.asked.append(self.rfile.read(length).decode("utf-8", errors="replace"))
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}')

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the tests' output is no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
