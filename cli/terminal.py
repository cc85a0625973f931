"""The questions of the gate, asked on a terminal: once, grouped, the highest risk first."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .render import plural, step_name, tell

if TYPE_CHECKING:
    from ..store.gate import Answer, Ask, AskGroup


class TerminalResolver:
    """Asks the person at the terminal. `read` gives the next answer, `write` shows a line."""

    who = "terminal"

    def __init__(
        self, read: Callable[[], str] | None = None, write: Callable[[str], None] | None = None
    ) -> None:
        self._read = read or read_line
        self._write = write or _write_line

    def settle(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        """One answer per question. The end of input is an interruption: nothing is decided."""
        from ..store.gate import Answer, grouped

        answers: dict[int, Answer] = {}
        for group in grouped(asks):
            allow = self._ask(group)
            answers |= {number: Answer(allow) for number in group.numbers}
        return [answers[n] for n in range(len(asks))]

    def _ask(self, group: AskGroup) -> bool:
        self._write("")
        self._write(f"{group.target}: {plural(len(group.asks), 'item')} of risk {group.risk.value}")
        for line in outline(group.asks):
            self._write(f"  {line}")
        while True:
            self._write("Allow these? [y]es, [n]o: the target stays as it is, [l]ist all")
            match self._read().strip().lower():
                case "y" | "yes":
                    return True
                case "n" | "no" | "":
                    return False
                case "l" | "list":
                    for ask in group.asks:
                        self._write(
                            f"  {ask.item.op.value} {step_name(ask.item.key)}: {ask.item.description}"
                        )


def outline(asks: Sequence[Ask]) -> list[str]:
    """What matters of many questions in few lines: all that executes, with the entries that make a host run
    something first, and the rest counted by folder."""
    running = sorted((a.item for a in asks if a.item.executes), key=lambda item: "#" not in item.key)
    lines = [f"executes: {step_name(item.key)}: {item.description}" for item in running]
    counts = Counter((a.item.op.value, _folder(a.item.key)) for a in asks if not a.item.executes)
    lines += [f"{op} {plural(n, 'item')} in {folder}" for (op, folder), n in sorted(counts.items())]
    return lines


def _folder(key: str) -> str:
    root, _, path = key.partition("#")[0].partition(":")
    return f"{root}:{path.split('/')[0]}" + ("/" if "/" in path else "")


def read_line() -> str:
    """The next line that is typed. The end of input is an interruption, and a signal that comes while we wait
    is never overslept. Raises `KeyboardInterrupt`, also for the end."""
    if sys.platform != "win32" and sys.stdin.isatty():
        _wait_for_input()
    line = sys.stdin.readline()
    if not line:
        raise KeyboardInterrupt
    return line


def _wait_for_input() -> None:
    """Wait for a line or a signal. One that comes after the interpreter looked for signals, and before the
    system waits for the terminal, would else be noticed at the next key only."""
    import os
    import select
    import signal

    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    former = signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    try:
        while True:
            ready, _, _ = select.select([sys.stdin, woken], [], [])  # what a handler raises leaves this loop
            if sys.stdin in ready:
                return
            os.read(woken, 512)
    finally:
        signal.set_wakeup_fd(former)
        os.close(woken)
        os.close(waking)


def _write_line(line: str) -> None:
    tell(line)
