"""A git revision as a pack. All repositories here are real and local."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import LockedPack, PackKind
from gsdlock.resolver.sources import fetch
from gsdlock.resolver.sources.base import Limits, PackSource, SourceContext
from msgspec.structs import replace

from .gitkit import GIT, Repository, Write, locked

Source = Callable[..., PackSource]
Refused = Callable[..., Any]


class TestRefs:
    @pytest.fixture
    def commits(self, repository: Repository) -> dict[str, str]:
        commits = {"old": repository.commit(a="1")}
        commits["tagged"] = repository.commit(a="2")
        repository.git("tag", "v1")
        repository.git("tag", "-a", "-m", "x", "annotated")
        commits["main"] = repository.commit(a="3")
        repository.git("checkout", "-q", "-b", "team/feature", commits["old"])
        commits["feature"] = repository.commit(b="1")
        repository.git("update-ref", "refs/pull/7/head", commits["feature"])
        repository.git("checkout", "-q", "main")
        return commits

    @pytest.mark.parametrize(
        ("ref", "commit"),
        [
            ("", "main"),
            ("HEAD", "main"),
            ("main", "main"),
            ("refs/heads/main", "main"),
            ("v1", "tagged"),
            ("refs/tags/v1", "tagged"),
            ("annotated", "tagged"),
            ("team/feature", "feature"),
            ("refs/pull/7/head", "feature"),
            ("{old}", "old"),
            ("{old:.9}", "old"),
        ],
    )
    def test_every_way_to_name_a_commit(
        self, ref: str, commit: str, commits: dict[str, str], source: Source, context: SourceContext
    ) -> None:
        named = ref.format(**commits)
        for want in (
            source("git", "repo", ref=named),
            source("git", f"repo#{named}" if named else "repo"),
            source("git", f"file://{context.environment.cwd}/repo", ref=named),
        ):
            fetched = fetch(want, context, None)
            assert fetched.revision == commits[commit]
            assert fetched.resolved == f"repo#{commits[commit]}"

    def test_a_ref_that_is_not_there(
        self, commits: dict[str, str], source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-GIT-REF-MISSING", "`nope`", status=5):
            fetch(source("git", "repo", ref="nope"), context, None)
        with refused("E-GIT-REF", "abcdef0"):
            fetch(source("git", "repo", ref="abcdef0"), context, None)
        with refused("E-GIT-COMMIT", "f" * 40, status=5):
            fetch(source("git", "repo", ref="f" * 40), context, None)

    def test_a_branch_and_a_tag_of_one_name(
        self,
        commits: dict[str, str],
        repository: Repository,
        source: Source,
        context: SourceContext,
        refused: Refused,
    ) -> None:
        repository.git("tag", "both", commits["old"])
        repository.git("branch", "both", commits["main"])
        with refused("E-GIT-AMBIGUOUS", "`both`"):
            fetch(source("git", "repo", ref="both"), context, None)
        repository.git("branch", "-f", "both", commits["old"])
        assert fetch(source("git", "repo", ref="both"), context, None).revision == commits["old"]

    def test_two_different_refs_in_one_entry(
        self, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-GIT-REF", "`#main`"):
            fetch(source("git", "repo#main", ref="other"), context, None)


class TestContent:
    def test_bytes_and_modes(self, repository: Repository, source: Source, context: SourceContext) -> None:
        (repository.folder / "run.sh").write_text("#!/bin/sh\n")
        (repository.folder / "run.sh").chmod(0o755)
        repository.commit(a="text\n", b__c=b"\0\r\n", ü="ü\n")
        tree = fetch(source("git", "repo"), context, None).tree
        assert {p: f.mode for p, f in tree.files.items()} == {
            "a.md": 0o644,
            "b/c.md": 0o644,
            "run.sh": 0o755,
            "ü.md": 0o644,
        }
        assert tree.read("b/c.md") == b"\0\r\n"

    def test_no_setting_of_the_user_changes_a_byte(
        self, repository: Repository, source: Source, context: SourceContext, tmp_path: Path
    ) -> None:
        (repository.folder / ".gitattributes").write_text(
            "*.md filter=shout eol=crlf text\nhidden.md export-ignore\nstamp.md export-subst ident\n"
        )
        repository.commit(a="one\n", hidden="x\n", stamp="$Id$ $Format:%H$\n")
        plain = fetch(source("git", "repo"), context, None).tree
        (tmp_path / "home" / ".gitconfig").write_text(
            "[core]\nautocrlf = true\neol = crlf\nattributesFile = /nowhere\n"
            '[filter "shout"]\nsmudge = tr a-z A-Z\nrequired = true\n'
        )
        shutil.rmtree(Path(context.cache) / "git")
        again = fetch(source("git", "repo"), context, None).tree
        assert again.files == plain.files
        assert again.read("a.md") == b"one\n"
        assert again.read("stamp.md") == b"$Id$ $Format:%H$\n"

    def test_an_executable_of_the_user_is_not_run(
        self, repository: Repository, source: Source, context: SourceContext, tmp_path: Path
    ) -> None:
        """Hooks, file system monitors and templates that the user has set up stay out of it."""
        repository.commit(a="1")
        trap = tmp_path / "trap.sh"
        trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
        trap.chmod(0o755)
        hooks = tmp_path / "template" / "hooks"
        hooks.mkdir(parents=True)
        for hook in ("reference-transaction", "post-checkout", "post-update"):
            shutil.copy(trap, hooks / hook)
        (tmp_path / "home" / ".gitconfig").write_text(
            f"[core]\nhooksPath = {hooks}\nfsmonitor = {trap}\n[init]\ntemplateDir = {tmp_path}/template\n"
        )
        fetch(source("git", "repo"), context, None)
        assert not (tmp_path / "sprung").exists()

    def test_a_subdirectory(
        self, repository: Repository, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        repository.commit(a="1", packs__b__c="2")
        want = source("git", "repo", subdirectory="packs/b")
        assert set(fetch(want, context, None).tree.files) == {"c.md"}
        for bad in ("nope", "a.md", "../packs", "packs/../packs", "-x", ":(glob)*"):
            with refused("E-PACK-SUBDIRECTORY"):
                fetch(source("git", "repo", subdirectory=bad), context, None)

    def test_a_link_is_refused_by_name(
        self, repository: Repository, source: Source, context: SourceContext, refused: Refused, blobs: Any
    ) -> None:
        (repository.folder / "evil").symlink_to("/etc/passwd")
        repository.commit(a="1", packs__b="2")
        with refused("E-PACK-LINK", "`evil`", status=4):
            fetch(source("git", "repo"), context, None)
        assert not blobs.data
        assert fetch(source("git", "repo", subdirectory="packs"), context, None).tree.files

    def test_a_submodule_is_refused_by_name(
        self, repository: Repository, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        commit = repository.commit(a="1")
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},lib/sub")
        repository.git("commit", "-q", "-m", "sub")
        with refused("E-PACK-SUBMODULE", "`lib/sub`", status=4):
            fetch(source("git", "repo"), context, None)

    @pytest.mark.parametrize("name", ["a\\b", "nul", "a\nb", "C:x"])
    def test_names_are_checked(
        self, name: str, repository: Repository, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        (repository.folder / name).write_text("x")
        repository.commit(a="1")
        with refused("E-UNPACK-NAME", "pack demo"):
            fetch(source("git", "repo"), context, None)

    def test_bounds(
        self, repository: Repository, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        repository.commit(a="x" * 500, b="x" * 501)
        with refused("E-UNPACK-SIZE", "1000 bytes"):
            fetch(source("git", "repo"), replace(context, limits=Limits(total=1000)), None)
        with refused("E-UNPACK-ENTRIES"):
            fetch(source("git", "repo"), replace(context, limits=Limits(entries=1)), None)

    def test_an_empty_commit(
        self, repository: Repository, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        repository.git("commit", "-q", "--allow-empty", "-m", "x")
        with refused("E-PACK-EMPTY"):
            fetch(source("git", "repo"), context, None)


class TestLocked:
    def test_the_locked_commit_comes_although_the_branch_moved(
        self, repository: Repository, source: Source, context: SourceContext, blobs: Any
    ) -> None:
        repository.commit(a="1")
        pin = locked(fetch(source("git", "repo", ref="main"), context, None))
        repository.commit(a="2")
        blobs.data.clear()
        shutil.rmtree(context.cache)
        again = fetch(source("git", "repo", ref="main"), context, pin)
        assert (again.revision, again.tree.digest) == (pin.revision, pin.tree)

    def test_even_when_the_branch_was_rewritten(
        self, repository: Repository, source: Source, context: SourceContext, blobs: Any
    ) -> None:
        repository.commit(z="0")
        repository.commit(a="1")
        pin = locked(fetch(source("git", "repo", ref="main"), context, None))
        repository.git("commit", "-q", "--amend", "-m", "rewritten")
        blobs.data.clear()
        again = fetch(source("git", "repo", ref="main"), context, pin)  # from the cached repository
        assert again.revision == pin.revision

    def test_a_commit_that_is_gone_is_said_to_be(
        self, repository: Repository, source: Source, context: SourceContext, blobs: Any, refused: Refused
    ) -> None:
        repository.commit(z="0")
        repository.commit(a="1")
        pin = locked(fetch(source("git", "repo", ref="main"), context, None))
        repository.git("reset", "-q", "--hard", "HEAD~1")
        repository.git("reflog", "expire", "--expire=now", "--all")
        repository.git("gc", "-q", "--prune=now")
        blobs.data.clear()
        shutil.rmtree(context.cache)
        with refused("E-GIT-COMMIT", pin.revision, status=5):
            fetch(source("git", "repo", ref="main"), context, pin)

    def test_an_old_server_that_gives_only_what_it_lists(
        self, repository: Repository, source: Source, context: SourceContext, blobs: Any, tmp_path: Path
    ) -> None:
        """Protocol version 0 refuses a commit that no ref names: then all branches are fetched."""
        repository.commit(a="1")
        pin = locked(fetch(source("git", "repo", ref="main"), context, None))
        repository.commit(a="2")
        (tmp_path / "home" / ".gitconfig").write_text("[protocol]\nversion = 0\n")
        blobs.data.clear()
        shutil.rmtree(context.cache)
        assert fetch(source("git", "repo", ref="main"), context, pin).tree.digest == pin.tree

    def test_a_tree_other_than_the_locked_one_is_refused_with_its_files(
        self, repository: Repository, source: Source, context: SourceContext, blobs: Any, refused: Refused
    ) -> None:
        repository.commit(a="1", b="1")
        first = fetch(source("git", "repo"), context, None)
        repository.commit(a="2", c="1")
        pin = locked(first, revision=repository.git("rev-parse", "HEAD"))
        for file in first.tree.files.values():
            blobs.data.pop(file.digest, None)  # the listing is still there
        before = dict(blobs.data)
        with refused("E-PACK-TREE", "pack demo", "changed a.md", "added c.md", status=5):
            fetch(source("git", "repo"), context, pin)
        assert blobs.data == before

    @pytest.mark.parametrize("revision", ["", "main", "--upload-pack=touch x", "abcdef", "g" * 40])
    def test_a_lock_whose_revision_is_no_commit(
        self, revision: str, repository: Repository, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        repository.commit(a="1")
        pin = LockedPack("demo", PackKind.GIT, "", "", "sha256:" + "0" * 64, revision=revision)
        with refused("E-PACK-LOCKED", "not a full commit"):
            fetch(source("git", "repo"), context, pin)


def test_no_git_on_path(source: Source, context: SourceContext, tmp_path: Path, refused: Refused) -> None:
    for path in ("", str(tmp_path)):
        bare = replace(context.environment, variables={"PATH": path})
        with refused("E-GIT-ABSENT", status=5):
            fetch(source("git", "repo"), replace(context, environment=bare), None)


def test_a_repository_that_is_not_there(source: Source, context: SourceContext, refused: Refused) -> None:
    with refused("E-GIT-FAILED", "ls-remote", "status 128", status=5):
        fetch(source("git", "nowhere"), context, None)


def lose_objects(cached: Path, repository: Repository, *revisions: str) -> None:
    subprocess.run([GIT, "unpack-objects", "-q"], cwd=cached, input=taken_out(cached), check=True)
    for name in (repository.git("rev-parse", r) for r in revisions):
        (cached / "objects" / name[:2] / name[2:]).unlink()


def no_folder(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file")


def empty(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


def tear(cached: Path) -> None:
    (pack,) = cached.glob("objects/pack/*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-30])


DAMAGES: dict[str, Callable[[Path, Repository], None]] = {
    "a blob is lost": lambda cached, r: lose_objects(cached, r, "HEAD:a.md"),
    "a folder is lost": lambda cached, r: lose_objects(cached, r, "HEAD:b"),
    "the tree is lost": lambda cached, r: lose_objects(cached, r, "HEAD^{tree}"),
    "the commit is lost": lambda cached, r: lose_objects(cached, r, "HEAD"),
    "the pack is torn": lambda cached, r: tear(cached),
    "HEAD is lost": lambda cached, r: (cached / "HEAD").unlink(),
    "nothing is left in it": lambda cached, r: empty(cached),
    "it is a file": lambda cached, r: no_folder(cached),
    "the folder of all is a file": lambda cached, r: no_folder(cached.parent),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_cached_repository_that_was_damaged_is_made_again(
    damage: str, repository: Repository, source: Source, context: SourceContext, blobs: Any
) -> None:
    repository.commit(a="1", b__c="2")
    pin = locked(fetch(source("git", "repo"), context, None))
    (cached,) = (p for p in (Path(context.cache) / "git").iterdir() if p.is_dir())
    DAMAGES[damage](cached, repository)
    for lock in (pin, None):
        blobs.data.clear()
        assert fetch(source("git", "repo"), context, lock).tree.digest == pin.tree
    assert [p.name for p in cached.parent.iterdir() if p.is_dir()] == [cached.name], "and nothing is left"


def test_what_a_killed_process_left_in_the_cache_goes_and_what_a_living_one_has_stays(
    repository: Repository, source: Source, context: SourceContext
) -> None:
    repository.commit(a="1")
    ended = subprocess.Popen(["true"])
    ended.wait()
    parent = Path(context.cache) / "git"
    dead, alive, other = (parent / f".new-{n}" for n in (f"{ended.pid}-x", f"{os.getpid()}-x", "abc"))
    for folder in (dead, alive, other):
        (folder / "repository").mkdir(parents=True)
    fetch(source("git", "repo"), context, None)
    assert (dead.exists(), alive.exists(), other.exists()) == (False, True, True)


@pytest.mark.parametrize("has", ["sha1", "sha256"])
@pytest.mark.parametrize("wanted", ["sha1", "sha256"])
def test_the_object_format_is_the_repositorys_and_not_the_users(
    has: str, wanted: str, source: Source, context: SourceContext, tmp_path: Path, write: Write
) -> None:
    variables = {**context.environment.variables, "GIT_DEFAULT_HASH": has}
    made = Repository(
        tmp_path / "repo",
        replace(context, environment=replace(context.environment, variables=variables)),
        write,
    )
    commit = made.commit(a="1")
    variables["GIT_DEFAULT_HASH"] = wanted
    inside = replace(context, environment=replace(context.environment, variables=variables))
    for ref in ("", "main", commit):
        fetched = fetch(source("git", "repo", ref=ref), inside, None)
        assert (fetched.revision, set(fetched.tree.files)) == (commit, {"a.md"})


def taken_out(cached: Path) -> bytes:
    """The pack of a repository, which is then no longer in it."""
    files = list((cached / "objects/pack").iterdir())
    (pack,) = (f.read_bytes() for f in files if f.suffix == ".pack")
    for file in files:
        file.unlink()
    return pack


def test_what_is_fetched_arrives_as_a_whole(
    repository: Repository, source: Source, context: SourceContext
) -> None:
    """No loose objects: a reader beside us, or after a crash, never sees half of a commit."""
    repository.commit(a="1", b="2")
    fetch(source("git", "repo"), context, None)
    (cached,) = (p for p in (Path(context.cache) / "git").iterdir() if p.is_dir())
    assert sorted(p.name for p in (cached / "objects").iterdir()) == ["info", "pack"]


def test_a_helper_program_on_path_is_not_run(
    repository: Repository, source: Source, context: SourceContext, tmp_path: Path, refused: Refused
) -> None:
    """`evil::x` makes git run `git-remote-evil`; the user's own rewriting could lead there."""
    helper = tmp_path / "bin" / "git-remote-evil"
    helper.parent.mkdir()
    helper.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    helper.chmod(0o755)
    (tmp_path / "home" / ".gitconfig").write_text(
        '[url "evil::x"]\ninsteadOf = https://example.invalid/\n[protocol "evil"]\nallow = always\n'
    )
    variables = context.environment.variables
    path = {"PATH": f"{helper.parent}{os.pathsep}{variables['PATH']}"}
    inside = replace(context, environment=replace(context.environment, variables={**variables, **path}))
    with refused("E-GIT-FAILED"):
        fetch(source("git", "https://example.invalid/x.git"), inside, None)
    assert not (tmp_path / "sprung").exists()


