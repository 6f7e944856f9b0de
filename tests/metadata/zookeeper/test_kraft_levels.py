import pytest
from hypothesis import given
from hypothesis import strategies as st
from znodes import STATES

from falkirk.metadata.zookeeper.broker_znode import BrokerEndpoint, BrokerZnode
from falkirk.metadata.zookeeper.finalized_features import DISABLED, FeatureState, FinalizedRange
from falkirk.metadata.zookeeper.kraft_levels import broker_obstacles, kraft_levels
from falkirk.versions.inter_broker_protocol import IbpSource, feature_level, parse
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS
from falkirk.versions.release import latest_release
from falkirk.versions.supported_range import SupportedRange

PRODUCTION = "KRaft is made for production from 3.3-IV0 on, not at {}"
MIGRATION = "the migration of KIP-866 needs 3.4-IV0, not {}"
FLOOR = "falkirk runs KRaft clusters from 3.7-IV0 on, not at {}"
WAY = "first bring the brokers to Kafka 3.9 and 3.9-IV0, still on ZooKeeper: there the migration ends"


def finalized(**levels):
    """Finalize `group_version=1`, or `group_version=(1, 1)` with its minimum."""
    ranges = {
        name.replace("_", "."): FinalizedRange(*(value if isinstance(value, tuple) else (1, value)))
        for name, value in levels.items()
    }
    return FeatureState(is_enabled=True, features=ranges)


def levels_of(ibp="3.9", **levels):
    return kraft_levels(finalized(**levels), ibp=None if ibp is None else parse(ibp))


def counterpart(name, level, ibp="3.9"):
    state = FeatureState(is_enabled=True, features={name: FinalizedRange(1, level)})
    (found,) = kraft_levels(state, ibp=parse(ibp)).features
    return found


def formats(found):
    return [(each.release.name, " ".join(each.arguments)) for each in found.formats]


@pytest.mark.parametrize(
    ("ibp", "obstacles"),
    [
        ("2.6", ["2.6-IV0 is no metadata.version: the first is 3.0-IV1", MIGRATION, FLOOR, WAY]),
        ("2.8", ["2.8-IV1 is no metadata.version: the first is 3.0-IV1", MIGRATION, FLOOR, WAY]),
        ("3.0-IV0", ["3.0-IV0 is no metadata.version: the first is 3.0-IV1", MIGRATION, FLOOR, WAY]),
        ("3.0-IV1", [PRODUCTION, MIGRATION, FLOOR, WAY]),
        ("3.2", [PRODUCTION, MIGRATION, FLOOR, WAY]),
        ("3.3-IV0", [MIGRATION, FLOOR, WAY]),
        ("3.4-IV0", [FLOOR, WAY]),
        ("3.6", [FLOOR, WAY]),
        ("3.7-IV0", []),
        ("3.9", []),
        ("4.0-IV0", ["no broker on ZooKeeper speaks 4.0-IV0: the last is 3.9-IV0, of Kafka 3.9"]),
    ],
)
def test_what_is_in_the_way_depends_on_the_inter_broker_protocol(ibp, obstacles):
    protocol = parse(ibp)
    assert list(levels_of(ibp).obstacles) == [sentence.format(protocol) for sentence in obstacles]


@pytest.mark.parametrize(
    ("ibp", "name"), [("3.0-IV0", None), ("3.0-IV1", "3.0-IV1"), ("3.5", "3.5-IV2"), ("3.9", "3.9-IV0")]
)
def test_a_protocol_becomes_the_metadata_version_of_its_name(ibp, name):
    version = levels_of(ibp).metadata_version
    assert (None if version is None else version.name) == name


def test_a_finalized_protocol_beats_the_one_that_is_configured():
    level = feature_level(parse("3.9"))
    found = kraft_levels(
        FeatureState(is_enabled=True, features={"ibp-feature": FinalizedRange(1, level)}), ibp=parse("2.7")
    )
    assert found.protocol.protocol == parse("3.9")
    assert found.protocol.source is IbpSource.FEATURE
    assert formats(found) == [("3.9.1", "--release-version 3.9-IV0")]
    (feature,) = found.features
    assert (feature.kraft_name, feature.kraft_level, feature.since.name) == ("metadata.version", 21, "3.9.1")


def test_below_2_7_a_finalized_protocol_does_not_count():
    state = FeatureState(is_enabled=True, features={"ibp-feature": FinalizedRange(1, 27)})
    assert kraft_levels(state, ibp=parse("2.6")).protocol.protocol == parse("2.6")
    disabled = FeatureState(is_enabled=False, features=state.features)
    assert kraft_levels(disabled, ibp=parse("3.8")).protocol.protocol == parse("3.8")
    assert kraft_levels(disabled, ibp=parse("3.8")).features == ()


