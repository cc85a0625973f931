"""The text by which a pack is asked for, in a form that holds on every machine."""

from __future__ import annotations

import posixpath
import re


def portable(spec: str) -> str:
    """A URL as it is; of a path on this machine only the last component."""
    return spec if _is_remote(spec) else spec.replace("\\", "/").rstrip("/").rpartition("/")[2]


def distinct(spec: str) -> str:
    """As `portable`, but not alike for two paths that end alike: it tells whether another thing is asked for.

    A path from the manifest's folder or from the home holds on every machine, and stays. An absolute one is
    told by its last component and the first 16 digits of its sha256.
    """
    if _is_remote(spec):
        return spec
    path = spec.replace("\\", "/")
    if not _is_absolute(path):
        return posixpath.normpath(path) if path else ""
    from hashlib import sha256

    digest = sha256(spec.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{portable(spec)} at {digest[:16]}"


def _is_remote(spec: str) -> bool:
    return ("://" in spec and not spec.lower().startswith("file:")) or is_scp_like(spec)


def _is_absolute(path: str) -> bool:
    return (
        path.startswith("/") or path.lower().startswith("file:") or re.match(r"[A-Za-z]:/", path) is not None
    )


def is_scp_like(spec: str) -> bool:
    """Whether `spec` is `[user@]host:path`, git's short form of an ssh URL. `C:\\x` is a path."""
    host, colon, rest = spec.partition(":")
    return (
        bool(colon) and not rest.startswith("//") and "/" not in host and "\\" not in host and len(host) > 1
    )
