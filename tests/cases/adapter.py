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

    def at(name: str) -> str:
        """A path of the step: one that is relative lies in the case."""
        return str(root / fill(step[name]))

    answer = ["--allow", "high"]
    named = [f"--target={name(target)}" for target in step.get("targets", [])]
    match step["do"]:
        case "resolve" | "resolve-apply":
            manifest.write_text(manifest_text(step, root, fill))
            status, out = gsdlock("resolve")
            if step["do"] == "resolve" or status != 0:
                return status, out
            status, more = gsdlock("apply", *answer)
            return status, out + more
        case "apply":
            extra = ["--plan", at("plan")] if "plan" in step else []
            return gsdlock("apply", *named, *answer, *extra)
        case "overlay":
            return gsdlock("apply", "--no-edits", *answer)
        case "diff":
            status, out = gsdlock("diff", *named)
            if "plan_out" not in step or status != 0:
                return status, out
            status, more = gsdlock("apply", *named, "--plan-out", at("plan_out"))
            return status, out + more
        case "rollback" | "uninstall":
            return gsdlock(step["do"], *named, *answer)
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
        runtime, _, scope = name(target).rpartition("-")
        lines += [f"[targets.{name(target)}]", f'runtime = "{runtime}"', f'scope = "{scope}"']
    return "\n".join(lines) + "\n"


def name(target: str) -> str:
    """What a target of a case, `runtime:scope`, is called in the manifest."""
    runtime, _, scope = target.partition(":")
    return f"{runtime}-{'local' if scope == 'project' else 'global'}"
