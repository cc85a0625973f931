"""The reference installer: fetched with npm by a pinned digest, and run in scratch homes.

Which packages, in which version and with which sha512, is `reference.json`. They are fetched once into a
cache folder (`GSDLOCK_TEST_CACHE`, else `.cache/conformance` in the checkout) with the user's own npm client,
and unpacked there; what does not have the pinned digest is refused. Node comes the same way, because the
reference asks for version 24 and the machine may have another.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

HERE = Path(__file__).parent
PINS: dict[str, Any] = json.loads((HERE / "reference.json").read_text("utf-8"))
_NPM_MINUTES = 10


class Unavailable(Exception):
    """This machine cannot run the reference at all; the message says why."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The unpacked installers by their names in `reference.json`, and the folder of the Node for them."""

    packages: dict[str, Path]
    node: Path

    def installs(self, runtime: str) -> bool:
        """Whether there is a flag for that runtime. The reference takes an unknown flag for claude's."""
        return runtime not in PINS["withoutInstaller"]

    def package(self, runtime: str) -> Path:
        """The package that installs that runtime: its installer and its content."""
        return self.packages[PINS["installerOf"].get(runtime, "gsd")]


@dataclass(frozen=True, slots=True)
class Homes:
    """A scratch home and a scratch project folder beside it."""

    home: Path
    project: Path

    @classmethod
    def below(cls, folder: Path) -> Homes:
        """Two new folders."""
        made = cls(folder / "home", folder / "proj")
        made.home.mkdir(parents=True)
        made.project.mkdir()
        return made


def fetched() -> Reference:
    """The reference, from the cache folder or fetched into it.

    Raises `Unavailable` where there is no npm, or no pinned Node for this platform.
    """
    if shutil.which("npm") is None:
        raise Unavailable("npm is not on this machine, and the reference installer comes with npm")
    here = f"{platform.system().lower()}-{platform.machine()}"
    if here not in PINS["node"]:
        raise Unavailable(f"no Node 24 is pinned for {here} in reference.json")
    packages = {name: package(pin) for name, pin in PINS["installers"].items()}
    return Reference(packages, package(PINS["node"][here]) / "bin")


def package(pin: dict[str, str]) -> Path:
    """The folder of one unpacked package, from the cache folder or fetched into it."""
    default = HERE.parents[1] / ".cache/conformance"
    cache = Path(os.environ.get("GSDLOCK_TEST_CACHE") or default)
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / "lock"):
        return _package(pin, cache)


def _package(pin: dict[str, str], cache: Path) -> Path:
    """The folder of one unpacked package. It stands under its digest and is complete once it is there."""
    digest = base64.b64decode(pin["integrity"].removeprefix("sha512-"))
    folder = cache / digest.hex()[:32]
    if folder.is_dir():
        return folder / "package"
    download, unpacked = cache / "download", cache / "unpacked"
    for old in (download, unpacked):
        shutil.rmtree(old, ignore_errors=True)
        old.mkdir()
    spec = f"{pin['package']}@{pin['version']}"
    done = subprocess.run(
        ["npm", "pack", "--silent", "--cache", cache / "npm", "--pack-destination", download, spec],
        cwd=download,
        capture_output=True,
        encoding="utf-8",
        timeout=60 * _NPM_MINUTES,
        check=False,
    )
    assert done.returncode == 0, f"npm pack {spec} failed:\n{done.stdout}{done.stderr}"
    (archive,) = download.glob("*.tgz")
    found = hashlib.sha512(archive.read_bytes()).digest()
    assert found == digest, f"{spec}: what npm brought is not what reference.json pins"
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    unpacked.rename(folder)
    return folder / "package"


def install(reference: Reference, runtime: str, scope: str, homes: Homes) -> None:
    """Run the reference for one runtime and scope, with nothing of this machine's environment.

    It ends with status 0 and writes nothing where it does not support the scope.
    """
    installer = reference.package(runtime) / "bin/install.js"
    done = subprocess.run(
        [reference.node / "node", installer, f"--{runtime}", f"--{scope}"],
        cwd=homes.project,
        env={"HOME": str(homes.home), "PATH": search_path(reference)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"the reference, {runtime} {scope}:\n{done.stdout}{done.stderr}"


def search_path(reference: Reference) -> str:
    """The PATH for both sides: the pinned Node first."""
    return f"{reference.node}:{os.environ['PATH']}"
