"""A fresh clone with a hostile manifest and lock changes nothing outside of it without an explicit answer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gsdlock.lockfiles.model import Lock, Placement
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.write import lock_bytes
from msgspec import structs

from .conftest import Machine, PackMaker

STARTER = '[packs.starter]\nbuiltin = "starter"\n[targets.claude]\nscope = "global"\n'
LOOKING = [["resolve"], ["status"], ["diff"], ["history"], ["features"], ["apply", "--dry-run"]]


def lock_path(machine: Machine) -> Path:
    return machine.project / "gsdlock.lock"


def forged(machine: Machine, change: Callable[[Lock], Lock]) -> None:
    """Rewrite the lock as somebody would who can compute digests."""
    lock = read_lock(lock_path(machine).read_bytes(), "gsdlock.lock")
    lock_path(machine).write_bytes(lock_bytes(change(lock)))


def with_placement(lock: Lock, **values: str | int) -> Lock:
    """The lock with one more file, which the pack does not have."""
    (target,) = lock.targets
    first = target.placements[0]
    more = structs.replace(first, **values)
    assert isinstance(more, Placement)
    placements = tuple(sorted((*target.placements, more), key=lambda p: p.key))
    return structs.replace(lock, targets=(structs.replace(target, placements=placements),))


@pytest.fixture
def home(machine: Machine) -> Machine:
    """A machine whose user has a few files of their own."""
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude/settings.json").write_text('{ "model": "opus" } // mine\n')
    (machine.home / ".bashrc").write_text("# mine\n")
    return machine


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_looking_changes_nothing_in_the_home(home: Machine, words: list[str]) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    before = home.stamps(), home.tree()
    home.ok(*words)
    assert (home.stamps(), home.tree()) == before


def test_a_global_target_is_asked_about_item_by_item(home: Machine) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    before = home.tree()
    ran = home.run("apply")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err
    for item in ("config:skills/gsdlock/SKILL.md", "config:settings.json", "config:hooks/"):
        assert item in ran.err
    assert home.tree() == before


@pytest.mark.parametrize("risk", ["low", "moderate"])
def test_a_small_allow_does_not_let_it_out_of_the_project(home: Machine, risk: str) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    before = home.tree()
    assert home.run("apply", "--allow", risk).status == 4
    assert home.tree() == before


def test_a_policy_that_allows_everything_is_refused(home: Machine) -> None:
    home.manifest(STARTER + '[policy.trust-me]\nmatch = {}\naction = "allow"\n')
    before = home.tree()
    ran = home.run("apply")
    assert ran.status == 4 and "E-POLICY-PROJECT-ALLOW" in ran.err
    assert str(home.home / ".config/gsdlock/gsdlock.toml") in ran.err
    assert home.tree() == before


def test_an_allow_of_the_users_is_not_widened_by_a_project(home: Machine) -> None:
    """The user allows hooks; the project's files in the home are still asked about."""
    home.own('[policy.hooks]\nmatch = { op = "register-hook" }\naction = "allow"\n')
    home.manifest(STARTER)
    home.ok("resolve")
    before = home.tree()
    ran = home.run("apply")
    assert ran.status == 4 and "config:skills/gsdlock/SKILL.md" in ran.err
    assert home.tree() == before


@pytest.mark.parametrize(
    "path",
    ["../.bashrc", "skills/../../.bashrc", "/etc/cron.d/x", "..\\x", "a/\x1b[2J", "con", "c:/x"],
)
def test_a_path_that_leads_out_of_its_root(home: Machine, path: str) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    forged(home, lambda lock: with_placement(lock, path=path))
    before = home.tree()
    for words in (["apply", "--locked", "--allow", "critical"], ["apply", "--allow", "critical"], ["diff"]):
        ran = home.run(*words)
        assert "\x1b" not in ran.out + ran.err
        if words[0] == "apply" and ran.status == 0:
            # Without --locked the lock may be made again from the manifest: then the forged file is gone.
            assert path.encode() not in lock_path(home).read_bytes()
            home.ok("uninstall", "--allow", "critical")
        assert home.tree() == before


def test_a_file_that_the_pack_does_not_have(home: Machine) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    forged(home, lambda lock: with_placement(lock, path="skills/evil/SKILL.md", digest="sha256:" + "0" * 64))
    before = home.tree()
    ran = home.run("apply", "--locked", "--allow", "critical")
    assert ran.status in (3, 4, 5) and "skills/evil/SKILL.md" in ran.err
    assert home.tree() == before


