"""Refusals: every one has a stable code, says what and where, and what to do.

A refusal is raised as a `GsdlockError`. Its `code` is listed in `docs/errors.md`; its exit status is the
status of its class (`Exit`). Text that came from outside (descriptors, packs, hosts) passes `shown` before it
is put into a message, so that no escape sequence and no endless line reaches a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence


class Exit:
    """Exit statuses of the command line. Source: the design, section 9."""

    DONE = 0
    DIFFERENT = 1
    USAGE = 2
    INPUT = 3
    REFUSED = 4
    MISSING = 5
    BUSY = 6
    HOST = 7
    FAULT = 70


class GsdlockError(Exception):
    """A refusal or a failure that is explained to the user.

    `code` is stable (`E-CONFINE-LINK`), `what` one sentence on what is wrong and where, `fix` one sentence
    on what to do, `status` the exit status. `details` are further lines, each about one item; `where` is a
    path or a `file:line:column`, for `--json`. `whole` says that the lines are shown however many there are:
    what somebody is to consent to is never cut.
    """

    def __init__(
        self,
        code: str,
        what: str,
        fix: str,
        *,
        status: int,
        where: str | None = None,
        details: Sequence[str] = (),
        whole: bool = False,
    ) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.fix = fix
        self.status = status
        self.where = where
        self.details = tuple(details)
        self.whole = whole

    def __str__(self) -> str:
        return f"{self.code}: {self.what}"


def usage_error(code: str, what: str, fix: str) -> GsdlockError:
    """The command line was used wrongly (status 2)."""
    return GsdlockError(code, what, fix, status=Exit.USAGE)


def input_error(
    code: str, what: str, fix: str, *, where: str | None = None, details: Sequence[str] = ()
) -> GsdlockError:
    """A manifest, lock, descriptor or pack is wrong (status 3)."""
    return GsdlockError(code, what, fix, status=Exit.INPUT, where=where, details=details)


def refused(
    code: str,
    what: str,
    fix: str,
    *,
    where: str | None = None,
    details: Sequence[str] = (),
    whole: bool = False,
) -> GsdlockError:
    """Confinement, policy, consent or drift forbids it (status 4)."""
    return GsdlockError(code, what, fix, status=Exit.REFUSED, where=where, details=details, whole=whole)


def missing(
    code: str, what: str, fix: str, *, where: str | None = None, details: Sequence[str] = ()
) -> GsdlockError:
    """Content is missing or does not match its digest (status 5)."""
    return GsdlockError(code, what, fix, status=Exit.MISSING, where=where, details=details)


MOST_SURFACE_TEXT = 2000
"""Characters of what would be executed that anybody can be asked to read."""


def shown(text: str, limit: int = 80) -> str:
    """`text` fit to be shown: control, bidi and line-separator characters replaced by U+FFFD, then cut.

    At most `limit` characters, plus an ellipsis when something was cut. What a URL names before its host
    is `…`, but for the plain user of ssh: it may be a token.
    """
    if "@" in text and "://" in text:
        text = _without_credentials(text)
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text  # nearly all texts: nothing to replace, nothing to cut
    import unicodedata

    head = text[: limit + 1]
    safe = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNSHOWN else c for c in head)
    return safe if len(text) <= limit else safe[:limit] + "…"


HIDDEN_CHARACTERS = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
"""What `hides` looks for, as the inside of a character class."""


def hides(text: str) -> bool:
    """Whether `text` holds what no line of a screen shows as it is: a control character, a line end, or a
    control of writing direction. No name, path or identity of ours may: a reviewer would be shown another
    one."""
    if text.isprintable():
        return False
    import re

    return re.search(f"[{HIDDEN_CHARACTERS}]", text) is not None


def _without_credentials(text: str) -> str:
    import re

    return re.sub(r"(?i)(?<=://)(?<!ssh://)[^/?#\s@]*@|(?<=ssh://)[^/?#\s@:]*:[^/?#\s@]*@", "…@", text)


# Cc controls, Cf format characters (bidi overrides, zero-width), Cs lone surrogates, Zl/Zp separators.
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
