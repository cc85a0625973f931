"""The one way in which data becomes bytes that are hashed or kept.

Canonical JSON here is UTF-8, keys sorted by code point, separators `,` and `:`, no insignificant space, no
NaN, no floats (a float has more than one spelling), no final newline.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

SHA256_PREFIX = "sha256:"


def canonical_json(value: Any) -> bytes:
    """`value` (dict with string keys, list, tuple, str, int, bool, None) as canonical JSON bytes.

    A `Raw` in it holds bytes that this function or `plain_json` made, and stands for what they say.
    Raises `TypeError` for a float, a non-string key or any other type.
    """
    from msgspec.json import encode

    _check(value)
    try:
        return encode(value, order="sorted", enc_hook=_plain_string)
    except (TypeError, ValueError):  # keys of a kind that it does not know: the standard library does
        import json

        return json.dumps(
            value, default=unpacked, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ).encode("utf-8")


def plain_json(value: Any) -> Any:
    """`value` as a part of canonical JSON, for long rows that our own typed code puts together of nothing but
    what `canonical_json` takes: whoever calls this vouches for it, and it is not looked through again. What
    only the slow way can take (a name that is no UTF-8) stays as it is."""
    from msgspec.json import encode

    try:
        return Raw(encode(value, order="sorted", enc_hook=_plain_string))
    except (TypeError, ValueError):
        return value


def _plain_string(value: Any) -> str:
    """The string that a member of a closed set is, for `encode`. Raises `TypeError` for anything else."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(type(value).__name__)


def unpacked(value: Raw) -> Any:
    """What the bytes in a `Raw` say, for `json.dumps`."""
    import json

    return json.loads(bytes(value))


def sha256_digest(data: bytes) -> str:
    """`sha256:<64 lower-case hex digits>` of `data`."""
    import hashlib

    return SHA256_PREFIX + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether `text` is `sha256:` and exactly 64 lower-case hex digits."""
    body = text.removeprefix(SHA256_PREFIX)
    return len(text) == 71 and len(body) == 64 and not body.strip("0123456789abcdef")


_STRINGS = frozenset({str})
_PLAIN = frozenset({str, int, bool, type(None), Raw})


def _check(value: Any) -> None:
    # A plan has tens of thousands of values, nearly all of them plain: those are not looked at one by one.
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if not _STRINGS.issuperset(map(type, one)):
                for key in one:
                    if not isinstance(key, str):
                        raise TypeError(f"canonical JSON wants string keys, not {key!r}")
            if not _PLAIN.issuperset(map(type, one.values())):
                left += [item for item in one.values() if type(item) not in _PLAIN]
        elif isinstance(one, (list, tuple)):
            if not _PLAIN.issuperset(map(type, one)):
                left += [item for item in one if type(item) not in _PLAIN]
        elif one is not None and not isinstance(one, (str, int, Raw)):  # bool is an int
            raise TypeError(f"canonical JSON has no place for {type(one).__name__}")
