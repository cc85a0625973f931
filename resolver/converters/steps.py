"""The small steps that a conversion is made of. Each is pure: text in, text out.

The source is written for Claude Code. What a step changes, and where it must not, was measured on what the
reference writes for each host.

A pattern starts with plain characters wherever it can, so that searching is fast; what must stand before a
match is then looked at match by match (`_standing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

_SECTION = re.compile(r"^[ \t]*<!--[ \t]*/?gsd:section\b[^\n]*-->[ \t]*\n?", re.MULTILINE)
_ARGUMENTS = re.compile(r"\$ARGUMENTS\b")
_GENERAL = 'subagent_type="general-purpose"'
# Passages in which the brand names are facts about the hosts.
_FACTS = re.compile(r"<runtime_compatibility>.*?</runtime_compatibility>", re.DOTALL)
_BRAND = re.compile(r"Claude Code\b")
_FAULT = "classifyHandoffIfNeeded"
_KNOWN_FAULT = re.compile(rf"(?:- )?\*\*[^*\n]*\b{_FAULT}\b[^*\n]*\*\*[^\n]*\n?")
_SOURCE_FILE = "CLAUDE.md"
# A bare `Claude` that means whoever reads; not a product, a model or a part of a longer name.
_READER = re.compile(r"Claude(?! Code\b| Opus\b| Sonnet\b| Haiku\b| native\b|[\w-])")
# Advice against a file that, on this host, is the project's instruction file.
_NOT_THE_FILE = re.compile(r"Do NOT load full `AGENTS\.md`[^\n]*")
_ASIDE = re.compile(r"<sub>(.*?)</sub>")
_RUNTIME_QUERY = 'config-get runtime --default claude --raw 2>/dev/null || echo "claude"'
_WORKTREE_QUERY = 'config-get workflow.use_worktrees --raw 2>/dev/null || echo "true"'
# `/clear then: …` asks the reader to clear the context first; not every host can.
_CLEAR_FIRST = re.compile(r"(?:`/clear`|/clear),?[ \t]+then:?\s*|^[ \t]*/clear[ \t]*$", re.MULTILINE)

Before = Callable[[str], bool]


def _word(before: str) -> bool:
    """Whether a word may start after `before` (one character, or "" at the start of the text)."""
    return not (before.isalnum() or before == "_")


def _open(before: str) -> bool:
    """Whether something that a user types may start after `before`: it is no part of a path or a word."""
    return before == "" or before in " \t\n`\"'([*|<>,:→\u00a0"


def _start_of_path(before: str) -> bool:
    """Whether a relative path may start after `before`."""
    return not (before.isalnum() or (before and before in "_./-"))


def _always(new: str) -> Callable[[re.Match[str]], str]:
    """A replacement that does not depend on the match."""
    return lambda _: new


def _standing(pattern: re.Pattern[str], new: Callable[[re.Match[str]], str], text: str, free: Before) -> str:
    """Every match of `pattern` that `free` says may start there, replaced by `new`."""

    def one(match: re.Match[str]) -> str:
        start = match.start()
        return new(match) if free(text[start - 1] if start else "") else match[0]

    return pattern.sub(one, text)


_NOTE = re.compile(r"<runtime_note>(.*?)</runtime_note>", re.DOTALL)
_HEADED = re.compile(r"(?:^|\n)[ \t]*\*\*([^*\n]+):\*\*[^\n]*(?:\n(?![ \t]*\n)[^\n]*)*")


def without_notes(text: str, headings: frozenset[str]) -> str:
    """Notes to hosts without the paragraphs under `headings`; a note of which nothing is left goes."""

    def kept(match: re.Match[str]) -> str:
        left = _HEADED.sub(lambda m: "" if m[1].strip() in headings else m[0], match[1]).strip()
        return f"<runtime_note>\n{left}\n</runtime_note>" if left else ""

    return _NOTE.sub(kept, text) if "<runtime_note>" in text else text


def drop_sections(text: str) -> str:
    """Without the marker lines around sections that a composer may leave out; their content stays."""
    return _SECTION.sub("", text) if "gsd:section" in text else text


# --- how commands are spelled


@lru_cache(maxsize=16)
def _known(stems: frozenset[str], start: str) -> re.Pattern[str]:
    """`start` and a command of the pack, not a part of a longer name."""
    names = "|".join(re.escape(s) for s in sorted(stems, key=lambda s: (-len(s), s))) or "(?!)"
    return re.compile(rf"{start}({names})(?![\w-])")


def known_hyphen(text: str, stems: frozenset[str]) -> str:
    """`gsd:help` -> `gsd-help`, for the commands of the pack."""
    return _standing(_known(stems, "gsd:"), lambda m: f"gsd-{m[1]}", text, _word)


def known_skill(text: str, stems: frozenset[str]) -> str:
    """`/gsd:help`, `/gsd-help`, `gsd:help` -> `/skill:gsd-help`, for the commands of the pack."""
    text = _standing(_known(stems, "/gsd[:-]"), lambda m: f"/skill:gsd-{m[1]}", text, _open)
    return _standing(_known(stems, "gsd:"), lambda m: f"/skill:gsd-{m[1]}", text, _open)


def known_colon(text: str, stems: frozenset[str]) -> str:
    """`/gsd-help` -> `/gsd:help`, for the commands of the pack."""
    return _standing(_known(stems, "/gsd-"), lambda m: f"/gsd:{m[1]}", text, _open)


_ANY_CASE = re.compile("gsd:", re.IGNORECASE)
_ANY_BUT_MARKERS = re.compile(r"gsd:|(?<!<!-- )GSD:")
_TYPED = re.compile(r"/gsd:(?=[a-z])")
_DOLLAR_COLON = re.compile(r"/gsd:([A-Za-z][\w-]*)")
_DOLLAR_HYPHEN = re.compile(r"/gsd-([a-z][\w-]*)(?![\w/-])")


def typed_hyphen(text: str) -> str:
    """`/gsd:anything` -> `/gsd-anything`."""
    return _TYPED.sub("/gsd-", text)


def slash_hyphen(text: str) -> str:
    """Every `/gsd:` -> `/gsd-`."""
    return text.replace("/gsd:", "/gsd-")


def every_hyphen(text: str) -> str:
    """Every `gsd:` -> `gsd-`."""
    return text.replace("gsd:", "gsd-")


def every_hyphen_in_hooks(text: str) -> str:
    """Every `gsd:` -> `gsd-` in a hook script, in whatever case; so its messages start as the pack's own
    installer makes them start."""
    return _ANY_CASE.sub("gsd-", text)


def every_hyphen_but_markers(text: str) -> str:
    """As in hooks, but not in `<!-- GSD:name-start -->`: the pack's tool finds its sections by these, also in
    files that another host made."""
    return _ANY_BUT_MARKERS.sub("gsd-", text)


def dollar(text: str) -> str:
    """`/gsd:help` and `/gsd-help` -> `$gsd-help`, but no part of a path."""
    text = _DOLLAR_COLON.sub(lambda m: "$gsd-" + m[1].lower(), text)
    return _standing(_DOLLAR_HYPHEN, lambda m: "$gsd-" + m[1], text, _open)


# --- words of the host


def arguments(text: str, name: str) -> str:
    """`$ARGUMENTS` -> `name`, for hosts that fill in nothing."""
    return _ARGUMENTS.sub(_always(name), text)


@lru_cache(maxsize=64)
def _ending(name: str, end: str) -> re.Pattern[str]:
    return re.compile(re.escape(name) + end)


def at_start_of_path(text: str, old: str, new: str) -> str:
    """`old` -> `new` where a path starts with it."""
    return _standing(_ending(old, ""), _always(new), text, _start_of_path) if old in text else text


def words(text: str, table: Mapping[str, str]) -> str:
    """Whole words by the table."""
    return _each(text, table, r"(?!\w)")


def calls(text: str, table: Mapping[str, str]) -> str:
    """Names of tools before a `(` by the table."""
    return _each(text, table, r"(?=\()")


def _each(text: str, table: Mapping[str, str], end: str) -> str:
    for old, new in table.items():
        if old in text:
            text = _standing(_ending(old, end), _always(new), text, _word)
    return text


def general_agent(text: str, name: str) -> str:
    """The general purpose sub-agent by the host's own name."""
    return text.replace(_GENERAL, f'subagent_type="{name}"')


