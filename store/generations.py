"""Generations on disk: `<state>/targets/<slug>/generations/<n>.json` and the pointer `current` beside them.

A generation file is sealed (`statefiles`) and never changed once the pointer names it. The pointer is what
makes a generation the current one; a generation without a pointer to it or past it is a transaction that did
not finish. Damage is named, never worked around: losing a record must not make us forget what we own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from ..capabilities.canonical import plain_json
from ..capabilities.errors import GsdlockError, input_error, missing, shown
from .faults import io_at
from .filesystem import FileSystem
from .records import GENERATION_VERSION, Generation, generation_data, read_generation
from .statefiles import DamagedError, list_folder, read_whole, remove_file, seal, unseal, write_whole

_REPAIR = (
    "Nothing was changed. gsdlock doctor --repair puts right what it can, and says what to do with the rest."
)


def slug_of(installation: str, target: str, project: str = "") -> str:
    """The name of a target's folder: `<target>@<installation>`, for a local target also `@` and 12 hex digits
    of the digest of its project folder. `@` stands in no name, so no two targets share a slug."""
    slug = f"{target}@{installation}"
    if project:
        slug += "@" + hashlib.sha256(project.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return slug


def target_of_slug(slug: str) -> str:
    """The name of the target that a slug of `slug_of` is of."""
    return slug.partition("@")[0]


class Generations:
    """The generations of all targets of one state folder."""

    def __init__(self, fs: FileSystem, state: str, written: dict[str, Generation] | None = None) -> None:
        self._fs = fs
        self.state = state
        self._written = {} if written is None else written

    def folder(self, slug: str) -> str:
        """The folder of a target's generations."""
        return f"{self.state}/targets/{slug}/generations"

    def slugs(self) -> list[str]:
        """All targets that ever had a generation here, sorted."""
        with io_at("cannot list", f"{self.state}/targets"):
            return list_folder(self._fs, f"{self.state}/targets")

    def numbers(self, slug: str) -> list[int]:
        """The numbers of the generations that are there, rising; an unfinished one may be among them."""
        with io_at("cannot list", self.folder(slug)):
            names = list_folder(self._fs, self.folder(slug))
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdigit())

    def current_number(self, slug: str) -> int:
        """The number that the pointer names, 0 where the target has no generation.

        Raises E-GENERATION-CORRUPT where the pointer is damaged, or missing beside generations.
        """
        path = f"{self.state}/targets/{slug}"
        with io_at("cannot read", f"{path}/current"):
            data = read_whole(self._fs, path, "current")
        if data is None and self.numbers(slug) and not self._in_flight():
            # A transaction that has just ended may have written the pointer after we looked for it.
            with io_at("cannot read", f"{path}/current"):
                data = read_whole(self._fs, path, "current")
            if data is None:
                raise _corrupt(f"{path}/current", "is missing")
        if data is None:
            return 0
        text = data.decode("ascii", "replace").removesuffix("\n")
        if not text.isdigit() or not text.isascii() or int(text) < 1 or text != str(int(text)):
            raise _corrupt(f"{path}/current", "is damaged")
        return int(text)

    def current(self, slug: str) -> Generation | None:
        """The current generation; None where the target has none. An uninstalled target has one that is
        `left`. Raises as `current_number` and `read` do."""
        number = self.current_number(slug)
        return self.read(slug, number) if number else None

    def currents(self, *, as_written: bool = False) -> dict[str, Generation]:
        """The current generation of every target that has one, by slug.

        With `as_written`, one that this process wrote is not read again to be seen whole.
        """
        found: dict[str, Generation | None] = {}
        for slug in self.slugs():
            written = self._written.get(slug) if as_written else None
            is_current = written is not None and written.number == self.current_number(slug)
            found[slug] = written if is_current else self.current(slug)
        return {slug: generation for slug, generation in found.items() if generation is not None}

    def forgot(self, slug: str, number: int) -> bool:
        """Whether a collection let go of a generation: it is older than all that are kept."""
        kept = self.numbers(slug)
        return 0 < number < kept[0] if kept else False

    def read(self, slug: str, number: int) -> Generation:
        """One generation. Raises E-GENERATION-MISSING (status 5), E-GENERATION-CORRUPT (5),
        E-GENERATION-VERSION (3: written by a newer gsdlock), E-IO-…."""
        path = f"{self.folder(slug)}/{number}.json"
        with io_at("cannot read", path):
            data = read_whole(self._fs, self.folder(slug), f"{number}.json")
        if data is None:
            raise missing(
                "E-GENERATION-MISSING",
                f"generation {number} of {shown(slug)} is not there",
                "See `gsdlock history` for those that are. If it is the current one: "
                "take it from a backup of the state folder.",
                where=path,
            )
        try:
            record = unseal(data)
            version = record.get("generation-version")
            if version != GENERATION_VERSION:
                raise _newer(path, version)
            generation = read_generation(record)
        except DamagedError:
            raise _corrupt(path, "is damaged") from None
        if (generation.slug, generation.number) != (slug, number):
            raise _corrupt(path, "is the record of something else")
        return generation

    def write(self, generation: Generation, *, flush: bool = True) -> None:
        """Write a generation file; it counts only once `point` names it. Raises `OSError`."""
        record = generation_data(generation)
        record |= {part: plain_json(record[part]) for part in ("files", "decisions")}
        name = f"{generation.number}.json"
        write_whole(self._fs, self.folder(generation.slug), name, seal(record), flush=flush)
        self._written[generation.slug] = generation

    def flush(self, slug: str, number: int, flushed: Collection[int]) -> None:
        """A generation file written without flush lasts when this returns, with every folder on its way.
        `flushed` are the devices of file systems that were flushed since. Raises `OSError`."""
        folder, name = self.folder(slug), f"{number}.json"
        for path in (folder, f"{self.state}/targets/{slug}", f"{self.state}/targets", self.state):
            handle = self._fs.open_root(path)
            try:
                if self._fs.stat_dir(handle).st_dev in flushed:
                    continue
                if path == folder:
                    self._fs.flush_file(handle, name)
                self._fs.flush_dir(handle)
            finally:
                self._fs.close(handle)

    def point(self, slug: str, number: int) -> None:
        """Make a generation the current one, lasting when this returns. Raises `OSError`."""
        write_whole(self._fs, f"{self.state}/targets/{slug}", "current", f"{number}\n".encode("ascii"))

    def unpoint(self, slug: str) -> None:
        """No generation is the current one any more. Raises `OSError`."""
        remove_file(self._fs, f"{self.state}/targets/{slug}", "current", flush=True)

    def remove(self, slug: str, number: int) -> None:
        """Forget a generation that is not the current one, for good when this returns. Raises `OSError`."""
        remove_file(self._fs, self.folder(slug), f"{number}.json", flush=True)

    def _in_flight(self) -> bool:
        with io_at("cannot list", f"{self.state}/transactions"):
            return bool(list_folder(self._fs, f"{self.state}/transactions"))


def _corrupt(path: str, what: str) -> GsdlockError:
    return missing("E-GENERATION-CORRUPT", f"{shown(path, 400)} {what}", _REPAIR, where=path)


def _newer(path: str, version: object) -> GsdlockError:
    return input_error(
        "E-GENERATION-VERSION",
        f"{shown(path, 400)} was written in version {shown(str(version), 20)} of the format, "
        f"and this gsdlock knows {GENERATION_VERSION}",
        "Use the gsdlock that wrote it, or a newer one.",
        where=path,
    )
