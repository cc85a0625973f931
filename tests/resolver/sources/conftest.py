"""A store in memory, an environment in a temporary folder, and short ways to ask for packs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError, missing
from gsdlock.lockfiles.model import PackKind
from gsdlock.resolver.sources.base import PackSource, SourceContext

from .gitkit import Repository, Write


class MemoryBlobs:
    """The store's contract over a dict; `kept` are the digests that a flush has made durable."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}
        self.kept: set[str] = set()

    def put(self, data: bytes) -> str:
        digest = sha256_digest(data)
        self.data[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        if digest not in self.data:
            raise missing("E-BLOB-MISSING", "no blob", "fetch it")
        return self.data[digest]

    def has(self, digest: str) -> bool:
        return digest in self.data

    def flush(self) -> None:
        self.kept = set(self.data)


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    home = tmp_path / "home"
    home.mkdir()
    folders = Folders(*(str(tmp_path / "own" / name) for name in ("config", "data", "state", "cache")))
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
    }
    return Environment(variables, str(home), str(tmp_path), "linux", os.getuid(), folders, lambda: "now")


@pytest.fixture
def context(environment: Environment, blobs: Any) -> SourceContext:
    return SourceContext(environment, blobs)


@pytest.fixture
def source(tmp_path: Path) -> Callable[..., PackSource]:
    """`source("path", "./x", subdirectory="y")`: the pack `demo` of a manifest in the temporary folder."""

    def make(kind: str, spec: str, **more: Any) -> PackSource:
        return PackSource("demo", PackKind(kind), spec, str(tmp_path), **more)

    return make


@pytest.fixture
def refused() -> Callable[..., Any]:
    """`with refused("E-X", "text", status=4)`: the block raises that error, which says that text."""

    @contextlib.contextmanager
    def check(code: str, *texts: str, status: int | None = None) -> Iterator[None]:
        with pytest.raises(GsdlockError) as caught:
            yield
        error = caught.value
        assert error.code == code, f"{error.code}: {error.what}"
        for text in texts:
            assert text in "\n".join([error.what, *error.details])
        assert status is None or error.status == status
        assert error.fix

    return check


@pytest.fixture
def write() -> Callable[..., None]:
    """`write(folder, {"a/b.md": "text"})`; bytes are written as they are."""

    def make(folder: Path, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return make


@pytest.fixture
def repository(tmp_path: Path, context: SourceContext, write: Write) -> Repository:
    return Repository(tmp_path / "repo", context, write)
