"""The form in which text enters the store."""

from __future__ import annotations

import pytest
from gsdlock.resolver.sources.normalise import is_text, normalised
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("name", "data", "kept"),
    [
        ("a.md", b"one\r\ntwo\r\n", b"one\ntwo\n"),
        ("a", b"\r\n", b"\n"),
        ("a.md", b"\xef\xbb\xbfone\r\n", b"\xef\xbb\xbfone\n"),
        ("a.md", b"lone\rcr\r\n", b"lone\rcr\n"),
        ("a.md", "dé\r\n".encode(), "dé\n".encode()),
        ("run.bat", b"one\r\n", b"one\r\n"),
        ("RUN.CMD", b"one\r\n", b"one\r\n"),
        ("a.bat.md", b"one\r\n", b"one\n"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0", b"\x89PNG\r\n\x1a\n\0"),
        ("a.txt", b"latin \xe9\r\n", b"latin \xe9\r\n"),
        ("a.bin", b"nul\0\r\n", b"nul\0\r\n"),
        ("a.md", b"", b""),
    ],
)
def test_text_is_kept_with_lf_and_everything_else_byte_for_byte(name: str, data: bytes, kept: bytes) -> None:
    assert normalised(name, data) == kept


@given(st.text(alphabet=st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])))
def test_a_checkout_with_crlf_and_one_with_lf_are_the_same(text: str) -> None:
    unix = text.encode()
    windows = text.replace("\n", "\r\n").encode()
    assert normalised("a.md", windows) == normalised("a.md", unix) == unix


@given(st.binary())
def test_binary_data_is_never_changed(data: bytes) -> None:
    if not is_text("x", data):
        assert normalised("x", data) == data
