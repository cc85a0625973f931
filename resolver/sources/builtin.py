"""A pack that comes with gsdlock."""

from __future__ import annotations

import os

from ...capabilities.errors import GsdlockError, input_error, shown
from ...lockfiles.model import LockedPack
from .base import Gathered, PackSource, SourceContext
from .path import read_folder

# The packs by name. Of `capabilities/` only these are packs; its other folders are descriptors.
BUILTIN_PACKS = ("starter",)


def gather(source: PackSource, context: SourceContext, locked: LockedPack | None) -> Gathered:
    """The files of the pack. Raises E-BUILTIN-UNKNOWN.

    Executable is what begins with `#!`: an installed package does not keep the bit everywhere.
    """
    if source.spec not in BUILTIN_PACKS:
        raise _unknown(source)
    folder = os.path.join(context.builtin or _package_folder(), source.spec)
    builder = read_folder(folder, source.subject, context.limits, by_shebang=True)
    return Gathered(builder.contents, resolved=source.spec)


def _package_folder() -> str:
    from ... import capabilities

    return os.path.dirname(os.path.abspath(capabilities.__file__))


def _unknown(source: PackSource) -> GsdlockError:
    return input_error(
        "E-BUILTIN-UNKNOWN",
        f"{source.subject}: gsdlock comes with no pack {shown(source.spec)}",
        f"Use one of: {', '.join(BUILTIN_PACKS)}.",
    )
