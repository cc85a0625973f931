"""An npm package as a pack, through the user's own `npm`, with its scripts off.

npm is asked which versions there are and to download one tarball; its configuration (registry, proxy, token)
is the user's. The choice of the version, the comparison of the bytes with the registry's integrity and the
unpacking are ours. No dependency is installed and nothing of the package is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...capabilities.errors import GsdlockError, input_error, missing, refused, shown
from ...capabilities.npm_range import RangeError, max_satisfying, parse_range, parse_version
from ...lockfiles.model import LockedPack
from .base import Gathered, PackSource, SourceContext
from .downloads import integrity_of, is_integrity, recall
from .integrity import anew, check_integrity, offline
from .scratch import scratch
from .unpack import Strip, unpack

_SECONDS = 300.0
_ANSWER_BYTES = 64 << 20
_NAME = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
_SHOWN_VERSIONS = 10


def gather(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Gathered:
    """The files of the package, without the folder that every npm tarball wraps them in.

    Raises E-NPM-NAME, E-NPM-RANGE, E-NPM-ABSENT, E-NPM-NOT-FOUND, E-NPM-NO-VERSION, E-NPM-FAILED,
    E-NPM-ANSWER, E-OFFLINE, E-PACK-LOCKED, E-PACK-INTEGRITY, E-NPM-NO-SHA512, E-UNPACK-….
    """
    name = source.spec
    if len(name) > 214 or not _NAME.fullmatch(name) or name.startswith(("-", "~")):
        raise input_error(
            "E-NPM-NAME",
            f"{source.subject}: `{shown(name)}` is not the name of an npm package",
            'Write the name alone (`@scope/name` or `name`) and the range as `version = "…"`.',
        )
    if locked is not None:
        version, integrity, by = _locked_version(source, locked), locked.integrity, "lock"
        data = recall(context.cache, integrity, context.blobs)
        if data is None:
            data = _Npm(source, context, pinned=True).download(version)
    else:
        npm = _Npm(source, context, pinned=False)
        version, integrity = npm.pin()
        by = "registry"
        data = recall(context.cache, integrity, context.blobs) or npm.download(version)
    check_integrity(source, integrity_of(data), integrity, by)
    return Gathered(
        contents=unpack(data, Strip.FIRST, source.subject, context.limits),
        resolved=f"{name}@{version}",
        integrity=integrity,
        download=data,
    )


def _locked_version(source: PackSource, locked: LockedPack) -> str:
    name, _, version = locked.resolved.rpartition("@")
    try:
        parse_version(version)
    except RangeError:
        name = ""
    if name != source.spec or not is_integrity(locked.integrity):
        raise missing(
            "E-PACK-LOCKED",
            f"{source.subject} is locked as `{shown(locked.resolved)}`, not as a version of {source.spec}",
            f"Make manifest and lock agree again: {anew(source)}.",
        )
    return version


class _Npm:
    """The user's npm for one package. Made only where the network is needed."""

    def __init__(self, source: PackSource, context: SourceContext, *, pinned: bool) -> None:
        if context.offline:
            raise offline(source, pinned=pinned)
        program = context.processes.find("npm", context.environment.variables.get("PATH", ""))
        if program is None:
            raise missing(
                "E-NPM-ABSENT",
                f"{source.subject} comes from npm, and there is no npm on PATH",
                "Install npm, or get the pack in another way: archive, path or git.",
            )
        self._program = program
        self._source = source
        self._context = context

    def pin(self) -> tuple[str, str]:
        """The version that the manifest stands for today, and the `sha512-…` that the registry states for it.

        One that is written out needs no list of all versions: npm starts slowly, and a list can be long. If
        it is not there, the list tells which are.
        """
        wanted = self._source.version.strip()
        if _is_version(wanted):
            try:
                return wanted, self.integrity(wanted)
            except GsdlockError as error:
                if error.code not in ("E-NPM-NOT-FOUND", "E-NPM-ANSWER"):
                    raise
        version = self._choose(wanted)
        return version, self.integrity(version)

    def _choose(self, wanted: str) -> str:
        """The version that the manifest's range stands for today: a dist-tag, or the highest in the range."""
        tags, versions = self._versions()
        if wanted in ("", "*", "latest"):
            wanted = "latest"
        if wanted in tags:
            return tags[wanted]
        try:
            parse_range(wanted)
            best = max_satisfying(versions, wanted)
        except RangeError:
            known = f"; its dist-tags: {', '.join(shown(t, 40) for t in sorted(tags)[:10])}" if tags else ""
            raise input_error(
                "E-NPM-RANGE",
                f"{self._source.subject}: `{shown(wanted)}` is neither an npm range nor a dist-tag of it",
                f"Write a range such as ^1.2{known}.",
            ) from None
        if best is None:
            raise missing(
                "E-NPM-NO-VERSION",
                f"{self._source.subject}: no version of {self._source.spec} lies in {shown(wanted)}",
                "Widen the range in the manifest.",
                details=["the latest ones: " + ", ".join(shown(v, 40) for v in versions[-_SHOWN_VERSIONS:])],
            )
        return best

    def _versions(self) -> tuple[dict[str, str], list[str]]:
        answer = self._view(self._source.spec, "dist-tags", "versions")
        raw = answer.get("versions", [])
        raw = [raw] if isinstance(raw, str) else raw  # npm unwraps a list of one
        tags = answer.get("dist-tags", {})
        if not isinstance(raw, list) or not isinstance(tags, dict):
            raise self._odd_answer("view")
        versions = [v for v in raw if isinstance(v, str) and _is_version(v)]
        known = {t: v for t, v in tags.items() if isinstance(v, str) and v in versions and _TAG.fullmatch(t)}
        return known, versions

    def integrity(self, version: str) -> str:
        """The `sha512-…` that the registry states for one version."""
        answer = self._view(f"{self._source.spec}@{version}", "version", "dist.integrity")
        integrity = answer.get("dist.integrity")
        if answer.get("version") != version or not isinstance(integrity, str):
            raise self._odd_answer("view")
        # A registry may state several hashes; sha512 is the one that is locked.
        found = [word for word in integrity.split() if is_integrity(word)]
        if not found:
            raise refused(
                "E-NPM-NO-SHA512",
                f"{self._source.subject}: the registry states no sha512 for {self._source.spec}@{version}",
                "Use a newer version, or the tarball as an archive with an integrity of your own.",
            )
        return found[0]

    def download(self, version: str) -> bytes:
        """The tarball of one version, at most the limit of a download."""
        limit = self._context.limits.download
        with self._scratch() as folder:
            self._run(
                ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
                [f"{self._source.spec}@{version}"],
                folder,
            )
            # Which file it is, is not taken from npm's answer: there is exactly one.
            found = [e.path for e in os.scandir(folder) if e.name.endswith(".tgz") and not e.is_symlink()]
            if len(found) != 1:
                raise self._odd_answer("pack")
            with open(found[0], "rb") as file:
                data = file.read(limit + 1)
        if len(data) > limit:
            raise refused(
                "E-DOWNLOAD-SIZE",
                f"{self._source.subject}: {self._source.spec}@{version} is larger than {limit} bytes",
                "Use a smaller package.",
            )
        return data

    def _view(self, spec: str, *fields: str) -> dict[str, Any]:
        with self._scratch() as folder:
            answer = self._run(["view", "--json"], [spec, *fields], folder)
        # Newer npm versions wrap the answer in a list.
        if isinstance(answer, list) and len(answer) == 1:
            answer = answer[0]
        if not isinstance(answer, dict):
            raise self._odd_answer("view")
        return answer

    def _run(self, options: list[str], operands: list[str], folder: str) -> Any:
        import json

        result = self._context.processes.run(
            [self._program, *options, "--", *operands],
            cwd=folder,
            env=self._environment(),
            timeout=_SECONDS,
            limit=_ANSWER_BYTES,
        )
        try:
            answer = json.loads(result.out) if result.out.strip() else None
        except (ValueError, RecursionError):
            answer = None
        if result.status != 0:
            raise self._failed(options[0], result.status, answer, result.err)
        return answer

    def _environment(self) -> Mapping[str, str]:
        return {
            **self._context.environment.variables,
            "npm_config_ignore_scripts": "true",
            "npm_config_update_notifier": "false",
            "npm_config_audit": "false",
            "npm_config_fund": "false",
            "npm_config_progress": "false",
            "npm_config_loglevel": "error",
            "npm_config_dry_run": "false",  # the user's own would keep the tarball from being written
        }

    @contextmanager
    def _scratch(self) -> Iterator[str]:
        """A folder of its own for npm to stand in: with an empty package.json, so that it looks no further
        up for a project whose settings or workspaces would come into force."""
        with scratch(self._context.cache, "npm-") as folder:
            with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
                file.write("{}\n")
            yield folder

    def _failed(self, what: str, status: int, answer: Any, err: bytes) -> GsdlockError:
        error = answer.get("error") if isinstance(answer, dict) else None
        error = error if isinstance(error, dict) else {}
        code = str(error.get("code") or "")
        if code == "ETARGET" and "date before" in str(error.get("summary")):
            return missing(
                "E-NPM-FAILED",
                f"{self._source.subject}: your npm settings (before, or min-release-age) leaves out what "
                f"was published later, and so the {self._source.spec} that is wanted",
                "Ask for an older version in the manifest, or take that setting out: npm config ls.",
                details=[shown(str(error["summary"]), 200)],
            )
        if code in ("E404", "ETARGET", "ENOVERSIONS"):
            return missing(
                "E-NPM-NOT-FOUND",
                f"{self._source.subject}: the registry has no {self._source.spec} that you may read",
                "Look at the name and the version, and whether npm is logged in where it must be.",
            )
        lines = str(error.get("summary") or "").splitlines() or err.decode("utf-8", "replace").splitlines()
        return missing(
            "E-NPM-FAILED",
            f"{self._source.subject}: npm {what} failed ({shown(code or f'status {status}')})",
            f"Look whether `npm view {self._source.spec}` works by hand.",
            details=[shown(line, 200) for line in lines if line.strip()][-5:],
        )

    def _odd_answer(self, what: str) -> GsdlockError:
        return missing(
            "E-NPM-ANSWER",
            f"{self._source.subject}: npm {what} gave an answer that gsdlock does not understand",
            f"Look at `npm view {self._source.spec} --json`; an older or newer npm may help.",
        )


def _is_version(text: str) -> bool:
    try:
        parse_version(text)
    except RangeError:
        return False
    return True
