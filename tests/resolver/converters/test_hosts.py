"""What every host gets of one small command and one small agent: the files of `expected/`.

A file is named `<runtime>.<scope>.<kind>[.<file>]`. To see what a change of a converter does to the hosts,
run this module with the argument `write` and look at the diff.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.vocabulary import ConverterName
from gsdlock.resolver.converters import agent_companions, agent_roots, base, convert

HERE = Path(__file__).parent
KINDS = {"skills": "skill", "commands": "command", "agents": "agent"}


def made(host: Any) -> Iterator[tuple[str, str]]:
    """Name and text of every file that the hosts get; `host` is the module of the fixtures."""
    for runtime in host.RUNTIMES.values():
        for scope, layout in runtime.artifact_layout.items():
            for entry in layout:
                agent = entry.kind.value.endswith("agents")
                context = host.make_context(runtime.id, scope, "checker" if agent else "help")
                text = host.AGENT if agent else host.COMMAND
                if entry.kind.value in KINDS:
                    kind: Any = KINDS[entry.kind.value]
                    yield f"{runtime.id}.{scope}.{kind}", convert(entry.converter, kind, text, context)
                if agent:
                    roots = agent_roots(context, [("gsd-checker", text)])
                    for path, companion in [*agent_companions(context, text), *roots]:
                        yield f"{runtime.id}.{scope}.agent.{Path(path).name}", companion


def fixtures() -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("converter_fixtures", HERE / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILES = dict(made(fixtures()))


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_host_gets_what_it_reads(name: str) -> None:
    assert FILES[name] == (HERE / "expected" / f"{name}.txt").read_text()


def test_nothing_is_expected_that_is_not_made() -> None:
    assert {p.stem for p in (HERE / "expected").iterdir()} == FILES.keys()


def test_no_file_holds_a_path_of_this_machine_or_of_the_source() -> None:
    for name, text in FILES.items():
        if not name.startswith("claude"):
            assert "~/.claude/" not in text and "$HOME/.claude/" not in text, name
        if ".local." in name:
            assert "{{gsdlock:" not in text, name


def test_every_converter_of_the_vocabulary_converts() -> None:
    assert set(base.CONVERSIONS) == set(ConverterName)


def test_a_converter_that_is_not_there_is_refused(context: Any) -> None:
    with pytest.raises(GsdlockError) as refusal:
        convert("convertToNothing", "skill", "", context())
    assert refusal.value.code == "E-CONVERT-NONE"


def test_a_skill_cannot_be_placed_without_a_converter(context: Any) -> None:
    with pytest.raises(GsdlockError) as refusal:
        convert(None, "skill", "", context())
    assert refusal.value.code == "E-CONVERT-NONE"


def test_a_workflow_wants_a_name_that_its_host_takes(context: Any) -> None:
    with pytest.raises(GsdlockError) as refusal:
        convert(
            "convertClaudeCommandToWindsurfWorkflow", "command", "", context("windsurf", "local", "Not/this")
        )
    assert refusal.value.code == "E-CONVERT-NAME"


if __name__ == "__main__" and sys.argv[1:] == ["write"]:
    (HERE / "expected").mkdir(exist_ok=True)
    for old in (HERE / "expected").iterdir():
        old.unlink()
    for name_, text_ in FILES.items():
        (HERE / "expected" / f"{name_}.txt").write_text(text_)
