"""Pages of the documentation as something that can be run.

A page is read from top to bottom, as a person at a terminal reads it, and becomes ONE shell script. What is
in it, by the word behind the fence:

- `sh`: every command runs, and must end with status 0. A comment `# exit N` behind a command says which other
  status it must have.
- `sh network`: the same, and it reaches a package registry through npm.
- `sh no-run`: is not run; an HTML comment right above the block says why (`<!-- not run: … -->`). Only for
  what needs a clone of this repository, or a network beyond pip and npm.
- `toml` whose first line is the comment `# gsdlock.toml` (or a path below the home, `# ~/…`): is written to
  that file at this point.
- `text output`: what the block of commands above it printed, line by line in that order. Lines may be missing
  between them, and `…` stands for anything.
- `<!-- setup: … -->`: commands that a reader does not need (what they have and a scratch machine has not).

The commands run on a terminal, where the questions of the gate are answered with yes; a comment `# answer: n`
behind a command answers no to its questions.
"""

from __future__ import annotations

import itertools
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST_SECONDS = 900  # a guard against hanging, no measure
QUESTION = "[l]ist all"
MARK = "\x1e"

_FENCE = re.compile(r"```([a-z]*)((?: [a-z-]+)*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_FILE = re.compile(r"# (gsdlock\.toml|~/[\w./-]+)\n")
_HEREDOC = re.compile(r"<<'?(\w+)'?")


@dataclass(frozen=True)
class Block:
    """One fenced block (or set-up comment) of a page. `line` is that of its first line of text."""

    kind: str
    words: tuple[str, ...]
    text: str
    line: int
    above: str = ""

    @property
    def runs(self) -> bool:
        return self.kind == "setup" or (self.kind == "sh" and "no-run" not in self.words)

    @property
    def file(self) -> str:
        """The file that a `toml` block is written to; empty where it is only shown."""
        match = _FILE.match(self.text) if self.kind == "toml" else None
        return match.group(1) if match else ""


@dataclass(frozen=True)
class Command:
    """One command of a block: its text, and what its comments say of it."""

    text: str
    line: int
    status: int
    answer: str


@dataclass
class Transcript:
    """What a page printed: text by the line of the command, and the failure that ended it."""

    printed: dict[int, str] = field(default_factory=dict)
    failure: str = ""


def blocks(page: str) -> list[Block]:
    """The blocks and set-up comments of a page, in their order."""
    found: list[Block] = []
    fences = list(_FENCE.finditer(page))
    for match in fences:
        comment = next(reversed([*_COMMENT.finditer(page, 0, match.start())]), None)
        near = comment is not None and not page[comment.end() : match.start()].strip()
        above = comment.group(1).strip() if comment and near else ""
        line = page.count("\n", 0, match.start(3)) + 1
        found.append(Block(match.group(1), tuple(match.group(2).split()), match.group(3), line, above))
    for comment in _COMMENT.finditer(page):
        inside = any(match.start() < comment.start() < match.end() for match in fences)
        if comment.group(1).strip().startswith("setup:") and not inside:
            text = comment.group(1).split("setup:", 1)[1].strip() + "\n"
            line = page.count("\n", 0, comment.start()) + 1
            found.append(Block("setup", (), text, line))
    return sorted(found, key=lambda block: block.line)


def commands(block: Block) -> Iterator[Command]:
    """The commands of a block: one a line, but for `\\` at the end and here-documents."""
    lines = iter(enumerate(block.text.splitlines(), block.line))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text = line
        while text.endswith("\\"):
            text += "\n" + next(lines)[1]
        here = _HEREDOC.search(text)
        while here and text.splitlines()[-1] != here.group(1):
            text += "\n" + next(lines)[1]
        status = re.search(r"#.*\bexit (\d+)", line)
        answer = re.search(r"#.*\banswer: (\w)", line)
        yield Command(text, number, int(status.group(1)) if status else 0, answer.group(1) if answer else "y")


def script(page: list[Block]) -> str:
    """A page as a shell script that prints a mark before each command and stops at the first that fails."""
    lines = []
    for block in page:
        if block.file:
            end = "END_OF_FILE"
            lines += [f"mkdir -p {Path(block.file).parent}"]
            lines += [f"cat >{block.file} <<'{end}' || exit 98", block.text.rstrip("\n"), end]
        for command in commands(block) if block.runs else ():
            mark = f"{command.line}:{command.answer}"
            lines.append(f"printf '\\036{mark}\\036'")
            lines.append(command.text)
            lines.append(
                f"status=$?; [ $status -eq {command.status} ] || "
                f"{{ printf '\\036failed:%s:{command.status}\\036' $status; exit 99; }}"
            )
    return "\n".join(lines) + "\n"


def play(page: list[Block], folder: Path, env: Mapping[str, str]) -> Transcript:
    """Run a page in `folder`, on a terminal of its own, answering the questions of the gate."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ["/bin/sh", "-c", script(page)],
        cwd=folder,
        env={**env, "COLUMNS": "200", "PAGER": "cat", "GIT_PAGER": "cat", "TERM": "dumb"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    seen, answered, until = "", 0, time.monotonic() + MOST_SECONDS
    try:
        while data := _read(master, until):
            seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
            if seen.count(QUESTION) > answered:
                answered += 1
                answer = re.findall(MARK + r"\d+:(\w)" + MARK, seen)[-1]
                os.write(master, f"{answer}\n".encode())
        if process.poll() is None and time.monotonic() >= until:
            os.killpg(process.pid, signal.SIGKILL)
            seen += f"{MARK}failed:nothing within {MOST_SECONDS} seconds:0{MARK}"
        process.wait()
        if process.returncode and "failed:" not in seen:
            seen += f"{MARK}failed:{process.returncode}:0{MARK}"
    finally:
        os.close(master)
    return transcript(seen)


def _read(master: int, until: float) -> bytes:
    """The next bytes; empty at the end (Linux tells it by EIO) or when the time is over."""
    ready, _, _ = select.select([master], [], [], max(0.0, until - time.monotonic()))
    try:
        return os.read(master, 65536) if ready else b""
    except OSError:
        return b""


def transcript(seen: str) -> Transcript:
    """What was printed, taken apart at the marks."""
    made = Transcript()
    _, *parts = seen.split(MARK)
    line = 0
    for mark, text in zip(parts[::2], parts[1::2], strict=False):
        if mark.startswith("failed:"):
            _, status, wanted = mark.split(":")
            made.failure = f"line {line}: status {status}, not {wanted}\n{made.printed.get(line, '')}"
            return made
        line = int(mark.split(":")[0])
        made.printed[line] = text
    return made


def missing_output(page: list[Block], printed: Mapping[int, str]) -> list[str]:
    """The lines of `text output` blocks that the block of commands above each did not print."""
    missing: list[str] = []
    for before, block in itertools.pairwise(page):
        if block.kind != "text" or "output" not in block.words:
            continue
        assert before.runs, f"line {block.line}: output of nothing"
        lines = iter("".join(printed.get(c.line, "") for c in commands(before)).splitlines())
        for number, wanted in enumerate(block.text.splitlines(), block.line):
            pattern = re.compile(".*".join(map(re.escape, wanted.rstrip().split("…"))))
            if wanted.strip() not in ("", "…") and not any(
                pattern.fullmatch(line.rstrip()) for line in lines
            ):
                missing.append(f"line {number}: {wanted}")
                break
    return missing
