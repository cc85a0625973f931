"""The hosts that the suites run on, unchanged: a first-party one, and the two worked third-party examples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/overlays"
SETTINGS = b'{\n  "model": "opus", // mine\n  "hooks": {"Stop": []},\n}\n'
HCL = b'# mine\nmodel = "opus"\n\nprovider "x" {\n  key = env("K")\n}'


@dataclass(frozen=True)
class Host:
    """`folder` is its root below the home, `variable` gives another one; `skills` lies in it, and `settings`,
    the shared file: with `theirs` in it before anything is installed, `bare` with nothing.

    `allow` is the risk that has to be allowed. A third-party host is declared by its `bundle`.
    """

    name: str
    folder: str
    variable: str
    skills: str = "skills"
    settings: str = "settings.json"
    theirs: bytes = SETTINGS
    bare: bytes = b"{}\n"
    allow: str = "high"
    bundle: str = ""

    def servers(self, version: str) -> dict[str, Any]:
        """What a pack brings for a host that takes no hooks, so that its shared file has an entry, too."""
        server = {"command": "tided", "args": ["--at", "${HOME}", version]}
        return {"mcpServers": {"tide-server": server}} if self.bundle else {}

    def words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """A command of the suites as it is said for this host."""
        return tuple(self.allow if word == "high" else word for word in words)

    def placed(self, path: str) -> str:
        """Where the file of a pack that is at `path` lies, below the root."""
        return path.replace("skills/", f"{self.skills}/", 1)


def third_party(name: str, variable: str, **more: Any) -> Host:
    """One of the examples."""
    bundle = str(EXAMPLES / name)
    return Host(name, f".config/{name}", variable, allow="critical", bundle=bundle, **more)


CLAUDE = Host("claude", ".claude", "CLAUDE_CONFIG_DIR")
HERON = third_party("heron", "HERON_CONFIG_DIR", settings="heron.json")
KESTREL = third_party(
    "kestrel", "KESTREL_HOME", skills="plugins/skills", settings="kestrel.hcl", theirs=HCL, bare=b"\n"
)
HOSTS = {host.name: host for host in (CLAUDE, HERON, KESTREL)}
