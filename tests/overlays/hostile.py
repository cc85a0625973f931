"""Hostile bundles as data: what each is made of, and the code that refuses it.

A case with the code "" is taken in, and made harmless: nothing of it reaches a terminal or a file as it is.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .conftest import EXAMPLES, feature_data

HERON = json.loads((EXAMPLES / "heron/capability.json").read_text())
ESCAPE = "\x1b[2J\x1b]0;owned\x07"
BIDI = "\u202egnp.exe\u2066"
MIB = 1 << 20


class Case(NamedTuple):
    """`make` writes the bundle into an empty folder and gives the source to add."""

    name: str
    code: str
    make: Callable[[Path], Path]
    heavy: bool = False  # takes seconds: looked at once only


def changed(data: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """A copy of `data` with `value` at a JSON pointer."""
    made = copy.deepcopy(data)
    *way, last = pointer.strip("/").split("/")
    place: Any = made
    for name in way:
        place = place[int(name)] if isinstance(place, list) else place.setdefault(name, {})
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return made


def folder(data: Any, files: dict[str, str] | None = None) -> Callable[[Path], Path]:
    """A folder with this descriptor (text as it is) and these files."""

    def make(place: Path) -> Path:
        for path, text in (files or {}).items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text)
        text = data if isinstance(data, str) else json.dumps(data)
        (place / "capability.json").write_text(text, encoding="utf-8", errors="surrogatepass")
        return place

    return make


def bundle(**fields: Any) -> Callable[[Path], Path]:
    """A feature with every file that it needs."""
    data = feature_data(**fields)
    files = {f"skills/{s}/SKILL.md": f"---\nname: {s}\ndescription: x\n---\n" for s in data["skills"]}
    files |= {f"agents/{a}.md": f"---\nname: {a}\ndescription: x\n---\n" for a in data["agents"]}
    files |= {h["script"]: "#!/bin/sh\n" for h in data["hooks"] if ".." not in h["script"]}
    return folder(data, {p: t for p, t in files.items() if ".." not in p and not p.startswith("/")})


def host(pointer: str, value: Any) -> Callable[[Path], Path]:
    """The example host with one field changed."""
    return folder(changed(HERON, pointer, value))


def home(kind: str, name: str, **more: Any) -> Callable[[Path], Path]:
    """The example host with another config home."""
    return host("/runtime/configHome", {"kind": kind, "name": name, "env": [], **more})


Member = tuple[str, bytes, int, str]  # name, content, tar type, link


def member(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> Member:
    return name, content, kind[0], link


def tar(*members: Member, compress: bool = False) -> Callable[[Path], Path]:
    """A tar of the example host's descriptor and these members."""

    def make(place: Path) -> Path:
        path = place / ("b.tgz" if compress else "b.tar")
        with tarfile.open(path, "w:gz" if compress else "w", format=tarfile.PAX_FORMAT) as archive:
            for name, content, kind, link in (
                member("capability.json", json.dumps(HERON).encode()),
                *members,
            ):
                info = tarfile.TarInfo(name)
                info.type, info.linkname = bytes([kind]), link
                info.size = len(content) if kind == tarfile.REGTYPE[0] else 0
                archive.addfile(info, io.BytesIO(content) if info.size else None)
        return path

    return make


def zipped(*members: tuple[str, bytes, int]) -> Callable[[Path], Path]:
    """A zip of the example host's descriptor and these members (name, content, mode)."""

    def make(place: Path) -> Path:
        path = place / "b.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("capability.json", json.dumps(HERON))
            for name, content, mode in members:
                info = zipfile.ZipInfo("placeholder")
                info.filename, info.compress_type = name, zipfile.ZIP_DEFLATED
                info.external_attr, info.create_system = mode << 16, 3
                archive.writestr(info, content)
        return path

    return make


def raw_tar(*parts: bytes, compress: bool = False) -> Callable[[Path], Path]:
    """A tar of the example host's descriptor and these blocks as they are, with its end."""

    def make(place: Path) -> Path:
        data = b"".join((block("capability.json", json.dumps(HERON).encode()), *parts, bytes(1024)))
        path = place / ("b.tgz" if compress else "b.tar")
        path.write_bytes(gzip.compress(data) if compress else data)
        return path

    return make