def test_a_root_that_the_target_does_not_have(home: Machine) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    forged(home, lambda lock: with_placement(lock, root="hooks-home", path="x"))
    before = home.tree()
    assert home.run("apply", "--locked", "--allow", "critical").status in (3, 4, 5)
    assert home.tree() == before


def test_a_lock_that_was_edited_by_hand(home: Machine) -> None:
    home.manifest(STARTER)
    home.ok("resolve")
    text = lock_path(home).read_text()
    assert " 0644 " in text
    lock_path(home).write_text(text.replace(" 0644 ", " 0755 ", 1))
    before = home.tree()
    ran = home.run("apply", "--locked", "--allow", "critical")
    assert ran.status == 3 and "E-LOCK-DIGEST" in ran.err
    assert home.tree() == before


@pytest.mark.parametrize("leads_to", ["/etc/passwd", "../../../home/.bashrc"])
def test_a_link_in_a_pack_of_the_project(home: Machine, make_pack: PackMaker, leads_to: str) -> None:
    pack = make_pack()
    (pack / "skills/greet/notes.md").symlink_to(leads_to)
    home.manifest(
        f'[packs.own]\npath = "{os.path.relpath(pack, home.project)}"\n' + STARTER.split("\n", 2)[2]
    )
    before = home.tree()
    ran = home.run("apply", "--allow", "critical")
    assert ran.status == 4 and "E-PACK-LINK" in ran.err
    assert home.tree() == before


class TestUsersInstallation:
    """The clone calls its installation as the user's is called."""

    @pytest.fixture
    def before(self, home: Machine) -> dict[str, tuple[int, bytes | str]]:
        home.own(STARTER.replace("[targets.claude]", "[targets.claude]\nhooks = false"))
        (home.root / "elsewhere").mkdir()
        home.ok("apply", "--allow", "high", cwd=home.root / "elsewhere")
        found = home.tree()
        assert ".claude/skills/gsdlock/SKILL.md" in found
        return found

    def test_it_cannot_replace_it(self, home: Machine, before: object) -> None:
        home.manifest('name = "default"\n' + STARTER)
        ran = home.run("apply", "--allow", "critical")
        assert ran.status == 4 and "E-INSTALLATION-BOUND" in ran.err
        assert home.tree() == before

    @pytest.mark.parametrize(
        "words",
        [["apply"], ["uninstall"], ["rollback"], ["rollback", "0"], ["repair"]],
        ids=" ".join,
    )
    def test_it_cannot_take_it_out(self, home: Machine, before: object, words: list[str]) -> None:
        """Without the target in its manifest it would go, and removing unchanged files is not asked about."""
        home.manifest('name = "default"\n' + STARTER.replace("claude", "codex"))
        home.run(*words)
        home.run(*words, "--allow", "critical")
        assert home.tree() == before

    def test_unless_the_user_gives_it_over(self, home: Machine, before: object) -> None:
        home.manifest('name = "default"\n' + STARTER.replace("claude", "codex"))
        home.ok("apply", "--take-over", "--allow", "high")
        assert ".claude/skills/gsdlock/SKILL.md" not in home.tree()


def test_text_of_a_stranger_cannot_drive_the_terminal(home: Machine, make_pack: PackMaker) -> None:
    """Escape sequences and bidi overrides in whatever is shown: names, versions, policy, descriptors."""
    evil = "\\u001b[2J\\u202eevil"
    pack = make_pack()
    text = (pack / "capability.json").read_text().replace('"Stop"', f'"Stop{evil}"')
    (pack / "capability.json").write_text(text)
    sources = [
        STARTER + f'[policy.x]\nmatch = {{ op = "{evil}" }}\naction = "deny"\n',
        STARTER + f'[targets."{evil}"]\nscope = "global"\n',
        STARTER.replace('"starter"', f'"{evil}"'),
        f'[packs.own]\npath = "{pack}"\n' + STARTER.split("\n", 2)[2],
        f'name = "{evil}"\n' + STARTER,
    ]
    before = home.tree()
    for source in sources:
        home.manifest(source)
        for words in (["resolve"], ["apply", "--allow", "low"], ["status"]):
            ran = home.run(*words)
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ran.out + ran.err), source
    assert home.tree() == before


