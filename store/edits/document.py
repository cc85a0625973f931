"""A document that entries go into and come out of, whatever its format: its text, and what it means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .meaning import Path, copied
from .types import ABSENT


class Document(ABC):
    """A parsed document: its text, and in `data`, which is its own, what it means.

    `data` is the root as plain data, ABSENT where the document holds no value at all. Public methods change
    text and data together; formats implement the `_` ones, which change the text alone and are called before
    the data changes. `absent` says that there was no file.
    """

    def __init__(self, data: Any, *, absent: bool) -> None:
        self.data = data
        self.absent = absent

    # Reading

    def get(self, path: Path) -> Any:
        """The value at `path`, or ABSENT."""
        value = self.data
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def guard(self, path: Path) -> None:
        """Raises `EditFault` where `path` cannot be followed safely (a key that stands twice, an alias)."""
        return

    def opens(self, path: Path) -> bool:
        """Whether the null at `path` stands for an empty container (a YAML key with nothing behind it)."""
        return False

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column (from 1) of the value at `path`, or (0, 0)."""
        return (0, 0)

    def inside(self, path: Path) -> str | None:
        """The text inside the empty container at `path`, where the format has to remember it."""
        return None

    def spelling(self, path: Path) -> str | None:
        """The text of the value at `path`, where the format can put it back by `replace`."""
        return None

    @abstractmethod
    def encode(self) -> bytes:
        """The document as bytes. Raises `EditFault` where it does not mean `data`."""

    @abstractmethod
    def is_blank(self, trace: str | None) -> bool:
        """Whether nothing is left but what `trace`, the text before us, held: no comment of anybody else."""

    def rootless(self, trace: str) -> str | None:
        """The text without the empty root that we gave it, where `trace` was all of the text before us.

        None where it has to stay, because the format knows no such root or somebody wrote inside it.
        """
        return None

    # Changing

    def create(self) -> None:
        """Give a document without a value an empty object as its root."""
        self._create()
        self.data = {}

    def insert(self, path: Path, key: str, value: Any) -> tuple[Path, ...]:
        """A new member of the object at `path`. Gives containers that had to be declared for it, if any."""
        made = self._insert(path, key, value)
        self.get(path)[key] = copied(value)
        return made

    def open(self, path: Path, empty: Any) -> None:
        """Let the null at `path`, which stands for an empty container, be `empty`. No text changes yet."""
        if path:
            self.get(path[:-1])[path[-1]] = empty
        else:
            self.data = empty

    def append(self, path: Path, value: Any) -> None:
        """A new last item of the array at `path`."""
        self._append(path, value)
        self.get(path).append(copied(value))

    def remove(self, path: Path) -> None:
        """Take out the member or item at `path`, which is not the root."""
        self._remove(path)
        del self.get(path[:-1])[path[-1]]

    def replace(self, path: Path, value: Any, spelling: str | None = None) -> None:
        """Another value at `path`, which is not the root, spelled so where `spelling` is given."""
        self._replace(path, value, spelling)
        self.get(path[:-1])[path[-1]] = copied(value)

    def fold(self, path: Path) -> None:
        """Take out the container at `path` if it is empty and holds no comment of the user's."""
        if path and self.get(path) in ({}, []) and self._may_fold(path):
            self.remove(path)

    def tidy(self, path: Path) -> None:
        """Take out a declaration of the container at `path` that we made and that is not needed any more."""
        return

    def refill(self, path: Path, text: str) -> None:
        """Put `text` back inside the empty container at `path`."""
        return

    def _create(self) -> None:
        raise AssertionError("this format has a root always")

    @abstractmethod
    def _insert(self, path: Path, key: str, value: Any) -> tuple[Path, ...]: ...

    @abstractmethod
    def _append(self, path: Path, value: Any) -> None: ...

    @abstractmethod
    def _remove(self, path: Path) -> None: ...

    @abstractmethod
    def _replace(self, path: Path, value: Any, spelling: str | None) -> None: ...

    def _may_fold(self, path: Path) -> bool:
        return True
