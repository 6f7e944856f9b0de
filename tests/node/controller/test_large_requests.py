"""Requests that change many things are decided over many steps of a node, and other requests to the controller wait."""

from __future__ import annotations

import pytest
from lowered_cluster import a_cluster

from falkirk import slices
from falkirk.metadata.controller.partitions import replication_control
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    CreateTopicsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic

PARTITIONS = 200


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """Two records are a slice."""
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 8)


def create(name, partitions):
    return CreateTopicsRequest([CreatableTopic(name=name, num_partitions=partitions, replication_factor=3)], 30_000)


def operating(network):
    return network.active.running._controllership.active.is_operating


@pytest.mark.slow
def test_another_request_waits_and_the_topic_is_there_at_once():
    network = a_cluster()
    node = network.active.running
    first, second = (network.client(node.node_id) for _ in range(2))
    epoch, steps = node.raft.leader.epoch, 0
    first.send(create("large", PARTITIONS), 7)
    network.run_until(lambda: operating(network))
    second.send(create("small", 1), 7)

    def are_both_answered():
        nonlocal steps
        steps += operating(network)
        large = node.decided_image.topics.topic("large")
        assert large is None or large.partition_count == PARTITIONS
        if large is None:
            assert node.decided_image.topics.topic("small") is None, "it came later"
        return first.answers and second.answers

    network.run_until(are_both_answered)
    assert steps > 3 * PARTITIONS / 2, "placed, made, encoded and replayed, two records at a time"
    assert node.raft.leader.epoch == epoch
    for client in (first, second):
        (answer,) = client.answers.values()
        assert answer.topics[0].error_code == 0


@pytest.mark.slow
def test_a_controller_that_loses_its_leadership_meanwhile_decides_nothing():
    network = a_cluster()
    node = network.active.running
    client = network.client(node.node_id)
    client.send(create("large", PARTITIONS), 7)
    network.run_until(lambda: operating(network))
    node._controllership.resign("a test")
    network.run_until(lambda: client.answers)
    (answer,) = client.answers.values()
    assert answer.topics[0].error_code == ErrorCode.NOT_CONTROLLER
    network.run_until(lambda: network.active is not None)
    assert network.client(network.active.config.node_id).ask(create("small", 1), 7).topics[0].error_code == 0
    assert network.active.running.decided_image.topics.topic("large") is None


@pytest.mark.slow
def test_brokers_whose_heartbeats_waited_for_it_are_not_fenced(monkeypatch):
    network = a_cluster()
    node = network.active.running
    end_ms = network.now_ms + 12_000

    def much(_state, _topics):
        while network.now_ms < end_ms:
            yield
        return ListPartitionReassignmentsResponse()

    monkeypatch.setattr(replication_control, "list_reassignments", much)
    client = network.client(node.node_id)
    client.send(ListPartitionReassignmentsRequest(topics=None), 0)
    network.run_until(lambda: client.answers)
    network.run_for(3_000)
    assert node.is_active_controller
    assert node.image.cluster.brokers
    assert network.facts("broker-fenced") == []
