"""Mutated inputs for everything that reads what others wrote: manifest, lock, descriptor, archives, and the
files that are edited. Each target takes bytes, and may raise nothing but the refusals that it is for.

The seeds are texts of the kind and the cases in `corpus/<target>/` (what once went wrong, kept); the words of
the format are put in. A child does the work, with bounded memory and time and with an audit hook that lets
nothing be written; the input at work stands in a file, so that whatever ends the child can be seen and kept.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import resource
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.registry import load_builtin
from gsdlock.capabilities.validation import load_capability, read_descriptor
from gsdlock.lockfiles.model import EditFormat, EditOp
from gsdlock.lockfiles.read import read_lock
from gsdlock.lockfiles.write import lock_bytes
from gsdlock.resolver.manifest import read_manifest
from gsdlock.resolver.sources.base import Limits
from gsdlock.resolver.sources.unpack import Strip, unpack
from gsdlock.store.edits import editor
from gsdlock.store.edits.types import Change, EditFault

CORPUS = Path(__file__).parent / "corpus"
MEMORY = 1 << 30
"""Bytes of address space that a child may take on top of what it has."""
LONGEST = 20
"""Seconds of processor time for one input: far beyond anything sound, far below a hang."""
HOOK = {"hooks": [{"type": "command", "command": "greet.sh"}]}
ENVIRONMENT = Environment({}, "/home/u", "/home/u/p", "linux", 1000, Folders("/c", "/d", "/s", "/k"), str)


def manifest(data: bytes) -> None:
    read_manifest(data, "/home/u/p/gsdlock.toml", ENVIRONMENT)


def lock(data: bytes) -> None:
    read = read_lock(data, "gsdlock.lock")
    assert read_lock(lock_bytes(read), "gsdlock.lock") == read, "a lock is not what it is read back as"


def descriptor(data: bytes) -> None:
    load_capability(read_descriptor(data, "capability.json"), None, "capability.json")


def archive(data: bytes) -> None:
    for strip in Strip:
        unpack(data, strip, "pack", Limits(total=1 << 22, entries=1000))


EDITED: dict[str, tuple[EditFormat, Change]] = {
    "jsonc": (EditFormat.JSONC, Change(EditOp.APPEND_UNIQUE, "/hooks/Stop", HOOK)),
    "toml": (EditFormat.TOML, Change(EditOp.ENSURE, "/mcp/own", {"command": "x", "args": ["a"]})),
    "yaml": (EditFormat.YAML, Change(EditOp.APPEND_UNIQUE, "/hooks/Stop", HOOK)),
    "markdown": (EditFormat.MARKDOWN, Change(EditOp.BLOCK, "own", "ours\n")),
}


def edited(name: str) -> Callable[[bytes], None]:
    """A file that is edited: what was put in is held, taking it out gives the file back."""
    format, change = EDITED[name]

    def target(data: bytes) -> None:
        engine = editor(format)
        try:
            engine.check(data)
            put = engine.put(data, [change])
        except EditFault:
            return
        assert engine.holds(put.data, change), "what was put in is not held"
        added = any(entry.added for entry in put.entries)
        back = engine.take(put.data, put.entries)
        assert not added or (back or b"") == data or not data.strip(), "the file does not come back"

    return target


def tar(*names: str, compressed: bool = False) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 5
            made.addfile(info, io.BytesIO(b"hello"))
    return gzip.compress(out.getvalue(), mtime=0) if compressed else out.getvalue()


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in names:
            made.writestr(name, "hello")
    return out.getvalue()


@dataclass(frozen=True)
class Target:
    """`run` on mutations of `seeds`; `words` are what the format is made of."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    words: tuple[bytes, ...]


MANIFEST = b"""name = "team"
[packs.gsd]
npm = "@opengsd/gsd-core"
version = "^1.11"
[packs.own]
path = "../own"
[targets.claude]
scope = "global"
profile = "standard"
enable = ["ui"]
disable = ["intel"]
packs = ["gsd"]
[targets.codex-local]
runtime = "codex"
scope = "local"
[policy.hooks]
match = { op = "register-hook", scope = "global" }
action = "ask"
"""
JSONC = (
    b'\xef\xbb\xbf{\r\n  // mine\r\n  "model": "opus", /* x */\r\n'
    b'  "hooks": {"Stop": [1, {"a": 1},]},\r\n}\r\n'
)
TOML = (
    b'# mine\nmodel = "o3"\nlist = [1, "b",]\n[mcp.x]\ncommand = \'a\'\n[[arr]]\nk = 1979-05-27T07:32:00Z\n'
)
YAML = b"# mine\nmodel: &a opus\nhooks:\n  Stop:\n    - x: 1\n    - *a\nflow: {a: [1, 2]}\ntext: |\n  more\n"
MARKDOWN = b"# Mine\n\n<!-- gsdlock:begin x -->\nold\n<!-- gsdlock:end x -->\n\ntext\n"
SYNTAX = (
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"'",
    b"=",
    b":",
    b",",
    b".",
    b"#",
    b"\n",
    b"\r\n",
    b"\\",
    b"\0",
    b"//",
)
MORE = (
    b"null",
    b"true",
    b"1e999",
    b"-0",
    b'""',
    b"..",
    b"\xff",
    b"\xc0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xae",
)
WORDS = (*SYNTAX, *MORE)


