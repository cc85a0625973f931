"""What an apply would do to a target, one `Item` a step, and what was decided about it.

Items are made when a plan meets the disk and are frozen from then on: policy, disclosure, ledger and outcome
all speak of the same snapshot. Only allow and deny are decisions; an open question never leaves `store.gate`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ..capabilities.words import Words


class Risk(Words):
    """How much an item can hurt, in rising order; `<`, `max` and `sorted` follow that order.

    read-only: nothing changes.
    low: a new file of ours.
    moderate: our own unmodified file is replaced or removed.
    high: a shared user file, a hook or any executable surface, a link followed, a file that the user changed,
        global scope from a project's manifest.
    critical: an overlay's executable surface.
    """

    READ_ONLY = "read-only"
    LOW = "low"
    MODERATE = "moderate"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for read-only up to 4 for critical."""
        return _rank(self)

    # Words would compare by spelling ("critical" < "high"); these keep that mistake from being possible.
    def __lt__(self, other: str) -> bool:
        return _rank(self) < _rank(other)

    def __le__(self, other: str) -> bool:
        return _rank(self) <= _rank(other)

    def __gt__(self, other: str) -> bool:
        return _rank(self) > _rank(other)

    def __ge__(self, other: str) -> bool:
        return _rank(self) >= _rank(other)


_RANKS: dict[str, int] = {risk: rank for rank, risk in enumerate(Risk)}


def _rank(risk: str) -> int:
    return _RANKS[risk]


class ItemOp(Words):
    """What is done.

    create: a file of ours where nothing stands.
    replace: a file of ours by its next version (also the user's changed one, under `--ours`: risk high).
    remove: a file of ours goes.
    edit: an entry is put into a shared file.
    unedit: an entry of ours is taken out of a shared file.
    register-hook: an edit that makes the host run something.
    adopt: a file of the user's is taken over; what stood there is kept.
    restore: a file or entry that we displaced comes back.
    keep: it stands already, nothing changes.
    hold-back: the user's version stays (`--theirs`), nothing changes.
    """

    CREATE = "create"
    REPLACE = "replace"
    REMOVE = "remove"
    EDIT = "edit"
    UNEDIT = "unedit"
    REGISTER_HOOK = "register-hook"
    ADOPT = "adopt"
    RESTORE = "restore"
    KEEP = "keep"
    HOLD_BACK = "hold-back"


class ItemKind(Words):
    """What it is done to.

    file: one whole file that is only read. script: one whole file that a host or a shell runs (a hook script,
    a plugin, anything executable). entry: one change inside a shared file. hook: an entry that makes a host
    run something.
    """

    FILE = "file"
    SCRIPT = "script"
    ENTRY = "entry"
    HOOK = "hook"


class Stays(Words):
    """Why a file or an entry stays as the user has it, where they did not say so.

    decides: ours is only for where they have no value of their own. changed: it was ours, they changed it,
    and it is no longer wanted. before: it stood there before us, and is no longer wanted.
    """

    DECIDES = "decides"
    CHANGED = "changed"
    BEFORE = "before"


class Item(Struct, frozen=True):
    """One step on one target.

    `key` is unique in the target: `root:path` for a file, `lockfiles.model.edit_origin_key` for an entry.
    `scope` is `global` or `local`. `executes` says that something will run because of it. `before` and
    `after` are `sha256:…` of the bytes (for an entry, of its value) or empty where nothing stands.
    `description` is one line for people, already bounded by `shown`. `stays` is for what is said at once; it
    is not recorded.
    """

    target: str
    op: ItemOp
    key: str
    kind: ItemKind
    risk: Risk
    executes: bool
    before: str
    after: str
    description: str
    scope: str
    stays: Stays | None = None

    @property
    def changes(self) -> bool:
        """Whether anything on disk changes: false for exactly the read-only items."""
        return self.risk is not Risk.READ_ONLY


class Decision(Struct, frozen=True):
    """What was settled for one item. `decided_by` follows the grammar in `store.gate`."""

    allow: bool
    decided_by: str


def item_data(item: Item) -> dict[str, Any]:
    """An item as plain data for the ledger and for `--json`."""
    return {
        "target": item.target,
        "op": item.op.value,
        "key": item.key,
        "kind": item.kind.value,
        "risk": item.risk.value,
        "executes": item.executes,
        "before": item.before,
        "after": item.after,
        "description": item.description,
        "scope": item.scope,
    }
