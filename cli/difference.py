"""A `Difference` as text: summary, list, statistics, unified patch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .render import plural

if TYPE_CHECKING:
    from ..lockfiles.diff import Difference, EntryChange, FileChange, PackChange, TargetChange

_SIGN = {"added": "+", "removed": "-", "changed": "~"}


def summary_lines(difference: Difference) -> list[str]:
    """A line per pack and per target that changes."""
    return [*map(pack_line, difference.packs), *(_target_line(t) for t in difference.targets)]


def full_lines(difference: Difference, describe: Callable[[EntryChange], str]) -> list[str]:
    """Every file and every entry, grouped by target; `describe` tells what an entry is in words."""
    lines = [pack_line(p) for p in difference.packs]
    for target in difference.targets:
        if lines:
            lines.append("")
        lines.append(_target_line(target))
        lines += [f"    feature {f} turned on" for f in target.features_added]
        lines += [f"    feature {f} turned off" for f in target.features_removed]
        lines += [f"  {_SIGN[f.change.value]} {f.key}{_file_note(f)}" for f in target.files]
        lines += [f"  {_SIGN[e.change.value]} {e.key} {e.at}: {describe(e)}" for e in target.entries]
    return lines


def stat_lines(difference: Difference) -> list[str]:
    """Per target and folder how many files are added, removed and changed; entries by file."""
    lines = [pack_line(p) for p in difference.packs]
    for target in difference.targets:
        lines.append(_target_line(target))
        groups: dict[str, list[int]] = {}
        for file in target.files:
            root, _, path = file.key.partition(":")
            folder = path.split("/")[0] + "/" if "/" in path else path
            _count(groups, f"{root}:{folder}", file.change.value)
        for entry in target.entries:
            _count(groups, f"{entry.key} (entries)", entry.change.value)
        width = max((len(g) for g in groups), default=0)
        for group, (added, removed, changed) in sorted(groups.items()):
            lines.append(f"  {group:<{width}}  +{added} -{removed} ~{changed}")
    return lines


def patch_lines(
    difference: Difference,
    text_of: Callable[[str], bytes],
    describe: Callable[[EntryChange], str],
) -> list[str]:
    """A unified diff of every file; `text_of` gives the bytes of a digest."""
    from ..lockfiles.patch import unified

    lines: list[str] = [pack_line(p) for p in difference.packs]
    for target in difference.targets:
        lines.append(_target_line(target))
        for file in target.files:
            before = text_of(file.before.digest) if file.before else None
            after = text_of(file.after.digest) if file.after else None
            lines += unified(before, after, f"{target.name}/{file.key}")
            if file.before and file.after and file.before.mode != file.after.mode:
                lines.append(f"mode {file.before.mode:04o} -> {file.after.mode:04o} {file.key}")
        for entry in target.entries:
            lines.append(f"{_SIGN[entry.change.value]} {entry.key} {entry.at}: {describe(entry)}")
    return lines


def difference_data(difference: Difference, describe: Callable[[EntryChange], str]) -> dict[str, Any]:
    """The difference for `--json`."""
    return {
        "packs": [
            {
                "name": p.name,
                "change": p.change.value,
                "before": p.before.resolved if p.before else None,
                "after": p.after.resolved if p.after else None,
            }
            for p in difference.packs
        ],
        "targets": [
            {
                "name": t.name,
                "runtime": t.runtime,
                "scope": t.scope,
                "change": t.change.value,
                "features-added": list(t.features_added),
                "features-removed": list(t.features_removed),
                "files": [
                    {
                        "file": f.key,
                        "change": f.change.value,
                        "before": f.before.digest if f.before else None,
                        "after": f.after.digest if f.after else None,
                    }
                    for f in t.files
                ],
                "entries": [
                    {"file": e.key, "at": e.at, "change": e.change.value, "what": describe(e)}
                    for e in t.entries
                ],
            }
            for t in difference.targets
        ],
    }


def pack_line(pack: PackChange) -> str:
    """`pack gsd: a@1 -> a@2`; an overlay is named as such."""
    from ..lockfiles.model import OVERLAY_PREFIX

    name = pack.name if pack.name.startswith(OVERLAY_PREFIX) else f"pack {pack.name}"
    before = pack.before.resolved if pack.before else "(none)"
    after = pack.after.resolved if pack.after else "(none)"
    if before == after and pack.before and pack.after:
        return f"{name}: {after}, other content ({pack.before.tree[7:19]} -> {pack.after.tree[7:19]})"
    return f"{name}: {before} -> {after}"


def _target_line(target: TargetChange) -> str:
    counts = _counts(f.change.value for f in target.files)
    entries = _counts(e.change.value for e in target.entries)
    text = f"{_SIGN[target.change.value]} target {target.name} ({target.runtime} {target.scope}): "
    parts = []
    if target.files:
        parts.append(f"files {counts}")
    if target.entries:
        parts.append(f"entries {entries}")
    if not parts:
        parts.append(plural(len(target.features_added) + len(target.features_removed), "feature") + " moved")
    return text + ", ".join(parts)


def _counts(changes: Iterable[str]) -> str:
    seen = list(changes)
    return " ".join(f"{_SIGN[c]}{seen.count(c)}" for c in ("added", "removed", "changed") if c in seen)


def _count(groups: dict[str, list[int]], group: str, change: str) -> None:
    row = groups.setdefault(group, [0, 0, 0])
    row[("added", "removed", "changed").index(change)] += 1


def _file_note(file: FileChange) -> str:
    if file.before and file.after and file.before.mode != file.after.mode:
        return f" (mode {file.before.mode:04o} -> {file.after.mode:04o})"
    if file.before and file.after:
        return f" ({file.before.size} -> {file.after.size} bytes)"
    return ""
