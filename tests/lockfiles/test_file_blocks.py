"""The files of a lock read line by line are those that a whole TOML parser reads."""

from __future__ import annotations

import tomllib

import pytest
from gsdlock.capabilities.errors import GsdlockError, hides
from gsdlock.lockfiles import read
from gsdlock.lockfiles.file_blocks import MARK, without_files
from gsdlock.lockfiles.model import Lock, Placement, Target
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.write import lock_bytes
from hypothesis import given
from hypothesis import strategies as st

DIGEST = "sha256:" + "0" * 64
LINE = f'"config:a.md" = "{DIGEST} 0644 3"'
TEXT = f'lock-version = 1\n\n[[target]]\nname = "x"\n\n[target.files]\n{LINE}\n\n[[target]]\nname = "y"\n'


def lock_of(*targets: tuple[Placement, ...]) -> Lock:
    made = (
        Target(f"t{n}", "claude", "global", "full", (), placements, (), DIGEST)
        for n, placements in enumerate(targets)
    )
    return Lock((), (), tuple(made))


PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
FILES = st.builds(
    Placement,
    st.sampled_from(["config", "skills", "agents-home"]),
    PATHS,
    st.just(DIGEST),
    st.sampled_from([0o644, 0o755]),
    st.integers(0, 10**11),
    st.booleans(),
)
TARGETS = st.lists(st.lists(FILES, max_size=4, unique_by=lambda p: p.key).map(tuple), max_size=3)


@given(TARGETS)
def test_every_lock_reads_as_the_parser_alone_reads_it(targets: list[tuple[Placement, ...]]) -> None:
    lock = lock_of(*targets)
    is_one = not any(hides(placement.path) for placements in targets for placement in placements)
    assert (read_or_faults(lock) == lock) == is_one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "without_files", lambda text: (text, []))
        alone = read_or_faults(lock)
    assert read_or_faults(lock) == alone


def read_or_faults(lock: Lock) -> Lock | tuple[str, ...]:
    try:
        return read_lock(lock_bytes(lock), "a lock")
    except GsdlockError as fault:
        return fault.details


def test_the_lines_of_usual_files_do_not_reach_the_parser() -> None:
    rest, files = without_files(TEXT)
    assert files == [(Placement("config", "a.md", DIGEST, 0o644, 3),)]
    assert tomllib.loads(rest)["target"] == [{"name": "x", "files": {MARK: "0"}}, {"name": "y"}]
    assert rest.count("\n") == TEXT.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace(LINE, f"{LINE}\n{LINE}"),  # a key twice
        TEXT.replace(LINE, f"{LINE} # seen"),
        TEXT.replace(LINE, f"# seen\n{LINE}"),
        TEXT.replace(LINE, LINE.replace("a.md", r"a\u00e4.md")),
        TEXT.replace(LINE, LINE.replace('"', "'")),
        TEXT.replace("0644", "0600"),
        TEXT.replace('name = "x"', 'name = """x\n"""'),
        TEXT.replace('name = "x"', "name = '''x\n'''"),
        TEXT.replace(LINE, f'"{MARK}" = 0'),
        TEXT.replace('"x"', f'"{MARK}"'),
        TEXT.replace(LINE, ""),
    ],
)
def test_whatever_stands_otherwise_is_left_to_the_parser(text: str) -> None:
    assert without_files(text) == (text, [])


@pytest.mark.parametrize(
    ("before", "after", "code", "said"),
    [
        ('name = "y"', "name = y", "E-LOCK-SYNTAX", "line 10, column 8"),
        (LINE, f"{LINE}\n{LINE}", "E-LOCK-SYNTAX", "line 8"),
        (LINE, f'"{MARK}" = 0', "E-LOCK-INVALID", "files.lines taken out"),
        ("[target.files]", "[target.files]\n[target.files]", "E-LOCK-SYNTAX", "line 7"),
    ],
)
def test_faults_are_told_as_the_parser_tells_them(before: str, after: str, code: str, said: str) -> None:
    with pytest.raises(GsdlockError) as fault:
        read_lock(TEXT.replace(before, after).encode(), "a lock")
    assert fault.value.code == code
    assert said in " ".join((fault.value.what, *fault.value.details))
