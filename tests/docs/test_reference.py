"""The reference pages against the sources: codes, manifests, links, verbs and options."""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.cli.verbs import VERBS
from gsdlock.resolver.manifest import read_manifest
from gsdlock.store.policy import Layer, read_rules

from .codes import FAMILIES, ROOMS, Codes
from .pages import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
ERRORS = (ROOT / "docs/errors.md").read_text()
VERBS_PAGE = (ROOT / "docs/verbs.md").read_text()
CODES = Codes(ROOT)
USER_FILE = "/home/somebody/.config/gsdlock/gsdlock.toml"


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# -- docs/errors.md ------------------------------------------------------------------------------------------

ROW = re.compile(r'^\| <a id="([^"]+)"></a>`([^`]+)` \| ([0-9, ]+) \| (.+) \| (.+) \|$', re.MULTILINE)
ROWS = {code: (anchor, status, when, what) for anchor, code, status, when, what in ROW.findall(ERRORS)}


def test_every_code_of_the_sources_has_a_row() -> None:
    assert not sorted(CODES.statuses.keys() - ROWS.keys())


def test_every_row_has_a_code_of_the_sources() -> None:
    assert not sorted(ROWS.keys() - CODES.statuses.keys())


def test_every_line_of_a_table_is_a_row() -> None:
    """A row that the expression above does not read would be compared with nothing."""
    lines = [line for line in ERRORS.splitlines() if "`E-" in line and line.startswith("|")]
    assert len(lines) == len(ROWS) == len(ROW.findall(ERRORS))


def test_codes_that_are_put_together_are_known() -> None:
    assert CODES.families == FAMILIES.keys()


@pytest.mark.parametrize("code", sorted(ROWS))
def test_a_row_gives_anchor_status_and_advice(code: str) -> None:
    anchor, status, when, what = ROWS[code]
    assert anchor == code.lower()
    assert when.strip() and what.strip()
    assert CODES.statuses[code] <= {int(status)}


def test_a_code_has_one_exit_status() -> None:
    """A script that goes by the code must be able to go by the status as well."""
    several = {code: statuses for code, statuses in CODES.statuses.items() if len(statuses) > 1}
    assert not several
    assert sum(len(statuses) == 1 for statuses in CODES.statuses.values()) > 150  # most can be seen


def test_the_reader_of_codes_sees_statuses_through_helpers() -> None:
    """A raiser of the base, a status given, a code handed on, a default, a variable."""
    seen = {code: CODES.statuses[code] for code in ("E-INIT-EXISTS", "E-BUSY", "E-DRIFT", "E-TOOL-ABSENT")}
    assert seen == {"E-INIT-EXISTS": {4}, "E-BUSY": {6}, "E-DRIFT": {4}, "E-TOOL-ABSENT": {4}}


# -- manifests -----------------------------------------------------------------------------------------------

WITH_MANIFESTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def manifests() -> Iterator[tuple[str, Block]]:
    for path in WITH_MANIFESTS:
        for block in blocks(path.read_text()):
            if block.kind == "toml" and "lock-version" not in block.text:
                yield f"{name(path)}:{block.line}", block


MANIFESTS = dict(manifests())


@pytest.mark.parametrize("where", MANIFESTS)
def test_a_manifest_that_is_shown_is_one(where: str) -> None:
    block = MANIFESTS[where]
    own = block.file.startswith("~")
    folders = Folders(str(Path(USER_FILE).parent), "/d", "/s", "/c")
    environment = Environment({}, "/home/somebody", "/w", "linux", 1000, folders, lambda: "")
    path = USER_FILE if own else "/w/gsdlock.toml"
    manifest = read_manifest(block.text.encode(), path, environment)
    read_rules(manifest.policy, Layer.USER if own else Layer.PROJECT, where=path, user_file=USER_FILE)


def test_manifests_are_found() -> None:
    assert any(where.startswith("README") for where in MANIFESTS)
    assert any(where.startswith("docs/formats/manifest") for where in MANIFESTS)


def test_the_lock_that_is_shown_has_the_keys_of_a_lock() -> None:
    shown = [b for b in blocks((ROOT / "docs/formats/lock.md").read_text()) if b.kind == "toml"]
    assert [sorted(tomllib.loads(b.text)) for b in shown] == [
        ["capability", "lock-version", "pack", "plan", "target"]
    ]


# -- links ---------------------------------------------------------------------------------------------------

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def markdown() -> list[Path]:
    inside = ("docs", "capabilities", "tests/docs")
    return sorted([*ROOT.glob("*.md"), *(p for folder in inside for p in (ROOT / folder).rglob("*.md"))])