def test_a_protocol_that_nobody_tells_is_in_the_way():
    found = kraft_levels(DISABLED, ibp=None)
    assert (found.protocol, found.metadata_version, found.formats) == (None, None, ())
    (obstacle,) = found.obstacles
    assert obstacle.startswith("nothing says which inter.broker.protocol.version the brokers have: ibp-feature is not")


def test_a_level_of_the_protocol_that_nobody_knows_is_in_the_way():
    state = FeatureState(is_enabled=True, features={"ibp-feature": FinalizedRange(1, 999)})
    for ibp in (None, parse("3.9")):
        found = kraft_levels(state, ibp=ibp)
        assert found.protocol is None
        assert found.obstacles[0].startswith("unknown level 999 of ibp-feature: known are 1 to ")
        assert found.features[0].remarks == found.obstacles


def test_a_level_of_the_protocol_before_kraft_is_no_metadata_version():
    found = counterpart("ibp-feature", 1, ibp="3.9")
    assert (found.kraft_name, found.remarks) == (None, ("2.7-IV0 is no metadata.version",))


@pytest.mark.parametrize(
    ("name", "level", "since"),
    [("group.version", 1, "4.0.0"), ("transaction.version", 2, "4.0.0"), ("share.version", 2, "4.4.0")],
)
def test_a_feature_of_kraft_keeps_its_level_and_says_since_when_it_is_there(name, level, since):
    found = counterpart(name, level)
    assert (found.kraft_name, found.kraft_level, found.since.name, found.remarks) == (name, level, since, ())


@pytest.mark.parametrize(
    ("name", "level", "remark"),
    [
        ("group_coordinator", 2, "KRaft has no feature of this name"),
        ("metadata.version", 21, "brokers on ZooKeeper ignore it: the inter-broker protocol counts"),
        ("share.version", 9, f"no release up to {latest_release().word} runs share.version 9: the highest level is 2"),
    ],
)
def test_what_corresponds_to_nothing_says_why(name, level, remark):
    found = counterpart(name, level)
    assert (found.kraft_name, found.kraft_level, found.since, found.remarks) == (None, None, None, (remark,))


def test_a_level_that_needs_a_higher_metadata_version_comes_later():
    found = levels_of(eligible_leader_replicas_version=1)
    (feature,) = found.features
    assert (feature.kraft_level, feature.since) == (1, None)
    assert feature.remarks == ("it needs metadata.version 4.0-IV1, so it comes after that",)
    assert formats(found) == [("3.9.1", "--release-version 3.9-IV0")]


def test_a_minimum_is_lost():
    (feature,) = levels_of(transaction_version=(2, 2)).features
    assert feature.remarks == ("the minimum 2 is lost: KRaft keeps none (KIP-778)",)


def test_formatting_is_told_for_the_end_of_the_migration_and_for_what_comes_later():
    found = levels_of("3.8", group_version=1, transaction_version=2, kraft_version=1, other=1)
    assert formats(found) == [
        ("3.9.1", "--release-version 3.8-IV0"),
        ("4.0.0", "--release-version 3.8-IV0 --feature group.version=1 --feature transaction.version=2"),
    ]
    assert found.obstacles == ()


@pytest.mark.parametrize("ibp", ["2.8", "3.2", "4.0"])
def test_where_nothing_can_be_formatted_nothing_is_told(ibp):
    assert levels_of(ibp, group_version=1).formats == ()


@given(STATES, st.none() | st.integers(0, len(METADATA_VERSION_ROWS) - 1))
def test_any_state_has_an_answer(state, index):
    ibp = None if index is None else parse(METADATA_VERSION_ROWS[index].name)
    found = kraft_levels(state, ibp=ibp)
    assert {feature.name for feature in found.features} == (set(state.features) if state.is_enabled else set())
    for feature in found.features:
        assert feature.kraft_level is not None or feature.remarks


def znode(features):
    return BrokerZnode((BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "h", 1),), None, 0, features)


def test_brokers_that_do_not_go_with_what_is_finalized_are_named():
    state = finalized(group_version=2)
    brokers = {
        3: znode(None),
        1: znode({"group.version": SupportedRange(1, 2)}),
        2: znode({"group.version": SupportedRange(1, 1)}),
        4: znode({}),
    }
    assert broker_obstacles(state, brokers, kraft_levels(state, ibp=parse("3.9"))) == (
        "broker 2: group.version is finalized at level 2, and only 1 is supported",
        "broker 3 does not advertise supported features: its inter.broker.protocol.version is below 2.7-IV0",
        "broker 4: group.version is finalized at level 2, and is not supported",
    )


@pytest.mark.parametrize("ibp", [None, "2.6"])
def test_brokers_may_be_silent_where_features_do_not_count(ibp):
    levels = kraft_levels(DISABLED, ibp=None if ibp is None else parse(ibp))
    assert broker_obstacles(DISABLED, {1: znode(None)}, levels) == ()
