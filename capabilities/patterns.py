"""Texts of a descriptor that have a form: identifiers, stems, relative paths, versions.

Each is a `Text` shape whose pattern is read alike by Python and by JSON Schema.
"""

from __future__ import annotations

from .errors import HIDDEN_CHARACTERS as _HIDDEN
from .npm_range import VERSION_PATTERN
from .shapes import Text

# No separator, no drive, nothing hidden, and not `.` or `..`.
_SEGMENT = rf"(?!\.{{1,2}}(?:/|$))[^/\\:{_HIDDEN}]+"
_RELATIVE = rf"{_SEGMENT}(?:/{_SEGMENT})*"
_PLAIN_SEGMENT = rf"(?!\.{{1,2}}(?:/|$))[^/\\:*{_HIDDEN}]+"
_PLAIN_RELATIVE = rf"{_PLAIN_SEGMENT}(?:/{_PLAIN_SEGMENT})*"
_NOT_RESERVED = r"(?!(?:__proto__|constructor|prototype)$)"
_KEBAB = rf"{_NOT_RESERVED}[a-z][a-z0-9-]*"
_SCRIPT_SEGMENT = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9._][A-Za-z0-9._-]*"

LINE = Text("a line of text", r"[^\x00-\x1f\x7f-\x9f]+", 500)
NAME = Text("a text that is no reserved name", rf"{_NOT_RESERVED}[\s\S]+", 500)
EVENT = Text(
    "a name without control characters that is no reserved one", rf"{_NOT_RESERVED}[^{_HIDDEN}]+", 500
)
ID = Text("lower-case letters, digits and hyphens, a letter first", _KEBAB, 128)
STEM = Text(
    "a stem: letters, digits, dot, underscore and hyphen, a letter or digit first",
    rf"{_NOT_RESERVED}[A-Za-z0-9][A-Za-z0-9._-]*",
    128,
)
PREFIX = Text("letters, digits, dot, underscore and hyphen, or nothing", r"[A-Za-z0-9._-]*", 64)
POINTER = Text("a JSON pointer below the top, such as /mcpServers", rf"(?:/(?:[^~/{_HIDDEN}]|~[01])+)+", 200)
FILE_NAME = Text("a file name without a folder", _SEGMENT, 255)
RELATIVE = Text("a relative path without `.`, `..`, backslash, colon or control character", _RELATIVE)
ROOT_FILE = Text(
    "a root and a relative path, such as config:settings.json; `*` in it stands for any text without a slash",
    rf"(?:config|skills|agents-home|hooks-home|project):{_RELATIVE}",
    300,
)
RELATIVE_FOLDER = Text("a relative path without `.` or `..`, a slash last", rf"{_RELATIVE}/")
HOME_PATH = Text("a relative path, or one that starts with `~/`, without `.` or `..`", rf"(?:~/)?{_RELATIVE}")
READ_PATH = Text(
    "a relative path, or one that starts with `~/` or `{config}/`, without `.` or `..`; `/**` at the end",
    rf"(?:~/|\{{config\}}/)?{_PLAIN_RELATIVE}(?:/\*\*)?",
)
READ_RELATIVE = Text("a relative path without `.` or `..`; `/**` at the end", rf"{_PLAIN_RELATIVE}(?:/\*\*)?")
DOT_FOLDER = Text(
    "a relative folder that starts with a dot, without `..`", rf"(?=\.){_SEGMENT}(?:/{_SEGMENT})*"
)
SCRIPT = Text(
    "a relative path of letters, digits, `.`, `_`, `-`, without `..`, no part with a hyphen first",
    rf"{_SCRIPT_SEGMENT}(?:/{_SCRIPT_SEGMENT})*",
)
EXTENSION = Text("a file name extension with its dot", r"(?:\.[A-Za-z0-9]+)+", 32)
VERSION = Text("a version by SemVer 2.0.0, such as 1.2.3", VERSION_PATTERN, 256)
# The shape of a range only; whether it can be read is checked by `npm_range`.
RANGE = Text("a version range, such as >=1.6.0", r"(?=.*[0-9*xX])[0-9A-Za-z.\-+ |<>=~^*()]+", 256)
VARIABLE = Text("the name of an environment variable", r"[A-Za-z_][A-Za-z0-9_]*", 128)
CONFIG_KEY = Text(
    "a config key: words of letters, digits, underscore and hyphen, with dots between",
    rf"{_NOT_RESERVED}[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*",
    200,
)
INTEGRITY = Text("sha512- and 88 characters of base64", r"sha512-[A-Za-z0-9+/]{86}==", 96)
URL = Text("an http or https address", r"https?://[^\s\x00-\x1f\x7f-\x9f/]+(?:/[^\s\x00-\x1f\x7f-\x9f]*)?")
