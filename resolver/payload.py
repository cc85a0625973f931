"""The payload of a GSD pack: the trees, hook scripts, markers and plugins that stand beside its artifacts.

Which files a host gets follows from its `payload` axis and the rules of `gsd-layout.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..capabilities.gsd_layout import Copy, any_matches, load_gsd_layout
from ..capabilities.model import Runtime
from ..capabilities.vocabulary import PayloadPart, Root, Scope
from ..lockfiles.model import Origin
from ..lockfiles.placeholders import placeholder
from .conversion import payload_bytes
from .drafts import FileDraft
from .pack import Pack
from .places import hooks_folder, hooks_root, local_folder
from .selection import Selection

_HOOKS = "hooks/"
# Pins the scripts of a folder to CommonJS whatever a package.json above it says.
_COMMONJS = b'{"type":"commonjs"}\n'
_PLAIN_MODE = 0o644
_EXECUTABLE_MODE = 0o755


def payload_drafts(runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> list[FileDraft]:
    """All files of the payload that a host gets at a scope; each path once."""
    parts = [p for p in runtime.payload if selection.hooks or p is not PayloadPart.HOOKS]
    chosen: dict[tuple[str, str], FileDraft] = {}
    for draft in (
        *_copies(runtime, scope, pack, selection, parts),
        *_own_files(runtime, scope, pack, selection, parts),
        *(_hook_scripts(runtime, scope, pack) if PayloadPart.HOOKS in parts else ()),
        *(_plugin(runtime, pack) if selection.hooks or _plugin_is_all(runtime) else ()),
    ):
        chosen[draft.root, draft.path] = draft
    return list(chosen.values())


def bundled_scripts(runtime: Runtime, pack: Pack) -> frozenset[str]:
    """The files of the pack's hooks folder that a host gets, relative to it."""
    condition, bundle = load_gsd_layout().bundles.get(runtime.hooks_surface, (None, None))
    if bundle is None or condition is None or not condition.holds(runtime, Scope.GLOBAL, pack.version):
        return frozenset()
    inside = (p.removeprefix(_HOOKS) for p in pack.tree.files if p.startswith(_HOOKS))
    return frozenset(p for p in inside if bundle.takes(p))


def told_text(text: str, runtime: Runtime, scope: str, pack: Pack, selection: Selection) -> str:
    """A text of `gsd-layout.json` with its variables filled; `{config}` is how text names the config root."""
    config = local_folder(runtime) if scope == Scope.LOCAL else placeholder("tilde", Root.CONFIG)
    values = {"version": pack.version, "runtime": runtime.id, "profile": selection.profile, "config": config}
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _copies(
    runtime: Runtime, scope: str, pack: Pack, selection: Selection, parts: list[PayloadPart]
) -> Iterator[FileDraft]:
    off = _files_of_inactive_features(pack, selection)
    for rule in load_gsd_layout().copies:
        if rule.part not in parts or not rule.condition.holds(runtime, scope, pack.version):
            continue
        origin = Origin(pack.name, "", f"payload/{rule.part}", "", "payload")
        for path, file in sorted(pack.tree.files.items()):
            if path in off or not any_matches((rule.source,), path):
                continue
            data = pack.tree.read(path)
            if not rule.verbatim:
                data = payload_bytes(path, data, runtime, scope, pack)
            yield FileDraft(Root.CONFIG.value, _destination(rule, path), data, file.mode, origin)


def _destination(rule: Copy, path: str) -> str:
    if not rule.to.endswith("/"):
        return rule.to
    return rule.to + path.removeprefix(rule.source.split("*", 1)[0])


def _files_of_inactive_features(pack: Pack, selection: Selection) -> frozenset[str]:
    """Off means off: what belongs to a feature that is not active is in no copy either."""
    active = {f.id for f in selection.features}
    return frozenset(f for a in pack.artifacts if a.feature and a.feature not in active for f in a.files)


def _own_files(
    runtime: Runtime, scope: str, pack: Pack, selection: Selection, parts: list[PayloadPart]
) -> Iterator[FileDraft]:
    origin = Origin(pack.name, "", "payload/marker", "", "payload")
    for file in load_gsd_layout().files:
        if file.part in parts and file.condition.holds(runtime, scope, pack.version):
            text = told_text(file.text, runtime, scope, pack, selection)
            mode = _EXECUTABLE_MODE if file.executable else _PLAIN_MODE
            yield FileDraft(Root.CONFIG.value, file.to, text.encode(), mode, origin)


def _hook_scripts(runtime: Runtime, scope: str, pack: Pack) -> Iterator[FileDraft]:
    scripts = bundled_scripts(runtime, pack)
    if not scripts:
        return
    _, bundle = load_gsd_layout().bundles[runtime.hooks_surface]
    root, folder = hooks_root(runtime, scope).value, hooks_folder(runtime)
    origin = Origin(pack.name, "", "payload/hooks", "", "hooksSurface")
    for script in sorted(scripts):
        path = _HOOKS + script
        executable = any_matches(bundle.executable, script)
        data = payload_bytes(path, pack.tree.read(path), runtime, scope, pack)
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