def block(name: str, content: bytes = b"x", **headers: str) -> bytes:
    """One member with these extended headers, whatever they say."""
    info = tarfile.TarInfo(name)
    info.size, info.pax_headers = len(content), headers
    return info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % 512)


def old_sparse() -> bytes:
    """The header of a sparse file of GNU's old form that says it is 8 GiB long."""
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"77777777777\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def forged_zip(change: Callable[[bytearray], object]) -> Callable[[Path], Path]:
    """A zip of the descriptor, `first` (a MiB of zeros) and `other`, with its bytes changed afterwards."""

    def make(place: Path) -> Path:
        path = zipped(("first", bytes(MIB), 0o100644), ("other", b"y", 0o100644))(place)
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)
        return path

    return make


def encrypted(data: bytearray) -> None:
    local, central = data.rfind(b"PK\3\4"), data.rfind(b"PK\1\2")
    data[local + 6] |= 1
    data[central + 8] |= 1


def another_name_inside(data: bytearray) -> None:
    place = data.find(b"other")
    data[place : place + 5] = b"../ev"


def overlapping(data: bytearray) -> None:
    """The last member is said to lie where the one before it does."""
    first, central = data.find(b"PK\3\4", 4), data.rfind(b"PK\1\2")
    data[central + 42 : central + 46] = first.to_bytes(4, "little")


def shorter_than_it_is(data: bytearray) -> None:
    """A MiB of zeros that both headers say is 10 bytes."""
    local, central = data.find(b"PK\3\4", 4), data.rfind(b"PK\1\2", 0, data.rfind(b"PK\1\2"))
    data[local + 22 : local + 26] = data[central + 24 : central + 28] = (10).to_bytes(4, "little")


def _forged() -> Iterator[Case]:
    yield Case("tar: another path behind the name", "E-UNPACK-NAME", raw_tar(block("x", path="../../x")))
    yield Case(
        "tar: a size that leads beyond the end", "E-UNPACK-DAMAGED", raw_tar(block("x", size="9" * 12))
    )
    yield Case("tar: a size below nothing", "E-UNPACK-DAMAGED", raw_tar(block("x", size="-512")))
    yield Case("tar: a size that is no number", "E-UNPACK-DAMAGED", raw_tar(block("x", size="abc")))
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "../x"}
    hole = block("x", b"1\n0\n1\n".ljust(512, b"\0"), **sparse, **{"GNU.sparse.realsize": "9" * 11})
    yield Case("tar: a sparse file", "E-UNPACK-SPARSE", raw_tar(hole))
    yield Case("tar: a sparse file of the old form", "E-UNPACK-SPARSE", raw_tar(old_sparse()))
    again = block("./capability.json", b"{}")
    yield Case("tar: the descriptor twice, spelt apart", "E-UNPACK-DUPLICATE", raw_tar(again))

    def two_members(place: Path) -> Path:
        first = gzip.compress(block("capability.json", json.dumps(HERON).encode()))
        (place / "b.tgz").write_bytes(first + gzip.compress(block("../x") + bytes(1024)))
        return place / "b.tgz"

    yield Case("tgz: the rest in a second stream", "E-UNPACK-NAME", two_members)
    yield Case("zip: encrypted", "E-UNPACK-ENCRYPTED", forged_zip(encrypted))
    yield Case("zip: another name inside", "E-UNPACK-DAMAGED", forged_zip(another_name_inside))
    yield Case("zip: members that overlap", "E-UNPACK-DAMAGED", forged_zip(overlapping))
    yield Case("zip: longer than it says", "E-UNPACK-DAMAGED", forged_zip(shorter_than_it_is))


def _filled_in() -> Iterator[Case]:
    """Text that an apply would fill in: what was consented to would not be what runs."""
    mark = "{{gsdlock:path:config/x}}"
    server = {"tide": {"command": "tide", "args": [mark]}}
    yield Case("a placeholder in an argument", "E-PACK-PLACEHOLDER", bundle(mcpServers=server))
    hook = [{"event": mark, "script": "hooks/ebb.sh"}]
    yield Case("a placeholder in an event", "E-PACK-PLACEHOLDER", bundle(hooks=hook))
    env = {"tide": {"command": "tide", "env": {mark: "x"}}}
    yield Case("a placeholder in a name", "E-PACK-PLACEHOLDER", bundle(mcpServers=env))
    spelt = json.dumps(feature_data(skills=[], agents=[], hooks=[], mcpServers=server))
    other = spelt.replace("{{gsd", "\\u007b\\u007bgs\\u0064")
    yield Case("a placeholder that is spelt apart", "E-PACK-PLACEHOLDER", folder(other))


