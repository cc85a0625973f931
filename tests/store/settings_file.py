"""A settings file of the user's, and entries that targets put into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gsdlock.lockfiles.model import EditOp

MINE = """{
    // my own
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "chime"}]}]},
}
"""


def hook(command: str, event: str = "Stop") -> tuple[str, EditOp, str, Any]:
    value = {"hooks": [{"type": "command", "command": command}]}
    return ("settings.json", EditOp.APPEND_UNIQUE, f"/hooks/{event}", value)


def server(name: str, command: str, op: EditOp = EditOp.ENSURE) -> tuple[str, EditOp, str, Any]:
    return ("settings.json", op, f"/mcpServers/{name}", {"command": command})


def settings(world: Any, text: str = MINE) -> Path:
    world.root.mkdir(exist_ok=True)
    path: Path = world.root / "settings.json"
    path.write_text(text)
    return path


def ops(result: Any) -> list[str]:
    return [o.item.op.value for o in result.outcomes]
