"""Show what changes: by file and by entry.

FROM and TO are each a lockfile's path, git:REV:PATH (a lock as of a revision), @lock (the lock of the
manifest), @installed (what is installed), @N (generation N of each target) or @disk (what stands on the disk
now). Default: from @installed to @lock, that is what apply would do.

example: gsdlock diff git:HEAD~1:gsdlock.lock @lock --patch
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .recovering import UNLESS_BUSY
from .render import Outcome

if TYPE_CHECKING:
    from ..lockfiles.diff import EntryChange
    from .session import Session

RECOVERY = UNLESS_BUSY
OTHER_TARGETS = True
"""Its sides may be locks of other projects, with targets of their own."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("sides", metavar="FROM TO", nargs="*", help="none, one (TO is then @lock), or both")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--stat", action="store_true", help="counts per folder only")
    how.add_argument("--patch", action="store_true", help="the text of every change, from the store")
    parser.add_argument("--exit-code", action="store_true", help="status 1 when there are differences")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """Compare two sides. See the module's text.

    Raises `GsdlockError`: E-USAGE, E-TARGET-UNKNOWN, and those of `read_side` and `disk_state`.
    """
    from ..capabilities.errors import usage_error
    from ..lockfiles.diff import compare
    from .difference import difference_data, full_lines, patch_lines, stat_lines
    from .installed import check_targets
    from .leads import leads
    from .sides import DISK, INSTALLED, LOCK, read_side
    from .standing import disk_lines, disk_state

    if len(options.sides) > 2:
        raise usage_error("E-USAGE", "diff compares two sides", "gsdlock diff [FROM] [TO]")
    sides: list[str] = options.sides
    before_name, after_name = [*sides, *[INSTALLED, LOCK][len(sides) :]]
    if options.target and DISK in (before_name, after_name):
        check_targets(session)
    states = disk_state(session) if {before_name, after_name} & {DISK, INSTALLED} else []
    drifted = [s for s in states if s.drifted]
    if DISK in (before_name, after_name):
        if {before_name, after_name} != {DISK, INSTALLED}:
            raise usage_error("E-USAGE", "@disk is compared with @installed", "gsdlock diff @installed @disk")
        lines = disk_lines(drifted, patch=options.patch)
        data = {"from": before_name, "to": after_name, "drift": [s.data() for s in drifted]}
        status = 1 if options.exit_code and drifted else 0
        return Outcome(status, data, lines or ["the disk is as it was installed"])
    before, after = read_side(session, before_name), read_side(session, after_name)
    if options.target:
        check_targets(session, [*before.names, *after.names])
    difference = compare(before.targets, after.targets, before.packs, after.packs)

    def describe(entry: EntryChange) -> str:
        return describe_entry(session, entry)

    if options.stat:
        lines = stat_lines(difference)
    elif options.patch:
        lines = patch_lines(difference, session.blobs.get, describe)
    else:
        lines = full_lines(difference, describe)
    if not lines:
        lines = [f"no difference between {before_name} and {after_name}"]
    here = leads(session, after.targets.values()) if difference and after_name == LOCK else []
    if here:
        lines += ["", "on this machine:", *(f"  {line}" for line in here)]
    if drifted:
        lines += ["", "changed on disk since it was installed:", *disk_lines(drifted, patch=options.patch)]
    data = {
        "from": before_name,
        "to": after_name,
        **difference_data(difference, describe),
        "drift": [s.data() for s in drifted],
        "leads": here,
    }
    return Outcome(1 if options.exit_code and (difference or drifted) else 0, data, lines)


def describe_entry(session: Session, entry: EntryChange) -> str:
    """An entry in words: the value as compact JSON, bounded; placeholders stay as they are locked."""
    import json

    from ..capabilities.errors import MOST_SURFACE_TEXT, GsdlockError, shown
    from ..store.blobs import named_value

    edit = entry.after or entry.before
    assert edit is not None
    try:
        value = named_value(session.blobs.get, edit.value, "the value of an entry")
    except GsdlockError as fault:
        if fault.code == "E-LOCK-INVALID":
            raise
        return f"{edit.op.value} {edit.value} (its content is not in the store)"
    text = json.dumps(value, ensure_ascii=False)
    return f"{edit.op.value} {shown(text, MOST_SURFACE_TEXT if edit.executes else 200)}"
