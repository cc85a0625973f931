"""Names of tools that more than one host family uses."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

_GEMINI: Final = MappingProxyType(
    {
        "Read": "read_file",
        "Write": "write_file",
        "Edit": "replace",
        "MultiEdit": "replace",
        "Bash": "run_shell_command",
        "Glob": "glob",
        "Grep": "search_file_content",
        "WebSearch": "google_web_search",
        "WebFetch": "web_fetch",
        "TodoWrite": "write_todos",
        "LS": "list_directory",
    }
)


def gemini_tools(names: Iterable[str]) -> list[str]:
    """The Gemini tools for Claude's; a tool that Gemini has not is left out, for it refuses unknown names."""
    return list(dict.fromkeys(_GEMINI[n] for n in names if n in _GEMINI))
