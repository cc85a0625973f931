"""Settings in layers: which value holds, where it comes from, and what a project's file may not say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from gsdlock.capabilities.environment import Environment, Folders
from gsdlock.capabilities.errors import GsdlockError
from gsdlock.resolver.manifest import Manifest, read_manifest
from gsdlock.resolver.settings import SETTINGS, SettingLayer, Value, effective
from hypothesis import given
from hypothesis import strategies as st

USER, PROJECT = "/home/u/.config/gsdlock/gsdlock.toml", "/p/gsdlock.toml"
ENVIRONMENT = Environment(
    variables={},
    home="/home/u",
    cwd="/p",
    platform="linux",
    user_id=1000,
    folders=Folders("/home/u/.config/gsdlock", "/d", "/s", "/c"),
    now=lambda: "",
)


def read(text: str, path: str = USER) -> Manifest:
    return read_manifest(text.encode(), path, ENVIRONMENT)


def refusal(text: str, path: str) -> GsdlockError:
    with pytest.raises(GsdlockError) as caught:
        read(text, path)
    return caught.value


def test_the_users_file_may_say_everything() -> None:
    manifest = read(
        """
        [settings]
        offline = false
        progress = false
        allowed-signers = "~/.ssh/allowed_signers"
        signing-key = "/keys/mine"
        [policy]
        require-signature = false
        [policy.hooks]
        match = {}
        action = "ask"
        [dev-overrides]
        gsd = "~/src/../src/gsd"
        other = "/src/other"
        empty = ""
        """
    )
    assert manifest.settings == {
        "offline": False,
        "progress": False,
        "allowed-signers": "~/.ssh/allowed_signers",
        "signing-key": "/keys/mine",
        "require-signature": False,
    }
    assert manifest.overrides == {"gsd": "/home/u/src/gsd", "other": "/src/other"}
    assert list(manifest.policy) == ["hooks"]


BEYOND = [
    ('[settings]\nallowed-signers = "/x"', "settings.allowed-signers"),
    ('[settings]\nsigning-key = "/x"', "settings.signing-key"),
    ("[settings]\noffline = false", "settings.offline"),
    ("[policy]\nrequire-signature = false", "policy.require-signature"),
    ('[dev-overrides]\ngsd = "/x"', "dev-overrides"),
]


@pytest.mark.parametrize(("text", "key"), BEYOND, ids=[key for _, key in BEYOND])
def test_a_projects_file_may_not(text: str, key: str) -> None:
    fault = refusal(text, PROJECT)
    assert (fault.code, fault.status, fault.where) == ("E-LAYER-PROJECT", 4, PROJECT)
    (line,) = fault.details
    assert line.startswith(f"{key}: ") and USER in line
    assert read(text).of_user


@pytest.mark.parametrize(
    "text",
    ["[settings]\noffline = true", "[settings]\nprogress = false", "[policy]\nrequire-signature = true"],
)
def test_a_projects_file_may_be_stricter(text: str) -> None:
    assert len(read(text, PROJECT).settings) == 1


FAULTS = [
    ("[settings]\noffline = 1", "settings.offline: must be true or false"),
    ("[settings]\nofline = true", "settings.ofline: is not known here (did you mean offline?)"),
    ('[settings]\nallowed-signers = "signers"', "settings.allowed-signers: must be a full path"),
    ("[settings]\nsigning-key = []", "settings.signing-key: must be a string"),
    ('[policy]\nrequire-signature = "yes"', "policy.require-signature: must be true or false"),
    ('[dev-overrides]\ngsd = "src"', "dev-overrides.gsd: must be a full path"),
    ("[dev-overrides]\ngsd = 1", "dev-overrides.gsd: must be a string"),
    ("settings = 1", "settings: must be a table"),
]


@pytest.mark.parametrize(("text", "says"), FAULTS, ids=[f[1] for f in FAULTS])
@pytest.mark.parametrize(("path", "layer"), [(USER, "your own file"), (PROJECT, "a project's file")])
def test_40_a_fault_names_file_layer_and_key(text: str, says: str, path: str, layer: str) -> None:
    fault = refusal(text, path)
    assert fault.code == "E-MANIFEST-INVALID"
    assert path in fault.what and layer in fault.what
    assert any(line.startswith(says) for line in fault.details), fault.details


def test_all_faults_of_a_projects_file_come_at_once() -> None:
    text = '[settings]\noffline = 1\nsigning-key = "/x"\n[dev-overrides]\ngsd = "/x"'
    assert len(refusal(text, PROJECT).details) == 3


def test_the_strongest_layer_that_says_something_wins() -> None:
    project = (SettingLayer.PROJECT, PROJECT, {"offline": True})
    said: dict[str, bool | str] = {"offline": False, "progress": False, "signing-key": "/k"}
    user = (SettingLayer.USER, USER, said)
    values = effective({"progress": False}, [project, user])
    assert values == {
        "offline": Value("offline", True, SettingLayer.PROJECT, PROJECT),
        "progress": Value("progress", False, SettingLayer.FLAG, "--no-progress"),
        "allowed-signers": Value("allowed-signers", "", SettingLayer.BUILT_IN),
        "signing-key": Value("signing-key", "/k", SettingLayer.USER, USER),
        "require-signature": Value("require-signature", False, SettingLayer.BUILT_IN),
    }


SAID = st.dictionaries(st.sampled_from([s.name for s in SETTINGS]), st.booleans())


@given(SAID, SAID, SAID)
def test_every_setting_has_exactly_one_value_and_its_origin_says_it(
    flags: Mapping[str, bool], project: Mapping[str, bool], user: Mapping[str, bool]
) -> None:
    layers = [(SettingLayer.PROJECT, PROJECT, project), (SettingLayer.USER, USER, user)]
    values = effective(flags, layers)
    assert list(values) == [s.name for s in SETTINGS]
    said = {SettingLayer.FLAG: flags, SettingLayer.PROJECT: project, SettingLayer.USER: user}
    for setting in SETTINGS:
        value = values[setting.name]
        stronger = [layer for layer in said if setting.name in said[layer]]
        assert value.layer is (stronger[0] if stronger else SettingLayer.BUILT_IN)
        assert value.value == (said[value.layer][setting.name] if stronger else setting.built_in)
        assert bool(value.origin) is (value.layer is not SettingLayer.BUILT_IN)
