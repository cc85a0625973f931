"""What came from outside is made fit to be shown."""

from __future__ import annotations

import pytest
from gsdlock.capabilities.errors import shown


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ("https://bob:s3cret@h.example/x.git", "https://…@h.example/x.git"),
        ("git+https://s3cret@h.example/x", "git+https://…@h.example/x"),
        ("http://s3cret@127.0.0.1:9/x", "http://…@127.0.0.1:9/x"),
        (
            "see HTTPS://a:s3cret@h.example and https://s3cret@i.example",
            "see HTTPS://…@h.example and https://…@i.example",
        ),
        ("ssh://git:s3cret@h.example/x", "ssh://…@h.example/x"),
        ("ssh://git@h.example/x", "ssh://git@h.example/x"),
        ("git@h.example:o/x.git", "git@h.example:o/x.git"),
        ("https://h.example/@scope/name", "https://h.example/@scope/name"),
        ("https://h.example/x?at=a@b", "https://h.example/x?at=a@b"),
    ],
)
def test_what_a_url_names_before_its_host_may_be_a_token(text: str, fit: str) -> None:
    assert shown(text, 200) == fit


def test_a_token_is_not_shown_in_half_either() -> None:
    assert "s3cret" not in shown("https://bob:s3cret-and-very-long@h.example/x", 20)
