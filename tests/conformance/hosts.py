"""What a host would refuse, or drop without a word, of an installed target. The rules are `hosts.json`.

Every SKILL.md, agent, command and file of hooks or settings is read with a real parser of its format and held
against the rules of its host; every script that a hook names has to be there.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from .ours import files
from .parity import HERE, Places, Target
from .reference import Homes

RULES: dict[str, Any] = json.loads((HERE / "hosts.json").read_text("utf-8"))
_BLOCK = re.compile(r"---\n(.*?)\n---(?:\n|\Z)", re.DOTALL)
_KINDS: Mapping[str, type] = {"mapping": dict, "list": list, "text": str}
_PARSERS: Mapping[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".yaml": yaml.safe_load,
}
# A script below a folder of hooks, as a command names it: absolute, from $HOME, or relative to the project.
_SCRIPT = re.compile(r"""[^\s"']*hooks/[\w./-]+\.(?:js|cjs|sh|py)""")


def faults_of(target: Target, homes: Homes) -> list[str]:
    """What the host of a target would not take, one sentence each."""
    places = Places(target, homes)
    found: list[str] = []
    for top, folder in (("home", homes.home), ("proj", homes.project)):
        for path, file in sorted(files(folder).items()):
            where = f"{top}/{path}"
            if file.suffix in (".md", ".toml", ".yaml", ".json"):
                faults = _faults_of_file(target.runtime.id, places.kind(where), where, file)
                found += [f"{where}: {fault}" for fault in faults]
    return found + list(_missing_scripts(target, homes))


def _faults_of_file(runtime: str, kind: str, where: str, file: Path) -> Iterator[str]:
    data = file.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        yield "it is not UTF-8"
        return
    if text.startswith("\ufeff"):
        yield "it begins with a byte order mark"
    if kind == "skills" and file.name == "SKILL.md":
        yield from _skill(file, text)
    elif kind == "agents":
        yield from _agent(runtime, file, text)
    elif kind == "commands":
        yield from _command(runtime, file, text)
    elif kind in ("config", "hooks") and file.suffix in _PARSERS:
        yield from _settings(runtime, where, file, text)


def front_matter(text: str) -> tuple[Any, str]:
    """The front matter by a strict YAML parser, and the body. Raises `ValueError` where there is none or it
    is no mapping, and `yaml.YAMLError`."""
    match = _BLOCK.match(text)
    if match is None:
        raise ValueError("there is no front matter on line 1")
    value = yaml.safe_load(match[1])
    if not isinstance(value, dict):
        raise ValueError("the front matter is no mapping")
    return value, text[match.end() :]


def _skill(file: Path, text: str) -> Iterator[str]:
    rules = RULES["skills"]
    try:
        given, body = front_matter(text)
    except (ValueError, yaml.YAMLError) as error:
        yield str(error)
        return
    name, description = given.get("name"), given.get("description")
    if not isinstance(name, str) or not re.fullmatch(rules["name"], name):
        yield f"the name {name!r} is not one for every host"
    # Below a router of a nested layout a folder has the stem, and the name its prefix.
    elif name != file.parent.name and not (
        file.parents[1].name == "skills" and name.endswith(file.parent.name)
    ):
        yield f"the name {name!r} is not that of the folder"
    if not isinstance(description, str) or not description.strip():
        yield "there is no description"
    elif len(description) > rules["descriptionAtMost"]:
        yield f"the description has {len(description)} characters"
    if not body.strip():
        yield "it is empty"


