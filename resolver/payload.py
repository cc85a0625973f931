"""The payload of a GSD pack: the trees, hook scripts, markers and plugins that stand beside its artifacts.

Which files a host gets follows from its `payload` axis and the rules of `gsd-layout.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..capabilities.gsd_layout import Bundle, Copy, Wording, any_matches, load_gsd_layout
from ..capabilities.model import Runtime
from ..capabilities.vocabulary import PayloadPart, Root, Scope
from ..lockfiles.model import Origin
from ..lockfiles.placeholders import placeholder
from .conversion import pack_context, payload_bytes, release
from .converters import ConvertContext, Phrase
from .drafts import FileDraft
from .pack import Pack
from .places import hooks_folder, hooks_root, local_folder
from .selection import Selection

_HOOKS = "hooks/"
# Where the tool of a GSD pack has its modules.
_MODULES = ("gsd-core/bin/lib/", "get-shit-done/bin/lib/")
# Pins the scripts of a folder to CommonJS whatever a package.json above it says.
_COMMONJS = b'{"type":"commonjs"}\n'
# A folder of the payload as a rule for a model names it: in a code span, relative to where it is installed.
_NAMED_FOLDER = re.compile(r"`(gsd-core|agents)/")
_PLAIN_MODE = 0o644
_EXECUTABLE_MODE = 0o755


def payload_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> list[FileDraft]:
    """All files of the payload that a host gets at a scope: each path once, by the last rule for it."""
    parts = [p for p in runtime.payload if selection.hooks or p is not PayloadPart.HOOKS]
    context = pack_context(runtime, scope, pack)
    chosen: dict[tuple[str, str], FileDraft] = {}
    for draft in (
        *_copies(context, pack, selection, parts),
        *_own_files(context, pack, selection, parts),
        *(_hook_scripts(context, pack) if PayloadPart.HOOKS in parts else ()),
        *(_plugin(runtime, pack) if PayloadPart.HOOKS in parts or _plugin_is_all(runtime) else ()),
    ):
        chosen[draft.root, draft.path] = draft
    return list(chosen.values())


def bundled_scripts(runtime: Runtime, scope: str, pack: Pack) -> frozenset[str]:
    """The files of the pack's hooks folder that a host gets, relative to it."""
    bundles = _bundles(runtime, scope, pack)
    inside = (p.removeprefix(_HOOKS) for p in pack.tree.files if p.startswith(_HOOKS))
    return frozenset(p for p in inside if any(b.takes(p) for b in bundles))


def _bundles(runtime: Runtime, scope: str, pack: Pack) -> list[Bundle]:
    version = release(pack)
    rows = load_gsd_layout().bundles.get(runtime.hooks_surface, ())
    return [b for b in rows if b.condition.holds(runtime, scope, version)]


def told_text(
    context: ConvertContext, text: str, wording: Wording | None, pack: Pack, selection: Selection
) -> str:
    """A text of `gsd-layout.json`, or the pack's own `wording` of it where it has one, with its variables
    filled; `{config}` is how text names the config root. It ends with a newline where it is the pack's."""
    local = context.scope == Scope.LOCAL
    config = local_folder(context.runtime) if local else placeholder("tilde", Root.CONFIG)
    if wording is not None and (said := context.said(Phrase(wording.value), version=pack.version)):
        below = "" if config == "." else f"{config}/"
        return _NAMED_FOLDER.sub(lambda m: f"`{below}{m[1]}/", said).rstrip("\n") + "\n"
    values = {"version": pack.version, "profile": selection.profile, "config": config}
    values["runtime"] = context.runtime.id
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _copies(
    context: ConvertContext, pack: Pack, selection: Selection, parts: list[PayloadPart]
) -> Iterator[FileDraft]:
    off = _files_of_inactive_features(pack, selection)
    version = release(pack)
    for rule in load_gsd_layout().copies:
        if rule.part not in parts or not rule.condition.holds(context.runtime, context.scope, version):
            continue
        origin = Origin(pack.name, "", f"payload/{rule.part}", "", "payload")
        for path, file in sorted(pack.tree.files.items()):
            if path in off or not any_matches((rule.source,), path):
                continue
            data = pack.tree.read(path)
            if not rule.verbatim:
                data = payload_bytes(context, path, data)
            yield FileDraft(Root.CONFIG.value, _destination(rule, path), data, file.mode, origin)


