"""Measure gsdlock as whole processes: see script/bench. Prints a table; judges nothing."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MANIFEST = """
[packs.gsd]
npm = "@opengsd/gsd-core"
version = "1.11.0"

[targets.claude]
scope = "global"
"""


def main() -> int:
    """Set up a scratch home, measure in turn, print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds of each (default 7)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="gsdlock-bench-") as folder:
        bench = Bench(Path(folder))
        bench.gsdlock("resolve")
        bench.gsdlock("apply", "--allow", "high")
        first = bench.home / ".claude"
        files = [p for p in first.rglob("*") if p.is_file()]
        size = sum(p.stat().st_size for p in files)
        print(f"claude global, full profile: {len(files)} files, {size / 1e6:.1f} MB; {rounds} rounds")
        # How it was built matters: one without profile-guided optimisation takes a fifth longer.
        print(f"Python {sys.version.split()[0]} of {sys.base_prefix}")
        copies, applies, bares, idles = [], [], [], []
        for number in range(1, rounds + 1):
            # Every round writes in a home of its own and removes nothing: a file system may take longer to
            # make files where many were removed a moment ago (ext4 steps around their inodes).
            target = bench.root / f"copy{number}"
            os.sync()
            copies.append(timed(lambda t=target: bench.copy(first, t)))  # type: ignore[misc]  # bound per round
            bench.move_in(number)
            os.sync()
            applies.append(timed(lambda: bench.gsdlock("apply", "--allow", "high")))
            bench.gsdlock("apply")
            bares.append(timed(bench.bare_python))
            idles.append(timed(lambda: bench.gsdlock("apply")))
        row("cp -a and sync", copies)
        row("apply, warm store", applies)
        print(f"  ratio {median_ratio(applies, copies):.2f}")
        row("python -c pass", bares)
        row("apply, nothing to do", idles)
        print(f"  ratio {median_ratio(idles, bares):.2f}")
    return 0


class Bench:
    """Scratch homes with a project folder in each, and one store for all of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        keep = ("PATH", "LANG", "npm_config_registry", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG")
        self.env = {k: v for k, v in os.environ.items() if k in keep}
        self.env["XDG_DATA_HOME"] = str(root / "data")
        self.move_in(0)
        (self.project / "gsdlock.toml").write_text(MANIFEST)
        # The npm client's own settings stay those of the user who runs this.
        own = Path.home() / ".npmrc"
        if own.exists():
            self.env.setdefault("NPM_CONFIG_USERCONFIG", str(own))

    def move_in(self, number: int) -> None:
        """Go on in home `number`, which is new; its project holds what that of the first one holds."""
        self.home = self.root / f"home{number}"
        self.project = self.home / "project"
        self.env |= {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / ".local/state")}
        if number:
            shutil.copytree(self.root / "home0/project", self.project)
        else:
            self.project.mkdir(parents=True)

    def gsdlock(self, *words: str) -> None:
        """Run one command in the scratch home. Raises `CalledProcessError`."""
        command = [str(Path(sys.executable).parent / "gsdlock"), *words, "--no-progress", "-q"]
        subprocess.run(command, cwd=self.project, env=self.env, check=True)

    def copy(self, source: Path, target: Path) -> None:
        """What an apply is compared with: `cp -a`. Raises `CalledProcessError`."""
        subprocess.run(["cp", "-a", str(source), str(target)], check=True)
        subprocess.run(["sync"], check=True)

    def bare_python(self) -> None:
        """What a no-op is compared with: the start of an interpreter that does nothing."""
        subprocess.run([sys.executable, "-c", "pass"], env=self.env, check=True)


def timed(work: Callable[[], None]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def row(name: str, seconds: list[float]) -> None:
    """One line of the table: minimum, median, maximum in milliseconds."""
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    print(f"  {name:<22} min {low * 1e3:7.1f}  median {middle * 1e3:7.1f}  max {high * 1e3:7.1f} ms")


def median_ratio(ours: list[float], others: list[float]) -> float:
    """The median of the ratios round by round: a drift of the machine falls out."""
    return statistics.median(a / b for a, b in zip(ours, others, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
