"""The payload of a pack as its host gets it: Markdown for the host's model, program code, hook scripts.

`textDialect` says in whose words the Markdown is written, and whether program code carries them too. Code is
never rewritten where that would change what it does.
"""

from __future__ import annotations

import re
from typing import Final

from ...capabilities.vocabulary import Scope
from . import dialects, names, steps
from .context import ConvertContext
from .delegation import delegated
from .dialects import CodeWords
from .speech import own_notes, speak, spell

_CODE: Final = (".cjs", ".js")
_WORKFLOW: Final = re.compile(r"(?:^|/)workflows/")
_SOURCE_FILE: Final = "CLAUDE.md"
# A line of code that is all comment, with the name in it.
_COMMENT: Final = re.compile(r"^[ \t]*(?://|/\*|\*)[^\n]*CLAUDE\.md[^\n]*$", re.MULTILINE)
_VERSION: Final = "{{GSD_VERSION}}"
# Hosts whose hook scripts name commands as `gsd-help`.
_HYPHEN_AXES: Final = ("hyphenNameAgentBody", "hooksJsonSurface")
_WORKTREES: Final = frozenset({"harness-worktree", "orchestrator-worktree"})


def payload_text(context: ConvertContext, path: str, text: str, *, shipped: bool = False) -> str:
    """One text file of the payload, by its path in the pack: `gsd-core/workflows/help.md`,
    `hooks/dist/gsd-statusline.js`, `scripts/…`, and `commands/gsd/help.md` for a host that gets the bodies of
    commands as payload.

    What is neither Markdown nor code, and the helper scripts, stays as it is. `shipped`: a hook script keeps
    the folders and the mark of the release that it has in the pack.
    """
    if path.startswith("scripts/"):
        return text
    if path.startswith("hooks/"):
        return _hook(context, path, text, shipped=shipped)
    if path.endswith(".md"):
        return _markdown(context, path, text)
    return _code(context, text) if path.endswith(_CODE) else text


def _markdown(context: ConvertContext, path: str, text: str) -> str:
    runtime, to = context.runtime, context.directory
    dialect = dialects.DIALECTS[runtime.text_dialect]
    if _WORKFLOW.search(path):
        text = steps.drop_sections(text)
    text = speak(own_notes(text, context), dialect, context)
    if runtime.host_behaviors.get("ownsClaudePaths"):
        return names.shorten_references(text, to)
    isolation = runtime.host_integration.get("dispatch", {}).get("isolation")
    text = steps.stamp_runtime(text, runtime.id, worktrees=isolation in _WORKTREES)
    return delegated(text, context.phrases) if dialect.delegates else text


def _code(context: ConvertContext, text: str) -> str:
    """Program code of the pack's run-time part, which prints names of commands and files to the user.

    A name of an instruction file that is really a folder of rules (`.cursor/rules/`) stays out of all but
    comments: the code would open it as a file.
    """
    dialect, to = dialects.DIALECTS[context.runtime.text_dialect], context.directory
    if dialect.code is CodeWords.ALL:
        return speak(text, dialect, context)
    if dialect.code is CodeWords.NAMES:
        text = spell(text, dialect.commands, context.stems)
        if dialect.file.endswith(".md"):
            text = _instruction_file(text, dialect.file, to.local)
        else:
            text = _COMMENT.sub(lambda m: m[0].replace(_SOURCE_FILE, dialect.file), text)
        text = steps.brand_everywhere(text, dialect.brand)
        text = text.replace(".claude/skills/", f"{to.local}/skills/")
    return steps.branded(text, context.branding)


def _instruction_file(text: str, file: str, local: str) -> str:
    if file.startswith(f"{local}/"):
        text = text.replace(f".claude/{_SOURCE_FILE}", file)
    return text.replace(_SOURCE_FILE, file)


def _hook(context: ConvertContext, path: str, text: str, *, shipped: bool) -> str:
    """A hook script: the directory of the host, how its commands are spelled, the version of the pack."""
    runtime, to = context.runtime, context.directory
    if path.endswith(_CODE) and (shipped or "/lib/" not in path):
        if not shipped:
            parts = (to.local,) if context.scope == Scope.LOCAL else names.segments(runtime.config_home)
            text = text.replace("'.claude'", ", ".join(f"'{p}'" for p in parts))
            text = text.replace(".claude/", to.local + "/")
            text = steps.branded(text, context.branding)
        if any(runtime.host_behaviors.get(axis) for axis in _HYPHEN_AXES):
            text = steps.every_hyphen_in_hooks(text)
    return text if shipped else text.replace(_VERSION, context.version)
