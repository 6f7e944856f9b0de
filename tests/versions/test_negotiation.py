import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.versions.api_support import Listener
from falkirk.versions.negotiation import (
    AvoidedVersionsError,
    UnsupportedApiError,
    broker_ranges,
    common_ranges,
    highest_usable,
    missing_of_features,
    parse_avoided,
    usable_version,
)
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange


def ranges(*rows):
    return {key: SupportedRange(lowest, highest) for key, lowest, highest in rows}


RANGE = st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda ends: SupportedRange(min(ends), max(ends)))


def test_the_scenario_of_kip_35():
    first, second = ranges((0, 0, 3), (1, 2, 3)), ranges((0, 1, 2), (1, 0, 3), (2, 0, 0))
    common = common_ranges([first, second])
    assert common == ranges((0, 1, 2), (1, 2, 3))
    features = {"Feature1": ranges((0, 3, 3), (1, 2, 3)), "Feature2": ranges((0, 0, 1), (1, 2, 3))}
    missing = missing_of_features(features, common)
    assert [(error.api_key, error.wanted, error.offered) for error in missing["Feature1"]] == [
        (0, SupportedRange(3, 3), SupportedRange(1, 2))
    ]
    assert missing["Feature2"] == ()


@given(st.lists(st.dictionaries(st.integers(0, 3), RANGE), min_size=1, max_size=4))
def test_a_version_is_common_if_every_broker_has_it(brokers):
    common = common_ranges(brokers)
    for key in range(4):
        everywhere = {version for version in range(7) if all(version in broker.get(key, ()) for broker in brokers)}
        assert set(common.get(key, ())) == everywhere


def test_nothing_is_common_to_no_brokers():
    assert common_ranges([]) == {}


@given(RANGE, st.none() | RANGE, st.frozensets(st.integers(0, 6)))
def test_the_usable_version_is_the_highest_of_both_sides_that_nobody_avoids(wanted, offered, avoided):
    both = [version for version in wanted if offered is not None and version in offered and version not in avoided]
    assert highest_usable(wanted, offered, avoided) == max(both, default=None)


@pytest.mark.parametrize(
    ("offered", "avoided", "message"),
    [
        (None, (), "Fetch (API 1) cannot be used: wanted versions 4-6, offered none"),
        (SupportedRange(0, 3), (), "Fetch (API 1) cannot be used: wanted versions 4-6, offered versions 0-3"),
        (
            SupportedRange(6, 6),
            (6, 5),
            "Fetch (API 1) cannot be used: wanted versions 4-6 without 5, 6, offered version 6",
        ),
    ],
)
def test_an_api_that_cannot_be_used_is_named_with_both_ranges(offered, avoided, message):
    with pytest.raises(UnsupportedApiError) as refused:
        usable_version("Fetch", 1, SupportedRange(4, 6), offered, frozenset(avoided))
    assert str(refused.value) == message
    assert (refused.value.wanted, refused.value.offered) == (SupportedRange(4, 6), offered)


def test_a_deprecated_version_is_stepped_over():
    assert usable_version("Fetch", 1, SupportedRange(0, 6), SupportedRange(2, 5), frozenset({5, 4})) == 3


def test_a_feature_that_needs_an_avoided_version_cannot_be_used():
    features = {"f": ranges((1, 5, 5))}
    assert missing_of_features(features, ranges((1, 0, 9))) == {"f": ()}
    (missing,) = missing_of_features(features, ranges((1, 0, 9)), {1: frozenset({5})})["f"]
    assert "without 5" in str(missing)


def test_a_broker_offers_of_forwarded_apis_what_its_controller_can_answer():
    new, old = Release.parse("4.3"), Release.parse("3.7")
    own = new.api_ranges(Listener.BROKER)
    offered = broker_ranges(own, old.api_ranges(Listener.CONTROLLER), new)
    assert offered[19] == SupportedRange(2, 7)
    assert (str(own[45]), str(offered[45])) == ("0-1", "0")
    # Not forwarded: as it was. Forwarded, and unknown to the controller: gone.
    assert offered[1] == own[1]
    assert {key for key in own if key not in offered} == {80, 81}
    assert list(offered) == [key for key in own if key in offered]


def test_a_broker_without_a_controller_offers_all_of_its_own():
    own = Release.parse("4.3").api_ranges(Listener.BROKER)
    assert broker_ranges(own, None, Release.parse("4.3")) == own


def test_versions_to_avoid_are_read_by_name_or_key():
    keys = {"Fetch": 1, "Metadata": 3}
    assert parse_avoided("Fetch:12-13,Metadata:9, 1:4", keys) == {1: frozenset({12, 13, 4}), 3: frozenset({9})}
    assert parse_avoided("", keys) == {}


@pytest.mark.parametrize("text", ["Fetsch:1", "Fetch", "Fetch:", "Fetch:x", "Fetch:none"])
def test_versions_to_avoid_that_cannot_be_read_are_refused(text):
    with pytest.raises(AvoidedVersionsError, match=text):
        parse_avoided(text, {"Fetch": 1})
