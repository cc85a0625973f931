"""One path on disk in a preflight: what stands there, who has a claim on it, and what is done about it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..capabilities.errors import GsdlockError, shown
from .drift import Fate, Next, Ruling, Say, Seen, judge_file, short_diff
from .faults import io_error
from .filesystem import following, masked
from .items import Item, ItemOp, Stays
from .journal import Step
from .planned import PlannedStep, Source, Weight, file_item, stage_for
from .records import FileRecord, Generation, Kept
from .roots import link_refusal, split
from .survey import Spot, Survey, TargetChange
from .wanted import Wanted, WantedFile, wanted_from_generation


class Claim(Struct, frozen=True):
    """What one target says about one path: our record of it (`base`) and what the plan wants there.

    `owner` is the plan, or else the generation, that the claim comes from; `key` is `root:path`, or the full
    path where neither plan nor record has it.
    """

    change: TargetChange
    current: Generation | None
    spot: Spot
    base: FileRecord | None
    wanted: WantedFile | None
    next: Next | None
    owner: Wanted | Generation
    key: str

    @property
    def names(self) -> tuple[str, ...]:
        """The full paths by which a user may name it: resolved, and as the root was given."""
        file = self.wanted or self.base
        if file is None:
            return (self.spot.full,)
        wanted = self.change.next
        given = wanted.roots.get(file.root) if wanted is not None else None
        if given is None and self.current is not None:
            given = self.current.roots[file.root].given
        return (self.spot.full, f"{(given or '').rstrip('/')}/{file.path}")


def claim_of(
    change: TargetChange,
    current: Generation | None,
    spot: Spot,
    base: FileRecord | None = None,
    wanted: WantedFile | None = None,
    after: Next | None = None,
) -> Claim:
    """A claim with its owner and key."""
    owner = change.next or current
    assert owner is not None, "a claim comes from a plan or from a generation"
    file = wanted or base
    key = file.key if file is not None else spot.full
    return Claim(change, current, spot, base, wanted, after, owner, key)


def source_of(claim: Claim, wanted: WantedFile, digest: str) -> Source:
    """Where the bytes of a file come from that `claim` wants; `digest` is that of what shall stand there."""
    if wanted.fill:
        return Source(wanted.source, claim.change.next, claim.key, claim.change.slug)
    return Source(digest)


def fetched(survey: Survey, source: Source) -> Source:
    """The source, after it was seen that its bytes are there. Raises as `Survey.content`."""
    if not survey.holds(source.digest, source.slug):
        fillings = survey.fillings(source.fill) if source.fill else None
        survey.content(source.digest, fillings, source.key, source.slug)
    return source


NEW = "new"
"""What the item of a file says that comes where nothing stands."""

_NOTHING_SAID = Say()


class Site:
    """One path on disk, and all who have a claim on it.

    After `judged`, `step` is what is done there (None: nothing), and `records` and `items` are those of each
    claim, by slug; `found` is what another tool put there, where it stays. A file that several targets of one
    installation want alike belongs to all of them and goes with the last; another installation's file is
    never touched.
    """

    def __init__(
        self, survey: Survey, claims: Sequence[Claim], others: Sequence[tuple[Generation, FileRecord]]
    ) -> None:
        self.survey = survey
        self.claims = claims
        self.others = others
        self.wanting = [claim for claim in claims if claim.wanted is not None]
        self.first = (self.wanting or list(claims))[0]
        self.step: PlannedStep | None = None
        self.found: tuple[Kept, bytes] | None = None
        self.records: list[tuple[str, FileRecord]] = []
        self.items: list[tuple[str, Item]] = []

    def judged(self) -> Site:
        """The site with its step, records and items; what stands in the way is in the survey."""
        self._judge()
        return self

    def _judge(self) -> None:
        say = self._said()
        if self._clashes():
            return
        if not self.wanting and self.others and self._restored() is None:
            for claim in self.claims:
                self._item(claim, ItemOp.KEEP, "", "", "stays, another target has it too")
            return
        base = next((c.base for c in (*self.wanting, *self.claims) if c.base is not None), None)
        if base is None and self.others:
            base = self.others[0][1]
        say = say.of_held(self.survey.choices.keep_held and base is not None and bool(base.held))
        found = self._look(base, say)
        if found is None:
            return
        seen, status, data = found
        ruling = self._restoring(seen, base) or judge_file(base, seen, self.first.next, say)
        if ruling.fate.refused:
            self._refuse(ruling.fate, seen, base, data)
        else:
            self._settle(ruling, seen, status, data, base)

    def _said(self) -> Say:
        if not self.survey.choices:
            return _NOTHING_SAID
        says = [self.survey.say(claim.key, *claim.names) for claim in self.claims]
        return Say(any(s.adopt for s in says), any(s.ours for s in says), any(s.theirs for s in says))

    def _look(self, base: FileRecord | None, say: Say) -> tuple[Seen, os.stat_result | None, bytes] | None:
        """What stands there. A path that is the user's by their word is not insisted upon, nor is one that
        nobody wants any more and that a link came in the way of: what is behind it is theirs now."""
        spot = self.first.spot
        try:
            return self.survey.look(spot)
        except GsdlockError as error:
            left = not self.wanting and error.code == "E-CONFINE-LINK"
            if left or say.theirs or (base is not None and base.held):
                return Seen("link"), None, b""
            self._problem(error.code, error.what, error.fix)
        except OSError as error:
            fault = io_error(error, "cannot read", spot.full)
            self._problem(fault.code, fault.what, fault.fix)
        return None

    # -- what stands in the way --------------------------------------------------------------------------

    def _clashes(self) -> bool:
        """Whether others have a claim that does not go together with what is wanted here."""
        if not self.wanting or (len(self.claims) == 1 and not self.others):
            return False
        first = self.first
        for other in self.wanting[1:]:
            if other.next != first.next:
                self._problem(
                    "E-TARGET-CLASH",
                    f"targets {first.owner.target} and {other.owner.target} want different files "
                    f"at {self._shown()}",
                    "Give one of them another scope, or disable what brings the file, and resolve again.",
                )
                return True
        foreign = {
            g.installation: g.target for g, _ in self.others if g.installation != first.owner.installation
        }
        foreign |= {
            c.owner.installation: c.owner.target
            for c in self.claims
            if c.owner.installation != first.owner.installation
        }
        for installation, target in sorted(foreign.items()):
            self._problem(
                "E-COLLISION",
                f"{self._shown()} belongs to the installation {shown(installation)} (target {shown(target)})",
                "Two installations cannot share a file: disable it in one of them.",
            )
            return True
        for generation, record in self.others:
            if self.first.next is not None and record.digest != self.first.next.digest:
                self._problem(
                    "E-TARGET-CLASH",
                    f"target {shown(generation.target)} also has {self._shown()}, in another version",
                    f"Apply {shown(generation.target)} in the same run.",
                )
                return True
        return False

    def _refuse(self, fate: Fate, seen: Seen, base: FileRecord | None, data: bytes) -> None:
        path, keep = self._shown(), "--theirs to keep your version, --ours to put ours there"
        if fate is Fate.COLLISION:
            self._problem(
                "E-COLLISION",
                f"{path} already exists and is not managed by gsdlock",
                "Move it away, or name it with --adopt (yours is kept in the store) or --theirs.",
            )
        elif fate is Fate.DELETED:
            self._problem("E-DRIFT", f"{path} is ours and was deleted", f"Name it with {keep} again.")
        elif fate is Fate.MODE:
            was = "may no longer be executed" if base and base.mode & 0o100 else "was made executable"
            self._problem("E-DRIFT", f"{path} was changed by hand: it {was}", f"Name it with {keep}.")
        elif fate is Fate.CHANGED:
            lines = self._diff(base, data)
            self._problem(
                "E-DRIFT", f"{path} was edited since we put it there", f"Name it with {keep}.", lines
            )
        else:
            self._obstructed(seen)

    def _obstructed(self, seen: Seen) -> None:
        path = self._shown()
        if seen.kind != "link":
            self._problem(
                "E-CONFINE-KIND",
                f"{path} should be a file, and a {seen.kind} stands there",
                "Move it away, and run it again.",
            )
            return
        place = self.first.spot.place
        folder, name = split(place.path)
        ground = self.survey.ground
        leads = ground.fs.readlink(ground.folder(place.anchor, folder), name)
        refusal = link_refusal(self.first.spot.full, leads)
        self._problem(refusal.code, refusal.what, refusal.fix)

    def _diff(self, base: FileRecord | None, data: bytes) -> list[str]:
        """What the user changed; nothing where our own version cannot be made again."""
        claim = next((c for c in self.claims if c.base is base), self.first)
        if base is None or claim.current is None:
            return []
        fillings = wanted_from_generation(claim.current).fillings if base.fill else None
        try:
            ours = self.survey.content(base.source, fillings, base.key, claim.change.slug + "@base")
        except GsdlockError:
            return []
        return short_diff(ours, data)

    def _problem(self, code: str, text: str, fix: str, lines: Sequence[str] = ()) -> None:
        first = self.first
        self.survey.refuse(code, first.owner.target, first.key, first.spot.full, text, fix, lines)

    # -- what is done ------------------------------------------------------------------------------------

    def _restored(self) -> tuple[Kept, bool] | None:
        """The version that shall stand here again, and whether in any case."""
        if not self.survey.restoring:
            return None
        for claim in self.claims:
            kept = claim.change.restores.get(claim.spot.full)
            back = claim.wanted is not None or claim.change.force or claim.change.returns == 0
            if kept is not None and back:
                return kept, claim.change.force
        return None

    def _restoring(self, seen: Seen, base: FileRecord | None) -> Ruling | None:
        restored = self._restored()
        if restored is None:
            return None
        kept, force = restored
        left_so = seen.same(base.digest, base.mode) if base is not None and not base.held else seen.absent
        if not (left_so or (force and seen.kind in ("file", "absent"))):
            return None
        prior = base.prior if base is not None else None
        held = "changed" if force and base is not None else ""
        if seen.same(kept.digest, kept.mode):
            return Ruling(Fate.KEEP, prior=prior, held=held)
        return Ruling(Fate.RESTORE, drifted=not left_so, prior=prior, held=held)

    def _settle(
        self,
        ruling: Ruling,
        seen: Seen,
        status: os.stat_result | None,
        data: bytes,
        base: FileRecord | None,
    ) -> None:
        """The step on disk, and the record and item of everybody who has a say."""
        op = _OPS[ruling.fate]
        new = self._new(ruling, seen)
        changes = ruling.fate in _CHANGING
        if not changes and status is not None and self._others_work():
            self.found = Kept(seen.digest, seen.mode), data
        if changes and not self._step(ruling, seen, status, data, new):
            return
        for claim in self.claims:
            if changes and new is not None:
                mode = new.mode
            else:  # what the user lets others do with the file is no reason for a new generation
                mode = base.mode if base is not None and seen.same(base.digest, base.mode) else seen.mode
            if claim.wanted is not None:
                self.records.append((claim.change.slug, record_of(claim, ruling, mode)))
            elif ruling.held and claim.base is not None:
                self.records.append((claim.change.slug, replace(claim.base, held=ruling.held)))
            after = new.digest if changes and new is not None else "" if changes else seen.digest
            text = (
                _TEXTS[ruling.fate] if not ruling.drifted else _DRIFTED.get(ruling.fate, _TEXTS[ruling.fate])
            )
            stays = _stays(ruling.fate, seen, claim.base)
            self._item(claim, op, seen.digest, after, text, users=ruling.drifted, mode=mode, stays=stays)

    def _new(self, ruling: Ruling, seen: Seen) -> Kept | None:
        """Digest and permission bits of what shall stand there; None where nothing shall."""
        if ruling.fate is Fate.RESTORE:
            restored = self._restored()
            return restored[0] if restored is not None else ruling.prior
        wanted = self.first.next
        if ruling.fate is Fate.REMOVE or wanted is None:
            return None
        if seen.kind == "file":
            return Kept(wanted.digest, following(wanted.mode, seen.mode))
        return Kept(wanted.digest, masked(wanted.mode, self.survey.store.fs.umask))

    def _step(
        self, ruling: Ruling, seen: Seen, status: os.stat_result | None, data: bytes, new: Kept | None
    ) -> bool:
        """Plan the step on disk; False where something forbids it, which is noted."""
        survey, spot = self.survey, self.first.spot
        if status is not None and 0 <= survey.store.user_id != status.st_uid:
            self._problem(
                "E-CONFINE-OWNER",
                f"{self._shown()} belongs to another user (uid {status.st_uid})",
                "Change its owner, or move it away.",
            )
            return False
        facts = survey.folder(self.first.owner.target, spot)
        source = self._source(ruling, new)
        if facts is None or (new is not None and source is None):
            return False
        self.step = PlannedStep(
            step=Step.PUT if new is not None else Step.TAKE,
            spot=spot,
            stage=stage_for(spot, facts),
            new=new,
            old=Kept(seen.digest, seen.mode) if status is not None else None,
            signature=(status.st_ino, status.st_size, status.st_mtime_ns) if status is not None else None,
            source=source,
            makes=facts.missing if new is not None else (),
            slugs=tuple(dict.fromkeys([claim.change.slug for claim in self.claims])),
            keep=data if (ruling.drifted or self._others_work()) and status is not None else None,
        )
        return True

    def _others_work(self) -> bool:
        """Whether another tool put the file there: its bytes are in no store."""
        return self.survey.assuming and any(claim.change.assumes is not None for claim in self.claims)

    def _source(self, ruling: Ruling, new: Kept | None) -> Source | None:
        """Where the bytes come from, after it was seen that they are there; None where they are not (noted)
        or none are needed."""
        if new is None:
            return None
        first, survey = self.first, self.survey
        if ruling.fate is Fate.RESTORE or first.wanted is None:
            source = Source(new.digest)
        else:
            source = source_of(first, first.wanted, new.digest)
        return survey.collect(
            first.owner.target, first.key, first.spot.full, partial(fetched, survey, source)
        )

    def _item(
        self,
        claim: Claim,
        op: ItemOp,
        before: str,
        after: str,
        text: str,
        *,
        users: bool = False,
        mode: int = 0,
        stays: Stays | None = None,
    ) -> None:
        item = item_of(claim, op, before, after, text, users=users, mode=mode)
        self.items.append((claim.change.slug, replace(item, stays=stays) if stays is not None else item))

    def _shown(self) -> str:
        return shown(self.first.spot.full, 400)


def item_of(
    claim: Claim, op: ItemOp, before: str, after: str, text: str, *, users: bool = False, mode: int = 0
) -> Item:
    """The item of one claim; `text` goes on after the path, `users` says that the user's version goes."""
    wanted, owner = claim.change.next, claim.owner
    return file_item(
        target=owner.target,
        scope=owner.scope,
        op=op,
        key=claim.key,
        mode=mode,
        before=before,
        after=after,
        text=f"{claim.spot.full}: {text}",
        weight=Weight(
            outside=wanted is not None and wanted.outside,
            group_writable=claim.spot.group_writable,
            third_party=wanted is not None and claim.key in wanted.third_party,
            users=users,
        ),
    )


