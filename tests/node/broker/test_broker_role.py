"""Brokers of ours with controllers of ours: registration, requests that are passed on, controlled shutdown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from node_network import BROKER_LISTENER, LOG_DIR, NodeNetwork, controller_endpoint, directory_id

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DescribeQuorumRequest,
    ElectLeadersRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.describe_quorum_request import PartitionData, TopicData
from falkirk.protocol.messages.elect_leaders_request import TopicPartitions
from falkirk.storage.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN
from falkirk.storage.clean_shutdown import parse_clean_shutdown
from falkirk.versions.release import Release

RELEASES = ("3.7", "3.9", "4.0", "4.3", "4.4")


def a_cluster(
    *brokers: int, controllers: int = 3, release: str = "4.3", broker_release: str | None = None
) -> NodeNetwork:
    network = NodeNetwork(release=release)
    network.add_controllers(controllers)
    voters = {node_id: controller_endpoint(node_id) for node_id in range(1, controllers + 1)}
    for broker in brokers:
        runs = Release.parse(broker_release or release)
        network.add(broker, roles={BROKER}, quorum_voters=voters, release=runs)
        network.start(broker)
    network.run_until(lambda: all(state(network, broker) is BrokerState.RUNNING for broker in brokers))
    return network


def state(network: NodeNetwork, broker: int) -> BrokerState:
    return network.hosts[broker].running.broker.state


def registration(network: NodeNetwork, broker: int):
    return network.active.running.image.cluster.brokers[broker]


def create_topics(name: str, *, partitions: int = 1, factor: int = 1) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor)
    return CreateTopicsRequest([topic], 30_000, validate_only=False)


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_registers_catches_up_and_is_unfenced(release):
    network = a_cluster(101, release=release)

    registered = registration(network, 101)
    assert not registered.fenced
    assert [(point.name, point.host, point.port) for point in registered.end_points] == [
        (BROKER_LISTENER, "node101", 9092)
    ]
    assert registered.log_dirs == (directory_id(101),)
    assert network.hosts[101].running.broker.broker_epoch == registered.broker_epoch
    assert network.hosts[101].running.image.cluster.brokers == network.active.running.image.cluster.brokers


def test_a_broker_does_not_register_with_a_listener_that_it_does_not_advertise():
    network = NodeNetwork()
    network.add_controllers(1)
    host = network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)})
    (listener,) = host.config.listeners
    inside = replace(listener, name="INSIDE", is_advertised=False)
    host.config = replace(host.config, listeners=(listener, inside))
    network.start(101)
    network.run_until(lambda: state(network, 101) is BrokerState.RUNNING)
    assert [point.name for point in registration(network, 101).end_points] == [BROKER_LISTENER]


def test_a_broker_serves_when_it_is_unfenced_and_a_controller_from_its_first_step_on():
    network = NodeNetwork()
    voters = {node_id: controller_endpoint(node_id) for node_id in (1, 2)}
    network.add(101, roles={BROKER}, quorum_voters=voters)
    network.add(1, roles={CONTROLLER}, quorum_voters=voters)
    network.start(101)
    network.start(1)
    network.run_for(5000)
    assert network.active is None
    assert (network.hosts[1].times_started, network.hosts[101].times_started) == (1, 0)

    network.add(2, roles={CONTROLLER}, quorum_voters=voters)
    network.start(2)
    network.run_until(lambda: network.hosts[101].times_started == 1)

    assert not registration(network, 101).fenced
    # Once in its life, whatever comes.
    network.isolate(101)
    network.run_until(lambda: registration(network, 101).fenced)
    network.heal()
    network.run_until(lambda: not registration(network, 101).fenced)
    assert network.hosts[101].times_started == 1


@pytest.mark.parametrize(("release", "broker_release"), [("3.9", "4.3"), ("4.4", "4.3"), ("3.7", "3.9")])
def test_brokers_and_controllers_may_be_of_other_releases(release, broker_release):
    network = NodeNetwork(release=release)
    level = min(Release.parse(r).latest_metadata_version for r in (release, broker_release))
    voters = {1: controller_endpoint(1)}
    network.add(1, roles={CONTROLLER}, quorum_voters=voters, level=level)
    network.add(101, roles={BROKER}, quorum_voters=voters, release=Release.parse(broker_release), level=level)
    network.start(1)
    network.start(101)

    network.run_until(lambda: state(network, 101) is BrokerState.RUNNING)


@pytest.mark.parametrize("release", RELEASES)
def test_what_the_controller_must_answer_is_passed_on_to_it(release):
    network = a_cluster(101, release=release)
    client = network.client(101, BROKER_LISTENER)

    answer = client.ask(create_topics("orders"), 5)

    assert (answer.topics[0].error_code, answer.topics[0].name) == (0, "orders")
    assert "orders" in network.active.running.image.topics.by_name


def test_questions_to_the_quorum_are_passed_on_too():
    network = a_cluster(101)
    request = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])

    answer = network.client(101, BROKER_LISTENER).ask(request, 2)

    partition = answer.topics[0].partitions[0]
    assert partition.leader_id == network.active.config.node_id
    assert [observer.replica_id for observer in partition.observers] == [101]


def test_a_request_that_is_passed_on_outlives_the_active_controller():
    network = a_cluster(101, 102)
    client = network.client(101, BROKER_LISTENER)
    network.kill(network.active.config.node_id)

    sent = client.send(create_topics("orders"), 5)
    network.run_until(lambda: sent in client.answers)

    assert client.answers[sent].topics[0].error_code == 0
    assert "orders" in network.active.running.image.topics.by_name


def test_a_request_that_no_controller_answers_is_answered_by_the_broker():
    network = a_cluster(101)
    client = network.client(101, BROKER_LISTENER)
    for node_id in (1, 2, 3):
        network.kill(node_id)

    answer = client.ask(create_topics("orders"), 5)

    assert answer.topics[0].error_code == ErrorCode.REQUEST_TIMED_OUT


def test_thousands_of_requests_whose_clients_have_gone_are_not_passed_on():
    network = a_cluster(101, controllers=1)
    network.kill(1)
    client = network.client(101, BROKER_LISTENER)
    client.send(create_topics("orders"), 5)
    forwarding = network.hosts[101].running.broker.forwarding
    network.run_until(lambda: forwarding._queue)
    forwarding._queue.extend(list(forwarding._queue) * 5_000)

    network.disconnect(client)
    network.restart(1)

    network.run_until(lambda: not forwarding._queue and network.active)
    assert "orders" not in network.active.running.image.topics.by_name


def test_a_heartbeat_that_fails_at_once_is_sent_again(monkeypatch):
    """As when the active controller's connection offers no version of it."""
    network = a_cluster(101, controllers=1)
    lifecycle, sent = network.hosts[101].running.broker._lifecycle, []

    def send(message, *, timeout_ms, done):
        sent.append(message)
        done(RequestFailure("too old", is_unsupported_version=True))
        return True

    monkeypatch.setattr(lifecycle._channel, "send", send)
    network.run_until(lambda: len(sent) > 1)


