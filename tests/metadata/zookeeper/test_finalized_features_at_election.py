"""What a controller makes of the znode of features when it is elected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zookeeper_features import STATES, SUPPORTED, finalized, ranges

from falkirk.metadata.zookeeper.finalized_features import (
    DISABLED,
    FeatureState,
    FinalizedRange,
    elected_state,
    incompatibilities,
)

OWN = ranges(a=(1, 3), b=(2, 4))


@pytest.mark.parametrize(
    ("existing", "supports_features", "wanted"),
    [
        pytest.param(None, True, finalized(a=(1, 3), b=(2, 4)), id="a new cluster has all finalized"),
        pytest.param(None, False, DISABLED, id="a cluster below the migration is disabled"),
        pytest.param(DISABLED, True, finalized(), id="an upgraded cluster has nothing finalized yet"),
        pytest.param(
            FeatureState(False, {"a": FinalizedRange(1, 2)}),
            True,
            finalized(),
            id="what stands in a disabled znode does not count",
        ),
        pytest.param(finalized(a=(1, 2)), True, finalized(a=(1, 2)), id="what is finalized stays"),
        pytest.param(finalized(), True, finalized(), id="and so if that is nothing"),
        pytest.param(finalized(a=(1, 2)), False, DISABLED, id="a downgraded cluster loses what is finalized"),
        pytest.param(FeatureState(False, {"a": FinalizedRange(1, 2)}), False, DISABLED, id="disabled is empty"),
        pytest.param(DISABLED, False, DISABLED, id="a disabled cluster stays so"),
    ],
)
def test_a_controller_sets_features_up(existing, supports_features, wanted):
    assert elected_state(existing, supports_features=supports_features, supported=OWN) == wanted


@given(st.none() | STATES, st.booleans(), SUPPORTED)
def test_setting_up_twice_changes_nothing_more(existing, supports_features, supported):
    once = elected_state(existing, supports_features=supports_features, supported=supported)
    assert once.is_enabled == supports_features
    assert elected_state(once, supports_features=supports_features, supported=supported) == once


@given(SUPPORTED)
def test_a_controller_can_run_with_what_it_finalizes_in_a_new_cluster(supported):
    state = elected_state(None, supports_features=True, supported=supported)
    assert state.features.keys() == supported.keys()
    assert incompatibilities(supported, state) == ()