def _floods() -> Iterator[Case]:
    many = [f"n{n}" for n in range(100_000)]
    flood = {"supported": many, "unsupported": []}
    yield Case("100,000 hosts", "E-DESCRIPTOR-INVALID", bundle(runtimeCompat=flood))
    yield Case("100,000 requirements", "E-DESCRIPTOR-INVALID", bundle(requires=many))
    said = dict.fromkeys(many, "x" * 20)
    yield Case("100,000 words on its origin", "E-DESCRIPTOR-INVALID", host("/provenance", said))
    long = ">=1 || " * 100_000 + "*"
    yield Case(
        "a range of 100,000 parts", "E-DESCRIPTOR-INVALID", folder(changed(HERON, "/engines/gsd", long))
    )
    number = json.dumps(HERON).replace('"title"', f'"x": {"9" * 100_000}, "title"', 1)
    yield Case("a number of 100,000 digits", "E-DESCRIPTOR-SYNTAX", folder(number))
    for name in ("a/b", "../x", "", "__proto__", "a~1b", "x\n"):
        server = {name: {"command": "x"}}
        yield Case(f"a server called {name!r}", "E-DESCRIPTOR-INVALID", bundle(mcpServers=server))


def many_entries(place: Path) -> Path:
    """One folder entry, 100,001 times: a tar that costs nothing to make."""
    info = tarfile.TarInfo("a/")
    info.type = tarfile.DIRTYPE
    (place / "b.tgz").write_bytes(gzip.compress(info.tobuf() * 100_001 + bytes(1024), 1))
    return place / "b.tgz"


def special(make: Callable[[Path], Any]) -> Callable[[Path], Path]:
    """A folder that holds what `make` puts there besides the descriptor."""

    def build(place: Path) -> Path:
        folder(HERON)(place)
        make(place)
        return place

    return build


def _links() -> Iterator[Case]:
    def fifo(place: Path) -> None:
        import os

        os.mkfifo(place / "pipe")

    yield Case("folder: link out", "E-PACK-LINK", special(lambda p: (p / "x").symlink_to("/etc/passwd")))
    yield Case("folder: link to a folder", "E-PACK-LINK", special(lambda p: (p / "x").symlink_to("..")))
    yield Case("folder: dangling link", "E-PACK-LINK", special(lambda p: (p / "x").symlink_to("nowhere")))
    yield Case("folder: pipe", "E-PACK-SPECIAL", special(fifo))

    def linked_descriptor(place: Path) -> Path:
        (place / "real.json").write_text(json.dumps(HERON))
        (place / "capability.json").symlink_to("real.json")
        return place

    yield Case("folder: the descriptor is a link", "E-PACK-LINK", linked_descriptor)
    for compress in (False, True):
        form = "tgz" if compress else "tar"
        for what, kind, link in (
            ("symbolic link", tarfile.SYMTYPE, "/etc/passwd"),
            ("hard link", tarfile.LNKTYPE, "capability.json"),
        ):
            made = tar(member("x", b"", kind, link), compress=compress)
            yield Case(f"{form}: {what}", "E-UNPACK-LINK", made)
        through = tar(member("d", b"", tarfile.SYMTYPE, "/tmp"), member("d/x"), compress=compress)
        yield Case(f"{form}: a file through a link", "E-UNPACK-LINK", through)
        for what, kind in (
            ("pipe", tarfile.FIFOTYPE),
            ("block device", tarfile.BLKTYPE),
            ("character device", tarfile.CHRTYPE),
        ):
            yield Case(f"{form}: {what}", "E-UNPACK-SPECIAL", tar(member("x", b"", kind), compress=compress))
    yield Case("zip: symbolic link", "E-UNPACK-LINK", zipped(("x", b"/etc/passwd", 0o120777)))
    yield Case("zip: pipe", "E-UNPACK-SPECIAL", zipped(("x", b"", 0o010644)))


