"""A log of many batches becomes the image bit by bit, and answers wait for theirs."""

from __future__ import annotations

from itertools import pairwise

from broker_requests import registration_request
from node_network import NodeNetwork

from falkirk import slices
from falkirk.node.metadata_log import metadata_applier
from falkirk.protocol.messages import BrokerHeartbeatRequest, CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic

RECORDS_MAX = 10
BATCHES, TOPICS_IN_A_BATCH = 20, 4


def a_controller_with_many_batches() -> NodeNetwork:
    network = NodeNetwork()
    network.add_controllers(1, metadata_max_idle_interval_ms=0)
    network.run_until(lambda: network.active is not None)
    client = network.client(1)
    epoch = client.ask(registration_request(101, release="4.3"), 4).broker_epoch
    client.ask(BrokerHeartbeatRequest(101, epoch, 1_000_000, want_fence=False), 1)
    for number in range(BATCHES):
        topics = [CreatableTopic(f"topic-{number}-{index}", 1, 1) for index in range(TOPICS_IN_A_BATCH)]
        client.ask(CreateTopicsRequest(topics, 30_000, validate_only=False), 5)
    return network


def test_a_log_of_many_batches_is_applied_over_many_steps_before_the_controller_is_active(monkeypatch):
    monkeypatch.setattr(metadata_applier, "RECORDS_MAX", RECORDS_MAX)
    network = a_controller_with_many_batches()
    before = network.hosts[1].running.image
    network.restart(1)
    published = []

    def watch() -> bool:
        node = network.hosts[1].running
        published.append(node.image.provenance.end_offset)
        return network.active is not None

    network.run_until(watch)

    records = max(end - start for start, end in pairwise(published))
    # A batch is never parted, and a node that has just started does the work of two steps in one.
    assert records <= 2 * (RECORDS_MAX + 2 * TOPICS_IN_A_BATCH)
    assert before.provenance.end_offset > 3 * records
    assert network.active.running.image.topics == before.topics


def test_an_answer_waits_until_the_image_has_what_it_rests_on(monkeypatch):
    network = a_controller_with_many_batches()
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 1)
    node, client = network.hosts[1].running, network.client(1)
    client.send(CreateTopicsRequest([CreatableTopic("late", 30, 1)], 30_000, validate_only=False), 5)
    seen = []

    def watch() -> bool:
        seen.append((bool(client.answers), node.image.topics.topic("late") is not None))
        return bool(client.answers)

    network.run_until(watch)
    assert (True, False) not in seen
    assert seen.count((False, False)) > 30, "each record is a step"
