import json

import pytest
from hypothesis import given
from znodes import KAFKA, STATES, hostile, read_or_refused

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features, encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange

PATH = "/features"


def features(text):
    return decode_features(text.encode(), PATH)


def one_feature(version=1, **levels):
    return features(json.dumps({"version": version, "status": 1, "features": {"group_coordinator": levels}}))


@given(STATES)
def test_what_is_written_is_read(state):
    assert decode_features(encode_features(state, kip_778=False), PATH) == state


@given(STATES)
def test_with_kip_778_all_but_the_minimum_is_read(state):
    max_levels = {name: FinalizedRange(1, levels.max_level) for name, levels in state.features.items()}
    assert decode_features(encode_features(state, kip_778=True), PATH) == FeatureState(state.is_enabled, max_levels)


@given(STATES)
def test_the_same_state_gives_the_same_bytes(state):
    turned_round = FeatureState(state.is_enabled, dict(reversed(state.features.items())))
    assert encode_features(turned_round, kip_778=False) == encode_features(state, kip_778=False)


@given(hostile(KAFKA["encoders"]["features_1"], KAFKA["encoders"]["features_2"]))
def test_whatever_stands_there_is_read_or_refused(data):
    state = read_or_refused(lambda: decode_features(data, PATH), PATH)
    assert state is None or decode_features(encode_features(state, kip_778=False), PATH) == state


def test_the_example_of_the_kip_is_read_where_its_levels_are_allowed():
    text = (
        '{"version": 0, "status": 1, "features": {'
        '"group_coordinator": {"min_version_level": %d, "max_version_level": 3},'
        '"consumer_offsets_topic_schema": {"min_version_level": 1, "max_version_level": 4}}}'
    )
    state = FeatureState(
        is_enabled=True,
        features={
            "group_coordinator": FinalizedRange(1, 3),
            "consumer_offsets_topic_schema": FinalizedRange(1, 4),
        },
    )
    assert features(text % 1) == state
    with pytest.raises(ZnodeError, match=r"feature group_coordinator: min_version_level is 0, not a whole number"):
        features(text % 0)


@pytest.mark.parametrize(
    ("version", "state"),
    [
        (1, {"group_coordinator": FinalizedRange(2, 2), "transaction_coordinator": FinalizedRange(5, 5)}),
        (2, {"group_coordinator": FinalizedRange(1, 2), "transaction_coordinator": FinalizedRange(1, 5)}),
    ],
)
def test_what_kafka_writes_is_read_and_written_alike(version, state):
    text = KAFKA["encoders"][f"features_{version}"]
    assert features(text) == FeatureState(is_enabled=True, features=state)
    ours = encode_features(features(text), kip_778=version == 2)
    assert json.loads(ours) == json.loads(text)
    assert list(json.loads(ours)) == list(json.loads(text))


@pytest.mark.parametrize(
    ("settings", "is_enabled", "kip_778"),
    [("no_settings", True, True), ("ibp_2_7", True, False), ("ibp_2_6", False, False)],
)
def test_the_znode_of_a_kafka_without_features_has_the_bytes_of_ours(settings, is_enabled, kip_778):
    data = KAFKA["brokers"][settings]["/feature"].encode()
    state = FeatureState(is_enabled=is_enabled)
    assert decode_features(data, "/feature") == state
    assert encode_features(state, kip_778=kip_778) == data


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{}", "version is missing"),
        ('{"version":3}', r"the schema version 3 is unknown \(known are 0 to 2\)"),
        ('{"version":-1}', "the schema version -1 is unknown"),
        ('{"version":true}', "version is true, not a whole number"),
        ('{"version":"1"}', 'version is "1", not a whole number'),
        ('{"version":1,"features":{}}', "status is missing"),
        ('{"version":1,"status":2,"features":{}}', "status is 2, not a whole number from 0 to 1"),
        ('{"version":1,"status":true,"features":{}}', "status is true"),
        ('{"version":1,"status":1}', "features is missing"),
        ('{"version":1,"status":1,"features":null}', "features is null, not an object"),
        ('{"version":1,"status":1,"features":[]}', "features is a list, not an object"),
        ('{"version":1,"status":1,"features":{"a":3}}', r"features\.a is 3, not an object"),
        ('{"version":1,"status":1,"features":{"":{}}}', r'features has the name "", not a text of 1 to 32767 bytes'),
        ('{"version":1,"status":1,"features":{"a":{},"a":{}}}', 'the key "a" is twice'),
    ],
)
def test_what_the_schema_does_not_allow_is_named(text, fault):
    with pytest.raises(ZnodeError, match=f"^znode /features: {fault}"):
        features(text)


@pytest.mark.parametrize(
    ("levels", "fault"),
    [
        ({}, "max_version_level is missing"),
        ({"max_version_level": 1}, "min_version_level is missing"),
        ({"max_version_level": 0, "min_version_level": 1}, "max_version_level is 0"),
        ({"max_version_level": 1, "min_version_level": -1}, "min_version_level is -1"),
        ({"max_version_level": 32768, "min_version_level": 1}, "max_version_level is 32768"),
        ({"max_version_level": 10**100, "min_version_level": 1}, "max_version_level is 10000"),
        ({"max_version_level": 2.0, "min_version_level": 1}, r"max_version_level is 2\.0"),
        ({"max_version_level": True, "min_version_level": 1}, "max_version_level is true"),
        ({"max_version_level": "2", "min_version_level": 1}, 'max_version_level is "2"'),
        ({"max_version_level": None, "min_version_level": 1}, "max_version_level is null"),
        ({"max_version_level": 2, "min_version_level": 3}, "min_version_level 3 is above max_version_level 2"),
    ],
)
def test_levels_that_cannot_be_are_named_with_their_feature(levels, fault):
    with pytest.raises(ZnodeError, match=f"^znode /features: feature group_coordinator: {fault}"):
        one_feature(**levels)


def test_with_kip_778_a_minimum_that_is_there_counts():
    assert one_feature(version=2, max_version_level=3).features["group_coordinator"] == FinalizedRange(1, 3)
    named = one_feature(version=2, max_version_level=3, min_version_level=2)
    assert named.features["group_coordinator"] == FinalizedRange(2, 3)
    with pytest.raises(ZnodeError, match="min_version_level 4 is above"):
        one_feature(version=2, max_version_level=3, min_version_level=4)


def test_keys_that_nobody_knows_are_left_alone():
    text = '{"version":1,"status":0,"x":[null],"features":{"a":{"max_version_level":2,"min_version_level":1,"y":"z"}}}'
    assert features(text) == FeatureState(is_enabled=False, features={"a": FinalizedRange(1, 2)})