def test_offline_a_remote_is_not_asked_and_the_cache_is_used(
    repository: Repository,
    source: Source,
    context: SourceContext,
    blobs: Any,
    refused: Refused,
    tmp_path: Path,
) -> None:
    url = "https://example.invalid/x.git"
    repository.commit(a="1")
    (tmp_path / "home" / ".gitconfig").write_text(f'[url "file://{repository.folder}"]\ninsteadOf = {url}\n')
    away = replace(context, offline=True)
    with refused("E-OFFLINE", "pinned by neither", status=5):
        fetch(source("git", url), away, None)
    pin = locked(fetch(source("git", url), context, None))
    assert fetch(source("git", url), away, pin).tree.digest == pin.tree
    blobs.data.clear()
    assert fetch(source("git", url), away, pin).tree.digest == pin.tree
    shutil.rmtree(context.cache)
    blobs.data.clear()
    with refused("E-OFFLINE", "not in the store"):
        fetch(source("git", url), away, pin)


def test_offline_a_path_is_not_rewritten_to_a_remote(
    repository: Repository, source: Source, context: SourceContext, tmp_path: Path, refused: Refused
) -> None:
    """The user's own configuration may lead elsewhere; a helper of that name tells whether it was asked."""
    repository.commit(a="1")
    (tmp_path / "home" / ".gitconfig").write_text(
        f'[url "ssh://example.invalid/"]\ninsteadOf = {repository.folder}\n'
    )
    asked = tmp_path / "ssh"
    asked.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 1\n")
    asked.chmod(0o755)
    variables = {**context.environment.variables, "GIT_SSH": str(asked)}
    inside = replace(context, environment=replace(context.environment, variables=variables))
    for ref in ("", "0" * 40):
        with refused("E-OFFLINE", status=5):
            fetch(source("git", "repo", ref=ref), replace(inside, offline=True), None)
    assert not (tmp_path / "sprung").exists()
    with refused("E-GIT-FAILED"):
        fetch(source("git", "repo"), inside, None)
    assert (tmp_path / "sprung").exists()