def _destination(rule: Copy, path: str) -> str:
    if not rule.to.endswith("/"):
        return rule.to
    return rule.to + path.removeprefix(rule.source.split("*", 1)[0])


def _files_of_inactive_features(pack: Pack, selection: Selection) -> frozenset[str]:
    """Off means off: what belongs to a feature that is not active is in no copy either, the modules of its
    families of commands included. The pack's tool loads a module when its family is called for."""
    active = {f.id for f in selection.features}
    files = {f for a in pack.artifacts if a.feature and a.feature not in active for f in a.files}
    kept = {c.module for f in selection.features for c in f.commands}
    modules = {c.module for f in pack.features if f.id not in active for c in f.commands} - kept
    return frozenset(files | {f"{folder}{module}" for folder in _MODULES for module in modules})


def _own_files(
    context: ConvertContext, pack: Pack, selection: Selection, parts: list[PayloadPart]
) -> Iterator[FileDraft]:
    origin = Origin(pack.name, "", "payload/marker", "", "payload")
    version = release(pack)
    for file in load_gsd_layout().files:
        if file.part in parts and file.condition.holds(context.runtime, context.scope, version):
            text = told_text(context, file.text, file.wording, pack, selection)
            for wording, otherwise in file.words.items():
                said = context.said(Phrase(wording.value), otherwise)
                text = text.replace("{" + wording.value + "}", said)
            mode = _EXECUTABLE_MODE if file.executable else _PLAIN_MODE
            if text:
                yield FileDraft(Root.CONFIG.value, file.to, text.encode(), mode, origin)


def _hook_scripts(context: ConvertContext, pack: Pack) -> Iterator[FileDraft]:
    runtime = context.runtime
    scripts = bundled_scripts(runtime, context.scope, pack)
    if not scripts:
        return
    bundles = _bundles(runtime, context.scope, pack)
    executables = [g for b in bundles for g in b.executable]
    shipped = [g for b in bundles for g in b.shipped]
    root, folder = hooks_root(runtime, context.scope).value, hooks_folder(runtime)
    origin = Origin(pack.name, "", "payload/hooks", "", "hooksSurface")
    for script in sorted(scripts):
        path = _HOOKS + script
        executable = any_matches(executables, script)
        data = payload_bytes(context, path, pack.tree.read(path), shipped=any_matches(shipped, script))
        mode = _EXECUTABLE_MODE if executable else pack.tree.files[path].mode
        yield FileDraft(root, f"{folder}/{script}", data, mode, origin)
    yield FileDraft(root, f"{folder}/package.json", _COMMONJS, _PLAIN_MODE, origin)


def _plugin_is_all(runtime: Runtime) -> bool:
    """Whether the plugin is the host's only way to the pack, and not just to its hooks."""
    return bool(runtime.host_behaviors.get("pluginOnlyInstall"))


def _plugin(runtime: Runtime, pack: Pack) -> Iterator[FileDraft]:
    """The native plugin of the host, where the pack has one for it."""
    plugin = runtime.host_behaviors.get("nativePlugin")
    if plugin is None or plugin["source"] not in pack.tree.files:
        return
    origin = Origin(pack.name, "", "payload/plugin", "", "hostBehaviors.nativePlugin")
    source, folder = plugin["source"], plugin["dir"]
    data, mode = pack.tree.read(source), pack.tree.files[source].mode
    yield FileDraft(Root.CONFIG.value, f"{folder}/{plugin['file']}", data, mode, origin)
    yield FileDraft(Root.CONFIG.value, f"{folder}/package.json", _COMMONJS, _PLAIN_MODE, origin)
