"""Which URLs and refs git may see, and what of a URL gets into the lock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.resolver.sources import fetch
from gsdlock.resolver.sources.base import PackSource, SourceContext
from gsdlock.resolver.sources.git_url import ref_fault
from msgspec.structs import replace

from .gitkit import NoProcesses, Repository

Source = Callable[..., PackSource]
Refused = Callable[..., Any]


class TestUrls:
    @pytest.mark.parametrize(
        "url",
        [
            "-u./x",
            "--upload-pack=touch x",
            "ext::sh -c touch% x",
            "fd::17",
            "git+ext::sh",
            "http://example.invalid/x.git",
            "ftp://example.invalid/x.git",
            "ssh://-oProxyCommand=x/y",
            "git@-oProxyCommand=x:y",
            "https:///x",
            "https://token@example.invalid/x.git",
            "https://user:secret@example.invalid/x.git",
            "ssh://git:secret@example.invalid/x.git",
            "https://[::1/x",
            "https://example.invalid/a\nb",
            "",
        ],
    )
    def test_a_dangerous_url_never_reaches_git(
        self, url: str, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-GIT-URL"):
            fetch(source("git", url), replace(context, processes=NoProcesses()), None)

    def test_a_secret_in_a_url_is_not_repeated(self, source: Source, context: SourceContext) -> None:
        with pytest.raises(Exception) as caught:
            fetch(source("git", "https://user:hunter2@example.invalid/x.git"), context, None)
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize(
        ("url", "resolved"),
        [
            ("https://example.invalid/x.git", "https://example.invalid/x.git"),
            ("ssh://git@example.invalid:22/x.git", "ssh://git@example.invalid:22/x.git"),
            ("git://example.invalid/x", "git://example.invalid/x"),
            ("git@example.invalid:o/x.git", "git@example.invalid:o/x.git"),
            ("git+https://example.invalid/x.git", "https://example.invalid/x.git"),
        ],
    )
    def test_other_urls_are_passed_on_and_locked_as_they_are(
        self,
        url: str,
        resolved: str,
        repository: Repository,
        source: Source,
        context: SourceContext,
        tmp_path: Path,
    ) -> None:
        """The user's own `insteadOf` leads them to a repository here, as it may lead to a mirror."""
        repository.commit(a="1")
        (tmp_path / "home" / ".gitconfig").write_text(
            f'[url "file://{repository.folder}"]\ninsteadOf = {resolved}\n'
        )
        fetched = fetch(source("git", url), context, None)
        assert fetched.resolved == f"{resolved}#{fetched.revision}"

    def test_a_rewriting_to_a_helper_is_stopped_by_git(
        self, repository: Repository, source: Source, context: SourceContext, tmp_path: Path, refused: Refused
    ) -> None:
        (tmp_path / "home" / ".gitconfig").write_text(
            f'[url "ext::touch {tmp_path}/sprung #"]\ninsteadOf = https://example.invalid/\n'
            "[protocol]\nallow = always\n"
        )
        with refused("E-GIT-FAILED"):
            fetch(source("git", "https://example.invalid/x.git"), context, None)
        assert not (tmp_path / "sprung").exists()

    def test_an_absolute_path_does_not_get_into_the_lock(
        self, repository: Repository, source: Source, context: SourceContext
    ) -> None:
        commit = repository.commit(a="1")
        assert fetch(source("git", str(repository.folder)), context, None).resolved == f"repo#{commit}"

    @pytest.mark.parametrize("ref", ["main", "v1.0", "a/b", "refs/pull/1/head", "ü", "f" * 40, "HEAD"])
    def test_refs_that_git_takes(self, ref: str) -> None:
        assert ref_fault(ref) is None

    @pytest.mark.parametrize(
        "ref",
        [
            "-x",
            "--all",
            "a b",
            "a..b",
            "a~1",
            "a^",
            "a^{commit}",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "@",
            "a@{1}",
            "a/",
            "/a",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.",
            "a\x7f",
            "x" * 256,
        ],
    )
    def test_refs_that_are_none(
        self, ref: str, source: Source, context: SourceContext, refused: Refused
    ) -> None:
        with refused("E-GIT-REF"):
            fetch(source("git", "repo", ref=ref), replace(context, processes=NoProcesses()), None)
