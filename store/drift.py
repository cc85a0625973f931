"""The three-way rule for one whole file: what we wrote (base), what stands there now, what the plan wants.

Pure: `judge_file` is a table. Nothing of the user's is ever lost by it: where the user's version goes, it is
kept in the store; where it stays, the record says so.
"""

from __future__ import annotations

from msgspec import Struct

from ..capabilities.words import Words
from .records import FileRecord, Kept


class Seen(Struct, frozen=True):
    """What stands at a path. `kind` is `absent` or a word of `filesystem.kind_of` (`file`, `link` …);
    `digest` and `mode` (permission bits) only for a file."""

    kind: str
    digest: str = ""
    mode: int = 0

    @property
    def absent(self) -> bool:
        """Whether nothing stood there."""
        return self.kind == "absent"

    def same(self, digest: str, mode: int) -> bool:
        """Whether it is a file of these bytes that the owner may, or may not, execute as `mode` says."""
        return self.kind == "file" and self.digest == digest and (self.mode ^ mode) & 0o100 == 0


class Next(Struct, frozen=True):
    """What the plan wants at a path: digest of the filled bytes, locked mode."""

    digest: str
    mode: int


class Fate(Words):
    """What happens to a path, or why it cannot.

    keep: stands as it should, nothing is done. create, replace, remove: as said, to a file of ours or to
    nothing. adopt: the user's file makes way and is kept. restore: what stood there before us comes back.
    hold: the user's version stays, by their choice. release: we no longer own what stands there.
    collision: a file of the user's stands where ours should. changed, deleted, mode: the user changed our
    file, deleted it, or changed whether it may be executed. obstructed: something that is no file is there.
    """

    KEEP = "keep"
    CREATE = "create"
    REPLACE = "replace"
    REMOVE = "remove"
    ADOPT = "adopt"
    RESTORE = "restore"
    HOLD = "hold"
    RELEASE = "release"
    COLLISION = "collision"
    CHANGED = "changed"
    DELETED = "deleted"
    MODE = "mode"
    OBSTRUCTED = "obstructed"

    @property
    def refused(self) -> bool:
        """Whether this is a problem, not a step."""
        return self in (Fate.COLLISION, Fate.CHANGED, Fate.DELETED, Fate.MODE, Fate.OBSTRUCTED)


class Ruling(Struct, frozen=True):
    """The fate of a path; `drifted` says that the user's version is set aside by it (`--ours`, `--adopt`).

    `prior` and `held` go into the next record (see `FileRecord`).
    """

    fate: Fate
    drifted: bool = False
    prior: Kept | None = None
    held: str = ""


class Say(Struct, frozen=True):
    """What the user said about a path on the command line."""

    adopt: bool = False
    ours: bool = False
    theirs: bool = False

    def of_held(self, keeps: bool) -> Say:
        """The same; where it `keeps` what is held back, without the word that would replace that."""
        return Say(theirs=self.theirs) if keeps else self


def judge_file(base: FileRecord | None, seen: Seen, wanted: Next | None, say: Say) -> Ruling:
    """The fate of one path. `base` is our record of it, None where we own nothing there.

    What the user said matters only where their version and ours differ. A held file is theirs until it is
    equal to ours again.
    """
    if wanted is None:
        return _leave(base, seen, say) if base is not None else Ruling(Fate.KEEP)
    if base is None:
        return _arrive(seen, wanted, say)
    foreign = Kept(seen.digest, seen.mode) if base.held == "foreign" and seen.kind == "file" else None
    if seen.same(wanted.digest, wanted.mode):
        return Ruling(Fate.KEEP, prior=base.prior or foreign)
    if seen.same(base.digest, base.mode):
        return Ruling(Fate.REPLACE, prior=base.prior or foreign)
    if base.held and not say.ours:
        return Ruling(Fate.HOLD, prior=base.prior, held=base.held)
    if say.theirs:
        return Ruling(Fate.HOLD, prior=base.prior, held="changed")
    if seen.absent:
        return Ruling(Fate.CREATE if say.ours else Fate.DELETED, prior=base.prior)
    if seen.kind != "file":
        return Ruling(Fate.OBSTRUCTED)
    if not say.ours:
        return Ruling(Fate.MODE if seen.digest == base.digest else Fate.CHANGED)
    return Ruling(Fate.REPLACE, drifted=True, prior=base.prior or foreign)


def _arrive(seen: Seen, wanted: Next, say: Say) -> Ruling:
    """We own nothing there, and want something there."""
    if seen.absent:
        return Ruling(Fate.CREATE)
    if seen.same(wanted.digest, wanted.mode):
        return Ruling(Fate.KEEP, prior=Kept(seen.digest, seen.mode))
    if say.theirs:
        return Ruling(Fate.HOLD, held="foreign")
    if seen.kind != "file":
        return Ruling(Fate.OBSTRUCTED)
    if say.adopt or say.ours:
        return Ruling(Fate.ADOPT, drifted=True, prior=Kept(seen.digest, seen.mode))
    return Ruling(Fate.COLLISION)


def _leave(base: FileRecord, seen: Seen, say: Say) -> Ruling:
    """We own something there, and want nothing there any more.

    A file that the user changed is theirs now: it stays and is reported, unless they say `--ours`.
    """
    if base.held or seen.absent:
        return Ruling(Fate.RELEASE)
    unchanged = seen.kind == "file" and seen.digest == base.digest
    if not unchanged and not (say.ours and seen.kind == "file"):
        return Ruling(Fate.RELEASE)
    if base.prior is None:
        return Ruling(Fate.REMOVE, drifted=not unchanged)
    if seen.same(base.prior.digest, base.prior.mode):
        return Ruling(Fate.RELEASE)
    return Ruling(Fate.RESTORE, drifted=not unchanged, prior=base.prior)


MOST_DIFF_LINES = 12


def short_diff(before: bytes, after: bytes) -> list[str]:
    """The first lines of a unified diff, `before` being what we wrote and `after` what stands there.

    Bytes that are no UTF-8 text, or long ones, are only counted.
    """
    if b"\0" in before or b"\0" in after or max(len(before), len(after)) > 256 * 1024:
        return [f"{len(before)} bytes became {len(after)}"]
    import difflib

    lines = difflib.unified_diff(
        before.decode("utf-8", "replace").splitlines(),
        after.decode("utf-8", "replace").splitlines(),
        "installed",
        "on disk",
        lineterm="",
        n=1,
    )
    found = list(lines)[2:]  # without the names of the two
    if len(found) > MOST_DIFF_LINES:
        found = [*found[:MOST_DIFF_LINES], f"… {len(found) - MOST_DIFF_LINES} lines more"]
    return found