BAD_NAMES = {
    "climbs": "../x",
    "climbs later": "a/../../x",
    "absolute": "/etc/x",
    "backslash": "a\\..\\x",
    "drive": "c:x",
    "device": "con.txt",
    "ends in a dot": "x.",
    "escape sequence": f"x{ESCAPE}",
    "turned round": f"x{BIDI}",
    "too deep": "/".join("d" * 120),
}


def _names() -> Iterator[Case]:
    for what, name in BAD_NAMES.items():
        yield Case(f"tar: a name that {what}", "E-UNPACK-NAME", tar(member(name)))
        yield Case(f"tgz: a name that {what}", "E-UNPACK-NAME", tar(member(name), compress=True))
        yield Case(f"zip: a name that {what}", "E-UNPACK-NAME", zipped((name, b"x", 0o100644)))
    yield Case("tar: twins", "E-UNPACK-COLLISION", tar(member("Read"), member("read")))
    yield Case("zip: twins", "E-UNPACK-COLLISION", zipped(("Read", b"", 0o100644), ("read", b"", 0o100644)))
    composed = tar(member("caf\u00e9"), member("cafe\u0301"))
    yield Case("tar: twins by normal form", "E-UNPACK-COLLISION", composed)
    yield Case("tar: a file twice", "E-UNPACK-DUPLICATE", tar(member("x"), member("x", b"y")))
    yield Case("tar: file and folder", "E-UNPACK-COLLISION", tar(member("x"), member("x/y")))
    for git in (".git/config", ".GIT/hooks/post-checkout", "sub/.g\u200cit/config", "git~1/config"):
        yield Case(f"tar: {git!a}", "E-OVERLAY-GIT", tar(member(git)))


def _sizes() -> Iterator[Case]:
    yield Case("tgz: a bomb", "E-UNPACK-SIZE", tar(member("x", bytes(129 * MIB)), compress=True))
    yield Case("zip: a bomb", "E-UNPACK-SIZE", zipped(("x", bytes(129 * MIB), 0o100644)))
    yield Case("tgz: too many entries", "E-UNPACK-ENTRIES", many_entries, heavy=True)
    big = json.dumps(changed(HERON, "/description", "x" * (8 * MIB)))
    yield Case("a descriptor of more than 8 MiB", "E-UNPACK-MANIFEST-SIZE", folder(big))
    keys = ",".join(f'"{n:x}":0' for n in range(800_000))
    yield Case("800,000 unknown keys", "E-DESCRIPTOR-INVALID", folder(f"{{{keys}}}"), heavy=True)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    short = ",".join(
        f'"{a}{b}{c}{d}":1' for a in digits[:4] for b in digits for c in digits for d in digits[:53]
    )
    yield Case("800,000 short unknown keys", "E-DESCRIPTOR-INVALID", folder(f"{{{short}}}"), heavy=True)
    behaviours = json.dumps(HERON).replace('"hostBehaviors": {}', f'"hostBehaviors": {{{short}}}')
    yield Case("800,000 unknown behaviours", "", folder(behaviours), heavy=True)
    long = {"command": "heron", "args": ["x" * 2001]}
    yield Case("an argument that nobody reads", "E-OVERLAY-SURFACES", host("/runtime/orchestratorExec", long))
    hooks: Any = [{"event": f"E{n}", "script": "hooks/ebb.sh"} for n in range(201)]
    yield Case("more hooks than anybody reads", "E-OVERLAY-SURFACES", bundle(hooks=hooks))


def _descriptors() -> Iterator[Case]:
    yield Case("no descriptor", "E-OVERLAY-DESCRIPTOR", _no_descriptor)
    yield Case("not JSON", "E-DESCRIPTOR-SYNTAX", folder("{,}"))
    yield Case("a key twice", "E-DESCRIPTOR-SYNTAX", folder('{"id":"a","id":"claude"}'))
    yield Case("not a number", "E-DESCRIPTOR-SYNTAX", folder('{"id":NaN}'))
    yield Case("too deep", "E-DESCRIPTOR-SYNTAX", folder("[" * 100_000))
    yield Case("an array", "E-DESCRIPTOR-INVALID", folder("[]"))
    yield Case("half a character", "E-DESCRIPTOR-SYNTAX", folder('{"id":"\\ud800"}'))
    yield Case("no such role", "E-DESCRIPTOR-INVALID", folder(changed(HERON, "/role", "plugin")))
    yield Case("a converter of its own", "E-DESCRIPTOR-INVALID", host(LAYOUT + "converter", "require('fs')"))
    yield Case("what it names is not there", "E-PACK-ARTIFACT-MISSING", folder(feature_data()))
    yield Case("another GSD", "E-OVERLAY-ENGINES", folder(changed(HERON, "/engines/gsd", ">=99.0.0")))


