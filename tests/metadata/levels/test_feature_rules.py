"""What KRaft and ZooKeeper mode see alike in an update of features."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.levels.feature_rules import (
    Fault,
    FeatureUpdate,
    direction_fault,
    malformed,
    read_updates,
    unsupported_clause,
)
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.supported_range import SupportedRange

UPGRADE, SAFE, UNSAFE = UpgradeType
LEVELS = st.integers(0, 5)


@pytest.mark.parametrize(("allow_downgrade", "upgrade_type"), [(True, SAFE), (False, UPGRADE)])
def test_version_0_says_by_a_flag_whether_the_level_may_fall(allow_downgrade, upgrade_type):
    request = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("f", 1, allow_downgrade=allow_downgrade)])
    (update,) = read_updates(request, 0)
    assert update.upgrade_type is upgrade_type


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, -1])
def test_later_versions_say_it_by_a_number(number):
    request = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey("f", 1, allow_downgrade=True, upgrade_type=number)]
    )
    (update,) = read_updates(request, 1)
    assert update.upgrade_type == (number if number in (1, 2, 3) else None)
    assert update.is_downgrade == (number in (SAFE, UNSAFE))


def test_updates_keep_the_order_of_the_request():
    keys = [FeatureUpdateKey(name, level) for name, level in (("b", 1), ("a", 2), ("b", 3))]
    updates = read_updates(UpdateFeaturesRequest(feature_updates=keys), 1)
    assert [(update.name, update.level) for update in updates] == [("b", 1), ("a", 2), ("b", 3)]


@given(st.lists(st.sampled_from(["", "a", "b", "c"])))
def test_a_feature_must_have_a_name_and_be_asked_for_once(names):
    faults = malformed(FeatureUpdate(name=name, level=1, upgrade_type=UPGRADE) for name in names)
    for name in names:
        expected = Fault.NO_NAME if not name else Fault.REPEATED if names.count(name) > 1 else None
        assert faults.get(name) is expected
    assert faults.keys() <= set(names)


@given(LEVELS, LEVELS)
def test_one_of_upgrade_and_downgrade_fits_each_change_of_a_level_and_both_fit_none(level, current):
    faults = [
        direction_fault(FeatureUpdate(name="f", level=level, upgrade_type=upgrade_type), current)
        for upgrade_type in UpgradeType
    ]
    if level < current:
        assert faults == [Fault.UNANNOUNCED_DOWNGRADE, None, None]
    elif level > current:
        assert faults == [None, Fault.RISING_DOWNGRADE, Fault.RISING_DOWNGRADE]
    else:
        assert faults == [None, None, None]


@pytest.mark.parametrize(
    ("supported", "sentence"),
    [
        (None, "Broker 1 does not support this feature"),
        (SupportedRange(0, 0), "Broker 1 does not support this feature"),
        (SupportedRange(1, 1), "Broker 1 only supports versions 1"),
        (SupportedRange(2, 4), "Broker 1 only supports versions 2-4"),
    ],
)
def test_it_is_said_what_a_server_supports_instead(supported, sentence):
    assert unsupported_clause("Broker 1", supported) == sentence
