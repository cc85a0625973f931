"""gsdlock.toml: found, read, and every fault told at once."""

from __future__ import annotations

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.lockfiles.model import PackKind
from gsdlock.resolver.finding import find_manifest, user_manifest
from gsdlock.resolver.manifest import read_manifest

ENVIRONMENT = Environment(
    variables={},
    home="/home/ada",
    cwd="/home/ada/work/team/sub",
    platform="linux",
    user_id=1000,
    folders=Folders("/home/ada/.config/gsdlock", "/d", "/s", "/c"),
    now=lambda: "2026-01-01T00:00:00.000Z",
)
CONFIG = ENVIRONMENT.folders.config
PATH = "/home/ada/work/team/gsdlock.toml"


def faults_of(text: str) -> list[str]:
    with pytest.raises(GsdlockError) as caught:
        read_manifest(text.encode(), PATH, ENVIRONMENT)
    assert caught.value.code == "E-MANIFEST-INVALID"
    return list(caught.value.details)


def test_a_whole_manifest() -> None:
    manifest = read_manifest(
        b"""
        name = "team"
        [packs.gsd]
        npm = "@opengsd/gsd-core"
        version = "^1.14"
        [packs.own]
        path = "../skills"
        [targets.claude]
        scope = "global"
        profile = "standard"
        enable = ["ui"]
        [targets.claude-local]
        runtime = "claude"
        scope = "local"
        packs = ["own"]
        hooks = false
        [policy.x]
        action = "ask"
        """,
        PATH,
        ENVIRONMENT,
    )
    assert (manifest.name, manifest.folder, manifest.of_user) == ("team", "/home/ada/work/team", False)
    gsd, own = manifest.packs
    assert (gsd.kind, gsd.requested) == (PackKind.NPM, "@opengsd/gsd-core@^1.14")
    assert own.requested == "path", "where a path pack lies is no business of the lock"
    claude, local = manifest.targets
    assert (claude.runtime, claude.profile, claude.enable) == ("claude", "standard", ("ui",))
    assert (local.runtime, local.profile, local.hooks) == ("claude", "full", False)
    assert manifest.packs_of(claude) == (gsd, own)
    assert manifest.packs_of(local) == (own,)
    assert manifest.policy == {"x": {"action": "ask"}}


def test_the_order_of_the_file_is_kept() -> None:
    text = "".join(f'[targets.{n}]\nscope = "global"\n' for n in ("zulu", "alpha", "mike"))
    manifest = read_manifest(text.encode(), PATH, ENVIRONMENT)
    assert [t.name for t in manifest.targets] == ["zulu", "alpha", "mike"]


FAULTS = [
    ("nam = 'x'", "did you mean name"),
    ("name = 'A b'", "lower-case"),
    ("[packs.a]", "exactly one of npm"),
    ("[packs.a]\nnpm = 'x'\npath = 'y'", "exactly one of npm"),
    ("[packs.a]\npath = 'y'\nversion = '1'", "does not go with path"),
    ("[packs.a]\nnpm = 1", "must be a string"),
    ("[packs.a]\ngit = 'u'\nsubdirectory = '../x'", "without . or .."),
    ("[packs.a]\narchive = 'u'\nintegrity = 'md5-x'", "sha512-"),
    ("[targets.a]", "scope: is required"),
    ("[targets.a]\nscope = 'globl'", "did you mean global"),
    ("[targets.a]\nscope = 'local'\nprofile = 'most'", "not one of core"),
    ("[targets.a]\nscope = 'local'\npacks = ['x']", "not a pack of this manifest"),
    ("[targets.a]\nscope = 'local'\nenable = ['x']\ndisable = ['x']", "enabled as well"),
    ("[targets.a]\nscope = 'local'\nenable = 'x'", "array of strings"),
    ("[targets.a]\nscope = 'local'\nhooks = 'no'", "true or false"),
    ("[targets.'../x']\nscope = 'local'", "the name must be"),
    ("targets = 3", "must be a table"),
]


@pytest.mark.parametrize(("text", "says"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_fault_says_what_and_where(text: str, says: str) -> None:
    assert any(says in line for line in faults_of(text)), faults_of(text)


def test_all_faults_at_once() -> None:
    assert len(faults_of("x = 1\n[packs.a]\n[targets.b]\nscope = 'q'")) == 3


def test_42_ten_thousand_unknown_keys_do_not_flood() -> None:
    text = "".join(f'"k{i}\\u001b[2J{"x" * (500 if i < 5 else 50)}" = 1\n' for i in range(10_000))
    lines = faults_of(f"[targets.a]\nscope = 'local'\n{text}")
    assert len(lines) == 6 and "9995 more" in lines[-1]
    for line in lines[:5]:
        key, said = line.removeprefix("targets.a.").split(": is not known here", 1)
        assert len(key) <= 81 and key.isprintable()  # 80 characters and the mark that it was cut
        assert "known: " in said and "scope" in said and "profile" in said


def test_42_a_misspelt_key_is_refused_with_those_that_are_accepted() -> None:
    (line,) = faults_of("[targets.a]\nscope = 'local'\nprofil = 'core'")
    assert line.startswith("targets.a.profil: is not known here (did you mean profile?); known: disable, ")


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", "[x"])
def test_what_does_not_parse_has_line_and_column(text: str) -> None:
    with pytest.raises(GsdlockError) as caught:
        read_manifest(text.encode(), PATH, ENVIRONMENT)
    assert caught.value.code == "E-MANIFEST-SYNTAX"
    assert "line" in caught.value.what or "end of document" in caught.value.what


def test_a_byte_order_mark_and_crlf_are_fine() -> None:
    manifest = read_manifest("\ufeffname = 'x'\r\n".encode(), PATH, ENVIRONMENT)
    assert manifest.name == "x"


FINDING = [
    ("in the folder itself", {"/home/ada/work/team/sub/gsdlock.toml", PATH}, "sub/gsdlock.toml"),
    ("above", {PATH}, "team/gsdlock.toml"),
    ("not beyond the repository", {"/home/ada/work/team/sub/.git", PATH}, None),
    ("at the repository root", {"/home/ada/work/team/.git", PATH}, "team/gsdlock.toml"),
]


@pytest.mark.parametrize(("name", "present", "found"), FINDING, ids=[f[0] for f in FINDING])
def test_where_it_is_looked_for(name: str, present: set[str], found: str | None) -> None:
    path = find_manifest(ENVIRONMENT.cwd, CONFIG, present.__contains__)
    assert (path is None) if found is None else (path is not None and path.endswith(found))


def test_the_users_own_file_is_the_last_resort_and_speaks_for_the_user() -> None:
    user = user_manifest(CONFIG)
    assert find_manifest(ENVIRONMENT.cwd, CONFIG, {user}.__contains__) == user
    assert read_manifest(b"", user, ENVIRONMENT).of_user
    assert find_manifest("/", CONFIG, set().__contains__) is None
