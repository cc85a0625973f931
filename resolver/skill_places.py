"""Where a target's skills go when its manifest asks for another place than its host's descriptor names.

A folder that hosts share shows them all the same skills; a host may then list a skill twice.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..capabilities.errors import input_error
from ..capabilities.model import LayoutEntry, Runtime, SkillPlace
from ..capabilities.vocabulary import LayoutKind
from .manifest import SkillsOption, TargetEntry


def with_skills(runtime: Runtime, entry: TargetEntry) -> Runtime:
    """The runtime as the target wants it: see `SkillsOption`.

    Raises `GsdlockError` E-SKILLS-OWN (status 3) where the host reads no folder of its own at that place.
    """
    layout = runtime.artifact_layout[entry.scope]
    if entry.skills is SkillsOption.NONE:
        others = tuple(e for e in layout if e.kind is not LayoutKind.SKILLS)
        return _with(runtime, entry.scope, others, None)
    if entry.skills is SkillsOption.OWN:
        native = runtime.native_skills.get(entry.scope)
        own = tuple(replace(e, home=None) if _shared(e) else e for e in layout)
        places = [e.dest_subpath for e in layout if _shared(e)]
        places += [native.dest_subpath] if native is not None and native.home is not None else []
        read = {f for group in runtime.skills_read.get(entry.scope, ()) for f in group}
        for place in places:
            if not read & {f"{{config}}/{place}", f"{{config}}/{place}/**"}:
                raise input_error(
                    "E-SKILLS-OWN",
                    f"targets.{entry.name}.skills: {runtime.id} reads no folder of skills of its own",
                    'Take the key out, or leave the skills out: skills = "none".',
                )
        return _with(runtime, entry.scope, own, replace(native, home=None) if native is not None else None)
    return runtime


def _shared(entry: LayoutEntry) -> bool:
    return entry.kind is LayoutKind.SKILLS and entry.home is not None


def _with(
    runtime: Runtime, scope: str, layout: tuple[LayoutEntry, ...], native: SkillPlace | None
) -> Runtime:
    places = {s: p for s, p in {**runtime.native_skills, scope: native}.items() if p is not None}
    return replace(runtime, artifact_layout={**runtime.artifact_layout, scope: layout}, native_skills=places)
