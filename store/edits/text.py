"""Bytes and text: UTF-8 with or without a byte order mark, ends of line, places in a text."""

from __future__ import annotations

from msgspec import Struct

from .types import EditFault

BOM = b"\xef\xbb\xbf"


class Decoded(Struct, frozen=True):
    """The text of a file without its byte order mark, and whether it has one. Line ends are as they are."""

    text: str
    bom: bool

    def encode(self, text: str) -> bytes:
        """`text` as bytes, with the mark that the file had. Raises `EditFault` (encoding)."""
        try:
            return (BOM if self.bom else b"") + text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise EditFault("encoding", "a value holds half of a surrogate pair") from error


def decode(data: bytes | None) -> Decoded:
    """The text of `data` (None: no file, so no text). Raises `EditFault` (encoding) where it is not UTF-8."""
    if data is None:
        return Decoded("", bom=False)
    bom = data.startswith(BOM)
    try:
        return Decoded(data[len(BOM) if bom else 0 :].decode("utf-8"), bom)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise EditFault("encoding", "the file is not UTF-8 text", line) from error


def end_of_line(text: str) -> str:
    """The first end of line in `text`: CRLF or LF; LF where there is none."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def place_in(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1; a column is a character."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
