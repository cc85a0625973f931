"""The closed sets agree with one another."""

from __future__ import annotations

from gsdlock.capabilities import vocabulary as words
from gsdlock.capabilities import word_sets as sets


def test_there_are_59_host_behaviors_and_the_retired_one_is_not_among_them() -> None:
    assert len(sets.HOST_BEHAVIORS) == 59
    assert not sets.HOST_BEHAVIORS & sets.REMOVED_HOST_BEHAVIORS.keys()


def test_every_install_surface_says_which_hooks_and_which_format_go_with_it() -> None:
    assert set(words.SURFACE_HOOKS) == set(words.SURFACE_FORMAT) == set(words.InstallSurface)
    assert set().union(*words.SURFACE_HOOKS.values()) == set(words.HooksSurface)


def test_every_extended_event_belongs_to_a_dialect() -> None:
    assert set(words.EVENT_DIALECT) == set(words.ExtendedHookEvent)
    assert set(words.EVENT_DIALECT.values()) == set(words.HookEvents)


def test_every_point_of_the_loop_belongs_to_a_step_with_roles() -> None:
    assert len(sets.LOOP_POINTS) == len(set(sets.LOOP_POINTS)) == 12
    assert {p.split(":")[0] for p in sets.LOOP_POINTS} == set(sets.LOOP_ROLES)
    assert set(sets.LOOP_ARTIFACTS.values()) <= set(sets.LOOP_POINTS)


def test_tiers_have_an_order() -> None:
    assert sorted(words.Tier, key=words.TIER_RANK.__getitem__) == ["core", "standard", "full"]
