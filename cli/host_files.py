"""The rules that hosts have for their files: given to a transaction, and told where a file breaks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lockfiles.model import EditFormat
    from ..store.records import Generation
    from ..store.survey import TargetChange
    from ..store.wanted import Validator
    from .session import Session

_MOST_TOLD = 5


def with_host_rules(session: Session, changes: Sequence[TargetChange]) -> list[TargetChange]:
    """The changes with the judges of their shared files, of those too that a target leaves."""
    from msgspec.structs import replace

    found = []
    for change in changes:
        current = session.store.generations.current(change.slug)
        files = {e.key: e.format for e in (current.edited if current is not None else ())}
        files |= {e.key: e.format for e in (change.next.edits if change.next is not None else ())}
        known = change.next or current
        if files and known is not None:
            change = replace(change, validators=_validators(session, known.runtime, known.scope, files))
        found.append(change)
    return found


def broken_files(session: Session, generations: Sequence[Generation]) -> list[str]:
    """A line for each shared file that its host does not take as it stands: since no apply makes it so, that
    is the work of others, and it may keep our entries from being read."""
    from ..store.edits.types import EditFault
    from ..store.objections import objection_text
    from ..store.states import disk_bytes

    lines = []
    for generation in generations:
        files = {e.key: e.format for e in generation.edited if e.entries}
        validators = _validators(session, generation.runtime, generation.scope, files)
        for record in generation.edited:
            judge = validators.get(record.key) if record.entries else None
            data = disk_bytes(session.store, record.real) if judge is not None else None
            if judge is None or data is None:
                continue
            try:
                against = [objection_text(o) for o in judge(None, data)]
            except EditFault:
                continue
            lines += [
                f"{generation.target}: {generation.runtime} may not read {record.real}, "
                f"and not by our doing: {why}"
                for why in against[:_MOST_TOLD]
            ]
    return lines


def _validators(
    session: Session, runtime: str, scope: str, files: dict[str, EditFormat]
) -> dict[str, Validator]:
    from ..capabilities.errors import GsdlockError
    from ..store.host_rules import host_validators

    try:
        host = session.registry.runtime(runtime) if files else None
    except GsdlockError:  # an overlay that is not there any more: nobody knows its rules
        return {}
    return host_validators(host, scope, files, session.store.editors) if host is not None else {}