def held_against(rules: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Required and unknown keys, the kind of a value, and its members."""
    for key in rules.get("required", ()):
        if not isinstance(given.get(key), str) or not given[key].strip():
            yield f"{key} is missing, empty or no text"
    for key in sorted(set(given) - set(rules.get("only", given))):
        yield f"the host does not know the key {key}"
    for key, kind in rules.get("kinds", {}).items():
        if key in given and not isinstance(given[key], _KINDS[kind]):
            yield f"{key} is no {kind}"
    if "name" in rules and not re.fullmatch(rules["name"], str(given.get("name"))):
        yield f"the name {given.get('name')!r} is not one for this host"
    for key, allowed in rules.get("values", {}).items():
        for value in _members(given.get(key)):
            if not (re.fullmatch(allowed, str(value)) if isinstance(allowed, str) else value in allowed):
                yield f"{key} does not take {value!r}"


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [] if value is None else [value]


def _agent(runtime: str, file: Path, text: str) -> Iterator[str]:
    if file.suffix == ".toml":
        yield from _parsed(tomllib.loads, text, RULES["agentToml"])
        return
    if file.suffix == ".yaml":
        yield from _kimi_agent(file, text)
        return
    # The prompts of a tree of YAML agents have no front matter.
    if file.with_suffix(".yaml").exists():
        return
    rules = RULES["agents"].get(runtime, RULES["agents"]["default"])
    try:
        given, body = front_matter(text)
    except (ValueError, yaml.YAMLError) as error:
        yield str(error)
        return
    yield from held_against(rules, given)
    if len(body.strip()) < rules.get("body", 0):
        yield "there is no body"


def _parsed(parse: Callable[[str], Any], text: str, rules: Mapping[str, Any]) -> Iterator[str]:
    try:
        yield from held_against(rules, parse(text))
    except ValueError as error:
        yield str(error)


def _kimi_agent(file: Path, text: str) -> Iterator[str]:
    """An agent of Kimi's older client: what it names has to be there."""
    try:
        data = yaml.safe_load(text)
        agent = data["agent"]
        named = [agent["system_prompt_path"], *(s["path"] for s in agent.get("subagents", {}).values())]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        yield f"it is no agent: {error!r}"
        return
    if data.get("version") != 1:
        yield "the version is not 1"
    for path in named:
        if not (file.parent / path).is_file():
            yield f"{path} is not there"


def _command(runtime: str, file: Path, text: str) -> Iterator[str]:
    rules = RULES["commands"].get(runtime, RULES["commands"]["default"])
    if len(text.encode()) > rules.get("bytesAtMost", len(text.encode())):
        yield "it is too long"
    if file.suffix == ".toml":
        yield from _parsed(tomllib.loads, text, rules)
    elif rules["front matter"]:
        try:
            given, _ = front_matter(text)
        except (ValueError, yaml.YAMLError) as error:
            yield str(error)
            return
        if not isinstance(given.get("description"), str):
            yield "there is no description"


def _settings(runtime: str, where: str, file: Path, text: str) -> Iterator[str]:
    try:
        data = _PARSERS[file.suffix](text)
    except (ValueError, yaml.YAMLError) as error:
        yield str(error)
        return
    rules = RULES["hooks"].get(runtime)
    if rules is None or not any(fnmatchcase(where, p) for p in rules["files"]):
        return
    for key in sorted(set(data) - set(rules.get("top", data))):
        yield f"the host does not know {key} at the top"
    hooks = data.get("hooks", {})
    if rules["shape"] == "table":
        hooks = {}
        for entry in data.get("hooks", []):
            hooks.setdefault(entry.get("event"), []).append(entry)
    for event, entries in hooks.items():
        if event not in rules["events"]:
            yield f"the host has no event {event}"
        for entry in entries:
            yield from _entry(rules, event, entry)


def _entry(rules: Mapping[str, Any], event: str, entry: Mapping[str, Any]) -> Iterator[str]:
    inner = entry.get("hooks") if rules["shape"] == "group" else [entry]
    if not isinstance(inner, list) or not inner:
        yield f"{event}: an entry without hooks"
        return
    if not isinstance(entry.get("matcher", ""), str):
        yield f"{event}: the matcher is no text"
    for hook in inner:
        command = hook.get("bash" if rules["shape"] == "inline" else "command")
        if not isinstance(command, str) or not command.strip():
            yield f"{event}: a hook without a command"
        if rules["shape"] in ("group", "inline") and hook.get("type") != "command":
            yield f"{event}: a hook without a type"
        for key in sorted(set(hook) - set(rules.get("entry", hook))):
            yield f"{event}: the host does not know {key}"
        timeout = hook.get("timeout", hook.get("timeoutSec"))
        if timeout is not None and not isinstance(timeout, int):
            yield f"{event}: the timeout is no number"
        elif timeout is not None and not (
            rules.get("timeoutAtLeast", 0) <= timeout <= rules.get("timeoutAtMost", timeout)
        ):
            yield f"{event}: a timeout of {timeout}"


def _missing_scripts(target: Target, homes: Homes) -> Iterator[str]:
    """The scripts that a file of settings names and that are not there, or are no files that can be read."""
    places = Places(target, homes)
    for top, folder in (("home", homes.home), ("proj", homes.project)):
        for path, file in sorted(files(folder).items()):
            if places.kind(f"{top}/{path}") not in ("config", "hooks") or file.suffix not in _PARSERS:
                continue
            for name in sorted(set(_SCRIPT.findall(file.read_text("utf-8")))):
                # Behind a variable or a substitution, which a quote closes: `"$DIR"/.x/hooks/y`.
                relative = homes.project / name.lstrip("/")
                absolute = Path(name.replace("$HOME", str(homes.home)))
                if not relative.is_file() and not absolute.is_file():
                    yield f"{top}/{path}: it names {name}, which is not there"
