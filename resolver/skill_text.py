"""A SKILL.md of a pack, made readable for hosts whose loaders are strict, and otherwise left alone.

A host drops, mostly without a word, a skill whose front matter it cannot read. What a host asks for is its
`skillNeeds` axis; a text that meets it keeps its bytes. Only the lines that stand in the way are rewritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from ..capabilities.vocabulary import SkillNeed

_BOM = "\ufeff"
_FENCE = re.compile(r"---[ \t]*\n")
_BLOCK = re.compile(r"---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_SCALAR = re.compile(r"([A-Za-z0-9_][\w.-]*):[ \t]+(\S.*?)[ \t]*")
_MOST_DESCRIPTION = 1024


def readable(text: str, name: str, needs: Collection[SkillNeed]) -> str:
    """`text` so that a host with those needs lists the skill `name` (the name of its folder).

    A missing description is taken from the first line of prose, or is the name.
    """
    if SkillNeed.NO_BOM in needs:
        text = text.removeprefix(_BOM)
    if not needs or set(needs) == {SkillNeed.NO_BOM}:
        return text
    mark = _BOM if text.startswith(_BOM) else ""
    block = _BLOCK.match(text.removeprefix(mark))
    if block is None:
        if SkillNeed.FRONTMATTER not in needs:
            return text
        body = text.removeprefix(mark)
        head = [f"name: {name}", f"description: {json.dumps(_described(body, name), ensure_ascii=False)}"]
        return "---\n" + "\n".join(head) + "\n---\n\n" + body.lstrip("\n")
    lines = (block.group(1) or "").splitlines()
    body = text.removeprefix(mark)[block.end() :]
    mended = _mended(lines, name, body, needs)
    if mended == lines:
        return text
    return mark + "---\n" + "\n".join(mended) + "\n---\n" + body


def _mended(lines: list[str], name: str, body: str, needs: Collection[SkillNeed]) -> list[str]:
    if SkillNeed.STRICT_YAML in needs and not _parses(lines):
        lines = [_quoted(line) for line in lines]
    values = _values(lines)
    if SkillNeed.NAME in needs and not values.get("name"):
        lines = [f"name: {name}", *_without("name", lines)]
    description = values.get("description", "")
    if SkillNeed.DESCRIPTION in needs and not description:
        said = json.dumps(_described(body, name), ensure_ascii=False)
        lines = [*_without("description", lines), f"description: {said}"]
    if SkillNeed.DESCRIPTION_1024 in needs and len(description) > _MOST_DESCRIPTION:
        cut = description[: _MOST_DESCRIPTION - 1].rstrip() + "…"
        lines = [*_without("description", lines), f"description: {json.dumps(cut, ensure_ascii=False)}"]
    return lines


def _parses(lines: list[str]) -> bool:
    """Whether a YAML parser reads the block as a mapping, with name and description (where given) as text:
    hosts drop a skill whose description is a number or a date."""
    import yaml

    try:
        data = yaml.safe_load("\n".join(lines))
    except (yaml.YAMLError, ValueError, RecursionError):
        return False
    if not isinstance(data, dict):
        return False
    return all(data.get(key) is None or isinstance(data[key], str) for key in ("name", "description"))


def _quoted(line: str) -> str:
    """A `key: value` line with its value as a quoted string, unless the line parses by itself."""
    match = _SCALAR.fullmatch(line)
    if match is None or _parses([line]):
        return line
    value = match.group(2)
    if value[0] in "\"'":
        value = value.strip(value[0])
    return f"{match.group(1)}: {json.dumps(value, ensure_ascii=False)}"


def _values(lines: list[str]) -> dict[str, str]:
    """The scalars of the block as text: by a YAML parser, or line by line where it cannot read them."""
    import yaml

    try:
        data = yaml.safe_load("\n".join(lines))
    except (yaml.YAMLError, ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        return {
            str(k): "" if v is None else str(v) for k, v in data.items() if not isinstance(v, (dict, list))
        }
    return {m.group(1): m.group(2).strip("\"'") for m in map(_SCALAR.fullmatch, lines) if m}


def _without(key: str, lines: list[str]) -> list[str]:
    """The block without an entry: its line and the indented ones that belong to it."""
    kept: list[str] = []
    inside = False
    for line in lines:
        if line[:1] not in (" ", "\t", ""):
            inside = line.startswith(f"{key}:")
        if not inside:
            kept.append(line)
    return kept


def _described(body: str, name: str) -> str:
    """The first line of prose of a body, at most 1024 characters, or the name."""
    prose = (line.strip() for line in body.splitlines())
    first = next((p for p in prose if p and not p.startswith(("#", "```", "---", "<!--", "|"))), name)
    return first if len(first) <= _MOST_DESCRIPTION else first[: _MOST_DESCRIPTION - 1] + "…"
