"""List what is in force: settings, rules of policy, dev-overrides; with --show-origin where each is from.

A flag is stronger than the project's gsdlock.toml, that stronger than your own, that stronger than what is
built in. A fault in any of them is an error: the next one never takes its place.

example: gsdlock config --show-origin
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .render import Outcome

if TYPE_CHECKING:
    from ..store.policy import Rule
    from .session import Session

_MEANING = (
    ("GSDLOCK_HOME", None),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_DATA_HOME", "data"),
    ("XDG_STATE_HOME", "state"),
    ("XDG_CACHE_HOME", "cache"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--show-origin", action="store_true", help="say where each value comes from")


def run(session: Session, options: argparse.Namespace) -> Outcome:
    """List what is in force. See the module's text.

    Raises `GsdlockError`: E-MANIFEST-…, E-LAYER-PROJECT, E-USER-FILE-…, E-POLICY-….
    """
    rows = [*_places(session), *_settings(session), *_rules(session), *_overrides(session)]
    width = max(len(_said(row)) for row in rows)
    lines = [
        f"{_said(row):<{width}}  {_origin(session, row)}" if options.show_origin else _said(row)
        for row in rows
    ]
    return Outcome(0, {"values": rows}, lines)


def _row(name: str, value: object, layer: str, origin: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "layer": layer, "origin": origin}


def _said(row: dict[str, Any]) -> str:
    import json

    return f"{row['name']} = {json.dumps(row['value'], ensure_ascii=False)}"


def _origin(session: Session, row: dict[str, Any]) -> str:
    """`(layer: origin)`, with paths below the home in their short form."""
    home = session.environment.home
    origin = str(row["origin"])
    if home is not None and home != "/" and origin.startswith(f"{home}/"):
        origin = f"~{origin[len(home) :]}"
    return f"({row['layer']}: {origin})" if origin else f"({row['layer']})"


def _places(session: Session) -> list[dict[str, Any]]:
    """Manifest, lock and our own folders, with the option or the variable that decided."""
    rows = []
    for name, option, path in (
        ("manifest", session.options.manifest, session.manifest_path),
        ("lock", session.options.lock, session.lock_path if session.manifest_path else None),
    ):
        if path is not None:
            rows.append(_row(name, path, *(("flag", f"--{name}") if option is not None else ("built in",))))
    variables = session.environment.variables
    for name, path in session.folders.items():
        given = next((v for v, n in _MEANING if n in (None, name) and variables.get(v, "").strip()), "")
        decided = given and path.startswith(variables[given].rstrip("/") + "/")
        rows.append(_row(f"{name}-folder", path, *(("environment", given) if decided else ("built in",))))
    return rows


def _settings(session: Session) -> list[dict[str, Any]]:
    return [_row(v.name, v.value, v.layer.value, v.origin) for v in session.settings.values()]


def _rules(session: Session) -> list[dict[str, Any]]:
    """The rules in force: both layers, since the stricter of the two speaks."""
    from .carrying import policy_of

    policy = policy_of(session)
    own = session.own.path if session.own is not None else ""
    rows = [_row(f"policy.{r.label}", _match(r), "user", own) for r in policy.user]
    return rows + [
        _row(f"policy.{r.label}", _match(r), "project", session.manifest.path) for r in policy.project
    ]


def _match(rule: Rule) -> dict[str, Any]:
    from ..store.policy import SPECIFICITY

    named = zip(SPECIFICITY, rule.match.values, strict=True)
    return {"match": {key: value for key, value in named if value is not None}, "action": rule.action.value}


def _overrides(session: Session) -> list[dict[str, Any]]:
    if session.own is None:
        return []
    path = session.own.path
    return [_row(f"dev-overrides.{n}", p, "user", path) for n, p in session.own.overrides.items()]
