"""Signatures of locks and folders, made and checked by `ssh-keygen -Y` as git does for commits.

The message of a lock is the lock itself, with LF line ends, so that `ssh-keygen` alone can check it too. The
message of a folder is `gsdlock tree sha256:…` and a line end, with the digest that a lock pins a pack or an
overlay by. Who may sign stands in an allowed-signers file: ssh-keygen(1), ALLOWED SIGNERS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...capabilities.errors import GsdlockError, input_error, missing, refused, shown
from .base import Completed, ProcessRunner

NAMESPACE = "gsdlock"
"""What a signature is for: one that was made for git or for a file is not one for us."""

MOST_SIGNATURE_BYTES = 64 * 1024
_SECONDS = 60.0
_MOST_OUTPUT = 1 << 20
_MOST_PRINCIPALS = 100
# Signing may need the agent that holds the key, and the program by which it asks.
_VARIABLES = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY")


@dataclass(frozen=True, slots=True)
class Signer:
    """Whose good signature it is: a principal of the allowed-signers file, and the fingerprint of the key."""

    principal: str
    key: str


@dataclass(frozen=True, slots=True)
class Keygen:
    """The `ssh-keygen` of the machine: its path, how it is run, and the variables that it gets."""

    processes: ProcessRunner
    path: str
    variables: Mapping[str, str]

    def run(self, words: Sequence[str], message: bytes) -> Completed:
        """Run it with a message on its standard input."""
        return self.processes.run(
            [self.path, "-Y", *words],
            cwd="/",
            env=self.variables,
            timeout=_SECONDS,
            limit=_MOST_OUTPUT,
            stdin=message,
        )


def find_keygen(processes: ProcessRunner, variables: Mapping[str, str]) -> Keygen:
    """The machine's ssh-keygen. Raises E-SSH-KEYGEN-ABSENT (status 5)."""
    path = processes.find("ssh-keygen", variables.get("PATH", ""))
    if path is None:
        raise missing(
            "E-SSH-KEYGEN-ABSENT",
            "signatures are made and checked by ssh-keygen, and there is none on PATH",
            "Install OpenSSH 8.9 or newer.",
        )
    return Keygen(processes, path, {k: variables[k] for k in _VARIABLES if variables.get(k)})


def lock_message(data: bytes) -> bytes:
    """What is signed of a lock: its bytes as gsdlock writes them, whatever line ends a checkout has."""
    return data.replace(b"\r\n", b"\n")


def folder_message(digest: str) -> bytes:
    """What is signed of a folder. `digest` is that of its tree, `sha256:…`."""
    return f"gsdlock tree {digest}\n".encode()


def sign(keygen: Keygen, message: bytes, key: str) -> bytes:
    """The signature, armoured. `key` is the full path of a private key, or of a public one whose private
    half an agent holds. Raises E-SIGN-FAILED (status 3)."""
    done = keygen.run(["sign", "-q", "-n", NAMESPACE, "-f", key], message)
    if done.status != 0 or not done.out.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise input_error(
            "E-SIGN-FAILED",
            f"ssh-keygen cannot sign with {shown(key, 400)}",
            "It needs a private key without a passphrase, or one that a running ssh-agent holds.",
            details=_words(done),
        )
    return done.out


def verify(keygen: Keygen, message: bytes, signature: str, signers: str, what: str) -> Signer:
    """Whose good signature of `message` it is. `signature` and `signers` are full paths of files; `what`
    names what is signed. Raises E-SIGNATURE-BAD (status 4)."""
    found = keygen.run(["find-principals", "-s", signature, "-f", signers], b"")
    principals = found.out.decode("utf-8", "replace").splitlines() if found.status == 0 else []
    if not principals:
        raise _bad(what, f"no key in {shown(signers, 400)} made it", found)
    last = found
    for principal in principals[:_MOST_PRINCIPALS]:
        if principal.startswith("-"):
            continue
        words = ["verify", "-n", NAMESPACE, "-I", principal, "-s", signature, "-f", signers]
        last = keygen.run(words, message)
        if last.status == 0:
            key = re.search(rb"\b(SHA256:[A-Za-z0-9+/=]+)", last.out)
            return Signer(principal, key.group(1).decode("ascii") if key else "")
    raise _bad(what, "it is of other bytes, for another purpose, or of a key that does not count", last)


def _bad(what: str, why: str, done: Completed) -> GsdlockError:
    return refused(
        "E-SIGNATURE-BAD",
        f"the signature of {shown(what, 400)} is not good: {why}",
        "Nothing was written. Ask whoever signs, and look at what changed since: gsdlock diff.",
        details=_words(done),
    )


def _words(done: Completed) -> list[str]:
    return [shown(line, 200) for line in done.err.decode("utf-8", "replace").splitlines()[:3]]
