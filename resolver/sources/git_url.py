"""Which git URLs and refs are taken, decided as data before git sees them.

A URL is `https://`, `ssh://`, `git://`, `file://`, `[user@]host:path`, or a path on this machine. Helpers
that run programs (`ext::…`, any `transport::address`) and texts that git would read as an option are refused.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ...capabilities.errors import GsdlockError, input_error, refused, shown
from ..specs import is_scp_like
from .base import PackSource, SourceContext
from .path import local_path

ALLOWED_PROTOCOLS = "file:git:https:ssh"
"""The value of GIT_ALLOW_PROTOCOL: holds for redirects and for rewriting by the user's configuration too."""

_SCHEMES = frozenset({"https", "ssh", "git", "file"})
_HASH = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,63}")


def split_spec(source: PackSource) -> tuple[str, str]:
    """URL and ref of a git source: `url`, `url#ref`, or a `ref` of its own. The ref may be empty.

    Raises E-GIT-REF where both are given and differ, or where the ref is not one.
    """
    url, _, inline = source.spec.removeprefix("git+").partition("#")
    if inline and source.ref and inline != source.ref:
        raise bad_ref(source, source.ref, f"is not the `#{shown(inline)}` of the URL")
    ref = source.ref or inline
    fault = ref_fault(ref) if ref else None
    if fault is not None:
        raise bad_ref(source, ref, fault)
    return url, ref


def git_url(url: str, source: PackSource, context: SourceContext) -> str:
    """The URL as it is given to git: a path becomes absolute. Raises E-GIT-URL, E-PACK-PATH."""
    if not url or url.startswith("-") or any(ord(c) < 0x20 or ord(c) == 0x7F for c in url):
        raise _bad_url(source, url, "is not a URL")
    if re.match(r"[A-Za-z0-9+.-]*::", url):
        raise _bad_url(source, url, "names a helper program")
    if "://" in url:
        return _checked_url(source, url)
    if is_scp_like(url):
        host = url.partition(":")[0].rpartition("@")[2]
        if host.startswith("-") or not host:
            raise _bad_url(source, url, "names no host")
        return url
    return local_path(PackSource(source.name, source.kind, url, source.folder), context)


def is_local(url: str) -> bool:
    """Whether a URL from `git_url` needs no network."""
    return url.lower().startswith("file://") or ("://" not in url and not is_scp_like(url))


def is_commit(text: str) -> bool:
    """Whether `text` is a full object name (sha1 or sha256)."""
    return _HASH.fullmatch(text) is not None


def may_be_abbreviated(text: str) -> bool:
    """Whether `text` could be the beginning of an object name."""
    return _ABBREVIATED.fullmatch(text) is not None


def ref_fault(ref: str) -> str | None:
    """Why `ref` cannot be a branch, tag, commit or `refs/…`, as the end of a sentence; None where it can.

    The rules are those of `git check-ref-format`, and no revision syntax (`main~2`).
    """
    if ref.startswith("-"):
        return "begins with a dash"
    if len(ref.encode("utf-8", "surrogatepass")) > 255:
        return "is longer than 255 bytes"
    if any(ord(c) <= 0x20 or ord(c) == 0x7F or c in "~^:?*[\\" for c in ref) or "@{" in ref or ref == "@":
        return "holds a character that no ref has"
    components = ref.split("/")
    if any(not c or c.startswith(".") or c.endswith(".lock") for c in components):
        return "has a component that no ref has"
    if ".." in ref or ref.endswith("."):
        return "has dots where no ref has them"
    return None


def _checked_url(source: PackSource, url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise _bad_url(source, url, "is not a URL") from None
    if parts.scheme not in _SCHEMES:
        raise _bad_url(
            source, url, f"is {shown(parts.scheme)}://, and only https, ssh, git and file are used"
        )
    if parts.scheme != "file" and (not host or host.startswith("-")):
        raise _bad_url(source, url, "names no host")
    # A user name is usual in ssh; over https it may be a token, and the lock is committed.
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise _bad_url(source, f"{parts.scheme}://…@{host}", "holds credentials")
    return url


def bad_ref(source: PackSource, ref: str, how: str) -> GsdlockError:
    """The error for a ref that cannot be used; `how` ends the sentence."""
    return input_error(
        "E-GIT-REF",
        f"{source.subject}: the ref `{shown(ref)}` {how}",
        "Name a branch, a tag, a full commit or a ref that begins with refs/.",
    )


def _bad_url(source: PackSource, url: str, how: str) -> GsdlockError:
    return refused(
        "E-GIT-URL",
        f"{source.subject}: `{shown(url, 200)}` {how}",
        "Use https://, ssh://, git@host:path or a path, with credentials kept in git's own credential store.",
    )
