"""The documentation says what is true: codes, commands, manifests, links, verbs and options."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from .pages import Block, blocks, missing_output, play

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "docs/verbs.md", *(ROOT / "docs/guide").glob("*.md")])


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# How npm reaches a registry from here; nothing else of this machine's environment is seen by a page.
_OF_NETWORK = re.compile(
    r"(npm_config_.*|https?_proxy|no_proxy|all_proxy|node_extra_ca_certs|ssl_cert_.*)", re.I
)


def environment(machine: Any, *, network: bool) -> dict[str, str]:
    found = {key: value for key, value in os.environ.items() if network and _OF_NETWORK.fullmatch(key)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    identity = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Somebody"), ("EMAIL", "somebody@example.invalid"))
    }
    return {**found, **identity, **machine.env(), "PATH": path}


def check(page: list[Block], machine: Any, *, network: bool = False) -> None:
    for host in (".claude", ".codex"):
        (machine.home / host).mkdir(exist_ok=True)
    ran = play(page, machine.project, environment(machine, network=network))
    assert not ran.failure, ran.failure
    missing = missing_output(page, ran.printed)
    assert not missing, "\n".join([*missing, *(f"--- line {n}\n{t}" for n, t in ran.printed.items())])


def before_network(page: list[Block]) -> list[Block]:
    """A page up to its first block that reaches a registry."""
    reaching = [number for number, block in enumerate(page) if "network" in block.words]
    return page[: reaching[0]] if reaching else page


RUNNING = [p for p in PAGES if any(b.runs for b in before_network(blocks(p.read_text())))]
REACHING = [p for p in PAGES if any("network" in b.words for b in blocks(p.read_text()))]


@pytest.mark.parametrize("path", RUNNING, ids=name)
def test_the_commands_of_a_page_do_what_it_says(path: Path, machine: Any) -> None:
    check(before_network(blocks(path.read_text())), machine)


@pytest.mark.network
@pytest.mark.parametrize("path", REACHING, ids=name)
def test_the_whole_page_with_npm(path: Path, machine: Any) -> None:
    check(blocks(path.read_text()), machine, network=True)


def test_what_is_not_run_says_why() -> None:
    """The reason stands in a comment above the block; what needs only npm or pip has none."""
    for path in PAGES:
        for block in blocks(path.read_text()):
            if block.kind == "sh" and not block.runs:
                reason = block.above.removeprefix("not run: ")
                assert re.search(r"\bclone\b|\bnetwork\b|\bkey\b", reason) and reason != block.above, (
                    f"{name(path)}:{block.line}"
                )


def test_every_block_is_of_a_known_kind() -> None:
    known = {"sh": {"network", "no-run"}, "text": {"output"}, "toml": set(), "json": set(), "setup": set()}
    for path in PAGES:
        for block in blocks(path.read_text()):
            assert set(block.words) <= known[block.kind], f"{name(path)}:{block.line}"


def test_a_failing_command_and_a_wrong_output_are_seen(machine: Any) -> None:
    """The runner itself: what it must not miss."""
    page = blocks("```sh\necho one\nfalse   # exit 1\n```\n```text output\no…e\n```\n")
    ran = play(page, machine.project, environment(machine, network=False))
    assert not ran.failure and missing_output(page, ran.printed) == []
    page = blocks("```sh\necho one\nfalse\necho two\n```\n")
    ran = play(page, machine.project, environment(machine, network=False))
    assert ran.failure.startswith("line 3: status 1, not 0") and 4 not in ran.printed
    page = blocks("```sh\necho one\necho two\n```\n```text output\ntwo\none\n```\n")
    ran = play(page, machine.project, environment(machine, network=False))
    assert missing_output(page, ran.printed) == ["line 7: one"]
