"""An npm package as a pack.

Most of it runs against a program called `npm` that is made here and answers as the real one does; the last
test asks the real one.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gsdlock.lockfiles.model import LockedPack, PackKind
from gsdlock.resolver.sources import fetch
from gsdlock.resolver.sources.base import Fetched, PackSource, SourceContext
from msgspec.structs import replace

Source = Callable[..., PackSource]
Refused = Callable[..., Any]

NPM = """#!{python}
import json, os, sys
home = {home!r}
arguments = sys.argv[1:]
record = {{"arguments": arguments, "cwd": os.getcwd(), "env": dict(os.environ)}}
with open(home + "/calls", "a") as calls:
    calls.write(json.dumps(record) + "\\n")
operands = arguments[arguments.index("--") + 1:]
registry = json.load(open(home + "/registry.json"))
name, _, version = operands[0].rpartition("@") if "@" in operands[0][1:] else (operands[0], "", "")
package = registry.get(name)
if package and package.get("silent") and version not in package["versions"] and version:
    sys.exit(0)
if package and package.get("before") and arguments[0] == "pack":
    print(json.dumps({{"error": {{"code": "ETARGET", "summary": "No version with a date before 2015."}}}}))
    sys.exit(1)
if package is None or (version and version not in package["versions"]):
    print(json.dumps({{"error": {{"code": "E404", "summary": "Not found"}}}}))
    sys.exit(1)
if package.get("broken"):
    sys.stderr.write("npm error \\x1b[31mbroken\\n")
    sys.exit(7)
if arguments[0] == "view" and not version:
    versions = list(package["versions"])
    versions = versions if len(versions) > 1 else versions[0]
    print(json.dumps({{"dist-tags": package["tags"], "versions": versions}}))
elif arguments[0] == "view":
    answer = {{"version": version, "dist.integrity": package["versions"][version]["integrity"]}}
    print(json.dumps([answer] if package.get("lists") else answer))
else:
    folder = arguments[arguments.index("--pack-destination") + 1]
    tarball = open(package["versions"][version]["file"], "rb").read()
    open(os.path.join(folder, "whatever.tgz"), "wb").write(tarball)
    print("[]")
