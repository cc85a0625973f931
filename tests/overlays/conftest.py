"""The scratch machine of the command line's tests, with overlays written into it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/overlays"

NAME = "gsdlock_scratch_machine"


def _machine_class() -> Any:
    """`Machine` of tests/cli/conftest.py. `tests` is no package, so the file is loaded by its place."""
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(NAME, ROOT / "tests/cli/conftest.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
    return sys.modules[NAME].Machine


def _make_importable(name: str) -> None:
    """Let `from faults.kit import …` work. `tests` is no package, and pytest puts nothing on the path."""
    if name not in sys.modules:
        folder = ROOT / "tests" / name
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


_make_importable("faults")


@pytest.fixture
def machine(tmp_path: Path) -> Any:
    made = _machine_class()(tmp_path)
    made.home.mkdir()
    made.project.mkdir()
    return made


def feature_data(id_: str = "tides", **fields: Any) -> dict[str, Any]:
    """The descriptor of a small feature."""
    return {
        "id": id_,
        "role": "feature",
        "title": "Tides",
        "description": "Tide tables.",
        "tier": "core",
        "version": "1.0.0",
        "requires": [],
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [id_],
        "agents": [f"{id_}-pilot"],
        "hooks": [{"event": "Stop", "script": "hooks/ebb.sh"}],
        "config": {},
        **fields,
    }


def write_feature(folder: Path, **fields: Any) -> Path:
    """A feature bundle in `folder`, with every file that its descriptor names."""
    data = feature_data(**fields)
    for stem in data["skills"]:
        place = folder / "skills" / stem
        place.mkdir(parents=True, exist_ok=True)
        (place / "SKILL.md").write_text(f"---\nname: {stem}\ndescription: Tells the tides.\n---\nLook.\n")
    for stem in data["agents"]:
        (folder / "agents").mkdir(exist_ok=True)
        (folder / f"agents/{stem}.md").write_text(f"---\nname: {stem}\ndescription: Steers.\n---\nSteer.\n")
    for hook in data["hooks"]:
        script = folder / hook["script"]
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text("#!/bin/sh\necho ebb\n")
    (folder / "capability.json").write_text(json.dumps(data))
    return folder


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    """A feature with a skill, an agent and a hook."""
    folder = tmp_path / "bundles/tides"
    folder.mkdir(parents=True)
    return write_feature(folder)


def digest_of(machine: Any, source: str) -> str:
    """The digest that `show` prints of a bundle."""
    return str(machine.ok("overlay", "show", source, "--json").data["overlay"]["digest"])


def install(machine: Any, source: str, *more: str) -> str:
    """Add an overlay with consent to what it is now; its digest."""
    digest = digest_of(machine, source)
    machine.ok("overlay", "add", source, "--consent", digest, *more)
    return digest


def trust(machine: Any, id_: str) -> str:
    """Consent to what this project declares, as it is now; its digest."""
    digest = digest_of(machine, id_)
    machine.ok("overlay", "trust", id_, "--consent", digest)
    return digest