def api_ranges(network: NodeNetwork, broker: int) -> dict[int, tuple[int, int]]:
    answer = network.client(broker, BROKER_LISTENER).ask(ApiVersionsRequest("tester", "1.0"), 3)
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


def test_of_apis_that_are_passed_on_a_broker_offers_what_the_active_controller_knows_as_well():
    """A 4.0 broker under a 3.9 controller: 3.9 knows CreateTopics from 0 on, DescribeQuorum only up to 2, and so on."""
    network = NodeNetwork(release="3.9")
    level = Release.parse("3.9").latest_metadata_version
    voters = {1: controller_endpoint(1)}
    network.add(1, roles={CONTROLLER}, quorum_voters=voters)
    network.start(1)
    network.run_until(lambda: network.active is not None)
    newer = Release.parse("4.3")
    network.add(101, roles={BROKER}, quorum_voters=voters, release=newer, level=level)
    network.start(101)
    network.run_until(lambda: state(network, 101) is BrokerState.RUNNING)

    offered = api_ranges(network, 101)

    older = Release.parse("3.9")
    for key in (19, 20, 55, 80):
        both = newer.apis[key].versions.intersection(older.apis[key].versions)
        assert offered[key] == (both.lowest, both.highest)
    # AddRaftVoter: 4.3 alone knows version 1.
    assert newer.apis[80].versions.highest > offered[80][1]


def test_the_offer_follows_the_controller_when_that_changes_its_release():
    network = NodeNetwork(release="3.9")
    level = Release.parse("3.9").latest_metadata_version
    voters = {1: controller_endpoint(1)}
    network.add(1, roles={CONTROLLER}, quorum_voters=voters)
    network.start(1)
    network.add(101, roles={BROKER}, quorum_voters=voters, release=Release.parse("4.3"), level=level)
    network.start(101)
    network.run_until(lambda: state(network, 101) is BrokerState.RUNNING)
    assert api_ranges(network, 101)[80] == (0, 0)
    client = network.client(101, BROKER_LISTENER)
    network.settle()

    network.kill(1)
    network.add(
        1,
        roles={CONTROLLER},
        quorum_voters=voters,
        release=Release.parse("4.3"),
        disk=network.hosts[1].disk,
        is_formatted=False,
    )
    network.start(1)
    network.run_until(lambda: network.active is not None)
    network.run_for(5000)

    answer = client.ask(ApiVersionsRequest("tester", "1.0"), 3)
    assert {api.api_key: api.max_version for api in answer.api_keys}[80] == 1


