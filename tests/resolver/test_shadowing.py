"""What each host sees of the targets, and what of it hides or doubles what."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from gsdlock.capabilities.reading import HostView, ReadFolder
from gsdlock.capabilities.vocabulary import Scope, Trigger
from gsdlock.resolver.concerns import Concern, ConcernCode, some
from gsdlock.resolver.located import Located
from gsdlock.resolver.shadowing import carriers, shadowing
from hypothesis import given
from hypothesis import strategies as st

SKILLS, COMMANDS = Trigger.SKILLS, Trigger.COMMANDS


def folder(kind: Trigger, path: str, below: bool = False, scope: Scope = Scope.GLOBAL) -> ReadFolder:
    return ReadFolder(kind, scope, path, below)


def view(
    *folders: ReadFolder, precedence: tuple[Trigger, ...] = (SKILLS, COMMANDS), sign: str = "/"
) -> HostView:
    return HostView("heron", sign, precedence, folders)


def target(name: str, *paths: str, installation: str = "", runtime: str = "heron", own: str = "") -> Located:
    return Located(name, installation, runtime, "global", "", {}, own, dict.fromkeys(paths))


OWN, SHARED = folder(SKILLS, "/h/own"), folder(SKILLS, "/h/shared")
TYPED, LOCAL = folder(COMMANDS, "/h/cmd", below=True), folder(COMMANDS, "/p/cmd", scope=Scope.LOCAL)

SEEN = [
    ("a skill goes by its folder", OWN, "/h/own/greet/SKILL.md", "/greet"),
    ("what lies beside SKILL.md is no skill", OWN, "/h/own/greet/notes.md", None),
    (
        "a nested skill, where the host looks through",
        folder(SKILLS, "/h/own", True),
        "/h/own/a/b/SKILL.md",
        "/b",
    ),
    ("a nested skill, where it does not", OWN, "/h/own/a/b/SKILL.md", None),
    ("a SKILL.md without a folder", OWN, "/h/own/SKILL.md", None),
    ("lower case is read nowhere", OWN, "/h/own/greet/skill.md", None),
    ("a folder with the same beginning", OWN, "/h/owner/greet/SKILL.md", None),
    ("a command goes by its file", LOCAL, "/p/cmd/greet.md", "/greet"),
    ("a command in TOML", LOCAL, "/p/cmd/greet.toml", "/greet"),
    ("a command below a folder", TYPED, "/h/cmd/gsd/help.md", "/gsd:help"),
    ("a command below a folder, where the host does not look", LOCAL, "/p/cmd/gsd/help.md", None),
    ("no command", LOCAL, "/p/cmd/greet.txt", None),
]


@pytest.mark.parametrize(("where", "path", "trigger"), [s[1:] for s in SEEN], ids=[s[0] for s in SEEN])
def test_what_carries_a_trigger(where: ReadFolder, path: str, trigger: str | None) -> None:
    found = [c.trigger for c in carriers(view(where), [target("t", path)])]
    assert found == ([trigger] if trigger else [])


def test_a_trigger_bears_the_sign_of_the_host() -> None:
    (one,) = carriers(view(OWN, sign="$"), [target("t", "/h/own/greet/SKILL.md")])
    assert one.trigger == "$greet"


def test_a_file_that_two_targets_have_is_seen_once() -> None:
    both = [target("a", "/h/own/greet/SKILL.md"), target("b", "/h/own/greet/SKILL.md")]
    assert len(carriers(view(OWN), both)) == 1
    assert shadowing([view(OWN)], both) == ()


def test_a_folder_that_is_read_under_two_names_is_read_once() -> None:
    """Names are resolved before: a link makes two folders one."""
    assert shadowing([view(OWN, OWN)], [target("a", "/h/own/greet/SKILL.md")]) == ()


GLOBAL_SKILL, LOCAL_COMMAND = "/h/own/greet/SKILL.md", "/p/cmd/greet.md"
TARGETS = [target("global", GLOBAL_SKILL), target("local", LOCAL_COMMAND)]


def only(found: Sequence[Concern]) -> Concern:
    (concern,) = found
    return concern


@pytest.mark.parametrize(
    ("precedence", "used"),
    [((SKILLS, COMMANDS), "skills"), ((COMMANDS, SKILLS), "commands"), ((SKILLS,), "skills")],
)
def test_the_kind_that_the_host_prefers_hides_the_other(precedence: tuple[Trigger, ...], used: str) -> None:
    concern = only(shadowing([view(OWN, LOCAL, precedence=precedence)], TARGETS))
    assert concern.code is ConcernCode.SHADOWED and concern.names == ("/greet",)
    assert {(p.kind, p.used) for p in concern.places} == {
        ("skills", used == "skills"),
        ("commands", used == "commands"),
    }
    assert {(p.target, p.scope, p.folder) for p in concern.places} == {
        ("global", "global", "/h/own"),
        ("local", "local", "/p/cmd"),
    }
    assert f"heron prefers {used}" in concern.what and "global and local" in concern.fix


def test_another_name_hides_nothing() -> None:
    apart = [target("global", GLOBAL_SKILL), target("local", "/p/cmd/wave.md")]
    assert shadowing([view(OWN, LOCAL)], apart) == ()


def test_two_of_one_kind_are_told_with_both_folders() -> None:
    two = [target("a", GLOBAL_SKILL), target("b", "/h/shared/greet/SKILL.md")]
    concern = only(shadowing([view(OWN, SHARED)], two))
    assert concern.code is ConcernCode.TWICE and concern.names == ("/greet",)
    assert "/h/own (target a)" in concern.what and "/h/shared (target b)" in concern.what
    assert all(p.used is None for p in concern.places)


def test_where_an_order_is_known_the_first_is_used() -> None:
    first = ReadFolder(SKILLS, Scope.GLOBAL, "/h/shared", False, rank=0)
    second = ReadFolder(SKILLS, Scope.GLOBAL, "/h/own", False, rank=1)
    two = [target("a", GLOBAL_SKILL), target("b", "/h/shared/greet/SKILL.md")]
    for folders in ((first, second), (second, first)):
        concern = only(shadowing([view(*folders)], two))
        assert [(p.folder, p.used) for p in concern.places] == [("/h/shared", True), ("/h/own", False)]
        assert "/h/shared (target b) and /h/own (target a), and takes the first" in concern.what


def test_where_an_order_is_known_for_some_only_nothing_is_claimed() -> None:
    first = ReadFolder(SKILLS, Scope.GLOBAL, "/h/shared", False, rank=0)
    two = [target("a", GLOBAL_SKILL), target("b", "/h/shared/greet/SKILL.md")]
    assert all(p.used is None for p in only(shadowing([view(first, OWN)], two)).places)


OURS, THEIRS = "/h/own/greet/SKILL.md", "/h/shared/greet/SKILL.md"
WAYS = [
    (
        "another host's skills in a shared folder can go to its own",
        [target("a", OURS, own="/h"), target("b", THEIRS, runtime="crane", own="/crane")],
        'In the manifest: skills = "own" for b or skills = "none" for a.',
    ),
    (
        "another host's own folder stays its own",
        [target("a", OURS, own="/h"), target("b", THEIRS, runtime="crane", own="/h/shared")],
        'In the manifest: skills = "none" for a.',
    ),
    (
        "two other hosts",
        [target("b", OURS, runtime="crane", own="/h"), target("c", THEIRS, runtime="stork", own="/h")],
        "Keep the pack off one of the targets b and c (packs = [...]), or take one of them out.",
    ),
    ("one target", [target("a", OURS, THEIRS, own="/h")], "Rename one of them in the pack."),
]


@pytest.mark.parametrize(("targets", "fix"), [w[1:] for w in WAYS], ids=[w[0] for w in WAYS])
def test_the_way_out(targets: list[Located], fix: str) -> None:
    assert only(shadowing([view(OWN, SHARED)], targets)).fix == fix


def test_what_another_installation_put_there_is_named_with_it() -> None:
    found = shadowing(
        [view(OWN, LOCAL)],
        [target("claude", GLOBAL_SKILL, installation="mine"), target("web", LOCAL_COMMAND)],
    )
    assert "target claude of mine" in only(found).what


def test_seventy_for_one_reason_are_one_concern_of_two_lines() -> None:
    names = [f"n{i:02}" for i in range(70)]
    skills = target("a", *(f"/h/own/{n}/SKILL.md" for n in names))
    commands = target("b", *(f"/p/cmd/{n}.md" for n in names))
    concern = only(shadowing([view(OWN, LOCAL)], [skills, commands]))
    assert concern.names == tuple(f"/{n}" for n in names)
    lines = concern.lines()
    assert len(lines) == 2 and "/n00, /n01, /n02 and 67 more" in lines[0] and "/n03" not in "".join(lines)
    assert len(concern.data()["names"]) == 70


def test_a_command_that_skills_hide_twice_over_is_both() -> None:
    three = [target("a", GLOBAL_SKILL), target("b", "/h/shared/greet/SKILL.md"), target("c", LOCAL_COMMAND)]
    codes = [c.code for c in shadowing([view(OWN, SHARED, LOCAL)], three)]
    assert codes == [ConcernCode.SHADOWED, ConcernCode.TWICE]


@pytest.mark.parametrize(
    ("names", "text"),
    [(["a"], "a"), (["a", "b", "c"], "a, b, c"), (["a", "b", "c", "d"], "a, b, c and 1 more")],
)
def test_some_names(names: list[str], text: str) -> None:
    assert some(names) == text


PLACES = ["/h/own/{}/SKILL.md", "/h/shared/{}/SKILL.md", "/p/cmd/{}.md"]


@given(st.sets(st.tuples(st.integers(0, 2), st.sampled_from("abcd"))))
def test_every_trigger_with_two_places_is_told_and_no_other(files: set[tuple[int, str]]) -> None:
    paths = [target(str(place), PLACES[place].format(name)) for place, name in sorted(files)]
    found = shadowing([view(OWN, SHARED, LOCAL)], paths)
    told = {name for concern in found for name in concern.names}
    assert told == {f"/{n}" for n in "abcd" if sum((place, n) in files for place in range(3)) > 1}
    hidden = {name for c in found if c.code is ConcernCode.SHADOWED for name in c.names}
    assert hidden == {f"/{n}" for n in "abcd" if (2, n) in files and {(0, n), (1, n)} & files}
