"""A plugin: `.claude-plugin/plugin.json` with skills, commands, agents, hooks and MCP servers.

It becomes one synthesized feature. What the manifest names comes on top of the usual folders (`skills/`,
`commands/`, `agents/`, `hooks/hooks.json`, `.mcp.json`). A hook is taken where its command runs one script of
the plugin without arguments; what a descriptor cannot say is left out with a notice. Source of the format:
the plugins reference of Claude Code's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..capabilities.errors import GsdlockError, input_error, shown
from ..capabilities.model import Feature
from .concerns import some
from .marks import check_decoded
from .pack import ArtifactKind, Pack, PackLayout, Tree
from .pack_common import (
    SKILL_FILE,
    Collector,
    feature_id,
    is_document,
    is_version,
    own_version,
    synthesize,
)
from .pack_plugin_hooks import PLUGIN_ROOT, hooks_of, servers_of
from .pack_skills import outermost
from .sources.names import name_fault

MANIFEST = ".claude-plugin/plugin.json"
# Keys of the manifest that no descriptor has words for, with where they usually lie.
_NOT_CARRIED = (
    ("outputStyles", "output-styles"),
    ("lspServers", ".lsp.json"),
)


def matches(tree: Tree) -> bool:
    """Whether the tree is a plugin."""
    return MANIFEST in tree.files


def read(name: str, version: str, tree: Tree, known_features: Mapping[str, Feature]) -> Pack:
    """See `packs.read_pack`. Raises E-PACK-PLUGIN for a manifest that is not one."""
    manifest = _json(name, tree, MANIFEST)
    if not isinstance(manifest, dict):
        raise _bad(name, MANIFEST, "is not a JSON object")
    id_ = feature_id(_text(manifest, "name") or name, known_features)
    said = _text(manifest, "version")
    version = version or (said if is_version(said) else own_version(tree))

    notices: list[str] = []
    collector = Collector(name, tree)
    for folder in _skill_folders(name, tree, manifest, collector):
        collector.add_skill(folder, id_, stem="" if folder else name)
    for kind, key in ((ArtifactKind.COMMAND, "commands"), (ArtifactKind.AGENT, "agents")):
        for stem, path in _documents(name, tree, manifest, key, collector):
            collector.add(kind, stem, path, feature=id_)
    hooks = []
    for where, value in _configured(name, tree, manifest, "hooks", "hooks/hooks.json", collector):
        hooks += hooks_of(value, where, notices)
    for hook in hooks:
        if hook["script"] not in tree.files:
            collector.missing(f"hook script of {id_}", hook["script"])
    servers: dict[str, Any] = {}
    for where, value in _configured(name, tree, manifest, "mcpServers", ".mcp.json", collector):
        servers.update(servers_of(value, where, notices))
    artifacts = collector.finish()
    notices += _not_carried(tree, manifest, [path for a in artifacts for path in a.files])
    feature = synthesize(
        id_,
        _text(manifest, "displayName") or _text(manifest, "name") or name,
        _text(manifest, "description"),
        version,
        skills=[a.stem for a in artifacts if a.kind is ArtifactKind.SKILL],
        agents=[a.stem for a in artifacts if a.kind is ArtifactKind.AGENT],
        **({"hooks": hooks} if hooks else {}),
        **({"mcpServers": servers} if servers else {}),
    )
    return Pack(name, version, PackLayout.PLUGIN, tree, artifacts, (feature,), tuple(notices))


def _not_carried(tree: Tree, manifest: Mapping[str, Any], installed: Sequence[str]) -> Iterator[str]:
    """What a plugin has besides, told in a line each: nothing is lost in silence."""
    for key, usual in _NOT_CARRIED:
        if manifest.get(key) or any(path == usual or path.startswith(f"{usual}/") for path in tree.files):
            yield f"its {key} are left out, because a feature has none"
    pointing = [p for p in sorted(set(installed)) if b"CLAUDE_PLUGIN_ROOT" in tree.read(p)]
    if pointing:
        yield (
            f"no host sets CLAUDE_PLUGIN_ROOT for what is installed as files; it stands in {some(pointing)}"
        )


def _skill_folders(pack: str, tree: Tree, manifest: Mapping[str, Any], collector: Collector) -> list[str]:
    """`skills/<stem>`, and of each named folder: the folder itself, or the skills directly in it."""
    found = set(_with_skill(tree, "skills/"))
    for path in _paths(pack, manifest, "skills"):
        prefix = f"{path}/" if path else ""
        inside = {path} if prefix + SKILL_FILE in tree.files else set(_with_skill(tree, prefix))
        if not inside:
            collector.missing("skills", path or SKILL_FILE)
        found |= inside
    return outermost(found) if "" not in found else [""]


def _with_skill(tree: Tree, prefix: str) -> Iterator[str]:
    for path in tree.files:
        rest = path.removeprefix(prefix)
        if path.startswith(prefix) and rest.count("/") == 1 and rest.endswith(f"/{SKILL_FILE}"):
            yield path.removesuffix(f"/{SKILL_FILE}")


def _documents(
    pack: str, tree: Tree, manifest: Mapping[str, Any], key: str, collector: Collector
) -> Iterator[tuple[str, str]]:
    """Stem and path of every `.md` in `commands/` or `agents/` and in what the manifest names.

    A folder in between becomes part of the stem (`team/deploy.md` is `team-deploy`). A README is none.
    """
    found: dict[str, str] = {}
    for base in (key, *_paths(pack, manifest, key)):
        if base in tree.files and base.endswith(".md"):
            found[base] = base.rpartition("/")[2].removesuffix(".md")
            continue
        prefix = f"{base}/" if base else ""
        inside = [p for p in sorted(tree.files) if p.startswith(prefix) and p.endswith(".md")]
        if not inside and base != key:
            collector.missing(key, base)
        for path in inside:
            found.setdefault(path, path.removeprefix(prefix).removesuffix(".md").replace("/", "-"))
    for path, stem in sorted(found.items()):
        if is_document(path.rpartition("/")[2]):
            yield stem, path


def _configured(
    pack: str, tree: Tree, manifest: Mapping[str, Any], key: str, usual: str, collector: Collector
) -> Iterator[tuple[str, Any]]:
    """The JSON values that say what the plugin has of `key`, each with the name of its file."""
    value = manifest.get(key)
    named = _paths(pack, manifest, key) if isinstance(value, (str, list)) else []
    for path in dict.fromkeys((usual, *named)):
        if path in tree.files:
            yield path, _json(pack, tree, path)
        elif path in named:
            collector.missing(key, path)
    if isinstance(value, dict):
        yield MANIFEST, value


def _paths(pack: str, manifest: Mapping[str, Any], key: str) -> list[str]:
    """The paths under `key`, relative to the plugin, without `./` and final slash; empty text is the top."""
    value = manifest.get(key)
    if value is None:
        return []
    paths = []
    for text in [value] if isinstance(value, str) else value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            raise _bad(pack, MANIFEST, f"has a `{key}` that is not a path")
        path = text.removeprefix(PLUGIN_ROOT).removeprefix("/" if text.startswith(PLUGIN_ROOT) else "")
        path = path.removeprefix("./").rstrip("/")
        path = "" if path == "." else path
        if path and name_fault(path) is not None:
            raise _bad(
                pack, MANIFEST, f"has the path `{shown(text)}` under `{key}`, which {name_fault(path)}"
            )
        paths.append(path)
    return paths


def _text(manifest: Mapping[str, Any], key: str) -> str:
    value = manifest.get(key)
    return value if isinstance(value, str) else ""


def _json(pack: str, tree: Tree, path: str) -> Any:
    import json

    try:
        text = tree.read(path).decode("utf-8-sig")
        data = json.loads(text)
        if "\\u" in text:  # an escape may stand for half a character, which has no UTF-8 form
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _bad(pack, path, f"is not JSON: {shown(reason, 200)}") from None
    check_decoded(f"pack {shown(pack)}", path, data)
    return data


def _bad(pack: str, path: str, how: str) -> GsdlockError:
    return input_error(
        "E-PACK-PLUGIN",
        f"pack {shown(pack)}: {shown(path, 200)} {how}",
        "Ask the plugin's author to correct it.",
        where=path,
    )