"""


def tgz(text: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in (("package/package.json", b"{}"), ("package/a.md", text.encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def integrity(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


class Registry:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages: dict[str, Any] = {}
        folder.mkdir()
        npm = folder / "npm"
        npm.write_text(NPM.format(python=sys.executable, home=str(folder)))
        npm.chmod(0o755)

    def publish(self, name: str, *versions: str, latest: str = "", **more: Any) -> None:
        made = {}
        for version in versions:
            file = self.folder / f"{len(self.packages)}-{version}.tgz"
            file.write_bytes(tgz(f"{name} {version}"))
            made[version] = {"file": str(file), "integrity": integrity(file.read_bytes())}
        self.packages[name] = {
            "tags": {"latest": latest or versions[-1], "next": versions[-1]},
            "versions": made,
            **more,
        }
        self.save()

    def save(self) -> None:
        (self.folder / "registry.json").write_text(json.dumps(self.packages))

    def calls(self) -> list[dict[str, Any]]:
        file = self.folder / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    registry = Registry(tmp_path / "npm")
    registry.publish("@scope/pack", "1.0.0", "1.2.0", "1.2.3", "2.0.0", "3.0.0-rc.1", latest="1.2.3")
    return registry


@pytest.fixture
def with_npm(registry: Registry, context: SourceContext) -> SourceContext:
    variables = {
        **context.environment.variables,
        "PATH": str(registry.folder),
        "npm_config_registry": "user's",
    }
    return replace(context, environment=replace(context.environment, variables=variables))


def locked(fetched: Fetched, **changes: Any) -> LockedPack:
    pin = LockedPack(
        "demo", PackKind.NPM, "", fetched.resolved, fetched.tree.digest, integrity=fetched.integrity
    )
    return replace(pin, **changes)


class TestVersions:
    @pytest.mark.parametrize(
        ("wanted", "chosen"),
        [
            ("", "1.2.3"),
            ("*", "1.2.3"),
            ("latest", "1.2.3"),
            ("next", "3.0.0-rc.1"),
            ("^1", "1.2.3"),
            ("1.0.x", "1.0.0"),
            (">=1", "2.0.0"),
            ("^3.0.0-0", "3.0.0-rc.1"),
            ("1.2.0", "1.2.0"),
            ("~1.2 || >=9", "1.2.3"),
        ],
    )
    def test_the_version_that_a_range_stands_for(
        self, wanted: str, chosen: str, source: Source, with_npm: SourceContext
    ) -> None:
        fetched = fetch(source("npm", "@scope/pack", version=wanted), with_npm, None)
        assert (fetched.version, fetched.resolved) == (chosen, f"@scope/pack@{chosen}")
        assert fetched.tree.read("a.md").decode() == f"@scope/pack {chosen}"
        assert set(fetched.tree.files) == {"package.json", "a.md"}

    def test_a_package_with_one_version_and_an_npm_that_answers_in_lists(
        self, registry: Registry, source: Source, with_npm: SourceContext
    ) -> None:
        registry.publish("one", "0.1.0", lists=True)
        assert fetch(source("npm", "one"), with_npm, None).version == "0.1.0"

    def test_no_version_lies_in_the_range(
        self, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        with refused("E-NPM-NO-VERSION", "^9", "1.2.3", status=5):
            fetch(source("npm", "@scope/pack", version="^9"), with_npm, None)

    def test_a_version_that_is_written_out_is_asked_for_alone(
        self, registry: Registry, source: Source, with_npm: SourceContext
    ) -> None:
        """Every start of npm takes half a second, and a list of all versions may be long."""
        assert fetch(source("npm", "@scope/pack", version=" 1.2.0 "), with_npm, None).version == "1.2.0"
        assert [call["arguments"][0] for call in registry.calls()] == ["view", "pack"]

    @pytest.mark.parametrize("silent", [False, True])
    def test_a_version_that_is_written_out_and_not_there(
        self, silent: bool, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        registry.packages["@scope/pack"]["silent"] = silent
        registry.save()
        with refused("E-NPM-NO-VERSION", "1.2.9", "1.2.3", status=5):
            fetch(source("npm", "@scope/pack", version="1.2.9"), with_npm, None)

    @pytest.mark.parametrize("wanted", ["nope", "file:../x", "git+https://example.invalid/x", "1.2.3 --x"])
    def test_a_text_that_is_neither_range_nor_tag(
        self, wanted: str, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        with refused("E-NPM-RANGE", status=3):
            fetch(source("npm", "@scope/pack", version=wanted), with_npm, None)
        assert all(wanted not in word for call in registry.calls() for word in call["arguments"])


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "",
            "--registry=x",
            "-g",
            "../x",
            "./x",
            "/x",
            "file:x",
            "https://example.invalid/x.tgz",
            "owner/repo",
            "@scope",
            "@scope/",
            "@/x",
            "name@1.0.0",
            "Upper",
            ".hidden",
            "_under",
            "a b",
            "a;b",
            "a$(b)",
            "x" * 215,
        ],
    )
    def test_npm_never_sees_what_is_no_name(
        self, name: str, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        with refused("E-NPM-NAME", status=3):
            fetch(source("npm", name), with_npm, None)
        assert not registry.calls()


class TestIntegrity:
    def test_the_integrity_is_that_of_the_downloaded_bytes(
        self, registry: Registry, source: Source, with_npm: SourceContext, blobs: Any
    ) -> None:
        fetched = fetch(source("npm", "@scope/pack"), with_npm, None)
        tarball = Path(registry.packages["@scope/pack"]["versions"]["1.2.3"]["file"]).read_bytes()
        assert fetched.integrity == integrity(tarball)
        assert tarball in blobs.data.values(), "the tarball is kept, so that it can be unpacked again"

    def test_bytes_that_the_registry_did_not_announce(
        self, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused, blobs: Any
    ) -> None:
        registry.packages["@scope/pack"]["versions"]["1.2.3"]["integrity"] = integrity(b"other")
        registry.save()
        with refused("E-PACK-INTEGRITY", "pack demo", "registry", status=5):
            fetch(source("npm", "@scope/pack"), with_npm, None)
        assert not blobs.data

    @pytest.mark.parametrize("stated", ["sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "", "sha512-AAAA"])
    def test_a_registry_without_a_sha512(
        self, stated: str, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        registry.packages["@scope/pack"]["versions"]["1.2.3"]["integrity"] = stated
        registry.save()
        with refused("E-NPM-NO-SHA512", "no sha512", status=4):
            fetch(source("npm", "@scope/pack"), with_npm, None)

    def test_the_locked_version_and_bytes_come_back(
        self, registry: Registry, source: Source, with_npm: SourceContext, blobs: Any
    ) -> None:
        first = fetch(source("npm", "@scope/pack", version="1.2.0"), with_npm, None)
        blobs.data.clear()
        again = fetch(source("npm", "@scope/pack", version="^1"), with_npm, locked(first))
        assert (again.version, again.tree.digest) == ("1.2.0", first.tree.digest)

    def test_a_version_that_was_published_anew_is_refused(
        self, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused, blobs: Any
    ) -> None:
        pin = locked(fetch(source("npm", "@scope/pack"), with_npm, None))
        blobs.data.clear()
        version = registry.packages["@scope/pack"]["versions"]["1.2.3"]
        Path(version["file"]).write_bytes(tgz("evil"))
        version["integrity"] = integrity(tgz("evil"))
        registry.save()
        with refused("E-PACK-INTEGRITY", "pack demo", "lock"):
            fetch(source("npm", "@scope/pack"), with_npm, pin)
        assert not blobs.data

    def test_the_store_is_enough(
        self, registry: Registry, source: Source, with_npm: SourceContext, blobs: Any
    ) -> None:
        want = source("npm", "@scope/pack")
        first = fetch(want, with_npm, None)
        asked = len(registry.calls())
        away = replace(with_npm, offline=True)
        assert fetch(want, away, locked(first)).version == "1.2.3"
        del blobs.data[first.tree.files["a.md"].digest]
        assert fetch(want, away, locked(first)).tree.read("a.md") == b"@scope/pack 1.2.3"
        assert len(registry.calls()) == asked

    @pytest.mark.parametrize(
        "changes",
        [
            {"resolved": "other@1.2.3"},
            {"resolved": "@scope/pack@latest"},
            {"resolved": "@scope/pack@1.2.3 --registry=x"},
            {"resolved": ""},
            {"integrity": ""},
            {"integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="},
        ],
    )
    def test_a_lock_of_something_else(
        self,
        changes: dict[str, str],
        source: Source,
        with_npm: SourceContext,
        refused: Refused,
        registry: Registry,
        blobs: Any,
    ) -> None:
        pin = locked(fetch(source("npm", "@scope/pack"), with_npm, None), **changes)
        blobs.data.clear()
        asked = len(registry.calls())
        with refused("E-PACK-LOCKED", status=5):
            fetch(source("npm", "@scope/pack"), with_npm, pin)
        assert len(registry.calls()) == asked


class TestHowNpmIsRun:
    def test_scripts_are_off_and_the_users_configuration_is_in_force(
        self, registry: Registry, source: Source, with_npm: SourceContext
    ) -> None:
        fetch(source("npm", "@scope/pack", version="^1"), with_npm, None)
        calls = registry.calls()
        assert [c["arguments"][c["arguments"].index("--") + 1] for c in calls] == [
            "@scope/pack",
            "@scope/pack@1.2.3",
            "@scope/pack@1.2.3",
        ]
        for call in calls:
            assert call["env"]["npm_config_ignore_scripts"] == "true"
            assert call["env"]["npm_config_registry"] == "user's"
            assert call["env"]["HOME"] == with_npm.environment.home
            assert call["cwd"].startswith(with_npm.cache)
        assert "--ignore-scripts" in calls[-1]["arguments"]

    def test_nothing_is_left_in_the_cache_but_the_note_of_the_download(
        self, source: Source, with_npm: SourceContext
    ) -> None:
        fetch(source("npm", "@scope/pack"), with_npm, None)
        assert os.listdir(with_npm.cache) == ["downloads"]

    def test_a_package_that_is_not_there(
        self, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        with refused("E-NPM-NOT-FOUND", "nope", status=5):
            fetch(source("npm", "nope"), with_npm, None)

    def test_an_npm_that_fails(
        self, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        registry.publish("bad", "1.0.0", broken=True)
        with refused("E-NPM-FAILED", "status 7", "npm error \N{REPLACEMENT CHARACTER}[31mbroken"):
            fetch(source("npm", "bad"), with_npm, None)

    def test_no_npm_on_path_names_the_other_ways(
        self, source: Source, context: SourceContext, tmp_path: Path
    ) -> None:
        bare = replace(context.environment, variables={"PATH": str(tmp_path)})
        with pytest.raises(Exception) as caught:
            fetch(source("npm", "@scope/pack"), replace(context, environment=bare), None)
        assert str(caught.value).startswith("E-NPM-ABSENT")
        assert all(way in caught.value.fix for way in ("archive", "path", "git"))  # type: ignore[attr-defined]  # a GsdlockError

    def test_offline(
        self, registry: Registry, source: Source, with_npm: SourceContext, refused: Refused
    ) -> None:
        with refused("E-OFFLINE", "pinned by neither", status=5):
            fetch(source("npm", "@scope/pack"), replace(with_npm, offline=True), None)
        assert not registry.calls()


@pytest.mark.network
def test_the_real_npm(source: Source, context: SourceContext) -> None:
    variables = {**os.environ}
    real = replace(context, environment=replace(context.environment, variables=variables))
    fetched = fetch(source("npm", "@opengsd/gsd-core", version="1.8.0"), real, None)
    assert fetched.resolved == "@opengsd/gsd-core@1.8.0"
    assert fetched.integrity == (
        "sha512-xgz8Er1/uAaWvIkTXBuNNbVO3d113H9dJUysHSz9yP9wCf57AEs7dLgWdaatPeLVDYTbtJEugkxSUBIscEsCrg=="
    )
    assert fetched.tree.digest == "sha256:3ba2a3e0d9cc86fc0774c37fff865c94c475203c830ab5c0c60702df3b2d09f8"


def test_a_version_that_the_users_own_npm_leaves_out_is_not_called_absent(
    registry: Registry, with_npm: SourceContext, source: Source, refused: Refused
) -> None:
    registry.publish("late", "1.0.0", before=True)
    with refused("E-NPM-FAILED", "your npm settings", "min-release-age", "date before 2015", status=5):
        fetch(source("npm", "late"), with_npm, None)


def test_the_users_own_npm_is_not_left_to_do_nothing(
    registry: Registry, with_npm: SourceContext, source: Source
) -> None:
    fetch(source("npm", "@scope/pack"), with_npm, None)
    assert {call["env"]["npm_config_dry_run"] for call in registry.calls()} == {"false"}


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(
    registry: Registry, with_npm: SourceContext, source: Source
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead, alive = (Path(with_npm.cache) / f"npm-{n}-x" for n in (ended.pid, os.getpid()))
    for folder in (dead, alive):
        folder.mkdir(parents=True)
        (folder / "package.json").write_text("{}")
    fetch(source("npm", "@scope/pack"), with_npm, None)
    assert sorted(Path(with_npm.cache).glob("npm-*")) == [alive]
