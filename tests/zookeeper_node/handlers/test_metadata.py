"""Metadata tells the brokers and the controller, and that there are no topics."""

from __future__ import annotations

import json

import pytest
from zookeeper_network import ZooKeeperNetwork
from zookeeper_world import write_by_hand

from falkirk.metadata.zookeeper.acl_znode import CLUSTER_ACLS_PATH
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import MetadataRequest
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.schema import ZERO_UUID
from falkirk.zookeeper_node.config.properties import AUTHORIZER

TOPIC_ID = bytes(15) + b"\7"
ALL_CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))


@pytest.fixture(scope="module")
def shared() -> ZooKeeperNetwork:
    network = ZooKeeperNetwork()
    network.start(
        1,
        {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT"},
        listeners="PLAINTEXT://node1:9092,INSIDE://in1:9094",
        broker_rack="r1",
    )
    network.start(2)
    return network


@pytest.mark.parametrize("version", range(13))
def test_every_version_tells_the_brokers_and_that_a_topic_is_not_there(shared: ZooKeeperNetwork, version: int) -> None:
    answer = shared.client(2).ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), version)
    assert [(one.node_id, one.host, one.port) for one in answer.brokers] == [(1, "node1", 9092), (2, "node2", 9092)]
    assert [one.rack for one in answer.brokers] == (["r1", None] if version else [None, None])
    assert answer.controller_id == (1 if version else -1)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert bool(answer.cluster_id) is (version >= 2)


@pytest.mark.parametrize(("version", "topics"), [(0, []), (1, None), (12, None), (1, []), (12, [])])
def test_there_are_no_topics_to_list(
    shared: ZooKeeperNetwork, version: int, topics: list[MetadataRequestTopic] | None
) -> None:
    assert shared.client(1).ask(MetadataRequest(topics=topics), version).topics == []


def test_brokers_are_told_with_the_listener_where_the_request_came_in(shared: ZooKeeperNetwork) -> None:
    answer = shared.client(1, "INSIDE").ask(MetadataRequest(), 12)
    assert [(one.node_id, one.host, one.port) for one in answer.brokers] == [(1, "in1", 9094)]
    assert answer.controller_id == 1


def test_a_broker_that_lacks_a_finalized_feature_is_ignored_and_not_listed() -> None:
    network = ZooKeeperNetwork()
    network.start(1, falkirk_supported_features="gc:1-2")
    registration = {
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
        "endpoints": ["PLAINTEXT://node3:9092"],
        "jmx_port": -1,
        "host": "node3",
        "timestamp": "1",
        "port": 9092,
    }
    for broker_id, more in (
        (3, {"version": 4}),
        (4, {"version": 5, "features": {"gc": {"min_version": 1, "max_version": 9}}}),
        (5, {"version": 5, "features": {"gc": {"min_version": 1, "max_version": 1}}}),
    ):
        write_by_hand(network.ensemble, f"/brokers/ids/{broker_id}", json.dumps(registration | more).encode())
    network.settle()
    assert [fact.fields["brokers"] for fact in network.hosts[1].told("brokers-ignored")][-1] == [3, 4, 5]
    answer = network.client(1).ask(MetadataRequest(), 12)
    assert [one.node_id for one in answer.brokers] == [1]


def test_names_that_cannot_be_are_told_apart_and_each_is_told_once(shared: ZooKeeperNetwork) -> None:
    names = ["a/b", "__consumer_offsets", "t", "t"]
    answer = shared.client(1).ask(MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]), 12)
    assert [(topic.name, topic.error_code, topic.is_internal) for topic in answer.topics] == [
        ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION, False),
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        ("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
    ]


def test_who_asks_by_id_is_told_that_nobody_has_it(shared: ZooKeeperNetwork) -> None:
    asked = [MetadataRequestTopic(topic_id=TOPIC_ID, name=None), MetadataRequestTopic(name="passed over")]
    answer = shared.client(1).ask(MetadataRequest(topics=asked), 12)
    assert [(topic.topic_id, topic.error_code) for topic in answer.topics] == [(TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID)]


@pytest.mark.parametrize(("version", "topic_id"), [(11, TOPIC_ID), (12, ZERO_UUID)])
def test_a_topic_without_a_name_needs_an_id_that_the_version_has(
    shared: ZooKeeperNetwork, version: int, topic_id: bytes
) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=None)])
    (topic,) = shared.client(1).ask(asked, version).topics
    assert topic.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("version", "is_told"), [(8, True), (10, True), (11, False)])
def test_what_may_be_done_with_the_cluster_is_told_if_it_is_asked_for(
    shared: ZooKeeperNetwork, version: int, is_told: bool
) -> None:
    asked = MetadataRequest(
        topics=[MetadataRequestTopic(name="t")],
        include_cluster_authorized_operations=is_told,
        include_topic_authorized_operations=True,
    )
    answer = shared.client(1).ask(asked, version)
    assert answer.cluster_authorized_operations == (ALL_CLUSTER_OPERATIONS if is_told else -(2**31))
    assert answer.topics[0].topic_authorized_operations > 0


def test_what_one_may_do_is_not_told_to_another() -> None:
    network = ZooKeeperNetwork()
    for path in ("/kafka-acl", "/kafka-acl/Cluster"):
        write_by_hand(network.ensemble, path, b"")
    entry = {"principal": "User:ANONYMOUS", "permissionType": "Allow", "host": "10.0.0.2", "operation": "Describe"}
    acls = json.dumps({"version": 1, "acls": [entry]}).encode()
    write_by_hand(network.ensemble, CLUSTER_ACLS_PATH, acls)
    network.start(1, authorizer_class_name=AUTHORIZER)
    asked = MetadataRequest(include_cluster_authorized_operations=True)
    told = [
        network.client(1, client_host=host).ask(asked, 9).cluster_authorized_operations
        for host in ("10.0.0.1", "10.0.0.2", "10.0.0.1")
    ]
    assert told == [0, 1 << 8, 0]
