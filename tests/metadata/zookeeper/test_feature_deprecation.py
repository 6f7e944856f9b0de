"""Levels go out of use as brokers drop them."""

from hypothesis import given
from hypothesis import strategies as st
from zookeeper_features import STATES, SUPPORTED, finalized, ranges

from falkirk.metadata.zookeeper.feature_deprecation import highest_minimum, raise_minimums
from falkirk.metadata.zookeeper.finalized_features import DISABLED, incompatibilities

BROKERS = st.dictionaries(st.integers(0, 4), SUPPORTED)


def test_one_broker_that_drops_a_level_is_enough():
    brokers = {1: ranges(a=(1, 3), b=(1, 1)), 2: ranges(a=(2, 3), b=(1, 1))}
    assert raise_minimums(finalized(a=(1, 3), b=(1, 1)), brokers) == finalized(a=(2, 3), b=(1, 1))


def test_a_minimum_does_not_fall_when_the_broker_that_raised_it_is_gone():
    state = finalized(a=(2, 3))
    assert raise_minimums(state, {1: ranges(a=(1, 3))}) is state
    assert raise_minimums(state, {}) is state


def test_a_broker_that_cannot_run_with_what_is_finalized_does_not_count():
    state = finalized(a=(1, 3), b=(1, 1))
    assert raise_minimums(state, {1: ranges(a=(4, 4), b=(1, 1)), 2: ranges(a=(2, 3))}) is state


def test_a_minimum_does_not_get_above_the_maximum():
    assert raise_minimums(finalized(a=(1, 2)), {1: ranges(a=(2, 4))}) == finalized(a=(2, 2))


def test_a_disabled_cluster_has_nothing_to_raise():
    assert raise_minimums(DISABLED, {1: ranges(a=(2, 4))}) is DISABLED


def test_a_feature_that_nobody_knows_begins_at_1():
    assert highest_minimum("a", [ranges(b=(2, 3)), {}]) == 1
    assert highest_minimum("a", [ranges(a=(2, 3)), ranges(a=(3, 3)), {}]) == 3


@given(STATES, BROKERS)
def test_deprecation_raises_minimums_as_far_as_compatible_brokers_have_dropped_levels_and_changes_nothing_else(
    state, brokers
):
    after = raise_minimums(state, brokers)
    live = [supported for supported in brokers.values() if not incompatibilities(supported, state)]
    assert after.is_enabled == state.is_enabled
    assert after.features.keys() == state.features.keys()
    for name, levels in after.features.items():
        before = state.features[name]
        assert levels.max_level == before.max_level
        assert before.min_level <= levels.min_level <= levels.max_level
        if state.is_enabled:
            assert levels.min_level in {before.min_level, *(supported[name].lowest for supported in live)}
            assert all(supported[name].lowest <= levels.min_level for supported in live)
    assert raise_minimums(after, brokers) is after
