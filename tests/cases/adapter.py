"""The cases of this folder run against the real command: abstract steps become command lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [str(Path(sys.executable).parent / "gsdlock")]


def run(step: dict[str, Any], ctx: dict[str, Any]) -> tuple[int, str]:
    """One tool step of a case; the exit status and everything that was printed."""

    def fill(text: str) -> str:
        return text.replace("{root}", ctx["root"]).replace("{home}", ctx["home"])

    root = Path(ctx["root"])
    project = "project" in str(ctx["case"].get("scope")) or any(
        t.endswith(":project") for s in ctx["case"]["steps"] for t in s.get("targets", [])
    )
    lock = fill(step.get("lock", ctx["lock"]))
    # A local target lies in the folder of its manifest. Two applies at once have a manifest each.
    folder = root / "proj" if project else root / "out" / Path(lock).stem
    if step["do"] != "resolve-apply" and not project:
        folder = root / "out" / "manifest"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "gsdlock.toml"
    cwd = root / step["cwd"] if "cwd" in step else folder
    common = ["--manifest", str(manifest), "--lock", lock, "--no-progress"]

    def gsdlock(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [*COMMAND, *words, *common],
            cwd=cwd,
            env=ctx["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")

    answer = ["--allow", "high"]
    match step["do"]:
        case "resolve" | "resolve-apply":
            manifest.write_text(manifest_text(step, root, fill))
            status, out = gsdlock("resolve")
            if step["do"] == "resolve" or status != 0:
                return status, out
            status, more = gsdlock("apply", *answer)
            return status, out + more
        case "apply":
            extra = ["--plan", fill(step["plan"])] if "plan" in step else []
            return gsdlock("apply", *answer, *extra)
        case "overlay":
            return gsdlock("apply", "--no-edits", *answer)
        case "diff":
            return gsdlock("diff")
        case "rollback" | "uninstall":
            return gsdlock(step["do"], *answer)
    raise NotImplementedError(step["do"])


def manifest_text(step: dict[str, Any], root: Path, fill: Any) -> str:
    """The manifest that a resolve step stands for. Packs keep their names when the order changes."""
    lines = []
    for spec in step["caps"]:
        text = fill(spec)
        if text.startswith("git+"):
            path, _, ref = text.removeprefix("git+").partition("@")
            lines += [f"[packs.{Path(path).name}]", f'git = "{root / path}"', f'ref = "{ref}"']
        else:
            lines += [f"[packs.{Path(text).name}]", f'path = "{root / text}"']
    for target in step["targets"]:
        runtime, scope = target.split(":")
        scope = "local" if scope == "project" else "global"
        lines += [f"[targets.{runtime}-{scope}]", f'runtime = "{runtime}"', f'scope = "{scope}"']
    return "\n".join(lines) + "\n"
