"""A git revision as a pack, through the user's own `git`.

A bare repository per URL below `<cache>/git/` takes the objects; nothing is ever checked out. Content is read
with plumbing that gives the bytes of the objects, so no attribute, filter, hook or line-end setting has a
say. The user's configuration is in force where it concerns getting there (proxies, credential helpers, ssh),
but nothing may ask on a terminal.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from msgspec import Struct

from ...capabilities.errors import Exit, GsdlockError, missing, refused, shown
from ...lockfiles.model import LockedPack
from ..specs import portable
from .base import Completed, Contents, Gathered, PackSource, SourceContext
from .git_url import (
    ALLOWED_PROTOCOLS,
    bad_ref,
    git_url,
    is_commit,
    is_local,
    may_be_abbreviated,
    split_spec,
)
from .integrity import anew, offline
from .names import name_fault
from .scratch import make_folder, scratch
from .tree import TreeBuilder, no_subdirectory

_FETCH_SECONDS = 900.0
_LOCAL_SECONDS = 300.0
_LOCK_SECONDS = 900.0
_LISTING_BYTES = 64 << 20
_NEW = ".new-"
_ALL_DEPTHS = "2147483647"  # git's own number for "no limit"

# Git variables of the caller's that would point our commands at another repository, or trace into a file.
_DROPPED = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_ATTR_SOURCE",
        "GIT_CEILING_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DEFAULT_HASH",
        "GIT_DIR",
        "GIT_EXEC_PATH",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_TEMPLATE_DIR",
        "GIT_WORK_TREE",
    }
)


def gather(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Gathered:
    """The files of one commit: the locked one, or the one that the ref names now.

    Raises E-GIT-ABSENT, E-GIT-URL, E-GIT-REF, E-GIT-REF-MISSING, E-GIT-AMBIGUOUS, E-GIT-COMMIT, E-GIT-FAILED,
    E-GIT-BUSY, E-OFFLINE, E-PACK-LOCKED, E-PACK-LINK, E-PACK-SUBMODULE, E-PACK-SUBDIRECTORY, E-UNPACK-….
    """
    url, ref = split_spec(source)
    full_url = git_url(url, source, context)
    git = _Git(source, context, full_url, _find_git(source, context))
    if locked is not None:
        if not is_commit(locked.revision):
            raise missing(
                "E-PACK-LOCKED",
                f"{source.subject}: the lock's revision `{shown(locked.revision)}` is not a full commit",
                f"Lock it anew: {anew(source)}.",
            )
        commit = git.bring_commit(locked.revision)
    else:
        commit = git.resolve(ref)
    contents = git.contents(commit)
    return Gathered(contents, resolved=f"{portable(url)}#{commit}", revision=commit)


def _find_git(source: PackSource, context: SourceContext) -> str:
    path = context.environment.variables.get("PATH", "")
    git = context.processes.find("git", path)
    if git is None:
        raise missing(
            "E-GIT-ABSENT",
            f"{source.subject} comes from git, and there is no git on PATH",
            "Install git, or get the pack as an archive, from npm or as a folder.",
        )
    return git


class _Entry(Struct, frozen=True):
    mode: str
    kind: str
    name: str
    size: int


class _Git(Struct, frozen=True):
    """git, with the cached repository of one URL."""

    source: PackSource
    context: SourceContext
    url: str
    program: str

    @property
    def folder(self) -> str:
        import hashlib

        key = hashlib.sha256(self.url.encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(self.context.cache, "git", key)

    def resolve(self, ref: str) -> str:
        """The commit that `ref` names now (empty: the default branch), with its objects here."""
        if is_commit(ref):
            return self.bring_commit(ref)
        if self.context.offline and not is_local(self.url):
            raise offline(self.source, pinned=False)
        name = self._remote_object(ref)
        if name is None and may_be_abbreviated(ref):
            return self._abbreviated(ref)
        if name is None:
            raise missing(
                "E-GIT-REF-MISSING",
                f"{self.source.subject}: {shown(self.url, 200)} has no branch, tag or ref `{shown(ref)}`",
                "Correct the ref in the manifest: git ls-remote shows what there is.",
            )
        return self.bring_commit(name)

    def bring_commit(self, name: str) -> str:
        """The commit of the object `name` (a commit, or a tag of one), fetched if it is not here."""
        self._make_repository(name)
        commit = self._commit_of(name)
        if commit is not None:
            return commit
        if self.context.offline and not is_local(self.url):
            raise offline(self.source, pinned=True)
        with _Lock(self.folder + ".lock", self.source):
            try:
                commit = self._fetched(name)
            except GsdlockError:
                if self._is_whole(name):
                    raise
            if commit is None and not self._is_whole(name):
                self._make_anew(name)
                commit = self._fetched(name)
        if commit is None:
            raise missing(
                "E-GIT-COMMIT",
                f"{self.source.subject}: {shown(self.url, 200)} no longer has the commit {shown(name)}",
                f"It was removed there. Get it from a copy, or lock another one: {anew(self.source)}.",
            )
        return commit

    def _fetched(self, name: str) -> str | None:
        done = self._fetch("--depth=1", f"+{name}:refs/gsdlock/{name}")
        commit = self._commit_of(name)
        if commit is None:
            # The server does not give single objects, or the object is no longer at the end of a ref.
            self._fetch_all(done)
            commit = self._commit_of(name)
        return commit

    def contents(self, commit: str) -> Contents:
        """All files of the commit, below the subdirectory if there is one. What is damaged in the cached
        repository is fetched again."""
        try:
            return self._contents(commit)
        except GsdlockError as fault:
            if fault.code not in ("E-GIT-FAILED", "E-PACK-SUBDIRECTORY") or self._is_whole(commit):
                raise
        if self.context.offline and not is_local(self.url):
            raise offline(self.source, pinned=True)
        with _Lock(self.folder + ".lock", self.source):
            if not self._is_whole(commit):
                self._make_anew(commit)
        return self._contents(self.bring_commit(commit))

    def _contents(self, commit: str) -> Contents:
        builder = TreeBuilder(self.source.subject, self.context.limits)
        entries = self._listing(commit)
        left = self.context.limits.total
        for path, entry in entries.items():
            self._check_entry(path, entry)
            builder.check_file(path)
            left -= entry.size
            if left < 0 or entry.size > builder.room(path):
                raise builder.too_large(path)
        blobs = self._blobs(sorted({e.name for e in entries.values()}))
        for path, entry in entries.items():
            builder.add_file(path, blobs[entry.name], entry.mode == "100755")
        return builder.contents

    def _check_entry(self, path: str, entry: _Entry) -> None:
        if entry.mode == "120000":
            raise refused(
                "E-PACK-LINK",
                f"{self.source.subject} holds the link `{shown(path)}`",
                "Use a subdirectory without it, or ask the author to put the file itself there.",
                where=shown(path, 400),
            )
        if entry.kind != "blob":
            raise refused(
                "E-PACK-SUBMODULE",
                f"{self.source.subject} holds the submodule `{shown(path)}`, whose content is elsewhere",
                "Use a subdirectory without it, or make the submodule a pack of its own.",
                where=shown(path, 400),
            )

    def _listing(self, commit: str) -> dict[str, _Entry]:
        subdirectory = self.source.subdirectory.strip("/")
        if subdirectory and name_fault(subdirectory) is not None:
            raise no_subdirectory(self.source.subject, subdirectory)
        # The colon ends the revision: what follows is a path, whatever it looks like.
        result = self._read_only("ls-tree", "-r", "-z", "-l", "--full-tree", f"{commit}:{subdirectory}")
        if result.status != 0:
            raise no_subdirectory(self.source.subject, subdirectory)
        entries = {}
        for record in result.out.split(b"\0")[:-1]:
            head, _, path = record.partition(b"\t")
            mode, kind, name, size = head.decode("ascii").split()
            if size != "-" and not size.isdecimal():  # what git says of an object that is not there
                raise self._failed("ls-tree", result)
            text = path.decode("utf-8", "surrogateescape")
            entries[text] = _Entry(mode, kind, name, int(size) if size != "-" else 0)
            if len(entries) > self.context.limits.entries:
                raise refused(
                    "E-UNPACK-ENTRIES",
                    f"{self.source.subject} holds more than {self.context.limits.entries} files",
                    "Use a subdirectory.",
                )
        return entries

    def _blobs(self, names: list[str]) -> Mapping[str, bytes]:
        if not names:
            return {}
        asked = "".join(f"{name}\n" for name in names).encode("ascii")
        limit = self.context.limits.total + 128 * len(names)
        result = self._read_only("cat-file", "--batch", stdin=asked, limit=limit)
        out, at = result.out, 0
        found = {}
        for name in names:
            end = out.find(b"\n", at)
            head = out[at:end].split()
            if end < 0 or len(head) != 3 or head[1] != b"blob":
                raise self._failed("cat-file", result)
            size = int(head[2])
            found[name] = out[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
        return found

    def _remote_object(self, ref: str) -> str | None:
        """The object that the remote's `ref` names, or None. Raises E-GIT-AMBIGUOUS."""
        if not ref:
            wanted = ["HEAD"]
        elif ref.startswith("refs/"):
            wanted = [ref]
        else:
            wanted = [f"refs/heads/{ref}", f"refs/tags/{ref}", *([ref] if ref == "HEAD" else [])]
        peeled = {f"{name}^{{}}": name for name in wanted}  # how the commit of an annotated tag is listed
        result = self._network("ls-remote", "--quiet", "--", self.url, *wanted, *peeled)
        if result.status != 0:
            raise self._failed("ls-remote", result)
        objects: dict[str, str] = {}
        commits: dict[str, str] = {}
        for line in result.out.decode("utf-8", "replace").splitlines():
            name, _, remote_ref = line.partition("\t")
            # A pattern also matches at the end of other refs, so the names are compared in full.
            if remote_ref in wanted and is_commit(name):
                objects[remote_ref] = name
                commits.setdefault(remote_ref, name)
            elif remote_ref in peeled and is_commit(name):
                commits[peeled[remote_ref]] = name
        if len(set(commits.values())) > 1:
            raise _ambiguous(self.source, ref)
        return next(iter(objects.values()), None)

    def _abbreviated(self, ref: str) -> str:
        self._make_repository(ref)
        with _Lock(self.folder + ".lock", self.source):
            try:
                self._fetch_all(None)
            except GsdlockError:
                if self._is_whole(ref):
                    raise
                self._make_anew(ref)
                self._fetch_all(None)
        commit = self._commit_of(ref)
        if commit is None:
            raise bad_ref(self.source, ref, "names nothing there, or more than one commit")
        return commit

    def _fetch_all(self, first: Completed | None) -> None:
        result = self._fetch(
            f"--depth={_ALL_DEPTHS}",
            "+refs/heads/*:refs/gsdlock-all/heads/*",
            "+refs/tags/*:refs/gsdlock-all/tags/*",
        )
        if result.status != 0:
            raise self._failed("fetch", first if first is not None and first.status != 0 else result)

    def _fetch(self, depth: str, *refspecs: str) -> Completed:
        return self._network(
            "fetch",
            "--quiet",
            depth,
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--force",
            "--",
            self.url,
            *refspecs,
            folder=self.folder,
        )

    def _commit_of(self, name: str) -> str | None:
        result = self._read_only("rev-parse", "--quiet", "--verify", "--end-of-options", name + "^{commit}")
        text = result.out.decode("ascii", "replace").strip()
        if result.status != 0 or not is_commit(text):
            return None
        # A shallow or broken fetch may leave a commit without its tree.
        whole = self._read_only("cat-file", "-e", text + "^{tree}").status == 0
        return text if whole else None

    def _is_whole(self, name: str) -> bool:
        """Whether the cached repository is undamaged, and of the object format that `name` is of."""
        told = self._read_only("rev-parse", "--show-object-format")
        if told.status != 0 or told.out.decode("ascii", "replace").strip() != _object_format(name):
            return False
        return self._read_only("fsck", "--full", "--no-dangling", "--no-progress").status == 0

    def _make_anew(self, name: str) -> None:
        """An empty repository in place of the cached one: a cache holds nothing that is only there."""
        parent = os.path.dirname(self.folder)
        with scratch(parent, _NEW) as temporary, contextlib.suppress(FileNotFoundError):
            os.rename(self.folder, os.path.join(temporary, "damaged"))
        self._make_repository(name)

    def _make_repository(self, name: str) -> None:
        """The cached repository, for the object `name`; whole or absent, also when several processes make it
        at once."""
        if os.path.isdir(self.folder):
            return
        parent = os.path.dirname(self.folder)
        with scratch(parent, _NEW) as temporary:
            if os.path.lexists(self.folder) and not os.path.isdir(self.folder):
                os.rename(self.folder, os.path.join(temporary, "damaged"))
            made = os.path.join(temporary, "repository")
            kind = f"--object-format={_object_format(name)}"
            words = ["init", "--quiet", "--bare", "--template=", kind, "--", made]
            result = self._run(words, parent, self._environment(False))
            if result.status != 0:
                raise self._failed("init", result)
            try:
                os.rename(made, self.folder)
            except OSError:
                if not os.path.isdir(self.folder):
                    raise

    def _network(self, *arguments: str, folder: str | None = None) -> Completed:
        """A command that talks to the remote, with the user's configuration."""
        where = folder or os.path.dirname(self.folder)
        make_folder(where)
        prefix = ["--git-dir", folder] if folder else []
        return self._run([*prefix, *arguments], where, self._environment(True), seconds=_FETCH_SECONDS)

    def _read_only(self, *arguments: str, stdin: bytes = b"", limit: int = _LISTING_BYTES) -> Completed:
        """A command that reads our cached repository, without anybody's configuration."""
        return self._run(
            ["--git-dir", self.folder, *arguments],
            self.folder,
            self._environment(False),
            stdin=stdin,
            limit=limit,
        )

    def _run(
        self,
        arguments: list[str],
        cwd: str,
        env: Mapping[str, str],
        *,
        seconds: float = _LOCAL_SECONDS,
        stdin: bytes = b"",
        limit: int = _LISTING_BYTES,
    ) -> Completed:
        settings = [
            "core.hooksPath=" + os.devnull,
            "core.fsmonitor=false",
            "gc.auto=0",
            "protocol.ext.allow=never",
            "fetch.recurseSubmodules=false",
            "fetch.writeCommitGraph=false",
            # A fetch then arrives as one pack, which is there whole or not at all. Loose objects come one
            # by one: a reader beside us, or one after a crash, would take half of them for all.
            "fetch.unpackLimit=1",
        ]
        options = [word for setting in settings for word in ("-c", setting)]
        return self.context.processes.run(
            [self.program, "--no-replace-objects", *options, *arguments],
            cwd=cwd,
            env=env,
            timeout=seconds,
            limit=limit,
            stdin=stdin,
        )

    def _environment(self, with_user_configuration: bool) -> Mapping[str, str]:
        variables = {
            name: value
            for name, value in self.context.environment.variables.items()
            if name not in _DROPPED and not name.startswith("GIT_TRACE")
        }
        variables.update(
            # A path may be rewritten to a URL by the user's configuration.
            GIT_ALLOW_PROTOCOL="file" if self.context.offline else ALLOWED_PROTOCOLS,
            GIT_TERMINAL_PROMPT="0",
            GIT_ASKPASS="",
            SSH_ASKPASS_REQUIRE="never",
            GCM_INTERACTIVE="never",
            GIT_NO_REPLACE_OBJECTS="1",
            GIT_OPTIONAL_LOCKS="0",
            LC_ALL="C",
        )
        if "GIT_SSH" not in variables:
            variables.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
        if not with_user_configuration:
            variables = {k: v for k, v in variables.items() if not k.startswith("GIT_CONFIG")}
            variables.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull)
        return variables

    def _failed(self, what: str, result: Completed) -> GsdlockError:
        if self.context.offline and b"transport '" in result.err and b"not allowed" in result.err:
            return offline(self.source, pinned=what == "fetch")
        lines = [line for line in result.err.decode("utf-8", "replace").splitlines() if line.strip()]
        fix = "Look whether `git ls-remote` works there by hand; credentials must come without a question."
        if what not in ("ls-remote", "fetch"):
            fix = f"Remove the cached repository {self.folder} and try again."
        return missing(
            "E-GIT-FAILED",
            f"{self.source.subject}: git {what} of {shown(self.url, 200)} failed (status {result.status})",
            fix,
            details=[shown(line, 200) for line in lines[-5:]],
        )


def _object_format(name: str) -> str:
    """The format that a full object name is of; what is shorter is taken for the usual one."""
    return "sha256" if len(name) == 64 else "sha1"


class _Lock:
    """One process at a time fetches into a cached repository."""

    def __init__(self, path: str, source: PackSource) -> None:
        from filelock import FileLock

        self._lock = FileLock(path, timeout=_LOCK_SECONDS)
        self._source = source

    def __enter__(self) -> None:
        from filelock import Timeout

        try:
            self._lock.acquire()
        except Timeout:
            raise GsdlockError(
                "E-GIT-BUSY",
                f"{self._source.subject}: another gsdlock has been fetching it for {_LOCK_SECONDS:g} seconds",
                "Wait until it is done, or end it.",
                status=Exit.BUSY,
            ) from None

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _ambiguous(source: PackSource, ref: str) -> GsdlockError:
    return refused(
        "E-GIT-AMBIGUOUS",
        f"{source.subject}: `{shown(ref)}` is a branch and a tag with different commits",
        f"Write refs/heads/{shown(ref)} or refs/tags/{shown(ref)}.",
    )
