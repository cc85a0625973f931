"""Write a gsdlock.toml from the hosts found on this machine.

The file gets the starter pack (or the pack that --npm or --path names) and a target of global scope for every
host whose config home exists. It is written here, or as your own user-level manifest with --user. An existing
file is never replaced.

example: gsdlock init --npm "@opengsd/gsd-core"
"""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from .render import Outcome

if TYPE_CHECKING:
    from .session import Session


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--npm", metavar="NAME", help="an npm package as the pack, instead of the starter pack")
    what.add_argument("--path", metavar="FOLDER", help="a folder as the pack, instead of the starter pack")
    parser.add_argument("--user", action="store_true", help="write the user-level manifest")
    parser.add_argument(
        "--runtime", metavar="ID", action="append", help="this host, found or not; repeatable"
    )


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Write the manifest. See the module's text.

    Raises `GsdlockError`: E-USAGE, E-INIT-EXISTS, E-RUNTIME-UNKNOWN.
    """
    from ..capabilities.errors import refused
    from ..resolver.finding import MANIFEST_NAME, user_manifest
    from .runtimes import describe
    from .session import write_file

    pack = _pack(options)
    if options.manifest is not None:
        path = os.path.abspath(options.manifest)
    elif options.user:
        path = user_manifest(session.environment.folders.config)
    else:
        path = os.path.join(session.environment.cwd, MANIFEST_NAME)
    if os.path.lexists(path):
        raise refused(
            "E-INIT-EXISTS", f"{path} exists already", "Change it by hand; it is yours.", where=path
        )
    registry = session.registry
    if options.runtime:
        found = sorted({registry.runtime(i).id for i in options.runtime})
    else:
        found = [i for i, runtime in registry.runtimes.items() if describe(session, runtime)["present"]]
    if options.user:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_file(path, _text(pack, found).encode("utf-8"))
    if options.user:
        os.chmod(path, 0o600)  # it speaks for the user, so it is refused where others can write it
    lines = [f"wrote {path}", f"targets: {', '.join(found) or 'none yet; add some'}"]
    lines.append("next: gsdlock resolve")
    return Outcome(0, {"manifest": path, "targets": found}, lines)


def _pack(options: argparse.Namespace) -> str:
    """The table of the pack. Raises `GsdlockError` E-USAGE for a value that no manifest may hold."""
    from ..capabilities.errors import hides, shown, usage_error

    for kind in ("npm", "path"):
        value: str | None = getattr(options, kind)
        if value is None:
            continue
        is_text = value.encode("utf-8", "replace").decode() == value
        if not value.strip() or hides(value) or not is_text:
            raise usage_error(
                "E-USAGE",
                f'--{kind} "{shown(value)}" is blank, or holds what no manifest may: bytes that are '
                "no UTF-8, a control character or a line end",
                "Name a pack that can be written down; a folder may be reached by a link of a plain name.",
            )
        # A JSON string of these characters is also a TOML basic string.
        return f"[packs.main]\n{kind} = {json.dumps(value, ensure_ascii=False)}\n"
    return '[packs.starter]\nbuiltin = "starter"\n'


def _text(pack: str, found: list[str]) -> str:
    targets = [f'\n[targets.{name}]\nscope = "global"\n' for name in found]
    if not targets:
        targets = [
            "\n# No host was found here. gsdlock runtimes lists all of them; a target looks like this:\n"
        ]
        targets.append('# [targets.claude]\n# scope = "global"\n')
    return pack + "".join(targets)
