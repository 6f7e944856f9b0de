"""inter.broker.protocol.version: names, levels as a feature, and which of the two decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.versions.errors import UnknownInterBrokerProtocolError
from falkirk.versions.inter_broker_protocol import (
    IBP_FEATURE,
    MIGRATION_IBP,
    IbpSource,
    InterBrokerProtocol,
    effective,
    feature_level,
    latest,
    of_feature_level,
    parse,
)
from falkirk.versions.metadata_version import METADATA_VERSIONS
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS
from falkirk.versions.release import Release

ALL = [InterBrokerProtocol(index) for index in range(len(METADATA_VERSION_ROWS))]
PROTOCOLS = st.sampled_from(ALL)
VERSIONED = st.sampled_from(ALL[MIGRATION_IBP.index :])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2.7-IV0", "2.7-IV0"),
        ("2.7", "2.7-IV2"),
        ("2.7.1", "2.7-IV2"),
        ("3.9", "3.9-IV0"),
        ("3.7.2", "3.7-IV4"),
        ("1.0", "1.0-IV0"),
        ("0.8.0", "0.8.0"),
        ("0.8.2.2", "0.8.2"),
        ("0.10.2", "0.10.2-IV0"),
        ("0.10.2.1", "0.10.2-IV0"),
        ("0.11.0-IV1", "0.11.0-IV1"),
    ],
)
def test_a_protocol_is_read_by_its_name_or_as_the_last_one_of_a_release(text, name):
    assert parse(text).name == str(parse(text)) == name


@pytest.mark.parametrize("text", ["", "2", "2.7-IV9", "0.10", "27", "3.10", "latest", "2.7-iv0", "two.seven"])
def test_what_is_no_protocol_is_refused(text):
    with pytest.raises(UnknownInterBrokerProtocolError, match=rf"^unknown inter\.broker\.protocol\.version '{text}'"):
        parse(text)


@given(PROTOCOLS)
def test_every_protocol_has_its_own_name(protocol):
    assert parse(protocol.name) == protocol


@pytest.mark.parametrize(
    ("release", "name", "level"), [("3.7", "3.7-IV4", 25), ("3.8", "3.8-IV0", 26), ("3.9", "3.9-IV0", 27)]
)
def test_a_release_knows_protocols_up_to_its_own(release, name, level):
    protocol = latest(Release.parse(release))
    assert (protocol.name, feature_level(protocol)) == (name, level)


def test_levels_of_the_feature_begin_with_the_protocol_that_brought_features():
    assert [of_feature_level(level).name for level in range(1, 8)] == [
        "2.7-IV0",
        "2.7-IV1",
        "2.7-IV2",
        "2.8-IV0",
        "2.8-IV1",
        "3.0-IV0",
        "3.0-IV1",
    ]


def test_the_levels_of_the_feature_are_six_above_those_of_metadata_version():
    assert {feature_level(parse(version.name)) - version.level for version in METADATA_VERSIONS} == {6}


@given(VERSIONED, VERSIONED)
def test_levels_of_the_feature_are_in_the_order_of_protocols(first, second):
    assert of_feature_level(feature_level(first)) == first
    assert (feature_level(first) < feature_level(second)) == (first < second)


@pytest.mark.parametrize("level", [0, -1, feature_level(ALL[-1]) + 1])
def test_what_is_no_level_of_the_feature_is_refused(level):
    with pytest.raises(
        UnknownInterBrokerProtocolError, match=f"^unknown level {level} of {IBP_FEATURE}: known are 1 to"
    ):
        of_feature_level(level)


@given(PROTOCOLS, st.none() | VERSIONED.map(feature_level))
def test_the_finalized_feature_decides_in_clusters_that_have_features_and_else_the_configuration(static, level):
    protocol, source = effective(static, level)
    if level is not None and static >= parse("2.7-IV0"):
        assert (feature_level(protocol), source) == (level, IbpSource.FEATURE)
    else:
        assert (protocol, source) == (static, IbpSource.CONFIG)


def test_the_source_of_a_protocol_is_told_by_its_name():
    assert [source.value for source in IbpSource] == ["ibp-feature", "inter.broker.protocol.version"]


@given(PROTOCOLS)
def test_features_are_supported_from_2_7_iv0_on(protocol):
    assert protocol.supports_features == (
        protocol.index >= [row.name for row in METADATA_VERSION_ROWS].index("2.7-IV0")
    )
