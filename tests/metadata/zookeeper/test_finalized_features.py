"""What a broker cannot run with."""

import pytest
from hypothesis import given
from zookeeper_features import STATES, SUPPORTED, ranges

from falkirk.metadata.zookeeper.finalized_features import DISABLED, FeatureState, FinalizedRange, incompatibilities


def test_a_feature_that_is_not_known_and_a_level_that_is_not_supported_are_named_in_order():
    state = FeatureState(True, {name: FinalizedRange(1, 3) for name in ("d", "c", "b", "a")})
    assert incompatibilities(ranges(a=(1, 2), b=(1, 3), d=(4, 4)), state) == (
        "a is finalized at level 3, and only 1-2 is supported",
        "c is finalized at level 3, and is not supported",
        "d is finalized at level 3, and only 4 is supported",
    )


def test_a_broker_that_has_dropped_old_levels_runs_as_long_as_it_has_the_highest():
    state = FeatureState(True, {"a": FinalizedRange(1, 3)})
    assert incompatibilities(ranges(a=(3, 4)), state) == ()


def test_nothing_is_incompatible_while_features_are_disabled():
    assert incompatibilities({}, FeatureState(False, {"a": FinalizedRange(1, 1)})) == ()
    assert incompatibilities({}, DISABLED) == ()


@given(SUPPORTED, STATES)
def test_a_broker_is_compatible_if_and_only_if_it_supports_each_max_level(supported, state):
    runs = all(name in supported and levels.max_level in supported[name] for name, levels in state.features.items())
    assert (incompatibilities(supported, state) == ()) == (runs or not state.is_enabled)


@pytest.mark.parametrize("levels", [(0, 1), (2, 1), (0, 0)])
def test_a_finalized_range_begins_at_1_and_does_not_end_before_it_begins(levels):
    with pytest.raises(AssertionError):
        FinalizedRange(*levels)