def _no_descriptor(place: Path) -> Path:
    (place / "README").write_text("x")
    return place


LAYOUT = "/runtime/artifactLayout/global/0/"
PATH_FIELDS = {
    "/runtime/configHome/name": "../../etc",
    "/runtime/localConfigDir": ".heron/../..",
    LAYOUT + "destSubpath": "../../.ssh",
    LAYOUT + "prefix": "../",
    LAYOUT + "home": "../..",
    "/runtime/nativeSkills/global/destSubpath": "/etc/skills",
    "/runtime/mcp/global/file": "../.bashrc",
    "/runtime/mcp/global/instead": ["../x"],
    "/runtime/roots": {"hooks-home": {"kind": "dot-home", "name": "../x", "env": []}},
    "/runtime/hostBehaviors/nativePlugin": {"dir": "../x", "file": "p.js", "source": "p.js"},
    "/runtime/hostBehaviors/projectInstructionFile": "../../AGENTS.md",
    "/runtime/hostBehaviors/flatCommandDir": "/usr/bin",
    "/runtime/hostBehaviors/sharedHooksDirName": "a/b",
    "/runtime/hostBehaviors/sourceMarkerFile": "../x",
}


def _traversal() -> Iterator[Case]:
    for pointer, value in PATH_FIELDS.items():
        yield Case(f"a path that leads out: {pointer}", "E-DESCRIPTOR-INVALID", host(pointer, value))
    fields: tuple[tuple[str, Any], ...] = (
        ("skills", ["../x"]),
        ("agents", ["a/b"]),
        ("hooks", [{"event": "Stop", "script": "../../x.sh"}]),
        ("hooks", [{"event": "Stop", "script": "/bin/sh"}]),
        ("hooks", [{"event": "Stop", "script": "-c/x"}]),
        ("commands", [{"family": "x", "module": "../x.cjs", "router": "r"}]),
        ("id", "../claude"),
    )
    for key, bad in fields:
        given = {"id_": "tides", "id": bad, "skills": []} if key == "id" else {key: bad}
        yield Case(f"a path that leads out: {key} {bad}", "E-DESCRIPTOR-INVALID", bundle(**given))


PLACES = {
    "the home": ("dot-home", "."),
    "keys": ("dot-home", ".ssh"),
    "below keys": ("dot-home", ".gnupg/x"),
    "a start-up file": ("dot-home", ".bashrc"),
    "a start-up folder": ("dot-home", ".zshrc.d"),
    "a profile": ("dot-home", ".profile"),
    "all of XDG": ("dot-home", ".config"),
    "programs": ("dot-home", ".local/bin"),
    "services": ("dot-home", ".config/systemd/user"),
    "autostart": ("xdg", "autostart"),
    "git's settings": ("xdg", "git"),
    "gsdlock itself": ("xdg", "gsdlock"),
    "gsdlock's record": ("dot-home", ".local/state/gsdlock"),
    "another host": ("dot-home", ".claude"),
    "inside another host": ("dot-home", ".claude/plugins/heron"),
    "around another host": ("dot-home", ".gemini"),
    "another host by case": ("dot-home", ".Claude"),
    "an XDG host": ("xdg", "opencode"),
}


def _places() -> Iterator[Case]:
    for what, (kind, name) in PLACES.items():
        code = "E-DESCRIPTOR-INVALID" if name == "." else "E-CONFINE-PLACE"
        yield Case(f"a root that is {what}", code, home(kind, name))
    for variable in ("HOME", "CLAUDE_CONFIG_DIR", "OUTSIDE"):
        made = home("dot-home", ".heron", env=[variable])
        yield Case(f"a root by the variable {variable}", "E-CONFINE-PLACE", made)
    yield Case("a root behind a link", "E-CONFINE-PLACE", home("dot-home", ".linked"))
    for local in (".git", ".git/hooks", ".claude", ".claude/agents", ".GIT"):
        yield Case(f"a project folder {local}", "E-CONFINE-PLACE", host("/runtime/localConfigDir", local))