def test_several_at_once_share_one_cache(
    repository: Repository, source: Source, context: SourceContext
) -> None:
    commits = [repository.commit(a=str(i)) for i in range(4)]
    with ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(lambda c: fetch(source("git", "repo", ref=c), context, None).revision, commits * 3)
        )
    assert made == commits * 3
    repositories = [p for p in (Path(context.cache) / "git").iterdir() if p.is_dir()]
    assert len(repositories) == 1, "and nothing half made is left"


def test_the_callers_repository_is_left_alone(
    repository: Repository, source: Source, context: SourceContext, tmp_path: Path, write: Write
) -> None:
    """gsdlock run from a git hook has GIT_DIR and its like set."""
    repository.commit(a="1")
    other = Repository(tmp_path / "other", context, write)
    other.commit(b="1")
    before = sorted(os.listdir(other.folder / ".git"))
    variables = {
        **context.environment.variables,
        "GIT_DIR": str(other.folder / ".git"),
        "GIT_WORK_TREE": str(other.folder),
        "GIT_INDEX_FILE": str(other.folder / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.folder / ".git/objects"),
    }
    inside = replace(context, environment=replace(context.environment, variables=variables))
    assert set(fetch(source("git", "repo"), inside, None).tree.files) == {"a.md"}
    assert sorted(os.listdir(other.folder / ".git")) == before
