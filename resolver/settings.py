"""Settings in layers: a flag over the project's file over the user's file over what is built in. Pure.

A project's file comes with somebody's repository. So a setting that says whom or what to trust stands in the
user's file only, and one that guards something a project may only switch on.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..capabilities.tables import Table
from ..capabilities.words import Words


class SettingLayer(Words):
    """Where a value comes from, the strongest first."""

    FLAG = "flag"
    PROJECT = "project"
    USER = "user"
    BUILT_IN = "built in"


class ProjectMay(Words):
    """What a project's file may say of a setting: any value, only to switch it on, or nothing."""

    SAY = "say"
    SWITCH_ON = "switch on"
    NOTHING = "nothing"


class Setting(Struct, frozen=True):
    """One setting. `built_in` is its value without any file; its type is the type of the setting: a boolean,
    or a string that is a full path (`~/…` allowed). `table` is where it stands in a manifest."""

    name: str
    built_in: bool | str
    project: ProjectMay
    table: str = "settings"


SETTINGS = (
    Setting("offline", False, ProjectMay.SWITCH_ON),
    Setting("progress", True, ProjectMay.SAY),
    Setting("allowed-signers", "", ProjectMay.NOTHING),
    Setting("signing-key", "", ProjectMay.NOTHING),
    Setting("require-signature", False, ProjectMay.SWITCH_ON, "policy"),
)


class Value(Struct, frozen=True):
    """A setting in force. `origin` is the option or the path of the file that says so, empty for built in."""

    name: str
    value: bool | str
    layer: SettingLayer
    origin: str = ""


def read_settings(
    tables: Mapping[str, Table | None], *, of_user: bool, user_file: str
) -> tuple[dict[str, bool | str], list[str]]:
    """The settings that a manifest has, by name, and what a project's file says that only `user_file` may.

    `tables` are its tables by name (None: it is not there); faults of shape go to them.
    """
    found: dict[str, bool | str] = {}
    beyond: list[str] = []
    for setting in SETTINGS:
        table = tables.get(setting.table)
        if table is None or not table.has(setting.name):
            if table is not None:
                table.raw(setting.name)  # known, so that a misspelt one is compared with it
            continue
        value = _value(setting, table)
        if not of_user and setting.project is ProjectMay.NOTHING:
            beyond.append(f"{table.at}.{setting.name}: only your own file may say this: {user_file}")
        elif not of_user and setting.project is ProjectMay.SWITCH_ON and table.raw(setting.name) is False:
            beyond.append(
                f"{table.at}.{setting.name}: a project may only switch it on; off belongs into {user_file}"
            )
        found[setting.name] = value
    return found, beyond


def read_overrides(table: Table, *, home: str | None) -> dict[str, str]:
    """The folders of `[dev-overrides]` by the name of the pack; an empty one is no override."""
    found = {}
    for name in table.names():
        if table.raw(name) == "":
            continue
        path = table.string(name)
        full = _full(path, home)
        if path and full is None:
            table.fault(name, "must be a full path, or one that begins with ~/")
        found[name] = full or path
    return found


def effective(
    flags: Mapping[str, bool], layers: Sequence[tuple[SettingLayer, str, Mapping[str, bool | str]]]
) -> dict[str, Value]:
    """Every setting with its value in force, by name.

    `flags` are options that were given, by the name of the setting; `layers` are (layer, path of its file,
    its settings), the strongest first.
    """
    values = {}
    for setting in SETTINGS:
        value = Value(setting.name, setting.built_in, SettingLayer.BUILT_IN)
        if setting.name in flags:
            option = f"--{setting.name}" if flags[setting.name] else f"--no-{setting.name}"
            value = Value(setting.name, flags[setting.name], SettingLayer.FLAG, option)
        else:
            for layer, path, said in layers:
                if setting.name in said:
                    value = Value(setting.name, said[setting.name], layer, path)
                    break
        values[setting.name] = value
    return values


def expanded(path: str, home: str | None) -> str:
    """A path setting as a full path; empty stays empty."""
    return _full(path, home) or path


def _value(setting: Setting, table: Table) -> bool | str:
    if isinstance(setting.built_in, bool):
        return table.boolean(setting.name, setting.built_in)
    path = table.string(setting.name)
    if path and not path.startswith(("/", "~/")) and not os.path.isabs(path):
        table.fault(setting.name, "must be a full path, or one that begins with ~/")
    return path


def _full(path: str, home: str | None) -> str | None:
    if path.startswith("~/"):
        return None if home is None else os.path.normpath(f"{home}/{path[2:]}")
    return os.path.normpath(path) if os.path.isabs(path) else None
