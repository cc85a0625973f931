"""One shared file in a preflight: whose entries are in it, whose shall be, and the bytes that result."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from ..capabilities.canonical import sha256_digest
from ..capabilities.errors import GsdlockError, shown
from .drift import Say, Seen
from .edit_claims import EditClaim, Standing, entry_item, entry_items, is_left_alone, weight_of
from .edits.types import EditFault, Editor
from .entry_drift import found_again, held_back, is_ours, judge_entries
from .faults import edit_fix, io_error
from .filesystem import masked
from .items import Item, ItemOp, Stays
from .journal import Recipe, Step
from .locate import not_yours, read_only
from .merge import LOST, Known, Merged, merge
from .objections import host_refusal, leaves, objections, rests
from .planned import PlannedStep, Source, file_item, stage_for
from .records import EditedRecord, EntryRecord, Generation, Kept
from .roots import writable
from .survey import Survey
from .wanted import Objection, Validator, WantedChange, identity, item_key

_PAUSE = 0.02  # seconds: what a host needs to write its settings


class SharedFile:
    """One shared file, and all who have a claim on it.

    After `judged`, `step` is what is done (None: nothing), `saves` are bytes that go into the store, and
    `records` and `items` are those of each claim, by slug.
    """

    def __init__(
        self, survey: Survey, claims: Sequence[EditClaim], others: Sequence[tuple[Generation, EditedRecord]]
    ) -> None:
        self.survey = survey
        self.claims = claims
        self.others = others
        self.spot = claims[0].spot
        self.step: PlannedStep | None = None
        self.saves: list[bytes] = []
        self.records: list[tuple[str, EditedRecord]] = []
        self.items: list[tuple[str, Item]] = []
        known = claims[0].wanted or claims[0].base
        assert known is not None, "a claim has a plan or a record"
        self._format = known.format
        self._editor: Editor = survey.store.editors(known.format)
        self._held: dict[str, list[EntryRecord]] = {claim.slug: [] for claim in claims}
        self._asked: dict[str, list[WantedChange]] = {claim.slug: [] for claim in claims}
        self._over: set[str] = set()
        self._whole: frozenset[str] = frozenset()
        self._present: set[tuple[str, str, bytes]] = set()
        self._yours: set[tuple[str, str, bytes]] = set()

    def judged(self, tries: int = 3) -> SharedFile:
        """The file with its step, records and items; what stands in the way is in the survey.

        A file that does not parse and is being written at this very moment is looked at again, up to `tries`
        times in all.
        """
        theirs = all(is_left_alone(self.survey, claim) for claim in self.claims)
        try:
            for claim in self.claims:
                if claim.obstruction is not None:
                    raise claim.obstruction
            seen, status, data = self.survey.look(self.spot)
        except GsdlockError as error:
            self._fault(error.code, error.what, error.fix, theirs)
            return self
        except OSError as error:
            fault = io_error(error, "cannot read", self.spot.full)
            self._fault(fault.code, fault.what, fault.fix, theirs)
            return self
        if seen.kind not in ("file", "absent"):
            self._fault(
                "E-EDIT-KIND",
                f"{self._shown()} should be a file, and a {seen.kind} stands there",
                "Move it away, and run it again.",
                theirs,
            )
            return self
        current = data if status is not None else None
        try:
            self._judge(seen, status, current)
        except EditFault as fault:
            if fault.kind == "syntax" and tries > 1 and self._is_being_written(seen):
                return SharedFile(self.survey, self.claims, self.others).judged(tries - 1)
            self._edit_fault(fault, theirs)
        except GsdlockError as error:
            self._fault(error.code, error.what, error.fix, theirs)
        return self

    def _is_being_written(self, seen: Seen) -> bool:
        """Whether the file is another one a moment later: a host writes it in place, and we read half."""
        time.sleep(_PAUSE)
        try:
            return self.survey.look(self.spot)[0] != seen
        except (GsdlockError, OSError):
            return True

    def _judge(self, seen: Seen, status: os.stat_result | None, current: bytes | None) -> None:
        if self._foreign():
            return
        restored = self._restored(seen)
        if restored is not None:
            self._restore(restored, seen, status, current)
            return
        self._find_again(current)
        digest = sha256_digest(current) if current is not None else None
        if self._as_we_left_it(digest):
            self._keep_all()
            return
        for claim in self.claims:
            self._ask(claim, current)
        known = self._known(digest, current)
        owned = {claim.slug: claim.entries for claim in self.claims}
        owned |= {generation.slug: record.entries for generation, record in self.others}
        asked = {slug: tuple(changes) for slug, changes in self._asked.items()}
        asked |= {
            generation.slug: tuple(
                WantedChange(e.change, e.source, e.executes) for e in record.entries if not e.held
            )
            for generation, record in self.others
        }
        merged = merge(self._editor, current, owned, asked, known, self._over)
        against = self._objections(current, merged)
        self._whole = rests(against, owned, asked) if against else frozenset()
        if self._whole:
            merged = merge(self._editor, current, owned, asked, known, self._over, self._whole)
            against = self._objections(current, merged)
        against = [o for o in against if not leaves(o, owned, asked)]
        if against:
            error = host_refusal(self.spot.full, against)
            self._refuse(error.code, error.what, error.fix, error.details)
            return
        recipe = Recipe(
            format=self._format,
            real=self.spot.full,
            owned=owned,
            asked=asked,
            known=(_digest(known.without), digest) if known is not None else None,
            over=tuple(sorted(self._over)),
            records=tuple(claim.slug for claim in self.claims),
            whole=tuple(sorted(self._whole)),
        )
        self._settle(merged, recipe, seen, status, current)

    def _find_again(self, current: bytes | None) -> None:
        """What was held because the file could not be read is judged by what can be read now."""

        def again(record: EditedRecord) -> EditedRecord:
            return replace(record, entries=tuple(found_again(self._editor, current, record.entries)))

        bases = [claim.base for claim in self.claims if claim.base is not None]
        records = (*bases, *(record for _, record in self.others))
        if not any(e.held and e.entry.added for record in records for e in record.entries):
            return
        if current is not None:
            self._editor.check(current)
        self.claims = [c if c.base is None else replace(c, base=again(c.base)) for c in self.claims]
        self.others = [(generation, again(record)) for generation, record in self.others]

    # -- what stands in the way --------------------------------------------------------------------------

    def _refuse(self, code: str, text: str, fix: str, lines: Sequence[str] = (), key: str = "") -> None:
        first = self.claims[0]
        self.survey.refuse(code, first.owner.target, key or first.key, self.spot.full, text, fix, lines)

    def _fault(self, code: str, text: str, fix: str, theirs: bool) -> None:
        """The file cannot be used at all. Where it is `theirs` it is left alone, and every entry held back.

        The record keeps what was ours, so that it goes with us once the file can be read again. What the plan
        wants besides is put in then.
        """
        if not theirs:
            self._refuse(code, text, fix)
            return
        self.step, self.saves, self.records, self.items = None, [], [], []
        for claim in self.claims:
            base, changes = claim.base, claim.changes
            if base is not None:
                held = tuple(replace(entry, held=True) for entry in base.entries)
                if claim.change.next is not None:
                    self.records.append((claim.slug, replace(base, entries=held)))
                wants = {change.identity for change in changes}
                had = [WantedChange(e.change, e.source, e.executes) for e in held]
                changes = (*changes, *(change for change in had if change.identity not in wants))
            elif changes:
                held = tuple(held_back(change) for change in changes)
                self.records.append((claim.slug, self._record(claim, held, None, None)))
            stays = Stays.CHANGED if claim.change.next is None else None
            for change in changes:
                item = entry_item(claim, change, ItemOp.HOLD_BACK, "the file stays as it is", stays)
                self.items.append((claim.slug, item))

    def _edit_fault(self, fault: EditFault, theirs: bool) -> None:
        at = f", line {fault.line}, column {fault.column}" if fault.line else ""
        self._fault(
            f"E-EDIT-{fault.kind.upper()}",
            f"{self._shown()}{at}: {shown(fault.message, 200)}",
            edit_fix(fault.kind),
            theirs,
        )

    def _foreign(self) -> bool:
        """Whether another installation has one of the wanted entries."""
        for claim in self.claims:
            mine = claim.owner.installation
            wants = {change.identity: change for change in claim.changes}
            theirs = [(g.installation, g.target, r.entries) for g, r in self.others]
            theirs += [(c.owner.installation, c.owner.target, c.entries) for c in self.claims]
            for installation, target, entries in theirs:
                for record in entries if installation != mine else ():
                    change = wants.get(identity(record.change))
                    if change is not None and record.entry.added:
                        self._refuse(
                            "E-COLLISION",
                            f"the entry at {shown(change.change.at)} of {self._shown()} belongs to the "
                            f"installation {shown(installation)} (target {shown(target)})",
                            "Two installations cannot share an entry: disable what brings it in one of them, "
                            "or say hooks = false for that target where it belongs to a hook.",
                            key=item_key(claim.key, change),
                        )
                        return True
        return False

    # -- what is asked for -------------------------------------------------------------------------------

    def _as_we_left_it(self, digest: str | None) -> bool:
        """Whether the file is byte for byte what we wrote, and everything that is wanted is in it: then it
        need not even be parsed."""
        bases = [claim.base for claim in self.claims if claim.base is not None]
        records = [*bases, *(record for _, record in self.others)]
        return (
            digest is not None
            and any(record.after == digest for record in records)
            and all(record.real == self.spot.full for record in bases)
            and not any(entry.held for base in bases for entry in base.entries)
            and all(
                {change.identity for change in claim.changes}
                == {identity(entry.change) for entry in claim.entries}
                for claim in self.claims
            )
        )

    def _keep_all(self) -> None:
        for claim in self.claims:
            if claim.base is not None:
                self.records.append((claim.slug, claim.base))
            for change in claim.changes:
                # Whatever the user may have said of it, it is there: a choice that names it is no mistake.
                self.survey.say(claim.key, claim.spot.full, claim.given, at=change.change.at)
                self._item(claim, change, ItemOp.KEEP, "stands as it should")

    def _ask(self, claim: EditClaim, current: bytes | None) -> None:
        """Which of the wanted changes are asked for, and which are held back; drift is noted."""

        held = {identity(e.change) for e in claim.entries if e.held}

        def say(change: WantedChange) -> Say:
            said = self.survey.say(claim.key, claim.spot.full, claim.given, at=change.change.at)
            return said.of_held(self.survey.choices.keep_held and change.identity in held)

        judged = judge_entries(self._editor, current, claim.entries, claim.changes, say)
        self._asked[claim.slug] += judged.asked
        self._held[claim.slug] += [held_back(change) for change in judged.held]
        self._over |= judged.over
        self._present |= judged.present
        self._yours |= judged.yours
        for change in judged.drifted:
            self._drift(claim, change)

    def _drift(self, claim: EditClaim, change: WantedChange) -> None:
        at = shown(change.change.at) or "the top level"
        self._refuse(
            "E-DRIFT-ENTRY",
            f"{self._shown()}: our entry at {at} was changed or removed by hand",
            "Name the file or the entry with --theirs to leave it so, --ours to put ours in.",
            key=item_key(claim.key, change),
        )

    def _known(self, digest: str | None, current: bytes | None) -> Known | None:
        """The last state that we wrote, if the file is still in it."""
        records = [c.base for c in self.claims if c.base is not None and c.base.real == self.spot.full]
        for record in (*records, *(record for _, record in self.others)):
            if digest is None or record.after != digest:
                continue
            if record.without is None:
                return Known(None, current)
            try:
                return Known(self.survey.content(record.without), current)
            except GsdlockError as error:
                if error.code not in LOST:
                    raise
        return None

    # -- what is done ------------------------------------------------------------------------------------

    def _settle(
        self,
        merged: Merged,
        recipe: Recipe,
        seen: Seen,
        status: os.stat_result | None,
        current: bytes | None,
    ) -> None:
        if merged.data != current:
            if not self._may_write(status):
                return
            new = None
            if merged.data is not None:
                mode = seen.mode if status is not None else masked(0o644, self.survey.store.fs.umask)
                new = Kept(sha256_digest(merged.data), mode)
            source = Source(new.digest, data=merged.data) if new is not None else None
            self._step(Step.EDIT, new, source, recipe, seen, status, current)
        saved = False
        remaining = any(merged.entries.values()) and merged.data is not None
        for claim in self.claims:
            entries = (*merged.entries[claim.slug], *self._held[claim.slug])
            base = claim.base if claim.base is not None and claim.base.real == self.spot.full else None
            as_it_was = self.step is None and base is not None and entries == base.entries
            if base is not None and as_it_was and base.after is not None:  # None: taken over, never written
                self.records.append((claim.slug, base))
            elif entries or (base is not None and remaining):
                record = self._record(claim, entries, merged.without, merged.data)
                self.records.append((claim.slug, record))
                saved = True
        if saved and merged.without is not None:
            self.saves.append(merged.without)
        self._add_items(current)

    def _may_write(self, status: os.stat_result | None) -> bool:
        """Whether the file is the user's to change: theirs, not read-only by its mode bits (those of root
        count alike), and behind a link in a folder that may be written in."""
        real, user_id = self.spot.full, self.survey.store.user_id
        behind = next((claim for claim in self.claims if claim.linked), None)
        path = behind.given if behind is not None else real
        refusal = None
        if status is not None and not writable(status, user_id):
            refusal = read_only(path, real)
        elif status is not None and 0 <= user_id != status.st_uid:
            refusal = not_yours(path, real, status.st_uid)
        elif behind is not None:
            try:
                self.survey.judge_folder(real)
            except GsdlockError as error:
                refusal = read_only(path, real) if error.code == "E-ROOT-READONLY" else error
        if refusal is not None:
            self._refuse(refusal.code, refusal.what, refusal.fix)
        return refusal is None

    @property
    def _validators(self) -> tuple[Validator, ...]:
        """Who judges the merged file: every host that reads it."""
        found = (claim.change.validators.get(claim.key) for claim in self.claims)
        return tuple(validate for validate in found if validate is not None)

    def _objections(self, current: bytes | None, merged: Merged) -> list[Objection]:
        return objections(self._validators, current, merged.data) if merged.data != current else []

    def _step(
        self,
        step: Step,
        new: Kept | None,
        source: Source | None,
        recipe: Recipe | None,
        seen: Seen,
        status: os.stat_result | None,
        current: bytes | None,
    ) -> None:
        facts = self.survey.folder(self.claims[0].owner.target, self.spot)
        if facts is None:
            return
        self.step = PlannedStep(
            step=step,
            spot=self.spot,
            stage=stage_for(self.spot, facts),
            new=new,
            old=Kept(seen.digest, seen.mode) if status is not None else None,
            signature=(status.st_ino, status.st_size, status.st_mtime_ns) if status is not None else None,
            source=source,
            makes=facts.missing if new is not None else (),
            slugs=tuple(claim.slug for claim in self.claims),
            keep=current,
            recipe=recipe,
            validators=self._validators,
        )

    def _record(
        self,
        claim: EditClaim,
        entries: tuple[EntryRecord, ...],
        without: bytes | None,
        after: bytes | None,
    ) -> EditedRecord:
        known = claim.wanted or claim.base
        assert known is not None, "a claim has a plan or a record"
        return EditedRecord(
            root=known.root,
            path=known.path,
            real=self.spot.full,
            format=self._format,
            without=_digest(without),
            after=_digest(after),
            entries=entries,
        )

    # -- going back to bytes -----------------------------------------------------------------------------

    def _restored(self, seen: Seen) -> Kept | None:
        """The version of the whole file that shall stand here again: on a rollback only where nobody else has
        entries in it, and where it is as we left it; for the verb restore in any case."""
        found = {claim.change.restores.get(self.spot.full) for claim in self.claims}
        kept = next(iter(found)) if len(found) == 1 else None
        force = all(claim.change.force for claim in self.claims)
        if kept is None or (not force and any(record.entries for _, record in self.others)):
            return None
        left = all(
            (c.base.after if c.base is not None else None) == (seen.digest or None) for c in self.claims
        )
        return kept if force or left else None

    def _restore(self, kept: Kept, seen: Seen, status: os.stat_result | None, current: bytes | None) -> None:
        first = self.claims[0]
        data: bytes | None = current
        if kept.digest != seen.digest:
            content = partial(self.survey.content, kept.digest)
            data = self.survey.collect(first.owner.target, first.key, self.spot.full, content)
        if data is None or not self._may_write(status):
            return
        if data != current:
            self._step(Step.PUT, kept, Source(kept.digest), None, seen, status, current)
        for claim in self.claims:
            record = claim.change.reinstated.get(self.spot.full)
            if record is None and claim.change.force and claim.base is not None:
                entries = tuple(
                    e
                    if self._editor.holds(data, e.change)
                    else held_back(WantedChange(e.change, e.source, e.executes))
                    for e in claim.entries
                )
                record = replace(claim.base, entries=entries)
            if record is not None:
                self.records.append((claim.slug, record))
            op = ItemOp.RESTORE if data != current else ItemOp.KEEP
            item = file_item(
                target=claim.owner.target,
                scope=claim.owner.scope,
                op=op,
                key=claim.key,
                mode=0o644,
                before=seen.digest,
                after=kept.digest,
                text=f"{self.spot.full}: the file as it was comes back",
                weight=replace(weight_of(claim), users=True),
            )
            self.items.append((claim.slug, item))

    # -- small -------------------------------------------------------------------------------------------

    def _add_items(self, current: bytes | None) -> None:
        holds = partial(is_ours, self._editor, current)
        asked = {slug: tuple(changes) for slug, changes in self._asked.items()}
        others = [record for _, record in self.others]
        standing = Standing(self._present, self._yours, holds, self._whole)
        self.items += entry_items(self.claims, asked, others, standing)
        if self.step is not None and not any(item.changes for _, item in self.items):
            # The file changes though no entry of its own does (a copy too many goes): that is asked too.
            claim = self.claims[0]
            ours = (WantedChange(r.change, r.source, r.executes) for r in claim.entries)
            change = next(iter(claim.changes), None) or next(ours)
            self._item(claim, change, ItemOp.EDIT, "is put in order")

    def _item(self, claim: EditClaim, change: WantedChange, op: ItemOp, text: str) -> None:
        self.items.append((claim.slug, entry_item(claim, change, op, text)))

    def _shown(self) -> str:
        return shown(self.spot.full, 400)


def _digest(data: bytes | None) -> str | None:
    return None if data is None else sha256_digest(data)
