"""Trees made of texts, and what is read from them as a pack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from gsdlock.capabilities.canonical import sha256_digest
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.capabilities.model import Feature
from gsdlock.capabilities.validation import load_capability
from gsdlock.resolver.pack import Pack, Tree, TreeFile
from gsdlock.resolver.packs import read_pack


def tree(files: Mapping[str, str]) -> Tree:
    data = {path: text.encode() for path, text in files.items()}
    listing = {path: TreeFile(sha256_digest(d), 0o644, len(d)) for path, d in sorted(data.items())}
    return Tree("sha256:" + "0" * 64, listing, lambda path: data[path])


def descriptor(id_: str = "greet", **changes: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "role": "feature",
        "title": "Greet",
        "description": "Says hello.",
        "tier": "standard",
        "version": "1.2.0",
        "requires": [],
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [],
        "agents": [],
        "config": {},
        **changes,
    }


def feature(id_: str, **changes: Any) -> Feature:
    made = load_capability(descriptor(id_, **changes))
    assert isinstance(made, Feature)
    return made


def read(files: Mapping[str, str], version: str = "", known: Mapping[str, Feature] | None = None) -> Pack:
    return read_pack("demo", version, tree(files), known or {})


def listed(pack: Pack) -> dict[str, str]:
    """`kind/stem` -> owner."""
    return {f"{a.kind}/{a.stem}": a.feature for a in pack.artifacts}


def refusal(files: Mapping[str, str], known: Mapping[str, Feature] | None = None) -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        read(files, known=known)
    assert caught.value.status == 3
    return caught.value
