"""One pack on one target, as the converters want to know it."""

from __future__ import annotations

from msgspec.structs import replace

from ..capabilities.gsd_layout import load_gsd_layout
from ..capabilities.model import Runtime
from .converters import CATALOG_PATH, ConvertContext, payload_text, read_catalog, read_phrases, read_rights
from .pack import ArtifactKind, Pack, PackLayout


def pack_context(runtime: Runtime, scope: str, pack: Pack) -> ConvertContext:
    """What conversions of this pack on this target have in common; `artifact_context` names an artifact."""
    catalog = read_catalog(pack.tree.read(CATALOG_PATH)) if CATALOG_PATH in pack.tree.files else {}
    own = pack.layout is PackLayout.GSD

    def read(path: str) -> str | None:
        """A text of a GSD pack; None where it has none of that path."""
        if not own or path not in pack.tree.files:
            return None
        return pack.tree.read(path).decode("utf-8", errors="replace")

    return ConvertContext(
        runtime=runtime,
        scope=scope,
        stem="",
        name="",
        stems=frozenset(a.stem for a in pack.artifacts if a.kind is not ArtifactKind.AGENT),
        agents=frozenset(a.stem for a in pack.artifacts if a.kind is ArtifactKind.AGENT),
        version=pack.version,
        release=release(pack),
        catalog=catalog,
        phrases=read_phrases(read),
        rights=read_rights(read),
    )


def release(pack: Pack) -> str:
    """The release of a GSD pack that rules are checked against; empty where it says none."""
    former = load_gsd_layout().former_folder
    return "0.0.0" if any(p.startswith(former) for p in pack.tree.files) else pack.version


def artifact_context(
    context: ConvertContext, stem: str, name: str, children: frozenset[str] = frozenset()
) -> ConvertContext:
    """`context` for one artifact: `name` is its final name, `children` the skills nested below it."""
    return replace(context, stem=stem, name=name, children=children)


def payload_bytes(context: ConvertContext, path: str, data: bytes, *, shipped: bool = False) -> bytes:
    """One file of the payload as the host gets it; what is no UTF-8 text stays as it is. `shipped` as in
    `payload_text`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    told = payload_text(context, path, text, shipped=shipped)
    return data if told is text else told.encode("utf-8")