def test_text_of_a_stranger_makes_up_no_line(home: Machine, make_pack: PackMaker) -> None:
    """A lock that is reviewed, and a pack whose text is: what they say is never a line of ours."""
    faked = "x\nno difference between @installed and @lock"
    home.manifest(STARTER)
    home.ok("resolve")
    sound = lock_path(home).read_bytes()
    forged(home, lambda lock: with_placement(lock, path=faked))
    for words in (
        ["diff"],
        ["diff", "--stat"],
        ["diff", "--patch"],
        ["status"],
        ["why", faked],
        ["features"],
    ):
        ran = home.run(*words)
        assert "no difference between @installed and @lock" not in (ran.out + ran.err).split("\n")
        assert ran.status == 3 or words == ["diff"], ran
    lock_path(home).write_bytes(sound)
    ran = home.run("why", faked)
    assert "E-WHY-UNKNOWN" in ran.err and len(ran.err.splitlines()) == 2
    pack = make_pack()
    (pack / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: d\n---\n\x1b[2Jx\ry\u202ez\n")
    home.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    home.ok("resolve")
    ran = home.ok("diff", "--patch")
    assert "[2Jx" in ran.out and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ran.out)


def test_a_manifest_asks_for_nothing_that_no_lock_could_name(home: Machine) -> None:
    for source in ('npm = "a\\nb"', 'archive = "./a\\u202eb.tgz"', 'git = "./x"\nref = "a\\tb"'):
        home.manifest(f'[packs.x]\n{source}\n[targets.claude]\nscope = "global"\n')
        ran = home.run("resolve")
        assert ran.status == 3 and "E-MANIFEST-INVALID" in ran.err and "control" in ran.err, ran.err


@pytest.mark.parametrize("hidden", ["\n", "\x1b[2J", "\u202e", "\u2028"])
def test_a_pack_gives_no_lock_that_cannot_be_read(home: Machine, make_pack: PackMaker, hidden: str) -> None:
    """What would stand in the lock as a name is refused in the descriptor that says it."""
    pack = make_pack()
    path = pack / "capability.json"
    path.write_text(path.read_text().replace('"Stop"', json.dumps(f"Stop{hidden}x")))
    home.manifest(f'[packs.own]\npath = "{pack}"\n[targets.claude]\nscope = "global"\n')
    ran = home.run("resolve")
    assert ran.status == 3 and "E-DESCRIPTOR-INVALID" in ran.err and "/hooks/0/event" in ran.err
    assert not lock_path(home).exists()


# -- links that a clone can hold ----------------------------------------------------------------------------

LOCAL = '[packs.starter]\nbuiltin = "starter"\n[targets.claude]\nscope = "local"\nhooks = false\n'


def test_a_root_that_is_a_link_into_the_home_is_asked_about_item_by_item(home: Machine) -> None:
    home.manifest(LOCAL)
    (home.project / ".claude").symlink_to(home.home / ".claude")
    home.ok("resolve")
    before = home.tree()
    for risk in ("low", "moderate"):
        ran = home.run("apply", "--allow", risk)
        assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err
        assert "create config:skills/gsdlock/SKILL.md (high" in ran.err and "~/.claude/" in ran.err
    assert home.tree() == before


@pytest.mark.parametrize("place", [".ssh", ".config/autostart", ".local/bin", ".bashrc.d", "."])
def test_29_a_root_that_is_a_link_into_a_protected_place_is_vetoed(home: Machine, place: str) -> None:
    """No answer lets a clone in there: it would not be files that a host reads, but that a session starts."""
    home.own('[policy.all]\nmatch = {}\naction = "allow"\n')
    home.manifest(LOCAL)
    (home.home / place).mkdir(parents=True, exist_ok=True)
    (home.project / ".claude").symlink_to(home.home / place)
    home.ok("resolve")
    before = home.tree()
    for words in (["--allow", "critical"], ["--unsafe-auto-allow"], ["--partial", "--allow", "critical"]):
        ran = home.run("apply", *words)
        assert ran.status == 4 and "E-CONFINE-PLACE" in ran.err and "link of a project" in ran.err, ran.err
    assert home.tree() == before
    assert "hook-veto:confinement" in home.ok("log", "-v").out


@pytest.mark.parametrize("leads_to", [".git", ".GIT/hooks", "sub/.git"])
def test_29_a_root_that_is_a_link_into_a_repository_is_vetoed(home: Machine, leads_to: str) -> None:
    """Inside of the project, so no file of it would be asked about; git would run what lies there."""
    home.manifest(LOCAL)
    (home.project / leads_to).mkdir(parents=True)
    (home.project / ".claude").symlink_to(leads_to)
    home.ok("resolve")
    before = home.tree(home.project)
    for words in ([], ["--allow", "critical"]):
        ran = home.run("apply", *words)
        assert ran.status == 4 and "E-CONFINE-PLACE" in ran.err and "repository" in ran.err, ran.err
    assert home.tree(home.project) == before


ENDLESS = ["zeros", "a device", "a device for a lock", "zeros for a lock"]


@pytest.mark.parametrize("how", ENDLESS)
def test_a_file_without_end_is_not_read(home: Machine, how: str) -> None:
    """A file of zeros packs into nothing in a repository, and a link may lead to a device."""
    home.manifest(LOCAL)
    path = lock_path(home) if "lock" in how else home.project / "gsdlock.toml"
    path.unlink(missing_ok=True)
    if "zeros" in how:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    else:
        path.symlink_to("/dev/zero")
    before = home.tree()
    for words in (["resolve"], ["apply"], ["apply", "--locked"], ["status"]):
        ran = home.run(*words)
        assert ran.status in (0, 3) and "E-FAULT" not in ran.err, ran.err
        assert words == ["status"] or "E-FILE-READ" in ran.err
    assert home.tree() == before


@pytest.mark.parametrize("kind", ["packs", "targets", "overlays"])
def test_a_manifest_that_asks_for_more_than_ends(home: Machine, kind: str) -> None:
    """8,000 targets made resolve run for minutes; each costs little to write down."""
    body = {"targets": 'runtime = "claude"\nscope = "local"'}.get(kind, 'path = "./x"')
    home.manifest(STARTER + "".join(f"[{kind}.n{n}]\n{body}\n" for n in range(8000)))
    ran = home.run("apply", "--allow", "critical")
    assert ran.status == 3 and "at most 200 are read" in ran.err and len(ran.err) < 64_000


def test_a_root_in_the_project_is_not(home: Machine) -> None:
    """The same manifest with a link that stays inside: nothing leaves the project, nothing is asked."""
    home.manifest(LOCAL)
    (home.project / "kept").mkdir()
    (home.project / ".claude").symlink_to("kept")
    before = home.tree()
    home.ok("apply", "--allow", "moderate")
    assert (home.project / "kept/skills/gsdlock/SKILL.md").exists()
    assert home.tree() == before


@pytest.mark.parametrize("place", ["skills", "skills/gsdlock", "agents"])
def test_a_link_inside_a_root_is_not_followed(home: Machine, place: str) -> None:
    home.manifest(LOCAL)
    link = home.project / ".claude" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(home.home / ".claude")
    before = home.tree()
    ran = home.run("apply", "--allow", "critical")
    assert ran.status == 4 and "E-CONFINE-LINK" in ran.err
    assert home.tree() == before


@pytest.mark.parametrize("name", [".claude/skills/gsdlock/SKILL.md", ".claude/settings.local.json"])
def test_a_file_that_is_a_link_to_a_file_of_the_home(home: Machine, name: str) -> None:
    home.manifest(LOCAL.replace("hooks = false\n", ""))
    link = home.project / name
    link.parent.mkdir(parents=True)
    link.symlink_to(home.home / ".claude/settings.json")
    before = home.tree()
    ran = home.run("apply", "--allow", "moderate")
    assert ran.status == 4
    assert home.tree() == before


@pytest.mark.parametrize("led", ["root", "shared file"])
def test_an_allow_of_the_users_for_local_items_stays_in_the_project(home: Machine, led: str) -> None:
    """The user lets projects do what they like in their own folders; a link of a clone leads out of one."""
    home.own('[policy.local]\nmatch = { scope = "local" }\naction = "allow"\n')
    home.manifest(LOCAL.replace("hooks = false\n", ""))
    if led == "root":
        (home.project / ".claude").symlink_to(home.home / ".claude")
    else:
        (home.project / ".claude").mkdir()
        (home.project / ".claude/settings.local.json").symlink_to(home.home / ".claude/settings.json")
    before = home.tree()
    ran = home.run("apply")
    assert ran.status == 4 and "E-ASK-UNRESOLVED" in ran.err and "~/.claude/settings" in ran.err
    assert home.tree() == before
    (home.project / ".claude").unlink() if led == "root" else shutil.rmtree(home.project / ".claude")
    home.ok("apply")
    assert home.tree() == before


@pytest.mark.parametrize("words", [["resolve"], ["apply", "--allow", "critical"]], ids=" ".join)
@pytest.mark.parametrize("there", [False, True], ids=["dangling", "a former lock"])
def test_a_lock_that_is_a_link_out_of_the_project(home: Machine, words: list[str], there: bool) -> None:
    home.manifest(LOCAL)
    outside = home.home / "lock"
    if there:
        home.ok("resolve")
        lock_path(home).rename(outside)
        home.manifest(LOCAL.replace("hooks = false", 'hooks = false\nprofile = "core"'))
    lock_path(home).symlink_to(outside)
    before = home.tree()
    ran = home.run(*words)
    assert ran.status == 4 and "E-FILE-LINK" in ran.err
    assert home.tree() == before
    home.ok(*words, "--lock", str(outside))  # the user's own word for it


# -- sources that would run something, or read what they should not -----------------------------------------

SOURCES = [
    'git = "ext::sh -c \\"touch {marker}\\""',
    'git = "--upload-pack=touch {marker}"',
    'git = "ssh://-oProxyCommand=touch {marker}/x"',
    'git = "fd::7"',
    'git = "./bare"\nref = "--output={marker}"',
    'git = "./bare"\nsubdirectory = "../../home"',
    'git = "./bare"',
    'npm = "file:../home"',
    'npm = "--globalconfig={marker}"',
    'npm = "git+ssh://git@example.invalid/x"',
    'npm = "../home"',
    'archive = "file:///etc/passwd"',
    'archive = "../home/.bashrc"',
    'archive = "http://127.0.0.1:9/x.tgz"',
    'builtin = "../../home"',
    'path = "../home"',
    'path = "/proc/self"',
]


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_that_reaches_out(home: Machine, source: str) -> None:
    """A bare repository can lie in a clone, with a configuration that names programs."""
    marker = home.root / "marker"
    bare = home.project / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True, env=home.env())
    for name in ("post-checkout", "pre-receive", "post-upload-pack"):
        (bare / "hooks").mkdir(exist_ok=True)
        (bare / "hooks" / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (bare / "hooks" / name).chmod(0o755)
    with (bare / "config").open("a") as file:
        file.write(f'[core]\n\tfsmonitor = "touch {marker}"\n\tsshCommand = "touch {marker}"\n')
        file.write(f'[uploadpack]\n\tpackObjectsHook = "touch {marker}"\n')
        file.write(f'[filter "x"]\n\tsmudge = "touch {marker}"\n\trequired = true\n')
    home.manifest(f"[packs.evil]\n{source.format(marker=marker)}\n" + STARTER.split("\n", 2)[2])
    before = home.tree()
    for words in (["resolve"], ["apply", "--allow", "critical"]):
        ran = home.run(*words)
        assert ran.status in (3, 4, 5), ran.out
        assert not marker.exists()
    assert home.tree() == before


# -- what only the user may say -----------------------------------------------------------------------------

SAID = [
    '[dev-overrides]\nstarter = "/tmp"\n',
    '[settings]\nallowed-signers = "allowed"\n',
    '[settings]\nallowed-signers = "/p/allowed"\n',
    '[settings]\nsigning-key = "/p/key"\n',
    "[settings]\noffline = false\n",
    "[policy]\nrequire-signature = false\n",
    '[policy.a]\nmatch = { risk = "critical" }\naction = "allow"\n',
    "[settings]\nallow = 'critical'\n",
    "[policy]\nallow = 'critical'\n",
]


@pytest.mark.parametrize("said", SAID, ids=lambda s: " ".join(s.split()))
def test_a_word_that_is_not_the_projects_to_say(home: Machine, said: str) -> None:
    home.manifest(STARTER + said)
    before = home.tree()
    for words in (["resolve"], ["apply", "--allow", "low"]):
        ran = home.run(*words)
        assert ran.status in (3, 4)
        assert words == ["resolve"] or re.search("E-LAYER-PROJECT|E-MANIFEST-INVALID|E-POLICY-", ran.err)
    assert home.tree() == before


def test_a_name_that_is_the_users_file(home: Machine) -> None:
    """A project's manifest that is a link to the user's own does not speak for the user."""
    own = home.own(STARTER + '[policy.all]\nmatch = {}\naction = "allow"\n')
    (home.project / "gsdlock.toml").symlink_to(own)
    before = home.tree()
    ran = home.run("apply", "--allow", "low")
    assert ran.status == 4 and "E-POLICY-PROJECT-ALLOW" in ran.err
    assert home.tree() == before