def locks() -> list[bytes]:
    """Real locks: they lie in the corpus."""
    return [path.read_bytes() for path in sorted((CORPUS / "lock").glob("*"))]


def descriptors() -> list[bytes]:
    """Those that this package brings: two hosts, and the smallest features."""
    import gsdlock.capabilities

    folder = Path(gsdlock.capabilities.__path__[0])
    found = sorted(folder.glob("*/capability.json"), key=lambda p: p.stat().st_size)
    return [path.read_bytes() for path in [*found[:3], folder / "claude/capability.json"]]


def plain(*seeds: bytes) -> Callable[[], Sequence[bytes]]:
    return lambda: seeds


def archives() -> list[bytes]:
    names = ("own/capability.json", "own/skills/a/SKILL.md", "own/é.md")
    return [tar(*names), tar(*names, compressed=True), zipped(*names), tar("a/../b"), zipped("../a")]


TARGETS: dict[str, Target] = {
    "manifest": Target(manifest, plain(MANIFEST), WORDS),
    "lock": Target(lock, locks, (*WORDS, b"sha256:", b"lock-version = 1", b"<<<<<<< a\n")),
    "descriptor": Target(descriptor, descriptors, WORDS),
    "archive": Target(archive, archives, (*WORDS, b"ustar", b"PK\x01\x02", b"\x1f\x8b", b"7777777")),
    "jsonc": Target(edited("jsonc"), plain(JSONC, b"{}"), WORDS),
    "toml": Target(edited("toml"), plain(TOML, b""), (*WORDS, b'"""', b"'''", b"[[", b"]]")),
    "yaml": Target(
        edited("yaml"), plain(YAML, b"{}\n"), (*WORDS, b"- ", b"? ", b"&a", b"!!x", b"---\n", b"|\n")
    ),
    "markdown": Target(edited("markdown"), plain(MARKDOWN, b""), (*WORDS, b"<!--", b"-->")),
}


def mutated(draw: random.Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A few changes to one of the seeds: bytes flipped, parts cut, doubled, moved, or words put in."""
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        place = draw.randrange(len(data) + 1)
        length = draw.choice((1, 2, 5, 20, 100))
        match draw.randrange(6):
            case 0 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                del data[place : place + length]
            case 2:
                data[place:place] = data[place : place + length] * draw.choice((1, 2, 50))
            case 3:
                other = draw.choice(seeds)
                start = draw.randrange(len(other) + 1)
                data[place:place] = other[start : start + length]
            case 4:
                data[place : place + draw.choice((0, 1, 4))] = draw.choice(words)
            case _:
                data[place:place] = draw.choice(words) * draw.choice((1, 1, 2, 300, 20_000))
    return bytes(data)


def one(target: Target, data: bytes) -> None:
    """One input; a refusal is what it may end in. Anything else comes out."""
    try:
        target.run(data)
    except GsdlockError as error:
        assert error.code != "E-FAULT" and error.what and error.fix


def work(name: str, seed: str, inputs: int, seconds: float, at_work: Path) -> int:
    """In a child: try so many inputs, or as many as so many seconds of processor time allow; how many.

    Raises what a target raises; the input stands in `at_work` then.
    """
    target = TARGETS[name]
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]
    seeds = [*target.seeds(), *kept]
    load_builtin()
    handle = os.open(at_work, os.O_RDWR | os.O_CREAT)
    limit_memory()
    sys.addaudithook(let_nothing_be_written)
    draw = random.Random(f"{seed}/{name}")
    for data in seeds:
        one(target, data)
    end, tried = time.process_time() + seconds, 0
    while tried < inputs or time.process_time() < end:
        data = mutated(draw, seeds, target.words)
        os.pwrite(handle, len(data).to_bytes(8, "big") + data, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + LONGEST, -1))
        one(target, data)
        tried += 1
    return tried


def limit_memory() -> None:
    """Bound the address space of this process, where the system can tell how much it has."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def let_nothing_be_written(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: reading is all that a target may do."""
    writing = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    changing = event in ("os.rename", "os.mkdir", "os.remove", "os.link", "os.symlink", "subprocess.Popen")
    if writing or changing:
        traceback.print_stack()
        raise AssertionError(f"{event} {arguments}")


def shown_input(at_work: Path) -> bytes:
    """The input that a child worked on last."""
    data = at_work.read_bytes()
    return data[8 : 8 + int.from_bytes(data[:8], "big")]
