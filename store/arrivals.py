"""Files that come into folders which do not exist yet: nothing can stand there, so there is nothing to judge.

Most files of a first install are such. For each of them `sites` would come to the very same step, record and
item, by a look at what is not there and at every rule for what might be; a test holds both equal.
"""

from __future__ import annotations

from msgspec import Struct

from ..capabilities.errors import GsdlockError
from .drift import Fate, Ruling
from .filesystem import masked
from .items import Item, ItemOp
from .journal import Step
from .planned import PlannedStep, stage_for
from .records import FileRecord, Kept
from .sites import NEW, Claim, fetched, item_of, record_of, source_of
from .survey import Survey

_COMES = Ruling(Fate.CREATE)


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

    def judged(self, claim: Claim) -> Arrival | None:
        """The step, record and item of a file that only `claim` speaks of; None where something may stand
        there, or where its content is not to be had."""
        wanted, after, survey = claim.wanted, claim.next, self._survey
        if not self._simple or wanted is None or after is None or claim.base is not None:
            return None
        facts = survey.new_folder(claim.spot)
        if facts is None:
            return None
        try:
            source = fetched(survey, source_of(claim, wanted, after.digest))
        except (GsdlockError, OSError):
            return None  # asked for again, and told, by the site
        mode = masked(after.mode, survey.store.fs.umask)
        step = PlannedStep(
            step=Step.PUT,
            spot=claim.spot,
            stage=stage_for(claim.spot, facts),
            new=Kept(after.digest, mode),
            old=None,
            signature=None,
            source=source,
            makes=facts.missing,
            slugs=(claim.change.slug,),
        )
        item = item_of(claim, ItemOp.CREATE, "", after.digest, NEW, mode=mode)
        return Arrival(step, record_of(claim, _COMES, mode), item)
