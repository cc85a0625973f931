"""Hosts that read Markdown with a name and a description: Cursor, Windsurf, Augment, Trae, CodeBuddy, Cline.

Their skills and agents differ in the words of the body (the dialect) and in a few lines of front matter.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from ...capabilities.errors import input_error, shown
from . import dialects, frontmatter, headers, names, steps
from .context import ConvertContext
from .dialects import Dialect
from .phrases import Phrase
from .speech import speak

_SHORT: Final = 180
_LONG: Final = 1024
_WORKFLOW_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")


def _skill(
    text: str,
    context: ConvertContext,
    dialect: Dialect,
    limit: int = _SHORT,
    header: Phrase | None = None,
    more: tuple[str, ...] = (),
    gap: bool = True,
    tilde: bool = False,
) -> str:
    """`gap`: one empty line between the front matter and the body, whatever the source has there. `tilde` as
    in `speak`."""
    document = frontmatter.split(speak(text, dialect, context, tilde=tilde))
    lines = [
        f"name: {frontmatter.plain(context.name)}",
        f"description: {frontmatter.quoted(_description(document.front, context, limit))}",
        *more,
    ]
    head = frontmatter.block(lines)
    if header is not None:
        head += f"\n{headers.skill_header(header, context)}\n"
    return f"{head}\n{document.body.lstrip()}" if gap else head + document.body


def _agent(text: str, context: ConvertContext, dialect: Dialect) -> str:
    document = frontmatter.split(speak(steps.drop_sections(text), dialect, context))
    given = frontmatter.fields(document.front)
    name = context.called(given)
    lines = [
        f"name: {frontmatter.plain(name)}",
        f"description: {frontmatter.quoted(frontmatter.description(given, name))}",
    ]
    return frontmatter.block(lines) + document.body


def _description(front: str | None, context: ConvertContext, limit: int) -> str:
    return frontmatter.clipped(frontmatter.description(frontmatter.fields(front), context.name), limit)


def cursor_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Cursor."""
    return _skill(text, context, dialects.CURSOR, header=Phrase.CURSOR_HEADER)


def cursor_agent(text: str, context: ConvertContext) -> str:
    """An agent of Cursor."""
    return _agent(text, context, dialects.CURSOR)


def windsurf_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Windsurf."""
    return _skill(text, context, dialects.WINDSURF, header=Phrase.WINDSURF_HEADER)


def windsurf_agent(text: str, context: ConvertContext) -> str:
    """An agent of Windsurf."""
    return _agent(text, context, dialects.WINDSURF)


def windsurf_workflow(text: str, context: ConvertContext) -> str:
    """A command as a workflow of Windsurf: a short file that points at the body, which the payload carries.

    Raises E-CONVERT-NAME where the name cannot name a workflow.
    """
    if not _WORKFLOW_NAME.fullmatch(context.name) or not _WORKFLOW_NAME.fullmatch(context.stem):
        raise input_error(
            "E-CONVERT-NAME",
            f"The command {shown(context.stem)} cannot be a workflow: its name must be 1 to 128 characters "
            "of a-z, 0-9 and -.",
            "Rename the command in its pack, or leave its feature out for this target.",
        )
    document = frontmatter.split(speak(text, dialects.WINDSURF, context))
    otherwise = (
        f"Read @~/.claude/gsd-core/commands/gsd/{context.stem}.md and do all that it says. "
        f"What the user wrote after /{context.name} are its arguments.\n"
    )
    said = context.said(Phrase.WINDSURF_WORKFLOW, otherwise, name=context.name, stem=context.stem)
    description = _description(document.front, context, _SHORT)
    return f"# {context.name}\n\n{description}\n\n{_homely(said, context)}"


def _homely(text: str, context: ConvertContext) -> str:
    """`text` with paths of the target that its reader finds from `$HOME`."""
    return names.name_paths(text, replace(context.directory, tilde=context.directory.home))


def augment_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Augment."""
    return _skill(text, context, dialects.AUGMENT, header=Phrase.AUGMENT_HEADER)


def augment_command(text: str, context: ConvertContext) -> str:
    """A command as a command file of Augment: its own front matter in the host's words."""
    document = frontmatter.split(speak(text, dialects.AUGMENT, context))
    if document.front is None:
        return document.body
    return f"---\n{frontmatter.legal(document.front)}\n---{document.body}"


def augment_agent(text: str, context: ConvertContext) -> str:
    """An agent of Augment."""
    return _agent(text, context, dialects.AUGMENT)


def trae_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Trae; `soloStageMetadata` says in which stage the host offers it."""
    stage = context.runtime.host_behaviors.get("soloStageMetadata")
    more = (f"stage: {frontmatter.plain(str(stage))}",) if stage else ()
    return _skill(text, context, dialects.TRAE, more=more, gap=False, tilde=True)


def trae_agent(text: str, context: ConvertContext) -> str:
    """An agent of Trae."""
    return _agent(text, context, dialects.TRAE)


def codebuddy_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of CodeBuddy, for the model only: the user calls the command of the same name."""
    return _skill(text, context, dialects.CODEBUDDY, more=("user-invocable: false",), gap=False)


def codebuddy_command(text: str, context: ConvertContext) -> str:
    """A command as a command file of CodeBuddy: its file name is its name."""
    document = frontmatter.split(speak(text, dialects.CODEBUDDY, context))
    lines = [f"description: {frontmatter.quoted(_description(document.front, context, _SHORT))}"]
    if hint := frontmatter.text_of(frontmatter.fields(document.front).get("argument-hint")):
        lines.append(f"argument-hint: {frontmatter.quoted(hint)}")
    return frontmatter.block(lines) + document.body.lstrip()


def codebuddy_agent(text: str, context: ConvertContext) -> str:
    """An agent of CodeBuddy."""
    return _agent(text, context, dialects.CODEBUDDY)


def cline_skill(text: str, context: ConvertContext) -> str:
    """A command as a skill of Cline."""
    return _skill(text, context, dialects.CLINE_SKILL, limit=_LONG, gap=False)


def cline_agent(text: str, context: ConvertContext) -> str:
    """An agent of Cline."""
    return _agent(text, context, dialects.CLINE)
