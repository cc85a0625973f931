"""Signatures as the verbs see them: what is signed, where the signature lies, whom the user trusts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..resolver.sources.signatures import Keygen, Signer
    from .session import Session


@dataclass(frozen=True, slots=True)
class Signed:
    """What is or can be signed: its path, the message that stands for it, and where its signature lies (empty
    where there is no such place). `otherwise` is what to do where there is none."""

    path: str
    message: bytes
    signature: str
    otherwise: str = "Look at it with gsdlock diff; whoever is trusted signs it with gsdlock sign."


def signed_thing(session: Session, place: str | None) -> Signed:
    """The lock of the manifest, or the lock or the folder at `place`.

    Raises `GsdlockError`: E-LOCK-MISSING, E-LOCK-…, E-PACK-… for what a folder may not hold.
    """
    from ..lockfiles.read import read_lock
    from ..resolver.sources.signatures import folder_message, lock_message
    from .session import read_file
    from .sides import lock_missing

    path = session.lock_path if place is None else os.path.join(session.environment.cwd, place)
    path = os.path.normpath(path)
    if os.path.isdir(path):
        return Signed(path, folder_message(_tree(path)), f"{path}.sig")
    data = read_file(path)
    if data is None:
        raise lock_missing(path, ours=place is None)
    read_lock(data, path)  # only a lock is signed as one
    return Signed(path, lock_message(data), f"{path}.sig")


def check_signature(session: Session, thing: Signed, signers: str | None = None) -> Signer:
    """Whose good signature the thing bears. `signers` names the allowed-signers file, else the setting does.

    Raises `GsdlockError`: as `check_bytes`.
    """
    from .session import read_file

    return check_bytes(session, thing, read_file(thing.signature) if thing.signature else None, signers)


def check_bytes(session: Session, thing: Signed, data: bytes | None, signers: str | None = None) -> Signer:
    """Whose good signature `data` is; None where there is none.

    Raises `GsdlockError`: E-SIGNATURE-MISSING, E-SIGNATURE-BAD, E-SIGNERS-UNSET, E-USER-FILE-…,
    E-SSH-KEYGEN-ABSENT.
    """
    import tempfile

    from ..capabilities.errors import refused, shown
    from ..resolver.sources.signatures import MOST_SIGNATURE_BYTES, verify

    allowed = _allowed(session, signers)
    if data is None or len(data) > MOST_SIGNATURE_BYTES:
        where = f": there is no {shown(thing.signature, 400)}" if thing.signature else ""
        raise refused(
            "E-SIGNATURE-MISSING",
            f"{shown(thing.path, 400)} bears no signature{where}",
            thing.otherwise,
            where=thing.signature,
        )
    # ssh-keygen reads both from files; copies in a folder of our own cannot be exchanged in between.
    with tempfile.TemporaryDirectory(prefix="gsdlock-") as folder:
        paths = []
        for name, content in (("signature", data), ("signers", allowed)):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "wb") as file:
                file.write(content)
        return verify(keygen_of(session), thing.message, paths[0], paths[1], thing.path)


def keygen_of(session: Session) -> Keygen:
    """The machine's ssh-keygen. Raises `GsdlockError` E-SSH-KEYGEN-ABSENT."""
    from ..resolver.sources.process import SystemProcesses
    from ..resolver.sources.signatures import find_keygen

    return find_keygen(SystemProcesses(), session.environment.variables)


def signing_key(session: Session, named: str | None) -> str:
    """The full path of the key to sign with. Raises `GsdlockError` E-SIGN-KEY (status 2)."""
    from ..capabilities.errors import usage_error
    from ..resolver.settings import expanded

    if named is not None:
        return os.path.join(session.environment.cwd, named)
    key = expanded(str(session.settings["signing-key"].value), session.environment.home)
    if not key:
        raise usage_error(
            "E-SIGN-KEY",
            "there is no key to sign with",
            "Name one with --key FILE, or as signing-key in [settings] of your own file.",
        )
    return key


def _allowed(session: Session, named: str | None) -> bytes:
    """What the allowed-signers file says. The user's setting speaks for the user: see `layers`."""
    from ..capabilities.errors import input_error
    from ..resolver.settings import expanded
    from .layers import read_own_file
    from .session import read_file

    if named is not None:
        path = os.path.join(session.environment.cwd, named)
        data = read_file(path)
    else:
        path = expanded(str(session.settings["allowed-signers"].value), session.environment.home)
        data = read_own_file(path, session.environment.user_id) if path else None
    if data is None:
        raise input_error(
            "E-SIGNERS-UNSET",
            f"there is no allowed-signers file {path}" if path else "nothing says whose signatures count",
            "Name a file as allowed-signers in [settings] of your own manifest, or with --signers FILE.",
        )
    return data


def _tree(path: str) -> str:
    from ..resolver.sources.base import Limits
    from ..resolver.sources.path import read_folder
    from ..resolver.sources.tree import listing_digest, tree_files

    return listing_digest(tree_files(read_folder(path, f"folder {path}", Limits()).contents))
