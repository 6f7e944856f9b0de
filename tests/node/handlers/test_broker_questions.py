"""What brokers tell of the cluster besides topics."""

import pytest
from controllers import CLUSTER_ID, Broker, make_image
from image_answers import ask_about
from node_views import cluster_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ClientQuotaRecord,
    ConfigRecord,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    ListConfigResourcesRequest,
    TopicRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.protocol.messages.describe_client_quotas_request import ComponentData

BROKERS = 1
CONTROLLERS = 2
EXACT, DEFAULT, ANY = 0, 1, 2

# --- DescribeCluster


def three_brokers():
    brokers = [Broker(broker_id=1, rack="a"), Broker(broker_id=2), Broker(broker_id=3, fenced=True)]
    return make_image(release="4.3", brokers=brokers)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_broker_tells_of_brokers_that_are_alive(version):
    response = ask_about(three_brokers(), DescribeClusterRequest(), version)
    told = [(each.broker_id, each.host, each.port, each.rack) for each in response.brokers]
    assert told == [(1, "broker-1", 9092, "a"), (2, "broker-2", 9092, None)]
    assert (response.error_code, response.endpoint_type, response.cluster_id) == (0, BROKERS, CLUSTER_ID)
    assert response.controller_id in {1, 2}
    assert ask_about(three_brokers(), DescribeClusterRequest(), version, listener="OTHER").brokers == []


def test_fenced_brokers_are_told_on_demand():
    response = ask_about(three_brokers(), DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert {each.broker_id: each.is_fenced for each in response.brokers} == {1: False, 2: False, 3: True}


@pytest.mark.parametrize(
    ("version", "endpoint_type", "error"),
    [(1, CONTROLLERS, "MISMATCHED_ENDPOINT_TYPE"), (1, 7, "UNSUPPORTED_ENDPOINT_TYPE")],
)
def test_who_asks_a_broker_for_something_else_is_told_so(version, endpoint_type, error):
    response = ask_about(three_brokers(), DescribeClusterRequest(endpoint_type=endpoint_type), version)
    assert (ErrorCode(response.error_code).name, response.brokers) == (error, [])


def test_a_broker_asks_for_no_right_but_to_tell_what_one_may_do():
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    nothing = ask_about(three_brokers(), request, authorizer=cluster_authorizer({AclOperation.CREATE}))
    assert (len(nothing.brokers), nothing.cluster_authorized_operations) == (2, 0)
    some = ask_about(three_brokers(), request, authorizer=cluster_authorizer({AclOperation.ALTER}))
    # ALTER implies DESCRIBE.
    assert some.cluster_authorized_operations == 1 << AclOperation.ALTER | 1 << AclOperation.DESCRIBE


# --- ListConfigResources


def resources():
    return make_image(
        release="4.3",
        brokers=[1, 2],
        records=[
            TopicRecord("foo", b"f" * 16),
            TopicRecord("bar", b"b" * 16),
            ConfigRecord(GROUP, "g", "share.session.timeout.ms", "50000"),
            ConfigRecord(CLIENT_METRICS, "s2", "interval.ms", "100"),
            ConfigRecord(CLIENT_METRICS, "s1", "interval.ms", "100"),
            ConfigRecord(TOPIC, "foo", "retention.ms", "1"),
        ],
    )


def listed(*types, version=1, **fields):
    response = ask_about(resources(), ListConfigResourcesRequest(types), version, **fields)
    if response.error_code:
        return ErrorCode(response.error_code).name
    return [(each.resource_type, each.resource_name) for each in response.config_resources]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (TOPIC, ["bar", "foo"]),
        (BROKER, ["1", "2"]),
        (BROKER_LOGGER, ["1", "2"]),
        (CLIENT_METRICS, ["s1", "s2"]),
        (GROUP, ["g"]),
    ],
)
def test_resources_are_listed_by_type(kind, names):
    assert listed(kind) == [(kind, name) for name in names]