def brand(text: str, name: str) -> str:
    """`Claude Code` -> `name`, but not where hosts are told apart."""
    return outside_facts(text, lambda part: brand_everywhere(part, name))


def brand_everywhere(text: str, name: str) -> str:
    """`Claude Code` -> `name`."""
    return _standing(_BRAND, _always(name), text, _word)


def without_known_fault(text: str) -> str:
    """Without the passages on a fault of Claude Code that another host does not have."""
    return _KNOWN_FAULT.sub("", text) if _FAULT in text else text


def branded(text: str, rewrites: Iterable[tuple[str, str]]) -> str:
    """Literal rewrites of a descriptor; a name is not looked for inside a longer word."""
    for old, new in rewrites:
        if old[:1].isalnum():
            text = _standing(_ending(old, ""), _always(new), text, _word)
        else:
            text = text.replace(old, new)
    return text


def outside_facts(text: str, change: Callable[[str], str]) -> str:
    """`change` applied to all but the `<runtime_compatibility>` passages."""
    done: list[str] = []
    last = 0
    for match in _FACTS.finditer(text):
        done += [change(text[last : match.start()]), match[0]]
        last = match.end()
    return "".join((*done, change(text[last:])))


def neutral(text: str, instruction_file: str) -> str:
    """`Claude` as the reader -> `the agent`; the project's instruction file by the host's name."""
    text = _standing(_READER, _always("the agent"), _NOT_THE_FILE.sub("", text), _word)
    return text.replace(_SOURCE_FILE, instruction_file)


def without_clear(text: str) -> str:
    """Without `/clear then:`, for hosts that have no such command."""
    return _CLEAR_FIRST.sub("", text) if "/clear" in text else text


def emphasised(text: str) -> str:
    """`<sub>aside</sub>` -> `*(aside)*`, for hosts whose terminal shows no such tag."""
    return _ASIDE.sub(r"*(\1)*", text)


def stamp_runtime(text: str, runtime_id: str, *, worktrees: bool) -> str:
    """Defaults that a workflow falls back to when the project's config is silent: which host it runs on and,
    where the host isolates no agent in a work tree, that work trees are off."""
    text = text.replace(
        _RUNTIME_QUERY, f'config-get runtime --default {runtime_id} --raw 2>/dev/null || echo "{runtime_id}"'
    )
    if worktrees:
        return text
    return text.replace(
        _WORKTREE_QUERY,
        'config-get workflow.use_worktrees --default false --raw 2>/dev/null || echo "false"',
    )
