"""Small packs made of a few texts, and the hosts as they are shipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
from gsdlock.capabilities.model import Feature, FeatureHook, McpServer, Runtime, RuntimeCompat
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.vocabulary import Role, Tier
from gsdlock.resolver.drafts import EditDraft, FileDraft
from gsdlock.resolver.pack import Pack, Tree, TreeFile
from gsdlock.resolver.packs import read_pack
from gsdlock.resolver.selection import Selection
from msgspec.structs import replace

Texts = Mapping[str, str | bytes]


@cache
def _host(id_: str) -> Runtime:
    return load_builtin().runtime(id_)


@pytest.fixture(scope="session")
def host() -> Callable[..., Runtime]:
    """A shipped host by its id, with axes changed where a test asks for another one."""

    def find(id_: str, **axes: Any) -> Runtime:
        return replace(_host(id_), **axes)

    return find


@pytest.fixture(scope="session")
def pack_of() -> Callable[..., Pack]:
    """A pack read from texts; a path that starts with `+` is executable."""

    def make(texts: Texts, name: str = "demo", version: str = "1.11.0", known: Any = None) -> Pack:
        data = {p.lstrip("+"): t.encode() if isinstance(t, str) else t for p, t in texts.items()}
        modes = {p.lstrip("+"): 0o755 if p.startswith("+") else 0o644 for p in texts}
        files = {p: TreeFile("", modes[p], len(data[p])) for p in sorted(data)}
        return read_pack(name, version, Tree("", files, data.__getitem__), known or {})

    return make


@pytest.fixture(scope="session")
def feature_of() -> Callable[..., Feature]:
    """A feature with hooks (event, script, matcher) and servers."""

    def make(
        id_: str, hooks: tuple[tuple[str, ...], ...] = (), servers: tuple[McpServer, ...] = ()
    ) -> Feature:
        return Feature(
            id=id_,
            role=Role.FEATURE,
            title=id_,
            description=id_,
            tier=Tier.FULL,
            version="1.0.0",
            runtime_compat=RuntimeCompat(("*",)),
            hooks=tuple(FeatureHook(*h) for h in hooks),
            mcp_servers=servers,
        )

    return make


@pytest.fixture(scope="session")
def everything() -> Callable[..., Selection]:
    """The selection of all of a pack."""

    def make(pack: Pack, **options: Any) -> Selection:
        return Selection(pack.features, pack.artifacts, **options)

    return make


@pytest.fixture(scope="session")
def listing() -> Callable[..., dict[str, str]]:
    """Drafts as `root:path` -> text."""

    def make(drafts: list[FileDraft] | tuple[FileDraft, ...]) -> dict[str, str]:
        rows = [(f"{d.root}:{d.path}", d.data.decode()) for d in drafts]
        assert len({k for k, _ in rows}) == len(rows), "a path is drafted twice"
        return dict(rows)

    return make


@pytest.fixture(scope="session")
def entries() -> Callable[..., list[tuple[str, str, str, Any]]]:
    """Edit drafts as file, operation, place and value."""

    def make(drafts: tuple[EditDraft, ...]) -> list[tuple[str, str, str, Any]]:
        return [(f"{d.root}:{d.path}", d.op.value, d.at, d.value) for d in drafts]

    return make