def test_a_broker_that_is_asked_to_stop_hands_its_leaderships_over_first():
    network = a_cluster(101, 102)
    created = network.client(101, BROKER_LISTENER).ask(create_topics("orders", partitions=4, factor=2), 5)
    assert created.topics[0].error_code == 0

    network.shut_down(101)

    assert network.hosts[101].stop.exit_code == 0
    leaders = {partition.leader for topic in network.active.running.image.topics for _, partition in topic.items()}
    assert leaders == {102}
    assert registration(network, 101).in_controlled_shutdown


def test_an_orderly_stop_leaves_the_brokers_epoch_and_the_next_start_tells_it_to_the_controller():
    network = a_cluster(101)
    epoch = registration(network, 101).broker_epoch
    network.shut_down(101)
    file = f"{LOG_DIR}/{CLEAN_SHUTDOWN}"
    disk = network.hosts[101].disk
    assert parse_clean_shutdown(disk.read(file)).broker_epoch == epoch

    network.start(101)

    assert network.hosts[101].running.broker._lifecycle._registration().previous_broker_epoch == epoch
    assert disk.exists(file)
    # From the time on when its logs may change it has not stopped in order.
    network.run_until(lambda: state(network, 101) is BrokerState.RUNNING)
    assert not disk.exists(file)


def test_a_broker_that_was_killed_does_not_claim_an_orderly_stop():
    network = a_cluster(101)

    network.restart(101)

    assert network.hosts[101].running.broker._lifecycle._registration().previous_broker_epoch == -1


def test_a_broker_without_heartbeats_is_fenced_and_unfenced_when_it_is_back():
    network = a_cluster(101)
    network.isolate(101)
    network.run_until(lambda: registration(network, 101).fenced, within_ms=30_000)
    (told,) = network.facts("broker-fenced")
    assert told.fields == {"broker_id": 101, "reason": "session timed out"}

    network.heal()

    network.run_until(lambda: not registration(network, 101).fenced, within_ms=30_000)


@pytest.mark.slow
def test_the_active_controller_tells_of_leaders_that_may_lack_records():
    network = a_cluster(101, 102, controllers=1)
    controller = network.client(1)
    assert controller.ask(create_topics("orders", factor=2), 5).topics[0].error_code == 0
    for broker in (102, 101):
        network.kill(broker)
        network.run_until(lambda broker=broker: registration(network, broker).fenced, within_ms=30_000)
    network.start(102)
    network.run_until(lambda: state(network, 102) is BrokerState.RUNNING, within_ms=30_000)
    assert network.facts("leaders-elected-uncleanly") == []

    answer = controller.ask(ElectLeadersRequest(1, [TopicPartitions("orders", (0,))]), 2)

    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE
    (told,) = network.facts("leaders-elected-uncleanly")
    assert told.level == "warning"
    assert told.fields == {"count": 1, "partitions": [{"topic": "orders", "partition": 0, "leader": 102}]}


def test_a_broker_that_cannot_register_gives_up_after_a_minute():
    network = NodeNetwork()
    network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)})
    network.start(101)

    network.run_until(lambda: network.hosts[101].stop is not None, within_ms=70_000)

    reason = "Shutting down because we were unable to register with the controller quorum."
    assert (network.hosts[101].stop.exit_code, network.hosts[101].stop.reason) == (1, reason)


def test_one_node_may_have_both_roles():
    network = NodeNetwork()
    network.add(1, roles={BROKER, CONTROLLER}, quorum_voters={1: controller_endpoint(1)})
    network.start(1)
    network.run_until(lambda: network.hosts[1].running.broker.state is BrokerState.RUNNING)

    answer = network.client(1, BROKER_LISTENER).ask(create_topics("orders"), 5)
    network.shut_down(1)

    assert answer.topics[0].error_code == 0
    assert network.hosts[1].stop.exit_code == 0


def test_the_active_controller_tells_once_why_a_broker_is_refused():
    network = a_cluster(101, controllers=1)

    network.restart(101)
    network.run_until(lambda: state(network, 101) is BrokerState.RUNNING)

    assert len(network.facts("broker-not-registered")) > 1
    assert network.facts("broker-not-registered")[0].fields == {"reason": "DUPLICATE_BROKER_REGISTRATION"}
    (refused,) = network.facts("node-refused")
    assert refused in network.hosts[1].facts
    reason = refused.fields["reason"]
    assert isinstance(reason, str)
    assert reason.startswith("Another broker is registered with that broker id.")
    assert (refused.level, refused.fields) == (
        "warning",
        {"api": "BrokerRegistration", "node_id": 101, "error": "DUPLICATE_BROKER_REGISTRATION", "reason": reason},
    )
