"""A text in the words of a host: the one function that speaks a dialect, built of the steps."""

from __future__ import annotations

import re

from msgspec.structs import replace

from . import dialects, names, steps
from .context import ConvertContext
from .dialects import BareDirectory, Dialect, Spelling

_SOURCE_FILE = "CLAUDE.md"
_SOURCE_ENV = "CLAUDE_CONFIG_DIR"
_BARE = ".claude/"
_BARE_START = re.compile(r"\.claude(?:/|(?=ignore\b))")
_TOOL = re.compile(r"gsd-tools(?=\s)")
# What stands before a tool that is run: the start of the line, a code span, a substitution, a command.
_RUN = re.compile(r"(?:^|`|\$\(|[;&|][ \t])[ \t]*$", re.MULTILINE)


def speak(text: str, dialect: Dialect, context: ConvertContext, *, tilde: bool = False) -> str:
    """`text` in the words of `dialect`, paths named as the target of `context` names them.

    `tilde`: the config directory itself, where the source writes it with `~`, keeps its `~`; and in a list of
    such directories it is the one in the user's home.
    """
    to = context.directory
    text = names.name_paths(text, to)
    itself = replace(to, tilde=to.short) if tilde else to
    return say(names.name_directory(text, itself, listed=tilde), dialect, context)


def say(text: str, dialect: Dialect, context: ConvertContext) -> str:
    """`text` in the words of `dialect`; paths under `~` and `$HOME` are left alone."""
    text = _bare(text, dialect.bare, context.directory.local)
    for old, new in dialect.folders.items():
        change = steps.at_start_of_path if dialect.relative_folders else str.replace
        text = change(text, old, new)
    text = spell(text, dialect.commands, context.stems)
    text = steps.calls(steps.words(text, dialect.words), dialect.calls)
    if dialect.general:
        text = steps.general_agent(text, dialect.general)
    if dialect.arguments:
        text = steps.arguments(text, dialect.arguments)
    text = _reader(text, dialect, context)
    if dialect.config_env:
        text = text.replace(_SOURCE_ENV, dialect.config_env)
    if not dialect.subscript:
        text = steps.emphasised(text)
    if not dialect.clear:
        text = steps.without_clear(text)
    if dialect.tool:
        text = _spelled_out(text, names.below(context.directory.home) + "gsd-core/bin/gsd-tools.cjs")
    if rewrites := context.branding:
        text = steps.outside_facts(text, lambda part: steps.branded(part, rewrites))
    return text


def own_notes(text: str, context: ConvertContext) -> str:
    """Without the notes that a pack has for other hosts; releases before 1.12 left them to all."""
    if "<runtime_note>" not in text or not context.since("1.12.0"):
        return text
    own = dialects.DIALECTS[context.runtime.text_dialect].note
    return steps.without_notes(text, dialects.NOTES - {own})


def spell(text: str, how: Spelling, stems: frozenset[str]) -> str:
    """References to commands, spelled as the host's users type them."""
    if how is Spelling.KNOWN:
        return steps.known_hyphen(text, stems)
    if how is Spelling.SKILL:
        return steps.known_skill(text, stems)
    if how is Spelling.COLON:
        return steps.known_colon(text, stems)
    change = _SPELLINGS.get(how)
    return change(text) if change is not None else text


_SPELLINGS = {
    Spelling.TYPED: steps.typed_hyphen,
    Spelling.SLASH: steps.slash_hyphen,
    Spelling.EVERY: steps.every_hyphen,
    Spelling.ANY_CASE: steps.every_hyphen_but_markers,
    Spelling.DOLLAR: steps.dollar,
}


def _bare(text: str, how: BareDirectory, local: str) -> str:
    """The source's directory without anything before it, as the target's inside a project."""
    if how is BareDirectory.EVERYWHERE:
        return text.replace(_BARE, local + "/")
    if how is BareDirectory.KEEP or ".claude" not in text:
        return text

    def start(match: re.Match[str]) -> str:
        before = text[match.start() - 1] if match.start() else ""
        if before.isalnum() or before in ("_", "/", ".", "}", "'", "-"):
            return match[0]
        return local + match[0].removeprefix(".claude")

    return _BARE_START.sub(start, text)


def _spelled_out(text: str, path: str) -> str:
    """`gsd-tools`, where it is run, as the interpreter and the file."""
    if "gsd-tools" not in text:
        return text

    def run(match: re.Match[str]) -> str:
        line = text.rfind("\n", 0, match.start()) + 1
        return f'node "{path}"' if _RUN.search(text, line, match.start()) else match[0]

    return _TOOL.sub(run, text)


def _reader(text: str, dialect: Dialect, context: ConvertContext) -> str:
    """Who reads the text, and from which file it takes the project's instructions."""
    file = context.instruction_file or dialect.file
    if dialect.neutral:
        return steps.neutral(text, file)
    if dialect.file:
        text = instruction_file(text, file, context)
    elif file:
        text = text.replace(_SOURCE_FILE, file)
    return steps.brand(steps.without_known_fault(text), dialect.brand) if dialect.brand else text


def instruction_file(text: str, file: str, context: ConvertContext) -> str:
    """The project's instruction file by its name on this host.

    Where the name starts with the host's directory (`.trae/rules/rules.md`), a mention of the file below a
    config directory keeps that directory and takes the rest of the name.
    """
    to = context.directory
    inside = file.removeprefix(to.local + "/")
    if inside != file:
        for start in dict.fromkeys((to.home, to.tilde, to.path, to.local)):
            text = text.replace(f"{start}/{_SOURCE_FILE}", f"{start}/{inside}")
    return text.replace("./" + _SOURCE_FILE, file).replace(_SOURCE_FILE, file)
