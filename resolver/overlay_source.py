"""The source of an overlay as a user writes it on the command line, in one word.

npm:NAME[@VERSION]                     an npm package
git+URL[#REF], URL.git[#REF], host:…   a git repository at a branch, tag or commit
https://….tgz (.tar.gz, .tar, .zip)    an archive; also a file of such a name
./folder, ../folder, ~/folder, /…      a folder
"""

from __future__ import annotations

import os

from ..capabilities.errors import hides, input_error, shown
from ..lockfiles.model import PackKind
from .manifest import PackEntry
from .specs import is_scp_like

_ARCHIVES = (".tgz", ".tar.gz", ".tar", ".zip")


def parse_source(
    text: str, *, cwd: str, ref: str = "", version: str = "", subdirectory: str = "", integrity: str = ""
) -> PackEntry:
    """The entry, without a name, that `text` stands for; a path becomes absolute, from `cwd`.

    Raises E-OVERLAY-SOURCE (status 3) where it is none of these, or an option does not go with it.
    """
    kind, spec, given = _kind(text, cwd)
    wanted_ref = ref or given.get("ref", "")
    wanted_version = version or given.get("version", "")
    extras = {"ref": ref, "version": version, "subdirectory": subdirectory, "integrity": integrity}
    allowed = {
        PackKind.NPM: ("version",),
        PackKind.GIT: ("ref", "subdirectory"),
        PackKind.ARCHIVE: ("subdirectory", "integrity"),
        PackKind.PATH: (),
    }[kind]
    if any(map(hides, (spec, wanted_ref, wanted_version, subdirectory, integrity))):
        raise input_error(
            "E-OVERLAY-SOURCE",
            f"{shown(text, 200)}, or an option that goes with it, holds a control character or a line end",
            "Neither a manifest nor a lock could name it: use a source of a plain name.",
        )
    wrong = [name for name, value in extras.items() if value and name not in allowed]
    if wrong:
        raise input_error(
            "E-OVERLAY-SOURCE",
            f"--{wrong[0]} does not go with {kind.value} sources such as {shown(text, 200)}",
            f"With {kind.value} go: {', '.join(f'--{n}' for n in allowed) or 'none'}.",
        )
    return PackEntry("", kind, spec, wanted_version, wanted_ref, subdirectory, integrity)


def _kind(text: str, cwd: str) -> tuple[PackKind, str, dict[str, str]]:
    if text.startswith("npm:"):
        name, mark, version = text[4:].rpartition("@")
        if not name:  # the only @ is that of a scope, or there is none
            name, mark, version = text[4:], "", ""
        return PackKind.NPM, name, {"version": version} if mark else {}
    url, _, ref = text.partition("#")
    if text.startswith("git+") or url.endswith(".git") or (is_scp_like(url) and not _is_path(url)):
        plain = url.removeprefix("git+")
        return PackKind.GIT, _absolute(plain, cwd) if _is_path(plain) else plain, {"ref": ref} if ref else {}
    if "://" in text:
        if text.startswith("https://") and url.endswith(_ARCHIVES):
            return PackKind.ARCHIVE, text, {}
        raise _unknown(text)
    if _is_path(text) or text in (".", "..", "~"):
        kind = PackKind.ARCHIVE if text.endswith(_ARCHIVES) else PackKind.PATH
        return kind, _absolute(text, cwd), {}
    raise _unknown(text)


def _is_path(text: str) -> bool:
    return text.startswith(("./", "../", "/", "~/"))


def _absolute(text: str, cwd: str) -> str:
    """A path from the home stays one: it is known only where it is read."""
    return text if text.startswith("~") else os.path.normpath(os.path.join(cwd, text))


def _unknown(text: str) -> Exception:
    return input_error(
        "E-OVERLAY-SOURCE",
        f"{shown(text, 200)} is not a source that gsdlock knows",
        "Write npm:NAME[@VERSION], git+URL[#REF], the https URL or path of an archive, or the path of a "
        "folder that begins with ./, ../, ~/ or /.",
    )
