import json

import pytest
from hypothesis import given
from znodes import BROKERS, KAFKA, hostile, read_or_refused

from falkirk.metadata.zookeeper.broker_znode import (
    BrokerEndpoint,
    BrokerZnode,
    broker_path,
    decode_broker,
    encode_broker,
)
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.versions.supported_range import SupportedRange

PATH = "/brokers/ids/4"
FEATURES = {"group_coordinator": SupportedRange(1, 3), "transaction_coordinator": SupportedRange(2, 5)}
ENCODED = {name: text for name, text in KAFKA["encoders"].items() if name.startswith("broker")}


def broker(text):
    return decode_broker(text.encode(), PATH)


def changed(text=ENCODED["broker_5"], **members):
    return broker(json.dumps(json.loads(text) | members))


def without(*keys):
    document = json.loads(ENCODED["broker_5"])
    return broker(json.dumps({key: value for key, value in document.items() if key not in keys}))


@given(BROKERS)
def test_what_is_written_is_read(znode):
    assert decode_broker(encode_broker(znode), PATH) == znode


@given(hostile(*ENCODED.values()))
def test_whatever_stands_there_is_read_or_refused(data):
    znode = read_or_refused(lambda: decode_broker(data, PATH), PATH)
    assert znode is None or decode_broker(encode_broker(znode), PATH) == znode


@pytest.mark.parametrize(
    ("settings", "broker_id"), [("no_settings", 7), ("rack_and_two_listeners", 8), ("ibp_2_7", 9), ("ibp_2_6", 10)]
)
def test_a_registration_of_kafka_has_the_bytes_of_ours(settings, broker_id):
    path = broker_path(broker_id)
    data = KAFKA["brokers"][settings][path].encode()
    znode = decode_broker(data, path)
    assert encode_broker(znode) == data
    assert (znode.features is None) == (settings == "ibp_2_6")
    assert znode.rack == ("rack-a" if settings == "rack_and_two_listeners" else None)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_every_version_that_kafka_writes_is_read(version):
    znode = broker(ENCODED[f"broker_without_plaintext_{version}"])
    assert znode.endpoints == (BrokerEndpoint("SSL", "SSL", "h", 9092),)
    assert znode.features == (FEATURES if version == 5 else None)
    assert znode.rack is None


def test_the_newest_version_is_written_as_kafka_writes_it():
    for name in ("broker_5", "broker_without_plaintext_5"):
        document = json.loads(ENCODED[name])
        ours = json.loads(encode_broker(broker(ENCODED[name])))
        assert ours == document | {"jmx_port": -1}
        assert list(ours) == list(document)


def test_listeners_have_the_security_protocols_that_the_map_gives_them():
    znode = BrokerZnode(
        (
            BrokerEndpoint("INTERNAL", "SASL_SSL", "::1", 9092),
            BrokerEndpoint("EXTERNAL", "PLAINTEXT", "kafka-0.example", 9093),
        ),
        "räck",
        5,
        None,
    )
    assert changed(ENCODED["broker_4"], timestamp="5") == znode


def test_version_1_has_one_address_alone():
    znode = changed(ENCODED["broker_1"], timestamp="5", rack="not of this version")
    assert znode.endpoints == (BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "kafka-0.example", 9093),)
    with pytest.raises(ZnodeError, match=r"host is null, not a text"):
        broker(ENCODED["broker_without_plaintext_1"])
    with pytest.raises(ZnodeError, match=r'host is "a/b", which no host is called'):
        changed(ENCODED["broker_1"], host="a/b")


def test_names_of_listeners_are_in_capitals():
    znode = changed(endpoints=["internal://h:1"], listener_security_protocol_map={"Internal": "SSL"})
    assert znode.endpoints == (BrokerEndpoint("INTERNAL", "SSL", "h", 1),)


def test_a_registration_that_tells_no_features_supports_none():
    assert without("features").features == {}


def test_without_a_map_listeners_are_named_after_their_security_protocols():
    znode = changed(endpoints=["SASL_SSL://h:1"], listener_security_protocol_map=None)
    assert znode.endpoints == (BrokerEndpoint("SASL_SSL", "SASL_SSL", "h", 1),)


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ({"version": 0}, r"the schema version 0 is unknown \(known are 1 to 5\)"),
        ({"version": 6}, r"the schema version 6 is unknown"),
        ({"version": None}, "version is null"),
        ({"timestamp": 5}, "timestamp is 5, not a whole number as text"),
        ({"rack": 5}, "rack is 5, not a text"),
        ({"endpoints": []}, "endpoints is an empty list"),
        ({"endpoints": "INTERNAL://h:1"}, "endpoints is .*, not a list"),
        ({"endpoints": [5]}, r"endpoints\[0\] is 5, not a text"),
        ({"endpoints": ["h:1"]}, 'the endpoint "h:1" is not LISTENER://host:port'),
        ({"endpoints": ["INTERNAL://h:70000"]}, "the endpoint .* is not LISTENER://host:port"),
        ({"endpoints": ["INTERNAL://h/x:1"]}, "the endpoint .* is not LISTENER://host:port"),
        ({"endpoints": ["OTHER://h:1"]}, 'the listener "OTHER" has no security protocol'),
        ({"listener_security_protocol_map": []}, "listener_security_protocol_map is a list, not an object"),
        ({"listener_security_protocol_map": {"INTERNAL": 1}}, r"listener_security_protocol_map\.INTERNAL is 1"),
        (
            {"listener_security_protocol_map": {"INTERNAL": "TLS"}},
            'the security protocol "TLS" of the listener "INTERNAL" is unknown',
        ),
        ({"features": []}, "features is a list, not an object"),
        ({"features": {"a": 1}}, r"features\.a is 1, not an object"),
        ({"features": {"a": {}}}, "feature a: min_version is missing"),
        ({"features": {"a": {"min_version": 0, "max_version": 1}}}, "feature a: min_version is 0"),
        ({"features": {"a": {"min_version": 1, "max_version": 32768}}}, "feature a: max_version is 32768"),
        ({"features": {"a": {"min_version": 1, "max_version": True}}}, "feature a: max_version is true"),
        ({"features": {"a": {"min_version": 3, "max_version": 2}}}, "feature a: min_version 3 is above max_version 2"),
    ],
)
def test_what_cannot_be_meant_is_named(members, fault):
    with pytest.raises(ZnodeError, match=f"^znode /brokers/ids/4: {fault}"):
        changed(**members)


@pytest.mark.parametrize("key", ["version", "timestamp", "endpoints"])
def test_what_is_missing_is_named(key):
    with pytest.raises(ZnodeError, match=f"^znode /brokers/ids/4: {key} is missing$"):
        without(key)
