"""A SKILL.md keeps its bytes where the host can read it; else just what stands in the way is mended."""

from __future__ import annotations

import pytest
import yaml
from gsdlock.capabilities.vocabulary import SkillNeed
from gsdlock.resolver.skill_text import readable
from hypothesis import given
from hypothesis import strategies as st

ALL = tuple(SkillNeed)
STRICT = (SkillNeed.FRONTMATTER, SkillNeed.NAME, SkillNeed.DESCRIPTION, SkillNeed.STRICT_YAML)
GOOD = '---\nname: greet\ndescription: "Says hello: to all"\n---\n\n# Greet\n\nSay hello.\n'


@pytest.mark.parametrize("needs", [(), STRICT, ALL])
def test_a_good_skill_keeps_its_bytes(needs: tuple[SkillNeed, ...]) -> None:
    assert readable(GOOD, "greet", needs) == GOOD


BROKEN = [
    "# Greet\n\nSay hello.\n",
    "---\nname: greet\ndescription: Use when: asked\n---\nbody\n",
    "\ufeff" + GOOD,
    "---\ndescription: x\n---\n",
    "",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_host_that_takes_anything_gets_the_bytes_of_the_pack(text: str) -> None:
    assert readable(text, "greet", ()) == text


MENDED = [
    # what the host needs, text of the pack, what the host gets
    (
        (SkillNeed.FRONTMATTER,),
        "# Greet\n\nSay hello.\n",
        '---\nname: greet\ndescription: "Say hello."\n---\n\n# Greet\n\nSay hello.\n',
    ),
    (
        (SkillNeed.STRICT_YAML,),
        "---\nname: greet\ndescription: Use when: asked\nlicense: MIT\n---\nbody\n",
        '---\nname: greet\ndescription: "Use when: asked"\nlicense: MIT\n---\nbody\n',
    ),
    (
        (SkillNeed.STRICT_YAML,),
        '---\nname: greet\ndescription: "never closed\n---\nbody\n',
        '---\nname: greet\ndescription: "never closed"\n---\nbody\n',
    ),
    ((SkillNeed.NAME,), "---\ndescription: x\n---\n", "---\nname: greet\ndescription: x\n---\n"),
    (
        (SkillNeed.DESCRIPTION,),
        "---\nname: greet\n---\n# Greet\nSay hello.\n",
        '---\nname: greet\ndescription: "Say hello."\n---\n# Greet\nSay hello.\n',
    ),
    (
        (SkillNeed.DESCRIPTION,),
        "---\nname: greet\ndescription:\n---\n",
        '---\nname: greet\ndescription: "greet"\n---\n',
    ),
    ((SkillNeed.NO_BOM,), "\ufeff" + GOOD, GOOD),
    # Front matter is not asked for, so none is made.
    ((SkillNeed.STRICT_YAML, SkillNeed.NAME), "no front matter\n", "no front matter\n"),
]


@pytest.mark.parametrize(("needs", "text", "mended"), MENDED)
def test_what_stands_in_the_way_is_mended(needs: tuple[SkillNeed, ...], text: str, mended: str) -> None:
    assert readable(text, "greet", needs) == mended


def test_a_description_that_is_too_long_is_cut_to_1024_characters() -> None:
    text = f"---\nname: greet\ndescription: >\n  {'word ' * 300}\n---\nbody\n"
    got = yaml.safe_load(readable(text, "greet", (SkillNeed.DESCRIPTION_1024,)).split("---\n")[1])
    assert len(got["description"]) <= 1024
    assert got["description"].startswith("word word") and got["description"].endswith("…")
    assert got["name"] == "greet"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=60))
def test_every_one_line_description_can_be_read_afterwards(description: str) -> None:
    text = f"---\nname: greet\ndescription: {description}\n---\nBody.\n"
    got = readable(text, "greet", STRICT)
    data = yaml.safe_load(got.split("\n---\n")[0])
    assert data["name"] == "greet" and data["description"]
    assert readable(got, "greet", STRICT) == got


@pytest.mark.parametrize(
    "value", ["[" * 500 + "]" * 500, "\n" + "".join(f"{'  ' * n}-\n" for n in range(1, 1500))]
)
def test_a_front_matter_that_nobody_can_read_is_no_fault_of_ours(value: str) -> None:
    text = f"---\nname: s\ndescription: {value}\n---\nProse.\n"
    needs = (SkillNeed.STRICT_YAML, SkillNeed.NAME, SkillNeed.DESCRIPTION, SkillNeed.DESCRIPTION_1024)
    assert "Prose." in readable(text, "s", needs)
