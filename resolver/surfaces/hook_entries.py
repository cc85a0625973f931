"""One hook as the entry that a host reads: the shapes of `hook_dialects`, written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from ...capabilities.hook_dialects import HookDialect, HookShape
from ...capabilities.model import Runtime
from ...lockfiles.model import EditFormat, EditOp, Origin
from ..drafts import EditDraft
from ..places import hooks_root, settings_file


class Hook(Struct, frozen=True):
    """A hook in the host's words. `timeout` in seconds, 0 for none; `matcher` empty for every occasion.

    `owner` names who brings it (a feature id): some hosts have a file for each. `extra` joins the entry.
    """

    event: str
    command: str
    owner: str
    matcher: str = ""
    timeout: int = 0
    extra: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def hook_edits(
    runtime: Runtime, scope: str, dialect: HookDialect, hook: Hook, origin: Origin
) -> Iterator[EditDraft]:
    """The entry of a hook, and before it what the host needs to take any hook at all."""
    root = hooks_root(runtime, scope).value

    def name(file: str) -> str:
        return file.replace("{owner}", hook.owner) or settings_file(runtime, scope)

    for preparation in dialect.preparations:
        yield EditDraft(
            root=root,
            path=name(preparation.file),
            format=EditFormat(preparation.format.value),
            op=EditOp.ENSURE if preparation.firm else EditOp.SET_IF_ABSENT,
            at=preparation.at,
            value=preparation.value,
            origin=origin,
        )
    yield EditDraft(
        root=root,
        path=name(dialect.file),
        format=EditFormat(dialect.format.value),
        op=EditOp.APPEND_UNIQUE,
        at="/hooks" if dialect.shape is HookShape.TABLE else pointer("hooks", hook.event),
        value=_SHAPES[dialect.shape](hook, hook.timeout * dialect.timeout_unit),
        origin=origin,
        executes=True,
    )


def pointer(*steps: str) -> str:
    """A JSON pointer (RFC 6901) from its steps."""
    return "".join("/" + s.replace("~", "~0").replace("/", "~1") for s in steps)


def _present(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _group(hook: Hook, timeout: int) -> dict[str, Any]:
    command = {"type": "command", "command": hook.command, **_present(timeout=timeout), **hook.extra}
    return {**_present(matcher=hook.matcher), "hooks": [command]}


def _typed(hook: Hook, timeout: int) -> dict[str, Any]:
    matcher = _present(matcher=hook.matcher, timeout=timeout)
    return {"type": "command", "command": hook.command, **matcher, **hook.extra}


def _command(hook: Hook, timeout: int) -> dict[str, Any]:
    return {"command": hook.command, **hook.extra}


def _inline(hook: Hook, timeout: int) -> dict[str, Any]:
    return {"type": "command", "bash": hook.command, **_present(timeoutSec=timeout), **hook.extra}


def _matched(hook: Hook, timeout: int) -> dict[str, Any]:
    return {**_present(matcher=hook.matcher), "command": hook.command, **_present(timeout=timeout)}


def _table(hook: Hook, timeout: int) -> dict[str, Any]:
    return {"event": hook.event, **_matched(hook, timeout)}


_SHAPES: Mapping[HookShape, Callable[[Hook, int], dict[str, Any]]] = MappingProxyType(
    {
        HookShape.GROUP: _group,
        HookShape.TYPED: _typed,
        HookShape.COMMAND: _command,
        HookShape.INLINE: _inline,
        HookShape.MATCHED: _matched,
        HookShape.TABLE: _table,
    }
)