def test_all_resources_are_listed_where_no_type_is_named():
    everything = [(GROUP, "g"), (CLIENT_METRICS, "s1"), (CLIENT_METRICS, "s2")]
    everything += [(kind, name) for kind in (BROKER_LOGGER, BROKER) for name in "12"]
    assert listed() == [*everything, (TOPIC, "bar"), (TOPIC, "foo")]
    assert listed(version=0) == [(CLIENT_METRICS, "s1"), (CLIENT_METRICS, "s2")]


def test_a_type_that_nobody_knows_is_refused():
    assert listed(TOPIC, 99) == "UNSUPPORTED_VERSION"


def test_resources_are_listed_to_who_may_describe_configs():
    assert listed(TOPIC, authorizer=cluster_authorizer({AclOperation.ALTER})) == "CLUSTER_AUTHORIZATION_FAILED"
    assert len(listed(TOPIC, authorizer=cluster_authorizer({AclOperation.DESCRIBE_CONFIGS}))) == 2


# --- DescribeClientQuotas


ENTITIES = (
    (("user", "alice"),),
    (("user", None),),
    (("client-id", "app"), ("user", "alice")),
    (("ip", "10.0.0.1"),),
    (("client-id", None),),
)


def quotas():
    records = [
        ClientQuotaRecord([EntityData(*part) for part in entity], "request_percentage", 10.0 + index)
        for index, entity in enumerate(ENTITIES)
    ]
    records.append(ClientQuotaRecord([EntityData("user", "alice")], "producer_byte_rate", 5.0))
    return make_image(release="4.3", brokers=[1], records=records)


def described(*components, strict=False, version=1, **fields):
    request = DescribeClientQuotasRequest([ComponentData(*each) for each in components], strict)
    response = ask_about(quotas(), request, version, **fields)
    if response.error_code:
        return ErrorCode(response.error_code).name, response.entries
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            quota.key: quota.value for quota in entry.values
        }
        for entry in response.entries
    }


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_told_by_entity(version):
    told = described(version=version)
    assert set(told) == set(ENTITIES)
    assert told[("user", "alice"),] == {"request_percentage": 10.0, "producer_byte_rate": 5.0}


@pytest.mark.parametrize(
    ("components", "strict", "matching"),
    [
        ([("user", EXACT, "alice")], False, [0, 2]),
        ([("user", EXACT, "alice")], True, [0]),
        ([("user", DEFAULT, None)], False, [1]),
        ([("user", ANY, None)], False, [0, 1, 2]),
        ([("user", ANY, None)], True, [0, 1]),
        ([("client-id", EXACT, "app"), ("user", ANY, None)], True, [2]),
        ([("ip", ANY, None)], False, [3]),
        ([], True, []),
        ([("user", EXACT, "nobody")], False, []),
    ],
)
def test_a_filter_is_about_names_defaults_and_types(components, strict, matching):
    assert set(described(*components, strict=strict)) == {ENTITIES[index] for index in matching}


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("", EXACT, "x")], "INVALID_REQUEST"),
        ([("user", EXACT, "x"), ("user", ANY, None)], "INVALID_REQUEST"),
        ([("host", EXACT, "x")], "UNSUPPORTED_VERSION"),
        ([("user", EXACT, None)], "INVALID_REQUEST"),
        ([("user", DEFAULT, "x")], "INVALID_REQUEST"),
        ([("user", ANY, "x")], "INVALID_REQUEST"),
        ([("user", 9, None)], "INVALID_REQUEST"),
        ([("ip", ANY, None), ("user", ANY, None)], "INVALID_REQUEST"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(components, error):
    assert described(*components) == (error, None)


def test_quotas_are_told_to_who_may_describe_configs():
    assert described(authorizer=cluster_authorizer({AclOperation.ALTER}))[0] == "CLUSTER_AUTHORIZATION_FAILED"
    assert len(described(authorizer=cluster_authorizer({AclOperation.DESCRIBE_CONFIGS}))) == len(ENTITIES)
