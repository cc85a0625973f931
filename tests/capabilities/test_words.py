"""A closed set of words is what an `enum.StrEnum` of the same members is, wherever our code uses it."""

from __future__ import annotations

import copy
import enum
import importlib
import pickle
import pkgutil
from typing import Any

import gsdlock
import pytest
from gsdlock.capabilities.canonical import canonical_json
from gsdlock.capabilities.words import Words


class Fruit(Words):
    """Two words."""

    APPLE = "apple"
    BLOOD_ORANGE = "blood-orange"

    @property
    def loud(self) -> str:
        """The word in capitals."""
        return self.upper()


class Mark(enum.StrEnum):
    APPLE = "apple"
    BLOOD_ORANGE = "blood-orange"


def all_sets() -> list[type[Words]]:
    """Every closed set of the house."""
    for module in pkgutil.walk_packages(gsdlock.__path__, "gsdlock."):
        if not module.name.startswith(("gsdlock.tests", "gsdlock.script", "gsdlock.build")):
            importlib.import_module(module.name)
    return [made for made in Words.__subclasses__() if made.__module__.startswith("gsdlock.")]


LOOKS: dict[str, Any] = {
    "members": lambda words: [(w.name, w.value) for w in words],
    "number": len,
    "text": lambda words: [f"{w}|{w!s}|{w:>14}" for w in words],
    "plain": lambda words: [type(x) for w in words for x in (str(w), w.value, f"{w}")],
    "shown": lambda words: [repr(w).partition(".")[2] for w in words],
    "equal": lambda words: words.APPLE == "apple" and words("apple") is words.APPLE is words["APPLE"],
    "key": lambda words: {w: n for n, w in enumerate(words)}["blood-orange"],
    "hash": lambda words: [hash(w) for w in words],
    "among": lambda words: (words.APPLE in words, words.APPLE in {"apple"}, "apple" in list(words)),
    "order": lambda words: sorted(words),
    "copies": lambda words: all(
        c(w) is w for w in words for c in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)))
    ),
    "bytes": lambda words: canonical_json({"a": list(words), words.APPLE: words.BLOOD_ORANGE}),
    "true": lambda words: (bool(words), bool(words.APPLE), isinstance(words.APPLE, str)),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_set_looks_as_the_enum_does(look: Any) -> None:
    assert look(Fruit) == look(Mark)


@pytest.mark.parametrize("word", ["pear", "APPLE", "", 1, None, []])
def test_a_word_that_is_none_is_refused_in_the_same_words(word: Any) -> None:
    with pytest.raises(ValueError) as ours:
        Fruit(word)
    with pytest.raises(ValueError) as theirs:
        Mark(word)
    assert str(ours.value) == str(theirs.value).replace("Mark", "Fruit")


def test_what_a_set_can_do_besides_is_its_own() -> None:
    assert Fruit.APPLE.loud == "APPLE"
    assert Fruit.__doc__ == "Two words."


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: setattr(Fruit, "PEAR", "pear"),
        lambda: setattr(Fruit, "APPLE", "pear"),
        lambda: delattr(Fruit, "APPLE"),
        lambda: setattr(Fruit.APPLE, "value", "pear"),
        lambda: setattr(Fruit.APPLE, "ripe", True),
        lambda: delattr(Fruit.APPLE, "name"),
    ],
)
def test_a_set_is_closed(attempt: Any) -> None:
    with pytest.raises(AttributeError):
        attempt()
    assert [(w.name, w.value) for w in Fruit] == [("APPLE", "apple"), ("BLOOD_ORANGE", "blood-orange")]


def test_a_set_with_words_is_not_extended_and_holds_no_word_twice() -> None:
    closed: Any = type(Fruit)
    with pytest.raises(TypeError):
        closed("More", (Fruit,), {"PEAR": "pear"})
    with pytest.raises(ValueError, match="twice"):
        closed("Twice", (Words,), {"PEAR": "pear", "PEER": "pear"})


def test_every_set_of_the_house_holds_what_an_enum_of_its_words_would() -> None:
    sets = all_sets()
    assert len(sets) > 40
    for words in sets:
        theirs = enum.StrEnum(words.__name__, [(w.name, w.value) for w in words])  # type: ignore[misc]  # a name at run time
        assert [(w.name, w.value) for w in theirs] == [(w.name, w.value) for w in words], words
