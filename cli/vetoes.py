"""The confinement veto: no plan writes in a place that is nobody's to give away, whatever rules and people
say.

Judged with everything known of this machine, when all is planned and before anything is decided: a veto
denies every item of the plan, and the denials are written down.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..store.gate import Veto
    from ..store.survey import TargetChange
    from ..store.wanted import Wanted
    from .session import Session

CODE = "E-CONFINE-PLACE"


def confinement_veto(session: Session, changes: Sequence[TargetChange]) -> Veto | None:
    """The veto of the first target that would write where it may not; None where there is none.

    A third-party host writes only in folders of its own. Nothing that a project installs goes through a link
    into a repository, or out of the project to where shells, keys or the system live. What is only left
    (uninstall) takes out what is ours and is not judged.
    """
    from ..capabilities.errors import GsdlockError
    from ..store.gate import Veto

    for change in changes:
        if change.next is None:
            continue
        try:
            _judge(session, change.next)
        except GsdlockError as fault:
            if fault.code != CODE:
                raise
            return Veto(fault=fault)
    return None


def _judge(session: Session, wanted: Wanted) -> None:
    """Raises E-CONFINE-PLACE."""
    if wanted.runtime not in session.first_party:
        from ..resolver.overlay_roots import check_places

        check_places(
            _used(wanted),
            wanted.runtime,
            wanted.scope,
            session.registry,
            session.environment,
            wanted.project or os.path.dirname(wanted.manifest),
            exists=os.path.exists,
            real=os.path.realpath,
            shared=_shared(session, wanted),
        )
    elif wanted.scope == "local":
        from ..capabilities.errors import refused, shown
        from ..store.confinement import check_root_place, folded, within

        project = os.path.realpath(wanted.project)
        for path in _used(wanted).values():
            real = os.path.realpath(path)
            if ".git" in folded(real).split("/"):
                raise refused(
                    CODE,
                    f"{shown(path, 200)} cannot be written: it leads into a repository ({shown(real, 200)})",
                    "It is somebody else's link: git runs what lies there. Take it away.",
                    where=shown(path, 400),
                )
            if not within(real, project, fold=False):
                home = session.environment.home
                for place in dict.fromkeys((home, os.path.realpath(home) if home else None)):
                    check_root_place(
                        real,
                        place,
                        {},
                        what="written through a link of a project",
                        fix=f"It is somebody else's link: look where {path} leads, and take it away.",
                    )


def _used(wanted: Wanted) -> dict[str, str]:
    """The roots that something of the plan goes to, by name."""
    names = {f.root for f in wanted.files} | {e.root for e in wanted.edits}
    return {name: path for name, path in wanted.roots.items() if name in names}


def _shared(session: Session, wanted: Wanted) -> Sequence[str]:
    """The hosts that the user lets a target share its folders with."""
    if session.manifest_path is None or session.manifest.path != wanted.manifest:
        return ()
    return next((t.share_roots for t in session.manifest.targets if t.name == wanted.target), ())
