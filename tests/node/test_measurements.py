"""What a node tells of itself in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork, controller_endpoint

from falkirk import slices
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER
from falkirk.node.connections.api_uses import API_USES_MAX, OTHER, ApiUses
from falkirk.node.events import BytesReceived
from falkirk.protocol.messages import ApiVersionsRequest, CreateTopicsRequest, MetadataRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.simulation.machine.step_costs import StepCosts
from falkirk.slices import exhaust
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.node.measurements import Measurements

SARAMA = ("sarama", "1.40")


def a_cluster(*brokers: int) -> NodeNetwork:
    network = NodeNetwork(release="4.3")
    network.add_controllers(1)
    for broker in brokers:
        network.add(broker, roles={BROKER}, quorum_voters={1: controller_endpoint(1)})
        network.start(broker)
    network.run_until(
        lambda: all(network.hosts[broker].running.broker.state is BrokerState.RUNNING for broker in brokers)
    )
    return network


def measured(network: NodeNetwork, node_id: int) -> Measurements:
    return exhaust(network.hosts[node_id].running.measure_slices())


def uses(measurements: Measurements, software: tuple[str, str]) -> dict[tuple[int, int], int]:
    return {
        (use.api_key, use.api_version): use.requests
        for use in measurements.api_uses
        if (use.software_name, use.software_version) == software
    }


def test_quorum_and_features_are_told_as_the_node_knows_them():
    network = a_cluster(101)
    network.run_for(2_000)
    controller, broker = measured(network, 1), measured(network, 101)

    level = Release.parse("4.3").latest_metadata_version.level
    for now in (controller, broker):
        assert (now.leader_id, now.leader_epoch) == (1, network.active.running.raft.epoch)
        assert now.metadata_version == now.finalized_features["metadata.version"] == level
        assert now.supported_features["metadata.version"].highest == level
        assert now.last_applied_offset == now.high_watermark - 1 >= 0
    assert (controller.is_active_controller, broker.is_active_controller) == (True, False)
    assert (controller.brokers, broker.brokers) == ((1, 0), None)
    assert (controller.broker_state, broker.broker_state) == (None, BrokerState.RUNNING.value)
    assert controller.partitions is None


def test_nothing_is_known_before_there_is_a_quorum():
    network = NodeNetwork(release="4.3")
    network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)})
    network.start(101)
    network.run_for(1_000)

    now = measured(network, 101)

    assert (now.leader_id, now.high_watermark, now.metadata_version) == (-1, -1, -1)
    assert (dict(now.finalized_features), now.partitions) == ({}, None)


def test_a_broker_counts_its_partitions_and_those_that_lack_replicas():
    network = a_cluster(101, 102)
    topic = CreatableTopic(name="orders", num_partitions=4, replication_factor=2)
    answer = network.client(101, BROKER_LISTENER).ask(CreateTopicsRequest([topic], 30_000), 5)
    assert answer.topics[0].error_code == 0
    network.run_for(2_000)
    before = [measured(network, broker).partitions for broker in (101, 102)]
    assert [(counts.hosted, counts.offline) for counts in before] == [(4, 0)] * 2
    assert sum(counts.led for counts in before) == 4
    assert [(counts.under_replicated, counts.under_min_isr) for counts in before] == [(0, 0)] * 2

    network.kill(102)
    network.run_until(lambda: measured(network, 1).brokers == (1, 1))
    network.run_for(2_000)

    after = measured(network, 101).partitions
    assert (after.led, after.under_replicated, after.under_min_isr) == (4, 4, 0)


def test_many_partitions_are_counted_some_at_a_time(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 10)
    network = a_cluster(101)
    topic = CreatableTopic(name="orders", num_partitions=95, replication_factor=1)
    network.client(101, BROKER_LISTENER).ask(CreateTopicsRequest([topic], 30_000), 5)
    network.run_for(2_000)
    node, costs, spent = network.hosts[101].running, StepCosts(), []
    measuring, found = node.measure_slices(), []
    while not found:
        costs.measure(lambda: found.extend([] if next(measuring, True) is None else [True]))
        spent.append(costs.last.us)
    assert len(spent) == 1 + 95 // 10
    # What else is measured is in the last one.
    assert max(spent[:-1]) < 2 * min(spent[1:-1])
    assert measured(network, 101).partitions.led == 95


def test_requests_are_counted_by_api_version_and_software_answered_unread_or_not():
    network = a_cluster(101)
    first, second = network.client(101, BROKER_LISTENER), network.client(101, BROKER_LISTENER)
    for client in (first, second):
        client.ask(ApiVersionsRequest(*SARAMA), 4)
        client.ask(MetadataRequest(topics=[]), 12)
        client.ask(MetadataRequest(topics=[]), 12)
    second.ask(MetadataRequest(topics=[]), 9)
    silent = network.client(101, BROKER_LISTENER)
    silent.ask(MetadataRequest(topics=[]), 12)

    now = measured(network, 101)

    # The second client's ApiVersions, and most of the others, came from what is known.
    assert uses(now, SARAMA) == {(18, 4): 2, (3, 12): 4, (3, 9): 1}
    assert uses(now, ("", ""))[3, 12] == 1
    assert now.connections[BROKER_LISTENER, *SARAMA] == 2
    assert now.connections[BROKER_LISTENER, "", ""] == 1
    assert sum(use.requests for use in now.api_uses) == now.connection_counters.requests


def test_requests_of_two_apis_that_come_in_one_piece_are_told_apart():
    network = a_cluster()
    requests = [(ApiVersionsRequest(*SARAMA), 4), (ApiVersionsRequest(*SARAMA), 4), (ApiVersionsRequest(*SARAMA), 3)]
    # So that all of them are known.
    for request, version in requests:
        network.client(1).ask(request, version)
    before = uses(measured(network, 1), SARAMA)
    client = network.client(1)
    network.settle()

    data = b"".join(client.connection.send_request(request, version)[1] for request, version in requests)
    network.hosts[1].inbox.append(BytesReceived(client.connection_id, data))
    network.settle()

    after = uses(measured(network, 1), SARAMA)
    assert {key: after[key] - before[key] for key in after} == {(18, 4): 2, (18, 3): 1}


def test_a_forwarded_request_is_its_clients_at_the_broker_and_an_envelope_at_the_controller():
    network = a_cluster(101)
    client = network.client(101, BROKER_LISTENER)
    client.ask(ApiVersionsRequest(*SARAMA), 4)
    client.ask(CreateTopicsRequest([CreatableTopic(name="t", num_partitions=1, replication_factor=1)]), 5)

    assert uses(measured(network, 101), SARAMA)[19, 5] == 1
    assert uses(measured(network, 1), SARAMA) == {}
    assert uses(measured(network, 1), ("falkirk", "4.3.1"))[58, 0] >= 1


def test_software_that_makes_up_names_without_end_is_counted_as_other():
    uses = ApiUses()
    known = uses.of(18, 4, *SARAMA)
    for number in range(2 * API_USES_MAX):
        uses.of(18, 4, f"made-up-{number}", "1").requests += 1

    assert len(list(uses)) == API_USES_MAX + 1
    assert uses.of(18, 4, *SARAMA) is known
    assert uses.of(18, 4, OTHER, "").requests == API_USES_MAX + 1


def test_connections_of_controllers_are_told_by_their_listener():
    network = a_cluster(101)
    assert {listener for listener, *_ in measured(network, 1).connections} == {CONTROLLER_LISTENER}


@pytest.mark.source
def test_a_step_tells_its_own_work_and_not_that_of_the_one_before():
    network = a_cluster(101)
    host = network.hosts[1]
    connection = network.client(1)
    done = []
    step = host.running.step
    host.running.step = lambda events, now_ms: (step(events, now_ms), done.append(dict(host.running.work_done)))[0]
    connection.ask(CreateTopicsRequest(topics=[CreatableTopic("a", 1, 1)], timeout_ms=1000), 7)
    created = next(work for work in done if "CreateTopics" in work.get("apis", ()))
    assert created["apis"]["CreateTopics"] == 1
    assert created["bytes_persisted"] > 0
    # Alone in its quorum the controller commits at once: the topic, its partition, and nothing else.
    assert created["records_applied"] == 2

    host.running.step([], network.now_ms)
    assert done[-1].get("apis") is None
    assert done[-1].get("bytes_persisted") is None
