"""The lossless edit engine: entries into files that users and hosts also own, and out again.

Only the bytes that must change do. Pure functions from bytes to bytes; see `types` for the interface.
"""

from __future__ import annotations

from ...lockfiles.model import EditFormat
from .types import Editor


def editor(format: EditFormat) -> Editor:
    """The editor of a file format."""
    match format:
        case EditFormat.JSONC:
            from .jsonc import EDITOR as jsonc

            return jsonc
        case EditFormat.TOML:
            from .toml import EDITOR as toml

            return toml
        case EditFormat.YAML:
            from .yaml import EDITOR as yaml

            return yaml
        case EditFormat.HCL:
            from .hcl import EDITOR as hcl

            return hcl
        case EditFormat.MARKDOWN:
            from .markdown import EDITOR as markdown

            return markdown
