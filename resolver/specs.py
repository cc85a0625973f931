"""The text by which a pack is asked for, in a form that holds on every machine."""

from __future__ import annotations


def portable(spec: str) -> str:
    """A URL as it is; of a path on this machine only the last component."""
    remote = "://" in spec and not spec.lower().startswith("file:")
    if remote or is_scp_like(spec):
        return spec
    return spec.replace("\\", "/").rstrip("/").rpartition("/")[2]


def is_scp_like(spec: str) -> bool:
    """Whether `spec` is `[user@]host:path`, git's short form of an ssh URL. `C:\\x` is a path."""
    host, colon, rest = spec.partition(":")
    return (
        bool(colon) and not rest.startswith("//") and "/" not in host and "\\" not in host and len(host) > 1
    )