def _stays(fate: Fate, seen: Seen, base: FileRecord | None) -> Stays | None:
    """Why something stays where we leave; nothing to say of what they took away, or was never ours."""
    if fate is not Fate.RELEASE or seen.absent or base is None or base.held == "foreign":
        return None
    return Stays.BEFORE if seen.same(base.digest, base.mode) else Stays.CHANGED


def record_of(claim: Claim, ruling: Ruling, mode: int) -> FileRecord:
    """The record that the next generation has of what a claim wants; `mode` is what was really set."""
    wanted, after = claim.wanted, claim.next
    assert wanted is not None and after is not None
    return FileRecord(
        root=wanted.root,
        path=wanted.path,
        source=wanted.source,
        fill=wanted.fill,
        locked_mode=wanted.mode,
        digest=after.digest,
        mode=mode or wanted.mode,
        prior=ruling.prior,
        held=ruling.held,
    )


_CHANGING = frozenset({Fate.CREATE, Fate.REPLACE, Fate.REMOVE, Fate.ADOPT, Fate.RESTORE})
_OPS = {
    Fate.KEEP: ItemOp.KEEP,
    Fate.CREATE: ItemOp.CREATE,
    Fate.REPLACE: ItemOp.REPLACE,
    Fate.REMOVE: ItemOp.REMOVE,
    Fate.ADOPT: ItemOp.ADOPT,
    Fate.RESTORE: ItemOp.RESTORE,
    Fate.HOLD: ItemOp.HOLD_BACK,
    Fate.RELEASE: ItemOp.KEEP,
}
_TEXTS = {
    Fate.KEEP: "stands as it should",
    Fate.CREATE: NEW,
    Fate.REPLACE: "next version",
    Fate.REMOVE: "goes",
    Fate.ADOPT: "takes the place of yours, which is kept in the store",
    Fate.RESTORE: "what stood there before comes back",
    Fate.HOLD: "your version stays",
    Fate.RELEASE: "is left with you",
}
_DRIFTED = {
    Fate.REPLACE: "takes the place of your edited version, which is kept in the store",
    Fate.REMOVE: "goes, with your edits, which are kept in the store",
    Fate.RESTORE: "another version comes back; the present one is kept in the store",
}