def anchors(page: str) -> set[str]:
    """The names that a link may end in: headings as they are made into anchors, and `<a id>`."""
    text = re.sub(r"```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("path", markdown(), ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in LINK.findall(re.sub(r"```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{name(path)}: {link}"
        assert ROOT in (target, *target.parents), f"{name(path)}: {link} leaves the repository"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{name(path)}: {link}"


# -- docs/verbs.md -------------------------------------------------------------------------------------------


def section(title: str) -> str:
    """The text below a heading of docs/verbs.md, up to the next."""
    parts = re.split(r"^## (.+)$", VERBS_PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(title, "")


def options_of(verb: str) -> set[str]:
    """The options that a verb declares itself, by argparse."""
    parser = argparse.ArgumentParser(add_help=False)
    import_module(f"gsdlock.cli.{VERBS[verb][0]}").arguments(parser)
    return set(parser._option_string_actions)


def common_options() -> set[str]:
    from gsdlock.cli.carrying import common_arguments

    parser = argparse.ArgumentParser(add_help=False)
    common_arguments(parser)
    return set(parser._option_string_actions)


def global_options() -> set[str]:
    from gsdlock.cli.main import _global_options

    parser = argparse.ArgumentParser(add_help=False)
    _global_options(parser)
    return set(parser._option_string_actions)


def tabled(text: str) -> set[str]:
    """The options in the first column of the tables of a section."""
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `-")]
    return {option for cell in cells for option in re.findall(r"`(--?[a-z][a-z-]*)", cell)}


def test_the_page_has_a_section_for_each_verb_in_their_order() -> None:
    titles = re.findall(r"^## (.+)$", VERBS_PAGE, re.MULTILINE)
    assert [title for title in titles if title in VERBS] == list(VERBS)
    assert titles[: -len(VERBS)] == [
        "Global options",
        "Exit statuses",
        "Options of verbs that change targets",
    ]


def test_the_global_options_are_those_of_the_program() -> None:
    assert tabled(section("Global options")) == global_options()


def test_the_common_options_are_those_of_the_program() -> None:
    assert tabled(section("Options of verbs that change targets")) == common_options()


def test_the_verbs_with_common_options_are_those_of_the_program() -> None:
    text = section("Options of verbs that change targets").strip().split("\n\n")[0]
    named = {verb for verb in VERBS if f"`{verb}`" in text}
    assert named == {verb for verb in VERBS if common_options() <= options_of(verb)}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_described(verb: str) -> None:
    text, own = section(verb), options_of(verb)
    declared = own - common_options() if common_options() <= own else own
    assert tabled(text) == declared
    assert f"gsdlock {verb}" in text and re.search(r"^Status(es)?: ", text, re.MULTILINE)


def test_the_exit_statuses_are_those_of_the_program() -> None:
    from gsdlock.capabilities.errors import Exit

    stated = {int(n) for n in re.findall(r"^\| (\d+) \|", section("Exit statuses"), re.MULTILINE)}
    # 130 is an interruption, as shells tell it.
    assert stated == {v for k, v in vars(Exit).items() if k.isupper()} | {130}


ADVICE = re.compile(r"`gsdlock ([a-z]+)|\b(?:Run|run|with|See|see|Make one with|Make it:) gsdlock ([a-z]+)")


def texts(path: Path) -> Iterator[str]:
    """What people read of a file: all of a page or script, of a module its strings but for docstrings."""
    if path.suffix in (".md", ".sh"):
        yield path.read_text()
    if path.suffix != ".py":
        return
    tree = ast.parse(path.read_text())
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documented = [n for n in ast.walk(tree) if isinstance(n, kinds) and ast.get_docstring(n) is not None]
    docstrings = {n.body[0].value for n in documented if isinstance(n.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.value


def test_advice_names_verbs_that_there_are() -> None:
    """Messages, scripts and skills tell people what to run."""
    wrong = [
        f"{name(path)}: gsdlock {backticks or plain}"
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*"))
        for text in texts(path)
        for backticks, plain in ADVICE.findall(text)
        if (backticks or plain) not in VERBS
    ]
    assert not wrong


# -- warnings ------------------------------------------------------------------------------------------------


def test_every_warning_has_a_row_and_every_row_a_warning() -> None:
    from gsdlock.resolver.concerns import ConcernCode

    rows = re.findall(r'^\| <a id="([^"]+)"></a>`(W-[A-Z-]+)` \| [^|]+ \| [^|]+ \|$', ERRORS, re.MULTILINE)
    assert [code for _, code in rows] == [code.value for code in ConcernCode]
    assert all(anchor == code.lower() for anchor, code in rows)
