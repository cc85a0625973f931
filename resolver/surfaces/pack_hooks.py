"""The hooks that a GSD pack brings for a host, by the tables of `gsd-layout.json`."""

from __future__ import annotations

from collections.abc import Iterator

from ...capabilities.gsd_layout import Registration, load_gsd_layout
from ...capabilities.hook_dialects import HookDialect, dialect
from ...capabilities.model import Runtime
from ...capabilities.vocabulary import ConfigFileFormat, PayloadPart, Root, Scope
from ...lockfiles.model import EditFormat, EditOp, Origin
from ..conversion import release
from ..drafts import EditDraft, SurfaceDrafts
from ..pack import Pack
from ..payload import bundled_scripts
from ..places import hooks_folder, hooks_root, settings_file
from ..selection import Selection
from .command_lines import command_line
from .hook_entries import Hook, hook_edits


def pack_hook_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> SurfaceDrafts:
    """Registrations of the scripts that the payload places, and the status line."""
    if not selection.hooks or PayloadPart.HOOKS not in runtime.payload:
        return SurfaceDrafts()
    scripts = bundled_scripts(runtime, scope, pack)
    words = dialect(runtime.hook_dialect)
    version = release(pack)
    edits: list[EditDraft] = []
    for row in load_gsd_layout().registrations.get(runtime.hook_dialect, ()):
        if words and row.script in scripts and row.condition.holds(runtime, scope, version):
            line = _line(runtime, scope, row.script, selection)
            origin = Origin(pack.name, "", f"hook/{row.script}", "", "hooksSurface")
            for event in _events(runtime, words, row):
                hook = Hook(event, line, pack.name, row.matcher, row.timeout, row.extra)
                edits += hook_edits(runtime, scope, words, hook, origin)
    edits += _status_line(runtime, scope, pack, selection, scripts)
    return SurfaceDrafts(edits=tuple(edits))


def _events(runtime: Runtime, words: HookDialect, row: Registration) -> Iterator[str]:
    if row.host_event:
        yield row.host_event
    elif not row.extended or row.event in runtime.extended_hook_events:
        yield from (e.name for e in words.host_events(row.event))


def _line(runtime: Runtime, scope: str, script: str, selection: Selection) -> str:
    root = hooks_root(runtime, scope).value
    path = f"{hooks_folder(runtime)}/{script}"
    return command_line(runtime, scope, root, path, portable=selection.portable_hooks)


def _status_line(
    runtime: Runtime, scope: str, pack: Pack, selection: Selection, scripts: frozenset[str]
) -> Iterator[EditDraft]:
    """The status line, unless the user has one. In a project it would hide the user's own."""
    script = load_gsd_layout().status_line
    if scope != Scope.GLOBAL or PayloadPart.STATUS_LINE not in runtime.payload or script not in scripts:
        return
    yield EditDraft(
        root=Root.CONFIG.value,
        path=settings_file(runtime, scope),
        format=EditFormat(ConfigFileFormat.JSONC.value),
        op=EditOp.SET_IF_ABSENT,
        at="/statusLine",
        value={"type": "command", "command": _line(runtime, scope, script, selection)},
        origin=Origin(pack.name, "", f"hook/{script}", "", "payload"),
        executes=True,
    )