def _squatting() -> Iterator[Case]:
    conflict, reserved = "E-OVERLAY-CONFLICT", "E-OVERLAY-RESERVED"
    yield Case("the id of a first-party host", conflict, host("/id", "claude"))
    yield Case("the id of a first-party feature", conflict, bundle(id="graphify", id_="tides"))
    yield Case("a kept prefix", reserved, host("/id", "gsd-heron"))
    yield Case("another kept prefix", reserved, host("/id", "anthropic-heron"))
    yield Case("a kept prefix by case", "E-DESCRIPTOR-INVALID", host("/id", "GSD-heron"))
    yield Case("a name of JavaScript's", "E-DESCRIPTOR-INVALID", host("/id", "constructor"))
    yield Case("a skill of a first-party feature", conflict, bundle(skills=["graphify"]))
    yield Case("the same by case", conflict, bundle(skills=["Graphify"]))
    yield Case("an agent of the core", reserved, bundle(agents=["gsd-planner"]))
    yield Case("the same by case", reserved, bundle(agents=["GSD-planner"]))
    yield Case("a skill twice", conflict, bundle(skills=["a", "a"]))
    yield Case("a server with a kept name", reserved, bundle(mcpServers={"gsd-server": {"command": "x"}}))
    lane = json.loads((EXAMPLES.parents[1] / "capabilities/codex/capability.json").read_text())["reviewer"]
    yield Case("a first-party review lane", conflict, host("/reviewer", lane))
    flags = {**lane, "slug": "heron", "reviewsSection": "Heron"}
    yield Case("a first-party review flag", conflict, host("/reviewer", flags))
    section = {**lane, "slug": "heron", "flags": ["--heron"]}
    yield Case("a first-party review section", conflict, host("/reviewer", section))
    invoke = {**lane["invoke"], "env": {"LD_PRELOAD": "x.so"}}
    own = {**lane, "slug": "heron", "flags": ["--heron"], "reviewsSection": "Heron", "invoke": invoke}
    yield Case("a lane that loads a library", "E-DESCRIPTOR-INVALID", host("/reviewer", own))
    yield Case("a requirement that is not there", conflict, bundle(requires=["nowhere"]))
    unknown = {"supported": ["nowhere"], "unsupported": []}
    yield Case("a host that is not there", conflict, bundle(runtimeCompat=unknown))


def _texts() -> Iterator[Case]:
    for mark, name in ((ESCAPE, "escape"), (BIDI, "turned"), ("\u200b\u2028", "unseen")):
        code = "E-DESCRIPTOR-INVALID" if mark is ESCAPE else ""  # a title is one line
        yield Case(f"{name} text: title", code, host("/title", f"Heron{mark}"))
        yield Case(f"{name} text: description", "", host("/description", f"Heron{mark}"))
        said = {"sourceRepo": f"x{mark}", "commit": f"y{mark}"}
        yield Case(f"{name} text: provenance", "", host("/provenance", said))
        hook: Any = [{"event": f"Stop{mark}", "script": "hooks/ebb.sh"}]
        # An event is a name in the lock, which holds nothing of the kind.
        yield Case(f"{name} text: event", "E-DESCRIPTOR-INVALID", bundle(hooks=hook))
        engine = {"command": "heron", "args": [f"--x{mark}"]}
        yield Case(f"{name} text: argument", "E-OVERLAY-TEXT", host("/runtime/orchestratorExec", engine))
        server = {"tide": {"command": "tide", "args": [f"a{mark}b"]}}
        yield Case(f"{name} text: server", "E-OVERLAY-TEXT", bundle(mcpServers=server))
        env = {"tide": {"command": "tide", "env": {"X": mark}}}
        yield Case(f"{name} text: environment", "E-OVERLAY-TEXT", bundle(mcpServers=env))
        router = [{"family": "tide", "module": "tide.cjs", "router": f"r{mark}"}]
        yield Case(f"{name} text: router", "E-OVERLAY-TEXT", bundle(commands=router))


CASES = [
    *_links(),
    *_names(),
    *_forged(),
    *_sizes(),
    *_floods(),
    *_filled_in(),
    *_descriptors(),
    *_traversal(),
    *_places(),
    *_squatting(),
    *_texts(),
]
