"""Files that come into folders which do not exist yet: nothing can stand there, so there is nothing to judge.

Most files of a first install are such. For each of them `sites` would come to the very same step, record and
item, by a look at what is not there and at every rule for what might be; a property test holds both equal.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from ..capabilities.errors import GsdlockError
from .filesystem import masked
from .items import Item, ItemOp
from .journal import Step
from .planned import PlannedStep, Weight, file_item, stage_for
from .records import FileRecord, Kept
from .sites import NEW, Claim, fetch, source_of
from .survey import Survey


class Arrival(Struct, frozen=True):
    """What is done about one such file."""

    step: PlannedStep
    record: FileRecord
    item: Item


class Arrivals:
    """See the module. `judged` gives None for what is not as simple as that."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        # What the user said, and what stood there before, is looked at file by file.
        self._simple = not (survey.choices or survey.restoring or survey.assuming)
        umask = survey.store.fs.umask
        self._mode = cache(lambda mode: masked(mode, umask))
        self._slugs = cache(lambda slug: (slug,))

    def judged(self, claim: Claim) -> Arrival | None:
        """The step, record and item of a file that only `claim` speaks of; None where something may stand
        there, or where its content is not to be had."""
        wanted, after, change = claim.wanted, claim.next, claim.change
        plan = change.next
        if not self._simple or wanted is None or after is None or plan is None or claim.base is not None:
            return None
        survey, spot = self._survey, claim.spot
        facts = survey.new_folder(spot)
        if facts is None:
            return None
        source = source_of(claim, wanted, after.digest)
        try:
            fetch(survey, source)
        except (GsdlockError, OSError):
            return None  # asked for again, and told, by the site
        mode = self._mode(after.mode)
        return Arrival(
            step=PlannedStep(
                step=Step.PUT,
                spot=spot,
                stage=stage_for(spot, facts),
                new=Kept(after.digest, mode),
                old=None,
                signature=None,
                source=source,
                makes=facts.missing,
                slugs=self._slugs(change.slug),
            ),
            record=FileRecord(
                root=wanted.root,
                path=wanted.path,
                source=wanted.source,
                fill=wanted.fill,
                locked_mode=wanted.mode,
                digest=after.digest,
                mode=mode,
            ),
            item=file_item(
                target=plan.target,
                scope=plan.scope,
                op=ItemOp.CREATE,
                key=claim.key,
                mode=mode,
                before="",
                after=after.digest,
                text=f"{spot.full}: {NEW}",
                weight=Weight(
                    outside=plan.outside,
                    group_writable=spot.group_writable,
                    third_party=claim.key in plan.third_party,
                ),
            ),
        )
