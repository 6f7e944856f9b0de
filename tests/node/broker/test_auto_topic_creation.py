"""Brokers have topics created that clients ask for; what they tell of them follows the metadata."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.auto_topic_creation import IN_FLIGHT_MAX, AutoTopicCreation
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.broker.internal_topics import creatable_topic
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateTopicsRequest, MetadataRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.versions.release import Release, all_releases

BROKER_ID = 101
PROFILES = [release for release in all_releases() if release.tables.kraft is not None]


def a_cluster(release: str = "4.3", **properties: str) -> NodeNetwork:
    """A controller and a broker that runs."""
    network = NodeNetwork(release=release)
    voters = {1: controller_endpoint(1)}
    network.add(1, roles={CONTROLLER}, quorum_voters=voters)
    network.add(BROKER_ID, roles={BROKER}, quorum_voters=voters, properties=properties)
    for node_id in (1, BROKER_ID):
        network.start(node_id)
    network.run_until(lambda: network.hosts[BROKER_ID].running.broker.state is BrokerState.RUNNING)
    return network


def ask(network: NodeNetwork, *names: str, version: int = 12):
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in names])
    return network.client(BROKER_ID, BROKER_LISTENER).ask(request, version)


def error(network: NodeNetwork, name: str) -> str:
    (topic,) = ask(network, name).topics
    return ErrorCode(topic.error_code).name


def topics(network: NodeNetwork) -> dict[str, int]:
    image = network.hosts[1].running.image
    return {topic.name: topic.partition_count for topic in image.topics}


@pytest.mark.parametrize("release", PROFILES, ids=str)
def test_a_topic_that_is_asked_for_comes_to_be(release):
    network = a_cluster(release.name, **{"num.partitions": "3"})
    assert error(network, "new") == "UNKNOWN_TOPIC_OR_PARTITION"
    network.run_until(lambda: error(network, "new") == "NONE")
    assert topics(network) == {"new": 3}
    (topic,) = ask(network, "new").topics
    assert [partition.leader_id for partition in topic.partitions] == [BROKER_ID] * 3


def test_nothing_comes_to_be_where_that_is_off():
    network = a_cluster(**{"auto.create.topics.enable": "false"})
    assert error(network, "new") == "UNKNOWN_TOPIC_OR_PARTITION"
    network.run_for(5_000)
    assert topics(network) == {}


def test_a_topic_is_asked_for_once_at_a_time():
    network = a_cluster()
    client = network.client(BROKER_ID, BROKER_LISTENER)
    request = MetadataRequest([MetadataRequestTopic(name="new")])
    for _ in range(5):
        client.send(request, 12)
    network.run_until(lambda: topics(network) == {"new": 1})
    assert len(network.facts("topics-are-created")) == 1


def test_what_failed_is_asked_for_again():
    network = a_cluster()
    network.isolate(BROKER_ID)
    assert error(network, "new") == "UNKNOWN_TOPIC_OR_PARTITION"
    network.run_until(lambda: network.facts("topic-creation-failed"), within_ms=120_000)
    network.heal()
    network.run_until(lambda: error(network, "new") == "NONE", within_ms=120_000)


def test_what_fails_at_once_is_asked_for_again():
    """As when too many requests wait for the active controller."""
    sent, facts = [], []

    def send(message, *, timeout_ms, done):
        sent.append(message)
        done(RequestFailure("1000 requests are waiting already"))
        return True

    config = SimpleNamespace(properties={}, release=Release.parse("4.3"))
    step = SimpleNamespace(config=config, wake=lambda: None)
    creation = AutoTopicCreation(step, SimpleNamespace(send=send, ranges=None), facts.append)
    creation.create_internal("__consumer_offsets")
    creation.create_internal("__consumer_offsets")
    assert len(sent) == 2


def test_no_more_is_under_way_than_there_may_be():
    network = a_cluster()
    ask(network, *(f"t{index}" for index in range(IN_FLIGHT_MAX + 1)))
    assert network.facts("topics-are-created") == []


def test_answers_are_kept_until_topics_or_brokers_change():
    network = a_cluster(**{"auto.create.topics.enable": "false"})
    client = network.client(BROKER_ID, BROKER_LISTENER)
    node = network.hosts[BROKER_ID].running
    known = node._clients._known_answers.of_listener(BROKER_LISTENER)
    before = client.ask(MetadataRequest(None), 12)
    end_offset = node.image.provenance.end_offset
    network.run_for(3_000)
    assert node.image.provenance.end_offset > end_offset
    assert [key[:4] for key in known] == [b"\0\3\0\x0c"]
    assert client.ask(MetadataRequest(None), 12) == before

    client = network.client(1, CONTROLLER_LISTENER)
    client.ask(create("new"), 7)
    network.run_until(lambda: node.image.topics.topic("new"))
    assert known == {}
    response = network.client(BROKER_ID, BROKER_LISTENER).ask(MetadataRequest(None), 12)
    assert [topic.name for topic in response.topics] == ["new"]


def create(name: str):
    return CreateTopicsRequest([CreatableTopic(name, 1, 1)])


@pytest.mark.parametrize(("release", "left"), [("4.0", 1), ("4.3", -1), ("4.4", -1)])
def test_the_size_of_a_topic_is_left_to_the_controller_where_the_broker_does_not_name_it(release, left):
    profile = Release.parse(release)
    topic = creatable_topic("new", {}, profile)
    assert (topic.num_partitions, topic.replication_factor) == (left, left)
    topic = creatable_topic("new", {"num.partitions": "7"}, profile)
    assert (topic.num_partitions, topic.replication_factor) == (7, left)


def test_topics_of_coordinators_have_partitions_and_configs_of_their_own():
    release = Release.parse("4.3")
    static = {"offsets.topic.num.partitions": "7", "transaction.state.log.min.isr": "1"}
    offsets = creatable_topic("__consumer_offsets", static, release)
    assert (offsets.num_partitions, offsets.replication_factor) == (7, 3)
    assert configs(offsets) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    transactions = creatable_topic("__transaction_state", static, release)
    assert (transactions.num_partitions, transactions.replication_factor) == (50, 3)
    assert configs(transactions) == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "min.insync.replicas": "1",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }
    share = creatable_topic("__share_group_state", static, release)
    assert configs(share)["retention.ms"] == "-1"
    # Of no coordinator before.
    assert creatable_topic("__share_group_state", {}, Release.parse("3.7")).num_partitions == 1


def configs(topic) -> dict[str, str]:
    return {config.name: config.value for config in topic.configs}
