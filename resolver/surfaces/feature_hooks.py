"""Hooks that features declare: their scripts as files of the target, their events in the host's words.

The scripts of a feature lie in a folder of their own below the hooks folder, with everything that stands
beside them in the pack, so that two features never meet and a script finds its helpers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ...capabilities.errors import input_error, shown
from ...capabilities.hook_dialects import HookDialect, HostEvent, dialect
from ...capabilities.model import Feature, FeatureHook, Runtime
from ...capabilities.vocabulary import Scope
from ...lockfiles.model import Origin
from ..drafts import EditDraft, FileDraft, Omission, SurfaceDrafts
from ..pack import Pack
from ..places import hooks_folder, hooks_root
from ..selection import Selection
from .command_lines import command_line
from .hook_entries import Hook, hook_edits

_EVERYTHING = frozenset({"", "*", ".*"})
_WORD = re.compile(r"[A-Za-z0-9_]+")
_SCRIPT_MODE = 0o755


def feature_hook_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> SurfaceDrafts:
    """The hooks of the active features of a pack. Raises `GsdlockError` E-PLAN-SCRIPT-NAME, E-PACK-SCRIPT."""
    drafts = SurfaceDrafts()
    for feature in selection.features if selection.hooks else ():
        for hook in feature.hooks:
            try:
                told = _told(dialect(runtime.hook_dialect), scope, hook)
            except _Unsayable as why:
                what = f"the {hook.event} hook {hook.script}"
                drafts += SurfaceDrafts(omissions=(Omission(feature.id, what, str(why)),))
            else:
                drafts += _hook_drafts(runtime, scope, pack, feature, hook, told, selection)
    return SurfaceDrafts(tuple(_one_a_path(drafts.files)), drafts.edits, drafts.omissions)


def _hook_drafts(
    runtime: Runtime,
    scope: str,
    pack: Pack,
    feature: Feature,
    hook: FeatureHook,
    told: _Told,
    selection: Selection,
) -> SurfaceDrafts:
    place = _script_place(runtime, pack, feature, hook)
    origin = Origin(pack.name, feature.id, f"hook/{hook.script}", "", "hooksSurface")
    root = hooks_root(runtime, scope).value
    line = command_line(runtime, scope, root, place.script, portable=selection.portable_hooks)
    edits: list[EditDraft] = []
    for event in told.events:
        entry = Hook(event.name, line, feature.id, told.matcher, hook.timeout)
        edits += hook_edits(runtime, scope, told.dialect, entry, origin)
    return SurfaceDrafts(tuple(_files(root, pack, place, origin)), tuple(edits))


# A hook in the host's words


class _Unsayable(Exception):
    """The host has no words for a hook; the text completes "left out: …"."""


class _Told(Struct, frozen=True):
    """A hook in the host's words: the events, and the matcher for them (empty for every occasion)."""

    dialect: HookDialect
    events: tuple[HostEvent, ...]
    matcher: str


def _told(words: HookDialect | None, scope: str, hook: FeatureHook) -> _Told:
    """The hook in the host's words. Raises `_Unsayable`."""
    if words is None:
        raise _Unsayable("this host takes no hooks from files")
    if scope == Scope.LOCAL and not words.in_projects:
        raise _Unsayable("this host takes no hooks from a project")
    events = words.host_events(hook.event)
    if not events:
        raise _Unsayable("this host has no such event")
    matcher = "" if (hook.matcher or "") in _EVERYTHING else str(hook.matcher)
    if any(e.tools for e in events):
        # The host has an event for each kind of tool: the matcher picks among them.
        named = set(matcher.split("|"))
        events = tuple(e for e in events if not matcher or named & e.tools)
        if not events:
            raise _Unsayable(f"this host has no event for {shown(matcher)}")
        return _Told(words, events, "")
    if matcher and not words.matchers:
        raise _Unsayable(f"this host cannot restrict a hook to {shown(matcher)}")
    return _Told(words, events, _host_matcher(words, matcher))


def _host_matcher(words: HookDialect, matcher: str) -> str:
    """A matcher with the host's names for tools; an alternative that is no plain word stays as it is."""
    parts = (words.tools.get(p, p) if _WORD.fullmatch(p) else p for p in matcher.split("|"))
    return "|".join(dict.fromkeys(parts))


# Its script as files


class _Place(Struct, frozen=True):
    """Where a script goes. `source` is its path in the pack; `folder` is what goes along with it (a folder of
    the pack with a final slash, or empty where the script stands alone) and becomes `to`."""

    source: str
    folder: str
    to: str

    @property
    def script(self) -> str:
        return self.to + self.source.removeprefix(self.folder or self.source.rpartition("/")[0] + "/")


def _script_place(runtime: Runtime, pack: Pack, feature: Feature, hook: FeatureHook) -> _Place:
    base = next((b for b in _bases(feature) if b + hook.script in pack.tree.files), None)
    if base is None:
        raise input_error(
            "E-PACK-SCRIPT",
            f"feature {feature.id} of pack {pack.name} has a hook whose script {shown(hook.script)} "
            "is not in the pack",
            "Ask the author of the pack for the script, or disable the feature.",
        )
    return _Place(
        source=base + hook.script,
        folder=base + hook.folder if hook.folder else "",
        to=f"{hooks_folder(runtime)}/{feature.id}/",
    )


def _bases(feature: Feature) -> tuple[str, ...]:
    """Where in a pack the folder of a feature may be: its top, or a folder with the feature's name."""
    return ("", f"{feature.id}/", f"capabilities/{feature.id}/", f"features/{feature.id}/")


def _files(root: str, pack: Pack, place: _Place, origin: Origin) -> Iterator[FileDraft]:
    """The script and, where it lies in a folder, all that lies in that folder."""
    yield FileDraft(root, place.script, pack.tree.read(place.source), _SCRIPT_MODE, origin)
    for path, file in sorted(pack.tree.files.items()):
        if place.folder and path.startswith(place.folder) and path != place.source:
            to = place.to + path.removeprefix(place.folder)
            yield FileDraft(root, to, pack.tree.read(path), file.mode, origin)


def _one_a_path(files: tuple[FileDraft, ...]) -> Iterator[FileDraft]:
    """Each path once: where one hook's script is another's neighbour, it stays a script. Two of different
    folders that have one name are both handed on, and refused with all others that want one place."""
    chosen: dict[tuple[str, bytes], FileDraft] = {}
    for draft in files:
        place = (draft.path, draft.data)
        if place not in chosen or draft.mode == _SCRIPT_MODE:
            chosen[place] = draft
    yield from chosen.values()
