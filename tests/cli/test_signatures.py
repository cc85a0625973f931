"""Signatures of locks and folders, with real keys and the real ssh-keygen."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Machine, PackMaker

KEYGEN = shutil.which("ssh-keygen")
pytestmark = pytest.mark.skipif(KEYGEN is None, reason="no ssh-keygen here (part of OpenSSH)")
MakeKey = Callable[[str], Path]


def keygen(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    assert KEYGEN is not None
    return subprocess.run([KEYGEN, *words], input=stdin, capture_output=True, check=False)


@pytest.fixture
def make_key(tmp_path: Path) -> MakeKey:
    """Makes a key of that name without a passphrase."""

    def make(name: str) -> Path:
        path = tmp_path / name
        assert keygen("-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)).returncode == 0
        return path

    return make


def allowed(machine: Machine, *keys: Path, options: str = "") -> Path:
    """An allowed-signers file that trusts these keys."""
    path = machine.root / "allowed_signers"
    path.write_text(
        "".join(f"{k.name}@example.org {options}{k.with_suffix('.pub').read_text()}" for k in keys)
    )
    path.chmod(0o600)
    return path


def trusting(machine: Machine, signers: Path, *, required: bool = True) -> None:
    text = f'[settings]\nallowed-signers = "{signers}"\n'
    machine.own(text + ("[policy]\nrequire-signature = true\n" if required else ""))


@pytest.fixture
def signed(machine: Machine, make_pack: PackMaker, make_key: MakeKey) -> Machine:
    """A project whose lock is signed by the key `mine`, which the user trusts and requires."""
    machine.manifest(f'[packs.own]\npath = "{make_pack()}"\n[targets.claude]\nscope = "local"\n')
    machine.ok("resolve")
    key = make_key("mine")
    ran = machine.ok("sign", "--key", str(key))
    assert "gsdlock.lock.sig" in ran.out
    trusting(machine, allowed(machine, key))
    return machine


def refused(machine: Machine, code: str, *words: str) -> None:
    before = machine.tree(machine.project)
    ran = machine.run("apply", "--allow", "critical", *words)
    assert ran.status == 4 and code in ran.err, ran.err
    assert machine.tree(machine.project) == before


def test_a_signed_lock_is_applied(signed: Machine) -> None:
    out = signed.ok("verify", "--signature").out
    assert "good signature of mine@example.org (SHA256:" in out
    signed.ok("apply", "--allow", "high")
    assert "nothing to do" in signed.ok("apply").out


def test_signers_without_a_signature_to_check_are_a_mistake(signed: Machine) -> None:
    ran = signed.run("verify", "--signers", str(signed.root / "allowed_signers"))
    assert ran.status == 2 and "--signature" in ran.err


def test_ssh_keygen_alone_can_check_it(signed: Machine) -> None:
    lock = signed.project / "gsdlock.lock"
    words = ["-n", "gsdlock", "-I", "mine@example.org", "-s", f"{lock}.sig"]
    done = keygen("-Y", "verify", *words, "-f", str(signed.root / "allowed_signers"), stdin=lock.read_bytes())
    assert done.returncode == 0, done.stderr


def test_line_ends_of_a_checkout_are_no_matter(signed: Machine) -> None:
    lock = signed.project / "gsdlock.lock"
    lock.write_bytes(lock.read_bytes().replace(b"\n", b"\r\n"))
    signed.ok("verify", "--signature")


def test_a_lock_without_a_signature_is_refused(signed: Machine) -> None:
    (signed.project / "gsdlock.lock.sig").unlink()
    refused(signed, "E-SIGNATURE-MISSING")


def test_a_signature_of_something_else_is_refused(signed: Machine, make_pack: PackMaker) -> None:
    make_pack("2.0.0")
    signed.ok("resolve")  # another lock, and the old signature beside it
    refused(signed, "E-SIGNATURE-BAD")


def test_a_key_that_nobody_trusts_is_refused(signed: Machine, make_key: MakeKey) -> None:
    signed.ok("sign", "--key", str(make_key("stranger")))
    refused(signed, "E-SIGNATURE-BAD")


@pytest.mark.parametrize(
    "options", ['namespaces="git" ', 'valid-before="20200101" ', 'valid-after="29990101" ']
)
def test_the_options_of_allowed_signers_count(signed: Machine, options: str) -> None:
    allowed(signed, signed.root / "mine", options='namespaces="git,gsdlock" ')
    signed.ok("verify", "--signature")
    allowed(signed, signed.root / "mine", options=options)
    refused(signed, "E-SIGNATURE-BAD")


def test_a_signature_for_another_purpose_is_refused(signed: Machine) -> None:
    lock = signed.project / "gsdlock.lock"
    (signed.project / "gsdlock.lock.sig").unlink()
    assert keygen("-Y", "sign", "-n", "git", "-f", str(signed.root / "mine"), str(lock)).returncode == 0
    refused(signed, "E-SIGNATURE-BAD")


@pytest.mark.parametrize("rubbish", [b"", b"rubbish", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n"])
def test_what_is_no_signature_is_refused(signed: Machine, rubbish: bytes) -> None:
    (signed.project / "gsdlock.lock.sig").write_bytes(rubbish)
    refused(signed, "E-SIGNATURE-BAD")


def test_a_huge_signature_is_not_even_looked_at(signed: Machine) -> None:
    (signed.project / "gsdlock.lock.sig").write_bytes(b"x" * (1 << 20))
    refused(signed, "E-SIGNATURE-MISSING")


def test_a_stale_lock_is_not_renewed(signed: Machine) -> None:
    text = (signed.project / "gsdlock.toml").read_text()
    signed.manifest(text.replace('"local"', '"local"\nprofile = "core"'))
    before = signed.tree(signed.project)
    ran = signed.run("apply", "--allow", "critical")
    assert ran.status == 3 and "E-LOCK-STALE" in ran.err and "require-signature" in ran.err
    assert signed.tree(signed.project) == before


def test_no_quick_answer_and_no_override_goes_past_it(signed: Machine, make_pack: PackMaker) -> None:
    signed.ok("apply", "--allow", "high")
    own = (signed.home / ".config/gsdlock/gsdlock.toml").read_text()
    signed.own(f'{own}[dev-overrides]\nown = "{make_pack("2.0.0")}"\n')
    refused(signed, "E-DEV-OVERRIDE-LOCKED")
    signed.own(own)
    (signed.root / "allowed_signers").write_text("")
    refused(signed, "E-SIGNATURE-BAD")


def test_a_project_may_require_it_and_the_user_says_of_whom(signed: Machine) -> None:
    text = (signed.project / "gsdlock.toml").read_text()
    signed.manifest(text + "[policy]\nrequire-signature = true\n")
    signed.own("")
    before = signed.tree(signed.project)
    ran = signed.run("apply", "--allow", "high")
    assert ran.status == 3 and "E-SIGNERS-UNSET" in ran.err
    assert signed.tree(signed.project) == before
    trusting(signed, signed.root / "allowed_signers", required=False)
    signed.ok("apply", "--allow", "high")


def test_a_project_can_neither_switch_it_off_nor_say_whom_to_trust(signed: Machine) -> None:
    text = (signed.project / "gsdlock.toml").read_text()
    for more in ("[policy]\nrequire-signature = false\n", '[settings]\nallowed-signers = "/tmp/x"\n'):
        signed.manifest(text + more)
        refused(signed, "E-LAYER-PROJECT")


def test_signers_that_others_can_write_are_not_believed(signed: Machine) -> None:
    (signed.root / "allowed_signers").chmod(0o666)
    refused(signed, "E-USER-FILE-WRITABLE")


class TestFolders:
    def test_a_folder_is_signed_by_its_content(self, signed: Machine, make_pack: PackMaker) -> None:
        pack = make_pack(name="bundle")
        signed.ok("sign", str(pack), "--key", str(signed.root / "mine"))
        assert pack.with_name("bundle.sig").is_file()
        assert "good signature of mine@example.org" in signed.ok("verify", "--signature", str(pack)).out
        (pack / "skills/bundle/SKILL.md").write_text("changed")
        ran = signed.run("verify", "--signature", str(pack))
        assert ran.status == 4 and "E-SIGNATURE-BAD" in ran.err

    def test_a_signature_of_a_folder_is_none_of_a_lock(self, signed: Machine, make_pack: PackMaker) -> None:
        pack = make_pack(name="bundle")
        signed.ok("sign", str(pack), "--key", str(signed.root / "mine"))
        shutil.copy(pack.with_name("bundle.sig"), signed.project / "gsdlock.lock.sig")
        refused(signed, "E-SIGNATURE-BAD")


class TestSigning:
    def test_the_key_of_the_settings(self, signed: Machine) -> None:
        signed.own(f'[settings]\nsigning-key = "{signed.root / "mine"}"\n')
        (signed.project / "gsdlock.lock.sig").unlink()
        signed.ok("sign")
        signed.ok("verify", "--signature", "--signers", str(signed.root / "allowed_signers"))

    def test_without_a_key(self, signed: Machine) -> None:
        ran = signed.run("sign")
        assert ran.status == 2 and "E-SIGN-KEY" in ran.err

    def test_with_what_is_no_key(self, signed: Machine) -> None:
        before = signed.tree(signed.project)
        for key in (signed.root / "nothing", signed.project / "gsdlock.toml"):
            ran = signed.run("sign", "--key", str(key))
            assert ran.status == 3 and "E-SIGN-FAILED" in ran.err
        assert signed.tree(signed.project) == before

    def test_a_key_with_a_passphrase_does_not_hang(self, signed: Machine) -> None:
        key = signed.root / "guarded"
        assert keygen("-q", "-t", "ed25519", "-N", "secret", "-f", str(key)).returncode == 0
        ran = signed.run("sign", "--key", str(key))
        assert ran.status == 3 and "E-SIGN-FAILED" in ran.err

    def test_only_a_lock_is_signed_as_one(self, signed: Machine) -> None:
        ran = signed.run("sign", str(signed.project / "gsdlock.toml"), "--key", str(signed.root / "mine"))
        assert ran.status == 3 and "E-LOCK-" in ran.err


def test_without_ssh_keygen(signed: Machine, tmp_path: Path) -> None:
    """PATH without it, as on a machine without OpenSSH."""
    bare = tmp_path / "bin"
    bare.mkdir()
    signed.variables["PATH"] = str(bare)
    for words in (["sign", "--key", str(signed.root / "mine")], ["verify", "--signature"], ["apply"]):
        ran = signed.run(*words)
        assert ran.status == 5 and "E-SSH-KEYGEN-ABSENT" in ran.err, words
