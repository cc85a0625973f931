"""MCP servers, of the pack and of its features, in each host's own configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...capabilities.gsd_layout import load_gsd_layout
from ...capabilities.model import McpPlace, McpServer, Runtime
from ...capabilities.vocabulary import McpShape, PayloadPart
from ...lockfiles.model import EditFormat, EditOp, Origin
from ..drafts import EditDraft, Omission, SurfaceDrafts
from ..pack import Pack, PackLayout
from ..selection import Selection
from .hook_entries import pointer

_NO_PLACE = (
    "this host keeps its servers where only the host itself writes, or nowhere; "
    "add the server with the host's own command"
)


def server_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> SurfaceDrafts:
    """The servers of the active features, and the one of a GSD pack where the host's payload names it.

    A feature's server collides with another of the same name; the pack's own gives way to the user's.
    """
    place = runtime.mcp.get(scope)
    edits: list[EditDraft] = []
    omissions: list[Omission] = []
    for feature in selection.features:
        for server in feature.mcp_servers:
            if place is None:
                omissions.append(Omission(feature.id, f"the MCP server {server.name}", _NO_PLACE))
                continue
            origin = Origin(pack.name, feature.id, f"server/{server.name}", "", "mcp")
            edits.append(_edit(place, server, EditOp.ENSURE, origin))
    own = _server_of(pack)
    if own is not None and place is not None and PayloadPart.MCP_SERVER in runtime.payload:
        origin = Origin(pack.name, "", f"server/{own.name}", "", "payload")
        edits.append(_edit(place, own, EditOp.SET_IF_ABSENT, origin))
    return SurfaceDrafts(edits=tuple(edits), omissions=tuple(omissions))


def _server_of(pack: Pack) -> McpServer | None:
    """The server of a GSD pack, at the release that is installed: what runs is what was locked."""
    server = load_gsd_layout().server
    if pack.layout is not PackLayout.GSD or server.needs not in pack.tree.files:
        return None
    release = f"@{pack.version}" if pack.version else ""
    args = tuple(a.replace("@{version}", release) for a in server.args)
    return McpServer(name=server.name, type="stdio", command=server.command, args=args)


def _edit(place: McpPlace, server: McpServer, op: EditOp, origin: Origin) -> EditDraft:
    return EditDraft(
        root=place.root.value,
        path=place.file,
        format=EditFormat(place.format.value),
        op=op,
        at=place.at + pointer(server.name),
        value=_SHAPES[place.shape](server),
        origin=origin,
        executes=True,
        instead=place.instead,
    )


def _filled(**values: Any) -> dict[str, Any]:
    """The values that are not empty, as plain JSON data."""
    plain = {k: dict(v) if isinstance(v, Mapping) else v for k, v in values.items() if v}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in plain.items()}


def _plain(server: McpServer, address: str = "url", headers: str = "headers") -> dict[str, Any]:
    if server.url:
        return _filled(**{address: server.url, headers: server.headers})
    return {"command": server.command, "args": list(server.args), **_filled(env=server.env)}


def _typed(server: McpServer) -> dict[str, Any]:
    return {"type": server.type, **_plain(server)}


def _remote_typed(server: McpServer) -> dict[str, Any]:
    return _typed(server) if server.url else _plain(server)


def _server_url(server: McpServer) -> dict[str, Any]:
    return _plain(server, "serverUrl")


def _gemini(server: McpServer) -> dict[str, Any]:
    return _plain(server, "httpUrl" if server.type == "http" else "url")


def _copilot(server: McpServer) -> dict[str, Any]:
    return {"type": server.type if server.url else "local", **_plain(server), "tools": ["*"]}


def _opencode(server: McpServer) -> dict[str, Any]:
    if server.url:
        return {"type": "remote", "url": server.url, "enabled": True, **_filled(headers=server.headers)}
    command = [server.command, *server.args]
    return {"type": "local", "command": command, "enabled": True, **_filled(environment=server.env)}


def _codex(server: McpServer) -> dict[str, Any]:
    return _plain(server, headers="http_headers")


_SHAPES: Mapping[McpShape, Callable[[McpServer], dict[str, Any]]] = MappingProxyType(
    {
        McpShape.PLAIN: _plain,
        McpShape.TYPED: _typed,
        McpShape.REMOTE_TYPED: _remote_typed,
        McpShape.SERVER_URL: _server_url,
        McpShape.GEMINI: _gemini,
        McpShape.COPILOT: _copilot,
        McpShape.OPENCODE: _opencode,
        McpShape.CODEX: _codex,
    }
)
