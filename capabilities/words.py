"""Closed sets of words: string enums that cost next to nothing to declare.

A vocabulary is declared anew at every start, some forty sets with two hundred words. As `enum.StrEnum`s they
took 3 of 100 parts of a whole apply, and a tenth of a short verb; so at run time a set is made here, with
what an enum is mostly used for. For the type checker it is an enum, and it must be used as one: a test holds
the two alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Words"]

if TYPE_CHECKING:
    from enum import StrEnum as Words
else:

    class _Closed(type):
        """The class of a set: its members in order, and by their word."""

        def __new__(mcs, name, bases, namespace):
            if any(isinstance(base, _Closed) and len(base) for base in bases):
                raise TypeError(f"{name}: a set that has words cannot be extended")
            words = {k: v for k, v in namespace.items() if k[0] != "_" and isinstance(v, str)}
            for key in words:
                del namespace[key]
            namespace["__slots__"] = ("name", "value") if bases == (str,) else ()
            made = super().__new__(mcs, name, bases, namespace)
            by_word = {}
            for key, word in words.items():
                member = str.__new__(made, word)
                object.__setattr__(member, "name", key)
                object.__setattr__(member, "value", word)
                by_word[word] = member
                type.__setattr__(made, key, member)
            if len(by_word) < len(words):
                raise ValueError(f"{name}: a word stands twice")
            type.__setattr__(made, "_by_word", by_word)
            return made

        def __call__(cls, word):
            try:
                return cls._by_word[word]
            except (KeyError, TypeError):
                raise ValueError(f"{word!r} is not a valid {cls.__name__}") from None

        def __getitem__(cls, name):
            for member in cls:
                if member.name == name:
                    return member
            raise KeyError(name)

        def __iter__(cls):
            return iter(cls._by_word.values())

        def __len__(cls):
            return len(cls._by_word)

        def __contains__(cls, word):
            return isinstance(word, str) and word in cls._by_word

        def __bool__(cls):
            return True

        def __setattr__(cls, name, value):
            raise AttributeError(f"{cls.__name__} is closed: {name} cannot be set")

        def __delattr__(cls, name):
            raise AttributeError(f"{cls.__name__} is closed: {name} cannot be deleted")

    class Words(str, metaclass=_Closed):
        """A closed set of words. A member is the word itself, with its `name` in the set, and its `value`,
        the word as a plain string. `Set(word)` is the member; raises `ValueError` for a word that is none."""

        def __repr__(self):
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __setattr__(self, name, value):
            raise AttributeError(f"{self!r} cannot be changed")

        def __delattr__(self, name):
            raise AttributeError(f"{self!r} cannot be changed")

        def __reduce_ex__(self, protocol):
            return type(self), (self.value,)
