"""What a feature may say of its stems, servers, settings and engines."""

from __future__ import annotations

from typing import Any

import pytest

from .descriptorkit import faults, pointers, put, with_


@pytest.mark.parametrize("field", ["skills", "agents"])
@pytest.mark.parametrize(
    "stem", ["..", "../../escape", "a/b", "a\\b", ".hidden", "-x", "a b", "", "a\0", "__proto__"]
)
def test_a_stem_is_one_plain_name(field: str, stem: str) -> None:
    assert f"/{field}/1" in pointers(put(with_("feature", f"/{field}", ["s1", "?"]), f"/{field}/1", stem))


@pytest.mark.parametrize(
    "server",
    [
        {"command": "npx"},
        {"command": "npx", "args": ["-y", ""], "env": {"A": ""}},
        {"type": "stdio", "command": "x"},
        {"type": "http", "url": "https://h.example/mcp"},
        {"type": "sse", "url": "http://localhost:1", "headers": {"X-Key": "v"}},
    ],
)
def test_mcp_servers_that_are_taken(server: dict[str, Any]) -> None:
    assert not faults(with_("feature", "/mcpServers", {"srv": server}))


@pytest.mark.parametrize(
    ("servers", "pointer"),
    [
        ([], "/mcpServers"),
        ({"a/b": {"command": "x"}}, "/mcpServers/a~1b"),
        ({"constructor": {"command": "x"}}, "/mcpServers/constructor"),
        ({"s": {}}, "/mcpServers/s/command"),
        ({"s": {"command": "x", "url": "https://h"}}, "/mcpServers/s/url"),
        ({"s": {"command": "x", "env": {"A=B": "1"}}}, "/mcpServers/s/env/A=B"),
        ({"s": {"command": "x", "args": "-y"}}, "/mcpServers/s/args"),
        ({"s": {"type": "http"}}, "/mcpServers/s/url"),
        ({"s": {"type": "http", "url": "file:///etc/passwd"}}, "/mcpServers/s/url"),
        ({"s": {"type": "grpc", "url": "https://h"}}, "/mcpServers/s/type"),
    ],
)
def test_mcp_servers_that_are_refused(servers: Any, pointer: str) -> None:
    assert pointer in pointers(with_("feature", "/mcpServers", servers))


@pytest.mark.parametrize(
    ("slice_", "pointer"),
    [
        ({"type": "boolean", "default": "true", "description": "d"}, "/config/k/default"),
        ({"type": "number", "default": float("nan"), "description": "d"}, "/config/k/default"),
        ({"type": "number", "default": True, "description": "d"}, "/config/k/default"),
        ({"type": "string", "default": None, "description": "d"}, "/config/k/default"),
        ({"type": "string", "default": "", "description": ""}, "/config/k/description"),
        ({"type": "enum", "default": "c", "values": ["a", "b"], "description": "d"}, "/config/k/default"),
        ({"type": "enum", "default": "a", "values": [], "description": "d"}, "/config/k/values"),
        ({"type": "boolean", "default": True, "values": ["a"], "description": "d"}, "/config/k/values"),
    ],
)
def test_a_config_key_has_a_type_and_a_default_of_it(slice_: dict[str, Any], pointer: str) -> None:
    assert pointers(with_("feature", "/config/k", slice_)) == [pointer]


@pytest.mark.parametrize("range_", [">=1 ||| 2", "1.2.3.4", "> ", ">=1,<2", "~>>1"])
def test_an_engine_range_is_one_that_npm_reads(range_: str) -> None:
    assert pointers(with_("feature", "/engines", {"gsd": range_})) == ["/engines/gsd"]
